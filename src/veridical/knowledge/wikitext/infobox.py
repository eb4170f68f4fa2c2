"""Infoboxes as a passage: a line for each parameter, "Born: 12 May 1970, London.", numbered ones together."""

from __future__ import annotations

import re

from .calls import Call, Page
from .rows import ended, fact, is_looks, readable
from .signs import GAP
from .values import flat, is_setting

LONGEST = 4000
"""Characters of one value; a longer one is cut at a sentence's end or a blank."""
_NUMBERED = re.compile(r"([^\d]{1,60})(\d{1,3})")
_PAIRED = re.compile(r"([a-z ]{1,40}?)_?(name|info|data)(\d{0,3})(_sec\d)?", re.IGNORECASE)
_LABELS = ("title", "type", "name", "label")
_GROUPS = ("youth", "college", "national", "manager", "loan", "coach", "club")
"""Beginnings that make numbered parameters a group of their own: youthyears1, youthclubs1."""


def infobox(call: Call, page: Page) -> str:
    """Sets the box aside as a passage of the page; nothing of it stays in the text."""
    text = passage(call, page)
    if text:
        page.boxes.append((heading(call.name), text))
    return GAP


def heading(name: str) -> str:
    return name[:1].upper() + name[1:]


def passage(call: Call, page: Page) -> str:
    values = {key: _cut(flat(value)) for key, value in call.named.items() if value and not is_looks(key)}
    values = {key: value for key, value in values.items() if value and not is_setting(value)}
    used: set[str] = set()
    lines: list[str] = []
    groups = _groups(values)
    for key in values:
        if key in used:
            continue
        group = groups.get(key)
        line = _grouped(group, values, page) if group else _single(key, values, used, page)
        used.update(group or ())
        if line:
            lines.append(ended(line.rstrip(";, ")))
    return "\n".join(lines)


def _cut(value: str) -> str:
    return value if len(value) <= LONGEST else value[:LONGEST].rpartition(" ")[0]


def _groups(values: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Every key that has others of the same number beside it, with all of them: years1, clubs1, caps1, goals1."""
    numbered: dict[tuple[str, str], list[str]] = {}
    for key in values:
        found = _NUMBERED.fullmatch(key)
        if found and not _PAIRED.fullmatch(key):
            beginning = next((start for start in _GROUPS if found[1].startswith(start) and found[1] != "clubs"), "")
            numbered.setdefault((beginning, found[2]), []).append(key)
    return {key: tuple(keys) for keys in numbered.values() if len(keys) > 1 for key in keys}


def _grouped(keys: tuple[str, ...], values: dict[str, str], page: Page) -> str:
    facts = (fact(key, values[key], page.language) for key in keys)
    return "; ".join(part for part in facts if part)


def _single(key: str, values: dict[str, str], used: set[str], page: Page) -> str:
    """One parameter; with its place where it is a date of birth or death, under its label where it has one."""
    value = values[key]
    place = _PLACES.get(key.lower())
    if place and (where := next((other for other in place if other in values), None)):
        used.add(where)
        return f"{readable(key, page.language)}: {value}, {values[where]}"
    found = _PAIRED.fullmatch(key)
    if found:
        base, _, number, part = found.groups(default="")
        for label in _LABELS:
            for name in (f"{base}_{label}{number}{part}", f"{label}{number}", f"{base}{number}_{label}"):
                if name in values and name != key and len(values[name]) < 80:
                    used.add(name)
                    return f"{values[name]}: {value}"
    if _is_label(key, values):
        return ""
    return fact(key, value, page.language)


def _is_label(key: str, values: dict[str, str]) -> bool:
    """Whether a later parameter is named by this one: its line says it."""
    found = re.fullmatch(r"(.{0,40}?)_?(?:title|type|label)(\d{0,3})(_sec\d)?", key)
    if not found:
        return False
    base, number, part = found.groups(default="")
    return any(f"{base}_{other}{number}{part}" in values for other in ("name", "info")) or (
        not base and f"data{number}" in values
    )


_PLACES = {
    "birth_date": ("birth_place", "birthplace", "place_of_birth"),
    "birthdate": ("birthplace", "birth_place"),
    "born": ("birth_place", "birthplace"),
    "date_of_birth": ("place_of_birth", "birth_place"),
    "death_date": ("death_place", "deathplace", "place_of_death"),
    "deathdate": ("deathplace", "death_place"),
    "died": ("death_place", "deathplace"),
    "date_of_death": ("place_of_death", "death_place"),
}
