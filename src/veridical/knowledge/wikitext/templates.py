"""From the inside of {{…}} to its text: the family of its name decides, and for unknown names one rule."""

from __future__ import annotations

from . import dates, functions, numbers, sport, words
from .calls import Call, Handler, Page
from .infobox import infobox
from .languages import data
from .rows import sentence
from .signs import GAP
from .values import is_setting

FAMILIES: dict[str, Handler] = {
    **dates.FAMILIES,
    **numbers.FAMILIES,
    **words.FAMILIES,
    **sport.FAMILIES,
    "infobox": infobox,
}
MOST_VALUES = 6
"""Unnamed arguments up to which an unknown template is taken for text."""
FEWEST_FACTS = 3
"""Named arguments from which an unknown template on lines of its own is a row of facts."""
_PREFIXES = ("subst:", "safesubst:", "msg:", "msgnw:", "raw:")


def template(body: str, page: Page) -> str:
    """The text of {{body}}, whose inner templates and links are read already; `GAP` for nothing."""
    head, bar, tail = body.partition("|")
    rest = tail if bar else None
    name = head.strip()
    family = page.language.family(name) if name.islower() or not name.isascii() else None
    if family is None:
        if "\n" in name or len(name) > 200:
            name = " ".join(name.split())
        if ":" in name or rest is None or name[:1] == "#":
            name = _unprefixed(name, page)
            text = functions.call(name, rest, page)
            if text is not None:
                return text
        written, name = name, normal(name)
        family = page.language.family(name) or _by_form(name, written)
    if family == "drop":
        return GAP
    call = Call(name, rest)
    return FAMILIES[family](call, page) if family else unknown(call, rest, page)


def normal(name: str) -> str:
    """A template's name as the tables have it."""
    return " ".join(name.replace("_", " ").lower().split())


def _unprefixed(name: str, page: Page) -> str:
    lower = name.lower()
    for prefix in _PREFIXES:
        if lower.startswith(prefix):
            name, lower = name[len(prefix) :].lstrip(), lower[len(prefix) :].lstrip()
    space, colon, rest = lower.partition(":")
    return name[len(space) + 1 :].lstrip() if colon and space.strip() in page.language.template else name


def _by_form(name: str, written: str) -> str | None:
    if name in data("currencies"):
        return "currency"
    if len(written) == 3 and written.isupper() and written in data("countries"):
        return "country"
    return None


def unknown(call: Call, rest: str | None, page: Page) -> str:
    """A template of which nothing is known.

    Without arguments it is dropped. On several lines with named arguments it is a row of facts, or, before the first
    heading, an infobox. Else its unnamed arguments are its text, if they are few; what only sets looks is left out.
    """
    if rest is None:
        return GAP
    if "\n" in rest:
        named = sum(1 for value in call.named.values() if value)
        if named >= FEWEST_FACTS and named > len(call.values):
            return (
                infobox(call, page)
                if page.at < page.lead and named > FEWEST_FACTS
                else sentence(call, page.language) or GAP
            )
    values = [value for value in call.values if value and not _is_option(value)]
    if not values or len(call.values) > MOST_VALUES:
        return GAP
    return " ".join(values)


def _is_option(value: str) -> bool:
    return (
        is_setting(value)
        or value.startswith(("http://", "https://", "//", "Q1", "Category:"))
        or value.lower() in _OPTIONS
    )


_OPTIONS = frozenset("y n yes no true false on off nocat small lc df mf mdy dmy link nolink abbr cat".split())
