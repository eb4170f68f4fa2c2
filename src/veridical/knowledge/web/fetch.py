"""Fetching pages: each once, within bounds, as their sites ask for, texts kept in the cache of calls."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import math
import weakref
from collections import OrderedDict

import yarl

from ...errors import SearchError, UsageError
from ...models.cache import CallStore, Question
from ...types import Struct
from .charset import decode
from .download import AGENT, REDIRECTS, Bounds, Busy, Connections, Download
from .extract import Readers, available, readable
from .guard import PORTS, Guard, Refused
from .reader import VERSION
from .robots import MOST_BYTES, Rules, parse

__all__ = ["AGENT", "REDIRECTS", "Download", "Fetcher", "Page", "PageError"]

TRIES = 3
LONGEST_WAIT = 10.0
"""Seconds that a server may ask to wait before it is asked again."""
ROBOTS_SECONDS = 10.0
_MOST_SITES = 1000
"""Of which robots.txt is remembered."""


class PageRequest(Struct, frozen=True, kw_only=True):
    """What the cache keeps a page under."""

    url: str


class Page(Struct, frozen=True, kw_only=True):
    """A page that was read; this is what the cache keeps."""

    url: str
    """After all redirects."""
    text: str
    title: str = ""
    date: str | None = None
    """When it was published, if it says so (ISO date)."""
    at: str = ""
    """When it was fetched, in UTC."""
    sha256: str = ""
    """Of its bytes, decompressed."""


class PageError(SearchError):
    """A page that cannot be had. `reason` is why, without what is different for every page."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url[:200]}: {reason}")
        self.reason = reason


@dataclasses.dataclass
class _Loop:
    """What belongs to one event loop."""

    connections: Connections
    readers: Readers
    sites: OrderedDict[str, asyncio.Task[Rules]] = dataclasses.field(default_factory=OrderedDict)


@dataclasses.dataclass
class Fetcher:
    """Reads pages, each once. Only public addresses are reached unless it is told otherwise (`guard.Guard`).

    Raises `UsageError` for settings that are none, and where the libraries that read pages are not installed.
    """

    store: CallStore | None = dataclasses.field(default=None, repr=False)
    allow_private: bool = False
    """All addresses and ports: for tests and trusted intranets."""
    networks: tuple[str, ...] = ()
    """Networks that may be reached though they are not public ("10.20.0.0/16")."""
    ports: frozenset[int] = PORTS
    max_bytes: int = 5 * 2**20
    """Of a page, decompressed."""
    timeout: float = 20.0
    """Seconds for one page with all its redirects."""
    connect_timeout: float = 10.0
    concurrency: int = 16
    per_host: int = 2
    """Requests to one host at once."""
    respect_robots: bool = True
    """Leave pages alone that their site's robots.txt closes to "veridical" or to all programs."""
    _loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Loop] = dataclasses.field(
        default_factory=weakref.WeakKeyDictionary, init=False, repr=False
    )

    def __post_init__(self) -> None:
        available()
        for name in ("max_bytes", "concurrency", "per_host"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("timeout", "connect_timeout"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise UsageError(f"{name} must be a finite number of seconds above 0, not {getattr(self, name)}")
        self._guard = Guard(allow_private=self.allow_private, networks=tuple(self.networks), ports=self.ports)

    @property
    def identity(self) -> str:
        """What can change the text of a page beside the page."""
        opened = f" networks={','.join(sorted(self.networks))}" if self.networks else ""
        return f"bytes={self.max_bytes} robots={self.respect_robots} reader={VERSION}{opened}"

    async def fetch(self, url: str) -> Page:
        """The page behind a link. Raises `PageError`; errors are not cached."""
        try:
            target = str(self._guard.url(url))
        except Refused as error:
            raise PageError(url, str(error)) from error
        if self.store is None:
            return await self._page(target)
        question = Question("page", "page", self.identity, PageRequest(url=target))
        return await self.store.get_or_call(question, lambda: self._page(target), Page)

    async def get(self, url: str) -> Download:
        """The bytes behind a link, from its server and not from the cache. Raises `PageError`."""
        try:
            return await self._got(self._here(), url)
        except SearchError as error:
            raise PageError(url, str(error)) from error

    async def close(self) -> None:
        """End connections and processes of this event loop; a further page opens new ones."""
        here = self._loops.pop(asyncio.get_running_loop(), None)
        if here:
            for task in here.sites.values():
                task.cancel()
            await here.connections.close()
            await here.readers.close()

    def _here(self) -> _Loop:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _Loop(Connections(self._guard, self.concurrency, self.per_host), Readers())
        return self._loops[loop]

    async def _page(self, url: str) -> Page:
        here = self._here()
        try:
            got = await self._got(here, url)
            found = await here.readers.read(got.body, got.content_type, got.final_url)
        except SearchError as error:
            raise PageError(url, str(error)) from error
        return Page(
            url=got.final_url,
            text=found.text,
            title=found.title,
            date=found.date,
            at=got.at,
            sha256=hashlib.sha256(got.body).hexdigest(),
        )

    async def _got(self, here: _Loop, url: str) -> Download:
        async def may(hop: yarl.URL) -> None:
            if self.respect_robots and not (await self._rules(here, hop)).allow(hop.raw_path_qs):
                raise Refused("robots.txt closes it")

        bounds = Bounds(self.max_bytes, self.timeout, self.connect_timeout)
        for tried in range(1, TRIES + 1):
            try:
                return await here.connections.get(url, bounds, takes=readable, may=may)
            except Busy as error:
                wait = float(tried) if error.wait is None else error.wait
                if tried == TRIES or wait > LONGEST_WAIT:
                    raise
                await asyncio.sleep(wait)
        raise AssertionError  # the last try returns or raises

    async def _rules(self, here: _Loop, url: yarl.URL) -> Rules:
        """What the site of a page allows, asked once."""
        site = str(url.origin())
        task = here.sites.get(site)
        if task is None or (task.done() and task.cancelled()):
            task = here.sites[site] = asyncio.create_task(self._robots(here, site))
            while len(here.sites) > _MOST_SITES and next(iter(here.sites.values())).done():
                here.sites.popitem(last=False)
        here.sites.move_to_end(site)
        return await asyncio.shield(task)

    async def _robots(self, here: _Loop, site: str) -> Rules:
        """As RFC 9309 has it, but for a site whose robots.txt cannot be had (its server fails, or it takes too long):
        it has closed nothing, and the one page that a user wants from it is asked for."""
        bounds = Bounds(MOST_BYTES, min(self.timeout, ROBOTS_SECONDS), self.connect_timeout, cut=True)
        try:
            got = await here.connections.get(f"{site}/robots.txt", bounds)
        except SearchError:
            return Rules()
        return await asyncio.to_thread(parse, decode(got.body, got.content_type))
