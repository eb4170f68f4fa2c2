"""Gathering: from a fact to the evidence that it is judged by."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Protocol

from .errors import SearchError
from .knowledge.base import Searcher
from .knowledge.bm25 import rank
from .knowledge.ranking import Ranker
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


WHOLE_PAGE = 1_000_000
"""More passages than a page has: all of them are asked for, to be ranked."""


@dataclass(frozen=True)
class Retrieve:
    """One retrieval a fact: `k` passages for "topic fact" (FActScore, appendix B.1).

    Of the topic's page alone where the generation has a topic, else of the whole collection. A `ranker` puts all
    passages of the page, or the best `ranker.pool` of the whole collection, in another order than the searcher's.
    """

    searcher: Searcher
    k: int = 5
    ranker: Ranker | None = None
    """None: as the searcher ranks, which is by BM25."""

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence:
        query = Query(text=_asked(fact, generation), topic=generation.topic)
        if self.ranker is None:
            found = await self.searcher.search(query, k=self.k)
        else:
            most = WHOLE_PAGE if query.topic is not None else max(self.k, self.ranker.pool)
            found = await self.ranker.rank(query, await self.searcher.search(query, k=most), self.k)
        return Evidence(
            queries=(query.text,), passages=tuple(passage for passage in found if not is_blank(passage.text))
        )


@dataclass(frozen=True)
class Reference:
    """The `k` best passages of the reference that came with the generation.

    Raises `SearchError` for a generation without one; a blank one gives no passages.
    """

    k: int = 5
    words: int = 120
    """A passage is whole sentences up to this many words."""
    ranker: Ranker | None = None
    """None: BM25 for the fact; else it is given all passages, and asked for "topic fact"."""

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence:
        if generation.reference is None:
            raise SearchError(f"generation {generation.id} has no reference to judge against")
        texts = _passages(generation.reference, self.words)
        passages = [
            Passage(
                id=f"reference/{place}",
                text=texts[place],
                title=generation.topic or "",
                source="reference",
                score=score,
            )
            for place, score in rank(fact.text, texts, self.k if self.ranker is None else len(texts))
        ]
        if self.ranker is None:
            return Evidence(queries=(fact.text,), passages=tuple(passages))
        query = Query(text=_asked(fact, generation), topic=generation.topic)
        return Evidence(queries=(query.text,), passages=tuple(await self.ranker.rank(query, passages, self.k)))


def _asked(fact: AtomicFact, generation: Generation) -> str:
    return f"{generation.topic} {fact.text}" if generation.topic else fact.text


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
