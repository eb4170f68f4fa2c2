"""SearXNG: a search engine of one's own that asks other engines. It needs no key and has no price."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...types import Passage
from .base import Exchange, WebRequest
from .fields import TEXT, listed, nothing, objects, once, passage, plain, reply, results, sentence, text, url
from .operators import site_operators

_KNOWN = frozenset(
    {
        "results", "query", "number_of_results", "answers", "infoboxes", "corrections", "suggestions",
        "unresponsive_engines",
    }
)  # fmt: skip
_FOUND = ("results", "answers", "infoboxes")
_ORDERS = re.compile(r"(?<!\S)[!:<?-]+")
"""What makes a word an order to the server: !engine, :language, <seconds, and !!site, which leads away from it; and to
the engines behind it: -word."""
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]{2})?", re.IGNORECASE)
"""Codes that it takes; it refuses a search with any other."""
_NO_JSON = (
    "this server gives no JSON: add `json` to `formats` under `search` in its settings.yml, and see that its limiter "
    "lets this machine through"
)

_SHAPE: dict[str, tuple[type, ...]] = {
    "answers": (list,),
    "infoboxes": (list,),
    "answers[]": (str, dict),
    "infoboxes[]": (dict,),
    "answers[].answer": TEXT,
    "infoboxes[].content": TEXT,
    "results[].content": TEXT,
}
"""Members that hold evidence, and the types that they are read as."""


@dataclass(frozen=True)
class SearXNG:
    """GET /search?format=json of a server whose settings.yml allows JSON, which is off by default.

    Evidence is direct answers, then infoboxes, then the results in the server's order. An as-of date cannot be asked
    for; with one, answers and infoboxes, which tell of today, are left out, and results by the dates they have. Domains
    are site: operators, which most of the engines behind it know. No result while engines did not answer is an error:
    nobody knows what these would have found. Signs that make a word an order to the server are left out of the query,
    which is a stranger's text.
    """

    name: str = "searxng"
    key_needed: bool = False
    max_query: int | None = None
    """It depends on the engines."""
    max_k: int = 20
    """The first page; how many it holds depends on the engines."""
    tries: int = 2
    """Of a search without a result while engines did not answer: it asks all of them anew."""

    def overhead(self, request: WebRequest) -> int:
        """Characters that the domains take of the query. Raises `UsageError` for more than can be asked for."""
        operators = site_operators(request, self.name, self.max_query)
        return len(operators) + 1 if operators else 0

    def exchange(self, request: WebRequest, base_url: str, key: str | None) -> Exchange:
        language = request.language
        params = {
            "q": f"{_ORDERS.sub('', request.query)} {site_operators(request, self.name, self.max_query)}".strip(),
            "format": "json",
            "language": language if _LANGUAGE.fullmatch(language) else language.partition("-")[0],
            "pageno": "1",
        }
        headers = {"Authorization": f"Bearer {key}"} if key else {}  # of a proxy before it
        return Exchange(method="GET", url=f"{base_url.rstrip('/')}/search", params=params, headers=headers)

    def complaint(self, status: int, payload: Any) -> str | None:
        """{"error": "…"}; engines without an answer, where nothing was found; at 403, what has to be set."""
        if status == 403:
            return _NO_JSON
        if not isinstance(payload, dict):
            return None
        if 200 <= status < 300 and _KNOWN & payload.keys():
            return _unresponsive(payload)
        return text(payload.get("error") or payload.get("message")) or None

    def exhausted(self, status: int, payload: Any) -> bool:
        return status in (401, 403)

    def read(self, payload: Any, request: WebRequest) -> list[Passage]:
        known = reply(payload, self.name, _KNOWN, self.complaint(200, payload))
        direct: list[Passage | None] = []
        if not request.before:
            direct += map(self._answer, listed(known.get("answers")))
            direct += map(self._box, objects(known.get("infoboxes")))
        found = once(map(self._result, results(known.get("results"), self.name)))
        return [*once(direct)[: request.k], *found[: request.k]] or nothing(known, _SHAPE, self.name)

    def _answer(self, answer: Any) -> Passage | None:
        """A text, or an object with `answer` and `url` in later versions."""
        entry = answer if isinstance(answer, dict) else {"answer": answer}
        return passage(self.name, plain(entry.get("answer")), entry.get("title"), entry.get("url"), part="answer")

    def _box(self, box: dict[str, Any]) -> Passage | None:
        title = plain(box.get("infobox"))
        pairs = ((plain(one.get("label")), plain(one.get("value"))) for one in objects(box.get("attributes")))
        told = (
            " ".join(filter(None, (title, f"{name}: {value}" if name else value))) for name, value in pairs if value
        )
        said = " ".join(map(sentence, filter(None, (plain(box.get("content")), *told))))
        links = (box.get("id"), *(one.get("url") for one in objects(box.get("urls"))))
        return passage(self.name, said, title, next(filter(url, links), None), part="panel")

    def _result(self, entry: dict[str, Any]) -> Passage | None:
        when = entry.get("publishedDate") or entry.get("pubdate")
        return passage(self.name, plain(entry.get("content")), entry.get("title"), entry.get("url"), when)


def _unresponsive(payload: dict[str, Any]) -> str | None:
    """What keeps "nothing found" from being true. "Try again" has it tried again."""
    if any(payload.get(name) for name in _FOUND):
        return None
    silent = [": ".join(filter(None, map(text, listed(one)))) for one in listed(payload.get("unresponsive_engines"))]
    named = "; ".join(filter(None, silent))
    return f"nothing found, and engines did not answer ({named}): try again later" if named else None
