"""Serper (serper.dev): Google's results as JSON, as the search step of SAFE uses them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from ...errors import SearchError
from ...types import Passage
from .base import Exchange, WebRequest
from .fields import TEXT, listed, nothing, once, passage, results, sentence, text, url
from .operators import literal, site_operators

_KNOWN = frozenset(
    {
        "searchParameters", "organic", "answerBox", "knowledgeGraph", "peopleAlsoAsk", "relatedSearches",
        "topStories", "credits", "images", "news", "places", "videos",
    }
)  # fmt: skip
_SPENT = ("not enough credits", "insufficient credit", "out of credits", "no credits", "quota")
_KEY = ("unauthorized", "forbidden", "api key", "apikey")

_SHAPE: dict[str, tuple[type, ...]] = {
    "answerBox": (str, int, float, list, dict),
    "knowledgeGraph": (dict,),
    "answerBox.answer": TEXT,
    "answerBox.snippet": TEXT,
    "knowledgeGraph.description": TEXT,
    "organic[].snippet": TEXT,
}
"""Members that hold evidence, and the types that they are read as."""


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
        operators = site_operators(request, self.name, self.max_query)
        return len(operators) + 1 if operators else 0

    def exchange(self, request: WebRequest, base_url: str, key: str | None) -> Exchange:
        operators = site_operators(request, self.name, self.max_query)
        body: dict[str, Any] = {
            "q": f"{literal(request.query)} {operators}".strip(),
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

    def complaint(self, status: int, payload: Any) -> str | None:
        """{"message": "Not enough credits", "statusCode": 400}, or an `error` in its place."""
        if not isinstance(payload, dict) or (200 <= status < 300 and _KNOWN & payload.keys()):
            return None
        error = payload.get("message") or payload.get("error")
        if isinstance(error, dict):
            error = error.get("message")
        return (text(error) or None) if error else None

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
        best = once(map(self._result, results(payload.get("organic"), self.name)))
        found = [*(answer for answer in answers if answer), *best[: request.k]]
        return found or nothing(payload, _SHAPE, self.name)

    def _answer(self, box: Any, request: WebRequest) -> Passage | None:
        if isinstance(box, list):
            box = box[0] if box else None
        if not isinstance(box, dict):
            box = {"answer": box}
        when = text(box.get("date")) or None
        if request.before and when is None:
            return None
        parts: list[str] = []
        for said in (box.get("answer"), box.get("snippet"), *listed(box.get("snippetHighlighted"))):
            one = text(said)
            if one and not any(one in part for part in parts):
                parts.append(one)
        return passage(
            self.name, " ".join(map(sentence, parts)), box.get("title"), box.get("link"), when, part="answer"
        )

    def _panel(self, panel: Any, request: WebRequest) -> Passage | None:
        if not isinstance(panel, dict) or request.before:
            return None
        title = text(panel.get("title"))
        head = ": ".join(part for part in (title, text(panel.get("type"))) if part)
        parts = [head if head != title else "", text(panel.get("description")), *_attributes(panel, title)]
        link = panel.get("descriptionLink") or panel.get("website")
        return passage(self.name, " ".join(sentence(part) for part in parts if part), title, link, part="panel")

    def _result(self, entry: Any) -> Passage | None:
        if not isinstance(entry, dict):
            return None
        said = " ".join([text(entry.get("snippet")), *map(sentence, _attributes(entry, ""))]).strip()
        if not said and url(entry.get("link")):
            said = text(entry.get("title"))
        return passage(self.name, said, entry.get("title"), entry.get("link"), entry.get("date"))


def _attributes(entry: dict[str, Any], title: str) -> list[str]:
    """ "Title born: March 14, 1879", one an attribute."""
    given = entry.get("attributes")
    pairs = given.items() if isinstance(given, dict) else ()
    named = [(" ".join(filter(None, (title, text(name)))), text(value)) for name, value in pairs]
    return [f"{name}: {value}" if name else value for name, value in named if value]
