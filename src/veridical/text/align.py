"""Places of given words in a text: what a judge quotes, what a model marks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from rapidfuzz import fuzz

from veridical.text.normal import fold, numbers, tokens

Span = tuple[int, int]

FUZZY_LENGTHS = range(12, 2001)
"""Needles of other lengths must be found as they are but for normal forms: in few letters too much looks alike."""
THRESHOLD = 92.0
"""Least similarity (rapidfuzz `partial_ratio`, 0 to 100) of a fuzzy place."""

_CLUSTER = re.compile(
    "\\s+|.[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u064b-\u0652\u1160-\u11ff\u3099\u309a]*", re.DOTALL
)
_NEGATIONS = frozenset({"not", "no", "never", "none", "nor", "neither", "without", "cannot"})
_AROUND = " \t\r\n\"'“”‘’«»„`"


def find(needle: str, text: str, *, taken: Iterable[Span] = ()) -> Span | None:
    """Where `needle` stands in `text`, as code-point offsets; None if it does not.

    Looked for as it is, then in normal form (case, blanks, quotes, Unicode form, characters without width), then by
    likeness (`FUZZY_LENGTHS`, `THRESHOLD`; numbers and negations must agree). Words are found whole only: "art" is not
    in "started". Places that overlap one of `taken` are passed over.
    """
    blocked = tuple(taken)
    return next((span for span in _places(needle, Haystack(text)) if not _overlaps(span, blocked)), None)


def find_all(needles: Sequence[str], text: str) -> list[Span | None]:
    """The place of each needle, its n-th place for its n-th copy; None where it is not (or no longer) in the text.

    Different needles may overlap and may come in any order.
    """
    haystack = Haystack(text)
    places: dict[str, Iterator[Span]] = {}
    for needle in needles:
        if needle not in places:
            places[needle] = _places(needle, haystack)
    return [next(places[needle], None) for needle in needles]


class Haystack:
    """A text and, made when first needed, its normal form with the way back."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def folded(self) -> tuple[str, list[int], list[int]]:
        """The normal form; for each of its characters, start and end of what it came from."""
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        for match in _CLUSTER.finditer(self.text):
            piece = " " if match[0].isspace() else fold(match[0])
            pieces.append(piece)
            starts.extend([match.start()] * len(piece))
            ends.extend([match.end()] * len(piece))
        return "".join(pieces), starts, ends


def _places(needle: str, haystack: Haystack) -> Iterator[Span]:
    """All places by the first of the three ways that finds one, from left to right."""
    bare = needle.strip(_AROUND)
    if not bare:
        return
    found = False
    for wording in dict.fromkeys((needle, bare)):
        for span in _exact(wording, haystack.text):
            found = True
            yield span
        if found:
            return
    folded, starts, ends = haystack.folded
    for start, end in _exact(fold(bare), folded):
        found = True
        yield starts[start], ends[end - 1]
    if not found and (span := _fuzzy(fold(bare), folded)):
        yield starts[span[0]], ends[span[1] - 1]


def _exact(needle: str, text: str) -> Iterator[Span]:
    """Places that do not overlap each other and do not begin or end within a word."""
    at = text.find(needle) if needle else -1
    while at >= 0:
        end = at + len(needle)
        whole = not _within_word(text, at) and not _within_word(text, end)
        if whole:
            yield at, end
            at = end
        else:  # go on at the next beginning of a word, so that long runs of letters are looked at once
            at += 1
            while _within_word(text, at):
                at += 1
        at = text.find(needle, at)


def _within_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _spelt(text[at - 1]) and _spelt(text[at])


def _spelt(char: str) -> bool:
    """Whether the character belongs to a word of a script that puts blanks between words."""
    return char.isalnum() and unicodedata.name(char, "").split(" ")[0] not in {
        "CJK",
        "HIRAGANA",
        "KATAKANA",
        "THAI",
        "LAO",
    }


def _fuzzy(needle: str, text: str) -> Span | None:
    if not (len(needle) in FUZZY_LENGTHS and len(needle) <= len(text)):
        return None
    best = fuzz.partial_ratio_alignment(needle, text, score_cutoff=THRESHOLD)
    if best is None or best.dest_end <= best.dest_start:
        return None
    start, end = best.dest_start, best.dest_end
    while _within_word(text, start):
        start -= 1
    while _within_word(text, end):
        end += 1
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end and _agree(needle, text[start:end]) else None


def _agree(needle: str, place: str) -> bool:
    """Whether both hold the same numbers and negations: a place that differs there says something else."""
    return sorted(numbers(needle)) == sorted(numbers(place)) and _negated(needle) == _negated(place)


def _negated(text: str) -> int:
    return sum(word in _NEGATIONS or word.endswith("n't") for word in tokens(text))


def _overlaps(span: Span, blocked: Sequence[Span]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in blocked)
