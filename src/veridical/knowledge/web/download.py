"""One page over HTTP: bounded in time, size and redirects, each hop looked at by the guard before it is made."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import weakref
import zlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp
import yarl

from ... import __version__
from ...errors import SearchError
from ...types import Struct
from .guard import ClosedAddress, Guard, Refused
from .robots import TOKEN
from .search import now

AGENT = f"{TOKEN}/{__version__} (evaluation of factuality; reads single pages that a search found)"
REDIRECTS = 5
_MOVED = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({429, 503})


class Download(Struct, frozen=True, kw_only=True):
    """What a server sent."""

    url: str
    """As asked for."""
    final_url: str
    """After all redirects."""
    status: int
    content_type: str
    body: bytes
    """Decompressed."""
    at: str
    """When, in UTC."""


class Busy(SearchError):
    """The server wants to be asked later: in `wait` seconds, if it says so."""

    def __init__(self, message: str, wait: float | None) -> None:
        super().__init__(message)
        self.wait = wait


class Status(SearchError):
    """The server answered with an error."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


@dataclasses.dataclass(frozen=True)
class Bounds:
    """What one download may take."""

    max_bytes: int
    """Of the body, as it is sent and decompressed."""
    timeout: float
    """Seconds with all redirects, without the time it waits for its turn."""
    connect_timeout: float = 10.0
    cut: bool = False
    """Keep the first `max_bytes` of what is longer, where it would be an error."""


@dataclasses.dataclass
class Connections:
    """HTTP in one event loop: at most `limit` requests at once and `per_host` of a host.

    Messages of errors name no address, so that equal troubles can be counted.
    """

    guard: Guard
    limit: int
    per_host: int
    _session: aiohttp.ClientSession | None = dataclasses.field(default=None, init=False, repr=False)
    _all: asyncio.Semaphore = dataclasses.field(init=False, repr=False)
    _hosts: weakref.WeakValueDictionary[str, asyncio.Semaphore] = dataclasses.field(
        default_factory=weakref.WeakValueDictionary, init=False, repr=False
    )

    def __post_init__(self) -> None:
        self._all = asyncio.Semaphore(self.limit)

    async def get(
        self,
        url: str,
        bounds: Bounds,
        *,
        takes: Callable[[str], bool] = lambda _: True,
        may: Callable[[yarl.URL], Awaitable[None]] | None = None,
    ) -> Download:
        """What is found behind a link. `takes` tells which content types are read at all; `may` is asked before each
        hop, and raises to refuse it.

        Raises `Refused`, `Busy`, `Status`, or `SearchError` for all else that goes wrong.
        """
        here, left = self.guard.url(url), bounds.timeout
        for _ in range(REDIRECTS + 1):
            if may:
                await may(here)
            async with self._turn(here), self._all:
                started = time.monotonic()
                reached = await self._hop(here, left, bounds, takes)
                left -= time.monotonic() - started
            if isinstance(reached, tuple):
                kind, body = reached
                return Download(url=url, final_url=str(here), status=200, content_type=kind, body=body, at=now())
            here = reached
        raise SearchError(f"more than {REDIRECTS} redirects")

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    def _turn(self, url: yarl.URL) -> asyncio.Semaphore:
        """One of a host, whatever its port: it is the machine that is spared."""
        return self._hosts.setdefault(url.host or "", asyncio.Semaphore(self.per_host))

    async def _hop(
        self, url: yarl.URL, left: float, bounds: Bounds, takes: Callable[[str], bool]
    ) -> yarl.URL | tuple[str, bytes]:
        """Where it leads, or content type and body."""
        try:
            async with asyncio.timeout(max(left, 0.0)):
                return await self._sent(url, bounds, takes)
        except TimeoutError:
            raise SearchError(f"no answer within {bounds.timeout:g} s") from None
        except aiohttp.ClientConnectorError as error:
            if isinstance(closed := getattr(error, "os_error", None), ClosedAddress):
                raise Refused(closed.strerror or "refused") from None
            raise SearchError(f"no connection: {type(error).__name__}") from None
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as error:  # Runtime: the session was closed
            raise SearchError(f"no usable answer: {type(error).__name__}") from None

    async def _sent(self, url: yarl.URL, bounds: Bounds, takes: Callable[[str], bool]) -> yarl.URL | tuple[str, bytes]:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=bounds.connect_timeout)
        async with self._open().get(url, allow_redirects=False, timeout=timeout) as reply:
            if reply.status in _MOVED and (where := reply.headers.get("Location")):
                return self.guard.url(_joined(url, where))
            if reply.status in _BUSY:
                raise Busy(f"HTTP {reply.status}", seconds(reply.headers.get("Retry-After")))
            if reply.status != 200:
                raise Status(reply.status)
            kind = reply.headers.get("Content-Type", "")
            if not takes(kind):
                raise SearchError(f"{kind.partition(';')[0].strip()[:60]} is not read")
            if not bounds.cut and (reply.content_length or 0) > bounds.max_bytes:
                raise _too_large(bounds)
            return kind, await _read(reply, bounds)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self.guard.connector(limit=self.limit),
                headers={"User-Agent": AGENT, "Accept": "text/html,application/xhtml+xml,application/pdf,text/plain",
                         "Accept-Encoding": "gzip, deflate"},
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )  # fmt: skip
        return self._session


