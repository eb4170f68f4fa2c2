"""Verification: from a fact and its evidence to a verdict (FActScore, section 4.1).

How its labels map to ours: FActScore's question has two answers, and "False" does not tell a contradicted fact from one
that the evidence does not settle. `choices="two"` therefore gives SUPPORTED or NOT_ENOUGH_EVIDENCE, the weaker
statement, which is right either way; read it as "not supported". `choices="three"` asks for the difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from .asking import ask, prompt
from .errors import ModelError, ParseError, StageError, UsageError
from .failures import failure
from .models.base import ChatReply, LanguageModel
from .models.labels import label_probability
from .prompts import Template, fence
from .quotes import best_quote
from .replies import THREE_WAY, TRUE_FALSE, read_verdict, read_verdicts
from .showing import fitting, written
from .text.sentences import split
from .types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Quote, Verdict


class Verifier(Protocol):
    """Judge facts by their evidence. Takes several at once so that a backend may batch."""

    @property
    def name(self) -> str: ...

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """One verdict or failure for each fact, in order. Blank evidence is never "supported"."""
        ...


_LABELS = {
    "supported": Label.SUPPORTED,
    "not_supported": Label.NOT_ENOUGH_EVIDENCE,
    "contradicted": Label.CONTRADICTED,
    "not_enough_evidence": Label.NOT_ENOUGH_EVIDENCE,
}
_MENUS = {"two": TRUE_FALSE, "three": THREE_WAY}
_TWO = ("True", "False")
_TOP_LOGPROBS = 20
_LABEL_TOKENS = 8
"""Room for the one word that is read by its probability."""


@dataclass(frozen=True)
class LLMVerifier:
    """What the two estimators share: how the question is put and how the reply is read."""

    model: LanguageModel
    mode: str = "text"
    """"text": by the last verdict that the reply settles on. "logprobs": by P(True) / (P(True) + P(False)), supported
    from one half; a server that gives no log-probabilities is a failure, never a reason to read the text instead.
    "logits": by the logits of the first tokens of True and False, nothing is generated; supported where True's is not
    below False's (FActScore asks for more: a tie, which needs the same number twice, is not supported there)."""
    choices: str = "two"
    """"two" (True, False) or "three" (Supported, Contradicted, Not enough evidence; text mode only)."""
    context: bool = True
    """Show the sentence that the fact was taken from."""
    published_sentences: bool = False
    """The sentences are those of the published splitter (`Method.published_sentences`)."""
    max_tokens: int = 512
    temperature: float = 0.0
    retries: int = 1
    """Further calls for a reply that was cut or unreadable."""
    template: Template = field(init=False)
    reminder: Template = field(init=False)

    def __post_init__(self) -> None:
        if self.mode not in ("text", "logprobs", "logits") or self.choices not in _MENUS:
            raise UsageError(f"no such mode or choices: {self.mode!r}, {self.choices!r}")
        if self.mode != "text" and self.choices == "three":
            raise UsageError("label probabilities are read for the two-way question only")
        object.__setattr__(self, "template", Template.load(self._file(self._template)))
        object.__setattr__(self, "reminder", Template.load(self._file("reminder")))

    _template = ""

    @property
    def gives_probability(self) -> bool:
        """Whether each verdict that rests on evidence has a probability."""
        return self.mode != "text"

    def _file(self, name: str) -> str:
        return f"factscore/{name}_three" if self.choices == "three" else f"factscore/{name}"

    async def _verdict(self, text: str, quote: Quote | None) -> Verdict | Failure:
        """Ask one question; trouble with it is a failure of this fact alone."""
        probable = self.mode != "text"
        request = prompt(
            text,
            max_tokens=_LABEL_TOKENS if probable else self.max_tokens,
            temperature=self.temperature,
            top_logprobs=_TOP_LOGPROBS if self.mode == "logprobs" else None,
        )
        if self.mode == "logits":
            request = msgspec.structs.replace(request, labels=_TWO)
        read = self._by_probability if probable else self._by_text
        try:
            label, probability, rationale = await ask(
                self.model, request, read, reminder=self.reminder.fill(), retries=self.retries
            )
        except StageError as error:
            return failure("verify", error)
        return self._made(label, quote, probability=probability, rationale=rationale)

    def _made(
        self, label: Label, quote: Quote | None, *, probability: float | None = None, rationale: str | None = None
    ) -> Verdict:
        return Verdict(
            label=label,
            judge=self.model.name,
            probability=probability,
            mode=self.mode,
            rationale=rationale,
            quotes=(quote,) if quote else (),
        )

    def _by_text(self, reply: ChatReply) -> tuple[Label, None, str | None]:
        if reply.finish_reason == "length":
            raise ParseError("the reply was cut before its end", reply=reply.text)
        outcome = read_verdict(reply.text, _MENUS[self.choices])
        return _LABELS[outcome], None, reply.text.strip() if len(reply.text.split()) > 4 else None

    def _by_probability(self, reply: ChatReply) -> tuple[Label, float, None]:
        if not reply.logprobs:
            given = "log-probabilities" if self.mode == "logprobs" else "logits of labels"
            raise ModelError(f"{self.model.name} gives no {given}; use mode text")
        probability = label_probability(reply, _TWO[:1], _TWO[1:])
        if probability is None:
            raise ParseError("no label with a probability in the reply", reply=reply.text)
        return Label.SUPPORTED if probability >= 0.5 else Label.NOT_ENOUGH_EVIDENCE, probability, None

    def _context(self, fact: AtomicFact, generation: Generation, sentences: Mapping[int, str]) -> str:
        parts = [f"Topic: {generation.topic}" if generation.topic else ""]
        if self.context and fact.sentence in sentences:
            parts.append(f"Taken from: {sentences[fact.sentence]}")
        return fence("context", "\n".join(part for part in parts if part)) if any(parts) else ""

    def _sentences(self, generation: Generation) -> dict[int, str]:
        if not self.context:
            return {}
        return {
            sentence.index: sentence.text for sentence in split(generation.text, published=self.published_sentences)
        }


