"""Support against how rare the topic is: any numeric field (page views, occurrences) or an ordinal level.

FActScore (arXiv 2305.14251, section 3.4) finds precision falling with rarity for all systems, with search too. Its
levels are decades of the larger of page views and occurrences in the training text (appendix A.1): very rare below
100, rare below 1,000, medium below 10,000, freq below 100,000, very freq above.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np

from ..errors import UsageError
from ..metrics import Metric
from ..scores import ABSTAINED, NO_CLAIMS, Group, Policy, outcome, task
from ..stats import FEW, Correlation, Floats, spearman
from ..types import Report, Score, Struct
from .fields import level as level_of
from .fields import missing, names, number, ordered, scale, value
from .shares import Estimate, estimate, slope


class Step(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Generations of one decade or level."""

    name: str
    score: Score
    few: bool
    """Fewer than 20 scored."""


class Rarity(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A metric against a field, from rare to frequent."""

    field: str
    metric: str
    kind: str
    """"number" (steps are decades) or "level"."""
    spearman: Correlation
    """Over prompts, several answers to one averaged first. Positive: the more frequent, the better."""
    slope: Estimate
    """Change of the metric per tenfold, or per level, least squares over responses."""
    steps: tuple[Step, ...]
    without: int
    """Generations that lack the field, which are in nothing here."""
    abstained: int
    no_claims: int
    unscored: dict[str, int]
    """Generations with the field that have no value, by reason."""


def rarity(
    reports: Iterable[Report],
    field: str,
    metric: Metric,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    abstentions: str = "exclude",
) -> Rarity:
    """Relate the metric to the field; what is kept is two numbers a generation.

    Numbers must be counts (0 or more). Levels must be words of one scale (`fields.SCALES`). Raises UsageError for a
    field that no generation has, or whose values are neither.
    """
    policy = Policy(level=level, resamples=resamples, seed=seed, abstentions=abstentions)
    steps: dict[int | str, Group] = {}
    pairs = _Pairs()
    without, abstained, no_claims = 0, 0, 0
    unscored: Counter[str] = Counter()
    seen: dict[str, None] = {}
    for report in reports:
        seen.update(dict.fromkeys(names(report.generation)))
        at = _place(report, field)
        if at is None:
            without += 1
            continue
        steps.setdefault(decade(at) if isinstance(at, float) else at, Group([metric], policy)).add(report)
        found = outcome(report, metric, abstentions)
        if not isinstance(found, str):
            pairs.add(report, at, found)
        abstained += found == ABSTAINED
        no_claims += found == NO_CLAIMS
        if isinstance(found, str) and found not in (ABSTAINED, NO_CLAIMS):
            unscored[found] += 1
    if not steps:
        raise missing(field, list(seen))
    kind, order = _kind(field, steps)
    rows = pairs.rows(order)
    return Rarity(
        field=field,
        metric=metric.name,
        kind=kind,
        spearman=_spearman(rows, policy),
        slope=estimate(rows, slope, policy),
        steps=tuple(_step(key, steps[key]) for key in sorted(steps, key=lambda key: order.get(key, key))),
        without=without,
        abstained=abstained,
        no_claims=no_claims,
        unscored=dict(sorted(unscored.items())),
    )


def decade(count: float) -> int:
    """-1 for less than 1, 0 for 1 to 9, 1 for 10 to 99, …"""
    return len(str(int(count))) - 1 if count >= 1 else -1


def decade_name(number: int) -> str:
    """In words: "100 to 999"."""
    return "below 1" if number < 0 else f"{10**number:,} to {10 ** (number + 1) - 1:,}"


def _place(report: Report, field: str) -> float | str | None:
    found = value(report.generation, field)
    count = number(found)
    if count is None:
        return level_of(report.generation, field).strip() or None
    if count < 0:
        raise UsageError(f"rarity needs counts or levels; {field!r} of generation {report.generation.id} is {count:g}")
    return count


def _kind(field: str, steps: Iterable[int | str]) -> tuple[str, dict[int | str, int]]:
    """Whether the steps are numbers or levels, and the rank of each level."""
    levels = [key for key in steps if isinstance(key, str)]
    if not levels:
        return "number", {}
    ranks = scale(levels)
    if ranks is None or len(levels) < len(list(steps)):
        example = ", ".join(repr(found) for found in ordered(levels)[:4])
        raise UsageError(f"rarity needs counts, or levels such as very rare … very freq; {field!r} has {example}")
    dense = {rank: place for place, rank in enumerate(sorted(set(ranks.values())))}
    return "level", {found: dense[rank] for found, rank in ranks.items()}


class _Pairs:
    """Place and value of each response, by prompt."""

    def __init__(self) -> None:
        self._prompts: dict[bytes, int] = {}
        self._pairs: list[tuple[int, float | str, float]] = []

    def add(self, report: Report, at: float | str, found: float) -> None:
        prompt = self._prompts.setdefault(task(report), len(self._prompts))
        self._pairs.append((prompt, at, found))

    def rows(self, order: dict[int | str, int]) -> Floats:
        """(prompts, 5) sums of 1, x, y, xx, xy over responses, x the logarithm to base 10 or the rank of the level."""
        rows = np.zeros((len(self._prompts), 5))
        for prompt, at, y in self._pairs:
            x = math.log10(max(at, 1.0)) if isinstance(at, float) else float(order[at])
            rows[prompt] += (1.0, x, y, x * x, x * y)
        return rows


def _spearman(rows: Floats, policy: Policy) -> Correlation:
    n = rows[:, 0]
    settings = {"level": policy.level, "resamples": policy.resamples, "seed": policy.seed}
    return spearman(rows[:, 1] / n, rows[:, 2] / n, **settings)


def _step(key: int | str, group: Group) -> Step:
    (found,) = group.scores()
    return Step(name=key if isinstance(key, str) else decade_name(key), score=found, few=found.scored < FEW)
