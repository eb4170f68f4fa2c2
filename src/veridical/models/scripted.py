"""The double for language models: what is hard to test without a network is tested with this."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..errors import ModelError, UsageError
from .base import ChatReply, ChatRequest

Answer = str | ChatReply | Exception


@dataclasses.dataclass
class Scripted:
    """A model that says what it is told to and keeps what it was asked in `seen`.

    `answer` is one text for every request; a function of the request; a sequence, taken in turn (a request after its
    end is a `ModelError`); or a mapping from words to answers, of which the first whose words occur in the last message
    counts (none: `ModelError`). An answer is a text, a whole reply, or an exception to raise.
    """

    answer: str | Callable[[ChatRequest], Answer] | Sequence[Answer] | Mapping[str, Answer]
    name: str = "scripted"
    delay: float = 0.0
    """Seconds before each answer."""
    seen: list[ChatRequest] = dataclasses.field(default_factory=list, init=False)
    _turns: Iterator[Answer] = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise UsageError(f"delay must not be negative: {self.delay}")
        script = self.answer
        self._turns = iter(script) if isinstance(script, Sequence) and not isinstance(script, str) else iter(())

    @property
    def identity(self) -> str:
        """The name: a script has no address and no weights."""
        return self.name

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The answer; tokens are counted as words."""
        self.seen.append(request)
        if self.delay:
            await asyncio.sleep(self.delay)
        answer = self._answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ChatReply):
            return answer
        words = sum(len(message.content.split()) for message in request.messages)
        return ChatReply(text=answer, prompt_tokens=words, completion_tokens=len(answer.split()), model=self.name)

    async def close(self) -> None:
        """Nothing to close."""

    def _answer(self, request: ChatRequest) -> Answer:
        script = self.answer
        if isinstance(script, str):
            return script
        if isinstance(script, Mapping):
            asked = request.messages[-1].content
            found = next((answer for words, answer in script.items() if words in asked), None)
            return ModelError(f"{self.name}: no answer to {asked!r} in the script") if found is None else found
        if isinstance(script, Sequence):
            return next(self._turns, ModelError(f"{self.name}: the script is at its end"))
        return script(request)
