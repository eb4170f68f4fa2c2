"""One table of how well each scorer tells supported from not, and how it behaves when one thing is swapped.

    OMP_NUM_THREADS=1 .venv/bin/python experiments/verifier/evaluate.py overlap features reader:runs/verifier/a/reader
    OMP_NUM_THREADS=1 .venv/bin/python experiments/verifier/evaluate.py --behaviour reader:runs/verifier/a/reader

Scorers: see scorers.py. Their scores are kept in --scores, so that a second run asks nothing again and a stopped one
goes on; --most takes the first items of each set, by hash. Positive is "supported".

AUC needs no threshold. "fixed" is balanced accuracy at one threshold for all sets: the one that the scorer ships with,
or else the best on documents that no set here has (calibrate.py). "cross-fit" takes for each fifth of a set's documents
the threshold that is best on the other four. In brackets 95 % intervals, bootstrap over documents; none below ten.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from calibrate import best_threshold, documents, weights
from mix import LABELS
from scorers import Scorer, kept, scorer
from sets import DATA, Item, bump, reported
from swaps import Swap, behaviour

SAMPLES = 1000
FEWEST = 10
"""Documents below which no interval is given."""
CALIBRATION = 2000


def sampled(items: Sequence[Item], most: int | None) -> list[Item]:
    """Whole documents, in an order by chance and always the same, until there are `most` items."""
    documents: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        documents[item.cluster].append(item)
    order = sorted(documents, key=lambda name: hashlib.sha1(name.encode()).digest())
    found: list[Item] = []
    for name in order:
        if most is not None and len(found) >= most:
            break
        found += documents[name]
    return found


def auc(score: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Area under the ROC curve for each row of item weights, [draws, items]; ties count one half."""
    _, place = np.unique(score, return_inverse=True)
    sums = np.zeros((2, weight.shape[0], place.max() + 1))
    for side in (0, 1):
        here = positive == bool(side)
        np.add.at(sums[side].T, place[here], weight[:, here].T)
    no, yes = sums
    below = np.cumsum(no, axis=1) - no / 2
    return (yes * below).sum(1) / (yes.sum(1) * no.sum(1))


