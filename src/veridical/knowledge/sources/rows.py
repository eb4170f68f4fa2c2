"""Pages from rows of fields: the objects of JSON, the rows of Parquet and of tables."""

from __future__ import annotations

from typing import Any

from ..documents import Record, Section
from ..titles import tidy
from . import structured
from .base import Bad

FIELDS = ("id", "title", "text", "url", "redirects", "aliases")


def record(value: Any, file: str, line: int) -> Record | Bad:
    """A page of what was read, checked field by field.

    `text` is a string, or a list of sections, each a string or {heading, text}. An object of Wikimedia's structured
    export has `name` and `sections` in place of `title` and `text`.
    """

    def bad(reason: str, field: str | None = None) -> Bad:
        return Bad(reason=reason, file=file, line=line, field=field)

    if not isinstance(value, dict):
        return bad("an object of title and text is needed")
    if structured.is_one(value):
        value = structured.plain(value)
    for field in ("title", "text"):
        if field not in value:
            return bad("missing", field)
    title, url = value["title"], value.get("url")
    if not isinstance(title, str) or not tidy(title):
        return bad("a string that is not blank is needed", "title")
    if url is not None and not isinstance(url, str):
        return bad("a string is needed", "url")
    sections = _sections(value["text"])
    if sections is None:
        return bad("a string is needed, or a list of strings or of {heading, text}", "text")
    field = "redirects" if "redirects" in value else "aliases"
    redirects = value.get(field) or []
    if not isinstance(redirects, list) or not all(isinstance(name, str) for name in redirects):
        return bad("a list of strings is needed", field)
    number = _id(value.get("id"))
    if not storable(
        title, url or "", number or "", *redirects, *(section.heading + section.text for section in sections)
    ):
        return bad("half a surrogate pair, so no valid Unicode")
    return Record(
        title=title.strip(),
        sections=sections,
        url=url or None,
        id=number,
        redirects=tuple(redirects),
        file=file,
        line=line,
    )


def _id(value: Any) -> str | None:
    if isinstance(value, int) and value.bit_length() > 64:  # printing a long one takes long
        return None
    return str(value) if isinstance(value, str | int) else None


def storable(*texts: str) -> bool:
    """Whether they are valid Unicode."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def _sections(text: Any) -> tuple[Section, ...] | None:
    if isinstance(text, str):
        return (Section(text=text),)
    if not isinstance(text, list):
        return None
    sections: list[Section] = []
    for part in text:
        if isinstance(part, str):
            sections.append(Section(text=part))
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            heading = part.get("heading", part.get("title", ""))
            sections.append(Section(text=part["text"], heading=heading if isinstance(heading, str) else ""))
        else:
            return None
    return tuple(sections)
