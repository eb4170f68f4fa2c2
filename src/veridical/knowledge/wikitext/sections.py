"""The parts of a page under their headings, without those that only point elsewhere."""

from __future__ import annotations

import re

from ..documents import Section
from .languages import Language

_HEADING = re.compile(r"\n(={1,6})([^\n]+)")
_MARK = re.compile(r"\n[*#:;]+[ ]?")
_EMPTY = re.compile(r"\n- (?=\n|\Z)")
_RULE = re.compile(r"\n-{4,}")


def parts(text: str, language: Language) -> list[Section]:
    """Sections of a cleaned text in order, the lead with heading ""; only those with text."""
    text = "\n" + lines(text.replace(" \n", "\n").replace("\n ", "\n"))
    sections: list[Section] = []
    level, heading, position = 0, "", 0
    trailing = 0
    for found in _HEADING.finditer(text):
        name = found[2].rstrip()
        if not name.endswith("="):
            continue
        _add(sections, text[position : found.start()], heading, bool(trailing))
        position = found.end()
        level = min(len(found[1]), len(name) - len(name.rstrip("=")))
        heading = name.strip("= ")
        if trailing and level <= trailing:
            trailing = 0
        if not trailing and heading.lower().rstrip(":") in language.trailing:
            trailing = level
    _add(sections, text[position:], heading, bool(trailing))
    return sections


def _add(sections: list[Section], text: str, heading: str, trailing: bool) -> None:
    text = text.strip()
    if text and not (trailing and _only_points(text)):
        sections.append(Section(text=text, heading=heading))


def lines(text: str) -> str:
    """Lists as lines with "- ", indents and rules gone, at most one blank line."""
    text = _EMPTY.sub("", _MARK.sub(_marked, text if text[:1] == "\n" else f"\n{text}"))
    if "\n----" in text:
        text = _RULE.sub("\n", text)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip()


def _marked(found: re.Match[str]) -> str:
    return "\n- " if found[0].rstrip()[-1] in "*#" else "\n"


def _only_points(text: str) -> bool:
    """Whether a part holds nothing but items of lists."""
    return all(not line or line.startswith("- ") for line in text.split("\n"))
