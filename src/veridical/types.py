"""The nouns: every stage takes these frozen values and returns new ones.

Offsets are Unicode code points into `Generation.text` (or `Passage.text`), half-open: `text[start:end]`.
Ids are keys; texts never are. This module imports nothing else of the package.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Struct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all nouns: frozen, keyword-only, JSON both ways, defaults left out of the JSON."""


class Label(StrEnum):
    """What a judge can say of a fact. "Unscored" is not a label: it is a `Failure`."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_ENOUGH_EVIDENCE = "not_enough_evidence"
    IRRELEVANT = "irrelevant"


class GivenFact(Struct, frozen=True, kw_only=True):
    """A fact that came with the input, used by `--facts given`."""

    text: str
    sentence: str | None = None
    """The sentence it was taken from, as the file gives it."""
    label: str | None = None
    """A human's label: "supported", "not_supported", "contradicted", "not_enough_evidence" or "irrelevant"."""


class Generation(Struct, frozen=True, kw_only=True):
    """One long answer of a language model."""

    id: str
    text: str
    prompt: str = ""
    topic: str | None = None
    system: str | None = None
    """The model that wrote it."""
    reference: str | None = None
    """Text to judge against instead of a knowledge source."""
    samples: tuple[str, ...] = ()
    """Other answers of the same model to the same prompt, for self-check."""
    facts: tuple[GivenFact, ...] | None = None
    """Facts given in the input; None = not given, () = given and empty."""
    abstained: bool | None = None
    """What the input says of it (for example null annotations in FActScore files); None = not said."""
    metadata: dict[str, Any] = {}


class Sentence(Struct, frozen=True, kw_only=True):
    """A unit of the generation; `generation.text[start:end] == text`."""

    index: int
    text: str
    start: int
    end: int
    kind: str = "prose"
    """"prose", "item" (of a list), "heading"."""


class AtomicFact(Struct, frozen=True, kw_only=True):
    """One self-contained claim."""

    id: str
    """`"{generation.id}/{sentence}.{n}"`."""
    text: str
    sentence: int
    """Index of the `Sentence` it was taken from."""
    original: str | None = None
    """Its wording before rewriting, where it was rewritten."""
    span: tuple[int, int] | None = None
    """Where it stands in the generation, where that could be found."""
    repeats: int = 0
    """How many further copies of it were merged into this one."""
    flags: tuple[str, ...] = ()
    """Warnings, such as "invented: 1987" (occurs neither in the sentence nor in its context)."""
    gold: str | None = None
    """A human's label that came with the input (see `GivenFact.label`)."""


class Skipped(Struct, frozen=True, kw_only=True):
    """A sentence that makes no claim, and why it was left out."""

    sentence: int
    reason: str


class Failure(Struct, frozen=True, kw_only=True):
    """What went wrong where; the reason that something stayed unscored."""

    stage: str
    error: str
    """Class name of the error."""
    message: str
    reply: str | None = None
    """The raw reply that could not be read, if there was one."""
    votes: tuple[Vote, ...] = ()
    """Of a fact, where several judges or samples were asked: what each said, as in `Verdict.votes`."""


class SentenceFailure(Struct, frozen=True, kw_only=True):
    """A sentence that could not be decomposed."""

    sentence: int
    failure: Failure


