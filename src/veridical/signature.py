"""A number's recipe: every setting of a method, found by walking its parts, so that none can be forgotten."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from . import __version__

NAMED = frozenset(
    {"model", "searcher", "ranker", "encoder", "k", "mode", "fitted", "demonstrations", "steps", "early_stop",
     "calibration", "thresholds"}
)  # fmt: skip
"""Settings of parts that are spelled out where a signature is printed."""
IDENTITY = ".identity"
"""End of a further field about a part; that of a searcher (as-of date, domains, language) is printed in its place."""
Flat = dict[str, str | int | float | bool | None]


@dataclasses.dataclass(frozen=True)
class Signature:
    """`fields` is flat: "verifier.model" -> "openai/gpt-4o-mini"."""

    fields: Flat

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.fields, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def short(self) -> str:
        """The method's name and a digest of everything: what each report carries."""
        return f"{self.fields['name']}:{self.digest}"

    def __str__(self) -> str:
        """`key:value|…|sha:…`, for people: parts, models, knowledge; the digest covers the rest (see `run.json`)."""
        named = {
            key: self.fields.get(f"{key}{IDENTITY}", value) if key.endswith("searcher") else value
            for key, value in self.fields.items()
            if key != "name" and value not in (None, False, "") and ("." not in key or key.rpartition(".")[2] in NAMED)
        }
        parts = [f"method:{self.fields['name']}", *(f"{key}:{value}" for key, value in named.items())]
        return "|".join([*parts, f"sha:{self.digest}"])

    def differences(self, other: Mapping[str, Any]) -> list[str]:
        """Each field in which `other` (flat fields of an earlier run) is different, in words."""
        keys = sorted({*self.fields, *other})
        return [
            f"{key}: {other.get(key)!r} then, {self.fields.get(key)!r} now"
            for key in keys
            if other.get(key) != self.fields.get(key)
        ]


def sign(method: Any) -> Signature:
    """Walk the parts of a method (a dataclass). Raises TypeError on a part that cannot be described."""
    flat: Flat = {"version": __version__}
    _walk(method, "", flat)
    return Signature(flat)


def _walk(part: Any, path: str, into: Flat) -> None:
    if isinstance(part, enum.Enum):
        part = part.value
    if part is None or isinstance(part, (str, int, float, bool)):
        into[path] = part
    elif hasattr(part, "fingerprint"):  # prompt templates, fitted weights
        into[path] = f"{getattr(part, 'name', type(part).__name__)}@{part.fingerprint}"
    elif hasattr(part, "identity") or hasattr(part, "search"):  # models, knowledge, with all that makes them that one
        into[path] = part.name
        if (identity := getattr(part, "identity", part.name)) != part.name:
            into[f"{path}{IDENTITY}"] = identity
    elif dataclasses.is_dataclass(part):
        if path:
            into[path] = getattr(part, "name", type(part).__name__)
        for field in dataclasses.fields(part):
            if not field.init and getattr(part, field.name) is None:
                continue  # a prompt that this part has no use for
            if field.name != "name" or not path:
                _walk(getattr(part, field.name), f"{path}.{field.name}".lstrip("."), into)
    elif isinstance(part, msgspec.Struct):
        for name in part.__struct_fields__:
            _walk(getattr(part, name), f"{path}.{name}", into)
    elif isinstance(part, Mapping):
        for key in sorted(part):
            _walk(part[key], f"{path}.{key}", into)
    elif isinstance(part, (tuple, list)) and any(map(_is_part, part)):
        for number, item in enumerate(part, 1):
            _walk(item, f"{path}.{number}", into)
    elif isinstance(part, (tuple, list)):
        into[path] = json.dumps([_plain(item) for item in part], ensure_ascii=False)
    else:
        raise TypeError(f"{path}: a {type(part).__name__} cannot be part of a signature")


def _is_part(item: Any) -> bool:
    return dataclasses.is_dataclass(item) or hasattr(item, "identity") or hasattr(item, "search")


def _plain(item: Any) -> Any:
    flat: Flat = {}
    _walk(item, "", flat)
    return flat.get("", flat)
