"""Reading a number on a scale off a reply."""

from __future__ import annotations

import re

from ..errors import ParseError
from .markup import MARKS, answer

_SCORE = re.compile(
    r"\b(?:score|rating|grade|probability|confidence|answer)\b(?:\s?[:=]\s{0,9}|\s(?:is|of)\s:?\s{0,9})([^\s]{0,20})"
)
_NUMBER = re.compile(r"[(\[]?([-+]?\d{1,9}(?:\.\d{1,9})?)(?:\s?(?:/|out of)\s?(\d{1,9}))?[\])]?[.,;!]?$")


def read_score(reply: str, low: float, high: float) -> float:
    """The last number after "score:", "rating:" and the like, or the number that is the whole reply; in [low, high].

    Raises `ParseError` if there is none, if it lies outside, or if it is out of another maximum ("3/5" of 10).
    """
    text = answer(reply).casefold().translate(MARKS).strip()
    anchored = _SCORE.findall(text)
    number = _NUMBER.match(anchored[-1] if anchored else text)
    if not number:
        raise ParseError("no score in the reply", reply=reply)
    value, maximum = float(number.group(1)), number.group(2)
    if not low <= value <= high or (maximum and float(maximum) != high):
        raise ParseError(f"score {number.group()} is not on the scale from {low:g} to {high:g}", reply=reply)
    return value
