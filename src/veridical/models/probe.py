"""What an endpoint can do, found out with a few small calls."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Any, TypeVar

import msgspec

from ..errors import VeridicalError
from ..types import Struct
from .base import ChatRequest, LanguageModel, Message
from .labels import label_probability

T = TypeVar("T")

QUESTION = "Is this statement True or False? Water is wet.\nAnswer with one word, True or False.\nVerdict:"
WINDOWS = (2_000, 4_000, 8_000, 16_000, 32_000)
"""Prompt sizes that are tried, in words of one token or more."""


class Probe(Struct, omit_defaults=False):
    """Each finding is True, False, or None where it could not be found out; `notes` say it in words."""

    model: str
    chat: bool = False
    seconds: float | None = None
    """Of the first answer."""
    served_as: str = ""
    """The name that the server reports."""
    usage: bool | None = None
    """Reports how many tokens it has read."""
    logprobs: bool | None = None
    """Gives log-probabilities of the labels."""
    json_schema: bool | None = None
    """Keeps to a JSON schema."""
    repeatable: bool | None = None
    """The same request gave the same text twice."""
    window: int | None = None
    """The largest tried prompt, in words, that was read whole."""
    notes: tuple[str, ...] = ()


async def gives_logprobs(model: LanguageModel) -> bool:
    """Whether a judge can be read by its label probabilities, by one call. Raises what the call raises."""
    reply = await model.chat(_asking(QUESTION, top_logprobs=20, max_tokens=8))
    return label_probability(reply, ("True",), ("False",)) is not None


async def probe(model: LanguageModel, *, longest: int = 8_000) -> Probe:
    """Try chat, usage, log-probabilities, JSON schema, repeatability and the window, up to `longest` words.

    Never raises for what the server does: what fails is False, with its words in the notes.
    """
    notes: list[str] = []
    started = time.perf_counter()
    first = await _try(notes, "chat", model.chat(_asking(QUESTION, max_tokens=8)))
    if first is None:
        return Probe(model=model.name, notes=tuple(notes))
    found = Probe(
        model=model.name,
        chat=True,
        seconds=round(time.perf_counter() - started, 3),
        served_as=first.model,
        usage=first.prompt_tokens > 0,
        logprobs=await _try(notes, "log-probabilities", gives_logprobs(model)),
        json_schema=await _try(notes, "JSON schema", _keeps_schema(model)),
        repeatable=await _try(notes, "repeating", _repeats(model)),
        window=await _window(model, longest, notes),
    )
    if found.logprobs is False:
        notes.append("no log-probabilities of True and False: verdicts can only be read from the text (--read text)")
    if not found.usage:
        notes.append("no token counts: a prompt that the server cuts cannot be noticed")
    if found.repeatable is False:
        notes.append("the same request gave two texts at temperature 0: results vary between runs without the cache")
    return msgspec.structs.replace(found, notes=tuple(notes))


async def _try(notes: list[str], what: str, call: Awaitable[T]) -> T | None:
    try:
        return await call
    except VeridicalError as error:
        notes.append(f"{what}: {error}")
        return None


async def _keeps_schema(model: LanguageModel) -> bool:
    schema = {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
        "required": ["colour"],
        "additionalProperties": False,
    }
    reply = await model.chat(_asking("Name a colour.", json_schema=schema, max_tokens=32))
    try:
        value = msgspec.json.decode(reply.text, type=dict[str, str])
    except msgspec.DecodeError:
        return False
    return set(value) == {"colour"} and value["colour"] in ("red", "blue")


async def _repeats(model: LanguageModel) -> bool:
    """Different sample numbers, so that no cache answers for the server; no seed, so that they do not change it."""
    replies = [await model.chat(_asking("Name an animal and say why.", max_tokens=24, sample=n)) for n in (1, 2)]
    return replies[0].text == replies[1].text


async def _window(model: LanguageModel, longest: int, notes: list[str]) -> int | None:
    """Grow the prompt until the server refuses or cuts it."""
    fitting = None
    for words in (size for size in WINDOWS if size <= longest):
        call = model.chat(_asking("tree " * words + QUESTION, max_tokens=4))
        if await _try(notes, f"a prompt of {words} words", call) is None:
            break
        fitting = words
    return fitting


def _asking(text: str, **settings: Any) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), **settings)
