"""Brave Search (brave.com/search/api): an index of its own, independent of Google's and Bing's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...types import Passage
from .base import Exchange, WebRequest
from .fields import TEXT, joined, listed, member, nothing, objects, once, passage, plain, reply, results, sentence, text
from .operators import literal, site_operators
from .query import fewer

_KNOWN = frozenset(
    {"query", "mixed", "type", "web", "infobox", "faq", "news", "videos", "discussions", "locations", "summarizer"}
)
_COUNTRIES = frozenset(
    {
        "ar", "at", "au", "be", "br", "ca", "ch", "cl", "cn", "de", "dk", "es", "fi", "fr", "gb", "gr", "hk",
        "id", "in", "it", "jp", "kr", "mx", "my", "nl", "no", "nz", "ph", "pl", "pt", "ru", "sa", "se", "tr",
        "tw", "us", "za",
    }
)  # fmt: skip
_LANGUAGES = frozenset(
    {
        "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "en-gb", "es", "et", "eu", "fi", "fr", "gl", "gu", "he",
        "hi", "hr", "hu", "is", "it", "jp", "kn", "ko", "lt", "lv", "ml", "mr", "ms", "nb", "nl", "pa", "pl", "pt-br",
        "pt-pt", "ro", "ru", "sk", "sl", "sr", "sv", "ta", "te", "th", "tr", "uk", "vi", "zh-hans", "zh-hant",
    }
)  # fmt: skip
_CALLED = {"ja": "jp", "zh": "zh-hans", "no": "nb", "pt": "pt-pt"}
"""ISO codes that it has another code for."""
_HOPELESS = ("QUOTA_LIMITED", "SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND", "OPTION_NOT_IN_PLAN")

_SHAPE: dict[str, tuple[type, ...]] = {
    "web": (dict,),
    "infobox": (dict,),
    "faq": (dict,),
    "infobox.results": (list, dict),
    "faq.results": (list,),
    "web.results[].description": TEXT,
    "web.results[].extra_snippets": TEXT,
    "faq.results[].answer": TEXT,
}
"""Members that hold evidence, and the types that they are read as."""


@dataclass(frozen=True)
class Brave:
    """GET /res/v1/web/search with the key in X-Subscription-Token.

    Evidence is the infobox, then the web results with their extra snippets, then, as far as k goes, entries of the
    frequently asked questions. Domains are site: operators; the as-of date is the end of `freshness`, and with one the
    infobox is left out, because it tells what is so today. A country or language that it does not have is not sent.
    """

    name: str = "brave"
    key_needed: bool = True
    max_query: int | None = 400
    max_words: int = 50
    """Its other limit to a query, operators included."""
    max_k: int = 20

    def overhead(self, request: WebRequest) -> int:
        """Characters that the domains take of the query. Raises `UsageError` for more than can be asked for."""
        operators = site_operators(request, self.name, self.max_query)
        return len(operators) + 1 if operators else 0

    def words(self, request: WebRequest) -> int:
        """Most words of the query's own."""
        return max(1, self.max_words - len(site_operators(request, self.name, self.max_query).split()))

    def exchange(self, request: WebRequest, base_url: str, key: str | None) -> Exchange:
        operators = site_operators(request, self.name, self.max_query)
        params = {
            "q": f"{fewer(literal(request.query), self.words(request))} {operators}".strip(),
            "count": str(max(1, min(request.k, self.max_k))),
            "country": request.country.upper() if request.country in _COUNTRIES else "ALL",
            "text_decorations": "false",
        }
        language = _CALLED.get(request.language, request.language)
        if language in _LANGUAGES:
            params["search_lang"] = language
        if request.before:
            params["freshness"] = f"1970-01-01to{request.before}"
        return Exchange(
            method="GET",
            url=f"{base_url.rstrip('/')}/res/v1/web/search",
            params=params,
            headers={"X-Subscription-Token": key} if key else {},
        )

    def complaint(self, status: int, payload: Any) -> str | None:
        """{"type": "ErrorResponse", "error": {"code": "RATE_LIMITED", "detail": "…", "meta": {"errors": […]}}}"""
        error = member(payload, "error")
        if not error or (200 <= status < 300 and "web" in payload):
            return None
        if not isinstance(error, dict):
            return text(error) or None
        details = [text(error.get("detail") or error.get("message"))]
        details += [plain(one.get("msg")) for one in objects(member(error.get("meta"), "errors"))]
        return ": ".join(filter(None, (text(error.get("code")), "; ".join(filter(None, details))))) or None

    def exhausted(self, status: int, payload: Any) -> bool:
        code = text(member(member(payload, "error"), "code")).upper()
        return status in (401, 402, 403) or code in _HOPELESS

    def read(self, payload: Any, request: WebRequest) -> list[Passage]:
        known = reply(payload, self.name, _KNOWN, self.complaint(200, payload))
        boxes = [] if request.before else [self._box(box) for box in _entries(known.get("infobox"))]
        web = results(member(known.get("web"), "results"), self.name)
        asked = map(self._asked, _entries(known.get("faq")))
        found = [*once(boxes)[:1], *once([*map(self._result, web), *asked])[: request.k]]
        return found or nothing(known, _SHAPE, self.name)

    def _result(self, entry: dict[str, Any]) -> Passage | None:
        said = joined(map(plain, (entry.get("description"), *listed(entry.get("extra_snippets")))))
        return passage(self.name, said, entry.get("title"), entry.get("url"), _when(entry))

    def _box(self, box: dict[str, Any]) -> Passage | None:
        title = plain(box.get("title"))
        said = plain(box.get("long_desc")) or plain(box.get("description"))
        pairs = [pair for pair in listed(box.get("attributes")) if isinstance(pair, list) and len(pair) == 2]
        told = [f"{plain(name)}: {value}" for name, value in ((name, plain(value)) for name, value in pairs) if value]
        parts = [f"{title} {one}".strip(": ") for one in told]
        return passage(
            self.name, " ".join(map(sentence, filter(None, (said, *parts)))), title, box.get("url"), part="panel"
        )

    def _asked(self, entry: dict[str, Any]) -> Passage | None:
        answer = plain(entry.get("answer"))
        said = " ".join(filter(None, (plain(entry.get("question")), answer))) if answer else ""
        return passage(self.name, said, entry.get("title"), entry.get("url"), _when(entry))


def _entries(group: Any) -> list[dict[str, Any]]:
    """Those of {"results": […]}; an infobox has also been an object in its place."""
    entries = member(group, "results")
    if entries is None and isinstance(group, dict) and ("description" in group or "long_desc" in group):
        entries = group
    return list(objects(entries))


def _when(entry: dict[str, Any]) -> str:
    return text(entry.get("page_age")) or text(entry.get("age"))
