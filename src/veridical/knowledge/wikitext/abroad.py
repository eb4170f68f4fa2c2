"""Families that other wikis have and English Wikipedia has not: units with powers, centuries, ordinals as names."""

from __future__ import annotations

import re

from .calls import Call, Handler, Page
from .numbers import raised, unit
from .signs import GAP

_ROMAN = re.compile(r"([ivxlc]{1,7})(es?)(?= siècles?\b)")
_CENTURY = {"es": "siglo {}", "ru": "{} век", "fr": "{}e siècle"}


def quantity(call: Call, page: Page) -> str:
    """{{unité|120|m|2}} as "120 m²", {{unité|5|e=3|km/h}}, {{unité|81 x 65|cm}}."""
    number, name, power = call.value(0), call.value(1), call.value(2)
    if not number:
        return GAP
    if exponent := call.get("e", "10^"):
        number = f"{number}×10{raised(exponent)}"
    if power and power.lstrip("-−").isdecimal():
        name += raised(power) if power != "1" else ""
        per, below = call.value(3), call.value(4)
        name += f" {per}{raised(below) if below else ''}" if per else ""
    return f"{number} {unit(name)}".strip()


def century(call: Call, page: Page) -> str:
    """{{siglo|XX}}, {{s|XX}}, and names that are centuries themselves: {{XXe siècle}}."""
    values = call.filled()
    if not values:
        return _ROMAN.sub(lambda found: found[1].upper() + found[2], call.name) if "siècle" in call.name else GAP
    text = _CENTURY.get(page.language.code, "{}").format(values[0])
    return f"{text} a. C." if "a" in values[1:2] and page.language.code == "es" else text


def ordinal_word(call: Call, page: Page) -> str:
    """{{1er}}, {{er}}."""
    return call.name


def number_sign(call: Call, page: Page) -> str:
    """{{n°|12}}."""
    return f"n° {call.value(0)}".strip()


def born_and_died(call: Call, page: Page) -> str:
    """{{bd|1901年|3月4日|1975年|8月9日}}."""
    birth, death = "".join(call.values[:2]), "".join(call.values[2:4])
    return f"{birth}－{death}" if birth or death else GAP


def translated(call: Call, page: Page) -> str:
    """{{tsl|en|Title|標題}}: the language, the foreign title, the title here."""
    return call.value(3) or call.value(2) or call.value(1) or GAP


def first_foreign(call: Call, page: Page) -> str:
    return call.value(0) or GAP


def foreign_quote(call: Call, page: Page) -> str:
    """{{citation étrangère|langue=en|text}}."""
    return (call.filled() or [GAP])[-1]


FAMILIES: dict[str, Handler] = {
    "unit": quantity,
    "century": century,
    "ordinal_word": ordinal_word,
    "number_sign": number_sign,
    "birth_death": born_and_died,
    "translated": translated,
    "first_foreign": first_foreign,
    "foreign_quote": foreign_quote,
}
