"""Whether later facts are less often right: support by the relative place of a fact in its response.

FActScore's Figure 2 (bottom; arXiv 2305.14251, section 3.4) bins facts into fifths of the generation "as the position
of the fact is later"; so the place here is that of the fact among the facts of its response, and with `unit="sentence"`
that of its sentence among the sentences.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import UsageError
from ..scores import Policy
from ..types import Report, Struct
from .shares import RULES, Counted, Coverage, Estimate, Rows, Share, difference, estimate, share, slope, supported

UNITS = {
    "fact": "place of the fact among the facts of its response",
    "sentence": "place of the fact's sentence among the sentences of its response",
}


class Bin(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The facts whose relative place is in [start, end)."""

    start: float
    end: float
    share: Share
    """Supported facts of those counted."""
    left_out: int
    """Facts here that the rule leaves out or that have no verdict."""


class Positions(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Support along the response."""

    unit: str
    rule: str
    bins: tuple[Bin, ...]
    slope: Estimate
    """Change of the share supported from the start of a response (place 0) to its end (place 1), least squares over
    facts."""
    last_minus_first: Estimate
    """Share of the last bin minus that of the first."""
    coverage: Coverage


def positions(
    reports: Iterable[Report],
    *,
    bins: int = 5,
    unit: str = "fact",
    rule: str = "factscore",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Positions:
    """Bin facts by their relative place (i + 1/2) / n of n places, so that a lone fact stands in the middle.

    Shares are pooled over the facts of a bin (`shares.RULES` says which count); all intervals resample prompts. A
    response of fewer facts than bins is in some bins only. Raises UsageError for no bin, an unknown unit or rule.
    """
    if bins < 1 or unit not in UNITS or rule not in RULES:
        raise UsageError(f"positions need a bin, a unit of {', '.join(UNITS)}, a rule of {', '.join(RULES)}")
    policy = Policy(level=level, resamples=resamples, seed=seed)
    counted = Counted()
    rows = Rows(3 * bins + 5)
    for report in reports:
        if counted.takes(report):
            rows.add(report, _row(report, bins, unit, rule))
    matrix = rows.matrix()
    found = [
        Bin(
            start=place / bins,
            end=(place + 1) / bins,
            share=share(matrix[:, 3 * place : 3 * place + 2], policy),
            left_out=round(float(matrix[:, 3 * place + 2].sum())),
        )
        for place in range(bins)
    ]
    ends = np.concatenate([matrix[:, 3 * bins - 3 : 3 * bins - 1], matrix[:, :2]], axis=1)
    return Positions(
        unit=UNITS[unit],
        rule=RULES[rule],
        bins=tuple(found),
        slope=estimate(matrix[:, 3 * bins :], slope, policy),
        last_minus_first=difference(ends, policy) if bins > 1 else Estimate(),
        coverage=counted.coverage(),
    )


def places(report: Report, unit: str) -> list[tuple[int, int]]:
    """(i, n) of each fact: the i-th of n places, from 0."""
    if unit == "fact":
        return [(place, len(report.facts)) for place in range(len(report.facts))]
    order = {sentence.index: place for place, sentence in enumerate(report.sentences)}
    if not all(judged.fact.sentence in order for judged in report.facts):
        order = {index: place for place, index in enumerate(sorted({j.fact.sentence for j in report.facts}))}
    return [(order[judged.fact.sentence], len(order)) for judged in report.facts]


def _row(report: Report, bins: int, unit: str, rule: str) -> list[float]:
    """For each bin hits, counted and left out; then sums of 1, x, y, xx, xy over the counted facts."""
    row = [0.0] * (3 * bins + 5)
    for judged, (place, n) in zip(report.facts, places(report, unit), strict=True):
        bin_ = (2 * place + 1) * bins // (2 * n)
        hit = supported(judged, rule)
        if hit is None:
            row[3 * bin_ + 2] += 1
            continue
        row[3 * bin_] += hit
        row[3 * bin_ + 1] += 1
        x = (place + 0.5) / n
        for column, term in enumerate((1.0, x, float(hit), x * x, x * hit)):
            row[3 * bins + column] += term
    return row
