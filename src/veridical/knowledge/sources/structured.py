"""Wikimedia's structured export (Wikimedia Enterprise; `wikimedia/structured-wikipedia` on the Hugging Face hub).

What is read of an article: `name`, `url`, `abstract` (only where no section has text), `infoboxes` and `sections`. The
last two are parts within parts (`name`, `type`, `value`, `has_parts`), as values or, as some files keep them, as text
in JSON. A field of an infobox becomes "name: value." Tables, references, images and links are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

COLUMNS = ("name", "url", "abstract", "infoboxes", "sections")
_DEPTH = 20
_UNREAD = frozenset({"image", "table", "references", "citation"})


def is_one(row: dict[str, Any]) -> bool:
    """Whether a row is an article of this kind."""
    return "title" not in row and "name" in row and ("sections" in row or "abstract" in row)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """The same article as {title, text, url}."""
    sections: list[dict[str, str]] = []
    for part in _parts(row.get("sections")):
        sections += _section(part, "", 0)
    if not any(section["text"].strip() for section in sections):
        sections = [{"heading": "", "text": row.get("abstract") or ""}]
    for box in _parts(row.get("infoboxes")):
        lines = [line for part in _parts(box.get("has_parts")) for line in _fields(part, 0)]
        sections.append({"heading": _text(box.get("name")), "text": "\n".join(lines)})
    return {"title": row["name"], "url": row.get("url"), "text": sections}


def _parts(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return []
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _section(part: dict[str, Any], heading: str, depth: int) -> Iterator[dict[str, str]]:
    """A section, then those within it, each with its own heading; "Abstract" is the export's word for the lead."""
    if depth > _DEPTH:
        return
    name = _text(part.get("name"))
    heading = "" if not depth and name == "Abstract" else name or heading
    lines, inner = [], []
    for one in _parts(part.get("has_parts")):
        if one.get("type") == "section":
            inner.append(one)
        else:
            lines += _lines(one, 0)
    yield {"heading": heading, "text": "\n".join([*filter(None, [_text(part.get("value"))]), *lines])}
    for one in inner:
        yield from _section(one, heading, depth + 1)


def _lines(part: dict[str, Any], depth: int) -> Iterator[str]:
    """Paragraphs and items of lists."""
    if depth > _DEPTH or part.get("type") in _UNREAD:
        return
    if value := _text(part.get("value")):
        yield f"- {value}" if part.get("type") == "list_item" else value
    for one in _parts(part.get("has_parts")):
        yield from _lines(one, depth + 1)


def _fields(part: dict[str, Any], depth: int) -> Iterator[str]:
    """The fields of an infobox, one a line."""
    if depth > _DEPTH or part.get("type") in _UNREAD:
        return
    name, value = _text(part.get("name")), _text(part.get("value"))
    if value:
        yield f"{name}: {value}." if name and name != value else value
    for one in _parts(part.get("has_parts")):
        yield from _fields(one, depth + 1)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
