"""Infoboxes as a passage: a line for each parameter, "Born: 12 May 1970, London.", numbered ones together."""

from __future__ import annotations

import re
from functools import lru_cache

from .calls import Call, Page
from .rows import KEYS, ended, fact, is_looks, readable
from .signs import GAP
from .values import flat, is_setting

LONGEST = 4000
"""Characters of one value; a longer one is cut at a sentence's end or a blank."""
_NUMBERED = re.compile(r"([^\d]{1,60})(\d{1,3})")
_PAIRED = re.compile(r"([a-z ]{0,40}?)_?(name|info|data|date)(\d{0,3})(_sec\d)?", re.IGNORECASE)
_LABEL = re.compile(r"(.{0,40}?)_?(?:title|type|event|label)(\d{0,3})(_sec\d)?")
_POWERS = ("km2", "mi2", "m2", "km3", "m3", "ft2", "ft3")
_GROUPS = ("youth", "college", "national", "manager", "loan", "coach", "club")
"""Beginnings that make numbered parameters a group of their own: youthyears1, youthclubs1."""


def infobox(call: Call, page: Page) -> str:
    """Sets the box aside as a passage of the page; nothing of it stays in the text."""
    text = passage(call, page)
    if text:
        page.boxes.append((heading(page.called), text))
    return GAP


def heading(name: str) -> str:
    name = " ".join(name.replace("_", " ").split())
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


@lru_cache(maxsize=KEYS)
def _number(key: str) -> tuple[str, str] | None:
    """The group and the number of a numbered key, if it is one."""
    found = _NUMBERED.fullmatch(key)
    if not found or key.endswith(_POWERS) or _PAIRED.fullmatch(key):
        return None
    return next((start for start in _GROUPS if found[1].startswith(start) and found[1] != "clubs"), ""), found[2]


def _groups(values: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Every key that has others of the same number beside it, with all of them: years1, clubs1, caps1, goals1."""
    numbered: dict[tuple[str, str], list[str]] = {}
    for key in values:
        if (number := _number(key)) and not _is_label(key, values):
            numbered.setdefault(number, []).append(key)
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
    for name in _labels(key):
        if name in values and len(values[name]) < 80:
            used.add(name)
            return f"{values[name][:1].upper()}{values[name][1:]}: {value}"
    return "" if _is_label(key, values) else fact(key, value, page.language)


@lru_cache(maxsize=KEYS)
def _labels(key: str) -> tuple[str, ...]:
    """Keys whose value may name that of `key`: subdivision_type1 for subdivision_name1."""
    found = _PAIRED.fullmatch(key)
    if not found:
        return ()
    base, kind, number, part = found.groups(default="")
    if kind.lower() == "data" and not base:
        return (f"label{number}",)
    if not base:
        return ()
    return tuple(
        f"{base}_{label}{number}{part}" for label in ("title", "type", "event", "name", "label") if label != kind
    )


@lru_cache(maxsize=KEYS)
def _labelled(key: str) -> tuple[str, ...]:
    """Keys whose value may be named by that of `key`."""
    found = _LABEL.fullmatch(key)
    if not found:
        return ()
    base, number, part = found.groups(default="")
    return tuple(f"{base}_{other}{number}{part}" for other in ("name", "info", "date")) if base else (f"data{number}",)


def _is_label(key: str, values: dict[str, str]) -> bool:
    """Whether another parameter is named by this one: its line says it."""
    return any(other in values for other in _labelled(key))


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
