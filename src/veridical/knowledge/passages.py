"""Text cut into passages, the pieces that are retrieved and shown to a judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..text.sentences import split

LIMIT = 256
"""Words a passage, as many as FActScore's passages have tokens (section 4.1)."""
_WIDE = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts that put no blanks between words: each character counts as a word."""
_WORD = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]{{1,48}}")
"""A word; a run of more than 48 characters without a blank is several."""
_BLANK_LINE = re.compile(r"\n(?:[^\S\n]*\n)+")


def size(text: str) -> int:
    """Words in `text`: between blanks, or characters in scripts without blanks."""
    return len(_WORD.findall(text))


def cut(text: str, *, limit: int = LIMIT) -> list[str]:
    """Passages of at most `limit` words, in order: slices of `text` without blanks around; [] for a blank text.

    Neighbours are gathered while they fit. A paragraph is divided only if it is over the limit itself, then between
    sentences; a sentence only if it is over the limit itself, then between words. Raises ValueError for a limit < 1.
    """
    _check(limit)
    passages: list[tuple[int, int, int]] = []
    for start, end, words in _pieces(text, (0, len(text)), limit, (_blocks, _lines, _sentences, _runs)):
        if passages and passages[-1][2] + words <= limit:
            passages[-1] = (passages[-1][0], end, passages[-1][2] + words)
        else:
            passages.append((start, end, words))
    return [text[start:end] for start, end, _ in passages]


Span = tuple[int, int]
Division = Callable[[str, int], Iterable[Span]]
"""A way to divide a text, in spans, under a limit of words."""


def _pieces(text: str, span: Span, limit: int, divisions: Sequence[Division]) -> Iterator[tuple[int, int, int]]:
    """Start, end and words of the largest units that hold to the limit; `divisions` go from coarse to fine."""
    start, end = span
    piece = text[start:end]
    words = size(piece)
    if words > limit:
        for left, right in divisions[0](piece, limit):
            yield from _pieces(text, (start + left, start + right), limit, divisions[1:])
    elif words:
        yield end - len(piece.lstrip()), start + len(piece.rstrip()), words


def _blocks(text: str, limit: int) -> Iterator[Span]:
    """What stands between blank lines."""
    start = 0
    for gap in _BLANK_LINE.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _lines(text: str, limit: int) -> Iterator[Span]:
    """Runs of sentences with no line end between: a paragraph, be its lines wrapped or not."""
    start = end = 0
    for left, right in _sentences(text, limit):
        if end and "\n" in text[end:left]:
            yield start, end
            start = left
        end = right
    yield start, end


def _sentences(text: str, limit: int) -> Iterator[Span]:
    return ((sentence.start, sentence.end) for sentence in split(text))


def _runs(text: str, limit: int) -> Iterator[Span]:
    """As many words as may be in a row."""
    words = [word.span() for word in _WORD.finditer(text)]
    for first in range(0, len(words), limit):
        yield words[first][0], words[first : first + limit][-1][1]


def cut_like_factscore(sections: Sequence[str], *, limit: int = LIMIT) -> list[str]:
    """Passages packed as FActScore packs them, words in place of its tokens, for comparison with published numbers.

    Each section counts two tokens more than it has words, for the marks of its begin and end; the sections of a page
    fill one passage after the other without regard to sentences: 600 words give passages of 256, 256 and 90 tokens,
    that is of 255, 256 and 89 words. Raises ValueError for a limit below 1.
    """
    _check(limit)
    mark = ""
    tokens = [token for section in sections if section.strip() for token in (mark, *section.split(), mark)]
    packed = [tokens[start : start + limit] for start in range(0, len(tokens), limit)]
    return [text for text in (" ".join(filter(None, passage)) for passage in packed) if text]


def _check(limit: int) -> None:
    if limit < 1:
        raise ValueError(f"a passage must hold at least 1 word, not {limit}")
