"""Fit the trees that weigh the encoder's readings and the features together, and write joined.json beside the weights.

    OMP_NUM_THREADS=1 .venv/bin/python experiments/verifier/join.py runs/verifier/a/reader [--ablation]

Rows: the documents of calibrate.py, which the encoder has not seen and no table shows, each file with the same weight.
Every document is judged by trees grown without its fifth of the documents; on those probabilities the Platt scaling and
the thresholds are found, and AUC is printed for the encoder alone, the features alone and both. The readings are kept
in --kept, so that a second run is cheap.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from calibrate import best_threshold, documents, weights
from mix import Pair
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from veridical.types import Passage
from veridical.verifiers.embedded import Library
from veridical.verifiers.features import FEATURES
from veridical.verifiers.joined import ENCODED
from veridical.verifiers.trained import TrainedJudge, open_judge

LEAVES, TREES, RATE, SMALLEST_LEAF, L2 = 6, 60, 0.1, 40, 5.0
FOLDS = 5
BLOCK = 256
DIRECTIONS = [*ENCODED.values(), *(direction for _, direction in FEATURES.values())]


def table(judge: TrainedJudge, pairs: list[Pair], kept: Path) -> np.ndarray:
    """Values of `ENCODED` and `FEATURES`, [pairs, values]; NaN for a pair that the judge does not read."""
    made: dict[str, list[float]] = {}
    if kept.exists():
        made = dict(map(json.loads, kept.read_text(encoding="utf-8").splitlines()))
    keys = [hashlib.sha1(f"{judge.encoder.fingerprint} {p.claim}\0{p.evidence}".encode()).hexdigest() for p in pairs]
    missing = [at for at, key in enumerate(keys) if key not in made]
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a", encoding="utf-8") as file:
        for start in range(0, len(missing), BLOCK):
            block = missing[start : start + BLOCK]
            passages = {at: (Passage(id="p", text=pairs[at].evidence),) for at in block}
            laid = {at: judge.features.lay(pairs[at].claim, passages[at], "", Library()) for at in block}
            read = [at for at in block if isinstance(laid[at], tuple)]
            readings = judge.read([(pairs[at].claim, passages[at]) for at in read])
            for at, reading in zip(read, readings, strict=True):
                row = [*map(float, reading.row), *laid[at][1].values]  # pyright: ignore[reportIndexIssue]
                made[keys[at]] = row
                file.write(json.dumps([keys[at], row]) + "\n")
            file.flush()
    return np.array([made.get(key, [np.nan] * len(DIRECTIONS)) for key in keys])


def grow(x: np.ndarray, y: np.ndarray, weight: np.ndarray, *, monotone: bool) -> HistGradientBoostingClassifier:
    used = weight > 0
    model = HistGradientBoostingClassifier(
        max_leaf_nodes=LEAVES,
        max_iter=TREES,
        learning_rate=RATE,
        min_samples_leaf=SMALLEST_LEAF,
        l2_regularization=L2,
        monotonic_cst=DIRECTIONS if monotone else None,
        early_stopping=False,
        random_state=0,
    )
    return model.fit(x[used], y[used], sample_weight=weight[used] / weight[used].mean())


def exported(model: HistGradientBoostingClassifier) -> dict[str, object]:
    """The trees as `veridical.verifiers.fitted.Trees`; a leaf is its own child."""
    parts: dict[str, list[list[float]]] = {key: [] for key in ("feature", "threshold", "left", "right", "value")}
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        own = np.arange(len(nodes))
        parts["feature"].append([int(v) for v in np.where(leaf, 0, nodes["feature_idx"])])
        parts["threshold"].append([round(float(v), 6) for v in np.where(leaf, 0.0, nodes["num_threshold"])])
        parts["left"].append([int(v) for v in np.where(leaf, own, nodes["left"])])
        parts["right"].append([int(v) for v in np.where(leaf, own, nodes["right"])])
        parts["value"].append([round(float(v), 5) for v in np.where(leaf, nodes["value"], 0.0)])
    return {"base": round(float(model._baseline_prediction.ravel()[0]), 6), **parts}


def held_out(x: np.ndarray, y: np.ndarray, weight: np.ndarray, fold: np.ndarray, *, monotone: bool) -> np.ndarray:
    """Log-odds of each row by trees that did not see its fold."""
    margin = np.zeros(len(y))
    for part in range(FOLDS):
        here = fold == part
        if here.any():
            margin[here] = grow(x, y, np.where(here, 0.0, weight), monotone=monotone).decision_function(x[here])
    return margin


def ablation(x: np.ndarray, y: np.ndarray, weight: np.ndarray, fold: np.ndarray) -> None:
    """Held-out AUC of the encoder alone, the features alone, and both without each group of features."""
    encoder = np.arange(len(DIRECTIONS)) < len(ENCODED)
    groups = np.array(["encoder"] * len(ENCODED) + [group for group, _ in FEATURES.values()])
    kept = {"encoder and features": np.ones(len(groups), bool), "encoder": encoder, "features": ~encoder}
    kept |= {f"without {group}": groups != group for group in dict.fromkeys(groups[len(ENCODED) :])}
    print("| values | AUC |\n|---|---|")
    for name, columns in kept.items():
        margin = held_out(np.where(columns, x, 0.0), y, weight, fold, monotone=True)
        print(f"| {name} | {roc_auc_score(y, margin, sample_weight=weight):.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/train_pairs"))
    parser.add_argument("--kept", type=Path, default=Path("runs/verifier/scores/readings.jsonl"))
    parser.add_argument("--name", default="joined-1")
    parser.add_argument("--most", type=int)
    parser.add_argument("--ablation", action="store_true")
    given = parser.parse_args()
    target = given.reader / "joined.json"
    target.unlink(missing_ok=True)
    judge = open_judge(given.reader, threads=1)
    pairs = documents(given.data)[: given.most]
    x = table(judge, pairs, given.kept)
    read = ~np.isnan(x).any(axis=1)
    pairs, x = [pair for pair, is_read in zip(pairs, read, strict=True) if is_read], x[read]
    label, coarse = np.array([pair.label for pair in pairs]), np.array([pair.coarse for pair in pairs])
    source = [pair.source for pair in pairs]
    fold = np.array([hashlib.sha256(pair.group.encode()).digest()[0] % FOLDS for pair in pairs])
    supported, firm = label == 0, (label != 0) & ~coarse
    weight = weights(source, supported)
    sides = np.zeros(len(pairs))
    sides[firm] = weights([name for name, is_firm in zip(source, firm, strict=True) if is_firm], label[firm] == 1)
    if not (weight.any() and sides.any()):
        raise SystemExit(f"{len(pairs)} pairs are too few")
    if given.ablation:
        ablation(x, supported, weight, fold)
    margin = held_out(x, supported, weight, fold, monotone=True)
    used = weight > 0
    platt = LogisticRegression(C=1e6).fit(margin[used, None], supported[used], sample_weight=weight[used] * used.sum())
    slope, offset = round(float(platt.coef_[0, 0]), 4), round(float(platt.intercept_[0]), 4)
    chance = 1 / (1 + np.exp(-slope * margin - offset))
    against = 1 / (1 + np.exp(-held_out(x, label == 1, sides, fold, monotone=False)))
    fitted = {
        "name": given.name,
        "encoder": judge.encoder.fingerprint,
        "values": [*ENCODED, *FEATURES],
        "support": exported(grow(x, supported, weight, monotone=True)),
        "platt": [slope, offset],
        "threshold": best_threshold(chance, supported, weight),
        "contradiction": exported(grow(x, label == 1, sides, monotone=False)),
        "contradiction_threshold": best_threshold(against[firm], label[firm] == 1, sides[firm]),
    }
    target.write_text(json.dumps(fitted, separators=(",", ":"), allow_nan=False) + "\n", encoding="utf-8")
    alone = roc_auc_score(supported, x[:, 0], sample_weight=weight)
    both = roc_auc_score(supported, margin, sample_weight=weight)
    print(f"{len(pairs)} pairs, {target.stat().st_size} bytes; AUC of the encoder alone {alone:.3f}, joined {both:.3f}")
    print({key: fitted[key] for key in ("encoder", "platt", "threshold", "contradiction_threshold")})


if __name__ == "__main__":
    main()
