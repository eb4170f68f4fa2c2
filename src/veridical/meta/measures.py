"""How far a judge's verdicts are from the labels of a set, with intervals and beside judges that read nothing.

Two classes: supported, and everything else (contradicted, not enough evidence, irrelevant). What stayed unjudged is in
no figure but `coverage` and `balanced_accuracy_all`, where it counts as wrong. Nothing is NaN: what one class alone
cannot say is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..metrics import reason
from ..stats import ranks
from ..types import Label, Report, Struct
from ..verifiers.embedded import lexical_coverage

Floats = NDArray[np.float64]
RESAMPLES = 1000
BINS = 10


class Bin(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Claims of like probability, for a reliability diagram."""

    n: int
    probability: float
    """Mean that the judge gives."""
    supported: float
    """Share that the labels say."""


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
    auc: float | None
    """Area under the ROC curve of the probability of supported; None without probabilities."""
    auc_low: float | None
    auc_high: float | None
    average_precision: float | None
    """Of not supported, by falling probability of it (AUC-PR)."""
    brier: float | None
    ece: float | None
    """Expected calibration error over ten bins of equal size."""
    bins: tuple[Bin, ...]
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
    pairs_per_s: float | None


class Trivial(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A judge that reads nothing, or only words."""

    name: str
    balanced_accuracy: float | None
    f1: float | None
    auc: float | None = None


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
    domain: str | None = None


def rows(reports: Iterable[Report]) -> list[Row]:
    """The labelled facts of a run over a set."""
    found = []
    for report in reports:
        about = report.generation.metadata
        given = report.generation.facts or ()
        label = report.facts[0].fact.gold if report.facts else given[0].label if given else None
        judged = report.facts[0] if report.facts else None
        verdict = judged.verdict if judged else None
        found.append(
            Row(
                id=report.generation.id,
                cluster=str(about.get("cluster") or report.generation.id),
                gold=label == "supported",
                said=None if verdict is None else verdict.label is Label.SUPPORTED,
                probability=verdict.probability if verdict else None,
                pair=about.get("pair"),
                error_type=about.get("error_type"),
                domain=about.get("domain"),
            )
        )
    return found


def measures(
    name: str, reports: Sequence[Report], *, seconds: float | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> Measures:
    """Of the reports of one set, each of one labelled claim. `seconds` is what judging them took."""
    every = rows(reports)
    judged = [row for row in every if row.said is not None]
    table = _table(judged)
    probable = [row for row in judged if row.probability is not None]
    gold = np.array([row.gold for row in probable], bool)
    probability = np.array([row.probability for row in probable], float)
    whole = len(probable) == len(judged) > 0
    low, high = _interval(judged, resamples, seed)
    spans = _auc_interval(probable, resamples // 4, seed) if whole else (None, None)
    bins = _bins(gold, probability) if whole else ()
    cost = sum(report.usage.cost for report in reports)
    pairs, right, ordered = _pairs(every)
    return Measures(
        set=name,
        judge=next((one.verdict.judge for report in reports for one in report.facts if one.verdict), ""),
        n=len(every),
        supported=sum(row.gold for row in every),
        clusters=len({row.cluster for row in every}),
        coverage=len(judged) / len(every) if every else 0.0,
        unjudged=dict(Counter(filter(None, map(_why, reports))).most_common()),
        accuracy=_ratio(table[0] + table[3], table.sum()),
        recall_supported=_ratio(table[0], table[0] + table[1]),
        recall_not_supported=_ratio(table[3], table[2] + table[3]),
        balanced_accuracy=balanced(table),
        low=low,
        high=high,
        balanced_accuracy_all=balanced(_table(every, wrong=True)),
        f1=_f1(table[3], table[1], table[2]),
        f1_supported=_f1(table[0], table[2], table[1]),
        auc=area(gold, probability) if whole else None,
        auc_low=spans[0],
        auc_high=spans[1],
        average_precision=_average_precision(~gold, -probability) if whole else None,
        brier=float(((probability - gold) ** 2).mean()) if whole else None,
        ece=sum(one.n * abs(one.probability - one.supported) for one in bins) / len(probable) if bins else None,
        bins=bins,
        confusion=_confusion(reports),
        pairs=pairs,
        pairs_right=right,
        pairs_ordered=ordered,
        error_types=_types(judged),
        calls=sum(report.usage.calls for report in reports) / max(len(every), 1),
        cost_per_1000=1000 * cost / max(len(every), 1),
        pairs_per_s=len(every) / seconds if seconds else None,
    )


def trivial(reports: Sequence[Report]) -> list[Trivial]:
    """Judges that read nothing, and the share of the claim's words that its evidence has, at the threshold that suits
    these very labels best: a judge has to beat that."""
    every = rows(reports)
    gold = np.array([row.gold for row in every], bool)
    made = []
    for name, said in (("always supported", True), ("always not supported", False)):
        table = _table([_said(row, said=said) for row in every])
        made.append(Trivial(name=name, balanced_accuracy=balanced(table), f1=_f1(table[3], table[1], table[2])))
    half = (~gold).mean() if len(gold) else 0.0
    made.append(Trivial(name="a fair coin (expected)", balanced_accuracy=0.5, f1=float(half / (half + 0.5)), auc=0.5))
    if all(report.generation.reference for report in reports) and 0 < gold.sum() < len(gold):
        share = np.array([lexical_coverage(r.generation.text, r.generation.reference or "") for r in reports], float)
        best = max(
            (
                _table([_said(row, said=bool(one >= at)) for row, one in zip(every, share, strict=True)])
                for at in np.unique(np.quantile(share, np.linspace(0, 1, 101)))
            ),
            key=lambda table: balanced(table) or 0.0,
        )
        name = "share of words, best threshold"
        f1 = _f1(best[3], best[1], best[2])
        made.append(Trivial(name=name, balanced_accuracy=balanced(best), f1=f1, auc=area(gold, share)))
    return made


def balanced(table: Floats) -> float | None:
    """Of (supported right, supported wrong, not supported wrong, not supported right); None where a class is absent."""
    first, second = _ratio(table[0], table[0] + table[1]), _ratio(table[3], table[2] + table[3])
    return None if first is None or second is None else (first + second) / 2


def area(gold: NDArray[np.bool_], score: Floats) -> float | None:
    """Area under the ROC curve: how often a supported claim has the higher score, ties half (Mann-Whitney)."""
    positive = int(gold.sum())
    negative = len(gold) - positive
    if not positive or not negative:
        return None
    return float((ranks(score)[gold].sum() - positive * (positive + 1) / 2) / (positive * negative))


def _said(row: Row, *, said: bool) -> Row:
    return Row(id=row.id, cluster=row.cluster, gold=row.gold, said=said)


def _table(judged: Sequence[Row], *, wrong: bool = False) -> Floats:
    """(supported right, supported wrong, not supported wrong, not supported right)."""
    counts = np.zeros(4)
    for row in judged:
        said = (not row.gold if wrong else None) if row.said is None else row.said
        if said is not None:
            counts[(0 if said else 1) if row.gold else (2 if said else 3)] += 1
    return counts


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _f1(right: float, missed: float, alarms: float) -> float | None:
    """`alarms` and `missed` are the two kinds of mistake; None where there is nothing to find and nothing was said."""
    whole = 2 * right + missed + alarms
    return float(2 * right / whole) if whole else None


def _interval(judged: Sequence[Row], resamples: int, seed: int) -> tuple[float | None, float | None]:
    """Of the balanced accuracy, percentiles over resampled clusters."""
    tables: dict[str, list[Row]] = {}
    for row in judged:
        tables.setdefault(row.cluster, []).append(row)
    if len(tables) < 2:
        return None, None
    matrix = np.array([_table(own) for own in tables.values()])
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(matrix), np.full(len(matrix), 1 / len(matrix)), size=resamples) @ matrix
    found = [value for table in drawn if (value := balanced(table)) is not None]
    return _span(found)


def _auc_interval(probable: Sequence[Row], resamples: int, seed: int) -> tuple[float | None, float | None]:
    places: dict[str, list[int]] = {}
    for place, row in enumerate(probable):
        places.setdefault(row.cluster, []).append(place)
    groups = [np.array(own) for own in places.values()]
    if len(groups) < 2:
        return None, None
    gold = np.array([row.gold for row in probable], bool)
    score = np.array([row.probability for row in probable], float)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(resamples):
        chosen = np.concatenate([groups[place] for place in rng.integers(0, len(groups), len(groups))])
        if (value := area(gold[chosen], score[chosen])) is not None:
            found.append(value)
    return _span(found)


def _span(found: Sequence[float]) -> tuple[float | None, float | None]:
    if len(found) < 2:
        return None, None
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


def _average_precision(positive: NDArray[np.bool_], score: Floats) -> float | None:
    """Mean precision at each positive, ties taken together (AUC-PR as a step function)."""
    if not positive.any():
        return None
    order = np.argsort(-score, kind="stable")
    found, last = positive[order].cumsum(), np.append(np.diff(score[order]) != 0, True)
    at, gained = found[last], np.diff(np.append(0, found[last]))
    return float((at / (np.flatnonzero(last) + 1) * gained).sum() / positive.sum())


def _bins(gold: NDArray[np.bool_], probability: Floats) -> tuple[Bin, ...]:
    order = np.argsort(probability, kind="stable")
    parts = [part for part in np.array_split(order, min(BINS, len(order))) if len(part)]
    return tuple(
        Bin(n=len(part), probability=float(probability[part].mean()), supported=float(gold[part].mean()))
        for part in parts
    )


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
        for one in report.facts:
            said = one.verdict.label.value if one.verdict else "unjudged"
            counts.setdefault(one.fact.gold or "", Counter())[said] += 1
    return {label: dict(found.most_common()) for label, found in sorted(counts.items())}


def _why(report: Report) -> str | None:
    if report.failure:
        return reason(report.failure)
    if report.failures:
        return reason(report.failures[0].failure)
    if not report.facts:
        return "no fact"
    return reason(failure) if (failure := report.facts[0].failure) else None
