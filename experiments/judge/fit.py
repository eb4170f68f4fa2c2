"""Fit the embedded judge and write src/veridical/verifiers/embedded.json. Takes about two minutes of one core.

    OMP_NUM_THREADS=1 .venv/bin/python experiments/judge/fit.py

Two heads of gradient-boosted trees, few and small, since larger ones fitted the sources and not the task (README.md):
supported against not, monotone in the features whose meaning is plain; and contradicted against not enough evidence
among the rows that are not supported and not coarse. Each source has its share of the weight, half of it on either
class. A tenth of the documents (`Pair.dev`) is kept out of the trees; on it the probability is calibrated (Platt) and
the thresholds are chosen for balanced accuracy.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from pairs import SHARES, Pair, training
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from veridical.text.sentences import SPLITTER
from veridical.verifiers.features import FEATURES, Place, claim_of, compare
from veridical.verifiers.fitted import FILE
from veridical.verifiers.reading import Unit, read

NAME = "features-1"
WORDS, LEAST = 6000, 20
"""How many words the table of document frequencies keeps, and how many sentences must hold each."""
LEAVES, TREES, RATE, SMALLEST_LEAF, L2 = 8, 100, 0.1, 50, 5.0


class Reader:
    """Reads each text once."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[Unit, ...]] = {}

    def __call__(self, text: str) -> tuple[Unit, ...]:
        if text not in self.known:
            self.known[text] = read(text)
        return self.known[text]


def frequencies(pairs: Sequence[Pair], reader: Reader) -> tuple[dict[str, float], float]:
    """Inverse document frequency of the commonest stems of the training evidence (a document is a sentence)."""
    counts: Counter[str] = Counter()
    sentences = 0
    for text in {pair.passages[0][1] for pair in pairs}:
        for unit in reader(text):
            counts.update(unit.stems)
            sentences += 1
    kept = sorted(
        ((n, stem) for stem, n in counts.items() if n >= LEAST and stem.isalpha()), key=lambda t: (-t[0], t[1])
    )
    idf = {stem: round(math.log(sentences / n), 2) for n, stem in kept[:WORDS]}
    return idf, round(max(idf.values()) + 0.5, 2)


def rows(pairs: Sequence[Pair], idf: Mapping[str, float], rarest: float, reader: Reader) -> np.ndarray:
    """Feature values, [pairs, features]."""
    table = []
    for pair in pairs:
        places = [Place(i, unit, frozenset()) for i, (_, text) in enumerate(pair.passages) for unit in reader(text)]
        table.append(compare(claim_of(read(pair.claim), idf, rarest), places).values)
    return np.array(table, float)


def balanced_weights(positive: np.ndarray, sources: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Each source's share, half on either class, over the rows in use; mean 1 there. One-class sources get none."""
    weights = np.zeros(len(positive))
    for source, share in SHARES.items():
        here = used & (sources == source)
        for side in (True, False):
            part = here & (positive == side)
            if part.any() and (here & (positive != side)).any():
                weights[part] = share / 2 / part.sum()
    return weights / weights[weights > 0].mean()


def grow(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, *, trees: int, monotone: bool
) -> HistGradientBoostingClassifier:
    used = weights > 0
    directions = [direction for _, direction in FEATURES.values()]
    model = HistGradientBoostingClassifier(
        max_leaf_nodes=LEAVES,
        max_iter=trees,
        learning_rate=RATE,
        min_samples_leaf=SMALLEST_LEAF,
        l2_regularization=L2,
        monotonic_cst=directions if monotone else None,
        early_stopping=False,
        random_state=0,
    )
    return model.fit(x[used], y[used], sample_weight=weights[used])


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


def best_threshold(score: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> float:
    """The score at or above which "positive" has the best (weighted) balanced accuracy; a middle one of equals."""
    candidates = np.unique(np.round(np.quantile(score, np.linspace(0.01, 0.99, 197)), 4))
    right, wrong = weights * positive, weights * ~positive
    accuracy = np.array(
        [right[score >= t].sum() / right.sum() + wrong[score < t].sum() / wrong.sum() for t in candidates]
    )
    top = candidates[accuracy >= accuracy.max() - 0.002]
    return round(float(np.median(top)), 4)


def main() -> None:
    pairs = list(training())
    reader = Reader()
    idf, rarest = frequencies([pair for pair in pairs if not pair.dev], reader)
    x = rows(pairs, idf, rarest, reader)
    label, source = np.array([pair.label for pair in pairs]), np.array([pair.source for pair in pairs])
    dev, coarse = np.array([pair.dev for pair in pairs]), np.array([pair.coarse for pair in pairs])
    supported, contradicted = label == "supported", label == "contradicted"

    support = grow(x, supported, balanced_weights(supported, source, ~dev), trees=TREES, monotone=True)
    weights = balanced_weights(supported, source, dev)
    used = weights > 0
    margin = support.decision_function(x)
    platt = LogisticRegression(C=1e6).fit(margin[used, None], supported[used], sample_weight=weights[used])
    slope, offset = round(float(platt.coef_[0, 0]), 4), round(float(platt.intercept_[0]), 4)
    probability = 1 / (1 + np.exp(-slope * margin - offset))

    firm = ~supported & ~coarse
    contradiction = grow(
        x, contradicted, balanced_weights(contradicted, source, firm & ~dev), trees=TREES // 2, monotone=False
    )
    second = contradiction.predict_proba(x)[:, 1]
    weights2 = balanced_weights(contradicted, source, firm & dev)
    used2 = weights2 > 0

    fitted = {
        "name": NAME,
        "splitter": SPLITTER,
        "features": list(FEATURES),
        "support": exported(support),
        "platt": [slope, offset],
        "threshold": best_threshold(probability[used], supported[used], weights[used]),
        "contradiction": exported(contradiction),
        "contradiction_threshold": best_threshold(second[used2], contradicted[used2], weights2[used2]),
        "rarest": rarest,
        "idf": dict(sorted(idf.items())),
    }
    FILE.write_text(json.dumps(fitted, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
    auc = roc_auc_score(supported[used], probability[used], sample_weight=weights[used])
    auc2 = roc_auc_score(contradicted[used2], second[used2], sample_weight=weights2[used2])
    print(f"{len(pairs)} pairs ({dev.sum()} dev, {(balanced_weights(supported, source, ~dev) > 0).sum()} fitted)")
    print(f"dev AUC supported {auc:.3f}, contradicted against not enough {auc2:.3f}; {FILE.stat().st_size} bytes")
    print({key: fitted[key] for key in ("platt", "threshold", "contradiction_threshold", "rarest")})


if __name__ == "__main__":
    main()
