"""What calls cost: prices, the usage that servers report, and the bill that a failed call carries to `metered.Paid`.

Every error may carry `spent`, a reply without its text: what the call has cost all the same. Where a request may have
been billed and nobody said how much (a time-out, a reply that was cut), that is the most it can have cost.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

import msgspec

from ..errors import FatalError, ModelError
from ..types import Struct
from .base import ChatReply, ChatRequest
from .retry import Retryable, Trouble

_MESSAGE_TOKENS = 16
"""More than any chat template puts around a message."""
_REASONING_TOKENS = 1024
"""The least that the client asks for again when reasoning has used up max_tokens."""
_ABSURD = 10**12
"""No request has this many tokens, or costs as many dollars."""
_Error = TypeVar("_Error", bound=ModelError | FatalError)


class Price(Struct, frozen=True, kw_only=True):
    """US dollars per million tokens."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """US dollars."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6

    def most(self, request: ChatRequest) -> float:
        """More than one request to the server can cost, in US dollars.

        A token is at least a byte; that over-estimates English prompts about fourfold.
        """
        return self.of(_most_tokens(request), request.max_tokens)

    def worst(self, request: ChatRequest) -> float:
        """More than the call can cost, in US dollars, with the second try that the client may make."""
        again = max(4 * request.max_tokens, _REASONING_TOKENS)
        return self.of(2 * _most_tokens(request), request.max_tokens + again)


def _most_tokens(request: ChatRequest) -> int:
    text = sum(len(message.content.encode("utf-8", "replace")) + _MESSAGE_TOKENS for message in request.messages)
    schema = len(json.dumps(request.json_schema)) if request.json_schema is not None else 0
    return text + schema  # providers put the schema into the prompt


class Reported(Struct, frozen=True, kw_only=True):
    """The `usage` of a reply as far as it can be believed; None = not reported."""

    prompt: int | None = None
    completion: int | None = None
    cost: float | None = None
    """US dollars, as OpenRouter bills."""
    cached: int = 0
    reasoning: int = 0

    @property
    def billed(self) -> bool:
        """Whether it tells what the request cost."""
        return self.cost is not None or (self.prompt is not None and self.completion is not None)


def reported(usage: Any) -> Reported:
    """Read a `usage` of any shape. What is negative or no number is as if it were not there."""
    if not isinstance(usage, dict):
        return Reported()
    cost = usage.get("cost")
    return Reported(
        prompt=_count(usage.get("prompt_tokens")),
        completion=_count(usage.get("completion_tokens")),
        cost=None if cost is None else _number(cost),
        cached=_detail(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning=_detail(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(value: Any) -> int | None:
    if type(value) is int and 0 <= value < _ABSURD:  # the usual case, and no boolean
        return value
    if isinstance(value, str) and value.isdecimal() and len(value) <= 12:
        return int(value)
    number = _number(value)
    return None if number is None else int(number)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _ABSURD:
        return None
    return float(value) if math.isfinite(value) else None


def _detail(details: Any, name: str) -> int:
    return (_count(details.get(name)) or 0) if isinstance(details, dict) else 0


def bill(use: Reported, request: ChatRequest, price: Price, *, model: str = "") -> ChatReply:
    """The reply without its text. Its cost is what the server says, or its tokens at this price, or the most that the
    request can cost where its tokens are not (all) reported; tokens that are not reported are 0."""
    prompt, completion = use.prompt or 0, use.completion or 0
    cost = use.cost
    if cost is None:
        cost = price.of(prompt, completion)
        if not use.billed:
            cost = max(cost, price.most(request))
    return ChatReply(text="", prompt_tokens=prompt, completion_tokens=completion, cost=cost, model=model)


def failed(error: _Error, usage: Any, request: ChatRequest, price: Price) -> _Error:
    """An error that the server itself reports, with its bill: the usage that came with it, if any.

    Without one it costs nothing, except for a time-out: the model behind a gateway may have done its work.
    """
    use = reported(usage)
    if use.cost or use.prompt or use.completion or (isinstance(error, Retryable) and error.trouble is Trouble.TIMEOUT):
        error.spent = bill(use, request, price)
    return error


def together(reply: ChatReply, other: ChatReply | None) -> ChatReply:
    """The reply with the usage of both."""
    if other is None:
        return reply
    return msgspec.structs.replace(
        reply,
        prompt_tokens=reply.prompt_tokens + other.prompt_tokens,
        completion_tokens=reply.completion_tokens + other.completion_tokens,
        cost=reply.cost + other.cost,
    )