def _joined(url: yarl.URL, where: str) -> str:
    try:
        return str(url.join(yarl.URL(where)))
    except ValueError:
        raise Refused("no usable address") from None


async def _read(reply: aiohttp.ClientResponse, bounds: Bounds) -> bytes:
    """The bytes, decompressed as they come, so that no more is ever held than may be."""
    unpack = _unpacker(reply.headers.get("Content-Encoding", ""))
    body, sent = bytearray(), 0
    async for piece in reply.content.iter_chunked(1 << 16):
        sent += len(piece)
        try:
            body += unpack.feed(piece, bounds.max_bytes + 1 - len(body)) if unpack else piece
        except zlib.error:
            raise SearchError("the compressed page is broken") from None
        if len(body) > bounds.max_bytes or sent > bounds.max_bytes:
            if bounds.cut:
                return bytes(body[: bounds.max_bytes])
            raise _too_large(bounds)
    if unpack and not unpack.whole:
        raise SearchError("the compressed page is cut")
    return bytes(body)


def _too_large(bounds: Bounds) -> SearchError:
    return SearchError(f"more than {bounds.max_bytes / 2**20:g} MiB")


def _unpacker(encoding: str) -> Unpacker | None:
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return Unpacker()
    raise SearchError(f"encoding {encoding[:20]!r} is not read")


class Unpacker:
    """gzip, also of several members, and deflate, with its header or, as some servers send it, without."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=47)
        self._first = True
        self.whole = True
        """Whether what came so far is complete; so is nothing."""

    def feed(self, piece: bytes, most: int) -> bytes:
        """At most `most` bytes, from 1, of what is within. Raises zlib.error."""
        out = bytearray()
        while piece and len(out) < most:
            if self._inflate.eof:
                if not piece.startswith(b"\x1f\x8b"):
                    break  # padding
                self._inflate = zlib.decompressobj(wbits=47)
            out += self._inflated(piece, most - len(out))
            piece = self._inflate.unused_data or self._inflate.unconsumed_tail
        self.whole = self._inflate.eof
        return bytes(out)

    def _inflated(self, piece: bytes, most: int) -> bytes:
        first, self._first = self._first, False
        try:
            return self._inflate.decompress(piece, most)
        except zlib.error:
            if not first:
                raise
            self._inflate = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
            return self._inflate.decompress(piece, most)


def seconds(value: str | None) -> float | None:
    """Of a Retry-After header, from 0: a number or a date; None for none."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
        return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None
