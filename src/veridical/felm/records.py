"""The nouns of FELM: what was labelled, and what an evaluator said of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from ..types import Failure, Struct, Usage

DOMAINS = ("wk", "science", "reasoning", "math", "writing_rec")
"""World knowledge, science and technology, reasoning, mathematics, writing and recommendation."""
STEPS = ("math", "reasoning")
"""Domains whose segments are steps that rest on each other: without references, and not to be told as claims."""
ERROR_TYPES = ("knowledge_error", "reasoning_error", "irrelevant_with_qst", "fooled")
"""As the file spells them (section 3.2 of the paper): wrong about the world; wrong inference or calculation; does not
answer what was asked; takes a false premise of the prompt for true."""


class Gold(StrEnum):
    """What people say of a segment."""

    FACTUAL = "factual"
    WRONG = "wrong"
    UNKNOWN = "unknown"


class Said(StrEnum):
    """What an evaluator says of a segment or claim. An abstention is no verdict, and is never counted as one unseen."""

    FACTUAL = "factual"
    WRONG = "wrong"
    ABSTAIN = "abstain"


class Why(StrEnum):
    """Why an evaluator abstained."""

    PARSE_ERROR = "parse_error"
    """No reply could be read."""
    FAILURE = "failure"
    """The call failed."""
    TIE = "tie"
    """As many samples for as against."""
    NO_EVIDENCE = "no_evidence"
    """There was nothing to judge by."""
    NOT_ENOUGH = "not_enough_evidence"
    """The evidence settles it neither way; `Policy.not_enough` says what that counts as."""
    UNCOVERED = "uncovered"
    """No claim was taken out of the segment; `Policy.uncovered` says what that counts as."""


class Ref(Struct, frozen=True, kw_only=True):
    """A reference that annotators rested on: its address, the text taken from it, or both."""

    url: str | None = None
    text: str | None = None


class Unit(Struct, frozen=True, kw_only=True):
    """A segment."""

    index: int
    """Its place in the file's list, from 0; stays when other segments are left out."""
    text: str
    label: Gold = Gold.UNKNOWN
    error_type: str | None = None
    """Of a wrong one, where it is known: one of `ERROR_TYPES`."""
    reason: str | None = None
    """The annotators' comment or correction."""
    span: tuple[int, int] | None = None
    """Where it stands in the response, in code points; None where it cannot be found."""


class Sample(Struct, frozen=True, kw_only=True):
    """A response with its labelled segments."""

    id: int
    domain: str
    prompt: str
    response: str
    units: tuple[Unit, ...]
    refs: tuple[Ref, ...] = ()
    source: str = ""
    """Where the prompt was taken from."""
    meta: dict[str, Any] = {}
    """Fields of the file that are not known here."""

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(ref.url for ref in self.refs if ref.url)

    @property
    def has_evidence(self) -> bool:
        """Whether there is reference text."""
        return any(ref.text for ref in self.refs)

    @property
    def label(self) -> Gold:
        """Of the whole response: wrong if a segment is (section 3.3 of the paper)."""
        return overall([unit.label for unit in self.units])


def overall(labels: list[Gold]) -> Gold:
    if Gold.WRONG in labels:
        return Gold.WRONG
    return Gold.UNKNOWN if Gold.UNKNOWN in labels or not labels else Gold.FACTUAL


class Claim(Struct, frozen=True, kw_only=True):
    """A claim taken out of a segment, and what was said of it."""

    text: str
    unit: int
    """`Unit.index` of the segment."""
    said: Said = Said.ABSTAIN
    why: Why | None = None
    score: float | None = None


class Judgement(Struct, frozen=True, kw_only=True):
    """What an evaluator said of one segment."""

    unit: int
    """`Unit.index`."""
    said: Said
    score: float | None = None
    """How sure it is that the segment is wrong, in [0, 1]."""
    why: Why | None = None
    """Of an abstention."""
    error_type: str | None = None
    """Where it was asked for the type of the error."""


class Prediction(Struct, frozen=True, kw_only=True):
    """What an evaluator said of one sample: a judgement for each of its segments, in order."""

    id: int
    judgements: tuple[Judgement, ...]
    done: str = ""
    """What was really done: "vanilla/segment", "doc/claim", …"""
    substituted: str | None = None
    """Why that is another thing than was asked for ("no reference", "no claim form"); None where it is not."""
    claims: tuple[Claim, ...] = ()
    replies: tuple[str, ...] = ()
    """What the model answered, whole, one a sample drawn (the claims' list first)."""
    asked: int = 0
    """Answers that were to be read."""
    unread: int = 0
    """Those of them that could not be."""
    failure: Failure | None = None
    """Of the sample as a whole."""
    usage: Usage = Usage()


def abstained(sample: Sample, why: Why) -> tuple[Judgement, ...]:
    """The judgements of a sample of which nothing could be said."""
    return tuple(Judgement(unit=unit.index, said=Said.ABSTAIN, why=why) for unit in sample.units)
