"""Whole responses: is every claim of one supported, and what share is not? The measures of RefChecker (Hu et al. 2024).

A response is factual if all its claims are supported. One claim that is not decides, whatever stayed unjudged beside
it; a response without such a claim and with one unjudged is undecided, and in no figure. A response of which no claim
is labelled is counted, and not called factual.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..stats import Correlation, pearson, spearman
from ..types import Report, Struct
from .figures import accuracy, draws, f1, f1_supported, grouped, span, table
from .measures import RESAMPLES, Row, rows

_FIGURES = {"accuracy": accuracy, "f1_factual": f1_supported, "f1_not_factual": f1}


class Responses(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Of one judge on the responses of one set; intervals at 95 %, by bootstrap over clusters."""

    set: str
    n: int
    """Responses with a labelled claim."""
    factual: int
    """By the labels."""
    undecided: int
    """No claim called not supported, and some without a verdict."""
    empty: int | None
    """Responses without a labelled claim, beside `n`; None where it is not known."""
    accuracy: float | None
    f1_factual: float | None
    f1_not_factual: float | None
    intervals: dict[str, tuple[float, float]]
    """Of these three."""
    rated: int
    """Responses of which every claim has a verdict."""
    pearson: Correlation
    """Of the share of claims that are not supported by the labels and by the judge, over the rated."""
    spearman: Correlation


def responses(
    name: str, reports: Sequence[Report], *, empty: int | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> Responses | None:
    """None where the set does not say which claims make a response."""
    found: dict[str, list[Row]] = {}
    for report, row in zip(reports, rows(reports), strict=True):
        if (response := report.generation.metadata.get("response")) is not None:
            found.setdefault(str(response), []).append(row)
    if not found:
        return None
    own = list(found.values())
    said = [_said(claims) for claims in own]
    decided = [(claims, verdict) for claims, verdict in zip(own, said, strict=True) if verdict is not None]
    gold = np.array([_gold(claims) for claims, _ in decided], bool)
    called = np.array([verdict for _, verdict in decided], bool)
    groups = grouped([claims[0].cluster for claims, _ in decided])
    drawn = draws(np.array([table(gold[at], called[at]) for at in groups]), resamples, seed) if len(groups) > 1 else ()
    spans = {figure: span([of(one) for one in drawn]) for figure, of in _FIGURES.items()}
    whole = table(gold, called)
    rated = [claims for claims in own if all(row.said is not None for row in claims)]
    shares = [[np.mean([not side for side in sides]) for sides in both] for both in map(_sides, rated)]
    x, y = np.array(shares, float).reshape(-1, 2).T
    clusters = np.unique([claims[0].cluster for claims in rated], return_inverse=True)[1]
    drawing = {"resamples": resamples, "seed": seed}
    return Responses(
        set=name,
        n=len(own),
        factual=sum(map(_gold, own)),
        undecided=said.count(None),
        empty=empty,
        **{figure: of(whole) for figure, of in _FIGURES.items()},
        intervals={figure: one for figure, one in spans.items() if one is not None},
        rated=len(rated),
        pearson=pearson(x, y, clusters, **drawing),
        spearman=spearman(x, y, clusters, **drawing),
    )


def _gold(claims: Sequence[Row]) -> bool:
    return all(row.gold for row in claims)


def _said(claims: Sequence[Row]) -> bool | None:
    """Factual, not, or None for undecided."""
    if any(row.said is False for row in claims):
        return False
    return None if any(row.said is None for row in claims) else True


def _sides(claims: Sequence[Row]) -> tuple[list[bool], list[bool]]:
    return [row.gold for row in claims], [bool(row.said) for row in claims]
