"""From several answers, or several claims, to one judgement of a segment."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .records import Claim, Judgement, Said, Sample, Why

Vote = Collection[int] | None
"""Numbers, from 1, that an answer calls wrong; None for an answer that could not be read."""
Opinion = tuple[Said, float | None, Why | None]


def vote(votes: Sequence[Vote], n: int, *, trouble: Why = Why.PARSE_ERROR) -> list[Opinion]:
    """Of each of the numbers 1 to n: the majority of the answers that could be read (self-consistency; 9 answers in the
    paper), and the share that calls it wrong, where there was more than one answer.

    As many for as against is an abstention, and so is no readable answer at all (`trouble`).
    """
    read = [set(one) for one in votes if one is not None]
    if not read:
        return [(Said.ABSTAIN, None, trouble)] * n
    opinions: list[Opinion] = []
    for number in range(1, n + 1):
        against = sum(number in one for one in read)
        score = against / len(read) if len(votes) > 1 else None
        if 2 * against == len(read):
            opinions.append((Said.ABSTAIN, score, Why.TIE))
        else:
            opinions.append((Said.WRONG if 2 * against > len(read) else Said.FACTUAL, score, None))
    return opinions


def rolled_up(
    claims: Sequence[Claim],
    sample: Sample,
    *,
    not_enough: Said = Said.ABSTAIN,
    types: dict[int, str] | None = None,
) -> tuple[Judgement, ...]:
    """Of each segment, out of its claims: wrong if any of them is (section 4.2 of the paper), an abstention if none is
    and one is not judged, uncovered if it has none. Its score is that of its worst claim. A claim with not enough
    evidence counts as `not_enough`."""
    by_unit: dict[int, list[Claim]] = {}
    for claim in claims:
        by_unit.setdefault(claim.unit, []).append(claim)
    return tuple(
        _one(unit.index, by_unit.get(unit.index, []), not_enough, (types or {}).get(unit.index))
        for unit in sample.units
    )


def _one(unit: int, claims: Sequence[Claim], not_enough: Said, type_: str | None) -> Judgement:
    if not claims:
        return Judgement(unit=unit, said=Said.ABSTAIN, why=Why.UNCOVERED)
    score = max((claim.score for claim in claims if claim.score is not None), default=None)
    said = [not_enough if claim.why is Why.NOT_ENOUGH else claim.said for claim in claims]
    if Said.WRONG in said:
        return Judgement(unit=unit, said=Said.WRONG, score=score, error_type=type_)
    reasons = [claim.why for claim, one in zip(claims, said, strict=True) if one is Said.ABSTAIN]
    if not reasons:
        return Judgement(unit=unit, said=Said.FACTUAL, score=score)
    why = Why.NOT_ENOUGH if Why.NOT_ENOUGH in reasons else reasons[0]
    return Judgement(unit=unit, said=Said.ABSTAIN, score=score, why=why)
