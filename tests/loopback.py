"""A real HTTP server on 127.0.0.1 that behaves, or misbehaves, as told: the double for model endpoints and web search.

    async with Loopback() as server:                 # answers every chat with "True"
        model = OpenAICompatible(base_url=server.url, model="m")

    async with Loopback(lambda request: "No" if "Paris" in request.prompt else "True") as server: ...
    async with Loopback([error(503, "busy"), chat("True")]) as server: ...   # in turn; the last one repeats

A handler is a value, a list of values taken in turn, or a function (plain or async) of the `Request` giving a value.
A value is a str (the text of a chat completion), a dict (a JSON body), or an `Answer` (status, headers and faults).
Afterwards `server.requests` holds what arrived, in order, and `server.peak` the most requests that were open at once.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import inspect
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import Any


@dataclasses.dataclass
class Request:
    """What a client sent. Header names are lower-case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def prompt(self) -> str:
        """Content of the last message of a chat request."""
        return self.json["messages"][-1]["content"]


@dataclasses.dataclass
class Answer:
    """A response and what goes wrong with it."""

    body: Any = b""
    """bytes, str, or anything else to be sent as JSON."""
    status: int = 200
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the first byte."""
    cut: int | None = None
    """Close the connection after this many bytes of the body, which was announced whole."""
    reset: bool = False
    """End with a TCP reset: before the first byte, or where `cut` says."""
    drip: float = 0.0
    """Seconds before each byte of the body."""
    chunked: bool = False
    gzip: bool = False
    close: bool = False
    """Close the connection after the whole body, without having said so."""


Value = str | dict[str, Any] | Answer
Handler = Value | Sequence[Value] | Callable[[Request], Value | Awaitable[Value]]


def chat(
    text: Any = "True", *, finish_reason: str | None = "stop", logprobs: Any = ..., **message: Any
) -> dict[str, Any]:
    """A chat completion as OpenAI's API gives it; further keywords go into the message."""
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish_reason,
    }
    if logprobs is not ...:
        choice["logprobs"] = logprobs
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1764547200,
        "model": "loopback-1",
        "choices": [choice],
    }


def usage(prompt: int, completion: int = 1) -> dict[str, Any]:
    """The `usage` member of a chat completion: `chat() | usage(12)`."""
    return {
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }


def error(
    status: int, message: str, *, code: str | None = None, headers: dict[str, str] | None = None, **rest: Any
) -> Answer:
    """An error as OpenAI's API gives it; further keywords (type, param) go into the error object."""
    return Answer({"error": {"message": message, "code": code, **rest}}, status=status, headers=headers or {})


class Loopback:
    """The server; use it in `async with`. `url` is its base URL, ending in /v1."""

    def __init__(self, handler: Handler = "True", *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.handler = handler
        self.port = port
        self.tls = tls
        """0 until the server is up, unless a port is asked for (to come back at the same address)."""
        self.requests: list[Request] = []
        self.connections = 0
        """How many connections were opened in all."""
        self.in_flight = 0
        self.peak = 0
        self._open: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Loopback:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[Any]:
        """The JSON of each request, in order."""
        return [request.json for request in self.requests]

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                self.in_flight += 1
                self.peak = max(self.peak, self.in_flight)
                try:
                    keep = await _send(await self._answer(request, len(self.requests) - 1), writer)
                finally:
                    self.in_flight -= 1
                if not keep:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _answer(self, request: Request, turn: int) -> Answer:
        value: Any = self.handler
        if callable(value):
            value = value(request)
            if inspect.isawaitable(value):
                value = await value
        elif isinstance(value, (list, tuple)):
            value = value[min(turn, len(value) - 1)]
        if isinstance(value, str):
            value = chat(value)
        return value if isinstance(value, Answer) else Answer(value)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body)


async def _send(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Write the answer with its faults; False if the connection is over."""
    if answer.delay:
        await asyncio.sleep(answer.delay)
    if answer.reset and answer.cut is None:
        return _reset(writer)
    head, body = _encode(answer)
    writer.write(head)
    if answer.drip:
        for place in range(len(body)):
            writer.write(body[place : place + 1])
            await writer.drain()
            await asyncio.sleep(answer.drip)
        return True
    writer.write(body if answer.cut is None else body[: answer.cut])
    await writer.drain()
    if answer.reset:
        return _reset(writer)
    return answer.cut is None and not answer.close


def _encode(answer: Answer) -> tuple[bytes, bytes]:
    body = answer.body
    kind = "application/json"
    if isinstance(body, str):
        kind, body = "text/plain; charset=utf-8", body.encode()
    elif not isinstance(body, bytes):
        body = json.dumps(body, ensure_ascii=False).encode()
    headers = {"Content-Type": kind}
    if answer.gzip:
        body = gzip.compress(body)
        headers["Content-Encoding"] = "gzip"
    if answer.chunked:
        half = max(1, len(body) // 2)
        parts = [part for part in (body[:half], body[half:]) if part]
        body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
        headers["Transfer-Encoding"] = "chunked"
    else:
        headers["Content-Length"] = str(len(body))
    lines = [f"HTTP/1.1 {answer.status} Answer", *(f"{k}: {v}" for k, v in (headers | answer.headers).items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"), body


def _reset(writer: asyncio.StreamWriter) -> bool:
    """Close with RST instead of FIN (SO_LINGER of zero seconds)."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False
