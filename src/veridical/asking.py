"""Ask a model until its reply can be read: a cut reply again with more room, an unreadable one with a reminder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from .errors import ParseError
from .models.base import ChatReply, ChatRequest, LanguageModel, Message

T = TypeVar("T")


async def ask(
    model: LanguageModel,
    request: ChatRequest,
    read: Callable[[ChatReply], T],
    *,
    reminder: str,
    retries: int = 1,
) -> T:
    """What `read` makes of the reply; at most 1 + `retries` calls.

    `read` raises `ParseError` for a reply that it cannot use. If that reply was cut by max_tokens, the same is asked
    with twice the room; otherwise the reply is shown to the model with the `reminder`. The last `ParseError` is raised
    when the calls are used up. An unreadable reply is taken out of the model's cache.
    """
    asked = request
    for left in range(retries, -1, -1):
        reply = await model.chat(asked)
        try:
            return read(reply)
        except ParseError as error:
            await _forget(model, asked)
            if not left:
                raise ParseError(str(error), reply=reply.text) from None
        if reply.finish_reason == "length":
            asked = msgspec.structs.replace(asked, max_tokens=2 * asked.max_tokens)
        else:
            turns = (Message(role="assistant", content=reply.text), Message(role="user", content=reminder))
            asked = msgspec.structs.replace(asked, messages=(*request.messages, *turns))
    raise ValueError("retries must not be negative")


async def _forget(model: LanguageModel, request: ChatRequest) -> None:
    """A cache may hold the reply: the next run shall ask again."""
    if reject := getattr(model, "reject", None):
        await reject(request)


def prompt(text: str, *, max_tokens: int, temperature: float = 0.0, top_logprobs: int | None = None) -> ChatRequest:
    """A request of one user message."""
    message = Message(role="user", content=text)
    return ChatRequest(messages=(message,), max_tokens=max_tokens, temperature=temperature, top_logprobs=top_logprobs)
