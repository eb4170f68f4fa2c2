"""Two judges on the same claims: which is nearer to the labels, and is it more than chance?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError
from ..types import Report, Struct
from .measures import RESAMPLES, Row, _table, balanced, rows


class Paired(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The first judge against the second on the claims that both judged."""

    set: str
    n: int
    only_first: int
    """Claims that only the first has right."""
    only_second: int
    p: float
    """McNemar's exact test of the two (McNemar 1947), two-sided. It takes claims for independent."""
    first: float | None
    """Balanced accuracy."""
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    """At 95 %, by paired bootstrap over clusters, which does not take claims for independent."""
    left_out: int
    """Claims that one of them, or both, left without a verdict."""


def paired(
    name: str, first: Sequence[Report], second: Sequence[Report], *, resamples: int = RESAMPLES, seed: int = 0
) -> Paired:
    """Raises UsageError where the two have no claim in common."""
    from scipy.stats import binomtest

    other = {row.id: row for row in rows(second)}
    both = [(row, other[row.id]) for row in rows(first) if row.id in other]
    if not both:
        raise UsageError(f"{name}: the two judges have no claim in common")
    judged = [(a, b) for a, b in both if a.said is not None and b.said is not None]
    wins = sum(a.said == a.gold and b.said != b.gold for a, b in judged)
    losses = sum(a.said != a.gold and b.said == b.gold for a, b in judged)
    one, two = (balanced(_table([pair[side] for pair in judged])) for side in (0, 1))
    low, high = _interval(judged, resamples, seed)
    return Paired(
        set=name,
        n=len(judged),
        only_first=wins,
        only_second=losses,
        p=float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0,
        first=one,
        second=two,
        difference=None if one is None or two is None else one - two,
        low=low,
        high=high,
        left_out=len(both) - len(judged),
    )


def _interval(judged: Sequence[tuple[Row, Row]], resamples: int, seed: int) -> tuple[float | None, float | None]:
    groups: dict[str, list[tuple[Row, Row]]] = {}
    for pair in judged:
        groups.setdefault(pair[0].cluster, []).append(pair)
    if len(groups) < 2:
        return None, None
    sides = [np.array([_table([pair[side] for pair in own]) for own in groups.values()]) for side in (0, 1)]
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(len(groups), np.full(len(groups), 1 / len(groups)), size=resamples)
    found = []
    for a, b in zip(weights @ sides[0], weights @ sides[1], strict=True):
        one, two = balanced(a), balanced(b)
        if one is not None and two is not None:
            found.append(one - two)
    if len(found) < 2:
        return None, None
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)