class Decomposition(Struct, frozen=True, kw_only=True):
    """What a decomposer makes of one generation."""

    facts: tuple[AtomicFact, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    failures: tuple[SentenceFailure, ...] = ()


class Query(Struct, frozen=True, kw_only=True):
    """What to look up. With a `topic` only that topic's page is searched."""

    text: str
    topic: str | None = None


class Passage(Struct, frozen=True, kw_only=True):
    """A piece of a knowledge source."""

    id: str
    text: str
    title: str = ""
    url: str | None = None
    source: str = ""
    """Name and snapshot of the knowledge source, or of the web search that found it."""
    score: float | None = None
    date: str | None = None
    """When it was published or last changed, as its source says ("2024-03-01", "3 days ago")."""
    retrieved: str | None = None
    """When it was brought from the web, in UTC ("2026-12-01T10:03:11Z"); a reply from the cache keeps its own."""


class Quote(Struct, frozen=True, kw_only=True):
    """The words of a passage that a verdict rests on: `passage.text[start:end]`."""

    passage: str
    """Id of the passage."""
    start: int
    end: int


class Search(Struct, frozen=True, kw_only=True):
    """One of several searches for a fact, and what it found."""

    query: str
    source: str = ""
    """Name of the searcher that was asked."""
    passages: tuple[str, ...] = ()
    """Ids of what it found, in rank order; they are among `Evidence.passages`."""
    failure: Failure | None = None
    """Why it found nothing, where it could not be made."""


class Evidence(Struct, frozen=True, kw_only=True):
    """What was looked up for one fact."""

    queries: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    """Best first."""
    skipped: tuple[str, ...] = ()
    """What was found and left out, each with why ("sample/2: abstains (I'm sorry)")."""
    searches: tuple[Search, ...] = ()
    """Where it was looked for in several steps: each of them, in order."""


class Vote(Struct, frozen=True, kw_only=True):
    """What one of several judges said, where a verdict was made out of theirs."""

    judge: str
    label: Label | None = None
    """None: it failed, or was not asked because the others had settled it."""
    probability: float | None = None
    """Of SUPPORTED, in [0, 1]."""
    failure: Failure | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """What a judge says of one fact."""

    label: Label
    judge: str
    """Name of the judge."""
    probability: float | None = None
    """Of SUPPORTED, in [0, 1]."""
    raw: float | None = None
    """The judge's own probability, where a calibration made `probability` of it."""
    raw_label: Label | None = None
    """The judge's own label, where a calibration or thresholds decided `label`."""
    mode: str = "text"
    """How it was read: "logits", "logprobs", "text", "features", "no evidence", "votes", …; a run counts each."""
    rationale: str | None = None
    quotes: tuple[Quote, ...] = ()
    error_type: str | None = None
    votes: tuple[Vote, ...] = ()
    """Where several judges, or several samples, were asked: what each said, in order."""


class JudgedFact(Struct, frozen=True, kw_only=True):
    """A fact with its evidence and exactly one of verdict or failure."""

    fact: AtomicFact
    evidence: Evidence = Evidence()
    verdict: Verdict | None = None
    failure: Failure | None = None

    def __post_init__(self) -> None:
        if (self.verdict is None) == (self.failure is None):
            raise ValueError(f"fact {self.fact.id}: exactly one of verdict and failure must be set")


class Usage(Struct, frozen=True, kw_only=True):
    """What was asked of models. Calls answered from the cache count too, so that it does not depend on luck."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """US dollars, of calls and of searches; 0 where no price is known."""
    seconds: float = 0.0
    searches: int = 0
    """Searches of the web."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class Report(Struct, frozen=True, kw_only=True):
    """Everything found out about one generation."""

    generation: Generation
    sentences: tuple[Sentence, ...] = ()
    facts: tuple[JudgedFact, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    failures: tuple[SentenceFailure, ...] = ()
    """Sentences that could not be decomposed; with any, the generation is unscored and bounded."""
    abstained: bool = False
    abstention: str | None = None
    """What made it count as an abstention: the rule and the words it found."""
    failure: Failure | None = None
    """Trouble with the generation as a whole."""
    signature: str = ""
    usage: Usage = Usage()


class Score(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A number with its recipe, its interval and its denominators. All counts are of generations unless said."""

    name: str
    """The metric as spelled on the command line."""
    value: float | None
    """None where nothing could be scored: never NaN."""
    low: float | None = None
    high: float | None = None
    """The interval at `level`, by bootstrap over prompts."""
    level: float = 0.95
    n: int = 0
    """Generations in all."""
    scored: int = 0
    abstained: int = 0
    no_claims: int = 0
    """Answered, yet nothing in it could be judged true or false."""
    unscored: dict[str, int] = {}
    """Generations without a value, by reason ("decompose:ParseError")."""
    facts: int = 0
    """Facts in the scored generations."""
    facts_judged: int = 0
    unjudged: dict[str, int] = {}
    """Facts without a verdict, by reason."""
    bounds: tuple[float, float] | None = None
    """The value if all that stayed unscored were not supported, and if all were supported."""
    rule: str = ""
    """The counting rule in words: what is the numerator, what the denominator, who is left out."""
    signature: str = ""
