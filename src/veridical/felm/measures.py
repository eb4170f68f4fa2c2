"""The figures: how well an evaluator finds what people call wrong (section 4.3 of the paper, and what it lacks).

Segment level and response level (a response is wrong, or called wrong, if any of its segments is); over everything, by
domain, as the mean of the domains; with abstentions counted as factual (as published) and with them left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import UsageError
from ..types import Struct, Usage
from . import counts
from .counts import Confusion
from .items import ALL, Items, Policy, items, scopes, settled
from .records import Gold, Judgement, Prediction, Said, Sample, Why

LEVELS = ("segment", "response")
MACRO = "domain mean"


class Figures(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One row."""

    scope: str
    level: str
    abstentions: str
    """How they are counted: "as factual" or "excluded"; "none" where there are none."""
    responses: int
    n: int
    """Segments or responses."""
    wrong: int
    coverage: float | None
    """Share of the items with a verdict, before abstentions are counted as anything."""
    confusion: Confusion | None = None
    values: dict[str, float | None] = {}
    """`counts.METRICS` and `counts.CURVES`."""
    intervals: dict[str, tuple[float, float] | None] = {}
    undefined: tuple[str, ...] = ()
    """Values that are 0/0 and given as 0 or None."""
    scored: int = 0
    """Items with a score, which the curves are made of."""
    note: str = ""


