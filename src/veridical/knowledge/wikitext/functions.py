"""Parser functions ({{#if:…}}, {{formatnum:…}}) and words that stand for the page ({{PAGENAME}})."""

from __future__ import annotations

import re
from collections.abc import Callable

from .calls import Page
from .dates import written
from .languages import data
from .signs import GAP

Function = Callable[[str, list[str], Page], str]
"""From the first argument, the others as written, and the page."""
_LONGEST = 200
"""Characters of a sum that is worked out."""
_SUM = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+|[-−+*/()]|round)", re.IGNORECASE)


def call(head: str, rest: str | None, page: Page) -> str | None:
    """What {{head|rest}} reads as; None if `head` names no function."""
    name, colon, first = head.partition(":")
    name = name.strip().lower()
    if not colon:
        of_page = _PAGE.get(name)
        return of_page(page) if of_page and rest is None else None
    if not name:
        return GAP
    function = _FUNCTIONS.get(name)
    if function is None:
        return GAP if name.startswith("#") or name in _HIDDEN else None
    return function(first.strip(), rest.split("|") if rest is not None else [], page) or GAP


def is_word(name: str) -> bool:
    """Whether {{name}} stands for something of the page: {{PAGENAME}}, {{!}}."""
    return name.strip().lower() in _PAGE


def _chosen(others: list[str], place: int) -> str:
    return others[place].strip() if place < len(others) else ""


def _if(first: str, others: list[str], page: Page) -> str:
    return _chosen(others, 0 if first else 1)


def _ifeq(first: str, others: list[str], page: Page) -> str:
    return _chosen(others, 1 if first == _chosen(others, 0) else 2)


def _ifexpr(first: str, others: list[str], page: Page) -> str:
    return _chosen(others, 0 if evaluated(first) not in ("", "0") else 1)


def _iferror(first: str, others: list[str], page: Page) -> str:
    return _chosen(others, 1) or first


def _ifexist(first: str, others: list[str], page: Page) -> str:
    return _chosen(others, 0)


def _switch(first: str, others: list[str], page: Page) -> str:
    """The case that fits, else the default; cases without a value share the next one's."""
    default, fits = "", False
    for place, other in enumerate(others):
        key, equals, value = other.partition("=")
        key = key.strip()
        if not equals:
            fits = fits or key == first
            if place == len(others) - 1:
                default = key
            continue
        if fits or key == first:
            return value.strip()
        if key == "#default":
            default = value.strip()
    return default


def _same(first: str, others: list[str], page: Page) -> str:
    return first


def _tag(first: str, others: list[str], page: Page) -> str:
    if first.lower() in ("ref", "references", "gallery", "templatestyles"):
        return GAP
    return next((other.strip() for other in others if "=" not in other), "")


def _time(first: str, others: list[str], page: Page) -> str:
    """{{#time:j F Y|2001-09-11}}; without a date it is the day of reading."""
    return written(page.language, _chosen(others, 0)) if others else GAP


def _date(first: str, others: list[str], page: Page) -> str:
    return written(page.language, first, day_first=_chosen(others, 0).lower() == "dmy")


def _language(first: str, others: list[str], page: Page) -> str:
    return data("common")["languages"].get(first.lower(), first)


def _plural(first: str, others: list[str], page: Page) -> str:
    return _chosen(others, 0 if first == "1" or len(others) < 2 else 1)


def _expr(first: str, others: list[str], page: Page) -> str:
    return evaluated(first)


def evaluated(expression: str) -> str:
    """A sum of numbers worked out, "" if it is anything else. No recursion, no names: two stacks."""
    parts = _SUM.findall(expression) if len(expression) <= _LONGEST else []
    if not parts or "".join(parts) != re.sub(r"\s+", "", expression):
        return ""
    numbers: list[float] = []
    signs: list[str] = []
    try:
        number_before = False
        for part in (*parts, ""):
            if part[:1].isdigit() or part[:1] == ".":
                numbers.append(float(part))
                number_before = True
            elif part == "(":
                signs.append(part)
                number_before = False
            elif part in ("-", "−", "+") and not number_before:
                signs.append("negative" if part != "+" else "positive")
            else:
                _reduce(numbers, signs, _RANK.get(part.lower(), 0))
                if part == ")":
                    signs.pop()
                elif part:
                    signs.append(part.lower())
                    number_before = False
        (result,) = numbers
        if signs:
            return ""
        return f"{result:.10g}"
    except (IndexError, ValueError, ArithmeticError):
        return ""


_RANK = {"round": 1, "+": 2, "-": 2, "−": 2, "*": 3, "/": 3, "negative": 4, "positive": 4}


def _reduce(numbers: list[float], signs: list[str], rank: int) -> None:
    """Works out what binds at least as closely as `rank`, down to an open parenthesis."""
    while signs and signs[-1] != "(" and _RANK[signs[-1]] >= rank:
        sign = signs.pop()
        right = numbers.pop()
        if sign in ("negative", "positive"):
            numbers.append(-right if sign == "negative" else right)
            continue
        left = numbers.pop()
        if sign == "round":
            numbers.append(round(left, max(-15, min(15, int(right)))))
        else:
            numbers.append(
                left + right
                if sign == "+"
                else left * right
                if sign == "*"
                else left / right
                if sign == "/"
                else left - right
            )


_FUNCTIONS: dict[str, Function] = {
    "#if": _if,
    "#ifeq": _ifeq,
    "#ifexpr": _ifexpr,
    "#iferror": _iferror,
    "#ifexist": _ifexist,
    "#switch": _switch,
    "#expr": _expr,
    "#tag": _tag,
    "#time": _time,
    "#timel": _time,
    "#dateformat": _date,
    "#formatdate": _date,
    "#language": _language,
    "formatnum": _same,
    "lc": lambda first, others, page: first.lower(),
    "uc": lambda first, others, page: first.upper(),
    "lcfirst": lambda first, others, page: first[:1].lower() + first[1:],
    "ucfirst": lambda first, others, page: first[:1].upper() + first[1:],
    "padleft": _same,
    "padright": _same,
    "plural": _plural,
    "grammar": lambda first, others, page: _chosen(others, 0),
    "gender": lambda first, others, page: _chosen(others, 0),
    "pagename": _same,
}


def _title(page: Page) -> str:
    return page.title or GAP


def _nothing(page: Page) -> str:
    return GAP


_HIDDEN = frozenset(data("common")["hidden_functions"])
_PAGE: dict[str, Callable[[Page], str]] = {
    **dict.fromkeys(data("common")["title_words"], _title),
    **dict.fromkeys(data("common")["hidden_words"], _nothing),
    "!": lambda page: "|",
    "!!": lambda page: "||",
    "(!": lambda page: "{|",
    "!)": lambda page: "|}",
    "!-": lambda page: "|-",
    "=": lambda page: "=",
}
