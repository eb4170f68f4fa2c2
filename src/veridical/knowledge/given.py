"""Passages given by hand: a `Searcher` over a mapping from topic to texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import rapidfuzz

from ..errors import TopicNotFound
from ..types import Passage, Query
from . import bm25
from .titles import normal


@dataclass(frozen=True)
class Given:
    """Passages in memory, as they are, ranked as those of a `Store`. Topics are compared without case and width."""

    texts: Mapping[str, Sequence[str]]
    """Topic -> its passages."""
    label: str = "given"
    """What verdicts give as source."""
    _pages: dict[str, list[Passage]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raises ValueError if two topics differ in case or width only."""
        pages: dict[str, list[Passage]] = {}
        for topic, texts in self.texts.items():
            if normal(topic) in pages:
                raise ValueError(f"topic {topic!r} is given twice, in different spelling")
            pages[normal(topic)] = [
                Passage(id=f"{topic}#{place}", text=text, title=topic, source=self.label)
                for place, text in enumerate(texts)
                if text.strip()
            ]
        object.__setattr__(self, "_pages", pages)

    @cached_property
    def name(self) -> str:
        """The label and a fingerprint of the texts."""
        content = repr(sorted((topic, list(texts)) for topic, texts in self.texts.items()))
        return f"{self.label}@{hashlib.blake2b(content.encode(), digest_size=4).hexdigest()}"

    async def search(self, query: Query, *, k: int) -> list[Passage]:
        """With a topic its best k passages, those without a word of the query last; else the best matching ones of all.

        Raises `TopicNotFound`, and ValueError for a k below 1.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        passages = self._of(query.topic)
        ranked = bm25.rank(query.text, [passage.text for passage in passages], k)
        return [
            Passage(
                id=passages[place].id,
                text=passages[place].text,
                title=passages[place].title,
                source=self.label,
                score=score,
            )
            for place, score in ranked
            if score or query.topic is not None
        ]

    def _of(self, topic: str | None) -> list[Passage]:
        if topic is None:
            return [passage for passages in self._pages.values() for passage in passages]
        if normal(topic) not in self._pages:
            close = rapidfuzz.process.extract(topic, list(self.texts), limit=5, score_cutoff=80)
            raise TopicNotFound(topic, tuple(title for title, *_ in close), source=self.label)
        return self._pages[normal(topic)]
