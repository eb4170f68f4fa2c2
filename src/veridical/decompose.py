"""Decomposition: from a generation's sentences to its atomic facts (FActScore, section 3.1)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .asking import ask
from .errors import ParseError, StageError
from .facts import Wording, assemble
from .failures import failure
from .knowledge.bm25 import rank
from .models.base import ChatReply, ChatRequest, LanguageModel, Message
from .nonclaims import reason
from .prompts import Demonstration, Demonstrations, Template, fence
from .replies import Listing, read_list
from .text.normal import tokens
from .types import Decomposition, Failure, Generation, GivenFact, Sentence, SentenceFailure, Skipped

_MARKER = re.compile(r"</?[a-z]{1,12}(?:-\d{1,3})?-[0-9a-f]{6,12}>")
"""As `prompts.fence` makes them."""


class Decomposer(Protocol):
    """Split sentences into self-contained atomic facts."""

    @property
    def name(self) -> str: ...

    async def decompose(self, generation: Generation, sentences: Sequence[Sentence]) -> Decomposition:
        """Facts in text order, non-claims in `skipped`, sentences that could not be read in `failures`."""
        ...


_TURN = Template("turn", "{{context}}\n{{sentence}}")

LIST_SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class LLMDecomposer:
    """Few-shot decomposition, one call a sentence (FActScore, section 3.1 and appendix A.3).

    As published: demonstrations, of which the first `fixed` are always shown and `retrieved` are chosen by BM25. Ours:
    the demonstrations and their wording, and that the model sees what stands before the sentence, so that it can put
    names for pronouns. Sentences that make no claim by rule (`nonclaims`) cost no call.
    """

    model: LanguageModel
    demonstrations: str = "biographies"
    """Name of the set: "biographies" or "general"."""
    fixed: int = 7
    retrieved: int = 1
    shape: str = "list"
    """What the model is asked for: "list" or "json" (with a JSON schema, for servers that can hold the model to it)."""
    context: bool = True
    """Show topic, prompt and the text before the sentence."""
    before: int = 1500
    """How much of the text before, in code points."""
    max_tokens: int = 512
    temperature: float = 0.0
    retries: int = 1
    """Further calls for a sentence whose reply was cut (with twice the room) or unreadable (with a reminder)."""
    examples: Demonstrations = field(init=False)
    template: Template = field(init=False)
    reminder: Template = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "examples", Demonstrations.load(f"decompose/{self.demonstrations}"))
        object.__setattr__(self, "template", Template.load(f"decompose/{self.shape}"))
        object.__setattr__(self, "reminder", Template.load(f"decompose/reminder_{self.shape}"))

    @property
    def name(self) -> str:
        return f"llm({self.model.name})"

    async def decompose(self, generation: Generation, sentences: Sequence[Sentence]) -> Decomposition:
        """See `Decomposer`. A cut list that stays cut gives its complete facts and a failure for its sentence."""
        reasons = {sentence.index: reason(sentence, sentences) for sentence in sentences}
        claims = [sentence for sentence in sentences if not reasons[sentence.index]]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._read(generation, sentence)) for sentence in claims]
        outcomes = [(sentence.index, *task.result()) for sentence, task in zip(claims, tasks, strict=True)]
        return assemble(
            generation,
            sentences,
            [(index, found) for index, found, failed in outcomes if found or not failed],
            skipped=[Skipped(sentence=index, reason=why) for index, why in reasons.items() if why],
            failures=[SentenceFailure(sentence=index, failure=failed) for index, _, failed in outcomes if failed],
        )

    async def _read(self, generation: Generation, sentence: Sentence) -> tuple[tuple[str, ...], Failure | None]:
        """The wordings of one sentence, and what went wrong if something did."""
        partial: list[Listing] = []

        def read(reply: ChatReply) -> Listing:
            listing = read_list(reply.text, cut=reply.finish_reason == "length")
            if listing.truncated:
                partial.append(listing)
                raise ParseError(f"the list was cut after {len(listing.items)} complete facts", reply=reply.text)
            if any(_MARKER.search(item) for item in listing.items):
                raise ParseError("the reply repeats the prompt's own markers", reply=reply.text)
            return listing

        request = ChatRequest(
            messages=self.messages(generation, sentence),
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            json_schema=LIST_SCHEMA if self.shape == "json" else None,
        )
        try:
            listing = await ask(self.model, request, read, reminder=self.reminder.fill(), retries=self.retries)
            return listing.items, None
        except StageError as error:
            best = max((listing.items for listing in partial), key=len, default=())
            return best, failure("decompose", error)

    def messages(self, generation: Generation, sentence: Sentence) -> tuple[Message, ...]:
        """What the model is asked about one sentence: each demonstration is a question and its answer.

        As turns, even small chat models keep to the form of the answers; shown in one text, they do not.
        """
        chosen = self._chosen(sentence.text)
        asked = [(example.context, example.sentence) for example in chosen]
        asked.append((self._context(generation, sentence), sentence.text))
        turns = [self._asked(context, text, first=place == 0) for place, (context, text) in enumerate(asked)]
        answers = [self._answered(example) for example in chosen]
        shown = [message for pair in zip(turns, answers, strict=False) for message in pair]
        return (*shown, turns[-1])

    def _asked(self, context: str, sentence: str, *, first: bool) -> Message:
        """A turn with one sentence; the first one also holds the instructions."""
        shown = fence("context", context) if self.context else ""
        template = self.template if first else _TURN
        content = template.fill(context=shown, sentence=fence("sentence", sentence))
        return Message(role="user", content=content.strip())

    def _answered(self, example: Demonstration) -> Message:
        if self.shape == "json":
            text = json.dumps({"facts": example.facts}, ensure_ascii=False)
        else:
            text = "\n".join(f"- {fact}" for fact in example.facts) or "NO CLAIMS"
        return Message(role="assistant", content=text)

    def _chosen(self, sentence: str) -> list[Demonstration]:
        """The fixed demonstrations, then the retrieved ones: what is shared by all prompts comes first."""
        fixed, others = self.examples.items[: self.fixed], self.examples.items[self.fixed :]
        wanted = min(self.retrieved, len(others))
        ranked = [index for index, _ in rank(sentence, [other.sentence for other in others], wanted)]
        ranked += [index for index in range(len(others)) if index not in ranked]
        return [*fixed, *(others[index] for index in ranked[:wanted])]

    def _context(self, generation: Generation, sentence: Sentence) -> str:
        start = max(0, sentence.start - self.before)
        before = generation.text[start : sentence.start].strip()
        parts = [
            f"Topic: {generation.topic}" if generation.topic else "",
            f"Question: {generation.prompt}" if generation.prompt else "",
            f"Before: {'… ' if start else ''}{before}" if before else "",
        ]
        return "\n".join(part for part in parts if part) or "(none)"


@dataclass(frozen=True)
class GivenFacts:
    """The facts that came with the input, each tied to its sentence; a human's label is kept in `AtomicFact.gold`.

    A fact goes to the sentence it names, else to the sentence that shares most words with it (the first of equals).
    Raises `StageError` for a generation without facts; an empty list of facts means that nothing is claimed.
    """

    merge: bool = True
    """Count facts that say the same once (see `facts.assemble`)."""

    @property
    def name(self) -> str:
        return "given"

    async def decompose(self, generation: Generation, sentences: Sequence[Sentence]) -> Decomposition:
        if generation.facts is None:
            raise StageError(f"generation {generation.id}: its input has no facts, which `--facts given` needs")
        places = list(sentences) or [Sentence(index=0, text="", start=0, end=0)]
        words = {place.index: frozenset(tokens(place.text)) for place in places}
        by_sentence: dict[int, list[Wording]] = {}
        for fact in generation.facts:
            place = _named(fact, places) or _closest(fact.sentence or fact.text, places, words)
            by_sentence.setdefault(place.index, []).append(Wording(fact.text, fact.label))
        given = assemble(generation, places, list(by_sentence.items()), merge=self.merge)
        return Decomposition(facts=given.facts)


def _named(fact: GivenFact, sentences: Sequence[Sentence]) -> Sentence | None:
    wanted = (fact.sentence or "").strip()
    same = (sentence for sentence in sentences if wanted and sentence.text == wanted)
    holds = (sentence for sentence in sentences if wanted and wanted in sentence.text)
    return next(same, None) or next(holds, None)


def _closest(text: str, sentences: Sequence[Sentence], words: dict[int, frozenset[str]]) -> Sentence:
    wanted = frozenset(tokens(text))
    return max(sentences, key=lambda sentence: len(wanted & words[sentence.index]))
