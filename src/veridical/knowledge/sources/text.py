"""Text and Markdown files as pages of a knowledge source.

---                        A block like this at the start of the file may name the page, its address, and
title: Ada Lovelace        further titles of it (`redirects` or `aliases`, in brackets or one "- name" a line).
url: https://…             Without a title there the first heading of a Markdown file names the page, else the
aliases: [Ada Byron]       file's name does.
---
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..documents import Record, Section
from ..titles import tidy
from .base import BIGGEST, Bad, Kind, Pages, Passed, Unit, shown, whole

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_FIELD = re.compile(r"([A-Za-z_]+):(.*)")


def units(path: Path) -> Iterator[Unit]:
    yield whole(path, "text")


def read(piece: Unit, language: str | None, passed: Passed) -> Pages:
    """The page that a .txt, .md or .markdown file holds."""
    path, name = Path(piece.file), shown(piece.file)
    if piece.bytes > BIGGEST:
        yield Bad(reason=f"a text of more than {BIGGEST >> 20} MB", file=name)
        return
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        yield Bad(reason="not UTF-8", file=name, detail=f"byte {error.start}: {error.reason}")
        return
    fields, names, body = _front_matter(lines)
    sections = _sections(body) if path.suffix.lower() != ".txt" else [Section(text="\n".join(body))]
    title = fields.get("title") or next((section.heading for section in sections if section.heading), "")
    yield Record(
        title=title or named(path),
        sections=tuple(
            Section(text=section.text, heading="" if section.heading == title else section.heading)
            for section in sections
        ),
        url=fields.get("url"),
        redirects=tuple(names),
        file=name,
    )


def named(path: Path) -> str:
    """The title that the name of a file is."""
    return tidy(shown(path.stem)) or shown(path.name)


def _front_matter(lines: list[str]) -> tuple[dict[str, str], list[str], list[str]]:
    """The fields of the block at the start, the further titles in it, and the lines below it."""
    if not lines or lines[0].rstrip() != "---":
        return {}, [], lines
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"), None)
    if end is None:
        return {}, [], lines
    fields: dict[str, str] = {}
    names: list[str] = []
    key = ""
    for line in lines[1:end]:
        listed = line.strip().removeprefix("- ") if line.strip().startswith("- ") else None
        if listed is not None and key in ("redirects", "aliases"):
            names.append(_unquoted(listed))
        elif found := _FIELD.fullmatch(line.rstrip()):
            key, value = found[1].lower(), found[2].strip()
            if key in ("redirects", "aliases"):
                names += [_unquoted(name) for name in value.strip("[]").split(",")]
            elif value:
                fields[key] = _unquoted(value)
    return fields, [name for name in names if name], lines[end + 1 :]


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _sections(lines: list[str]) -> list[Section]:
    """The parts of a Markdown text, each with the heading it stands under; "#" within a code block is no heading."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    fence = ""
    for line in lines:
        if mark := _FENCE.match(line):
            fence = ("" if fence == mark[1] else fence) if fence else mark[1]
        heading = None if fence else _HEADING.fullmatch(line)
        if heading:
            sections.append((heading[2].rstrip().rstrip("#").rstrip(), []))
        else:
            sections[-1][1].append(line)
    return [Section(text="\n".join(text), heading=heading) for heading, text in sections]


KIND = Kind(units=units, read=read)
