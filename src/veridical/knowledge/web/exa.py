"""Exa (exa.ai): search by meaning, with passages of the pages found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import UsageError
from ...types import Passage
from .base import Exchange, WebRequest
from .fields import TEXT, joined, listed, member, nothing, once, passage, plain, reply, results, text

_KNOWN = frozenset(
    {"results", "requestId", "resolvedSearchType", "searchType", "autopromptString", "costDollars", "context", "output"}
)
_MOST_DOMAINS = 1200
_CHARACTERS = 1000
"""Of a page's text, where it has no highlights."""
_HOPELESS = ("NO_MORE_CREDITS", "API_KEY_BUDGET_EXCEEDED", "INVALID_API_KEY", "FEATURE_DISABLED")
_SPENT = ("credits limit", "exceeded your credits", "out of credits", "no more credits")

_SHAPE: dict[str, tuple[type, ...]] = {
    "results[].highlights": TEXT,
    "results[].text": TEXT,
}
"""Members that hold evidence, and the types that they are read as."""


@dataclass(frozen=True)
class Exa:
    """POST /search with the key in x-api-key.

    Evidence is the highlights of a page (passages that fit the query), or where there are none the beginning of its
    text. `summary`, `context` and `output` are not used: a language model may have written them. The as-of date is
    `endPublishedDate`. A language cannot be asked for.
    """

    name: str = "exa"
    key_needed: bool = True
    max_query: int | None = None
    """Its documentation gives no limit."""
    max_k: int = 10
    """As many as its price covers."""

    def overhead(self, request: WebRequest) -> int:
        """0: domains are no part of the query. Raises `UsageError` for more than can be asked for."""
        if len(request.allow) > _MOST_DOMAINS:
            raise UsageError(f"{len(request.allow)} allowed domains are more than the {_MOST_DOMAINS} of {self.name}")
        return 0

    def exchange(self, request: WebRequest, base_url: str, key: str | None) -> Exchange:
        body: dict[str, Any] = {
            "query": request.query,
            "type": "auto",
            "numResults": max(1, min(request.k, self.max_k)),
            "userLocation": request.country.upper(),
            "contents": {"highlights": True, "text": {"maxCharacters": _CHARACTERS}},
        }
        if request.allow:
            body["includeDomains"] = list(request.allow)
        elif request.block:  # one of the two at a time; the others are left out when they arrive
            body["excludeDomains"] = list(request.block[:_MOST_DOMAINS])
        if request.before:
            body["endPublishedDate"] = f"{request.before}T23:59:59.999Z"
        headers = {"x-api-key": key} if key else {}
        return Exchange(method="POST", url=f"{base_url.rstrip('/')}/search", headers=headers, body=body)

    def complaint(self, status: int, payload: Any) -> str | None:
        """{"requestId": "…", "error": "…", "tag": "NO_MORE_CREDITS"}"""
        if not isinstance(payload, dict) or (200 <= status < 300 and "results" in payload):
            return None
        error = payload.get("error") or payload.get("message")
        said = text(member(error, "message") or member(error, "error") or error)
        return ": ".join(filter(None, (text(payload.get("tag")), said))) or None

    def exhausted(self, status: int, payload: Any) -> bool:
        said = (self.complaint(status, payload) or "").lower()
        tag = text(member(payload, "tag")).upper()
        return status in (401, 402) or tag in _HOPELESS or (status != 429 and any(words in said for words in _SPENT))

    def read(self, payload: Any, request: WebRequest) -> list[Passage]:
        known = reply(payload, self.name, _KNOWN, self.complaint(200, payload))
        found = once(map(self._result, results(known.get("results"), self.name)))[: request.k]
        return found or nothing(known, _SHAPE, self.name)

    def _result(self, entry: dict[str, Any]) -> Passage | None:
        said = joined(map(plain, listed(entry.get("highlights")))) or plain(entry.get("text"))
        return passage(self.name, said, entry.get("title"), entry.get("url"), entry.get("publishedDate"))
