"""A search whose results are read: the best passages of the pages that were found, in place of their snippets.

One-line snippets are often too little to judge by (FaStFact, arXiv 2510.12839).
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter

import msgspec

from ...errors import SearchError
from ...types import Passage, Query
from ..base import Searcher
from ..bm25 import rank
from ..passages import cut
from .fetch import Fetcher
from .kept import host_of

WORDS = 120


@dataclasses.dataclass
class Pages:
    """A `Searcher`: asks another one for k results and gives the passages of their pages that suit the query best.

    Direct answers and results without a link stay as they are, and so do the snippets of pages that cannot be read:
    `troubles` counts why.
    """

    inner: Searcher
    fetcher: Fetcher
    words: int = WORDS
    """Most words of a passage."""
    per_page: int = 1
    """Passages of a page."""
    troubles: Counter[str] = dataclasses.field(default_factory=Counter, init=False, repr=False)
    """Why pages could not be read, and how often."""

    @property
    def name(self) -> str:
        return f"pages({self.inner.name})"

    @property
    def identity(self) -> str:
        """With all that can change what is found."""
        inner = getattr(self.inner, "identity", self.inner.name)
        return f"pages({inner}) words={self.words} per_page={self.per_page} bytes={self.fetcher.max_bytes}"

    @property
    def adaptations(self) -> list[str]:
        """What a user should be told."""
        told: list[str] = [*getattr(self.inner, "adaptations", ())]
        if self.troubles:
            why = ", ".join(f"{reason} {n}" for reason, n in self.troubles.most_common(5))
            told.append(f"{self.troubles.total()} pages could not be read, so their snippets were used ({why})")
        return told

    async def search(self, query: Query, *, k: int) -> list[Passage]:
        """In the results' order; at most `per_page` passages a page."""
        found = await self.inner.search(query, k=k)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._read(passage, query)) for passage in found]
        made = [passage for task in tasks for passage in task.result()]
        return list({passage.id: passage for passage in reversed(made)}.values())[::-1]

    async def close(self) -> None:
        await self.fetcher.close()
        if close := getattr(self.inner, "close", None):
            await close()

    async def _read(self, passage: Passage, query: Query) -> list[Passage]:
        if not passage.url or passage.id.endswith(("#answer", "#panel")):
            return [passage]
        try:
            page = await self.fetcher.fetch(passage.url)
        except SearchError as error:
            self.troubles[_short(str(error), passage.url)] += 1
            return [passage]
        pieces = cut(page.text, limit=self.words)
        best = rank(f"{query.text} {passage.text}", pieces, self.per_page)
        return [
            msgspec.structs.replace(
                passage,
                id=f"{page.url}#{place}",
                text=pieces[place],
                title=page.title or passage.title,
                url=page.url,
                date=page.date or passage.date,
                score=score,
                retrieved=page.at,
            )
            for place, score in best
        ] or [passage]


def _short(message: str, url: str) -> str:
    """The kind of trouble, without what is different for every page."""
    return message.replace(url, "").lstrip(": ").replace(host_of(url) or "\0", "…")[:60]
