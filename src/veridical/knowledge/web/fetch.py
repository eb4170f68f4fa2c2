"""Fetching pages: bounded in size, time and number, redirects looked at one by one, texts kept in the cache."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import zlib
from urllib.parse import urljoin

import aiohttp

from ... import __version__
from ...errors import SearchError
from ...models.cache import CallStore, Question
from ...types import Struct
from .extract import Extracted, available, extract
from .guard import check, connector
from .search import now

AGENT = f"veridical/{__version__} (evaluation of factuality; fetches single pages that a search found)"
REDIRECTS = 5
TRIES = 3
LONGEST_WAIT = 10.0
"""Seconds that a page may ask to wait before it is asked for again."""
_MOVED = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({429, 503})


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
    at: str = ""
    """When it was fetched, in UTC."""
    sha256: str = ""
    """Of its bytes."""


class _Passing(SearchError):
    """This page may answer on another try."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


@dataclasses.dataclass
class Fetcher:
    """Reads pages, each once. Raises `SearchError` for a page that cannot be had; `close` ends its connections.

    Only public addresses are reached unless `allow_private`, which is for tests and intranets. Pages are fetched as a
    person would who follows a link: one by one, at most `per_host` of a host at once, saying who asks. robots.txt,
    which is for crawlers, is not consulted.
    """

    store: CallStore | None = None
    allow_private: bool = False
    max_bytes: int = 5 * 2**20
    """Of the page, decompressed."""
    timeout: float = 20.0
    """Seconds for one page with all its redirects."""
    concurrency: int = 16
    per_host: int = 2
    _session: aiohttp.ClientSession | None = dataclasses.field(default=None, init=False, repr=False)
    _readers: asyncio.Semaphore = dataclasses.field(
        default_factory=lambda: asyncio.Semaphore(2), init=False, repr=False
    )

    def __post_init__(self) -> None:
        available()

    async def fetch(self, url: str) -> Page:
        """The page behind a link. Errors are not cached."""
        target = check(url, allow_private=self.allow_private)
        if self.store is None:
            return await self._page(target)
        question = Question("page", "page", f"bytes={self.max_bytes}", PageRequest(url=target))
        return await self.store.get_or_call(question, lambda: self._page(target), Page)

    async def close(self) -> None:
        if self._session:
            await self._session.close()
            self._session = None

    async def _page(self, url: str) -> Page:
        final, content_type, body = await self._tried(url)
        async with self._readers:
            found: Extracted = await extract(body, content_type, final)
        return Page(
            url=final,
            text=found.text,
            title=found.title,
            date=found.date,
            at=now(),
            sha256=hashlib.sha256(body).hexdigest(),
        )

    async def _tried(self, url: str) -> tuple[str, str, bytes]:
        """As `_body`; again where the page may answer later, and every other trouble as a SearchError."""
        for left in range(TRIES - 1, -1, -1):
            try:
                async with asyncio.timeout(self.timeout):
                    return await self._body(url)
            except TimeoutError:
                raise SearchError(f"{url}: no answer within {self.timeout:g} s") from None
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise SearchError(f"{url}: {type(error).__name__}: {error}") from None
            except _Passing as error:
                if not left or error.wait > LONGEST_WAIT:
                    raise SearchError(str(error)) from None
                await asyncio.sleep(error.wait)
        raise SearchError(f"{url}: no answer")

    async def _body(self, url: str) -> tuple[str, str, bytes]:
        """Final URL, content type and bytes."""
        seen = [url]
        for _ in range(REDIRECTS + 1):
            async with self._open().get(seen[-1], allow_redirects=False) as reply:
                if reply.status in _MOVED and (where := reply.headers.get("Location")):
                    seen.append(check(urljoin(seen[-1], where), allow_private=self.allow_private))
                    continue
                if reply.status in _BUSY:
                    raise _Passing(f"{url}: HTTP {reply.status}", _seconds(reply.headers.get("Retry-After")))
                if reply.status != 200:
                    raise SearchError(f"{url}: HTTP {reply.status}")
                return seen[-1], reply.headers.get("Content-Type", ""), await self._read(reply)
        raise SearchError(f"{url}: more than {REDIRECTS} redirects")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=connector(allow_private=self.allow_private, limit=self.concurrency, per_host=self.per_host),
                headers={"User-Agent": AGENT, "Accept": "text/html,application/pdf,text/plain;q=0.9",
                         "Accept-Encoding": "gzip, deflate"},
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )  # fmt: skip
        return self._session

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        """The bytes, decompressed as they come so that nothing is ever larger than it may be."""
        encoding = reply.headers.get("Content-Encoding", "").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise SearchError(f"{reply.url}: encoding {encoding!r} is not read")
        inflate = None if encoding in ("", "identity") else zlib.decompressobj(wbits=47)
        body = bytearray()
        async for piece in reply.content.iter_chunked(1 << 16):
            while piece:
                if inflate is None:
                    body += piece
                    break
                try:
                    body += inflate.decompress(piece, self.max_bytes + 1 - len(body))
                except zlib.error as error:
                    raise SearchError(f"{reply.url}: {error}") from None
                piece = inflate.unconsumed_tail
                if len(body) > self.max_bytes:
                    break
            if len(body) > self.max_bytes:
                raise SearchError(f"{reply.url}: more than {self.max_bytes / 2**20:g} MiB")
        return bytes(body)


def _seconds(value: str | None) -> float:
    try:
        return max(0.0, float(value)) if value else 1.0
    except ValueError:
        return LONGEST_WAIT  # a date: longer than a page is worth
