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
from .derived import OnIndexing
from .titles import normal

PAGES_KEPT = 256
"""Pages whose passages stay counted in memory: the facts of one answer all ask for the same page."""
CLOSE_TITLES = 5
CLOSENESS = 70.0
"""Of 100; less alike titles are not suggested."""
MOST_MEANT = 20
"""Titles that are named where several are meant."""


class Page(Struct, frozen=True, kw_only=True):
    """A page of a knowledge source."""

    id: int
    title: str
    """As the source spells it."""
    url: str | None = None
    plain: bool = False
    """Its markup could not be read as a whole: the text is plainer than it could be."""
    disambiguation: bool = False
    """It only lists what its title may mean."""
    choices: tuple[str, ...] = ()
    """Those titles."""


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
    """Of the file."""
    index_bytes: int = 0
    """Of the search index beside it."""
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

    def refresh(self) -> None:
        """Read again what is kept of the file, which was changed."""
        ...

    def info(self) -> Info: ...


class Store:
    """A `Searcher` over a knowledge source made by `veridical knowledge build`, or FActScore's database as it is.

    With a topic, that page's passages are ranked by BM25 with the page's own statistics, as in FActScore (section 4.1);
    the best k are returned even if fewer have a word of the query: those without come last, in page order, with score
    0. Without a topic all pages are searched, and only matching passages are returned.

    What another process changes is seen by the next look-up or search, and changes the name.
    """

    def __init__(self, database: Database, tables: Tables) -> None:
        self._database = database
        self._tables = tables
        self._counting = threading.Lock()
        self._missing = threading.Lock()
        self._changing = threading.Lock()
        self._version = database.version()
        self._pages: OrderedDict[tuple[int, int], tuple[list[Passage], bm25.Index]] = OrderedDict()
        self._misses: OrderedDict[tuple[int, str], tuple[str, ...]] = OrderedDict()

    @classmethod
    def open(cls, path: str | Path, *, on_event: OnIndexing = None) -> Store:
        """Open a knowledge source to be read. Raises InputError, saying what was found, if it is not a usable one.

        Its search index is touched by the first search of the whole collection (or for titles that come close), and
        made again then if it is missing or damaged; `on_event` is told how far that has come.
        """
        from .factscore import FActScoreTables
        from .native import NativeTables

        database = Database(path)
        try:
            if NativeTables.TABLES & database.tables:
                return cls(database, NativeTables(database, on_event))
            if FActScoreTables.TABLES & database.tables:
                return cls(database, FActScoreTables(database))
            held = ", ".join(sorted(database.tables)) or "none"
            raise InputError(f"a SQLite database, but not a knowledge source (its tables: {held})", file=str(path))
        except BaseException:
            database.close()
            raise

    @property
    def name(self) -> str:
        """Name, snapshot and a fingerprint of the content: another one after every change of it."""
        self._refreshed()
        return self._tables.name

    @property
    def info(self) -> Info:
        self._refreshed()
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

        Raises `TopicNotFound`, with the titles that come close, if there is none, and with those that it may mean if
        several fit equally well or a disambiguation page has it.
        """
        version = self._refreshed()
        found = self._tables.find(title) if title.strip() else []
        if len(found) == 1 and not found[0].disambiguation:
            return found[0]
        meant = [name for page in found for name in (page.choices if page.disambiguation else (page.title,))]
        suggested = tuple(dict.fromkeys(meant))[:MOST_MEANT] or self._close(title, version)
        raise TopicNotFound(title, suggested, source=self._tables.name)

    async def search(self, query: Query, *, k: int) -> list[Passage]:
        """See the class. Raises `TopicNotFound`, ValueError for a k below 1, and FatalError for a damaged file."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        return await asyncio.to_thread(self._search, query, k)

    def _search(self, query: Query, k: int) -> list[Passage]:
        if query.topic is None:
            self._refreshed()
            return self._tables.everywhere(query.text, k)
        passages, index = self._counted(self.lookup(query.topic), self._version)
        if not passages:
            self.lookup(query.topic)  # raises if the page was deleted between the two
        return [_scored(passages[place], score) for place, score in index.rank(query.text, k)]

    def _counted(self, page: Page, version: int) -> tuple[list[Passage], bm25.Index]:
        key = version, page.id
        with self._counting:  # else all facts of an answer, asking at once, would count its page at once
            if key not in self._pages:
                passages, words = self._tables.passages(page)
                self._pages[key] = passages, bm25.Index(words)
                if len(self._pages) > PAGES_KEPT:
                    self._pages.popitem(last=False)
            self._pages.move_to_end(key)
            return self._pages[key]

    def _close(self, title: str, version: int) -> tuple[str, ...]:
        key = version, title
        with self._missing:
            if key not in self._misses:
                self._misses[key] = tuple(self._closest(title)) if title.strip() else ()
                if len(self._misses) > PAGES_KEPT:
                    self._misses.popitem(last=False)
            return self._misses[key]

    def _closest(self, title: str) -> list[str]:
        """Titles of different pages that are there, closest first."""
        form = normal(title)
        scored = [(closeness(form, normal(name)), name) for name in self._tables.near(title)]
        found: dict[int, str] = {}
        for score, name in sorted(scored, key=lambda one: -one[0]):
            if score < CLOSENESS or len(found) == CLOSE_TITLES:
                break
            for page in self._tables.find(name)[:1]:
                found.setdefault(page.id, page.title)
        return list(found.values())

    def _refreshed(self) -> int:
        """The version of the file; what is kept of it is read again if that has changed."""
        version = self._version if self._database.closed else self._database.version()
        if version != self._version:
            with self._changing:
                self._tables.refresh()
                self._version = version
        return version


def closeness(asked: str, title: str) -> float:
    """0 to 100, of normal forms: slips of letters count less than words that are missing or in another order."""
    return max(rapidfuzz.fuzz.ratio(asked, title), 0.9 * rapidfuzz.fuzz.WRatio(asked, title))


def _scored(passage: Passage, score: float) -> Passage:
    return Passage(
        id=passage.id, text=passage.text, title=passage.title, url=passage.url, source=passage.source, score=score
    )