def balanced(decided: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Balanced accuracy for each row of item weights."""
    hit, yes = weight @ (decided & positive), weight @ positive
    miss, no = weight @ (~decided & ~positive), weight @ ~positive
    return (hit / yes + miss / no) / 2


def with_interval(of: Callable[[np.ndarray], np.ndarray], clusters: Sequence[str]) -> tuple[float, str]:
    """A figure of item weights, and as text with its 95 % interval."""
    names, place = np.unique(np.array(clusters), return_inverse=True)
    value = float(of(np.ones((1, len(place))))[0])
    if len(names) < FEWEST:
        return value, f"{value:.3f}"
    draws = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), SAMPLES)
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = np.nanquantile(of(draws[:, place].astype(float)), [0.025, 0.975])
    return value, f"{value:.3f} [{low:.3f}, {high:.3f}]"


def cross_fit(score: np.ndarray, positive: np.ndarray, clusters: Sequence[str]) -> np.ndarray | None:
    """Decisions, each by a threshold chosen without its own fifth of the documents; None where one is left without."""
    fold = np.array([hashlib.sha256(cluster.encode()).digest()[0] % 5 for cluster in clusters])
    decided = np.zeros(len(score), bool)
    for part in set(fold.tolist()):
        rest = fold != part
        if not (positive[rest].any() and (~positive[rest]).any()):
            return None
        even = np.where(positive[rest], 1 / positive[rest].sum(), 1 / (~positive[rest]).sum())
        decided[~rest] = score[~rest] >= best_threshold(score[rest], positive[rest], even)
    return decided


def fixed(judge: Scorer, data: Path, scores: Path, most: int) -> float:
    """The threshold that the scorer ships with, or the best one on the documents of calibration."""
    if judge.threshold is not None:
        return judge.threshold
    rows = documents(data)[: judge.sample or most]
    items = [Item(row.claim, row.evidence, LABELS[row.label], row.group) for row in rows]
    score = kept(judge, items, scores)
    supported = np.array([item.supported for item in items])
    weight = weights([row.source for row in rows], supported)
    return best_threshold(score, supported, weight if weight.any() else np.ones(len(rows)))


def table(judges: Sequence[Scorer], data: Path, scores: Path, most: int | None, calibration: int) -> None:
    thresholds = [fixed(judge, data, scores, calibration) for judge in judges]
    means: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    print("| set | items (supported) | documents | scorer | AUC | fixed | cross-fit |")
    print("|" + "---|" * 7)
    for name, everything in reported().items():
        for judge, threshold in zip(judges, thresholds, strict=True):
            items = sampled(everything, min(filter(None, (most, judge.sample)), default=None))
            clusters = [item.cluster for item in items]
            positive = np.array([item.supported for item in items])
            score = kept(judge, items, scores)
            if positive.all() or not positive.any():
                continue
            area, area_text = with_interval(lambda w, s=score, p=positive: auc(s, p, w), clusters)
            cells = []
            for decided in (score >= threshold, cross_fit(score, positive, clusters)):
                if decided is None:
                    cells.append((np.nan, "-"))
                else:
                    cells.append(with_interval(lambda w, d=decided, p=positive: balanced(d, p, w), clusters))
            means[judge.name].append((area, cells[0][0], cells[1][0]))
            size = f"{len(items)} ({positive.sum()}) | {len(set(clusters))}"
            print(f"| {name} | {size} | {judge.name} | {area_text} | {cells[0][1]} | {cells[1][1]} |", flush=True)
    print("\n| scorer | threshold | mean AUC | mean fixed | mean cross-fit | sets |\n|" + "---|" * 6)
    print("| majority | - | .500 | .500 | .500 | - |")
    for judge, threshold in zip(judges, thresholds, strict=True):
        with np.errstate(all="ignore"):
            area, at_fixed, fitted = np.nanmean(np.array(means[judge.name]), axis=0)
        counts = len(means[judge.name])
        print(f"| {judge.name} | {threshold:.3f} | {area:.3f} | {at_fixed:.3f} | {fitted:.3f} | {counts} |")


def sides(swap: Swap) -> tuple[Item, Item]:
    group = swap.parent["group"]
    if swap.kind == "page":
        return Item(swap.claim, swap.evidence, "", group), Item(swap.claim, swap.wrong, "", group)
    return Item(swap.claim, swap.evidence, "", group), Item(swap.wrong, swap.evidence, "", group)


def behaviours(judges: Sequence[Scorer], data: Path, scores: Path, most: int) -> None:
    """Of minimal pairs of each kind, the share in which the score of the wrong one is lower (equal counts one half)."""
    pairs: dict[str, list[tuple[Item, Item]]] = defaultdict(list)
    for swap in behaviour(data, most):
        pairs[swap.kind].append(sides(swap))
    summaries = bump()
    pairs["BUMP, one error"] = list(zip(summaries[::2], summaries[1::2], strict=True))[:most]
    print("| kind | pairs | documents | scorer | score falls | mean fall |\n|" + "---|" * 6)
    for kind, found in pairs.items():
        for judge in judges:
            right = kept(judge, [one for one, _ in found], scores)
            wrong = kept(judge, [other for _, other in found], scores)
            falls = (right > wrong) + (right == wrong) / 2
            clusters = [one.cluster for one, _ in found]
            _, text = with_interval(lambda w, falls=falls: (w @ falls) / w.sum(1), clusters)
            size = f"{len(found)} | {len(set(clusters))}"
            print(f"| {kind} | {size} | {judge.name} | {text} | {(right - wrong).mean():+.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scorers", nargs="+")
    parser.add_argument("--data", type=Path, default=DATA / "train_pairs")
    parser.add_argument("--scores", type=Path, default=Path("runs/verifier/scores"))
    parser.add_argument("--most", type=int, help="items of each set, or pairs of each kind (default there 1,000)")
    parser.add_argument("--calibration", type=int, default=CALIBRATION, help="items to find a fixed threshold on")
    parser.add_argument("--behaviour", action="store_true")
    given = parser.parse_args()
    judges = [scorer(name) for name in given.scorers]
    if given.behaviour:
        behaviours(judges, given.data, given.scores, given.most or 1000)
    else:
        table(judges, given.data, given.scores, given.most, given.calibration)


if __name__ == "__main__":
    main()
