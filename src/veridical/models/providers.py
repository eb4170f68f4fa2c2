"""Model names to endpoints: the table of providers, their keys, dialects and prices, and what users add to it."""

from __future__ import annotations

import importlib.resources
import ipaddress
import math
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..errors import InputError, UsageError
from ..types import Struct
from .metered import Price
from .wire import Dialect


class Provider(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of providers.toml."""

    base_url: str
    key: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first that is set counts."""
    local: bool = False
    """A server of the user's own: the key may be missing, calls cost nothing."""
    bills: bool = False
    """Its replies say what they cost."""
    note: str = ""
    """What a user should know, in a line."""
    prices_as_of: str = ""
    """Month of the prices."""
    context_window_from: str | None = None
    """Environment variable with the context window in tokens, if it is set."""
    dialect: dict[str, Any] = {}
    """Fields of `Dialect` in which this provider differs; false where the field may be None."""
    models: dict[str, dict[str, Any]] = {}
    """The same for its models, with their prices (price_in, price_out)."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where and how a model is to be reached."""

    name: str
    """"provider/model", or "host:port/model" for an address."""
    base_url: str
    model: str
    api_key: str | None = None
    dialect: Dialect = Dialect()
    price: Price | None = None
    """None where it is not known."""
    bills: bool = False
    note: str = ""

    def __repr__(self) -> str:
        return f"Endpoint(name={self.name!r}, base_url={self.base_url!r})"  # without the key


_VERSION = r"(-latest|-\d{3,4}|-\d{8}|-\d{4}-\d{2}-\d{2})?"
"""What may follow a model's name and still be that model."""
_ANY_KEY = "VERIDICAL_API_KEY"
"""The key for servers given by their address."""


def providers(environ: Mapping[str, str] = os.environ) -> dict[str, Provider]:
    """All known providers by name: those of the package, changed and extended by the user's file.

    Raises `UsageError` for a user's file that cannot be read, `InputError` for what it holds.
    """
    tables = tomllib.loads(importlib.resources.files("veridical.models").joinpath("providers.toml").read_text("utf-8"))
    own, file = users_tables(environ)
    for name, table in own.items():
        if name != "search":
            tables[name] = _merged(tables.get(name, {}), table)
    return {name: _provider(name, table, file) for name, table in tables.items()}


def users_tables(environ: Mapping[str, str] = os.environ) -> tuple[dict[str, dict[str, Any]], str]:
    """The tables of the user's file, and its name; none without a file. `search` is of providers of web search.

    Raises as `providers`.
    """
    path = _users_file(environ)
    tables = _read(path) if path else {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError("must be a table", file=str(path), field=name)
    return tables, str(path or "")


def endpoint(spec: str, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint of "provider/model" or "http://host:port/v1#model".

    Raises `UsageError` for a name of another form, an unknown provider (with the known ones) or a missing key (with the
    variable that should hold it).
    """
    if spec.startswith(("http://", "https://")):
        return _by_address(spec, environ)
    known = providers(environ)
    name, _, model = spec.partition("/")
    if not model:
        raise UsageError(f"{spec!r} is no model name: use provider/model or http://host:port/v1#model")
    if name not in known:
        raise UsageError(f"unknown provider {name!r}; known: {', '.join(sorted(known))}")
    provider = known[name]
    dialect = _dialect(provider, model, environ)
    return Endpoint(
        name=spec,
        base_url=provider.base_url,
        model=model,
        api_key=_key(name, provider, environ),
        dialect=dialect,
        price=_price(dialect),
        bills=provider.bills,
        note=provider.note,
    )


def price_of(name: str, environ: Mapping[str, str] = os.environ) -> Price | None:
    """The price of a model by its `name` or its address; 0 for those that run locally, None where it is not known."""
    if name.startswith(("http://", "https://")):
        try:
            return _by_address(name, environ).price
        except UsageError:
            return None
    provider, _, model = name.partition("/")
    if provider in ("llamacpp", "embedded", "hf") or (model and _local(provider.rsplit(":", 1)[0])):
        return Price(prompt=0.0, completion=0.0)
    known = providers(environ).get(provider)
    return _price(_dialect(known, model, environ)) if known and model else None


def _by_address(spec: str, environ: Mapping[str, str]) -> Endpoint:
    base_url, _, model = spec.partition("#")
    try:
        host, port = urlsplit(base_url).hostname, urlsplit(base_url).port
    except ValueError as error:
        raise UsageError(f"{spec!r} is no address: {error}") from error
    if not model or not host:
        raise UsageError(f"{spec!r}: an address needs the model's name after '#': http://127.0.0.1:8000/v1#name")
    local = _local(host)
    return Endpoint(
        name=f"{host}:{port}/{model}"
        if port
        else f"{host}/{model}",  # with the port: two servers on one host are two judges
        base_url=base_url,
        model=model,
        api_key=environ.get(_ANY_KEY),
        price=Price(prompt=0.0, completion=0.0) if local else None,
    )


def _local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def _key(name: str, provider: Provider, environ: Mapping[str, str]) -> str | None:
    key = next((environ[variable] for variable in provider.key if environ.get(variable)), None)
    if key is None and not provider.local:
        raise UsageError(f"no key for {name}: set the environment variable {' or '.join(provider.key)}")
    return key


def _dialect(provider: Provider, model: str, environ: Mapping[str, str]) -> Dialect:
    fields = {**provider.dialect, **_of_model(provider, model)}
    if provider.local:
        fields = {"price_in": 0.0, "price_out": 0.0, **fields}
    if provider.context_window_from and (window := environ.get(provider.context_window_from)):
        if not window.isdecimal() or not int(window):
            raise UsageError(f"{provider.context_window_from}={window!r} is no number of tokens")
        fields["context_window"] = int(window)
    return _converted(fields)


def _of_model(provider: Provider, model: str) -> dict[str, Any]:
    named = [name for name in provider.models if re.fullmatch(re.escape(name) + _VERSION, model)]
    return provider.models[max(named, key=len)] if named else {}


def _price(dialect: Dialect) -> Price | None:
    if dialect.price_in is None or dialect.price_out is None:
        return None
    return Price(prompt=dialect.price_in, completion=dialect.price_out)


# The tables


def _users_file(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("VERIDICAL_PROVIDERS"):
        return Path(named)
    folder = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or Path.home()) / ".config"
    path = Path(folder) / "veridical" / "providers.toml"
    return path if path.exists() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"providers file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(str(error), file=str(path)) from error


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Tables field by field, to any depth."""
    both = {
        name: _merged(old[name], value)
        for name, value in new.items()
        if isinstance(value, dict) and isinstance(old.get(name), dict)
    }
    return {**old, **new, **both}


def _provider(name: str, table: dict[str, Any], file: str) -> Provider:
    try:
        provider = msgspec.convert(table, Provider)
        for fields in (provider.dialect, *provider.models.values()):
            _converted({**provider.dialect, **fields})
    except msgspec.ValidationError as error:
        raise InputError(str(error), file=file, field=name) from error
    if not provider.base_url.startswith(("http://", "https://")):
        raise InputError(f"base_url {provider.base_url!r} must start with http:// or https://", file=file, field=name)
    if not provider.key and not provider.local:
        raise InputError("needs a key variable, or local = true", file=file, field=name)
    return provider


_CAN_BE_NONE = ("json_schema", "context_window")
_AMOUNTS = ("max_top_logprobs", "context_window", "price_in", "price_out")


def _converted(fields: dict[str, Any]) -> Dialect:
    """Raises `msgspec.ValidationError`, also for a field that `Dialect` does not have and for a negative amount."""
    if unknown := sorted(set(fields) - set(Dialect.__struct_fields__)):
        raise msgspec.ValidationError(f"a dialect has no field named {', '.join(unknown)}")
    values = {name: None if value is False and name in _CAN_BE_NONE else value for name, value in fields.items()}
    dialect = msgspec.convert(values, Dialect)
    for name in _AMOUNTS:
        if not 0 <= (getattr(dialect, name) or 0) < math.inf:
            raise msgspec.ValidationError(f"{name} must be 0 or more, not {getattr(dialect, name)}")
    return dialect
