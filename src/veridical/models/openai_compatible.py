"""Client of any server with OpenAI's chat completions API: OpenAI, vLLM, llama.cpp, Ollama, OpenRouter, …

One call is one HTTP request: no retry (see `retry.py`) and no limit (see `limit.py`), with two exceptions. A parameter
that the server refuses is dropped or renamed once for the model and the call repeated; a reply whose reasoning used up
all of max_tokens is asked for once more with a larger budget.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import math
import urllib.request
import weakref
from collections.abc import Callable, Mapping

import aiohttp
import msgspec
import yarl

from ..errors import FatalError, ModelError, UsageError, VeridicalError
from .base import ChatReply, ChatRequest
from .bill import Reported, bill, failed, together
from .faults import Unsupported, fault, redact
from .retry import Retryable, Trouble
from .wire import Dialect, OutOfBudget, decode, encode, fewest_tokens, usage_in

_REASONING_BUDGET = 1024
_MOST_BYTES = 16 * 2**20
_NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)


@dataclasses.dataclass
class OpenAICompatible:
    """A model behind a chat completions endpoint.

    Errors by kind: `Retryable` for what may pass, `ModelError` for this request alone, `FatalError` for a bad key,
    spent quota, unknown model or wrong address. Messages hold the server's own words, never the key.
    """

    base_url: str
    """With or without /v1, a trailing slash, or the whole chat path; http or https."""
    model: str
    """The model's name as the server knows it."""
    name: str = ""
    """As in "openai/gpt-4o-mini"; the model's name if empty."""
    api_key: str | None = dataclasses.field(default=None, repr=False)
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Sent with each request beside the usual ones."""
    dialect: Dialect = Dialect()
    connect_timeout: float = 10.0
    """Seconds to open a connection."""
    read_timeout: float = 120.0
    """Seconds without a single byte from the server."""
    total_timeout: float = 300.0
    """Seconds for one request in all."""
    pool: int = 256
    """Most connections at once. Keep it above the limit of `Limited`: waiting for one is part of the time-out."""
    adaptations: list[str] = dataclasses.field(default_factory=list, init=False)
    """What the server refused and how requests were changed, in words."""
    _renamed: bool = dataclasses.field(default=False, init=False, repr=False)
    _sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = dataclasses.field(
        default_factory=weakref.WeakKeyDictionary, init=False, repr=False
    )

    def __post_init__(self) -> None:
        for field in ("connect_timeout", "read_timeout", "total_timeout"):
            if not (math.isfinite(getattr(self, field)) and getattr(self, field) > 0):
                raise UsageError(f"{field} must be a finite number of seconds above 0, not {getattr(self, field)}")
        self.name = self.name or self.model
        self.base_url = normal_base_url(self.base_url, self.dialect.chat_path)
        self._url = _join(self.base_url, self.dialect.chat_path)
        self._proxy = proxy_for(self._url)
        self.api_key = (self.api_key or "").strip() or None
        if self.api_key and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise UsageError("the API key holds characters that no key has")

    @property
    def identity(self) -> str:
        """Name, model and base URL; a query, which may hold a secret, as its hash."""
        address, _, query = self.base_url.partition("?")
        secret = f"?{hashlib.sha256(query.encode()).hexdigest()[:12]}" if query else ""
        return f"{self.name} {self.model} {address}{secret}"

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply. Its usage covers both requests where a larger budget had to be asked for."""
        try:
            return await self._adapting(request)
        except OutOfBudget as error:
            first = error
        larger = max(4 * request.max_tokens, _REASONING_BUDGET if first.reasoned else 1)
        try:
            reply = await self._adapting(msgspec.structs.replace(request, max_tokens=larger))
        except VeridicalError as error:
            error.spent = together(first.spent, error.spent)
            raise
        return together(reply, first.spent)

    async def close(self) -> None:
        """Close the connections of this event loop; a further call opens new ones."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _adapting(self, request: ChatRequest) -> ChatReply:
        """Repeat the request for as long as there is a parameter left that the server refuses and we can do without."""
        while True:
            dialect = self.dialect
            try:
                return await self._once(request, dialect)
            except Unsupported as refusal:
                if refusal.spent is not None:  # each request that is billed must be one that was reckoned with
                    raise
                if dialect is self.dialect:  # else another call has adapted it in the meantime
                    self._adapt(refusal)

    def _adapt(self, refusal: Unsupported) -> None:
        change = _change(refusal.parameter, self.dialect)
        rename = refusal.parameter in ("max_tokens", "max_completion_tokens")
        if change is None or (rename and self._renamed):  # a server that refuses both names gets neither in turn
            raise refusal
        self._renamed = self._renamed or rename
        words, self.dialect = change
        self.adaptations.append(f"{words} ({refusal})")

    async def _once(self, request: ChatRequest, dialect: Dialect) -> ChatReply:
        if dialect.context_window is not None:
            least = sum(fewest_tokens(message.content) for message in request.messages)
            if least > dialect.context_window:
                raise ModelError(
                    f"the prompt has at least {least} tokens, the model's window is {dialect.context_window}"
                )
        body = encode(request, self.model, dialect)
        status, data, headers = await self._post(body, lambda: bill(Reported(), request, dialect.price))
        if status == 200:
            return decode(data, request, dialect, headers, key=self.api_key)
        raise failed(fault(status, data, headers, key=self.api_key), usage_in(data), request, dialect.price)

    async def _post(self, body: bytes, most: Callable[[], ChatReply]) -> tuple[int, bytes, Mapping[str, str]]:
        """Status, body and headers. `most` is the bill of a request that was sent and not answered whole."""
        session = self._sessions.get(asyncio.get_running_loop()) or self._open()
        try:
            # Redirects are not followed: they would take the key and the prompt to another place.
            async with session.post(self._url, data=body, allow_redirects=False, proxy=self._proxy) as response:
                return response.status, await _read(response), response.headers
        except aiohttp.ClientConnectorCertificateError as error:
            raise FatalError(f"the certificate of {self.base_url} is not trusted: {error}") from error
        except aiohttp.InvalidURL as error:
            raise FatalError(f"the address cannot be used: {error}") from error
        except _NOT_SENT as error:
            raise Retryable(f"connection: {self._said(error)}", trouble=Trouble.CONNECTION) from error
        except TimeoutError as error:
            said = f"time-out: {error or f'{self.total_timeout:g} s'}"
            raise Retryable(said, trouble=Trouble.TIMEOUT, spent=most()) from error
        except aiohttp.ClientPayloadError as error:
            said = f"the reply was cut: {self._said(error)}"
            raise Retryable(said, trouble=Trouble.MALFORMED, spent=most()) from error
        except (aiohttp.ClientError, OSError) as error:
            said = f"connection: {self._said(error)}"
            raise Retryable(said, trouble=Trouble.CONNECTION, spent=most()) from error
        except ModelError as error:
            error.spent = most()
            raise

    def _said(self, error: Exception) -> str:
        return redact(f"{type(error).__name__}: {error}", self.api_key)

    def _open(self) -> aiohttp.ClientSession:
        """The session of this event loop, with what would otherwise be worked out for each request."""
        headers = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "veridical"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.pool),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={**headers, **self.headers},
            skip_auto_headers=("Accept-Encoding",),
            timeout=aiohttp.ClientTimeout(
                total=self.total_timeout, sock_connect=self.connect_timeout, sock_read=self.read_timeout
            ),
        )
        self._sessions[asyncio.get_running_loop()] = session
        return session


def normal_base_url(url: str, chat_path: str = "/chat/completions") -> str:
    """The base URL to which the chat path is appended; /v1 is added where there is no path. Raises `UsageError`."""
    try:
        parsed = yarl.URL(url.strip())
    except ValueError as error:
        raise UsageError(f"{url!r} is no address: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise UsageError(f"{url!r} is no address of a model server: it must start with http:// or https://")
    if parsed.user is not None or parsed.password is not None:
        raise UsageError("an address must not hold a user name or password; give the key apart from it")
    path = parsed.path.rstrip("/").removesuffix(chat_path.rstrip("/")).rstrip("/")
    base = parsed.with_path(path or "/v1", keep_query=True).with_fragment(None)
    return str(base)


def _join(base_url: str, chat_path: str) -> yarl.URL:
    base = yarl.URL(base_url)
    return base.with_path(base.path.rstrip("/") + chat_path, keep_query=True)


def proxy_for(url: yarl.URL) -> str | None:
    """The environment's proxy for this address, looked up once; none for this machine."""
    host = url.host or ""
    if host in ("localhost", "127.0.0.1", "::1") or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(url.scheme)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body, decompressed, as far as a reply may go."""
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > _MOST_BYTES:
            raise ModelError(f"the reply is larger than {_MOST_BYTES // 2**20} MiB")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _change(parameter: str, dialect: Dialect) -> tuple[str, Dialect] | None:
    """The dialect without a parameter, and the change in words; None where nothing can be done."""
    match parameter:
        case "max_tokens" | "max_completion_tokens" if parameter == dialect.max_tokens_field:
            other = "max_completion_tokens" if parameter == "max_tokens" else "max_tokens"
            return f"{other} instead of {parameter}", msgspec.structs.replace(dialect, max_tokens_field=other)
        case "temperature" | "top_p" | "seed" if getattr(dialect, parameter):
            return f"without {parameter}", msgspec.structs.replace(dialect, **{parameter: False})
        case "stop" if dialect.stop:
            return "replies are cut at the stop text here", msgspec.structs.replace(dialect, stop=False)
        case "system" if dialect.system_role:
            return "system text goes into the first user message", msgspec.structs.replace(dialect, system_role=False)
        case "response_format" | "json_schema" | "guided_json" if dialect.json_schema:
            return "without a JSON schema", msgspec.structs.replace(dialect, json_schema=None)
        case "top_logprobs" if dialect.max_top_logprobs > 5:  # what the smaller servers give
            return "5 alternatives a token at most", msgspec.structs.replace(dialect, max_top_logprobs=5)
        case "logprobs" | "top_logprobs" if dialect.max_top_logprobs:
            return "without log-probabilities", msgspec.structs.replace(dialect, max_top_logprobs=0)
    return None
