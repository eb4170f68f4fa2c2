"""From the wordings that a decomposer took out of sentences to atomic facts: ids, spans, duplicates, warnings.

Every decomposer ends here, so that facts mean the same whoever wrote them. No wording is ever altered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .text.invention import Known
from .text.normal import STOPWORDS, content_key, tokens
from .types import AtomicFact, Decomposition, Generation, Sentence, SentenceFailure, Skipped

NO_CLAIM = "no claim found in it"
"""Reason given for a sentence out of which a decomposer took nothing."""


@dataclass(frozen=True)
class Wording:
    """A fact in words, before it has a place."""

    text: str
    gold: str | None = None
    """A human's label of it, where it came with the input."""


def assemble(
    generation: Generation,
    sentences: Sequence[Sentence],
    wordings: Sequence[tuple[int, Sequence[str | Wording]]],
    *,
    skipped: Sequence[Skipped] = (),
    failures: Sequence[SentenceFailure] = (),
    merge: bool = True,
) -> Decomposition:
    """Facts in text order out of (sentence index, its wordings).

    - Blank wordings are left out; a sentence left with none is skipped with `NO_CLAIM`.
    - With `merge`, wordings that differ in case, blanks, quotes, articles, final punctuation or the citation marks at
      the end only are one fact in the whole generation; `repeats` counts the further ones. So is "He was born." beside
      "He was born in 1977." (but a "founding member" is not beside "a founding member of X": it is a claim of its own).
    - `span` is where the fact stands in its sentence, else the shortest stretch with all of its words that stand there
      (the topic's apart), None if that is less than half of them.
    - `flags` names each proper name and number that stands neither in the text up to the end of the sentence, nor in
      the topic or the prompt ("invented: 1987"; see `invention`).
    """
    by_index = {sentence.index: sentence for sentence in sentences}
    drafts: list[_Draft] = []
    empty: list[Skipped] = []
    for index, texts in sorted(wordings, key=lambda item: item[0]):
        given = [text if isinstance(text, Wording) else Wording(text) for text in texts]
        worded = [wording for wording in given if wording.text.strip()]
        if not worded:
            empty.append(Skipped(sentence=index, reason=NO_CLAIM))
        drafts.extend(_drafts(by_index[index], worded, merge=merge))
    if merge:
        drafts = _merged(drafts)
    return Decomposition(
        facts=_numbered(drafts, generation, Known(generation, sentences)),
        skipped=tuple(sorted((*skipped, *empty), key=lambda item: item.sentence)),
        failures=tuple(sorted(failures, key=lambda item: item.sentence)),
    )


@dataclass
class _Draft:
    sentence: Sentence
    wording: Wording
    repeats: int = 0


def _drafts(sentence: Sentence, wordings: Sequence[Wording], *, merge: bool) -> list[_Draft]:
    """The wordings of one sentence; what only begins another of them is merged into it."""
    drafts = [_Draft(sentence, Wording(wording.text.strip(), wording.gold)) for wording in wordings]
    if not merge:
        return drafts
    kept: list[_Draft] = []
    for draft in drafts:
        fuller = next((other for other in drafts if _fuller(draft.wording, other.wording)), None)
        if fuller:
            fuller.repeats += 1
        else:
            kept.append(draft)
    return kept


def _fuller(short: Wording, longer: Wording) -> bool:
    """Whether `longer` says it all; never where people labelled the two differently."""
    return short.gold == longer.gold and _begins(short.text, longer.text)


_BARE_ENDING = re.compile(
    r"\b(?:born|appointed|characteri[sz]ed|described|known|served|elected|named|called|advocate|member)$"
)


def _begins(short: str, longer: str) -> bool:
    """ "He was born." says nothing beside "He was born in 1977.": its sense is in what follows."""
    stem = short.rstrip(". ").casefold()
    if not _BARE_ENDING.search(stem) or stem.endswith("founding member"):
        return False
    return longer.casefold().startswith(stem + " ") and not _BARE_ENDING.search(longer.rstrip(". ").casefold())


def _merged(drafts: Sequence[_Draft]) -> list[_Draft]:
    kept: dict[tuple[str, str | None], _Draft] = {}
    for draft in drafts:
        first = kept.setdefault((content_key(draft.wording.text), draft.wording.gold), draft)
        if first is not draft:
            first.repeats += 1 + draft.repeats
    return list(kept.values())


def _numbered(drafts: Sequence[_Draft], generation: Generation, known: Known) -> tuple[AtomicFact, ...]:
    facts: list[AtomicFact] = []
    counts: Counter[int] = Counter()
    topic = frozenset(tokens(generation.topic or ""))
    places: dict[int, _Place] = {}
    for draft in drafts:
        index, text = draft.sentence.index, draft.wording.text
        place = places.get(index) or places.setdefault(index, _Place(draft.sentence))
        facts.append(
            AtomicFact(
                id=f"{generation.id}/{index}.{counts[index]}",
                text=text,
                sentence=index,
                span=place.span(text, topic),
                repeats=draft.repeats,
                flags=tuple(f"invented: {word}" for word in known.missing(text, index)),
                gold=draft.wording.gold,
            )
        )
        counts[index] += 1
    return tuple(facts)


_PIECE = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)?")


class _Place:
    """The words of a sentence and where they stand."""

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.pieces = [(frozenset(tokens(piece.group())), *piece.span()) for piece in _PIECE.finditer(sentence.text)]
        self.words = frozenset(word for words, _, _ in self.pieces for word in words)

    def span(self, fact: str, topic: frozenset[str]) -> tuple[int, int] | None:
        """Where the fact stands in the generation (see `assemble`)."""
        bare = fact.strip(" .")
        at = self.sentence.text.find(bare) if bare else -1
        if at >= 0:
            return self.sentence.start + at, self.sentence.start + at + len(bare)
        content = frozenset(tokens(fact)) - STOPWORDS
        wanted = content - topic or content
        there = wanted & self.words
        if not there or 2 * len(there) < len(wanted):
            return None
        held = [(words & there, start, end) for words, start, end in self.pieces if words & there]
        start, end = _shortest(held, len(there))
        return self.sentence.start + start, self.sentence.start + end


def _shortest(pieces: Sequence[tuple[frozenset[str], int, int]], wanted: int) -> tuple[int, int]:
    """The shortest stretch of pieces that holds `wanted` different words, as all of them do; the first of equals."""
    best = pieces[0][1], pieces[-1][2]
    held: Counter[str] = Counter()
    left = 0
    for words, _, end in pieces:
        held.update(words)
        while len(held) == wanted:
            start = pieces[left][1]
            if end - start < best[1] - best[0]:
                best = start, end
            for word in pieces[left][0]:
                held[word] -= 1
                if not held[word]:
                    del held[word]
            left += 1
    return best