class TypeRecall(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Wrong segments of one type, and how many of them were flagged."""

    type: str
    wrong: int
    flagged: int
    recall: float | None
    low: float | None = None
    high: float | None = None


class Typed(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Error types of segments that were rightly flagged, where both the file and the evaluator name one."""

    n: int
    right: int
    accuracy: float | None
    untyped: int
    """Rightly flagged, of known type, and given none by the evaluator."""
    confusion: dict[str, dict[str, int]]
    """Type in the file -> type said -> how often."""


class Scores(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that is said of one evaluator."""

    figures: tuple[Figures, ...]
    baselines: tuple[Figures, ...]
    by_type: tuple[TypeRecall, ...]
    types: Typed | None
    policy: Policy
    samples: int
    missing: int
    """Samples without a prediction; they are in no figure."""
    unlabelled: int
    """Segments that people have not labelled, or of a type that is left out; they are in no figure."""
    done: dict[str, int]
    """What was done -> samples."""
    substituted: dict[str, int]
    abstained: dict[str, int]
    """Why -> segments."""
    uncovered: int
    """Segments without a claim."""
    claims: int
    asked: int
    unread: int
    parse_failures: float | None
    """Share of the answers that could not be read."""
    usage: Usage
    level: float
    seed: int

    def row(self, scope: str = ALL, level: str = "segment", abstentions: str | None = None) -> Figures:
        """The first such row. Raises KeyError where there is none."""
        for one in self.figures:
            if one.scope == scope and one.level == level and abstentions in (None, one.abstentions):
                return one
        raise KeyError((scope, level, abstentions))


def score(
    samples: Sequence[Sample],
    predictions: Mapping[int, Prediction],
    *,
    policy: Policy | None = None,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Scores:
    """All figures of these predictions (sample id -> prediction). Raises UsageError where none is of these samples."""
    policy = policy or Policy()
    there = [sample for sample in samples if sample.id in predictions]
    if not there:
        raise UsageError("no prediction is of any of these samples")
    made = [predictions[sample.id] for sample in there]
    judged = [settled(sample, one, policy) for sample, one in zip(there, made, strict=True)]
    figures: list[Figures] = []
    baselines: list[Figures] = []
    unlabelled = 0
    named = scopes(there, made)
    domains = [name for name in named if name in {one.domain for one in there}]
    drawing = {"resamples": resamples, "seed": seed, "level": level}
    for at in LEVELS:
        every, unlabelled = items(there, judged, policy, at)
        for way in ("as factual", "excluded") if every.abstained.any() else ("none",):
            rows = {name: row(name, at, way, every.within(chosen), drawing) for name, chosen in named.items()}
            parts = [(rows[name], every.within(named[name])) for name in domains if rows[name].n]
            macro = [_macro(parts, at, way, drawing)] if len(parts) > 1 else []
            figures += [rows.pop(ALL), *macro, *rows.values()]
        baselines += _baselines(every, at)
    if not figures[0].n:
        raise UsageError("no segment of these samples is labelled: there is nothing to score against")
    whys = Counter(one.why.value for said in judged for one in said if one.said is Said.ABSTAIN and one.why)
    raw = [one for prediction in made for one in prediction.judgements]
    asked, unread = sum(one.asked for one in made), sum(one.unread for one in made)
    return Scores(
        figures=tuple(figures),
        baselines=(*baselines, people()),
        by_type=_by_type(there, judged, policy, drawing),
        types=_typed(there, judged),
        policy=policy,
        samples=len(there),
        missing=len(samples) - len(there),
        unlabelled=unlabelled,
        done=dict(Counter(one.done for one in made)),
        substituted=dict(Counter(one.substituted for one in made if one.substituted)),
        abstained=dict(whys),
        uncovered=sum(one.why is Why.UNCOVERED for one in raw),
        claims=sum(len(one.claims) for one in made),
        asked=asked,
        unread=unread,
        parse_failures=unread / asked if asked else None,
        usage=sum((one.usage for one in made), Usage()),
        level=level,
        seed=seed,
    )


def row(scope: str, level: str, way: str, every: Items, drawing: dict) -> Figures:
    """The figures of these items, abstentions counted one way."""
    kept, cells = _cells(every, way)
    confusion = Confusion(**dict(zip(("tp", "fp", "fn", "tn"), cells.sum(axis=0).tolist(), strict=True)))
    found, undefined = counts.values(confusion)
    spans = counts.intervals(cells, **drawing)
    rated = kept.where(~np.isnan(kept.score))
    roc = float(counts.auc_roc(rated.wrong, rated.score)[0]) if len(rated.wrong) else float("nan")
    found |= {
        "auc_roc": None if np.isnan(roc) else roc,
        "auc_pr": counts.auc_pr(rated.wrong, rated.score) if len(rated.wrong) else None,
    }
    if scope == ALL and len(rated.wrong):
        spans["auc_roc"] = counts.auc_interval(rated.wrong, rated.score, rated.cluster, **drawing)
    return Figures(
        scope=scope,
        level=level,
        abstentions=way,
        responses=len(np.unique(every.cluster)),
        n=len(kept.wrong),
        wrong=int(kept.wrong.sum()),
        coverage=float((~every.abstained).mean()) if len(every.wrong) else None,
        confusion=confusion,
        values=found,
        intervals=spans,
        undefined=undefined,
        scored=len(rated.wrong),
    )


def _cells(every: Items, way: str) -> tuple[Items, counts.Floats]:
    """The items that count, and the counts of each of their responses."""
    kept = every.where(~every.abstained) if way == "excluded" else every
    clusters, place = np.unique(kept.cluster, return_inverse=True)
    return kept, counts.by_cluster(place.astype(np.int64), kept.wrong, kept.flagged, len(clusters))


def _macro(parts: Sequence[tuple[Figures, Items]], level: str, way: str, drawing: dict) -> Figures:
    """The mean of the domains; a domain without a value leaves the mean without one."""
    rows = [one for one, _ in parts]
    found: dict[str, float | None] = {}
    for name in (*counts.METRICS, *counts.CURVES):
        numbers = [value for one in rows if (value := one.values.get(name)) is not None]
        found[name] = sum(numbers) / len(numbers) if len(numbers) == len(rows) else None
    covered = [one.coverage for one in rows if one.coverage is not None]
    return Figures(
        scope=MACRO,
        level=level,
        abstentions=way,
        responses=sum(one.responses for one in rows),
        n=sum(one.n for one in rows),
        wrong=sum(one.wrong for one in rows),
        coverage=sum(covered) / len(covered) if covered else None,
        values=found,
        intervals=counts.mean_intervals([_cells(every, way)[1] for _, every in parts], **drawing),
        undefined=tuple(sorted({name for one in rows for name in one.undefined})),
    )


def _baselines(every: Items, level: str) -> list[Figures]:
    """What takes no evaluator: every item flagged, none, each with probability one half (expected counts)."""
    wrong, n = int(every.wrong.sum()), len(every.wrong)
    right = n - wrong
    cells: dict[str, tuple[float, float, float, float]] = {
        "flag all": (wrong, right, 0, 0),
        "flag none": (0, 0, wrong, right),
        "coin": (wrong / 2, right / 2, wrong / 2, right / 2),
    }
    return [
        _given(name, level, every, Confusion(tp=tp, fp=fp, fn=fn, tn=tn)) for name, (tp, fp, fn, tn) in cells.items()
    ]


def _given(name: str, level: str, every: Items, confusion: Confusion) -> Figures:
    found, undefined = counts.values(confusion)
    return Figures(
        scope=name,
        level=level,
        abstentions="none",
        responses=len(np.unique(every.cluster)),
        n=len(every.wrong),
        wrong=int(every.wrong.sum()),
        coverage=1.0,
        confusion=confusion,
        values=found,
        undefined=undefined,
    )


def people() -> Figures:
    """How far people agree: FacTool's annotators scored against FELM's, on the 42 responses that both labelled (31
    alike, kappa .476; counted from the two published files)."""
    confusion = Confusion(tp=15, fp=5, fn=6, tn=16)
    found, undefined = counts.values(confusion)
    return Figures(
        scope="people",
        level="response",
        abstentions="none",
        responses=42,
        n=42,
        wrong=21,
        coverage=1.0,
        confusion=confusion,
        values=found,
        undefined=undefined,
        note="FacTool-QA's labels against FELM's, the same 42 responses: 31 alike, kappa .476",
    )


def _by_type(
    samples: Sequence[Sample], judged: Sequence[tuple[Judgement, ...]], policy: Policy, drawing: dict
) -> tuple[TypeRecall, ...]:
    """Recall by error type, abstentions counted as not flagged."""
    rows: dict[str, list[tuple[int, bool]]] = {}
    for place, (sample, said) in enumerate(zip(samples, judged, strict=True)):
        for unit, one in zip(sample.units, said, strict=True):
            if unit.label is Gold.WRONG:
                rows.setdefault(unit.error_type or "unknown", []).append((place, one.said is Said.WRONG))
    found = []
    for name, pairs in sorted(rows.items(), key=lambda pair: -len(pair[1])):
        if name in policy.without_types:
            continue
        _, place = np.unique([cluster for cluster, _ in pairs], return_inverse=True)
        flagged = np.array([hit for _, hit in pairs])
        cells = counts.by_cluster(place.astype(np.int64), np.ones(len(pairs), bool), flagged, place.max() + 1)
        span = counts.intervals(cells, **drawing)["recall"]
        hits = int(flagged.sum())
        low, high = span or (None, None)
        made = TypeRecall(type=name, wrong=len(pairs), flagged=hits, recall=hits / len(pairs), low=low, high=high)
        found.append(made)
    return tuple(found)


def _typed(samples: Sequence[Sample], judged: Sequence[tuple[Judgement, ...]]) -> Typed | None:
    """None where no error type was ever said."""
    if not any(one.error_type for said in judged for one in said):
        return None
    table: dict[str, Counter[str]] = {}
    untyped = 0
    for sample, said in zip(samples, judged, strict=True):
        for unit, one in zip(sample.units, said, strict=True):
            if unit.label is Gold.WRONG and unit.error_type and one.said is Said.WRONG:
                if one.error_type:
                    table.setdefault(unit.error_type, Counter())[one.error_type] += 1
                else:
                    untyped += 1
    n = sum(counter.total() for counter in table.values())
    right = sum(counter[name] for name, counter in table.items())
    return Typed(
        n=n,
        right=right,
        accuracy=right / n if n else None,
        untyped=untyped,
        confusion={name: dict(counter) for name, counter in table.items()},
    )
