"""BM25 over a handful of texts, such as the passages of one page (Robertson and Zaragoza 2009).

    score(q, d) = Σ_{t in q} log(1 + (N - n_t + ½) / (n_t + ½)) · f_td (k1 + 1) / (f_td + k1 (1 - b + b |d| / avg))

The idf of Robertson and Spärck Jones, log((N - n + ½) / (n + ½)), is 0 for a word in half of the texts and negative
beyond: over the few passages of one page that puts matching passages last. With the 1 inside the logarithm every
match counts for something. A word that the query repeats counts once.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..text.normal import STOPWORDS, tokens

K1 = 1.5
"""How fast further occurrences of a word stop counting."""
B = 0.75
"""How much a long text is discounted, 0 to 1."""


def rank(query: str, passages: Sequence[str], k: int) -> list[tuple[int, float]]:
    """Places of the best `k` passages and their scores, best first, ties in the order given.

    Passages without a matching word come last with score 0; blank ones never. Statistics are those of `passages`.
    """
    return _index(tuple(passages)).rank(query, k)


def terms(text: str) -> list[str]:
    """The words that count, in order, in their light stem; function words only if there are no others."""
    words = tokens(text)
    return [stem(word) for word in words if word not in STOPWORDS] or [stem(word) for word in words]


def stem(word: str) -> str:
    """Without the ending of an English plural or third person (Harman's S stemmer, 1991)."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if not word.endswith(("eies", "aies")) else word[:-1]
    if word.endswith("es"):
        return word[:-1] if not word.endswith(("aes", "ees", "oes")) else word
    return word[:-1]


@functools.lru_cache(maxsize=64)
def _index(passages: tuple[str, ...]) -> Index:
    """Kept: all facts of a generation ask for the same page, all sentences for the same demonstrations."""
    return Index(passages)


@dataclass(frozen=True)
class Index:
    """Texts counted once, to be asked many times."""

    passages: Sequence[str]
    _postings: dict[str, list[tuple[int, float]]] = field(init=False, repr=False)
    """Word -> the passages it occurs in, each with its weight there."""
    _filled: tuple[int, ...] = field(init=False, repr=False)
    """Places of the passages that are not blank."""

    def __post_init__(self) -> None:
        filled = tuple(place for place, passage in enumerate(self.passages) if passage.strip())
        counts = {place: Counter(terms(self.passages[place])) for place in filled}
        lengths = {place: count.total() for place, count in counts.items()}
        average = sum(lengths.values()) / max(len(filled), 1) or 1.0
        postings: dict[str, list[tuple[int, float]]] = {}
        for place, count in counts.items():
            damping = K1 * (1 - B + B * lengths[place] / average)
            for term, n in count.items():
                postings.setdefault(term, []).append((place, n * (K1 + 1) / (n + damping)))
        object.__setattr__(self, "_postings", postings)
        object.__setattr__(self, "_filled", filled)

    def rank(self, query: str, k: int) -> list[tuple[int, float]]:
        """As the function `rank`."""
        scores = dict.fromkeys(self._filled, 0.0)
        for term in dict.fromkeys(terms(query)):
            postings = self._postings.get(term, ())
            idf = math.log1p((len(self._filled) - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, weight in postings:
                scores[place] += idf * weight
        return sorted(scores.items(), key=lambda scored: -scored[1])[: max(k, 0)]
