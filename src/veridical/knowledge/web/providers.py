"""Names of web search to endpoints: the table of providers, their keys and prices, and what users add to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ...errors import InputError, UsageError
from ...models.providers import users_tables
from ...types import Struct
from .base import Dialect
from .brave import Brave
from .exa import Exa
from .mediawiki import MediaWiki
from .searxng import SearXNG
from .serper import Serper
from .tavily import Tavily


class Provider(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One provider; the same fields, but `dialect`, are those of [search.NAME] in providers.toml."""

    dialect: str
    """Whose wire format it speaks: a key of `DIALECTS`."""
    base_url: str
    key: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first that is set counts."""
    price_per_search: float | None = None
    """US dollars; None where it is not known."""
    prices_as_of: str = ""
    """Month of the price."""
    note: str = ""
    """What a user should know, in a line."""


class Place(Struct, frozen=True, kw_only=True):
    """Where and how a provider is to be reached."""

    name: str
    """"serper", or "serper@host:port" at another address than its own."""
    dialect: Any
    """A `Dialect`."""
    base_url: str
    key: str | None = None
    variables: tuple[str, ...] = ()
    price: float | None = None

    def __repr__(self) -> str:
        return f"Place(name={self.name!r}, base_url={self.base_url!r})"  # without the key


_ALL: tuple[Dialect, ...] = (Serper(), Tavily(), Brave(), Exa(), SearXNG(), MediaWiki())
DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in _ALL}

PROVIDERS: dict[str, Provider] = {
    "serper": Provider(
        dialect="serper",
        base_url="https://google.serper.dev",
        key=("SERPER_API_KEY",),
        price_per_search=0.001,
        prices_as_of="2025",
        note="Google's results; the price is that of the smallest package (50,000 searches for $50)",
    ),
    "tavily": Provider(
        dialect="tavily",
        base_url="https://api.tavily.com",
        key=("TAVILY_API_KEY",),
        price_per_search=0.008,
        prices_as_of="2026-11",
        note="passages of pages; one credit a search, at the price of paying as you go (plans: $0.005 to $0.0075)",
    ),
    "brave": Provider(
        dialect="brave",
        base_url="https://api.search.brave.com",
        key=("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
        price_per_search=0.005,
        prices_as_of="2026-11",
        note="an index of its own; price of its Search plan",
    ),
    "exa": Provider(
        dialect="exa",
        base_url="https://api.exa.ai",
        key=("EXA_API_KEY",),
        price_per_search=0.007,
        prices_as_of="2026-11",
        note="search by meaning; the price is that of up to 10 results with their texts",
    ),
    "searxng": Provider(
        dialect="searxng",
        base_url="http://127.0.0.1:8888",
        price_per_search=0.0,
        note="a server of one's own (searxng+http://host:port), with `json` among the formats of its settings.yml",
    ),
    "mediawiki": Provider(
        dialect="mediawiki",
        base_url="https://en.wikipedia.org",
        price_per_search=0.0,
        note="Wikipedia of the language asked for, or another wiki (mediawiki+https://host)",
    ),
}


def search_providers(environ: Mapping[str, str] = os.environ) -> dict[str, Provider]:
    """All known providers by name: those of the package, changed and extended by [search.NAME] of the user's file.

    Raises `UsageError` for a user's file that cannot be read, `InputError` for what it holds.
    """
    tables, file = users_tables(environ)
    known = dict(PROVIDERS)
    for name, table in tables.get("search", {}).items():
        field = f"search.{name}"
        if not isinstance(table, dict):
            raise InputError("must be a table", file=file, field=field)
        old = msgspec.to_builtins(known[name]) if name in known else {"dialect": name}
        try:
            known[name] = provider = msgspec.convert({**old, **table}, Provider)
        except msgspec.ValidationError as error:
            raise InputError(str(error), file=file, field=field) from error
        if provider.dialect not in DIALECTS:
            said = f"dialect {provider.dialect!r} is none of {', '.join(sorted(DIALECTS))}"
            raise InputError(said, file=file, field=field)
        if provider.price_per_search is not None and not 0 <= provider.price_per_search < float("inf"):
            raise InputError("price_per_search must be 0 or more", file=file, field=field)
        try:
            _address(provider.base_url)
        except UsageError as error:
            raise InputError(str(error), file=file, field=field) from error
    return known


def place(spec: str, environ: Mapping[str, str] = os.environ, *, keyless: bool = False) -> Place:
    """The place of "serper", or of "serper+http://host:port" for a provider's wire format at another address.

    Raises `UsageError` for an unknown provider (with the known ones), an address that is none, or a missing key (with
    the variable that should hold it; not if `keyless`). At another address a key is sent if there is one.
    """
    name, _, address = spec.removeprefix("web:").partition("+")
    known = search_providers(environ)
    if name not in known:
        raise UsageError(f"unknown provider of web search {name!r}; known: {', '.join(sorted(known))}")
    provider = known[name]
    dialect = DIALECTS[provider.dialect]
    base_url = _address(address or provider.base_url)
    key = next((environ[variable].strip() for variable in provider.key if environ.get(variable, "").strip()), None)
    if key is None and dialect.key_needed and not (address or keyless):
        raise UsageError(f"no key for web search by {name}: set the environment variable {' or '.join(provider.key)}")
    if key and not (key.isascii() and key.isprintable()):
        raise UsageError(f"the key in {' or '.join(provider.key)} holds characters that no key has")
    return Place(
        name=f"{name}@{urlsplit(base_url).netloc}" if address else name,
        dialect=dialect,
        base_url=base_url,
        key=key,
        variables=provider.key,
        price=provider.price_per_search,
    )


def _address(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{url!r} is no address: it must start with http:// or https://")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError("an address must hold no user name, password, query or fragment; give the key apart from it")
    return url.strip().rstrip("/")
