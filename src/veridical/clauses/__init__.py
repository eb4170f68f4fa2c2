"""The embedded decomposer: clauses by dependency parse, no language model.

`model` loads the parser, `parse` makes trees of sentences, `repair` and `verbs` mend them, `phrases`, `notes`, `names`
and `extract` take the facts out of a tree, `sound` looks whether they are sentences, `pronouns` puts names. Facts are
copies: the words of the sentence, with "is", "was" and the like between them ("has" for "having"), and the topic's name
for its pronouns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from ..facts import Wording, assemble
from ..nonclaims import reason
from ..types import AtomicFact, Decomposition, Generation, Sentence, Skipped
from . import model
from .broken import is_broken, mended
from .extract import extract
from .language import is_english
from .parse import parses
from .pronouns import KINDS, Resolver, instead
from .tree import Tree, written

RULES = 4
"""Raised with each change of the rules that can change a fact: part of the name, so of every signature."""
NOT_ENGLISH = "whole sentence: not parsed (not English)"
TOO_LONG = "whole sentence: not parsed (too long)"
NOT_READ = "whole sentence: no clause found"


@dataclass(frozen=True)
class ClauseDecomposer:
    """Decomposition by rule over a dependency parse. Deterministic, thread-safe, English.

    Sentences in another language, the part of a sentence beyond `parse.LONGEST` tokens, and sentences in which no
    clause is found are one fact each, with a flag that says so. Raises UsageError where spaCy or its model is missing
    or is not the pinned one.
    """

    resolve: bool = True
    """Put names for pronouns (`AtomicFact.original` keeps the wording before)."""
    merge: bool = True
    """Count facts that say the same once (see `facts.assemble`)."""
    version: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", model.version())

    @property
    def name(self) -> str:
        return f"clauses-{RULES}({self.version})"

    async def decompose(self, generation: Generation, sentences: Sequence[Sentence]) -> Decomposition:
        """See `Decomposer`. Parses in a thread, all sentences in one batch."""
        return await asyncio.to_thread(self.decompose_sync, generation, sentences)

    def decompose_sync(self, generation: Generation, sentences: Sequence[Sentence]) -> Decomposition:
        """The same, in this thread."""
        reasons = {sentence.index: reason(sentence, sentences) for sentence in sentences}
        drafts = self._drafts(generation, [sentence for sentence in sentences if not reasons[sentence.index]])
        assembled = assemble(
            generation,
            sentences,
            [(sentence.index, [Wording(draft.text) for draft in told]) for sentence, told in drafts],
            skipped=[Skipped(sentence=index, reason=why) for index, why in reasons.items() if why],
            merge=self.merge,
        )
        known = {(sentence.index, draft.text): draft for sentence, told in drafts for draft in reversed(told)}
        facts = tuple(_marked(fact, known.get((fact.sentence, fact.text))) for fact in assembled.facts)
        return msgspec.structs.replace(assembled, facts=facts)

    def _drafts(self, generation: Generation, claims: Sequence[Sentence]) -> list[tuple[Sentence, list[_Draft]]]:
        english = [sentence for sentence in claims if is_english(sentence.text, generation.text)]
        parsed = dict(zip((sentence.index for sentence in english), parses([s.text for s in english]), strict=True))
        resolver = Resolver.of(generation.topic, [tree for found in parsed.values() for tree in found])
        people = resolver.kind in ("he", "she")
        drafts: list[tuple[Sentence, list[_Draft]]] = []
        for sentence in claims:
            found = parsed.get(sentence.index)
            if found is None:
                told = [_Draft(sentence.text.strip(), None, NOT_ENGLISH)]
            else:
                told = [draft for tree in found for draft in self._told(tree, resolver, people=people)]
                told = told or [_Draft(sentence.text.strip(), None, NOT_READ)]
                told += [_Draft(piece, None, TOO_LONG) for tree in found for piece in tree.rest]
            drafts.append((sentence, told))
        return drafts

    def _told(self, tree: Tree, resolver: Resolver, *, people: bool) -> list[_Draft]:
        references = resolver.references(tree) if self.resolve else {}
        drafts: dict[str, _Draft] = {}
        about = resolver.topic if self.resolve and not any(tag.startswith(("V", "MD")) for tag in tree.tags) else None
        for fact in extract(tree, people=people):
            before = written(fact, tree)
            text = written(fact, tree, instead(fact, tree, references, resolver.topic)) if references else before
            if about and about.lower() not in text.lower():  # "Born: 1942", an item of a list, says it of the topic
                text = f"{about}: {text}"
            before, text = mended(before), mended(text)
            if text and not _says_nothing(text) and not is_broken(text):
                drafts.setdefault(text, _Draft(text, before if before != text else None, None))
        return list(drafts.values())


@dataclass(frozen=True)
class _Draft:
    text: str
    original: str | None
    flag: str | None


def _says_nothing(text: str) -> bool:
    """ "He." """
    words = text.rstrip(".").split()
    return not any(c.isalnum() for c in text) or (len(words) == 1 and words[0].lower() in KINDS)


def _marked(fact: AtomicFact, draft: _Draft | None) -> AtomicFact:
    if draft is None:
        return fact
    flags = (*fact.flags, draft.flag) if draft.flag else fact.flags
    return msgspec.structs.replace(fact, original=draft.original, flags=flags)
