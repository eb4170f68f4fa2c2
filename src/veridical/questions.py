"""Question-answering prompting: a fact becomes a question, and what is answered is compared with what it should be.

FActScore compares it with asking True or False (appendix B.3, Table 11) and finds it worse: questions are often so
vague that another right answer counts as not supported ("What is Samuel Oboh's job?", expected "architect", answered
"vice president"). Three steps a fact: a question with its expected answer is made from the fact; the question is
answered without sight of the fact; the two answers are compared.

Labels: SUPPORTED where the answers say the same. Another answer is NOT_ENOUGH_EVIDENCE with `choices="two"`, for the
reason above: it need not exclude the fact. `choices="three"` asks whether both can be right: CONTRADICTED if not.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from .asking import ask, prompt
from .errors import ParseError, StageError, UsageError
from .failures import failure
from .models.base import ChatReply
from .prompts import Template, fence
from .quotes import best_quote
from .replies.questions import read_answer, read_question
from .selfcheck import voted
from .showing import fitting
from .text.normal import STOPWORDS, is_blank
from .text.same import content, occurs, same
from .types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Quote, Verdict
from .verify import LLMVerifier, RetrieveVerifier

_SOURCES = ("passages", "samples", "none")


@dataclass(frozen=True)
class QAVerifier(LLMVerifier):
    """A verifier that asks a question instead of "True or False?": two to three calls a fact.

    `mode`, `choices` and the rest are those of `RetrieveVerifier`; `mode` is how the comparison of the answers is read.
    Answers that are the `same` need no comparison (mode "equal"), nor does "unknown" (mode "unknown", not enough
    evidence); both have no probability. A question whose expected answer is not a part of the fact, or stands in the
    question, is asked for once more (`retries`), then a `Failure`, as is trouble at any step. The rationale holds the
    question and both answers.
    """

    evidence: str = "passages"
    """What the question is answered from. "passages": the evidence as a whole. "samples": each passage alone, and the
    majority decides (self-check; gather with `selfcheck.Samples`). "none": what the model knows (no-context)."""
    order: str = "best_last"
    """As in `RetrieveVerifier`, as is `max_evidence_tokens`."""
    max_evidence_tokens: int = 3000
    asking: Template = field(init=False)
    again: Template = field(init=False)
    answering: Template = field(init=False)
    answer_again: Template = field(init=False)

    _template = "compare"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evidence not in _SOURCES:
            raise UsageError(f"questions are answered from {', '.join(_SOURCES)}, not {self.evidence!r}")
        answering = "answer_closed" if self.evidence == "none" else "answer"
        names = {"asking": "ask", "again": "again", "answering": answering, "answer_again": "answer_again"}
        for part, name in names.items():
            object.__setattr__(self, part, Template.load(f"questions/{name}"))
        _ = self._retrieve  # refuses an order that there is not

    @property
    def gives_probability(self) -> bool:
        """By the vote of samples only: equal answers and "unknown" have none."""
        return self.evidence == "samples"

    def _file(self, name: str) -> str:
        return f"questions/{name}_three" if self.choices == "three" else f"questions/{name}"

    @property
    def name(self) -> str:
        return f"questions({self.model.name})"

    @functools.cached_property
    def _retrieve(self) -> RetrieveVerifier:
        """Shows passages: what fits, in order."""
        return RetrieveVerifier(self.model, order=self.order, max_evidence_tokens=self.max_evidence_tokens)

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """See `Verifier`."""
        sentences = self._sentences(generation)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._fact(fact, evidence.passages, generation, sentences))
                for fact, evidence in facts
            ]
        return [task.result() for task in tasks]

    async def _fact(
        self, fact: AtomicFact, passages: Sequence[Passage], generation: Generation, sentences: Mapping[int, str]
    ) -> Verdict | Failure:
        given = [] if self.evidence == "none" else [passage for passage in passages if not is_blank(passage.text)]
        if self.evidence != "none" and not given:
            return Verdict(label=Label.NOT_ENOUGH_EVIDENCE, judge=self.model.name, mode="no evidence")
        text = self.asking.fill(
            context=self._context(fact, generation, sentences), statement=fence("statement", fact.text)
        )
        try:
            question, expected = await self._ask(text, functools.partial(_usable, fact.text), self.again)
        except StageError as error:
            return _step("making a question", error)
        pair = _Pair(fact, question, expected, generation)
        if self.evidence != "samples":
            return await self._answered(pair, given)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._answered(pair, [passage])) for passage in given]
        outcomes = [(passage.id, task.result()) for passage, task in zip(given, tasks, strict=True)]
        return voted(self.model.name, outcomes)

    async def _answered(self, pair: _Pair, passages: Sequence[Passage]) -> Verdict | Failure:
        shown = fitting(passages, self.max_evidence_tokens)
        try:
            given = await self._ask(self._question(pair, shown), _read, self.answer_again)
        except StageError as error:
            return _step("answering", error)
        quote = best_quote(pair.fact.text, shown, pair.generation.topic)
        verdict = await self._compared(pair, given, quote)
        if isinstance(verdict, Failure):
            return msgspec.structs.replace(verdict, message=f"comparing the answers: {verdict.message}")
        told = f"Q: {pair.question} Expected: {pair.expected} Answered: {given or 'unknown'}"
        reasons = f"{told}\n{verdict.rationale}" if verdict.rationale else told
        return msgspec.structs.replace(verdict, rationale=reasons)

    def _question(self, pair: _Pair, shown: Sequence[Passage]) -> str:
        """The topic is told, the sentence is not: it would give the answer away."""
        topic = pair.generation.topic
        slots = {
            "context": fence("context", f"Topic: {topic}") if topic else "",
            "question": fence("question", pair.question),
        }
        if self.evidence != "none":
            slots["evidence"] = self._retrieve._evidence(shown)
        return self.answering.fill(**slots)

    async def _compared(self, pair: _Pair, given: str | None, quote: Quote | None) -> Verdict | Failure:
        if given is None:
            return msgspec.structs.replace(self._made(Label.NOT_ENOUGH_EVIDENCE, quote), mode="unknown")
        if same(pair.expected, given):
            return msgspec.structs.replace(self._made(Label.SUPPORTED, quote), mode="equal")
        text = self.template.fill(
            question=fence("question", pair.question),
            expected=fence("expected", pair.expected),
            given=fence("given", given),
        )
        return await self._verdict(text, quote)

    async def _ask(self, text: str, read: Any, reminder: Template) -> Any:
        request = prompt(text, max_tokens=self.max_tokens, temperature=self.temperature)
        return await ask(self.model, request, read, reminder=reminder.fill(), retries=self.retries)


@dataclass(frozen=True)
class _Pair:
    """A fact's question and the answer it should get."""

    fact: AtomicFact
    question: str
    expected: str
    generation: Generation


def _usable(fact: str, reply: ChatReply) -> tuple[str, str]:
    _uncut(reply)
    question, expected = read_question(reply.text)
    function_words = set(content(expected)) <= STOPWORDS and expected == expected.lower()  # "us" is one, "US" is none
    if not occurs(expected, fact) or len(content(expected)) == len(content(fact)) or function_words:
        raise ParseError(f"the expected answer is not a part of the fact: {expected!r}", reply=reply.text)
    if occurs(expected, question):
        raise ParseError(f"the question gives its answer away: {question!r}", reply=reply.text)
    return question, expected


def _read(reply: ChatReply) -> str | None:
    _uncut(reply)
    return read_answer(reply.text)


def _uncut(reply: ChatReply) -> None:
    if reply.finish_reason == "length":
        raise ParseError("the reply was cut before its end", reply=reply.text)


def _step(step: str, error: StageError) -> Failure:
    found = failure("verify", error)
    return msgspec.structs.replace(found, message=f"{step}: {found.message}")
