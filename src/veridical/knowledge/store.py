"""A knowledge source on disk: pages, found by their title, and their passages, found by their words."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import rapidfuzz

from ..errors import InputError, TopicNotFound
from ..types import Passage, Query, Struct
from . import bm25
from .database import Database
from .titles import normal

PAGES_KEPT = 256
"""Pages whose passages stay counted in memory: the facts of one answer all ask for the same page."""
CLOSE_TITLES = 5
CLOSENESS = 70.0
"""Of 100; less alike titles are not suggested."""


class Page(Struct, frozen=True, kw_only=True):
    """A page of a knowledge source."""

    id: int
    title: str
    """As the source spells it."""
    url: str | None = None


class Info(Struct, frozen=True, kw_only=True):
    """What a knowledge source holds and how it was made."""

    name: str
    format: str
    """"veridical" or "factscore"."""
    pages: int
    passages: int | None = None
    """None where counting them means reading everything."""
    redirects: int = 0
    bytes: int = 0
    snapshot: str | None = None
    licence: str | None = None
    built: dict[str, str] = {}
    """Sources, settings, program version and time of the build."""


class Tables(Protocol):
    """One format of knowledge source."""

    @property
    def name(self) -> str:
        """Name, snapshot and a fingerprint of the content."""
        ...

    def find(self, title: str) -> list[Page]:
        """The pages that `title` may mean, by the strictest form of the title that finds any; several = unclear."""
        ...

    def passages(self, page: Page) -> tuple[list[Passage], list[str]]:
        """The page's passages that are not blank, in order, and the words of each to search by."""
        ...

    def everywhere(self, query: str, k: int) -> list[Passage]:
        """The best passages of all pages. Raises SearchError if the format has no index."""
        ...

    def near(self, title: str) -> Sequence[str]:
        """Titles among which close ones are looked for."""
        ...

    def info(self) -> Info: ...


class Store:
    """A `Searcher` over a knowledge source made by `veridical knowledge build`, or FActScore's database as it is.

    With a topic, that page's passages are ranked by BM25 with the page's own statistics, as in FActScore (section 4.1);
    the best k are returned even if fewer have a word of the query: those without come last, in page order, with score
    0. Without a topic all pages are searched, and only matching passages are returned.
    """

    def __init__(self, database: Database, tables: Tables) -> None:
        self._database = database
        self._tables = tables
        self._counting = threading.Lock()
        self._missing = threading.Lock()
        self._pages: OrderedDict[int, tuple[list[Passage], bm25.Index]] = OrderedDict()
        self._misses: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """Open a knowledge source to be read. Raises InputError, saying what was found, if it is not a usable one."""
        from .factscore import FActScoreTables
        from .native import NativeTables

        database = Database(path)
        for tables in (NativeTables, FActScoreTables):
            if tables.TABLES & database.tables:
                return cls(database, tables(database))
        held = ", ".join(sorted(database.tables)) or "none"
        raise InputError(f"a SQLite database, but not a knowledge source (its tables: {held})", file=str(path))

    @property
    def name(self) -> str:
        """Name, snapshot and a fingerprint of the content: another one after every rebuild that changes something."""
        return self._tables.name

    @property
    def info(self) -> Info:
        return self._tables.info()

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def lookup(self, title: str) -> Page:
        """The page of that title: exact title, exact redirect, then both without regard to case and width, then to
        accents, punctuation and a last (…). An exact title always wins.

        Raises `TopicNotFound`, with the titles that come close, if there is none or if several fit equally well.
        """
        found = self._tables.find(title) if title.strip() else []
        if len(found) == 1:
            return found[0]
        raise TopicNotFound(title, tuple(page.title for page in found) or self._close(title), source=self.name)

    async def search(self, query: Query, *, k: int) -> list[Passage]:
        """See the class. Raises `TopicNotFound`, ValueError for a k below 1, and FatalError for a damaged file."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        return await asyncio.to_thread(self._search, query, k)

    def _search(self, query: Query, k: int) -> list[Passage]:
        if query.topic is None:
            return self._tables.everywhere(query.text, k)
        passages, index = self._counted(self.lookup(query.topic))
        return [_scored(passages[place], score) for place, score in index.rank(query.text, k)]

    def _counted(self, page: Page) -> tuple[list[Passage], bm25.Index]:
        with self._counting:  # else all facts of an answer, asking at once, would count its page at once
            if page.id not in self._pages:
                passages, words = self._tables.passages(page)
                self._pages[page.id] = passages, bm25.Index(words)
                if len(self._pages) > PAGES_KEPT:
                    self._pages.popitem(last=False)
            self._pages.move_to_end(page.id)
            return self._pages[page.id]

    def _close(self, title: str) -> tuple[str, ...]:
        with self._missing:
            if title not in self._misses:
                near = self._tables.near(title) if title.strip() else ()
                best = rapidfuzz.process.extract(
                    normal(title),
                    near,
                    processor=str.casefold,
                    scorer=rapidfuzz.fuzz.WRatio,
                    limit=CLOSE_TITLES,
                    score_cutoff=CLOSENESS,
                )
                self._misses[title] = tuple(name for name, *_ in best)
                if len(self._misses) > PAGES_KEPT:
                    self._misses.popitem(last=False)
            return self._misses[title]


def _scored(passage: Passage, score: float) -> Passage:
    return Passage(
        id=passage.id, text=passage.text, title=passage.title, url=passage.url, source=passage.source, score=score
    )
