"""Tavily (tavily.com): a search made for language models, with passages of the pages found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import UsageError
from ...types import Passage
from .base import Exchange, WebRequest
from .fields import TEXT, listed, member, nothing, once, passage, plain, reply, results, text

_KNOWN = frozenset({"results", "query", "answer", "images", "follow_up_questions", "response_time", "request_id"})
_MOST_ALLOWED = 300
_MOST_BLOCKED = 150
_LIMITS = (432, 433)
"""The plan's limit, and the limit set for paying as you go."""
_SPENT = ("usage limit", "plan's limit", "pay-as-you-go limit")

_SHAPE: dict[str, tuple[type, ...]] = {
    "results[].content": TEXT,
}
"""Members that hold evidence, and the types that they are read as."""


@dataclass(frozen=True)
class Tavily:
    """POST /search with the key as a bearer token.

    Evidence is what the results cite of their pages. `answer` is never used, and not asked for: a language model writes
    it. The as-of date is `end_date`, which may leave out the day itself. Neither language nor country can be asked for
    by code. One credit a search.
    """

    name: str = "tavily"
    key_needed: bool = True
    max_query: int | None = 400
    max_k: int = 20

    def overhead(self, request: WebRequest) -> int:
        """0: domains are no part of the query. Raises `UsageError` for more than can be asked for."""
        if len(request.allow) > _MOST_ALLOWED:
            raise UsageError(f"{len(request.allow)} allowed domains are more than the {_MOST_ALLOWED} of {self.name}")
        return 0

    def exchange(self, request: WebRequest, base_url: str, key: str | None) -> Exchange:
        body: dict[str, Any] = {
            "query": request.query,
            "max_results": max(1, min(request.k, self.max_k)),
            "search_depth": "basic",
            "include_answer": False,
        }
        if request.allow:
            body["include_domains"] = list(request.allow)
        if request.block:
            body["exclude_domains"] = list(request.block[:_MOST_BLOCKED])  # the others are left out when they arrive
        if request.before:
            body["end_date"] = request.before
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return Exchange(method="POST", url=f"{base_url.rstrip('/')}/search", headers=headers, body=body)

    def complaint(self, status: int, payload: Any) -> str | None:
        """{"detail": {"error": "…"}}, {"detail": "…"}, or [{"msg": "…"}] in its place if not valid."""
        if not isinstance(payload, dict) or (200 <= status < 300 and "results" in payload):
            return None
        detail = payload.get("detail") or payload.get("error") or payload.get("message")
        said = [text(member(one, "error") or member(one, "msg") or one) for one in listed(detail)]
        return "; ".join(filter(None, said)) or None

    def exhausted(self, status: int, payload: Any) -> bool:
        said = (self.complaint(status, payload) or "").lower()
        return status in (401, 402, 403, *_LIMITS) or (status != 429 and any(words in said for words in _SPENT))

    def read(self, payload: Any, request: WebRequest) -> list[Passage]:
        known = reply(payload, self.name, _KNOWN, self.complaint(200, payload))
        found = (
            passage(self.name, plain(entry.get("content")), entry.get("title"), entry.get("url"), when(entry))
            for entry in results(known.get("results"), self.name)
        )
        return once(found)[: request.k] or nothing(known, _SHAPE, self.name)


def when(entry: dict[str, Any]) -> str:
    """The date of a result; the API has it for news only."""
    return text(entry.get("published_date"))
