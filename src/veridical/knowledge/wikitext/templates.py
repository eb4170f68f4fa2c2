"""From the inside of {{…}} to its text: the family of its name decides, and for unknown names one rule."""

from __future__ import annotations

from functools import lru_cache

from . import abroad, dates, functions, numbers, sport, words
from .calls import Call, Handler, Page
from .infobox import infobox
from .languages import Language, data
from .rows import sentence
from .signs import GAP
from .values import is_setting

FAMILIES: dict[str, Handler] = {
    **dates.FAMILIES,
    **numbers.FAMILIES,
    **words.FAMILIES,
    **sport.FAMILIES,
    **abroad.FAMILIES,
    "infobox": infobox,
}
MOST_VALUES = 6
"""Unnamed arguments up to which an unknown template is taken for text."""
FEWEST_FACTS = 3
"""Named arguments from which an unknown template on lines of its own is a row of facts."""
NAMES = 50_000
"""Names whose family is remembered, so that a dump full of invented names does not fill the memory."""
_LONG = 200
"""Characters of a name; a longer one is a text whose braces were an accident."""
_PREFIXES = ("subst:", "safesubst:", "msg:", "msgnw:", "raw:")


def template(body: str, page: Page) -> str:
    """The text of {{body}}, whose inner templates and links are read already; `GAP` for nothing."""
    head, bar, tail = body.partition("|")
    known = _known(head, page.language) if len(head) < _LONG else None
    if known is None:
        # It may be a parser function, or a word for the page: {{#if:…}}, {{PAGENAME}}.
        name = _unprefixed(" ".join(head.split()), page)
        text = functions.call(name, tail if bar else None, page)
        if text is not None:
            return text
        known = _named(name[:_LONG], page.language)
    name, family = known
    if family == "drop":
        return GAP
    page.called = head
    call = Call(name, tail if bar else None)
    return FAMILIES[family](call, page) if family else unknown(call, tail if bar else None, page)


@lru_cache(maxsize=NAMES)
def _known(head: str, language: Language) -> tuple[str, str | None] | None:
    """The normal name and the family of a template as it is written; None if it may be no template."""
    return None if ":" in head or head.lstrip()[:1] == "#" or functions.is_word(head) else _named(head, language)


@lru_cache(maxsize=NAMES)
def _named(name: str, language: Language) -> tuple[str, str | None]:
    written, name = name.strip(), normal(name)
    return name, language.family(name) or _by_form(name, written)


def normal(name: str) -> str:
    """A template's name as the tables have it."""
    return " ".join(name.replace("_", " ").lower().split())


def _unprefixed(name: str, page: Page) -> str:
    lower = name.lower()
    for prefix in _PREFIXES:
        if lower.startswith(prefix):
            name, lower = name[len(prefix) :].lstrip(), lower[len(prefix) :].lstrip()
    space, colon, _ = lower.partition(":")
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


_OPTIONS = frozenset(
    [
        "y",
        "n",
        "yes",
        "no",
        "true",
        "false",
        "on",
        "off",
        "nocat",
        "small",
        "lc",
        "df",
        "mf",
        "mdy",
        "dmy",
        "link",
        "nolink",
        "abbr",
        "cat",
    ]
)
