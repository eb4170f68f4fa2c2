"""What can be read of the members of a reply, whatever they hold: every value may be missing or of any type."""

from __future__ import annotations

import hashlib
import html
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from ...errors import SearchError
from ...types import Passage
from .query import one_line

_ABSURD = 10**30
_DEEP = 16
"""Lists in lists that are followed; a reply can hold more than Python's stack."""
_PARTS = 100
"""Parts of one page that are compared with each other; the providers give a handful."""
_BREAK = re.compile(r"<(?:br|p|/p|li|/li|div|/div|td|/td|tr|/tr)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NO_CHARACTER = re.compile(r"&#[0-9]{20,};?")
"""A reference to a number that is none of a character, and that Python may refuse to read for its length."""


def text(value: Any, deep: int = _DEEP) -> str:
    """What can be read of a value: text, a number, or a list of these; anything else is empty.

    Lists may be in lists, as far as `deep` levels go.
    """
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, bool):
        return ""
    if isinstance(value, int):
        return str(value) if abs(value) < _ABSURD else ""
    if isinstance(value, float):
        return str(value) if math.isfinite(value) else ""
    if isinstance(value, list) and deep > 0:
        return ", ".join(said for said in (text(one, deep - 1) for one in value) if said)
    return ""


def plain(value: Any) -> str:
    """The same of what may hold HTML: without tags, and with its character references read."""
    said = text(value)
    if "<" in said:
        before, end, after = said.rpartition("-->")  # no comment ends later; to look for that takes quadratic time
        said = _COMMENT.sub("", before + end) + after
        said = _TAG.sub("", _BREAK.sub(" ", said))
    return one_line(html.unescape(_NO_CHARACTER.sub("\ufffd", said)))


def sentence(said: str) -> str:
    """With a full stop at its end, unless it ends a sentence already."""
    return said if said.endswith((".", "!", "?", "…", "。")) else f"{said}."


def url(value: Any) -> str | None:
    """The address of a page; None for what is none."""
    said = one_line(value) if isinstance(value, str) else ""
    return said if said.startswith(("http://", "https://")) and " " not in said else None


def listed(value: Any) -> list[Any]:
    """A list as it is, a single value as a list of one, nothing as []."""
    return value if isinstance(value, list) else [] if value is None else [value]


def results(value: Any, name: str) -> list[dict[str, Any]]:
    """The objects of the member that holds what was found; [] where it is missing.

    Raises `SearchError` where it is no list, or a list without a single object: that is not "nothing found".
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise SearchError(f"not a reply of {name}: its results are {type(value).__name__}, not a list")
    found = list(objects(value))
    if value and not found:
        raise SearchError(f"not a reply of {name}: none of its results is an object")
    return found


TEXT = (str, int, float, list)
"""What `text` reads."""


def nothing(payload: dict[str, Any], shape: Mapping[str, tuple[type, ...]], name: str) -> list[Passage]:
    """[] for a reply in which nothing was found. Raises `SearchError` where something may have been that was not read:

    `shape` are the members that hold evidence, as paths ("web.results[].description": of each entry), with the types
    that they are read as; null and missing ones are fine.
    """
    for path, kinds in shape.items():
        for value in _at(payload, path):
            if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
                raise SearchError(f"not a reply of {name}: its {path} is {type(value).__name__}")
    return []


def _at(payload: Any, path: str) -> list[Any]:
    values = [payload]
    for step in path.split("."):
        values = [member(value, step.removesuffix("[]")) for value in values]
        if step.endswith("[]"):
            values = [one for value in values if isinstance(value, list) for one in value]
    return values


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; what else is in it is passed over."""
    return (entry for entry in listed(value) if isinstance(entry, dict))


def member(value: Any, name: str) -> Any:
    """A member of an object; None of anything else."""
    return value.get(name) if isinstance(value, dict) else None


def joined(parts: Iterable[str], between: str = " … ") -> str:
    """Parts of a page one after another, the first hundred, without those that an earlier one holds."""
    kept: list[str] = []
    for part in islice(parts, _PARTS):
        if part and not any(part in other for other in kept):
            kept.append(part)
    return between.join(kept)


def passage(name: str, said: str, title: Any, link: Any, when: Any = None, *, part: str = "") -> Passage | None:
    """A passage whose id is its URL, or made from its text where it has none; None without a text.

    `name` is the dialect's; `part` is "answer" or "panel" for what is not a result.
    """
    if not said:
        return None
    page = url(link)
    place = page or f"{name}:{hashlib.sha256(said.encode()).hexdigest()[:12]}"
    return Passage(
        id=f"{place}#{part}" if part else place, text=said, title=plain(title), url=page, date=text(when) or None
    )


def once(passages: Iterable[Passage | None]) -> list[Passage]:
    """Each page once, at its first place; what is None is left out."""
    kept: dict[str, Passage] = {}
    for one in passages:
        if one is not None:
            kept.setdefault(one.id, one)
    return list(kept.values())


def reply(payload: Any, name: str, known: frozenset[str], complaint: str | None) -> dict[str, Any]:
    """The payload, if it is a reply: `known` are the members that such a one can have.

    Raises `SearchError` for a payload that is an error (with its words, `complaint`) or not of this API's shape.
    """
    if not isinstance(payload, dict):
        raise SearchError(f"not a reply of {name}: {type(payload).__name__}")
    if complaint:
        raise SearchError(complaint)
    if payload and not known & payload.keys():
        raise SearchError(f"not a reply of {name}: it has none of its members")
    return payload
