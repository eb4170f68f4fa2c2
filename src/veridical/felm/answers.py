"""Drawing one or several answers to a question, and reading each."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from ..asking import ask
from ..errors import StageError, leaf
from ..failures import failure
from ..models.base import ChatReply, ChatRequest, LanguageModel
from ..types import Failure
from .consistency import Vote
from .parse import SCHEMA, read_felm, read_ids, read_ids_json, read_types, read_vicuna
from .records import Judgement, Prediction, Sample, Why

STAGE = "felm"
COMPAT = {"felm": read_felm, "vicuna": read_vicuna}
"""Readers of the released code by name."""


@dataclass(frozen=True)
class Reading:
    """How an answer is read."""

    shape: str
    compat: str | None
    types: bool
    reminder: str
    retries: int

    def __call__(self, reply: ChatReply, n: int) -> frozenset[int]:
        if self.compat:
            return COMPAT[self.compat](reply.text, n)
        if self.shape == "json":
            return read_ids_json(reply.text, n)
        return read_ids(reply.text, n, cut=reply.finish_reason == "length")


@dataclass(frozen=True)
class Answer:
    """What one reply calls wrong, or why that is not known."""

    ids: frozenset[int] | None
    raw: str
    failure: Failure | None = None


@dataclass(frozen=True)
class Drawn:
    """The answers to one question."""

    answers: Sequence[Answer]
    types: dict[int, str]
    """Number -> the type of error that most answers give it."""

    @property
    def votes(self) -> list[Vote]:
        return [one.ids for one in self.answers]

    @property
    def trouble(self) -> Why:
        """Why nothing can be said, where no answer could be read."""
        unread = any(one.failure and one.failure.error == "ParseError" for one in self.answers)
        return Why.PARSE_ERROR if unread else Why.FAILURE

    def prediction(self, sample: Sample, judgements: tuple[Judgement, ...]) -> Prediction:
        failures = [one.failure for one in self.answers if one.failure]
        return Prediction(
            id=sample.id,
            judgements=judgements,
            replies=tuple(one.raw for one in self.answers),
            asked=sum(one.ids is not None for one in self.answers) + sum(one.error == "ParseError" for one in failures),
            unread=sum(one.error == "ParseError" for one in failures),
            failure=failures[0] if len(failures) == len(self.answers) else None,
        )


async def draw(model: LanguageModel, request: ChatRequest, n: int, samples: int, reading: Reading) -> Drawn:
    """`samples` answers at once; each one's number keeps it apart from the others in the cache. Trouble with one is
    that one's failure; a `FatalError` is raised."""

    async def one(number: int) -> Answer:
        raw = ""

        def read(reply: ChatReply) -> frozenset[int]:
            nonlocal raw
            raw = reply.text
            return reading(reply, n)

        asked = msgspec.structs.replace(request, sample=number)
        if reading.shape == "json":
            asked = msgspec.structs.replace(asked, json_schema=SCHEMA)
        try:
            return Answer(await ask(model, asked, read, reminder=reading.reminder, retries=reading.retries), raw)
        except StageError as error:
            return Answer(None, raw, failure(STAGE, error))

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number)) for number in range(samples)]
    except BaseExceptionGroup as errors:
        raise leaf(errors) from None
    answers = [task.result() for task in tasks]
    return Drawn(answers, _types(answers) if reading.types else {})


def _types(answers: Sequence[Answer]) -> dict[int, str]:
    given: dict[int, Counter[str]] = {}
    for one in answers:
        for number, type_ in read_types(one.raw).items():
            if one.ids and number in one.ids:
                given.setdefault(number, Counter())[type_] += 1
    return {number: counts.most_common(1)[0][0] for number, counts in given.items()}
