"""A search whose results are read: the best passages of the pages that were found, in place of their snippets.

One-line snippets are often too little to judge by (FaStFact, arXiv 2510.12839).
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections import Counter

from ...errors import SearchError, UsageError
from ...types import Passage, Query
from ..base import Searcher
from ..bm25 import rank
from ..passages import cut
from .base import WebRequest
from .fetch import Fetcher, Page, PageError
from .kept import keeps

WORDS = 120


@dataclasses.dataclass
class Pages:
    """A `Searcher`: asks another one for k results and gives the passages of their pages that suit the query best.

    Direct answers and results without a link stay as they are, and so do the snippets of pages that cannot be read:
    `troubles` counts why. A page that turns out to be later than the inner searcher's as-of date, or to lie on a domain
    that was not wanted (redirects lead anywhere), is left out, since its snippet is from there as well.
    """

    inner: Searcher
    fetcher: Fetcher
    words: int = WORDS
    """Most words of a passage."""
    per_page: int = 1
    """Passages of a page; with more than one a search gives up to k times as many."""
    snippets: bool = True
    """Keep the snippet of a page that cannot be read; else the result is left out."""
    troubles: Counter[str] = dataclasses.field(default_factory=Counter, init=False, repr=False)
    """Why pages were not used, and how often."""

    def __post_init__(self) -> None:
        for name in ("words", "per_page"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")

    @property
    def name(self) -> str:
        return f"pages({self.inner.name})"

    @property
    def identity(self) -> str:
        """With all that can change what is found."""
        inner = getattr(self.inner, "identity", self.inner.name)
        own = f"words={self.words} per_page={self.per_page} snippets={self.snippets}"
        return f"pages({inner}) {own} {self.fetcher.identity}"

    @property
    def price(self) -> float:
        """US dollars a search, of the inner searcher; pages cost nothing."""
        return getattr(self.inner, "price", 0.0)

    @property
    def adaptations(self) -> list[str]:
        """What a user should be told."""
        told: list[str] = [*getattr(self.inner, "adaptations", ())]
        if total := self.troubles.total():
            why = ", ".join(f"{reason} ({n})" for reason, n in self.troubles.most_common(5))
            pages = "1 page was" if total == 1 else f"{total} pages were"
            told.append(f"{pages} found and not read: {why}")
        return told

    async def search(self, query: Query, *, k: int) -> list[Passage]:
        """In the results' order, the passages of one page best first; each page once."""
        found = await self.inner.search(query, k=k)
        made = await asyncio.gather(*(self._read(passage, query) for passage in found))
        kept: dict[str, Passage] = {}
        for passage in (one for several in made for one in several):
            kept.setdefault(passage.id, passage)
        return list(kept.values())

    async def close(self) -> None:
        """Close the fetcher and the inner searcher."""
        try:
            await self.fetcher.close()
        finally:
            if close := getattr(self.inner, "close", None):
                await close()

    async def _read(self, passage: Passage, query: Query) -> list[Passage]:
        if not passage.url or passage.id.endswith(("#answer", "#panel")):
            return [passage]
        try:
            page = await self.fetcher.fetch(passage.url)
        except SearchError as error:
            self.troubles[error.reason if isinstance(error, PageError) else str(error)[:60]] += 1
            return [passage] if self.snippets else []
        made = await asyncio.to_thread(self._best, passage, page, query.text)
        if not keeps(made[0], self._wanted, page.at):
            self.troubles["not of the dates or domains asked for"] += 1
            return []
        return made

    def _best(self, passage: Passage, page: Page, query: str) -> list[Passage]:
        """The passages of the page that suit the query; the snippet, where none has a word of it."""
        pieces = _cut(page.text, self.words)
        best = rank(query, pieces, self.per_page)
        if not best[0][1]:
            best = rank(passage.text, pieces, self.per_page)
        return [
            Passage(
                id=f"{page.url}#{place}",
                text=pieces[place],
                title=page.title or passage.title,
                url=page.url,
                source=passage.source or self.inner.name,
                score=score,
                date=page.date or passage.date,
                retrieved=page.at,
            )
            for place, score in best
        ]

    @property
    def _wanted(self) -> WebRequest:
        """The inner searcher's dates and domains, if it is one of the web."""
        said = {name: getattr(self.inner, name, None) for name in ("before", "allow", "block")}
        return WebRequest(query="", **{name: value for name, value in said.items() if value})


@functools.lru_cache(maxsize=64)
def _cut(text: str, words: int) -> tuple[str, ...]:
    """Kept: the facts of a generation find the same pages."""
    return tuple(cut(text, limit=words))
