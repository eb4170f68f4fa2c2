"""Two estimators over the same systems: do they say the same of them?

FActScore (arXiv 2305.14251, section 4.3) recommends to try two variants of its estimator on new systems and to report
their correlation; its own two have Pearson's r 0.99 over twelve. Systems ranked by one estimator: `compare.compare`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..errors import UsageError
from ..metrics import Metric
from ..scores import Policy, outcome, task
from ..stats import Correlation, pearson, spearman
from ..types import Report, Struct
from .stability import kendall

_LEAST = 8
"""Fewer pairs than this say nothing of an interval: resamples of them are mostly repetitions."""
_MOST = 500
"""Above this many pairs Kendall's tau takes too long for what it adds."""


class Correlated(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Two lists of scores; intervals by bootstrap over the pairs, from 8 on."""

    pearson: Correlation
    spearman: Correlation
    kendall: float | None
    """Tau-b."""
    mean_difference: float
    """First minus second."""


class Estimators(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Two estimators on the same systems and the same prompts."""

    metric: str
    systems: tuple[tuple[str, float, float], ...]
    """Name, first and second score, best by the first on top: means over the prompts that both scored."""
    same_ranking: bool
    over_systems: Correlated | None
    """None for fewer than three systems, of which no correlation is worth the name."""
    over_responses: Correlated | None
    """Over the responses of all systems; within one system, prompts differ by more than estimators do."""
    left_out: dict[str, int]
    """Responses not compared, by reason."""
    one_sided: tuple[str, ...]
    """Systems that only one estimator has seen."""


def correlate(
    first: Sequence[float], second: Sequence[float], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Correlated:
    """Pearson, Spearman and Kendall between paired scores. Raises UsageError for other lengths or nothing to pair."""
    if len(first) != len(second) or not len(first):
        raise UsageError(f"correlation needs pairs: {len(first)} and {len(second)} scores")
    return Correlated(
        pearson=_told(pearson(first, second, level=level, resamples=resamples, seed=seed)),
        spearman=_told(spearman(first, second, level=level, resamples=resamples, seed=seed)),
        kendall=kendall(first, second) if len(first) <= _MOST else None,
        mean_difference=math.fsum(a - b for a, b in zip(first, second, strict=True)) / len(first),
    )


def estimators(
    first: Sequence[tuple[str, Iterable[Report]]],
    second: Sequence[tuple[str, Iterable[Report]]],
    metric: Metric,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    abstentions: str = "exclude",
) -> Estimators:
    """Compare two estimators, each with (system, reports) pairs of the same generations.

    Systems are matched by name, responses by system and prompt; a prompt counts where both have a value. Raises
    UsageError where no response has two.
    """
    policy = Policy(level=level, resamples=resamples, seed=seed, abstentions=abstentions)
    sides = [{name: _values(reports, metric, abstentions) for name, reports in side} for side in (first, second)]
    if any(len(side) < len(given) for side, given in zip(sides, (first, second), strict=True)):
        raise UsageError("an estimator has two runs of one system")
    common = [name for name in sides[0] if name in sides[1]]
    left_out: Counter[str] = Counter()
    pairs = {name: _pairs(sides[0][name], sides[1][name], left_out) for name in common}
    systems = [
        (name, _mean([a for a, _ in found]), _mean([b for _, b in found])) for name, found in pairs.items() if found
    ]
    if not systems:
        seen = " and ".join(", ".join(side) for side in sides)
        raise UsageError(f"the estimators have scored no response in common; their systems are {seen}")
    systems.sort(key=lambda row: (-row[1], row[0]))
    every = [pair for found in pairs.values() for pair in found]

    def correlated(x: Sequence[float], y: Sequence[float]) -> Correlated:
        return correlate(x, y, level=policy.level, resamples=policy.resamples, seed=policy.seed)

    a, b = [row[1] for row in systems], [row[2] for row in systems]
    return Estimators(
        metric=metric.name,
        systems=tuple(systems),
        same_ranking=b == sorted(b, reverse=True),
        over_systems=correlated(a, b) if len(systems) > 2 else None,
        over_responses=correlated([a for a, _ in every], [b for _, b in every]) if len(every) > 2 else None,
        left_out=dict(sorted(left_out.items())),
        one_sided=tuple(sorted({*sides[0]} ^ {*sides[1]})),
    )


def _told(found: Correlation) -> Correlation:
    return found if found.n >= _LEAST else Correlation(value=found.value, n=found.n)


def _values(reports: Iterable[Report], metric: Metric, abstentions: str) -> dict[bytes, float | str]:
    """By prompt the mean of its answers, or the first reason why it has none."""
    found: dict[bytes, list[float | str]] = {}
    for report in reports:
        found.setdefault(task(report), []).append(outcome(report, metric, abstentions))
    return {key: _mean_or_reason(values) for key, values in found.items()}


def _mean_or_reason(values: Sequence[float | str]) -> float | str:
    known = [value for value in values if not isinstance(value, str)]
    return _mean(known) if known else str(values[0])


def _pairs(
    first: Mapping[bytes, float | str], second: Mapping[bytes, float | str], left_out: Counter[str]
) -> list[tuple[float, float]]:
    pairs: list[tuple[float, float]] = []
    for key in dict.fromkeys([*first, *second]):
        a, b = first.get(key, "missing"), second.get(key, "missing")
        if isinstance(a, str):
            left_out[f"{a} in the first"] += 1
        elif isinstance(b, str):
            left_out[f"{b} in the second"] += 1
        else:
            pairs.append((a, b))
    return pairs


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
