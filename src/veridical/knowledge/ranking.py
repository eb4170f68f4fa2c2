"""Which passages a fact is judged by: the order that a search gave, sentence vectors, or both.

With a topic all passages of its page are ranked, as FActScore does; the page is small. Without one, the best `pool`
passages that a search of the whole collection finds by their words are ranked again: what shares no word with the query
is not among them.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..models.encoders import SentenceEncoder
from ..text.normal import is_blank
from ..types import Passage, Query
from . import bm25
from .vectors import Memory

POOL = 100
"""Passages of a whole collection that are ranked again."""
RRF = 60
"""The constant of Cormack et al. (2009), who found it to matter little."""
_DIGITS = 6
"""Of a score: beyond, the last bits of 32-bit sums depend on which texts were encoded together."""


class Ranker(Protocol):
    """Put the passages that may serve as evidence in order."""

    @property
    def name(self) -> str: ...

    @property
    def pool(self) -> int:
        """How many passages to ask a searcher for where the whole collection is searched."""
        ...

    async def rank(self, query: Query, passages: Sequence[Passage], k: int) -> list[Passage]:
        """The best `k` passages with their `score`, best first, ties in the order given; never a blank one.

        Raises ValueError for a k below 1, `ModelError` for this query alone.
        """
        ...


@dataclass(frozen=True)
class BM25:
    """By words, as the searcher has ranked already: its scores stay where one source scored all passages. Those of
    several sources, or without a score, are counted anew over all that are given, title and text (`bm25.rank`)."""

    pool: int = POOL

    def __post_init__(self) -> None:
        _check_pool(self.pool)

    @property
    def name(self) -> str:
        return "bm25"

    async def rank(self, query: Query, passages: Sequence[Passage], k: int) -> list[Passage]:
        """See `Ranker`."""
        filled = _filled(passages, k)
        return _best(filled, _lexical(query, filled), k)


@dataclass(frozen=True)
class Dense:
    """By the inner product of the vectors of query and passage (title and text), as FActScore's GTR retrieval does.

    Without a topic it ranks again what the words found, the best `pool`. Each passage is encoded once and its vector
    kept; facts that ask at the same time are encoded together.
    """

    encoder: SentenceEncoder
    pool: int = POOL

    def __post_init__(self) -> None:
        _check_pool(self.pool)

    @property
    def name(self) -> str:
        return f"dense(pool={self.pool})"

    async def rank(self, query: Query, passages: Sequence[Passage], k: int) -> list[Passage]:
        """See `Ranker`. Scores are inner products, in [-1, 1] for vectors of unit length."""
        filled = _filled(passages, k)
        return _best(filled, await self._near.scores(query, filled), k)

    @functools.cached_property
    def _near(self) -> _Nearness:
        return _Nearness(self.encoder)


@dataclass(frozen=True)
class Hybrid:
    """By words and by vectors.

    "rrf": reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009), 2 (1 - weight) / (60 + rank by words) +
    2 weight / (60 + rank by vectors), which is theirs for a weight of ½; a passage without a word of the query has no
    rank by words. "sum": (1 - weight) of the score by words + weight of the inner product, each stretched to [0, 1]
    over the passages (0 where all are alike). The words are ranked as `BM25` does, the vectors as `Dense` does; without
    a topic the best `pool` by words are ranked again.
    """

    encoder: SentenceEncoder
    fusion: Literal["rrf", "sum"] = "sum"
    """At equal weight the sum was the better one wherever measured (experiments/retrieval)."""
    weight: float = 0.5
    """Of the vectors, in [0, 1]."""
    pool: int = POOL

    def __post_init__(self) -> None:
        _check_pool(self.pool)
        if self.fusion not in ("rrf", "sum") or not 0 <= self.weight <= 1:
            raise UsageError(f"fusion is rrf or sum, weight between 0 and 1: not {self.fusion!r}, {self.weight}")

    @property
    def name(self) -> str:
        return f"hybrid({self.fusion}, pool={self.pool})"

    async def rank(self, query: Query, passages: Sequence[Passage], k: int) -> list[Passage]:
        """See `Ranker`."""
        filled = _filled(passages, k)
        near = await self._near.scores(query, filled)
        words = _lexical(query, filled)
        if self.fusion == "rrf":
            halves = _reciprocal(words, words > 0), _reciprocal(near, np.ones(len(near), bool))
            scale = 2.0
        else:
            halves, scale = (_stretched(words), _stretched(near)), 1.0
        return _best(filled, scale * ((1 - self.weight) * halves[0] + self.weight * halves[1]), k, digits=9)

    @functools.cached_property
    def _near(self) -> _Nearness:
        return _Nearness(self.encoder)


Floats = NDArray[np.float64]


def _check_pool(pool: int) -> None:
    if pool < 1:
        raise UsageError(f"pool must be at least 1, not {pool}")


def _filled(passages: Sequence[Passage], k: int) -> list[Passage]:
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return [passage for passage in passages if not is_blank(passage.text)]


def _titled(passage: Passage) -> str:
    return f"{passage.title} {passage.text}" if passage.title else passage.text


def _lexical(query: Query, passages: Sequence[Passage]) -> Floats:
    given = [passage.score for passage in passages if passage.score is not None]
    if len(given) == len(passages) and len({passage.source for passage in passages}) <= 1:
        return np.array(given, np.float64)
    scores = np.zeros(len(passages))
    for place, score in bm25.rank(query.text, [_titled(passage) for passage in passages], len(passages)):
        scores[place] = score
    return scores


def _reciprocal(scores: Floats, listed: NDArray[np.bool_]) -> Floats:
    """1 / (60 + rank), ranks from 1; 0 for what is not listed."""
    order = np.argsort(-scores, kind="stable")
    order = order[listed[order]]
    found = np.zeros(len(scores))
    found[order] = 1.0 / (RRF + 1.0 + np.arange(len(order)))
    return found


def _stretched(scores: Floats) -> Floats:
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.zeros(len(scores))


def _best(passages: Sequence[Passage], scores: Floats, k: int, *, digits: int = _DIGITS) -> list[Passage]:
    rounded = np.round(scores, digits)
    order = np.argsort(-rounded, kind="stable")[:k]
    return [msgspec.structs.replace(passages[place], score=float(rounded[place])) for place in order.tolist()]


class _Nearness:
    """Inner products of queries and passages, each text encoded once."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._queries, self._passages = Memory(encoder.queries, kept_bytes=1 << 24), Memory(encoder.passages)

    async def scores(self, query: Query, passages: Sequence[Passage]) -> Floats:
        """(n), rounded."""
        if not passages:
            return np.zeros(0)
        asked, found = await asyncio.gather(
            self._queries.of([query.text]), self._passages.of([_titled(passage) for passage in passages])
        )
        return np.round((found @ asked[0]).astype(np.float64), _DIGITS)
