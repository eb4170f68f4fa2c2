"""The text of a query: on one line, and as long as a provider takes."""

from __future__ import annotations

import re

from ...text.normal import STOPWORDS

_NEGATIONS = {"no", "nor", "not", "neither", "never", "without", "cannot"}
_SMALL = frozenset(word for word in STOPWORDS - _NEGATIONS if not word.endswith("n't"))
"""Words that a search can do without; a negation is none of them."""
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff]+")


def one_line(text: str) -> str:
    """Without line breaks, control characters, runs of blanks and broken surrogates."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return " ".join(_UNSEEN.sub(" ", text).split())


def shorten(query: str, limit: int) -> str:
    """At most `limit` characters of a query, whole words in their order.

    Stop words go first, then words that are neither names nor numbers, then any; each time from the end, and no more
    than needed. A single word that is longer than the limit (text without blanks, too) is cut.
    """
    if len(query) <= limit:
        return query
    words = query.split()
    keep = [True] * len(words)
    size = len(query)
    for expendable in (_is_small, _is_plain, _is_any):
        for place in range(len(words) - 1, -1, -1):
            if size <= limit:
                break
            if keep[place] and expendable(words[place], place) and sum(keep) > 1:
                keep[place] = False
                size -= len(words[place]) + 1
    return " ".join(word for word, kept in zip(words, keep, strict=True) if kept)[:limit].strip()


def fewer(query: str, most: int) -> str:
    """At most so many words of a query, left out in the order of `shorten`."""
    while len(query.split()) > most:
        query = shorten(query, len(query) - 1)  # a word less
    return query


def _is_small(word: str, place: int) -> bool:
    return word.strip("\"'(),.;:!?").lower() in _SMALL


def _is_plain(word: str, place: int) -> bool:
    """Neither a name nor a number. A query's first word is capitalised without being a name, and stays all the same."""
    return not any(letter.isupper() or letter.isdigit() for letter in word)


def _is_any(word: str, place: int) -> bool:
    return True
