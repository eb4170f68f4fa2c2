"""Measure a decomposer against facts written by people: matched facts per sentence.

Pure functions, no files. From each fact the stop words and the topic's words are dropped; a predicted and a human fact
may pair if the F1 of their token sets is at least t; pairs are made one to one, greedily from the highest F1 down.
Precision = matched / predicted and coverage = matched / human, pooled over the sentences that have human facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

STOP_WORDS = frozenset({
    "a", "an", "the", "is", "was", "were", "are", "be", "been", "of", "in", "on", "at", "to", "for", "and", "or", "by",
    "with", "as", "it", "its", "his", "her", "he", "she", "they", "that", "this", "has", "had", "have", "who", "which",
    "from",
})  # fmt: skip
PRONOUNS = frozenset({
    "he", "she", "it", "they", "him", "her", "them", "his", "hers", "its", "their", "theirs", "this", "that", "these",
    "those", "i", "we", "you", "who",
})  # fmt: skip
CONNECTIVES = STOP_WORDS | {"s"}
"""Closed-class words, which say nothing that could be made up."""
SEPARATORS = re.compile(r"[,;]|\band\b|\bwho\b|\bwhich\b|\bwhere\b")
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Lower-cased runs of word characters."""
    return _WORD.findall(text.lower())


def content(fact: str, topic: str) -> frozenset[str]:
    """The words of a fact that matching looks at."""
    return frozenset(words(fact)) - STOP_WORDS - frozenset(words(topic))


def f1(a: frozenset[str], b: frozenset[str]) -> float:
    """Token-set F1 in [0, 1]; 0 if either is empty."""
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def matched(predicted: Sequence[str], human: Sequence[str], topic: str, t: float) -> list[tuple[int, int]]:
    """Pairs (index of predicted, index of human), greedy from the highest F1 down to `t`, ties in text order."""
    ours, theirs = ([content(fact, topic) for fact in facts] for facts in (predicted, human))
    scored = sorted((-f1(a, b), i, j) for i, a in enumerate(ours) for j, b in enumerate(theirs))
    pairs: list[tuple[int, int]] = []
    taken_ours: set[int] = set()
    taken_theirs: set[int] = set()
    for negative, i, j in scored:
        if -negative < t:
            break
        if i not in taken_ours and j not in taken_theirs:
            pairs.append((i, j))
            taken_ours.add(i)
            taken_theirs.add(j)
    return pairs


@dataclass(frozen=True)
class Match:
    """Counts pooled over sentences."""

    matched: int
    predicted: int
    human: int

    @property
    def precision(self) -> float:
        return self.matched / self.predicted if self.predicted else 0.0

    @property
    def coverage(self) -> float:
        return self.matched / self.human if self.human else 0.0

    @property
    def f1(self) -> float:
        both = self.predicted + self.human
        return 2 * self.matched / both if both else 0.0

    def __add__(self, other: Match) -> Match:
        return Match(self.matched + other.matched, self.predicted + other.predicted, self.human + other.human)


def pool(rows: Iterable[tuple[Sequence[str], Sequence[str], str]], t: float) -> Match:
    """`rows` are (predicted, human, topic) of one sentence each; those without human facts are left out."""
    total = Match(0, 0, 0)
    for predicted, human, topic in rows:
        if human:
            total += Match(len(matched(predicted, human, topic, t)), len(predicted), len(human))
    return total


def comma_split(sentence: str) -> list[str]:
    """The naive baseline: cut at commas, semicolons, "and", "who", "which", "where"."""
    return [piece.strip() for piece in SEPARATORS.split(sentence) if _WORD.search(piece)]


def invented(fact: str, *sources: str) -> list[str]:
    """Content words and numbers of a fact that stand in none of the sources (sentence, context, topic)."""
    known = {word for source in sources for word in words(source)}
    return [word for word in words(fact) if word not in known and word not in CONNECTIVES]


def leads_with_pronoun(fact: str) -> bool:
    """The fact begins with a word that points elsewhere: it cannot be judged by itself."""
    first = words(fact)[:1]
    return bool(first) and first[0] in PRONOUNS
