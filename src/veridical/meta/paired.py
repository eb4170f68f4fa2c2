"""Two judges on the same claims: which is nearer to the labels, and is it more than chance?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError
from ..stats import mcnemar
from ..types import Report, Struct
from .figures import balanced, draws, grouped, span
from .measures import RESAMPLES, Row, rows, tabled


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
    """Raises UsageError where the two have no claim in common, or not the same label for one."""
    other = {row.id: row for row in rows(second)}
    both = [(row, other[row.id]) for row in rows(first) if row.id in other]
    if not both:
        raise UsageError(f"{name}: the two judges have no claim in common")
    if other_label := next((a.id for a, b in both if a.gold != b.gold), None):
        raise UsageError(f"{name}: the two runs have different labels for {other_label!r}: the set was changed")
    judged = [(a, b) for a, b in both if a.said is not None and b.said is not None]
    wins = sum(a.said == a.gold and b.said != b.gold for a, b in judged)
    losses = sum(a.said != a.gold and b.said == b.gold for a, b in judged)
    one, two = (balanced(tabled([pair[side] for pair in judged])) for side in (0, 1))
    low, high = _interval(judged, resamples, seed)
    return Paired(
        set=name,
        n=len(judged),
        only_first=wins,
        only_second=losses,
        p=mcnemar(wins, losses),
        first=one,
        second=two,
        difference=None if one is None or two is None else one - two,
        low=low,
        high=high,
        left_out=len(both) - len(judged),
    )


def _interval(judged: Sequence[tuple[Row, Row]], resamples: int, seed: int) -> tuple[float | None, float | None]:
    groups = grouped([first.cluster for first, _ in judged])
    if len(groups) < 2:
        return None, None
    tables = np.array([[tabled([judged[place][side] for place in own]) for side in (0, 1)] for own in groups])
    found = [(balanced(one), balanced(two)) for one, two in draws(tables, resamples, seed)]
    return span([None if a is None or b is None else a - b for a, b in found]) or (None, None)
