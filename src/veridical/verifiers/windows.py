"""Windows of long evidence, each short enough for one pass of the encoder.

The first is made of the sentences that share most with the claim, wherever they stand: that is how the encoder met long
evidence in training. The others are runs of neighbouring sentences, so that what is told over several is read together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..text.normal import STOPWORDS, tokens
from ..text.sentences import split
from ..types import Passage

RULES = 1
"""Raised with each change of how windows are made: part of the judge, so of every signature."""
WORDS = 120
"""Longest window. Longer evidence is cut."""
MOST = 4
"""Windows of one fact at most: each costs a pass of the encoder."""
_CHARACTERS = 12
"""A word counts once for every so many characters, so that text without blanks is cut as well."""
_PIECE = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of the evidence, or a piece of one that is longer than a window: `passage.text[start:end] == text`."""

    passage: int
    start: int
    end: int
    text: str
    held: frozenset[str]
    """Its words, in lower case."""
    size: int
    """Words."""


@dataclass(frozen=True, slots=True)
class Window:
    """Lines in the order of the evidence; not empty."""

    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def size(self) -> int:
        return sum(line.size for line in self.lines)


def lines(number: int, passage: Passage, words: int = WORDS) -> tuple[Line, ...]:
    """The sentences of passage `number`, none longer than `words`."""
    made = []
    for sentence in split(passage.text):
        for start, end in _pieces(sentence.text, words):
            text = sentence.text[start:end]
            place = sentence.start + start
            made.append(Line(number, place, place + len(text), text, frozenset(tokens(text)), size(text)))
    return tuple(made)


def size(text: str) -> int:
    """Words of a text; a long run without blanks counts as several."""
    return max(len(text.split()), -(-len(text) // _CHARACTERS))


def _pieces(text: str, words: int) -> list[tuple[int, int]]:
    if size(text) <= words:
        return [(0, len(text))]
    most = words * _CHARACTERS
    found = [
        (start, min(start + most, match.end()))
        for match in _PIECE.finditer(text)
        for start in range(match.start(), match.end(), most)
    ]
    made: list[tuple[int, int]] = []
    count = 0
    for start, end in found:
        if made and count < words and end - made[-1][0] <= most:
            made[-1] = (made[-1][0], end)
            count += 1
        else:
            made.append((start, end))
            count = 1
    return made


def windows(claim: str, evidence: Sequence[Line], *, words: int = WORDS, most: int = MOST) -> list[Window]:
    """At most `most` windows of at most `words` words; all of the evidence as one if it is short. [] for no evidence.

    The first gathers the sentences that share most with the claim. The others slide over each passage by half a window;
    of these the ones that share most come first, then the earlier ones.
    """
    if not evidence:
        return []
    if sum(line.size for line in evidence) <= words:
        return [Window(tuple(evidence))]
    wanted = set(tokens(claim)) - STOPWORDS
    counts = {word: sum(word in line.held for line in evidence) for word in wanted}

    def worth(held: frozenset[str]) -> float:  # rounded, so that ties do not hang on the order of a set
        return round(sum(1 / counts[word] for word in wanted & held), 6)

    first = _gathered(evidence, [worth(line.held) for line in evidence], words)
    rest = [window for window in sliding(evidence, words) if not set(window.lines) <= set(first.lines)]
    values = [worth(frozenset().union(*(line.held for line in window.lines))) for window in rest]
    order = sorted(range(len(rest)), key=lambda place: (-values[place], place))
    return [first, *(rest[place] for place in order[: most - 1])]


def _gathered(evidence: Sequence[Line], worth: Sequence[float], words: int) -> Window:
    chosen: set[int] = set()
    count = 0
    for place in sorted(range(len(evidence)), key=lambda place: (-worth[place], place)):
        if not chosen or count + evidence[place].size <= words:
            chosen.add(place)
            count += evidence[place].size
    return Window(tuple(evidence[place] for place in sorted(chosen)))


def sliding(evidence: Sequence[Line], words: int = WORDS) -> list[Window]:
    """Runs of neighbouring lines of one passage, each as long as `words` allows; half of each is in the next."""
    made: list[Window] = []
    first = 0
    while first < len(evidence):
        last, count = first + 1, evidence[first].size
        while (
            last < len(evidence)
            and evidence[last].passage == evidence[first].passage
            and count + evidence[last].size <= words
        ):
            count += evidence[last].size
            last += 1
        made.append(Window(tuple(evidence[first:last])))
        if last == len(evidence) or evidence[last].passage != evidence[first].passage:
            first = last
            continue
        half = evidence[first].size
        first += 1
        while first < last and half + evidence[first].size <= words / 2:
            half += evidence[first].size
            first += 1
    return made
