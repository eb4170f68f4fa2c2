"""One call of the model client to a server that behaves as told."""

from __future__ import annotations

import asyncio
import dataclasses

from loopback import Handler, Loopback
from veridical.errors import FatalError, ModelError
from veridical.models.base import ChatReply, ChatRequest, Message
from veridical.models.limit import Limited
from veridical.models.openai_compatible import OpenAICompatible
from veridical.models.retry import Retrying


def ask(text: str = "Is it so?", **settings) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), **settings)


@dataclasses.dataclass
class Met:
    """What came of calls to a server."""

    server: Loopback
    model: OpenAICompatible
    reply: ChatReply | None = None
    error: Exception | None = None


async def meet(handler: Handler, request: ChatRequest | None = None, *, retry: bool = False, **settings) -> Met:
    """One call to a server with this handler; with `retry`, through the wrappers, without waiting."""
    async with Loopback(handler) as server:
        client = OpenAICompatible(server.url, "m", **settings)
        model = Retrying(Limited(client), attempts=4, sleep=lambda _: asyncio.sleep(0)) if retry else client
        met = Met(server, client)
        try:
            met.reply = await model.chat(request or ask())
        except (ModelError, FatalError) as caught:
            met.error = caught
        await model.close()
        return met
