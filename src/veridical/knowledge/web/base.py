"""The seam to a provider of web search: what is asked, what is sent, what comes back. No I/O here."""

from __future__ import annotations

from typing import Any, Protocol

from ...types import Passage, Struct


class WebRequest(Struct, frozen=True, kw_only=True):
    """One search of the web."""

    query: str
    k: int = 3
    """Results wanted, from 1."""
    language: str = "en"
    """ISO 639-1 code."""
    country: str = "us"
    """ISO 3166-1 code, lower case."""
    before: str | None = None
    """As-of date (ISO): only what was published on or before this day."""
    allow: tuple[str, ...] = ()
    """Only these domains, subdomains included; () = all."""
    block: tuple[str, ...] = ()
    """Not these domains, subdomains included."""


class Exchange(Struct, frozen=True, kw_only=True):
    """One HTTP request."""

    method: str
    """GET or POST."""
    url: str
    params: dict[str, str] = {}
    headers: dict[str, str] = {}
    body: dict[str, Any] | None = None
    """Sent as JSON."""


class WebReply(Struct, frozen=True, kw_only=True):
    """What a search found; this is what the cache keeps."""

    passages: tuple[Passage, ...] = ()
    at: str = ""
    """When it was asked, in UTC ("2026-12-01T10:03:11Z")."""
    cost: float = 0.0
    """US dollars."""


class Dialect(Protocol):
    """The wire format of one provider."""

    @property
    def name(self) -> str: ...

    @property
    def key_needed(self) -> bool: ...

    @property
    def max_query(self) -> int | None:
        """Longest query in characters; None: no limit is known."""
        ...

    @property
    def max_k(self) -> int:
        """Most results of one request."""
        ...

    def exchange(self, request: WebRequest, base_url: str, key: str | None) -> Exchange:
        """What to send."""
        ...

    def read(self, payload: Any, request: WebRequest) -> list[Passage]:
        """What was found, best first: a direct answer or panel before the results. Entries that lack something are used
        as far as they go; [] for a reply without any.

        Raises `SearchError` for a payload that is an error, or not of this provider's shape at all.
        """
        ...

    def complaint(self, status: int, payload: Any) -> str | None:
        """The provider's own words for what went wrong ("Not enough credits"); None for a reply that is no error."""
        ...

    def exhausted(self, status: int, payload: Any) -> bool:
        """Whether no later search can succeed either: the key is wrong, the credit is spent."""
        ...
