"""Gathering: from a fact to the evidence that it is judged by."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Protocol

from .errors import SearchError
from .knowledge.base import Searcher
from .knowledge.bm25 import rank
from .text.normal import is_blank
from .text.sentences import split
from .types import AtomicFact, Evidence, Generation, Passage, Query


class Gatherer(Protocol):
    """Turn a fact into evidence: nothing at all, one retrieval, or a search loop."""

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence: ...


@dataclass(frozen=True)
class NoEvidence:
    """Look nothing up, for judges that answer from what they know."""

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence:
        return Evidence()


@dataclass(frozen=True)
class Retrieve:
    """One retrieval a fact: `k` passages for "topic fact" (FActScore, appendix B.1).

    Of the topic's page alone where the generation has a topic, else of the whole collection.
    """

    searcher: Searcher
    k: int = 5

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence:
        text = f"{generation.topic} {fact.text}" if generation.topic else fact.text
        found = await self.searcher.search(Query(text=text, topic=generation.topic), k=self.k)
        return Evidence(queries=(text,), passages=tuple(passage for passage in found if not is_blank(passage.text)))


@dataclass(frozen=True)
class Reference:
    """The `k` passages, ranked by BM25, of the reference that came with the generation.

    Raises `SearchError` for a generation without one; a blank one gives no passages.
    """

    k: int = 5
    words: int = 120
    """A passage is whole sentences up to this many words."""

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence:
        if generation.reference is None:
            raise SearchError(f"generation {generation.id} has no reference to judge against")
        texts = _passages(generation.reference, self.words)
        passages = tuple(
            Passage(
                id=f"reference/{place}",
                text=texts[place],
                title=generation.topic or "",
                source="reference",
                score=score,
            )
            for place, score in rank(fact.text, texts, self.k)
        )
        return Evidence(queries=(fact.text,), passages=passages)


@functools.lru_cache(maxsize=64)
def _passages(text: str, words: int) -> tuple[str, ...]:
    """The text cut between sentences. Cached: every fact of a generation asks for the same."""
    passages: list[str] = []
    start, end, count = 0, 0, 0
    for sentence in split(text):
        size = len(sentence.text.split())
        if count and count + size > words:
            passages.append(text[start:end])
            start, count = sentence.start, 0
        end, count = sentence.end, count + size
    return tuple(passage for passage in (*passages, text[start:end]) if not is_blank(passage))
