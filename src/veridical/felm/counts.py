"""Confusion counts and what is made of them. The positive class is error: a hit is a wrong segment that was flagged.

(The released code names its counts from the other class: its TN are our true positives.) Where a quotient is 0/0 the
value is 0 and the name stands in `undefined`; balanced accuracy and AUC are None where one class is absent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..stats import bca_defined, weights
from ..types import Struct

Floats = NDArray[np.float64]
METRICS = (
    "precision",
    "recall",
    "f1",
    "precision_factual",
    "recall_factual",
    "f1_factual",
    "accuracy",
    "balanced_accuracy",
    "mcc",
)
CURVES = ("auc_roc", "auc_pr")
_CHUNK = 256


class Confusion(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Floats, since the expected counts of a coin are."""

    tp: float = 0
    fp: float = 0
    fn: float = 0
    tn: float = 0

    @property
    def n(self) -> float:
        return self.tp + self.fp + self.fn + self.tn


def values(confusion: Confusion) -> tuple[dict[str, float | None], tuple[str, ...]]:
    """Each of `METRICS`, and the names of those that are 0/0."""
    row = np.array([[confusion.tp, confusion.fp, confusion.fn, confusion.tn]], float)
    arrays, undefined = vectors(row)
    found = {name: None if np.isnan(array[0]) else float(array[0]) for name, array in arrays.items()}
    return found, tuple(name for name in METRICS if undefined[name][0])


def vectors(counts: Floats) -> tuple[dict[str, Floats], dict[str, NDArray[np.bool_]]]:
    """The same for many counts at once; `counts` is (n, 4): tp, fp, fn, tn."""
    tp, fp, fn, tn = counts.T
    total = tp + fp + fn + tn
    products = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    quotients = {
        "precision": (tp, tp + fp),
        "recall": (tp, tp + fn),
        "f1": (2 * tp, 2 * tp + fp + fn),
        "precision_factual": (tn, tn + fn),
        "recall_factual": (tn, tn + fp),
        "f1_factual": (2 * tn, 2 * tn + fp + fn),
        "accuracy": (tp + tn, total),
        "mcc": (tp * tn - fp * fn, np.sqrt(products)),
    }
    found = {name: _quotient(above, below) for name, (above, below) in quotients.items()}
    undefined = {name: below == 0 for name, (_, below) in quotients.items()}
    undefined["f1"] = undefined["precision"] | undefined["recall"]
    undefined["f1_factual"] = undefined["precision_factual"] | undefined["recall_factual"]
    undefined["balanced_accuracy"] = undefined["recall"] | undefined["recall_factual"]
    balanced = (found["recall"] + found["recall_factual"]) / 2
    found["balanced_accuracy"] = np.where(undefined["balanced_accuracy"], np.nan, balanced)
    return {name: found[name] for name in METRICS}, undefined


def _quotient(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(below, dtype=float), where=below != 0)


def by_cluster(cluster: NDArray[np.int64], wrong: NDArray[np.bool_], flagged: NDArray[np.bool_], n: int) -> Floats:
    """(n, 4) counts of each of `n` clusters."""
    cells = np.where(wrong, np.where(flagged, 0, 2), np.where(flagged, 1, 3))
    return np.bincount(cluster * 4 + cells, minlength=4 * n).reshape(n, 4).astype(float)


def intervals(counts: Floats, *, resamples: int, seed: int, level: float) -> dict[str, tuple[float, float] | None]:
    """Of each of `METRICS`, by bootstrap over responses: `counts` (responses, 4)."""
    if len(counts) < 2 or not resamples:
        return dict.fromkeys(METRICS)
    total = counts.sum(axis=0)
    drawn, _ = vectors(weights(len(counts), resamples, seed) @ counts)
    left_out, _ = vectors(total - counts)
    found, _ = vectors(total[None])
    return {
        name: bca_defined(
            drawn[name], None if np.isnan(found[name][0]) else found[name][0], left_out[name], level=level
        )
        for name in METRICS
    }


def mean_intervals(
    strata: list[Floats], *, resamples: int, seed: int, level: float
) -> dict[str, tuple[float, float] | None]:
    """Of the mean of each of `METRICS` over strata (domains), responses drawn within each."""
    if not resamples or any(len(cells) < 2 for cells in strata):
        return dict.fromkeys(METRICS)
    drawn = [vectors(weights(len(cells), resamples, seed + at) @ cells)[0] for at, cells in enumerate(strata)]
    whole = [vectors(cells.sum(axis=0)[None])[0] for cells in strata]
    left_out = [vectors(cells.sum(axis=0) - cells)[0] for cells in strata]
    made: dict[str, tuple[float, float] | None] = {}
    for name in METRICS:
        mean = sum(one[name][0] for one in whole) / len(strata)
        jackknife = np.concatenate(
            [mean + (out[name] - one[name][0]) / len(strata) for out, one in zip(left_out, whole, strict=True)]
        )
        resampled = np.mean([one[name] for one in drawn], axis=0)
        made[name] = bca_defined(resampled, None if np.isnan(mean) else float(mean), jackknife, level=level)
    return made


# --- where there are scores


def auc_roc(wrong: NDArray[np.bool_], score: Floats, weight: Floats | None = None) -> Floats:
    """Probability that a wrong item's score is above a factual one's, ties counted half; `weight` is (m, n), the result
    (m,). NaN where a class is absent."""
    weight = np.ones((1, len(score))) if weight is None else weight
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(score[order]) != 0]) if len(score) else np.zeros(0, int)
    parts = []
    for start in range(0, len(weight), _CHUNK):
        sorted_weight = weight[start : start + _CHUNK, order]
        positive = np.add.reduceat(sorted_weight * wrong[order], starts, axis=1)
        negative = np.add.reduceat(sorted_weight * ~wrong[order], starts, axis=1)
        below = np.cumsum(negative, axis=1) - negative / 2
        total = positive.sum(axis=1) * negative.sum(axis=1)
        above = (positive * below).sum(axis=1)
        parts.append(np.divide(above, total, out=np.full(len(above), np.nan), where=total > 0))
    return np.concatenate(parts)


def auc_pr(wrong: NDArray[np.bool_], score: Floats) -> float | None:
    """Average precision: the mean, over the wrong items, of the precision at their score (ties share a threshold).
    None where a class is absent."""
    if not wrong.any() or wrong.all():
        return None
    order = np.argsort(-score, kind="stable")
    hits = np.cumsum(wrong[order])
    ends = np.flatnonzero(np.r_[np.diff(score[order]) != 0, True])
    precision, found = hits[ends] / (ends + 1), hits[ends]
    return float((precision * np.diff(np.r_[0, found])).sum() / wrong.sum())


def auc_interval(
    wrong: NDArray[np.bool_], score: Floats, cluster: NDArray[np.int64], *, resamples: int, seed: int, level: float
) -> tuple[float, float] | None:
    """Of `auc_roc`, by bootstrap over clusters."""
    present, place = np.unique(cluster, return_inverse=True)
    if len(present) < 2 or not resamples:
        return None
    drawn = auc_roc(wrong, score, weights(len(present), resamples, seed)[:, place])
    left_out = auc_roc(wrong, score, (np.arange(len(present))[:, None] != place).astype(float))
    estimate = float(auc_roc(wrong, score)[0])
    return bca_defined(drawn, None if np.isnan(estimate) else estimate, left_out, level=level)
