"""Sentences of a text with their places: prose, items of lists, headings.

The splitter is rules of ours; `experiments/sentences` measures it against others. Its name and version are part of
every signature, since another splitter moves the scores.
"""

from __future__ import annotations

import re

from veridical.text.boundaries import ends
from veridical.text.lines import Block, blocks, is_label, markers, trimmed
from veridical.types import Sentence

SPLITTER = "veridical-1"
"""Name and version of the splitter. Raise the number with every change that moves a boundary."""


_WORD = re.compile(r"[^\W_]")
_TWO_TOKENS = re.compile(r"\S\s+\S")
"""What the published repair asks of a sentence; ours asks for a letter or digit."""


def split(text: str, *, published: bool = False) -> list[Sentence]:
    """The sentences of `text` in order: `text[s.start:s.end] == s.text`, offsets in code points.

    Every character that is not white space lies in exactly one sentence, and no sentence is blank; a text of white
    space and characters without width gives []. `kind` is "item" for sentences of a list item (its marker included),
    "heading" for a line that stands over others or holds no word (a rule, a fence), else "prose".
    Line ends end sentences unless the next line evidently goes on (lower case, or wrapped at a fixed width).
    Scripts that mark no sentence end (Thai, Lao) are split at line ends only.

    `published` gives the sentences of the FActScore annotation (arXiv 2305.14251; Punkt and its repair in the code)
    where they differ by design: see `boundaries.ends`. It serves comparison with published numbers only.
    """
    pieces = [piece for block in blocks(text) for piece in _pieces(text, block, published)]
    return [
        Sentence(index=index, text=text[start:end], start=start, end=end, kind=kind)
        for index, (start, end, kind) in enumerate(pieces)
    ]


def _pieces(text: str, block: Block, published: bool) -> list[tuple[int, int, str]]:
    """Start, end and kind of the sentences of one block, without white space around."""
    if block.kind == "heading":
        return [(block.start, block.end, "heading")]
    numbers = markers(text, block)
    after_number = {end for _, end in numbers}
    cuts = {cut for cut in ends(text, block.body, block.end, published=published) if cut not in after_number}
    cuts.update(start for start, _ in numbers if start > block.body)
    first = numbers[0][0] if numbers else block.end
    pieces: list[tuple[int, int, str]] = []
    for start, end in _full(text, block.start, block.end, sorted(cuts), _TWO_TOKENS if published else _WORD):
        start, end = trimmed(text, start, end)
        lead = end <= first and is_label(text[start:end])
        pieces.append((start, end, "item" if start >= first else "heading" if numbers and lead else block.kind))
    return pieces


def _full(text: str, start: int, end: int, cuts: list[int], full: re.Pattern[str]) -> list[tuple[int, int]]:
    """The spans between `cuts`; one in which `full` finds nothing joins the span before, the first one that after."""
    spans: list[tuple[int, int]] = []
    checked = start
    for cut in [*cuts, end]:
        if full.search(text, checked, cut):
            spans.append((start, cut))
            start = cut
        elif spans:
            spans[-1] = (spans[-1][0], cut)
            start = cut
        checked = cut
    return spans or [(start, end)]
