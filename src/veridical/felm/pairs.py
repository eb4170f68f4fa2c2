"""Two evaluators on the same samples: which is right where the other is not, and what their figures differ by.

McNemar's test takes items for independent. Segments of one response are not; for them read the randomisation test over
responses, and the intervals, which resample responses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ..errors import UsageError
from ..paired import Difference, differences, outcomes
from ..stats import bca_defined, randomisation
from ..types import Struct
from . import counts
from .items import Items, Policy, items, settled
from .measures import LEVELS
from .records import Prediction, Sample


class Paired(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Two evaluators at one level, abstentions counted one way."""

    level: str
    abstentions: str
    """"as factual", or "excluded": items on which neither abstains."""
    responses: int
    n: int
    both: int
    """Both are right."""
    first: int
    """Only the first is."""
    second: int
    neither: int
    mcnemar: float
    """Exact two-sided p (McNemar 1947)."""
    randomisation: float
    """p of the paired randomisation test over responses, of the number of items judged rightly."""
    differences: dict[str, Difference]
    """Of `counts.METRICS`."""


def paired(
    samples: Sequence[Sample],
    first: Mapping[int, Prediction],
    second: Mapping[int, Prediction],
    *,
    policy: Policy | None = None,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> list[Paired]:
    """Both on the samples that both have predictions of. Raises UsageError where there is none."""
    policy = policy or Policy()
    common = [sample for sample in samples if sample.id in first and sample.id in second]
    if not common:
        raise UsageError("no sample has predictions of both")
    made = []
    for at in LEVELS:
        a, b = (
            items(common, [settled(one, found[one.id], policy) for one in common], policy, at)[0]
            for found in (first, second)
        )
        decided = ~a.abstained & ~b.abstained
        ways = [("as factual", np.ones(len(decided), bool))]
        ways += [("excluded", decided)] if not decided.all() and decided.any() else []
        made += [_one(a.where(mask), b.where(mask), at, way, resamples, seed, level) for way, mask in ways]
    return made


def _one(a: Items, b: Items, at: str, way: str, resamples: int, seed: int, level: float) -> Paired:
    right_a, right_b = a.flagged == a.wrong, b.flagged == b.wrong
    clusters, place = np.unique(a.cluster, return_inverse=True)
    place = place.astype(np.int64)
    cells = [counts.by_cluster(place, one.wrong, one.flagged, len(clusters)) for one in (a, b)]
    gains = np.bincount(place, weights=right_a.astype(float) - right_b.astype(float), minlength=len(clusters))
    found = outcomes(right_a, right_b)
    return Paired(
        level=at,
        abstentions=way,
        responses=len(clusters),
        n=len(a.wrong),
        both=found.both,
        first=found.first,
        second=found.second,
        neither=found.neither,
        mcnemar=found.p,
        randomisation=randomisation(gains, seed=seed),
        differences=differences(
            cells[0], cells[1], _figures, partial(bca_defined, level=level), resamples=resamples, seed=seed
        ),
    )


def _figures(tables: counts.Floats) -> dict[str, counts.Floats]:
    return counts.vectors(tables)[0]
