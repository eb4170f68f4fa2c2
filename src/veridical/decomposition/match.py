"""Predicted facts laid against people's facts of the same sentence.

From each fact stop words and the topic's words are dropped; a predicted and a human fact may pair if the F1 of their
token sets is at least t; pairs are made one to one, greedily from the highest F1 down. Precision = matched / predicted
and coverage = matched / human, pooled over the sentences that have human facts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..types import Struct

STOP_WORDS = frozenset({
    "a", "an", "the", "is", "was", "were", "are", "be", "been", "of", "in", "on", "at", "to", "for", "and", "or", "by",
    "with", "as", "it", "its", "his", "her", "he", "she", "they", "that", "this", "has", "had", "have", "who", "which",
    "from",
})  # fmt: skip
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Lower-cased runs of word characters."""
    return _WORD.findall(text.lower())


def content(fact: str, topic: str) -> frozenset[str]:
    """The words of a fact that matching looks at."""
    return frozenset(words(fact)) - STOP_WORDS - frozenset(words(topic))


def overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """F1 of two token sets, in [0, 1]; 0 if either is empty."""
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def matched(predicted: Sequence[str], human: Sequence[str], topic: str, threshold: float) -> list[tuple[int, int]]:
    """Pairs (index of predicted, index of human), greedy from the highest F1 down to `threshold`, ties in text order.

    No fact is in two pairs.
    """
    return [(i, j) for _, i, j in paired(predicted, human, topic, threshold)]


def paired(
    predicted: Sequence[str], human: Sequence[str], topic: str, threshold: float
) -> list[tuple[float, int, int]]:
    """The pairs of `matched`, the F1 of each first, highest first. Those of a higher threshold are a part of them."""
    ours, theirs = ([content(fact, topic) for fact in facts] for facts in (predicted, human))
    scored = ((overlap(a, b), i, j) for i, a in enumerate(ours) for j, b in enumerate(theirs))
    pairs: list[tuple[float, int, int]] = []
    taken_ours: set[int] = set()
    taken_theirs: set[int] = set()
    for one in sorted((one for one in scored if one[0] >= threshold), key=lambda one: (-one[0], one[1], one[2])):
        _, i, j = one
        if i not in taken_ours and j not in taken_theirs:
            pairs.append(one)
            taken_ours.add(i)
            taken_theirs.add(j)
    return pairs


class Match(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Counts pooled over sentences."""

    matched: int = 0
    predicted: int = 0
    human: int = 0

    @property
    def precision(self) -> float | None:
        """None where nothing was predicted."""
        return self.matched / self.predicted if self.predicted else None

    @property
    def coverage(self) -> float | None:
        """None where people wrote nothing."""
        return self.matched / self.human if self.human else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and coverage; None where there is nothing on either side."""
        both = self.predicted + self.human
        return 2 * self.matched / both if both else None

    def __add__(self, other: Match) -> Match:
        return Match(
            matched=self.matched + other.matched,
            predicted=self.predicted + other.predicted,
            human=self.human + other.human,
        )
