"""Serper (serper.dev): Google's results as JSON, as the search step of SAFE uses them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from datetime import date
from typing import Any

from ...errors import SearchError, UsageError
from ...types import Passage
from .base import Exchange, WebRequest
from .query import one_line

_MOST_OPERATORS = 1024
"""Characters of site: operators where no limit to the query is known."""
_KNOWN = frozenset(
    {
        "searchParameters", "organic", "answerBox", "knowledgeGraph", "peopleAlsoAsk", "relatedSearches",
        "topStories", "credits", "images", "news", "places", "videos",
    }
)  # fmt: skip
_ABSURD = 10**30
_SPENT = ("not enough credits", "insufficient credit", "out of credits", "no credits", "quota")
_KEY = ("unauthorized", "forbidden", "api key", "apikey")


@dataclass(frozen=True)
class Serper:
    """POST /search with the key in X-API-KEY.

    Evidence is the answer box, the knowledge panel and the organic results, in that order; questions that "people also
    ask" are not used, since they answer something else. The as-of date goes into Google's own date filter; then the
    panel and a box without a date are left out, because they tell what is so today. Domains go into site: operators.
    """

    name: str = "serper"
    key_needed: bool = True
    max_query: int | None = None
    """Its documentation gives no limit."""
    max_k: int = 10
    """One page of results, one credit."""

    def overhead(self, request: WebRequest) -> int:
        """Characters that the domains take of the query. Raises `UsageError` for more than can be asked for."""
        operators = self._operators(request)
        return len(operators) + 1 if operators else 0

    def exchange(self, request: WebRequest, base_url: str, key: str | None) -> Exchange:
        operators = self._operators(request)
        body: dict[str, Any] = {
            "q": f"{request.query} {operators}".strip(),
            "gl": request.country,
            "hl": request.language,
            "num": max(1, min(request.k, self.max_k)),
        }
        if request.before:
            last = date.fromisoformat(request.before)
            body["tbs"] = f"cdr:1,cd_max:{last.month}/{last.day}/{last.year}"
        return Exchange(
            method="POST", url=f"{base_url.rstrip('/')}/search", headers={"X-API-KEY": key} if key else {}, body=body
        )

    def _operators(self, request: WebRequest) -> str:
        """All that are allowed, in parentheses if several; of those blocked as many as there is room for."""
        room = _MOST_OPERATORS if self.max_query is None else self.max_query // 2
        allowed = " OR ".join(f"site:{domain}" for domain in request.allow)
        allowed = f"({allowed})" if len(request.allow) > 1 else allowed
        if len(allowed) > room:
            raise UsageError(f"{len(request.allow)} allowed domains are more than fit into a query of {self.name}")
        for domain in request.block:
            longer = f"{allowed} -site:{domain}".strip()
            if len(longer) > room:
                break  # results of the others are left out when they arrive
            allowed = longer
        return allowed

    def complaint(self, status: int, payload: Any) -> str | None:
        """{"message": "Not enough credits", "statusCode": 400}, or an `error` in its place."""
        if not isinstance(payload, dict) or (200 <= status < 300 and _KNOWN & payload.keys()):
            return None
        error = payload.get("message") or payload.get("error")
        if isinstance(error, dict):
            error = error.get("message")
        return (_text(error) or None) if error else None

    def exhausted(self, status: int, payload: Any) -> bool:
        said = (self.complaint(status, payload) or "").lower()
        if any(words in said for words in _SPENT):
            return status != 429 or "credit" in said
        return status in (401, 402, 403) or (status != 429 and any(words in said for words in _KEY))

    def read(self, payload: Any, request: WebRequest) -> list[Passage]:
        if not isinstance(payload, dict):
            raise SearchError(f"not a reply of {self.name}: {type(payload).__name__}")
        if payload and not _KNOWN & payload.keys():
            said = self.complaint(200, payload)
            raise SearchError(said or f"not a reply of {self.name}: it has none of its members")
        answers = (self._answer(payload.get("answerBox"), request), self._panel(payload.get("knowledgeGraph"), request))
        results = {found.id: found for found in map(self._result, _list(payload.get("organic"))[::-1]) if found}
        best = list(results.values())[::-1]  # of a page that comes twice the first place
        return [*(answer for answer in answers if answer), *best[: request.k]]

    def _answer(self, box: Any, request: WebRequest) -> Passage | None:
        if isinstance(box, list):
            box = box[0] if box else None
        if not isinstance(box, dict):
            box = {"answer": box}
        when = _text(box.get("date")) or None
        if request.before and when is None:
            return None
        parts: list[str] = []
        for said in (box.get("answer"), box.get("snippet"), *_list(box.get("snippetHighlighted"))):
            text = _text(said)
            if text and not any(text in part for part in parts):
                parts.append(text)
        return self._passage("answer", " ".join(map(_sentence, parts)), box.get("title"), box.get("link"), when)

    def _panel(self, panel: Any, request: WebRequest) -> Passage | None:
        if not isinstance(panel, dict) or request.before:
            return None
        title = _text(panel.get("title"))
        head = ": ".join(part for part in (title, _text(panel.get("type"))) if part)
        parts = [head if head != title else "", _text(panel.get("description")), *_attributes(panel, title)]
        link = panel.get("descriptionLink") or panel.get("website")
        return self._passage("panel", " ".join(_sentence(part) for part in parts if part), title, link, None)

    def _result(self, entry: Any) -> Passage | None:
        if not isinstance(entry, dict):
            return None
        text = " ".join([_text(entry.get("snippet")), *map(_sentence, _attributes(entry, ""))]).strip()
        if not text and _url(entry.get("link")):
            text = _text(entry.get("title"))
        return self._passage("", text, entry.get("title"), entry.get("link"), _text(entry.get("date")) or None)

    def _passage(self, part: str, text: str, title: Any, link: Any, when: str | None) -> Passage | None:
        if not text:
            return None
        url = _url(link)
        place = url or f"{self.name}:{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        return Passage(id=f"{place}#{part}" if part else place, text=text, title=_text(title), url=url, date=when)


def _text(value: Any) -> str:
    """What can be read of a value: text, a number, or a list of these; anything else is empty."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, bool):
        return ""
    if isinstance(value, int):
        return str(value) if abs(value) < _ABSURD else ""
    if isinstance(value, float):
        return str(value) if math.isfinite(value) else ""
    if isinstance(value, list):
        return ", ".join(text for text in map(_text, value) if text)
    return ""


def _attributes(entry: dict[str, Any], title: str) -> list[str]:
    """ "Title born: March 14, 1879", one an attribute."""
    given = entry.get("attributes")
    pairs = given.items() if isinstance(given, dict) else ()
    named = [(" ".join(filter(None, (title, _text(name)))), _text(value)) for name, value in pairs]
    return [f"{name}: {value}" if name else value for name, value in named if value]


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "。")) else f"{text}."


def _url(value: Any) -> str | None:
    url = one_line(value) if isinstance(value, str) else ""
    return url if url.startswith(("http://", "https://")) and " " not in url else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
