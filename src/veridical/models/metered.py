"""Two counts of model calls: what the work takes (`Counted`, cached or not) and what is really paid (`Paid`)."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterator
from contextvars import ContextVar

from ..errors import BudgetSpent, FatalError, UsageError
from ..types import Struct, Usage
from .base import ChatReply, ChatRequest, LanguageModel
from .wire import Unusable

_MESSAGE_TOKENS = 16
"""More than any chat template puts around a message."""
_REASONING_TOKENS = 1024
"""The least that the client asks for again when reasoning has used up max_tokens."""


class Price(Struct, frozen=True, kw_only=True):
    """US dollars per million tokens."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """US dollars."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6

    def worst(self, request: ChatRequest) -> float:
        """More than the request can cost, in US dollars, with the second try that the client may make.

        A token is at least a byte; that over-estimates English prompts about fourfold.
        """
        prompt = sum(len(message.content.encode("utf-8", "replace")) + _MESSAGE_TOKENS for message in request.messages)
        return self.of(2 * prompt, request.max_tokens + max(4 * request.max_tokens, _REASONING_TOKENS))


# What the work takes


class Meter:
    """Adds up what was asked of models inside a `measure()`."""

    def __init__(self) -> None:
        self.usage = Usage()


_meters: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


@contextlib.contextmanager
def measure() -> Iterator[Meter]:
    """Count the replies of `Counted` models inside the block, in tasks started there too; blocks may be nested."""
    meter = Meter()
    token = _meters.set((*_meters.get(), meter))
    try:
        yield meter
    finally:
        _meters.reset(token)


@dataclasses.dataclass
class Counted:
    """Outermost wrapper: books each reply, also one from the cache, so that a report does not depend on cache luck."""

    inner: LanguageModel

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> str:
        return self.inner.identity

    async def chat(self, request: ChatRequest) -> ChatReply:
        """As the inner model."""
        reply = await self.inner.chat(request)
        used = Usage(
            calls=1, prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens, cost=reply.cost
        )
        for meter in _meters.get():
            meter.usage += used
        return reply

    async def reject(self, request: ChatRequest) -> None:
        """Hand on to the cache beneath, if there is one, that a reply could not be read."""
        if reject := getattr(self.inner, "reject", None):
            await reject(request)

    async def close(self) -> None:
        await self.inner.close()


# What is paid


@dataclasses.dataclass
class Budget:
    """Money for a run, shared by its models. `max_cost` is in US dollars; None = no limit."""

    max_cost: float | None = None
    spent: float = 0.0
    """US dollars."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    stopped: bool = False
    """No further call may begin."""
    _reserved: dict[int, float] = dataclasses.field(default_factory=dict, init=False, repr=False)
    _waiting: list[asyncio.Future[None]] = dataclasses.field(default_factory=list, init=False, repr=False)
    _number: int = dataclasses.field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.max_cost is not None and not 0 <= self.max_cost < float("inf"):
            raise UsageError(f"the most to spend must be a number of US dollars from 0 up, not {self.max_cost}")

    async def reserve(self, worst: float) -> int:
        """Set `worst` aside for one call; returns the number to `settle` it by.

        Raises `BudgetSpent` if that could exceed `max_cost`, `FatalError` after `stop`. While other calls are under way
        it waits for them first, since most cost less than was set aside for them.
        """
        while (
            not self.stopped
            and self.max_cost is not None
            and self.spent + sum(self._reserved.values()) + worst > self.max_cost
        ):
            if not self._reserved:
                raise BudgetSpent(
                    f"the next call may cost ${worst:.4f}; ${self.spent:.4f} of ${self.max_cost:.4f} are spent"
                )
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        if self.stopped:
            raise FatalError("the run is stopping")
        self._number += 1
        self._reserved[self._number] = worst
        return self._number

    def stop(self) -> None:
        """Let no further call begin; those under way may end."""
        self.stopped = True
        self._wake()

    def settle(self, number: int, reply: ChatReply | None) -> None:
        """End a reservation and book what the call cost; None = it was not answered."""
        del self._reserved[number]
        if reply is not None:
            self.calls += 1
            self.spent += reply.cost
            self.prompt_tokens += reply.prompt_tokens
            self.completion_tokens += reply.completion_tokens
        self._wake()

    def _wake(self) -> None:
        """Let all who wait look again."""
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


@dataclasses.dataclass
class Paid:
    """Books what calls really cost, beneath the cache and the retries, and stops before the budget is exceeded.

    Without a known price the dearest call so far stands for the next one's worst case, so `max_cost` may be exceeded by
    the calls that are under way together.
    """

    inner: LanguageModel
    budget: Budget
    price: Price | None = None
    _dearest: float = dataclasses.field(default=0.0, init=False, repr=False)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> str:
        return self.inner.identity

    async def chat(self, request: ChatRequest) -> ChatReply:
        """As the inner model. Raises `BudgetSpent` before a call that the budget cannot bear."""
        number = await self.budget.reserve(self.price.worst(request) if self.price else self._dearest)
        paid = None
        try:
            paid = await self.inner.chat(request)
            return paid
        except Unusable as error:  # no answer, yet billed
            paid = error.spent
            raise
        finally:
            self._dearest = max(self._dearest, paid.cost if paid else 0.0)
            self.budget.settle(number, paid)

    async def close(self) -> None:
        await self.inner.close()
