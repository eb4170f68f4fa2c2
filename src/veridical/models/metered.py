"""Counting: what a report asked for (cached or not), and what was really paid, with a limit to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import BudgetSpent
from ..types import Usage
from .base import ChatReply, ChatRequest, LanguageModel
from .wire import Dialect

CHARACTERS_PER_TOKEN = 2.5
"""Fewer than in English prose (about 4), so that a call's worst case is not put too low."""


class Meter:
    """Adds up the usage of the calls made while it is the current one."""

    def __init__(self) -> None:
        self.usage = Usage()

    def add(self, reply: ChatReply) -> None:
        self.usage += Usage(
            calls=1, prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens, cost=reply.cost
        )


_current: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def measure() -> Iterator[Meter]:
    """`with measure() as meter:` counts every `Counted` call made inside, in this task and the tasks it starts."""
    meter = Meter()
    token = _current.set(meter)
    try:
        yield meter
    finally:
        _current.reset(token)


@dataclasses.dataclass
class Counted:
    """The outermost wrapper: a reply from the cache counts like any other, so that a report does not depend on luck."""

    inner: LanguageModel

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> str:
        return self.inner.identity

    async def chat(self, request: ChatRequest) -> ChatReply:
        reply = await self.inner.chat(request)
        if meter := _current.get():
            meter.add(reply)
        return reply

    async def reject(self, request: ChatRequest) -> None:
        """Forget the stored reply to this request, if there is a cache beneath."""
        if reject := getattr(self.inner, "reject", None):
            await reject(request)

    async def close(self) -> None:
        await self.inner.close()


@dataclasses.dataclass
class Budget:
    """Money of one run. Spent is what was paid; held is the worst case of the calls under way."""

    max_cost: float | None = None
    """US dollars; None: no limit."""
    spent: float = 0.0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    held: float = 0.0

    def hold(self, cost: float) -> None:
        """Set money aside for a call. Raises `BudgetSpent` if it could go beyond the limit."""
        if self.max_cost is not None and self.spent + self.held + cost > self.max_cost:
            raise BudgetSpent(f"the next call could exceed --max-cost {self.max_cost:g}; spent ${self.spent:.4f}")
        self.held += cost

    def settle(self, held: float, reply: ChatReply | None) -> None:
        """Give back what was set aside; book what the call cost."""
        self.held = max(0.0, self.held - held)
        if reply:
            self.calls += 1
            self.spent += reply.cost
            self.prompt_tokens += reply.prompt_tokens
            self.completion_tokens += reply.completion_tokens


@dataclasses.dataclass
class Paid:
    """Next to the client, beneath the cache: counts what is paid and stops before the budget is exceeded."""

    inner: LanguageModel
    budget: Budget
    dialect: Dialect = Dialect()
    """For its prices."""

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> str:
        return self.inner.identity

    async def chat(self, request: ChatRequest) -> ChatReply:
        worst = worst_cost(request, self.dialect)
        self.budget.hold(worst)
        reply = None
        try:
            reply = await self.inner.chat(request)
            return reply
        finally:
            self.budget.settle(worst, reply)

    async def close(self) -> None:
        await self.inner.close()


def cost(prompt_tokens: int, completion_tokens: int, dialect: Dialect) -> float | None:
    """US dollars at the dialect's prices; None where they are not known."""
    if dialect.price_in is None or dialect.price_out is None:
        return None
    return (prompt_tokens * dialect.price_in + completion_tokens * dialect.price_out) / 1e6


def worst_cost(request: ChatRequest, dialect: Dialect) -> float:
    """The most that a call can cost: every token of the prompt, and all of max_tokens."""
    characters = sum(len(message.content) for message in request.messages)
    return cost(round(characters / CHARACTERS_PER_TOKEN), request.max_tokens, dialect) or 0.0
