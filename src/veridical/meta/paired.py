"""Two judges on the same claims: which is nearer to the labels, and is it more than chance?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError
from ..paired import differences, outcomes
from ..types import Report, Struct
from .figures import Floats, balanced, balanced_of, grouped, span
from .measures import RESAMPLES, rows, tabled


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
    right = [np.array([pair[side].said == pair[side].gold for pair in judged], bool) for side in (0, 1)]
    found = outcomes(right[0], right[1])
    one, two = (balanced(tabled([pair[side] for pair in judged])) for side in (0, 1))
    groups = grouped([first.cluster for first, _ in judged])
    cells = [np.array([tabled([judged[at][side] for at in own]) for own in groups]).reshape(-1, 4) for side in (0, 1)]
    gap = differences(cells[0], cells[1], balanced_of, _span, resamples=resamples, seed=seed)["balanced_accuracy"]
    return Paired(
        set=name,
        n=len(judged),
        only_first=found.first,
        only_second=found.second,
        p=found.p,
        first=one,
        second=two,
        difference=gap.value,
        low=gap.low,
        high=gap.high,
        left_out=len(both) - len(judged),
    )


def _span(drawn: Floats, value: float | None, left_out: Floats) -> tuple[float, float] | None:
    """By percentiles, as the intervals of one judge are."""
    return span(drawn[~np.isnan(drawn)].tolist())
