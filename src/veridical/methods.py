"""The recipes by name: each a choice of parts, about ten lines.

| name       | decomposer       | evidence         | judge |
|------------|------------------|------------------|-------|
| embedded   | clauses, no LLM  | the topic's page | features, no LLM |
| factscore  | few-shot LLM     | the topic's page | LLM, True or False given passages (FActScore, retrieve→LM) |
| no-context | few-shot LLM     | none             | LLM, True or False from memory (FActScore) |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .decompose import Decomposer, GivenFacts, LLMDecomposer
from .errors import UsageError
from .gather import Gatherer, NoEvidence, Reference, Retrieve
from .knowledge.base import Searcher
from .models.base import LanguageModel
from .models.embedded import MODELS
from .pipeline import Method
from .text.abstention import Abstention, Standard
from .verify import NoContextVerifier, RetrieveVerifier, Verifier

Reading = Literal["logprobs", "text"]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a user brings: models, knowledge and settings; a recipe takes what it needs."""

    judge: LanguageModel | None = None
    decomposer: LanguageModel | None = None
    """None: the judge for LLM recipes, the clause splitter for the embedded one."""
    embedded_decomposer: bool = False
    """Use the clause splitter in an LLM recipe."""
    given_facts: bool = False
    searcher: Searcher | None = None
    """None: each generation's own `reference`."""
    k: int = 5
    reading: Reading = "text"
    choices: str = "two"
    """"two": supported or not; "three": contradicted told from not enough evidence (read from text)."""
    demonstrations: str = "biographies"
    shape: str = "list"
    """What an LLM decomposer writes: "list" or "json"."""
    abstention: Abstention = Standard()
    published_sentences: bool = False
    """FActScore's own sentence ends, for comparison with its files."""


def embedded(parts: Parts) -> Method:
    """Offline: clauses, the topic's page, a light judge fitted on public data. Weak; says so."""
    if parts.judge is not None or parts.choices != "two":
        raise UsageError("method embedded has a judge of its own: --judge and --choices are for factscore, no-context")
    from .verifiers.embedded import EmbeddedJudge

    return Method(
        name="embedded",
        decomposer=_decomposer(parts, by_default_embedded=True),
        gatherer=_gatherer(parts),
        verifier=EmbeddedJudge(),
        abstention=parts.abstention,
        published_sentences=parts.published_sentences,
    )


def factscore(parts: Parts) -> Method:
    """FActScore with retrieve→LM (section 4.1)."""
    judge = _judge(parts, "factscore")
    return Method(
        name="factscore",
        decomposer=_decomposer(parts),
        gatherer=_gatherer(parts),
        verifier=RetrieveVerifier(
            model=judge,
            mode=parts.reading,
            choices=parts.choices,
            published_sentences=parts.published_sentences,
        ),
        abstention=parts.abstention,
        published_sentences=parts.published_sentences,
    )


def no_context(parts: Parts) -> Method:
    """FActScore's no-context LM: the judge answers from memory."""
    judge = _judge(parts, "no-context")
    return Method(
        name="no-context",
        decomposer=_decomposer(parts),
        gatherer=NoEvidence(),
        verifier=NoContextVerifier(
            model=judge,
            mode=parts.reading,
            choices=parts.choices,
            published_sentences=parts.published_sentences,
        ),
        abstention=parts.abstention,
        published_sentences=parts.published_sentences,
    )


METHODS: dict[str, Callable[[Parts], Method]] = {
    "embedded": embedded,
    "factscore": factscore,
    "no-context": no_context,
}


def method(name: str, parts: Parts) -> Method:
    """The recipe of that name, filled with these parts. Raises UsageError for an unknown name or a missing part."""
    if name not in METHODS:
        raise UsageError(f"no method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name](parts)


def warning(made: Method) -> str | None:
    """What a user must know of the judge's quality before quoting its score, if it is known to be weak."""
    if words := getattr(made.verifier, "warning", None):
        return words
    name = getattr(getattr(made.verifier, "model", None), "name", "")
    packaged = MODELS.get(name.removeprefix("embedded/")) if name.startswith("embedded/") else None
    return packaged.note if packaged else None


def _judge(parts: Parts, name: str) -> LanguageModel:
    if parts.judge is None:
        raise UsageError(f"method {name} needs a judge: --judge provider/model")
    return parts.judge


def _decomposer(parts: Parts, *, by_default_embedded: bool = False) -> Decomposer:
    if parts.given_facts:
        return GivenFacts()
    model = parts.decomposer or (None if by_default_embedded or parts.embedded_decomposer else parts.judge)
    if model is None:
        from .clauses import ClauseDecomposer

        return ClauseDecomposer()
    return LLMDecomposer(model=model, demonstrations=parts.demonstrations, shape=parts.shape)


def _gatherer(parts: Parts) -> Gatherer:
    return Retrieve(searcher=parts.searcher, k=parts.k) if parts.searcher else Reference(k=parts.k)


__all__ = ["METHODS", "Method", "Parts", "Verifier", "embedded", "factscore", "method", "no_context", "warning"]
