"""Whether two short answers say the same, as far as that can be seen from how they are written."""

from __future__ import annotations

import re
import unicodedata

from .normal import ARTICLES, fold, loose, numbers, tokens


def same(one: str, other: str) -> bool:
    """Whether two answers are equal up to case, accents, articles, punctuation, and the spelling of numbers and dates.

    Signs that carry meaning ("-5", "5 %", "C++") must be the same. False says only that it was not seen to be so.
    """
    if _signs(one) != _signs(other):
        return False
    words = content(one)
    if words and words == content(other):
        return True
    return any(value is not None and value == of(other) for of in (_number, _date) for value in [of(one)])


def occurs(part: str, whole: str) -> bool:
    """Whether the words of `part` stand in `whole` in a row, up to what `same` forgives."""
    few, many = content(part), content(whole)
    return bool(few) and any(many[at : at + len(few)] == few for at in range(len(many) - len(few) + 1))


_ORDINAL = re.compile(r"(?<!thousa)(?:th|st|nd|rd)$")


def content(text: str) -> list[str]:
    """The words that are compared: without accents, punctuation and articles, number words as digits."""
    found = [_as_digits(word) for token in tokens(text) for word in loose(token).split()]
    return [word for word in found if word not in ARTICLES] or found


def _as_digits(word: str) -> str:
    value = () if _ORDINAL.search(word) else numbers(word)
    return value[0] if len(value) == 1 else word


def _signs(text: str) -> list[str]:
    folded = fold(text)
    return [
        char
        for at, char in enumerate(folded)
        if unicodedata.category(char)[0] == "S"
        or char in "%‰#&@/\\"
        or (char in "-–—" and (at == 0 or not folded[at - 1].isalnum()) and folded[at + 1 : at + 2].isdecimal())
    ]


def _number(text: str) -> str | None:
    """The one number that the text is, "twenty-one" or "1,200"; not an ordinal."""
    value, words = numbers(text), tokens(text)
    plain = all((numbers(word) and not _ORDINAL.search(word)) or word == "and" for word in words)
    return value[0] if plain and len(value) == 1 else None


_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS = {name[:size]: number for number, name in enumerate(_NAMES, 1) for size in (3, len(name))} | {"sept": 9}
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")


def _date(text: str) -> tuple[int, int, int] | None:
    """Year, month and day (0: not given) of a text that is nothing but a date with a month's name, or an ISO date."""
    folded = fold(text).strip(" .")
    if iso := _ISO.fullmatch(folded):
        year, month, day = map(int, iso.groups())
        return year, month, day
    words = [word for word in re.split(r"[\s,.]+", folded) if word not in ("", "the", "of", "on", "in")]
    months = [_MONTHS[word] for word in words if word in _MONTHS]
    years = [int(word) for word in words if word.isdecimal() and len(word) == 4]
    days = [int(day[1]) for word in words if (day := _DAY.fullmatch(word))]
    if len(months) != 1 or len(years) > 1 or len(days) > 1 or len(months + years + days) != len(words):
        return None
    return (years or [0])[0], months[0], (days or [0])[0]