@dataclass(frozen=True)
class NoContextVerifier(LLMVerifier):
    """FActScore's "no-context LM": the model says True or False from what it knows; evidence is not shown."""

    _template = "closed"

    @property
    def name(self) -> str:
        return f"no-context({self.model.name})"

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """See `Verifier`."""
        sentences = self._sentences(generation)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._verdict(self.prompt(fact, generation, sentences), None)) for fact, _ in facts
            ]
        return [task.result() for task in tasks]

    def prompt(self, fact: AtomicFact, generation: Generation, sentences: Mapping[int, str]) -> str:
        """What the model is asked about one fact; `sentences` are those of the generation by index."""
        return self.template.fill(
            context=self._context(fact, generation, sentences), statement=fence("statement", fact.text)
        )


@dataclass(frozen=True)
class RetrieveVerifier(LLMVerifier):
    """FActScore's "Retrieve→LM": the model says True or False by the passages that were retrieved.

    A fact without passages is NOT_ENOUGH_EVIDENCE in mode "no evidence"; the model is not asked, for it would answer
    from memory.
    """

    order: str = "best_last"
    """"best_last": the best passage next to the question, as published; or "best_first"."""
    max_evidence_tokens: int = 3000
    """Estimated at four bytes a token. Passages that do not fit are left out from the worst up; the best one is cut."""
    facts_per_call: int = 1
    """How many facts share a call and the passages of all of them (text mode only). Facts that such a reply leaves out
    or gives unreadably are asked for one by one."""
    batch: Template | None = field(init=False)
    """None where facts never share a call."""

    _template = "verify"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order not in ("best_last", "best_first") or self.facts_per_call < 1:
            raise UsageError(f"no such order or batch: {self.order!r}, {self.facts_per_call}")
        if self.mode != "text" and self.facts_per_call > 1:
            raise UsageError("label probabilities need one fact a call")
        object.__setattr__(self, "batch", self._batch())

    def _batch(self) -> Template | None:
        return Template.load(self._file("batch"))

    @property
    def name(self) -> str:
        return f"retrieve({self.model.name})"

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """See `Verifier`."""
        sentences = self._sentences(generation)
        cases = [
            Asked(fact, fitting(evidence.passages, self.max_evidence_tokens), generation, sentences)
            for fact, evidence in facts
        ]
        answerable = [place for place, case in enumerate(cases) if case.passages]
        size = self.facts_per_call
        groups = [answerable[start : start + size] for start in range(0, len(answerable), size)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._together([cases[place] for place in places])) for places in groups]
        outcomes: dict[int, Verdict | Failure] = {}
        for places, task in zip(groups, tasks, strict=True):
            outcomes.update(zip(places, task.result(), strict=True))
        nothing = Verdict(label=Label.NOT_ENOUGH_EVIDENCE, judge=self.model.name, mode="no evidence")
        return [outcomes.get(place, nothing) for place in range(len(cases))]

    async def _together(self, cases: Sequence[Asked]) -> list[Verdict | Failure]:
        """One call for all, then one for each that it did not settle."""
        settled = await self._batched(cases) if len(cases) > 1 and self._fit(cases) else {}
        async with asyncio.TaskGroup() as group:
            tasks = {
                place: group.create_task(self._verdict(self._prompt(case), case.quote))
                for place, case in enumerate(cases)
                if place not in settled
            }
        return [settled[place] if place in settled else tasks[place].result() for place in range(len(cases))]

    def _fit(self, cases: Sequence[Asked]) -> bool:
        """Whether the evidence of all of them can be shown together, whole."""
        together = {passage.id: passage for case in cases for passage in case.passages}
        return list(fitting(tuple(together.values()), self.max_evidence_tokens)) == list(together.values())

    async def _batched(self, cases: Sequence[Asked]) -> dict[int, Verdict]:
        numbers = [str(place + 1) for place in range(len(cases))]
        request = prompt(self._batch_prompt(cases), max_tokens=self.max_tokens, temperature=self.temperature)
        try:
            reply = await self.model.chat(request)
        except StageError:  # too long together, say; alone each may pass, and what does not fails by its own name
            return {}
        cut = reply.finish_reason == "length"
        found = read_verdicts(reply.text, numbers, _MENUS[self.choices], cut=cut)
        return {
            place: self._made(_LABELS[found[number]], case.quote)
            for place, (number, case) in enumerate(zip(numbers, cases, strict=True))
            if number in found
        }

    def _prompt(self, case: Asked) -> str:
        return self.template.fill(
            evidence=self._evidence(case.passages),
            context=self._context(case.fact, case.generation, case.sentences),
            statement=fence("statement", case.fact.text),
        )

    def _batch_prompt(self, cases: Sequence[Asked]) -> str:
        longest = max(len(case.passages) for case in cases)
        ranked = [passage for place in range(longest) for passage in _at(cases, place)]
        unique = tuple({passage.id: passage for passage in ranked}.values())
        first = cases[0]
        statements = "\n".join(
            f"{place}: {fence(f'statement-{place}', case.fact.text)}" for place, case in enumerate(cases, start=1)
        )
        topic = f"Topic: {first.generation.topic}"
        assert self.batch  # who has none asks about one fact at a time
        return self.batch.fill(
            evidence=self._evidence(fitting(unique, self.max_evidence_tokens)),
            context=fence("context", topic) if first.generation.topic else "",
            statements=statements,
        )

    def _evidence(self, passages: Sequence[Passage]) -> str:
        ordered = passages if self.order == "best_first" else reversed(passages)
        return fence("evidence", written(ordered))


@dataclass(frozen=True)
class Asked:
    """One fact and all that its question is made of."""

    fact: AtomicFact
    passages: tuple[Passage, ...]
    generation: Generation
    sentences: Mapping[int, str]

    @property
    def quote(self) -> Quote | None:
        return best_quote(self.fact.text, self.passages, self.generation.topic)


def _at(cases: Sequence[Asked], place: int) -> list[Passage]:
    return [case.passages[place] for case in cases if place < len(case.passages)]
