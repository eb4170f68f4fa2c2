"""Text and Markdown files as pages of a knowledge source.

---                        A block like this at the start of the file may name the page, its address, and
title: Ada Lovelace        further titles of it (`redirects` or `aliases`, in brackets or one "- name" a line).
url: https://…             Without a title there the first heading of a Markdown file names the page, else the
aliases: [Ada Byron]       file's name does.
---
"""

from __future__ import annotations

import re
from pathlib import Path

from ..types import Struct
from .titles import tidy

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_FIELD = re.compile(r"([A-Za-z_]+):(.*)")


class Section(Struct, frozen=True, kw_only=True):
    """A part of a page under one heading."""

    text: str
    heading: str = ""


class Record(Struct, frozen=True, kw_only=True):
    """A page as a source gives it. `file` and `line` tell where it stands."""

    title: str
    sections: tuple[Section, ...]
    url: str | None = None
    redirects: tuple[str, ...] = ()
    target: str | None = None
    """The title of another page, to which this title only leads: a redirect of a dump, which has no text itself."""
    disambiguation: bool = False
    """The page only lists what its title may mean."""
    choices: tuple[str, ...] = ()
    """The titles that a disambiguation page lists."""
    plain: bool = False
    """Its markup could not be read as a whole: the text is plainer than it could be."""
    cut: bool = False
    """The sections are passages already."""
    file: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


def read(path: Path) -> Record:
    """The page that a .txt, .md or .markdown file holds. Raises UnicodeDecodeError unless it is UTF-8."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    fields, names, body = _front_matter(lines)
    sections = _sections(body) if path.suffix.lower() != ".txt" else [Section(text="\n".join(body))]
    title = fields.get("title") or next((section.heading for section in sections if section.heading), "")
    return Record(
        title=title or tidy(path.stem),
        sections=tuple(
            Section(text=section.text, heading="" if section.heading == title else section.heading)
            for section in sections
        ),
        url=fields.get("url"),
        redirects=tuple(names),
        file=str(path),
    )


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
