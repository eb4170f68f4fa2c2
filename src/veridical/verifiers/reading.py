"""Reading a text the way the embedded judge does: sentences, words with their places, stems, numbers and names.

A number is read to its value, so that "1,234" equals "1234" and "twelve" equals "12"; a month is a value as well. A
character of a script without spaces (Chinese, Japanese) is a word of its own.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ..text.sentences import split
from .words import FUNCTION, MONTHS, MULTIPLIERS, NEGATIONS, NUMBER_WORDS, SIGNS, stem

RULES = 2
"""Raised with each change of how texts are read: part of the judge, so of every signature."""
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?:st|nd|rd|th|s)?(?![^\W_])|[^\W_]+(?:['’][^\W_]+)*|[%$€£]")
_FIRST_UNSPACED = "\u2e80"
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]")
_LONGEST_NUMBER = 15
"""Digits after which a number is compared as a string: a float would no longer hold it exactly."""


_DATE = r"([^()–—]{0,60}\d{3,4})(?: (?:BC|AD|CE|BCE))?"
_LIFE = re.compile(rf"\({_DATE} ?[–—-] ?{_DATE}\)")
_VERB = re.compile(r"\b(?:is|are|was|were|has|had)\b")
_LEAD = 160
"""Code points in which the brackets of a life may begin."""


@dataclass(frozen=True, slots=True)
class Word:
    """A token of a text: `text[start:end]`."""

    stem: str
    start: int
    end: int
    capital: bool
    content: bool
    """Neither a function word nor a sign."""
    number: str
    """Its value ("1987", "0.5", "month 8"), "" if it is none."""


@dataclass(frozen=True)
class Unit:
    """A sentence with its words: `text[start:end]`."""

    start: int
    end: int
    words: tuple[Word, ...]

    @cached_property
    def order(self) -> list[str]:
        """Stems of all words, in order."""
        return [word.stem for word in self.words]

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of the content words."""
        return frozenset(word.stem for word in self.words if word.content)

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(word.number for word in self.words if word.number)

    @cached_property
    def bigrams(self) -> frozenset[tuple[str, str]]:
        """Neighbouring stems, function words included."""
        return frozenset(zip(self.order, self.order[1:], strict=False))

    @cached_property
    def content(self) -> list[str]:
        """Stems of the content words, in order."""
        return [word.stem for word in self.words if word.content]

    @cached_property
    def skipgrams(self) -> frozenset[tuple[str, str]]:
        """Content stems that follow each other within four content words."""
        return skipgrams(self.content, 4)

    @cached_property
    def roots(self) -> frozenset[str]:
        """First five letters of the content words that are not numbers: "director" and "directed" meet there."""
        return frozenset(stem[:5] for stem in self.stems if len(stem) >= 5 and not stem[0].isdecimal())

    @cached_property
    def negated(self) -> frozenset[str]:
        """Content stems within three words after a negation."""
        return frozenset(word.stem for i, word in enumerate(self.words) if word.content and self._is_negated(i))

    @cached_property
    def plain(self) -> frozenset[str]:
        """Content stems that stand somewhere without a negation before them."""
        return frozenset(word.stem for i, word in enumerate(self.words) if word.content and not self._is_negated(i))

    def _is_negated(self, place: int) -> bool:
        return self.negative and not NEGATIONS.isdisjoint(self.order[max(0, place - 3) : place])

    @cached_property
    def negative(self) -> bool:
        return not NEGATIONS.isdisjoint(self.order)


def read(text: str) -> tuple[Unit, ...]:
    """The sentences of a text that hold at least one word."""
    units: list[Unit] = []
    for sentence in split(text):
        found = words(sentence.text, sentence.start)
        if not units:
            found = _with_life(sentence.text, sentence.start, found)
        if found:
            units.append(Unit(sentence.start, sentence.end, found))
    return tuple(units)


def _with_life(text: str, offset: int, found: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words of a text's first sentence; in "Ada Stow (1815 – 1852) was", the years are those born and died in."""
    life = _LIFE.search(text)
    if not life or life.start() > _LEAD or _VERB.search(text, 0, life.start()):
        return found
    said = {normal(word)[0] for word in ("born", "died")} & {word.stem for word in found}
    for word, place in (("died", life.start(2)), ("born", life.start(1))):
        stem = normal(word)[0]
        if stem not in said:
            at = sum(one.start < offset + place for one in found)
            put = Word(stem, offset + place, offset + place, False, stem not in FUNCTION, "")
            found = (*found[:at], put, *found[at:])
    return found


def words(text: str, offset: int = 0) -> tuple[Word, ...]:
    """The words of one sentence that begins at `offset`."""
    found: list[Word] = []
    for match in _TOKEN.finditer(text):
        token, start = match[0], offset + match.start()
        if token > _FIRST_UNSPACED and _UNSPACED.search(token):
            found.extend(Word(char, start + i, start + i + 1, False, True, "") for i, char in enumerate(token))
            continue
        stem, number = normal(token)
        if stem in MULTIPLIERS and found and (product := _times(found[-1].number, MULTIPLIERS[stem])):
            last = found.pop()
            found.append(Word(product, last.start, start + len(token), False, True, product))
            continue
        content = stem not in FUNCTION
        found.append(Word(stem, start, start + len(token), token[0].isupper(), content, number))
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def normal(token: str) -> tuple[str, str]:
    """The stem of a token and its value if it is a number or a month."""
    if token in SIGNS:
        return SIGNS[token], ""
    if token[0].isdecimal():
        value = _value(token)
        return value, value
    plain = unicodedata.normalize("NFKD", token.casefold().replace("’", "'"))
    plain = "".join(char for char in plain if not unicodedata.combining(char)) or token
    if plain.endswith("n't"):
        return "not", ""
    plain = plain.removesuffix("'s")
    if plain in NUMBER_WORDS:
        return NUMBER_WORDS[plain], NUMBER_WORDS[plain]
    if plain in MONTHS and token[0].isupper():
        return plain[:3], f"month {MONTHS[plain]}"
    return (plain if plain in FUNCTION else stem(plain)), ""


def _value(token: str) -> str:
    digits = token.rstrip("stndrh").replace(",", "")
    if not digits.replace(".", "", 1).isdecimal() or len(digits) > _LONGEST_NUMBER:
        return digits.casefold()
    return f"{float(digits):.15g}"


def _times(number: str, factor: float) -> str:
    try:
        return f"{float(number) * factor:.15g}"
    except ValueError:
        return ""


def skipgrams(stems: list[str], reach: int) -> frozenset[tuple[str, str]]:
    """Ordered pairs of different stems at most `reach` apart."""
    return frozenset(
        (first, second) for i, first in enumerate(stems) for second in stems[i + 1 : i + 1 + reach] if first != second
    )


def is_year(number: str) -> bool:
    return len(number) == 4 and number.isdecimal() and "1000" <= number <= "2100"
