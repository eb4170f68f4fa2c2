"""One bounded exchange with a search API, and what its status and its words mean.

Every request has a time-out, no reply is read beyond `MOST_BYTES`, and redirects are not followed: they would take the
key and the query to another place.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import weakref
from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec
import yarl

from ... import __version__
from ...errors import FatalError, SearchError, StageError
from ...models.faults import describe, redact
from ...models.openai_compatible import proxy_for
from ...models.retry import Passing, Trouble
from .base import Dialect, Exchange, WebReply

MOST_BYTES = 8 * 2**20
_NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)
_LENGTH = re.compile(r"too (?:long|large)|length|characters|\bchars\b|exceed|maximum|at most|words", re.IGNORECASE)
_BUSY = re.compile(r"rate.?limit|too many requests|maxlag|overloaded|try again", re.IGNORECASE)
"""Errors that come with status 200 and may pass all the same."""
_TROUBLES = {429: Trouble.RATE_LIMIT, 408: Trouble.TIMEOUT, 504: Trouble.TIMEOUT, 524: Trouble.TIMEOUT}


class PassingSearch(Passing, SearchError):
    """A search that failed and may succeed later."""

    final = SearchError


class TooLong(SearchError):
    """The provider takes no query of this length."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclasses.dataclass
class Client:
    """The connections to one provider. `price` is what a request that was sent and not answered may have cost."""

    timeout: float = 30.0
    """Seconds for one request in all."""
    connect_timeout: float = 10.0
    pool: int = 64
    """Most connections at once."""
    price: float = 0.0
    _sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = dataclasses.field(
        default_factory=weakref.WeakKeyDictionary, init=False, repr=False
    )

    async def send(self, exchange: Exchange, key: str | None = None) -> Answer:
        """The answer to one request, whatever its status. Messages never hold the key or the query.

        Raises `PassingSearch` for what may pass, `SearchError` for a reply that is too large, `FatalError` for an
        address that cannot be used.
        """
        session = self._sessions.get(asyncio.get_running_loop()) or self._open()
        try:
            url = yarl.URL(exchange.url)
            url = url.update_query(exchange.params) if exchange.params else url
            async with session.request(
                exchange.method,
                url,
                json=exchange.body,
                headers=exchange.headers,
                allow_redirects=False,
                proxy=proxy_for(url),
            ) as response:
                return Answer(response.status, response.headers, await _read(response))
        except aiohttp.ClientConnectorCertificateError as error:
            raise FatalError(f"the certificate of {_place(exchange)} is not trusted: {_said(error, key)}") from error
        except (aiohttp.InvalidURL, ValueError) as error:
            raise FatalError(f"the address of {_place(exchange)} cannot be used ({type(error).__name__})") from error
        except _NOT_SENT as error:
            raise PassingSearch(f"connection: {_said(error, key)}", trouble=Trouble.CONNECTION) from error
        except TimeoutError as error:
            raise self._sent(f"time-out: no answer in {self.timeout:g} s", Trouble.TIMEOUT) from error
        except aiohttp.ClientPayloadError as error:
            raise self._sent(f"the reply was cut: {_said(error, key)}", Trouble.MALFORMED) from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._sent(f"connection: {_said(error, key)}", Trouble.CONNECTION) from error
        except SearchError as error:
            error.spent = WebReply(cost=self.price)
            raise

    async def close(self) -> None:
        """Close the connections of this event loop; a further request opens new ones."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    def _sent(self, message: str, trouble: Trouble) -> PassingSearch:
        return PassingSearch(message, trouble=trouble, spent=WebReply(cost=self.price))

    def _open(self) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.pool),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept": "application/json", "User-Agent": f"veridical/{__version__}"},
            timeout=aiohttp.ClientTimeout(total=self.timeout, sock_connect=self.connect_timeout),
        )
        self._sessions[asyncio.get_running_loop()] = session
        return session


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body, decompressed, as far as a reply may go."""
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MOST_BYTES:
            response.close()
            raise SearchError(f"the reply is larger than {MOST_BYTES // 2**20} MiB")
        parts.append(part)
    return b"".join(parts)


def _place(exchange: Exchange) -> str:
    """Where it was sent, without what may be secret."""
    return exchange.url.partition("?")[0]


def _said(error: Exception, key: str | None) -> str:
    return redact(f"{type(error).__name__}: {error}", key)


# What an answer means


def payload(answer: Answer, dialect: Dialect, *, key: str | None = None, variables: tuple[str, ...] = ()) -> Any:
    """The JSON of an answer that is a reply. Else raises what it stands for, in the provider's own words:

    `FatalError` where no later search can pass (a bad key, spent credit, a wrong address), naming the environment
    variable of the key; `PassingSearch` for rate limits, server errors and what is no JSON; `TooLong`; `SearchError`
    for this query alone.
    """
    value = decoded(answer.body)
    complaint = dialect.complaint(answer.status, value)
    if 200 <= answer.status < 300:
        if value is None:
            raise PassingSearch(
                f"the reply is no JSON: {redact(_start(answer.body), key)!r}", trouble=Trouble.MALFORMED
            )
        if not complaint:
            return value
    raise _error(answer, value, complaint, dialect, key, variables)


def _error(
    answer: Answer, value: Any, complaint: str | None, dialect: Dialect, key: str | None, variables: tuple[str, ...]
) -> StageError | FatalError:
    status = answer.status
    detail = describe(answer.body, answer.headers)
    said = redact(f"HTTP {status}: {complaint or detail.message}", key)
    if status in (401, 402) or dialect.exhausted(status, value) or (status == 403 and not complaint):
        named = f" in {' or '.join(variables)}" if variables else ""
        what = f"the key{named} is missing, wrong or not allowed this, or its credit is used up; " if variables else ""
        return FatalError(f"{what}the provider says: {said}")
    if 300 <= status < 400 or (status in (404, 405) and not complaint and not detail.structured):
        return FatalError(f"no search API answers at this address, check the base URL; the server says: {said}")
    busy = status < 300 and (detail.retry_after is not None or _BUSY.search(complaint or ""))
    if busy or status in (408, 425, 429) or status >= 500:
        return PassingSearch(
            said,
            trouble=_TROUBLES.get(status, Trouble.OVERLOAD),
            retry_after=detail.retry_after,
            tries=getattr(dialect, "tries", None) if status < 300 else None,
        )
    if status in (413, 414) or (status in (400, 422) and _LENGTH.search(complaint or detail.message)):
        return TooLong(f"{dialect.name}: {said}")
    return SearchError(f"{dialect.name}: {said}")


def decoded(body: bytes) -> Any:
    """JSON of any shape, as leniently as Python reads it; None for what is none, and for `null`."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # NaN, Infinity, broken surrogates
        value = json.loads(body.decode("utf-8", "replace"))
        return _whole(value)
    except (ValueError, RecursionError):
        return None


def _whole(value: Any) -> Any:
    """Without lone surrogates, which could be written to no file."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(one) for name, one in value.items()}
    return value


def _start(body: bytes) -> str:
    return " ".join(body[:200].decode("utf-8", "replace").split())[:80]
