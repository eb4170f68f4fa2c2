"""Flags, teams, goals and medals, and templates whose arguments are one row of facts (elections, matches, squads)."""

from __future__ import annotations

import re

from .calls import Call, Handler, Page
from .languages import data
from .rows import sentence
from .signs import GAP, icon
from .words import word


def country(code: str) -> str:
    """The country of a code ("GER"); anything else is its own name."""
    return data("countries").get(code.strip().upper(), code.strip()) if len(code) < 5 else code.strip()


def flag(call: Call, page: Page) -> str:
    """{{flag|Germany}}, {{flagIOC|GER|2008 Summer}}, {{fb|GER}}, {{country data Germany}}."""
    if call.name.startswith("country data "):
        return call.name[13:].title()
    return call.get("name") or country(call.value(0)) or GAP


def country_code(call: Call, page: Page) -> str:
    """{{GER}}."""
    return call.get("name") or country(call.name)


def flag_icon(call: Call, page: Page) -> str:
    """Only a picture: its country counts where nothing else fills the cell."""
    return icon(country(call.value(0)))


def flag_athlete(call: Call, page: Page) -> str:
    """{{flagIOCathlete|Usain Bolt|JAM|2008 Summer}}."""
    name, nation = call.value(0), country(call.value(1))
    return f"{name} ({nation})" if name and nation else name or GAP


def flag_under(call: Call, page: Page) -> str:
    """{{fbu|21|GER}}."""
    return f"{country(call.value(1))} U{call.value(0)}" if call.value(1) else GAP


def goals(call: Call, page: Page) -> str:
    """{{goal|12||45+1|pen.}}: a minute and a note to it, in turn."""
    scored: list[str] = []
    for place in range(0, len(call.values), 2):
        minute, note = call.value(place), call.value(place + 1)
        if minute and minute != "0":
            scored.append(f"{minute}'" + (f" ({note})" if note else ""))
    return ", ".join(scored) or GAP


def minutes(call: Call, page: Page) -> str:
    """{{yel|45}}, {{subon|60}}."""
    played = ", ".join(f"{value}'" for value in call.filled() if value != "0")
    text = word(call, page)
    return text if not played else f"{text} {played}" if text != GAP else played


_MEDALS = {"medalgold": "Gold", "medalsilver": "Silver", "medalbronze": "Bronze"}


def medal(call: Call, page: Page) -> str:
    """{{MedalGold|2008 Beijing|100 m}}, {{Medal|Gold|2008 Beijing|100 m}}, {{MedalSport|Men's athletics}}."""
    values = call.filled()
    won = _MEDALS.get(call.name)
    if call.name == "medal" and values and values[0].lower() in ("gold", "silver", "bronze"):
        won, values = values[0].capitalize(), values[1:]
    elif call.name == "medal" and values:
        values = values[1:]
    if not values:
        return GAP
    text = ", ".join(values)
    return f"\n* {won}: {text}\n" if won else f"\n* {text}\n"


_TOLD = re.compile(r"election box (majority|turnout|total|registered electors|rejected|swing|gain|hold|win)\b.*")
"""Rows that only their template's name tells apart."""


def record(call: Call, page: Page) -> str:
    """A template that is one row: {{Election box candidate|party=…|votes=…}}."""
    text = sentence(call, page.language)
    told = _TOLD.fullmatch(call.name)
    return f"\n{told[1].capitalize()}: {text.strip()}\n" if told and text else text or GAP


FAMILIES: dict[str, Handler] = {
    "flag": flag,
    "country": country_code,
    "flag_icon": flag_icon,
    "flag_athlete": flag_athlete,
    "flag_under": flag_under,
    "goal": goals,
    "card": minutes,
    "substitution": minutes,
    "penalty": minutes,
    "medal": medal,
    "record": record,
}
