"""A web search on 127.0.0.1 that behaves, or misbehaves, as told: Serper's wire format, or any payload.

    async with SearchServer() as server:                          # one result for every query
        searcher = server.searcher()                              # or open_search(server.spec, environ=server.environ)

    async with SearchServer(reply(organic=[...])) as server: ...             # this payload for every query
    async with SearchServer(lambda request: {...}) as server: ...            # a payload by the request
    async with SearchServer([too_many(2), reply()]) as server: ...           # in turn; the last one repeats
    async with SearchServer(spent_after(10)) as server: ...                  # a fault from a call on

Everything that `loopback.Loopback` takes can be given. Afterwards `server.requests` has each request, `server.queries`
the queries.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import Answer, Handler, Loopback, Request
from veridical.knowledge.web.search import WebSearcher, open_search

KEY = "serper-key-0123456789abcdef"
HTML = "<html><head><title>502</title></head><body><h1>Bad Gateway</h1></body></html>"

# Payloads


def result(number: int = 1, **members: Any) -> dict[str, Any]:
    """An entry of `organic`."""
    return {
        "title": f"Page {number}",
        "link": f"https://site{number}.test/page",
        "snippet": f"Snippet {number} says so.",
        "position": number,
    } | members


def reply(**members: Any) -> dict[str, Any]:
    """A reply with one result; `organic`, `answerBox`, … replace or add members."""
    return {
        "searchParameters": {"q": "q", "gl": "us", "hl": "en", "num": 3, "type": "search", "engine": "google"},
        "organic": [result()],
        "credits": 1,
    } | members


def about(request: Request) -> dict[str, Any]:
    """Three results that repeat the query."""
    said = query_of(request)
    return reply(organic=[result(number, snippet=f"{number}: {said}") for number in (1, 2, 3)])


# Faults


def refusal(status: int, message: str, **headers: str) -> Answer:
    """An error in Serper's words."""
    return Answer({"message": message, "statusCode": status}, status=status, headers=headers)


def wrong_key(status: int = 403) -> Answer:
    return refusal(status, "Unauthorized.")


def spent_after(calls: int, status: int = 403) -> Callable[[Request], Any]:
    """So many searches are answered; from then on the credit is used up (field fault Q1)."""
    seen = [0]

    def handler(request: Request) -> Any:
        seen[0] += 1
        return about(request) if seen[0] <= calls else refusal(status, "Not enough credits")

    return handler


def too_many(retry_after: float | str | None = None) -> Answer:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return refusal(429, "Too many requests", **headers)


def at_most(characters: int) -> Callable[[Request], Any]:
    """Longer queries are refused (field fault Q3)."""

    def handler(request: Request) -> Any:
        if len(query_of(request)) > characters:
            return refusal(400, f"Query is too long. Max query length is {characters} characters.")
        return about(request)

    return handler


BROKEN = refusal(500, "Internal server error")
GATEWAY = Answer(HTML, status=502, headers={"Content-Type": "text/html"})
EMPTY = Answer(b"")
NO_JSON = Answer(HTML)
RESET = Answer(reply(), reset=True)
CUT = Answer(reply(), cut=20)
HANGING = Answer(reply(), delay=3600.0)
HUGE = Answer(b'{"organic": [' + b" " * (9 * 2**20) + b"]}")


def slow(seconds: float) -> Answer:
    return Answer(reply(), delay=seconds)


def redirect(to: str) -> Answer:
    return Answer(b"", status=302, headers={"Location": to})


# The server


def query_of(request: Request) -> str:
    """The query of a request, by POST or by GET."""
    if request.body:
        return str(request.json.get("q") or request.json.get("query") or "")
    found = parse_qs(urlsplit(request.path).query)
    return next((found[name][0] for name in ("q", "query", "srsearch") if name in found), "")


class SearchServer(Loopback):
    """Use it in `async with`. `spec` names it for `open_search`, `environ` holds its key."""

    def __init__(self, handler: Handler | None = None, *, provider: str = "serper", port: int = 0) -> None:
        super().__init__(about if handler is None else handler, port=port)
        self.provider = provider

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spec(self) -> str:
        return f"{self.provider}+{self.url}"

    @property
    def environ(self) -> dict[str, str]:
        return {"SERPER_API_KEY": KEY, "HOME": "/nowhere"}

    @property
    def queries(self) -> list[str]:
        return [query_of(request) for request in self.requests]

    def searcher(self, **settings: Any) -> WebSearcher:
        """`open_search` at this server; the waits between attempts are noted in `waits`, not slept."""
        self.waits: list[float] = []
        searcher = open_search(self.spec, environ=self.environ, **settings)

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        searcher.retries.sleep = sleep
        searcher.retries.jitter = lambda: 0.0
        return searcher


@contextlib.asynccontextmanager
async def searching(handler: Handler | None = None, **settings: Any) -> AsyncIterator[tuple[SearchServer, WebSearcher]]:
    """A server and its searcher: `async with searching(handler, attempts=2) as (server, searcher)`."""
    async with SearchServer(handler) as server:
        searcher = server.searcher(**settings)
        yield server, searcher
        await searcher.close()
