"""Marks inside a text that is being cleaned: control characters, which XML forbids, so no page of a dump has them.

Every other step may rely on: `GAP` is white space to `str.strip` and to regular expressions.
"""

from __future__ import annotations

import re

GAP = "\x1f"
"""Something without text stood here: a reference, a picture, a template of maintenance."""
PIPE, EQUALS = "\x01", "\x02"
"""A "|" or "=" of text already read, which is no border of an argument around it."""
KEPT, KEPT_END = "\x03", "\x04"
"""Around the number of a stretch that is kept as it is (<nowiki>, <math>, …)."""
ICON, ICON_END = "\x06", "\x07"
"""Around the country of a flag that is shown without its name."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ICON = re.compile(f"{ICON}([^{ICON}{ICON_END}]*){ICON_END}")


def without_controls(source: str) -> str:
    """The source with line ends as "\\n" and without control characters."""
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", source) if _CONTROL.search(source) else source


def guarded(text: str) -> str:
    """Text already read, safe among the arguments of a template, a link or a table around it."""
    if "|" in text:
        text = text.replace("|", PIPE)
    return text.replace("=", EQUALS) if "=" in text else text


def unguarded(text: str) -> str:
    if PIPE in text:
        text = text.replace(PIPE, "|")
    return text.replace(EQUALS, "=") if EQUALS in text else text


def icon(country: str) -> str:
    return f"{ICON}{country}{ICON_END}" if country else GAP


def icons_named(text: str) -> str:
    """A value with its flags as words: alone "Germany", beside other text "(Germany)"."""
    if not _ICON.sub("", text).strip():
        return ", ".join(name for name in _ICON.findall(text))
    return _ICON.sub(r"(\1) ", text)


def without_icons(text: str) -> str:
    return _ICON.sub(GAP, text).replace(ICON, "").replace(ICON_END, "") if ICON in text or ICON_END in text else text
