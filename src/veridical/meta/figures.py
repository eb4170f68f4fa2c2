"""The arithmetic of two classes: shares of a table, areas, bins, thresholds, and bootstraps over clusters.

A table is (supported right, supported wrong, not supported wrong, not supported right). Nothing is NaN: what one class
alone cannot say is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..stats import ranks, weights
from ..types import Struct

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
BINS = 10
FOLDS = 5


class Bin(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Claims of like probability, for a reliability diagram."""

    n: int
    probability: float
    """Mean that the judge gives."""
    supported: float
    """Share that the labels say."""


def table(gold: Bools, said: Bools) -> Floats:
    """Of the claims' labels and verdicts, true for supported."""
    return np.array([(gold & said).sum(), (gold & ~said).sum(), (~gold & said).sum(), (~gold & ~said).sum()], float)


def ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def accuracy(t: Floats) -> float | None:
    return ratio(t[0] + t[3], t.sum())


def recall_supported(t: Floats) -> float | None:
    return ratio(t[0], t[0] + t[1])


def recall_not_supported(t: Floats) -> float | None:
    return ratio(t[3], t[2] + t[3])


def balanced(t: Floats) -> float | None:
    """Mean of the two recalls; None where a class is absent."""
    first, second = recall_supported(t), recall_not_supported(t)
    return None if first is None or second is None else (first + second) / 2


def balanced_of(tables: Floats) -> dict[str, Floats]:
    """`balanced` of many tables (m, 4) at once; NaN where a class is absent."""
    supported, others = tables[:, :2].sum(axis=1), tables[:, 2:].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"balanced_accuracy": (tables[:, 0] / supported + tables[:, 3] / others) / 2}


def f1(t: Floats) -> float | None:
    """Of not supported; None where there is nothing to find and nothing was said."""
    return ratio(2 * t[3], 2 * t[3] + t[1] + t[2])


def f1_supported(t: Floats) -> float | None:
    return ratio(2 * t[0], 2 * t[0] + t[1] + t[2])


def mcc(t: Floats) -> float | None:
    """Matthews' correlation of verdict and label; None where either never varies."""
    a, b, c, d = t
    scale = (a + b) * (c + d) * (a + c) * (b + d)
    return float((a * d - b * c) / math.sqrt(scale)) if scale else None


STATISTICS: dict[str, Callable[[Floats], float | None]] = {
    "accuracy": accuracy,
    "recall_supported": recall_supported,
    "recall_not_supported": recall_not_supported,
    "balanced_accuracy": balanced,
    "f1": f1,
    "f1_supported": f1_supported,
    "mcc": mcc,
}
"""Name -> figure of a table."""


def draws(tables: Floats, resamples: int, seed: int) -> Floats:
    """Tables of resampled clusters. `tables` (clusters, …, 4) -> (resamples, …, 4)."""
    return np.tensordot(weights(len(tables), resamples, seed), tables, axes=1)


def span(found: Sequence[float | None]) -> tuple[float, float] | None:
    """95 % interval by percentiles of the resamples in which the figure is defined; None for fewer than two."""
    known = [value for value in found if value is not None]
    if len(known) < 2:
        return None
    low, high = np.quantile(known, (0.025, 0.975))
    return float(low), float(high)


def grouped(clusters: Sequence[Hashable]) -> list[NDArray[np.intp]]:
    """Places of each cluster's claims, in the order of their first."""
    places: dict[Hashable, list[int]] = {}
    for place, cluster in enumerate(clusters):
        places.setdefault(cluster, []).append(place)
    return [np.array(own) for own in places.values()]


def area(gold: Bools, score: Floats) -> float | None:
    """Area under the ROC curve: how often a supported claim has the higher score, ties half (Mann-Whitney)."""
    positive = int(gold.sum())
    negative = len(gold) - positive
    if not positive or not negative:
        return None
    return float((ranks(score)[gold].sum() - positive * (positive + 1) / 2) / (positive * negative))


def area_span(
    gold: Bools, score: Floats, groups: Sequence[NDArray[np.intp]], resamples: int, seed: int
) -> tuple[float, float] | None:
    """95 % interval of `area` over resampled clusters, or None."""
    if len(groups) < 2:
        return None
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(resamples):
        chosen = np.concatenate([groups[place] for place in rng.integers(0, len(groups), len(groups))])
        found.append(area(gold[chosen], score[chosen]))
    return span(found)


def average_precision(positive: Bools, score: Floats) -> float | None:
    """Mean precision at each positive, ties taken together (AUC-PR as a step function)."""
    if not positive.any():
        return None
    order = np.argsort(-score, kind="stable")
    found, last = positive[order].cumsum(), np.append(np.diff(score[order]) != 0, True)
    at, gained = found[last], np.diff(np.append(0, found[last]))
    return float((at / (np.flatnonzero(last) + 1) * gained).sum() / positive.sum())


def bins(gold: Bools, probability: Floats) -> tuple[Bin, ...]:
    """Ten bins of equal mass, by rising probability."""
    order = np.argsort(probability, kind="stable")
    parts = [part for part in np.array_split(order, min(BINS, len(order))) if len(part)]
    return tuple(
        Bin(n=len(part), probability=float(probability[part].mean()), supported=float(gold[part].mean()))
        for part in parts
    )


def threshold(gold: Bools, score: Floats) -> float | None:
    """The score from which on "supported" has the best balanced accuracy (of equals the lowest); None with one class.

    Half way between two scores, so that it holds for others too.
    """
    positive = int(gold.sum())
    negative = len(gold) - positive
    if not positive or not negative:
        return None
    values, inverse = np.unique(score, return_inverse=True)
    good = np.bincount(inverse, weights=gold, minlength=len(values))
    bad = np.bincount(inverse, weights=~gold, minlength=len(values))
    kept = (positive - np.append(0, good.cumsum())) / positive  # of supported, above each cut
    dropped = np.append(0, bad.cumsum()) / negative
    best = int(np.argmax(np.round(kept + dropped, 12)))
    if best == 0:
        return float(values[0])
    return float((values[best - 1] + values[best]) / 2) if best < len(values) else float(np.nextafter(values[-1], 2))


def cross_fitted(gold: Bools, score: Floats, groups: Sequence[NDArray[np.intp]]) -> float | None:
    """Balanced accuracy with each fifth of the clusters at the threshold of the other four; None for few clusters."""
    if len(groups) < 2 * FOLDS:
        return None
    said = np.zeros(len(gold), bool)
    for fold in range(FOLDS):
        out = np.concatenate(groups[fold::FOLDS])
        kept = np.ones(len(gold), bool)
        kept[out] = False
        at = threshold(gold[kept], score[kept])
        if at is None:
            return None
        said[out] = score[out] >= at
    return balanced(table(gold, said))
