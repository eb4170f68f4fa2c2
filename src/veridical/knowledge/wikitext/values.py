"""A value of an infobox or a table: one line, whatever lists and breaks it was written with."""

from __future__ import annotations

import re

from .signs import ICON, icons_named

_BREAK = re.compile(
    r"[ \t,;]{0,3}<(?:br|p|/p|li|/li|div|/div|hr|ul|/ul|ol|/ol|center|/center)\b[^<>]{0,200}>[ \t]*", re.IGNORECASE
)
_FILE = re.compile(r"[^\n|]{1,200}\.(?:jpe?g|png|svg|gif|tiff?|webp|ogg|ogv|wav|webm|pdf)", re.IGNORECASE)
_SETTING = re.compile(r"\d+ ?(?:px|em|pt|%?;)|#[0-9a-fA-F]{3,8}")
_CSS = re.compile(
    r"(?:[a-z]{2,20}-)*(?:background|color|width|height|align|size|style|weight|border|margin|padding|float|display):[^:\n]{0,100}"
)
_NUMERIC = frozenset("0123456789#")
_SIDES = frozenset(
    ["left", "right", "center", "none", "auto", "collapsed", "expanded", "inherit", "transparent", "nowrap"]
)


def flat(text: str) -> str:
    """`text` on one line: items of a list with commas, or with semicolons where they have commas themselves."""
    text = text.strip()
    if "<" in text:
        text = _BREAK.sub("\n*", text)
    if ICON in text:
        text = icons_named(text).strip()
    if "}" in text and "{" not in text:
        text = text.replace("}", "")
    if "\n" not in text:
        return text.lstrip("*#:; ") or text if text[:1] in "*#:;" else text
    listed: list[str] = []
    for line in text.split("\n"):
        item = line.strip()
        if not item:
            continue
        mark = item[0] in "*#:;"
        item = item.lstrip("*#:; ")
        if mark or not listed:
            if item:
                listed.append(item)
        else:
            listed[-1] += f" {item}"
    return enumerated(listed)


def enumerated(items: list[str]) -> str:
    items = [item.rstrip(",;") for item in items if item.strip(" ,;")]
    return ("; " if any("," in item for item in items) else ", ").join(items)


def is_setting(value: str) -> bool:
    """Whether a value only sets the looks: a size, a colour, a side, the name of a picture."""
    if len(value) > 220 or value[-1:].isdigit():
        return value[:1] == "#" and _SETTING.fullmatch(value) is not None
    if "." in value[-6:-2] and _FILE.fullmatch(value):
        return True
    if value[:1] in _NUMERIC:
        return _SETTING.fullmatch(value) is not None
    return value in _SIDES or (":" in value and _CSS.fullmatch(value) is not None)
