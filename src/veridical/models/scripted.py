"""A model that says what it is told to: the double that ships with the package."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .base import ChatReply, ChatRequest

Line = str | ChatReply | Exception
Script = Line | Sequence[Line] | Mapping[str, Line] | Callable[[ChatRequest], Line]


@dataclass
class Scripted:
    """Answers from a script and remembers what it was asked.

    The script is one line for every call, a sequence taken in turn (the last repeats), a mapping from words to the answer
    of the first prompt that contains them, or a function of the request. An exception in it is raised.
    """

    script: Script
    name: str = "scripted"
    delay: float = 0.0
    """Seconds before each answer."""
    seen: list[ChatRequest] = field(default_factory=list)

    @property
    def identity(self) -> str:
        return self.name

    async def chat(self, request: ChatRequest) -> ChatReply:
        turn = len(self.seen)
        self.seen.append(request)
        await asyncio.sleep(self.delay)
        line = self._line(request, turn)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, ChatReply) else ChatReply(text=line)

    def _line(self, request: ChatRequest, turn: int) -> Line:
        script = self.script
        if isinstance(script, (str, ChatReply, Exception)):
            return script
        if callable(script):
            return script(request)
        if isinstance(script, Mapping):
            prompt = "\n".join(message.content for message in request.messages)
            for words, line in script.items():
                if words in prompt:
                    return line
            raise KeyError(f"no line of the script is for this prompt: {prompt!r}")
        return script[min(turn, len(script) - 1)]

    async def close(self) -> None:
        pass
