"""MediaWiki: the search of Wikipedia, or of any other wiki with this software. It needs no key and has no price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ... import __version__
from ...types import Passage
from .base import Exchange, WebRequest
from .fields import TEXT, joined, listed, member, nothing, objects, once, passage, plain, reply, results, text
from .operators import literal

_KNOWN = frozenset(
    {"query", "batchcomplete", "continue", "warnings", "limits", "servedby", "requestid", "curtimestamp"}
)
_ANY_WIKIPEDIA = ("en.wikipedia.org", "www.wikipedia.org", "wikipedia.org")
_CALLED = {"nb": "no"}
"""Wikipedias that have another name than their language; what would be theirs redirects."""
_AGENT = f"veridical/{__version__} (measures the factuality of texts; Python aiohttp)"
_HOPELESS = ("readapidenied", "search-disabled", "search-text-disabled", "blocked", "autoblocked", "badaccess")
_PASSING = ("maxlag", "ratelimited", "readonly", "too-busy", "internal_api_error", "backend-error")
_FAR = 10**9

_SHAPE: dict[str, tuple[type, ...]] = {
    "query": (dict,),
    "query.pages": (list, dict),
    "query.pages[].extract": TEXT,
    "query.search[].snippet": TEXT,
}
"""Members that hold evidence, and the types that they are read as."""


@dataclass(frozen=True)
class MediaWiki:
    """GET /w/api.php: pages found by full text, with the beginning of each and where it fits the query.

    A passage is the page's introduction, as far as 1,200 characters go, and the search's snippet where it is from
    further down; a wiki that gives no extracts (extension TextExtracts) has the snippet alone. Its date is that of the
    last edit, since the text is of that day. An as-of date cannot be asked for: pages that were edited later are left
    out when they arrive, which on Wikipedia are nearly all. Domains cannot be asked for either.

    At Wikipedia's own address, en.wikipedia.org, `language` chooses the Wikipedia; any other address is used as it is.
    """

    name: str = "mediawiki"
    key_needed: bool = False
    max_query: int | None = 300
    max_k: int = 20
    """Most introductions of one request."""

    def exchange(self, request: WebRequest, base_url: str, key: str | None) -> Exchange:
        k, query = str(max(1, min(request.k, self.max_k))), literal(request.query)
        params = {
            "action": "query", "format": "json", "formatversion": "2", "redirects": "1",
            "generator": "search", "gsrsearch": query, "gsrlimit": k,
            "list": "search", "srsearch": query, "srlimit": k, "srprop": "snippet|timestamp",
            "prop": "extracts|info|revisions", "explaintext": "1", "exintro": "1", "exchars": "1200", "exlimit": "max",
            "inprop": "url", "rvprop": "timestamp",
        }  # fmt: skip
        headers = {"User-Agent": _AGENT} | ({"Authorization": f"Bearer {key}"} if key else {})
        url = f"{_home(base_url, request.language)}/w/api.php"
        return Exchange(method="GET", url=url, params=params, headers=headers)

    def complaint(self, status: int, payload: Any) -> str | None:
        """{"error": {"code": "ratelimited", "info": "…"}}, with status 200; {"errors": […]} in the newer format."""
        error = member(payload, "error") or next(iter(listed(member(payload, "errors"))), None)
        if not error or (200 <= status < 300 and "query" in payload):
            return None
        code = text(member(error, "code"))
        said = plain(member(error, "info") or member(error, "text") or member(error, "html"))
        if not (code or said):
            return text(error) or text(member(payload, "message")) or "an error without a word"
        passing = any(one in code.lower() for one in _PASSING)
        return ": ".join(filter(None, (code, said))) + (" (try again later)" if passing else "")

    def exhausted(self, status: int, payload: Any) -> bool:
        error = member(payload, "error") or next(iter(listed(member(payload, "errors"))), None)
        return status == 401 or text(member(error, "code")).lower() in _HOPELESS

    def read(self, payload: Any, request: WebRequest) -> list[Passage]:
        known = reply(payload, self.name, _KNOWN, self.complaint(200, payload))
        query = known.get("query")
        hits = {text(hit.get("title")): hit for hit in results(member(query, "search"), self.name)}
        pages = member(query, "pages")
        if isinstance(pages, dict) and not {"title", "extract"} & pages.keys():
            pages = list(pages.values())  # formatversion=1
        found = sorted(objects(pages), key=_index) or list(hits.values())
        made = once(self._page(page, hits.get(text(page.get("title")), {})) for page in found)[: request.k]
        return made or nothing(known, _SHAPE, self.name)

    def _page(self, page: dict[str, Any], hit: dict[str, Any]) -> Passage | None:
        snippet = plain(hit.get("snippet") or page.get("snippet"))
        said = joined((plain(page.get("extract")), snippet))
        revision = next(objects(page.get("revisions")), {})
        when = revision.get("timestamp") or page.get("timestamp") or hit.get("timestamp")
        return passage(self.name, said, page.get("title"), page.get("fullurl") or page.get("canonicalurl"), when)


def _index(page: dict[str, Any]) -> float:
    """The place among what was found; pages come in the order of their numbers."""
    index = page.get("index")
    return index if isinstance(index, int | float) and abs(index) < _FAR else _FAR


def _home(base_url: str, language: str) -> str:
    parts = urlsplit(base_url.rstrip("/"))
    if parts.netloc.lower() not in _ANY_WIKIPEDIA:
        return urlunsplit(parts)
    code = language.partition("-")[0]
    return urlunsplit(parts._replace(netloc=f"{_CALLED.get(code, code)}.wikipedia.org"))
