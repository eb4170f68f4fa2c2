"""Which of many prompts to keep: those that ask for different things, and so many of them at random.

The authors of LongFact removed by hand what could be answered with about the same response (arXiv 2403.18802, appendix
B.1). Here likeness decides, which errs in both ways: look through what was removed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence

from ..models.encoders import SentenceEncoder
from ..text.normal import fold
from ..text.same import content
from ..types import Struct

LIKENESS = 0.85
"""Cosine of two prompts of embedded/minilm from which they count as the same question. Of the 16,530 pairs within a
topic of the published Objects, 15 reach it: 11 are one thing asked for twice, 2 differ in a number (see `distinct`), 2
are of different things. Of 200 objects asked for in another way about 90 % or more reach it for three wordings; by
"Give me an introduction to …" most do not (docs/longfact.md)."""
OVERLAP = 0.75
"""Share of common words from which two prompts count as the same question, where there is no encoder."""
_ASKING = frozenset(
    (
        *("a", "about", "an", "and", "any", "are", "can", "could", "describe", "did", "discuss", "do", "does"),
        *("elaborate", "explain", "for", "from", "give", "has", "have", "how", "in", "information", "insight"),
        *("insights", "into", "introduction", "is", "it", "its", "know", "let", "me", "might", "more", "of", "on"),
        *("or", "overview", "please", "provide", "share", "some", "tell", "that", "the", "their", "this", "to"),
        *("was", "were", "what", "when", "where", "which", "who", "would", "you", "your"),
    )
)
"""Words that ask, and say nothing of what is asked for."""


class Removed(Struct, frozen=True, kw_only=True):
    """A prompt that asks for about the same as an earlier one."""

    prompt: str
    of: str
    likeness: float


def distinct(
    prompts: Sequence[str], encoder: SentenceEncoder | None = None, *, threshold: float | None = None
) -> tuple[list[str], list[Removed]]:
    """The prompts without those that come too near to an earlier one, and those.

    Near is a cosine of at least `threshold` (0.85), or without an encoder a share of common words (0.75), those that
    only ask left out. Two prompts whose numbers have nothing in common (models of a device, years) are never the same.
    """
    limit = threshold if threshold is not None else LIKENESS if encoder else OVERLAP
    likeness = _cosines(prompts, encoder) if encoder and prompts else _overlaps(prompts)
    kept: list[int] = []
    removed = []
    for place, prompt in enumerate(prompts):
        near = [(likeness(place, other), -other) for other in kept if not _apart(prompt, prompts[other])]
        value, other = max(near, default=(0.0, 0))
        if value >= limit and near:
            removed.append(Removed(prompt=prompt, of=prompts[-other], likeness=round(value, 3)))
        else:
            kept.append(place)
    return [prompts[place] for place in kept], removed


def _cosines(prompts: Sequence[str], encoder: SentenceEncoder) -> Callable[[int, int], float]:
    vectors = encoder.passages(prompts)
    lengths = (vectors**2).sum(axis=1) ** 0.5
    return lambda one, other: float(vectors[one] @ vectors[other] / max(lengths[one] * lengths[other], 1e-12))


def _overlaps(prompts: Sequence[str]) -> Callable[[int, int], float]:
    words = [frozenset(content(prompt)) - _ASKING or frozenset(content(prompt)) for prompt in prompts]
    return lambda one, other: len(words[one] & words[other]) / max(1, len(words[one] | words[other]))


def _apart(one: str, other: str) -> bool:
    numbers, others = _numbers(one), _numbers(other)
    return bool(numbers and others) and not numbers & others


def _numbers(text: str) -> set[str]:
    return {word.strip("?.,;:!()'\"") for word in fold(text).split() if any(map(str.isdecimal, word))}


def choose(prompts: Sequence[str], n: int, *, seed: int, topic: str, task: str) -> list[str]:
    """`n` at random, in their order; all where there are no more. Which ones does not depend on the other topics."""
    if len(prompts) <= n:
        return list(prompts)
    digest = hashlib.sha256(f"{seed}\0{task}\0{topic}".encode()).digest()
    places = random.Random(int.from_bytes(digest[:8])).sample(range(len(prompts)), n)
    return [prompts[place] for place in sorted(places)]
