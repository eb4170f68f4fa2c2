"""Reading a number on a scale off a reply."""

from __future__ import annotations

import re

from ..errors import ParseError
from .markup import MARKS, answer

_SCORE = re.compile(
    r"(?P<other>\b(?:max|maximum|min|minimum|highest|lowest|top|best|possible|full|perfect|total|previous|earlier|passing"
    r"|average|mean)\.? )?\b(?:score|rating|grade|probability|confidence|answer)\b"
    r"(?:(?P<sign>\s?[:=]\s{0,9})|\s(?:is|of)\s:?\s{0,9})(?P<value>\S{0,20}(?:\s?(?:/|out of)\s?\d{1,9})?)"
    r"(?P<open>\s(?:to|or|if|unless|would|means?)\b)?"
)
_NUMBER = re.compile(r"[(\[]?([-+]?\d{1,9}(?:\.\d{1,9})?)(?:\s?(?:/|out of)\s?(\d{1,9}))?[\])]?[.,;!]?$")


def read_score(reply: str, low: float, high: float) -> float:
    """The last number after "score:", "rating:" and the like, or the number that is the whole reply; in [low, high].

    "The score is 4" counts where no "score:" stands, "maximum score: 10" never. Raises `ParseError` if there is none,
    if it lies outside, is out of another maximum ("3/5" of 10), is a range or conditional ("4 or 5"), and if
    a number in prose after it differs.
    """
    text = answer(reply).casefold().translate(MARKS).strip()
    named = [found for found in _SCORE.finditer(text) if not found["other"]]
    if not named and _SCORE.search(text):
        raise ParseError("no score in the reply", reply=reply)
    signed = [at for at, found in enumerate(named) if found["sign"]]
    rest = named[signed[-1] :] if signed else named
    numbers = [None if found["open"] else _NUMBER.match(found["value"]) for found in rest] or [_NUMBER.match(text)]
    number = numbers[0]
    if not number or any(other is None or float(other[1]) != float(number[1]) for other in numbers):
        raise ParseError("no certain score in the reply", reply=reply)
    value, maximum = float(number[1]), number[2]
    if not low <= value <= high or (maximum and float(maximum) != high):
        raise ParseError(f"score {number.group()} is not on the scale from {low:g} to {high:g}", reply=reply)
    return value
