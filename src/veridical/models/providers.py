"""Who serves models, as data: `providers.toml` of the package, then the user's own."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InputError, UsageError
from ..types import Struct
from .wire import Dialect


class Provider(Struct):
    """One provider of the table."""

    base_url: str
    key: str | None = None
    """Environment variable that holds the API key."""
    optional_key: str | None = None
    """The same for servers that need none."""
    dialect: dict[str, Any] = {}
    """Fields of `Dialect`; false stands for none."""
    prices: dict[str, tuple[float, float]] = {}
    """US dollars per million prompt and completion tokens, by how the model's name begins."""
    headers: dict[str, str] = {}
    note: str | None = None
    """What its users must know; shown once."""

    def dialect_of(self, model: str) -> Dialect:
        """The dialect of one model, with its price where known."""
        values = {
            name: None if value is False and name == "json_schema" else value for name, value in self.dialect.items()
        }
        begun = [prefix for prefix in self.prices if model.startswith(prefix)]
        if begun:
            values["price_in"], values["price_out"] = self.prices[max(begun, key=len)]
        return msgspec.convert(values, Dialect)

    def api_key(self, environment: Mapping[str, str], *, name: str) -> str | None:
        """The key from the environment. Raises UsageError naming the variable if a needed one is not set."""
        if self.key:
            if not environment.get(self.key):
                raise UsageError(f"provider {name} needs a key: set the environment variable {self.key}")
            return environment[self.key]
        return environment.get(self.optional_key or "") or None


def user_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where users put their own providers."""
    if named := environment.get("VERIDICAL_PROVIDERS"):
        return Path(named)
    base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "veridical" / "providers.toml"


def providers(environment: Mapping[str, str] = os.environ) -> dict[str, Provider]:
    """The table. An entry of the user's file replaces the fields it names. Raises InputError for a faulty file."""
    table = tomllib.loads((resources.files(__package__) / "providers.toml").read_text(encoding="utf-8"))
    path = user_file(environment)
    if path.exists():
        try:
            own = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(str(error), file=str(path)) from None
        for name, fields in own.items():
            if not isinstance(fields, dict):
                raise InputError("must be a table", file=str(path), field=name)
            table[name] = {**table.get(name, {}), **fields}
    return {name: _provider(name, fields, path) for name, fields in table.items()}


def _provider(name: str, fields: Any, path: Path) -> Provider:
    try:
        made = msgspec.convert(fields, Provider)
        made.dialect_of("")
    except msgspec.ValidationError as error:
        raise InputError(str(error), file=str(path), field=name) from None
    if unknown := sorted(
        (set(made.dialect) - set(Dialect.__struct_fields__)) | (set(fields) - set(Provider.__struct_fields__))
    ):
        raise InputError(f"no such setting: {', '.join(unknown)}", file=str(path), field=name)
    return made


def provider(name: str, environment: Mapping[str, str] = os.environ) -> Provider:
    """One provider by name; UsageError lists the known ones."""
    table = providers(environment)
    if name not in table:
        raise UsageError(
            f"no provider {name!r}; there are {', '.join(table)}, llamacpp, embedded, http://host:port/v1#model"
        )
    return table[name]
