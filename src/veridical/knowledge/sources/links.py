"""Lists of links. Every page is fetched as a stranger's: through the guard (`web/guard.py`), within bounds of time and
size, and only where its site's robots.txt allows it.

What was fetched is kept beside the list (`LIST.pages`, a cache of calls), page by page as it comes, so a build that is
broken off, or made again, does not fetch it again. Delete that file to have the pages as they are today.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from ...errors import SearchError
from ..documents import Record, Section
from ..titles import tidy
from ..web.extract import available
from .base import BIGGEST, Bad, Kind, Pages, Passed, Unit, shown, unusable, whole

if TYPE_CHECKING:
    from ...models.cache import CallStore
    from ..web.fetch import Fetcher

TOGETHER = 32
"""Links that are fetched at a time."""


def fetcher(store: CallStore) -> Fetcher:
    """Reaches public addresses only; tests put one in its place that reaches their own server."""
    from ..web.fetch import Fetcher

    return Fetcher(store=store)


def units(path: Path) -> Iterator[Unit]:
    """One, so that one process asks the sites and no site is asked by several at once."""
    available()
    if path.stat().st_size > BIGGEST:
        raise unusable(path, f"a list of links of more than {BIGGEST >> 20} MB; divide it")
    if not any(link.startswith(("http://", "https://")) for _, link in links(path)):
        raise unusable(path, "no link in it: one a line is expected, beginning with http:// or https://")
    yield whole(path, "links")


def links(path: Path) -> list[tuple[int, str]]:
    """Line and link, each link once; what follows a # at the start of a line or after a blank is a comment."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise unusable(path, f"not UTF-8 (byte {error.start}: {error.reason})") from error
    found: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        link = f" {line}".partition(" #")[0].strip()
        if link:
            found.setdefault(link, number)
    return [(number, link) for link, number in found.items()]


def read(piece: Unit, language: str | None, passed: Passed) -> Pages:
    path = Path(piece.file)
    with ThreadPoolExecutor(1, thread_name_prefix="links") as thread:  # the caller may be in an event loop of its own
        visit = thread.submit(_Visit, path).result()
        try:
            waiting = iter(links(path))
            while batch := list(itertools.islice(waiting, TOGETHER)):
                yield from thread.submit(visit.fetch, batch).result()
        finally:
            visit.stop()
            thread.submit(visit.close).result()


class _Visit:
    """Fetcher, cache and event loop, all of one thread."""

    def __init__(self, path: Path) -> None:
        from ...models.cache import CallStore  # what needs the network is imported where it is used

        self._name = shown(path)
        self._store = CallStore(path.with_name(f"{path.name}.pages"))
        self._fetcher = fetcher(self._store)
        self._runner = asyncio.Runner()
        self._loop = self._runner.get_loop()
        self._task: asyncio.Task[object] | None = None

    def fetch(self, batch: Sequence[tuple[int, str]]) -> list[Record | Bad]:
        async def together() -> list[Record | Bad]:
            self._task = asyncio.current_task()
            return await asyncio.gather(*(self._one(number, link) for number, link in batch))

        return self._runner.run(together())

    async def _one(self, number: int, link: str) -> Record | Bad:
        try:
            page = await self._fetcher.fetch(link)
        except SearchError as error:
            reason = getattr(error, "reason", str(error)[:100])
            return Bad(reason=reason, file=self._name, line=number, detail=link[:200])
        return Record(
            title=tidy(page.title) or _named(page.url),
            sections=(Section(text=page.text),),
            url=page.url,
            date=page.date,
            retrieved=page.at or None,
            file=self._name,
            line=number,
        )

    def stop(self) -> None:
        """From another thread: give up what is under way."""
        self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())

    def close(self) -> None:
        self._runner.run(self._fetcher.close())
        self._runner.close()
        self._store.close()


def _named(url: str) -> str:
    """The title of a page that gives none: the end of its path, or its host."""
    parts = urlsplit(url)
    return tidy(unquote(parts.path.rstrip("/").rpartition("/")[2], errors="replace")) or parts.hostname or url


KIND = Kind(units=units, read=read)
