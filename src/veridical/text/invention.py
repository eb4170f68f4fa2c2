"""Names and numbers of a fact that its sentence and context do not hold: what a decomposer made up."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ..types import Generation, Sentence
from .normal import STOPWORDS, numbers, tokens

_WORD = re.compile(r"[^\W\d_]\w*(?:['’]\w+)?")
_FUNCTION = STOPWORDS | {"another"}
_STEM = 4
"""A name in another form ("America", "American") shares at least so many letters with one that is known."""


class Known:
    """Words and numbers of a generation, each with the first sentence that holds it; topic and prompt come first."""

    def __init__(self, generation: Generation, sentences: Sequence[Sentence]) -> None:
        self._words: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._learn(f"{generation.topic or ''}\n{generation.prompt}", -1)
        for sentence in sentences:
            self._learn(sentence.text, sentence.index)

    def _learn(self, text: str, index: int) -> None:
        for word in tokens(_plain(text)):
            self._words.setdefault(word, index)
        for number in numbers(text):
            self._numbers.setdefault(number, index)

    def missing(self, fact: str, sentence: int) -> list[str]:
        """Proper names, then numbers, of the fact that stand nowhere up to this sentence; each once, in order.

        "three" and "3" are one number; a spelt "one" or "first" is none. The fact's first word counts as a name only if
        it is no function word and begins like no known word, since there its capital says nothing.
        """
        names = [
            word.group()
            for place, word in enumerate(_WORD.finditer(fact))
            if word.group()[0].isupper() and not self._has_name(word.group(), sentence, first=place == 0)
        ]
        values = [
            value
            for value in numbers(fact)
            if self._numbers.get(value, sentence + 1) > sentence and (value != "1" or "1" in fact)
        ]
        return list(dict.fromkeys([*names, *values]))

    def _has_name(self, name: str, sentence: int, *, first: bool) -> bool:
        for word in tokens(_plain(name)):
            if self._words.get(word, sentence + 1) <= sentence or (first and word in _FUNCTION):
                continue
            least = _STEM - 1 if first else _STEM
            if not any(_alike(word, other, least) for other, at in self._words.items() if at <= sentence):
                return False
        return True


def _plain(text: str) -> str:
    """Without accents: "Martinez" is no new name beside "Martínez"."""
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


def _alike(word: str, other: str, least: int) -> bool:
    """One is the other with an ending, or (for `least` below `_STEM`) both begin alike."""
    if least < _STEM:
        return len(word) > least and word[:least] == other[:least]
    return min(len(word), len(other)) >= least and (word.startswith(other) or other.startswith(word))
