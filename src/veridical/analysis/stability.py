"""How many prompts a ranking of systems needs: scores over random subsets.

FActScore (arXiv 2305.14251, appendix B.4, Figure 5) draws 100 subsets of 40, 100 and 200 prompts out of 500, evenly
over its 20 categories, and looks at the mean, the standard deviation and whether the ranking stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from ..errors import UsageError
from ..metrics import Metric
from ..scores import Policy, outcome, task
from ..stats import Floats
from ..types import Report, Struct
from .fields import level, missing, names, ordered

SIZES = (40, 100, 200)
SUBSETS = 100


class Spread(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A system's scores over the subsets of one size."""

    system: str
    mean: float | None
    sd: float | None
    """Standard deviation over subsets (n - 1); None for fewer than two."""
    least: float | None
    most: float | None
    subsets: int
    """Subsets in which it had a value."""


class Size(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """All subsets of one size."""

    n: int
    """Prompts in each."""
    subsets: int
    systems: tuple[Spread, ...]
    """In the full ranking's order."""
    ranked: int
    """Subsets in which all systems had a value, so that they could be ranked."""
    same_ranking: float | None
    """Share of the ranked subsets with the ranking of all prompts; None for fewer than two systems."""
    kendall: float | None
    """Mean tau-b between their ranking and that of all prompts."""


class Full(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A system on all prompts."""

    system: str
    value: float | None
    scored: int
    """Prompts on which it has a value."""
    unscored: int
    """Prompts on which it abstained, claimed nothing or failed."""


class Stability(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Scores and rankings over subsets of the prompts."""

    metric: str
    prompts: int
    """Different prompts of all systems together."""
    category: str | None
    categories: dict[str, int]
    """Prompts in each, in natural order; "" for those without."""
    seed: int
    full: tuple[Full, ...]
    """Best first."""
    sizes: tuple[Size, ...]
    too_large: tuple[int, ...]
    """Sizes that leave no choice, since there are no more prompts than that."""


def stability(
    systems: Sequence[tuple[str, Iterable[Report]]],
    metric: Metric,
    *,
    sizes: Sequence[int] = SIZES,
    subsets: int = SUBSETS,
    category: str | None = None,
    seed: int = 0,
    abstentions: str = "exclude",
) -> Stability:
    """Score (name, reports) of one system or more over `subsets` random subsets of each size.

    Prompts are drawn without replacement, evenly by `category` (one field, or several with commas between them): as
    many of each as can be, what does not divide going to categories at random. All systems get the same subset; each is
    scored on the prompts of it that it answered, as in the paper. The same seed gives the same subsets.

    The spread is that of subsets out of these prompts: near their number it becomes nothing, though other prompts would
    still differ. For that see the intervals of `compare`. Raises UsageError for no system or equal names, for no size,
    sizes or subsets below 1, and where no generation has the category.
    """
    Policy(seed=seed, abstentions=abstentions)
    titles = [name for name, _ in systems]
    if not systems or len(set(titles)) < len(titles):
        raise UsageError(f"stability needs systems of different names: {', '.join(titles) or 'none given'}")
    if not sizes or min(sizes) < 1 or subsets < 1:
        raise UsageError(f"stability needs sizes and a number of subsets of at least 1: {list(sizes)}, {subsets}")
    prompts = _Prompts(category)
    columns = [prompts.read(reports, metric, abstentions) for _, reports in systems]
    values = np.full((len(titles), len(prompts.groups)), np.nan)
    for row, column in enumerate(columns):
        values[row, list(column)] = list(column.values())
    order = _ranked(titles, _means(values))
    values = values[order]
    pools = prompts.pools()
    rng = np.random.default_rng(seed)
    total = values.shape[1]
    made = [
        _size(n, [titles[place] for place in order], values, _subsets(pools, n, subsets, rng))
        for n in dict.fromkeys(sizes)
        if n < total
    ]
    return Stability(
        metric=metric.name,
        prompts=total,
        category=category,
        categories={name: len(pool) for name, pool in pools.items()},
        seed=seed,
        full=tuple(
            _full(titles[place], row, value)
            for place, row, value in zip(order, values, _means(values).tolist(), strict=True)
        ),
        sizes=tuple(made),
        too_large=tuple(n for n in dict.fromkeys(sizes) if n >= total),
    )


def draw(pools: Mapping[str, Sequence[int]], n: int, rng: np.random.Generator) -> list[int]:
    """n of the places in the pools without replacement, evenly over the pools; all of a pool that has too few."""
    quotas = dict.fromkeys(pools, 0)
    left = min(n, sum(len(pool) for pool in pools.values()))
    while left:
        open_ = [name for name, pool in pools.items() if len(pool) > quotas[name]]
        each = min(left // len(open_), *(len(pools[name]) - quotas[name] for name in open_))
        if each == 0:
            for place in rng.permutation(len(open_))[:left]:
                quotas[open_[place]] += 1
            left -= min(left, len(open_))
            continue
        for name in open_:
            quotas[name] += each
        left -= each * len(open_)
    chosen = [pools[name][place] for name in pools for place in rng.permutation(len(pools[name]))[: quotas[name]]]
    return sorted(chosen)


def kendall(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's tau-b; None where one side does not vary."""
    pairs = list(combinations(range(len(x)), 2))
    signs = [(_sign(x[a] - x[b]), _sign(y[a] - y[b])) for a, b in pairs]
    varied = sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs)
    return sum(a * b for a, b in signs) / math.sqrt(varied) if varied else None


class _Prompts:
    """The prompts of all systems, numbered, each with its category."""

    def __init__(self, category: str | None) -> None:
        self._category = category
        self._fields = [part.strip() for part in (category or "").split(",") if part.strip()]
        self._places: dict[bytes, int] = {}
        self._seen: dict[str, None] = {}
        self.groups: list[tuple[str, ...]] = []

    def read(self, reports: Iterable[Report], metric: Metric, abstentions: str) -> dict[int, float]:
        """The value of each prompt that has one, the mean of its answers."""
        found: dict[int, list[float]] = {}
        for report in reports:
            place = self._places.setdefault(task(report), len(self.groups))
            if place == len(self.groups):
                self.groups.append(())
            self.groups[place] = self.groups[place] or self._group(report)
            value = outcome(report, metric, abstentions)
            if not isinstance(value, str):
                found.setdefault(place, []).append(value)
        return {place: math.fsum(values) / len(values) for place, values in found.items()}

    def _group(self, report: Report) -> tuple[str, ...]:
        if not self._fields:
            return ()
        self._seen.update(dict.fromkeys(names(report.generation)))
        levels = tuple(level(report.generation, field) for field in self._fields)
        return levels if any(levels) else ()

    def pools(self) -> dict[str, list[int]]:
        """The places of each category, in the natural order of its levels; those without one are last."""
        if self._fields and not any(self.groups):
            raise missing(self._category or "", list(self._seen))
        orders = [
            {name: rank for rank, name in enumerate(ordered(group[n] for group in self.groups if group))}
            for n in range(len(self._fields))
        ]
        pools: dict[tuple[str, ...], list[int]] = {}
        for place, group in enumerate(self.groups):
            pools.setdefault(group, []).append(place)
        keys = sorted(pools, key=lambda key: (not key, [order[name] for order, name in zip(orders, key, strict=False)]))
        return {", ".join(key): pools[key] for key in keys}


def _subsets(pools: Mapping[str, Sequence[int]], n: int, count: int, rng: np.random.Generator) -> list[list[int]]:
    return [draw(pools, n, rng) for _ in range(count)]


def _means(values: Floats) -> Floats:
    """Of each row over what it has; NaN for nothing."""
    known = np.isfinite(values)
    counts = known.sum(axis=1)
    sums = np.where(known, values, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _ranked(titles: Sequence[str], means: Floats) -> list[int]:
    """Best first, those without a value last."""
    return sorted(range(len(titles)), key=lambda place: (-np.nan_to_num(means[place], nan=-np.inf), titles[place]))


def _size(n: int, titles: Sequence[str], values: Floats, subsets: Sequence[Sequence[int]]) -> Size:
    full = _means(values)
    scores = np.array([_means(values[:, places]) for places in subsets])
    known = np.isfinite(full)
    ranked = scores[np.isfinite(scores[:, known]).all(axis=1)][:, known]
    several = known.sum() > 1 and len(ranked) > 0
    order = full[known].tolist()
    taus = [tau for row in ranked.tolist() if (tau := kendall(row, order)) is not None] if several else []
    same = [_signs(row) == _signs(order) for row in ranked.tolist()] if several else []
    return Size(
        n=n,
        subsets=len(subsets),
        systems=tuple(_spread(title, column) for title, column in zip(titles, scores.T, strict=True)),
        ranked=len(ranked),
        same_ranking=sum(same) / len(same) if same else None,
        kendall=math.fsum(taus) / len(taus) if taus else None,
    )


def _spread(title: str, scores: Floats) -> Spread:
    known = scores[np.isfinite(scores)]
    return Spread(
        system=title,
        mean=float(known.mean()) if len(known) else None,
        sd=float(known.std(ddof=1)) if len(known) > 1 else None,
        least=float(known.min()) if len(known) else None,
        most=float(known.max()) if len(known) else None,
        subsets=len(known),
    )


def _full(title: str, row: Floats, value: float) -> Full:
    scored = int(np.isfinite(row).sum())
    return Full(system=title, value=value if scored else None, scored=scored, unscored=len(row) - scored)


def _signs(values: Sequence[float]) -> list[int]:
    return [_sign(a - b) for a, b in combinations(values, 2)]


def _sign(difference: float) -> int:
    return 0 if abs(difference) < 1e-12 else 1 if difference > 0 else -1
