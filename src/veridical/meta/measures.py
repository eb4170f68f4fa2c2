"""How far a judge's verdicts are from the labels of a set, with intervals.

Two classes: supported, and everything else (contradicted, not enough evidence, irrelevant). What stayed unjudged is in
no figure but `coverage` and `balanced_accuracy_all`, where it counts as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..tally import reason
from ..types import Label, Report, Struct
from .figures import (
    STATISTICS,
    Bin,
    Floats,
    area,
    area_span,
    average_precision,
    balanced,
    bins,
    cross_fitted,
    draws,
    grouped,
    span,
    table,
    threshold,
)

RESAMPLES = 1000


class Measures(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Of one judge on one set. Shares lie in [0, 1]; intervals are at 95 %, by bootstrap over clusters."""

    set: str
    judge: str
    n: int
    supported: int
    """Claims that the labels support."""
    clusters: int
    """Documents, pages or responses that the claims come from."""
    coverage: float
    """Claims with a verdict, of all."""
    unjudged: dict[str, int]
    """The others, by reason."""
    accuracy: float | None
    recall_supported: float | None
    """Of the supported claims, those called supported (sensitivity)."""
    recall_not_supported: float | None
    """Of the others, those called something else (specificity)."""
    balanced_accuracy: float | None
    """Mean of the two."""
    low: float | None
    high: float | None
    balanced_accuracy_all: float | None
    """The same, were every claim without a verdict wrong."""
    f1: float | None
    """Of not supported, the errors that one looks for."""
    f1_supported: float | None
    mcc: float | None
    """Matthews' correlation, in [-1, 1]."""
    intervals: dict[str, tuple[float, float]]
    """Of each of these figures that is defined."""
    auc: float | None
    """Area under the ROC curve of the probability of supported; None without probabilities."""
    auc_low: float | None
    auc_high: float | None
    average_precision: float | None
    """Of not supported, by falling probability of it (AUC-PR); whoever orders at random has the share of them."""
    brier: float | None
    ece: float | None
    """Expected calibration error over ten bins of equal size."""
    bins: tuple[Bin, ...]
    threshold: float | None
    """Of the probability, the one that suits these labels best."""
    balanced_accuracy_tuned: float | None
    """With such a threshold, fitted on four fifths of the clusters and used on the fifth."""
    confusion: dict[str, dict[str, int]]
    """Label -> verdict -> claims, as finely as both say."""
    pairs: int
    """Minimal pairs of which both sides have a verdict."""
    pairs_right: float | None
    """Share of which both are right."""
    pairs_ordered: float | None
    """Share in which the faithful side has the higher probability."""
    error_types: dict[str, tuple[int, float]]
    """Kind of error -> claims, and the share called not supported."""
    calls: float
    """Per claim."""
    cost_per_1000: float
    """US dollars, cached calls included."""
    seen: bool
    """The judge was trained on part of the set."""
    pairs_per_s: float | None
    """Claims a second, of the wall clock, on the machine and with the cache that were there."""


class Row(Struct, frozen=True, kw_only=True):
    """One labelled claim and what was said of it."""

    id: str
    cluster: str
    gold: bool
    """Supported by the label."""
    said: bool | None
    """Supported by the judge; None: no verdict."""
    probability: float | None = None
    pair: str | None = None
    error_type: str | None = None


def rows(reports: Iterable[Report]) -> list[Row]:
    """The labelled facts of a run over a set."""
    found = []
    for report in reports:
        about = report.generation.metadata
        verdict = report.facts[0].verdict if report.facts else None
        found.append(
            Row(
                id=report.generation.id,
                cluster=str(about.get("cluster") or report.generation.id),
                gold=_label(report) == "supported",
                said=None if verdict is None else verdict.label is Label.SUPPORTED,
                probability=verdict.probability if verdict else None,
                pair=about.get("pair"),
                error_type=about.get("error_type"),
            )
        )
    return found


