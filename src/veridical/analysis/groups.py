"""Scores by any field of the generations, alone or crossed with others.

FActScore's Figure 2 (top; arXiv 2305.14251, section 3.4) has them by the frequency of the entities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import UsageError
from ..metrics import Metric, parse
from ..scores import Group as Collected
from ..scores import Policy
from ..stats import FEW
from ..types import Report, Score, Struct
from .fields import level, missing, names, ordered

BESIDE = ("precision", "response_rate", "facts")
"""Metrics shown beside the one asked for."""


class Group(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The generations with the same levels."""

    levels: tuple[str, ...]
    """One a field; "" where a generation lacks it."""
    scores: tuple[Score, ...]
    """One a metric."""
    few: bool
    """Fewer than 20 scored: the interval is too narrow, and a difference may be chance."""


class Groups(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Scores of each group, in the natural order of the levels, and of all generations."""

    fields: tuple[str, ...]
    metrics: tuple[str, ...]
    groups: tuple[Group, ...]
    overall: Group


def with_beside(metric: Metric) -> list[Metric]:
    """The metric, then what is shown beside it."""
    return [metric, *(other for other in map(parse, BESIDE) if other.name != metric.name)]


def groups(
    reports: Iterable[Report],
    fields: str | Sequence[str],
    metrics: Sequence[Metric],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    abstentions: str = "exclude",
) -> Groups:
    """Scores (see `scores.scores`) for each combination of levels of `fields` that occurs.

    `fields` are names, or one text with commas between them ("frequency,region"): "topic", "system" or names in the
    metadata. Each generation is in exactly one group. One pass over the reports. Raises UsageError where no generation
    has a field.
    """
    wanted = tuple(part.strip() for part in fields.split(",")) if isinstance(fields, str) else tuple(fields)
    if not wanted or not all(wanted) or len(set(wanted)) < len(wanted) or not metrics:
        raise UsageError(f"groups need different fields and a metric: {', '.join(wanted)!r}")
    policy = Policy(level=level, resamples=resamples, seed=seed, abstentions=abstentions)
    found: dict[tuple[str, ...], Collected] = {}
    overall = Collected(metrics, policy)
    seen: dict[str, None] = {}
    for report in reports:
        key = _levels(report, wanted)
        found.setdefault(key, Collected(metrics, policy)).add(report)
        overall.add(report)
        seen.update(dict.fromkeys(names(report.generation)))
    for place, field in enumerate(wanted):
        if all(not key[place] for key in found):
            raise missing(field, list(seen))
    orders = [
        {name: rank for rank, name in enumerate(ordered(key[place] for key in found))} for place in range(len(wanted))
    ]
    keys = sorted(found, key=lambda key: [order[name] for order, name in zip(orders, key, strict=True)])
    return Groups(
        fields=wanted,
        metrics=tuple(metric.name for metric in metrics),
        groups=tuple(_group(key, found[key]) for key in keys),
        overall=_group((), overall),
    )


def _levels(report: Report, fields: Sequence[str]) -> tuple[str, ...]:
    return tuple(level(report.generation, field) for field in fields)


def _group(levels: tuple[str, ...], collected: Collected) -> Group:
    made = tuple(collected.scores())
    return Group(levels=levels, scores=made, few=made[0].scored < FEW)
