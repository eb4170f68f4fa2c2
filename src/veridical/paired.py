"""Two judges on the same items: on which of them only one is right, and what their figures differ by.

McNemar's test takes items for independent. Claims of one document are not; for them there are the intervals, which
resample whole documents, the same ones for both judges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from .stats import Floats, mcnemar, weights
from .types import Struct

Figures = Callable[[Floats], Mapping[str, Floats]]
"""Tables of counts (m, cells) -> each figure of each table (m,); NaN where it is undefined."""
Interval = Callable[[Floats, float | None, Floats], tuple[float, float] | None]
"""From a difference in each resample, in all, and without each cluster in turn; NaN where it is undefined."""


class Difference(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """First minus second."""

    value: float | None
    """None where it is undefined for one of them."""
    low: float | None = None
    high: float | None = None


class Outcomes(Struct, frozen=True, kw_only=True):
    """How many items both, one or neither of two judges have right."""

    both: int
    first: int
    """Only the first."""
    second: int
    neither: int

    @property
    def p(self) -> float:
        """McNemar's exact test, two-sided."""
        return mcnemar(self.first, self.second)


def outcomes(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Outcomes:
    """Of two judges' verdicts on the same items, true where right."""
    return Outcomes(
        both=int((first & second).sum()),
        first=int((first & ~second).sum()),
        second=int((~first & second).sum()),
        neither=int((~first & ~second).sum()),
    )


def differences(
    first: Floats, second: Floats, figures: Figures, interval: Interval, *, resamples: int, seed: int
) -> dict[str, Difference]:
    """Of each figure, with an interval by paired bootstrap: both judges are given the same resampled clusters.

    `first` and `second` are (clusters, cells), the counts of each cluster. No interval for fewer than two clusters.
    """
    drawn = weights(len(first), resamples, seed) if len(first) > 1 else np.zeros((0, len(first)))
    kinds = [
        [figures(tables) for tables in (cells.sum(axis=0)[None], drawn @ cells, cells.sum(axis=0) - cells)]
        for cells in (first, second)
    ]
    found = {}
    for name in kinds[0][0]:
        whole, resampled, left_out = (kinds[0][kind][name] - kinds[1][kind][name] for kind in range(3))
        value = None if np.isnan(whole[0]) else float(whole[0])
        low, high = interval(resampled, value, left_out) or (None, None)
        found[name] = Difference(value=value, low=low, high=high)
    return found
