"""Stretches of a reply that its author does not assert: citations, reports, hypotheses.

A verdict in one of them is somebody else's ('the passage says "Verdict: True"') or holds in another case ("if the text
said 1887, the answer would be True").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

Span = tuple[int, int]

_PAIRS = ("“”", "„“", "„”", "「」", "『』")
_EITHER_WAY = ("«»", "‹›")
"""Guillemets open on the left in French and close there in German: the first one in the text tells."""
_ANY_DOUBLE = str.maketrans(dict.fromkeys("“”„‟″", '"'))
_INCHES = re.compile(r'(?<=\d)"')
_SINGLE = re.compile(r"(?P<opening>(?<![\w'])'(?=\w))|(?<=[\w.,!?])'(?![\w'])")
_BRACES = re.compile(r"\{[^{}\n]{0,400}\}(?=[^\n]{0,40}\w)")
"""An object in the middle of a sentence."""

_TAG = re.compile(r"<[a-z][^<>\n]{0,40}>")

_SENTENCE_END = re.compile(
    r"(?<!\bst)(?<!\bmr)(?<!\bmrs)(?<!\bms)(?<!\bdr)(?<!\bjr)(?<!\bsr)(?<!\bca)(?<!\bvs)(?<!\bcf)(?<!\bprof)(?<!\b\w)"
    r"(?:[.!?;][\"”»\')]?\s|(?<![:,])\n)|\n\n"
)
_HYPOTHESIS = re.compile(
    r"\b(?:if|unless|otherwise|would|could|might|may (?:be|have)|suppose|supposing|assuming|imagine|hypothetically"
    r"|provided that|for example|for instance|example|e\.g|possible|possibly|perhaps|maybe|whether|depending"
    r"|in (?:that|this|which|such a) case)\b"
    r"|(?:^|(?<=[.,;:!?\n])\s?)(?:had|were|should|when|once|in case)\s"
    r"|\b(?:previous|earlier|initial|first|alternative|alternate|other|opposite|wrong|incorrect|suggested|claimed"
    r"|injected|sample|no|not(?: my| the)?|expected|their|his|her|(?:passage|evidence|text|source|document)'s)"
    r" (?=verdict|answer|label|conclusion|judg|decision|rating|output|result|final)"
)
_ASSERTED = re.compile(r"(?:i|we) would (?:answer|say|conclude|judge|choose|label|rate|mark|classify)\b")
_REPORT = re.compile(
    r"\b(?:reads?|says|(?<!would )(?<!i )say|said|states?|stated|writes?|wrote|claims|claimed|asserts?|declares?"
    r"|contains?|includes?|tells?|told|instructs?|instructions?|quot(?:es?|ed|ing)|cit(?:es?|ed|ing)|prints?|printed"
    r"|replies|replied|announces?|suggests?|(?:begins|starts|ends) with|asks?|asked|wants?|never|refuse|decline"
    r"|instead of|rather than|ignor(?:e|ing)|disregard(?:ing)?"
    r"|(?:do|will|would|should|must|can|ca) ?not (?:give|answer|say|output|conclude|accept|choose|state|write|repeat)"
    r")\b(?:\s\w{1,20}){0,3}(?P<colon>\s?:)?"
)
"""Words that hand what follows to somebody else, or reject it."""
_OWN_AGAIN = re.compile(r",\s(?:and\s)?(?:so|therefore|thus|hence|consequently)\b|\bso i\b")


@dataclass(frozen=True)
class Asides:
    text: str
    """As `markup.plain` leaves it."""

    def __contains__(self, at: int) -> bool:
        return bool(self._marks[at])

    def cited(self, at: int) -> bool:
        """Whether it is within a pair of quotation marks beyond doubt."""
        return bool(self._marks[at] & 2)

    @cached_property
    def _marks(self) -> bytearray:
        """For each character: 0 asserted, 1 aside, 3 in quotation marks."""
        marks = bytearray(len(self.text) + 1)
        for start, end in (
            *_hypotheses(self.text),
            *_reports(self.text),
            *_block_quotes(self.text),
            *_tagged(self.text),
        ):
            marks[start:end] = b"\1" * (end - start)
        for start, end, certain in _quotations(self.text):
            marks[start:end] = (b"\3" if certain else b"\1") * (end - start)
        return marks


def _quotations(text: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, beyond doubt); after an odd quotation mark everything may be cited."""
    doubles = text.translate(_ANY_DOUBLE)
    doubles = _INCHES.sub(" ", doubles) if doubles.count('"') % 2 else doubles
    for marked, mark in ((doubles, '"'), (text, "`")):
        if marked.count(mark) % 2:
            yield marked.find(mark), len(text), False
        else:
            yield from ((start, end, True) for start, end in _between(marked, mark, mark))
    either = [pair if text.find(pair[0]) <= text.find(pair[1]) else pair[::-1] for pair in _EITHER_WAY]
    for opening, closing in (*_PAIRS, *either):
        yield from ((start, end, True) for start, end in _between(text, opening, closing))
    opened: int | None = None
    for mark in _SINGLE.finditer(text):
        if mark["opening"]:
            opened = mark.start() if opened is None else opened
        elif opened is not None:
            yield opened, mark.end(), False  # or two apostrophes
            opened = None
    for braces in _BRACES.finditer(text):
        yield *braces.span(), True


def _between(text: str, opening: str, closing: str) -> Iterator[Span]:
    at = text.find(opening)
    while at >= 0 and (end := text.find(closing, at + 1)) >= 0:
        yield at, end + 1
        at = text.find(opening, end + 1)


def _sentences(text: str) -> Iterator[Span]:
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield start, end.end()
        start = end.end()
    yield start, len(text)


def _hypotheses(text: str) -> Iterator[Span]:
    """From the word that makes it one to the end of its sentence; "I would say" at the start of one asserts."""
    for start, end in _sentences(text):
        asserted = _ASSERTED.match(text, start)
        if mark := _HYPOTHESIS.search(text, asserted.end() if asserted else start, end):
            yield mark.start(), end


def _reports(text: str) -> Iterator[Span]:
    """From "says" to the end of its sentence or to "…, so"; from "reads:" to the end of the line or paragraph."""
    reported = 0
    for start, end in _sentences(text):
        for report in _REPORT.finditer(text, start, end):
            if report.start() < reported:
                continue
            at = report.end()
            if report["colon"] and text[at : at + 2].strip()[:1] not in tuple("\"'“„«»‹「『"):
                reported = text.find("\n\n" if text[at : at + 1] == "\n" else "\n", at + 2)
                reported = len(text) if reported < 0 else reported
            else:
                again = _OWN_AGAIN.search(text, at, end)
                reported = again.start() if again else end
            yield report.start(), reported


def _block_quotes(text: str) -> Iterator[Span]:
    for line in re.finditer(r"^>.*$", text, re.MULTILINE):
        yield line.span()


def _tagged(text: str) -> Iterator[Span]:
    """Between tags other than those of a verdict, such as the passages of the question."""
    end = 0
    for tag in _TAG.finditer(text):
        if tag.start() >= end:
            end = text.find("</", tag.end())
            if end < 0:
                break
            yield tag.start(), end
