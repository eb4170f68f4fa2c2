"""The words of the evidence that a verdict rests on."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .text.normal import STOPWORDS, tokens
from .text.sentences import split
from .types import Passage, Quote

LEAST = 1 / 3
"""Share of the fact's content words that a sentence must hold to be quoted."""


def best_quote(fact: str, passages: Sequence[Passage], topic: str | None = None) -> Quote | None:
    """The sentence of the passages that shares most content words with the fact, the first of equals.

    Words of the topic do not count if the fact has others: a page is full of its own title. None if even the best
    sentence holds less than a third of the words.
    """
    content = _words(fact)
    wanted = content - _words(topic or "") or content
    best, quote = LEAST * len(wanted) if wanted else 1.0, None
    for passage in passages:
        for start, end, words in _sentences(passage.text):
            shared = len(wanted & words)
            if shared > best or (shared == best and not quote):
                best, quote = shared, Quote(passage=passage.id, start=start, end=end)
    return quote


def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(text)) - STOPWORDS


@functools.lru_cache(maxsize=512)
def _sentences(text: str) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """Places and words of a passage's sentences. Cached: the facts of a generation share their passages."""
    return tuple((sentence.start, sentence.end, _words(sentence.text)) for sentence in split(text))