def measures(
    name: str,
    reports: Sequence[Report],
    *,
    speed: float | None = None,
    seen: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Measures:
    """Of the reports of one set, each of one labelled claim. `speed`: claims that were judged in a second. `seen`: the
    judge was trained on part of it."""
    every = rows(reports)
    judged = [row for row in every if row.said is not None]
    intervals = _intervals(judged, resamples, seed)
    own = {figure: of(tabled(judged)) for figure, of in STATISTICS.items()}
    low, high = intervals.get("balanced_accuracy", (None, None))
    pairs, right, ordered = _pairs(every)
    return Measures(
        set=name,
        judge=next((one.verdict.judge for report in reports for one in report.facts if one.verdict), ""),
        n=len(every),
        supported=sum(row.gold for row in every),
        clusters=len({row.cluster for row in every}),
        coverage=len(judged) / len(every) if every else 0.0,
        unjudged=dict(Counter(filter(None, map(_why, reports))).most_common()),
        **own,
        low=low,
        high=high,
        balanced_accuracy_all=balanced(tabled(every, wrong=True)),
        intervals={figure: found for figure, found in intervals.items() if own[figure] is not None},
        **_by_probability(judged, resamples // 4, seed),
        confusion=_confusion(reports),
        pairs=pairs,
        pairs_right=right,
        pairs_ordered=ordered,
        error_types=_types(judged),
        calls=sum(report.usage.calls for report in reports) / max(len(every), 1),
        cost_per_1000=1000 * sum(report.usage.cost for report in reports) / max(len(every), 1),
        seen=seen,
        pairs_per_s=speed,
    )


def tabled(judged: Sequence[Row], *, wrong: bool = False) -> Floats:
    """(supported right, supported wrong, not supported wrong, not supported right); `wrong`: those without a verdict
    count as wrong, else not at all."""
    kept = [row for row in judged if wrong or row.said is not None]
    gold = np.array([row.gold for row in kept], bool)
    return table(gold, np.array([not row.gold if row.said is None else row.said for row in kept], bool))


def _label(report: Report) -> str | None:
    given = report.generation.facts or ()
    return report.facts[0].fact.gold if report.facts else given[0].label if given else None


def _intervals(judged: Sequence[Row], resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    groups = grouped([row.cluster for row in judged])
    if len(groups) < 2:
        return {}
    drawn = draws(np.array([tabled([judged[place] for place in own]) for own in groups]), resamples, seed)
    found = {name: span([of(one) for one in drawn]) for name, of in STATISTICS.items()}
    return {name: one for name, one in found.items() if one is not None}


def _by_probability(judged: Sequence[Row], resamples: int, seed: int) -> dict[str, Any]:
    """What needs a probability with every verdict: all of it None where one has none."""
    names = ("auc", "auc_low", "auc_high", "average_precision", "brier", "ece", "threshold", "balanced_accuracy_tuned")
    known = [row.probability for row in judged if row.probability is not None]
    if not known or len(known) < len(judged):
        return {**dict.fromkeys(names), "bins": ()}
    gold, probability = np.array([row.gold for row in judged], bool), np.array(known, float)
    groups = grouped([row.cluster for row in judged])
    low, high = area_span(gold, probability, groups, resamples, seed) or (None, None)
    found = bins(gold, probability)
    return {
        "auc": area(gold, probability),
        "auc_low": low,
        "auc_high": high,
        "average_precision": average_precision(~gold, -probability),
        "brier": float(((probability - gold) ** 2).mean()),
        "ece": sum(one.n * abs(one.probability - one.supported) for one in found) / len(gold),
        "threshold": threshold(gold, probability),
        "balanced_accuracy_tuned": cross_fitted(gold, probability, groups),
        "bins": found,
    }


def _pairs(every: Sequence[Row]) -> tuple[int, float | None, float | None]:
    sides: dict[str, dict[bool, Row]] = {}
    for row in every:
        if row.pair is not None and row.said is not None:
            sides.setdefault(row.pair, {})[row.gold] = row
    both = [found for found in sides.values() if len(found) == 2]
    if not both:
        return 0, None, None
    right = sum(bool(found[True].said) and not found[False].said for found in both) / len(both)
    scores = [(found[True].probability, found[False].probability) for found in both]
    known = [(first, second) for first, second in scores if first is not None and second is not None]
    ordered = sum((a > b) + (a == b) / 2 for a, b in known) / len(known) if len(known) == len(both) else None
    return len(both), right, ordered


def _types(judged: Sequence[Row]) -> dict[str, tuple[int, float]]:
    found: dict[str, list[bool]] = {}
    for row in judged:
        if row.error_type and not row.gold:
            found.setdefault(row.error_type, []).append(not row.said)
    return {kind: (len(caught), sum(caught) / len(caught)) for kind, caught in sorted(found.items())}


def _confusion(reports: Sequence[Report]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for report in reports:
        verdict = report.facts[0].verdict if report.facts else None
        counts.setdefault(_label(report) or "", Counter())[verdict.label.value if verdict else "unjudged"] += 1
    return {label: dict(found.most_common()) for label, found in sorted(counts.items())}


def _why(report: Report) -> str | None:
    if report.failure:
        return reason(report.failure)
    if report.failures:
        return reason(report.failures[0].failure)
    if not report.facts:
        return "no fact"
    return reason(failure) if (failure := report.facts[0].failure) else None
