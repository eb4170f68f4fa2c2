"""Reading structured replies: JSON, and lists in JSON or with a marker on each line. Time is linear in the reply."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ParseError
from .markup import answer

# --- JSON ------------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"```[^\n`]{0,40}\n(.*?)```", re.DOTALL)
_RESTARTS = 5
"""How many opening brackets that are never closed are passed over; bounds the time."""


@dataclass(frozen=True)
class Json:
    value: Any
    path: str
    """How it was found: "strict", "fenced", "embedded" (in prose), or "repaired" (a trailing comma taken out)."""


def read_json(reply: str, accept: Callable[[Any], bool] = lambda value: isinstance(value, dict | list)) -> Json:
    """The first JSON value in the reply that `accept` takes; a trailing comma is forgiven.

    Tried in this order: the whole reply, fenced blocks, balanced objects, balanced arrays. Raises `ParseError` if there
    is none.
    """
    text = answer(reply)
    for path, candidate in _json_candidates(text):
        for repaired, source in ((path, candidate), ("repaired", _without_trailing_commas(candidate))):
            try:
                value = json.loads(source, parse_constant=_refuse_constant)
            except (ValueError, RecursionError):
                continue
            if accept(value):
                return Json(value, repaired)
    raise ParseError("no JSON of the expected shape in the reply", reply=reply)


def _json_candidates(text: str) -> Iterator[tuple[str, str]]:
    yield "strict", text.strip()
    for block in _FENCE.finditer(text):
        yield "fenced", block.group(1).strip()
    for opener in "{[":
        for span in _balanced(text, opener):
            yield "embedded", span


def _balanced(text: str, opener: str) -> Iterator[str]:
    """Outermost stretches from `opener` to the bracket that closes it, quoted strings skipped."""
    at, restarts = text.find(opener), 0
    while at >= 0 and restarts < _RESTARTS:
        end = _closing(text, at)
        if end is None:
            restarts += 1
            at = text.find(opener, at + 1)
        else:
            yield text[at:end]
            at = text.find(opener, end)


_BRACKET = re.compile(r'\\.|["{}\[\]]', re.DOTALL)


def _closing(text: str, start: int) -> int | None:
    """Just after the bracket that closes the one at `start`."""
    depth, quoted = 0, False
    for found in _BRACKET.finditer(text, start):
        mark = found.group()
        if mark == '"':
            quoted = not quoted
        elif not quoted and len(mark) == 1:
            depth += 1 if mark in "{[" else -1
            if depth == 0:
                return found.end()
    return None


def _without_trailing_commas(source: str) -> str:
    kept: list[str] = []
    quoted = escaped = False
    for character in source:
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "}]":
            while kept and kept[-1].isspace():
                kept.pop()
            if kept and kept[-1] == ",":
                kept.pop()
        kept.append(character)
    return "".join(kept)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# --- lists -----------------------------------------------------------------------------------------------------------

_ITEM = re.compile(
    r"\s{0,12}(?:[•‣▪◦]\s*|(?:[-*+·–—]|\(?\d{1,3}[.)]|\(?[a-z][)]|(?:[Ff]act|[Cc]laim)\s\d{1,3}\s?[:.)-])(?:\s+|$))(.*)",
    re.DOTALL,
)
_NOTHING = re.compile(
    r"\W{0,6}(?:none|n/a|no (?:atomic )?(?:facts|claims)(?: found)?"
    r"|(?:this|the) sentence (?:does not|doesn't) (?:contain|make) any (?:atomic )?(?:facts|claims))\W{0,6}$",
    re.IGNORECASE,
)
_KEYS = ("facts", "claims", "items")
_TEXT_KEYS = ("fact", "claim", "text", "statement")


@dataclass(frozen=True)
class Listing:
    items: tuple[str, ...]
    path: str
    """How it was found: "list", "nothing" (the reply says that there is none), or a path of `Json`."""
    truncated: bool = False
    """The reply breaks off in the middle; `items` are the complete ones."""


def read_list(reply: str, *, cut: bool = False) -> Listing:
    """The items of a list in JSON (`[…]`, `{"facts": […]}`, objects with a "fact") or with a marker on each line.

    Text before the first item is passed over; the list ends at the first line that is no item, so notes and invented
    further examples are not read. `cut`: the reply was cut by max_tokens, so its last line is not complete.
    Raises `ParseError` if there is no list and the reply does not say "none" either.
    """
    text = answer(reply)
    if _NOTHING.match(text.strip()):
        return Listing((), "nothing")
    marked = _marked_items(text.rpartition("\n")[0] if cut else text)
    try:
        found = read_json(text, lambda value: _strings(value) is not None)
    except ParseError:
        pass
    else:
        if marked is None or not isinstance(found.value, list):  # else: an array that some item of the list quotes
            return Listing(tuple(_strings(found.value) or ()), found.path)
    if salvaged := _salvage(text):
        return Listing(tuple(salvaged), "embedded", truncated=True)
    if marked is None and not cut:
        raise ParseError("no list in the reply", reply=reply)
    return Listing(tuple(marked or ()), "list", truncated=cut)


def _strings(value: Any) -> list[str] | None:
    """The texts of a JSON list of facts, None if the value is not one."""
    if isinstance(value, dict):
        value = next((value[key] for key in _KEYS if isinstance(value.get(key), list)), None)
    if not isinstance(value, list):
        return None
    texts = [_string(item) for item in value]
    return [text.strip() for text in texts if text and text.strip()] if None not in texts else None


def _string(item: Any) -> str | None:
    if isinstance(item, dict):
        item = next((item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str)), None)
    return item if isinstance(item, str) else None


def _salvage(text: str) -> list[str] | None:
    """Complete items of a JSON list that is never closed; None if the text holds no such list."""
    opening = re.search(r'"(?:facts|claims|items)"\s{0,20}:\s{0,20}\[|^\s{0,20}\[|```(?:json)?\s{0,20}\[', text)
    if not opening:
        return None
    decoder, at, items = json.JSONDecoder(parse_constant=_refuse_constant), opening.end(), []
    while True:
        while at < len(text) and (text[at].isspace() or text[at] == ","):
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return items
        if (item := _string(value)) is None:
            return None
        items.append(item.strip())


def _marked_items(text: str) -> list[str] | None:
    items: list[str] | None = None
    blank = False
    for line in text.splitlines():
        if not line.strip() or line.strip().startswith("```"):
            blank = True
        elif item := _ITEM.match(line):
            items = items or []
            if wording := _bare(item.group(1)):
                items.append(wording)
            blank = False
        elif items and not blank and _continues(items[-1], line):
            items[-1] = f"{items[-1]} {_bare(line)}"
        elif items is not None:
            break
    if items == [] or items is None:
        return None
    return [] if all(_NOTHING.match(item) for item in items) else items


def _continues(item: str, line: str) -> bool:
    """A wrapped line: the item has not ended and the line does not begin anew."""
    return item[-1] not in ".!?。" and not line.lstrip()[0].isupper() and not line.rstrip().endswith(":")


def _bare(text: str) -> str:
    """Without emphasis and quotation marks around the whole."""
    text = text.strip()
    for mark in ("**", "__", '"', "`"):
        if text.startswith(mark) and text.endswith(mark) and len(text) > 2 * len(mark) and text.count(mark) == 2:
            text = text[len(mark) : -len(mark)].strip()
    return text
