"""What is scored: the verdicts under a policy, as segments and as responses, and the parts of the data they lie in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..types import Struct
from .consistency import rolled_up
from .records import DOMAINS, STEPS, Gold, Judgement, Prediction, Said, Sample, Why, overall

ALL = "all"
LENGTHS = ((1, 1), (2, 4), (5, 9), (10, None))
"""Segments of a response, from and to."""
LENGTH_NAMES = ("1 segment", "2 to 4 segments", "5 to 9 segments", "10 segments or more")


class Policy(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What counts as what; can be changed afterwards, without a call."""

    uncovered: Said = Said.FACTUAL
    """A segment out of which no claim was taken."""
    not_enough: Said = Said.WRONG
    """A segment or claim that the evidence does not settle: for methods of ours not supported is wrong."""
    without_types: tuple[str, ...] = ()
    """Wrong segments of these error types are left out: "irrelevant_with_qst" is no falsity."""

    def __post_init__(self) -> None:
        if self.uncovered is Said.WRONG:
            raise UsageError("a segment without claims is either factual or abstain")


def settled(sample: Sample, prediction: Prediction, policy: Policy) -> tuple[Judgement, ...]:
    """The judgements under a policy."""
    if prediction.claims:
        types = {one.unit: one.error_type for one in prediction.judgements if one.error_type}
        judged = rolled_up(prediction.claims, sample, not_enough=policy.not_enough, types=types)
    else:
        by_unit = {one.unit: one for one in prediction.judgements}
        lost = [unit.index for unit in sample.units if unit.index not in by_unit]
        if lost:
            raise UsageError(
                f"the prediction of sample {sample.id} has no judgement of its segment {lost[0]}: "
                "was it made of another file, or with --drop-enumerators?"
            )
        judged = tuple(by_unit[unit.index] for unit in sample.units)
    instead = {Why.UNCOVERED: policy.uncovered, Why.NOT_ENOUGH: policy.not_enough}
    return tuple(
        msgspec.structs.replace(one, said=instead[one.why])
        if one.said is Said.ABSTAIN and one.why is not None and one.why in instead
        else one
        for one in judged
    )


@dataclass(frozen=True)
class Items:
    """Segments or responses as arrays; `cluster` is the place of the response."""

    cluster: NDArray[np.int64]
    wrong: NDArray[np.bool_]
    flagged: NDArray[np.bool_]
    abstained: NDArray[np.bool_]
    score: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, bool, Said, float | None]]) -> Items:
        said = [one for _, _, one, _ in rows]
        return cls(
            np.array([cluster for cluster, *_ in rows], np.int64),
            np.array([wrong for _, wrong, *_ in rows], bool),
            np.array([one is Said.WRONG for one in said], bool),
            np.array([one is Said.ABSTAIN for one in said], bool),
            np.array([np.nan if score is None else score for *_, score in rows], float),
        )

    def where(self, mask: NDArray[np.bool_]) -> Items:
        return Items(self.cluster[mask], self.wrong[mask], self.flagged[mask], self.abstained[mask], self.score[mask])

    def within(self, clusters: Sequence[int]) -> Items:
        return self.where(np.isin(self.cluster, np.array(clusters, np.int64)))


def items(
    samples: Sequence[Sample], judged: Sequence[tuple[Judgement, ...]], policy: Policy, level: str
) -> tuple[Items, int]:
    """All that is labelled, and how many segments are not."""
    rows: list[tuple[int, bool, Said, float | None]] = []
    unlabelled = 0
    for place, (sample, said) in enumerate(zip(samples, judged, strict=True)):
        known = [
            (unit, one)
            for unit, one in zip(sample.units, said, strict=True)
            if unit.label is not Gold.UNKNOWN
            and (unit.error_type is None or unit.error_type not in policy.without_types)
        ]
        unlabelled += len(sample.units) - len(known)
        if level == "segment":
            rows += [(place, unit.label is Gold.WRONG, one.said, one.score) for unit, one in known]
        elif (gold := overall([unit.label for unit, _ in known])) is not Gold.UNKNOWN:
            rows.append((place, gold is Gold.WRONG, *_whole([one for _, one in known])))
    return Items.of(rows), unlabelled


def _whole(said: Sequence[Judgement]) -> tuple[Said, float | None]:
    """Of a response: wrong if any segment is; not known to be factual while one is not judged."""
    scores = [one.score for one in said if one.score is not None]
    verdicts = {one.said for one in said}
    whole = next(one for one in (Said.WRONG, Said.ABSTAIN, Said.FACTUAL) if one in verdicts)
    return whole, max(scores) if len(scores) == len(said) else None


def scopes(samples: Sequence[Sample], predictions: Sequence[Prediction]) -> dict[str, list[int]]:
    """Name -> places of the samples in it; all, each domain, and the slices that say something of this evaluator."""
    places = range(len(samples))
    names = [name for name in DOMAINS if any(one.domain == name for one in samples)]
    names += sorted({one.domain for one in samples} - set(DOMAINS))
    found = {ALL: list(places)} | {name: [at for at in places if samples[at].domain == name] for name in names}
    if any(one.substituted for one in predictions):
        found["reference and claim domains"] = [at for at in places if samples[at].domain not in STEPS]
        found["nothing substituted"] = [at for at in places if not predictions[at].substituted]
    found["with evidence"] = [at for at in places if samples[at].has_evidence]
    found["without evidence"] = [at for at in places if not samples[at].has_evidence]
    for (low, high), name in zip(LENGTHS, LENGTH_NAMES, strict=True):
        found[name] = [at for at in places if low <= len(samples[at].units) <= (high or len(samples[at].units))]
    return {name: chosen for name, chosen in found.items() if chosen}
