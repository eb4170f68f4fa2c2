"""Two counts of calls: what the work takes (`Counted`, cached or not) and what is really paid (`Paid`).

Searches of the web are counted by the same means: `book` and `Paying`.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

import msgspec

from ..errors import BudgetSpent, FatalError, UsageError, VeridicalError
from ..types import Usage
from .base import ChatReply, ChatRequest, Wrapper
from .bill import Price

T = TypeVar("T")
CALL = Usage(calls=1)
SEARCH = Usage(searches=1)


def used(reply: Any, unit: Usage) -> Usage:
    """What a reply took: a `CALL` or `SEARCH`, with the reply's cost, and its tokens where it has any."""
    return msgspec.structs.replace(
        unit,
        prompt_tokens=getattr(reply, "prompt_tokens", 0),
        completion_tokens=getattr(reply, "completion_tokens", 0),
        cost=reply.cost,
    )


# What the work takes


class Meter:
    """Adds up what was asked of models and of the web inside a `measure()`."""

    def __init__(self) -> None:
        self.usage = Usage()


_meters: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


@contextlib.contextmanager
def measure() -> Iterator[Meter]:
    """Count what is booked inside the block, in tasks started there too; blocks may be nested."""
    meter = Meter()
    token = _meters.set((*_meters.get(), meter))
    try:
        yield meter
    finally:
        _meters.reset(token)


def book(usage: Usage) -> None:
    """Add to all meters that are on."""
    for meter in _meters.get():
        meter.usage += usage


@dataclasses.dataclass
class Counted(Wrapper):
    """Outermost wrapper: books each reply, also one from the cache, so that a report does not depend on cache luck."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """As the inner model."""
        reply = await self.inner.chat(request)
        book(used(reply, CALL))
        return reply

    async def reject(self, request: ChatRequest) -> None:
        """Hand on to the cache beneath, if there is one, that a reply could not be read."""
        if reject := getattr(self.inner, "reject", None):
            await reject(request)


# What is paid


@dataclasses.dataclass
class Budget:
    """Money for a run, shared by its models and searches. `max_cost` is in US dollars; None = no limit."""

    max_cost: float | None = None
    spent: float = 0.0
    """US dollars."""
    calls: int = 0
    """Of models."""
    searches: int = 0
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

    def settle(self, number: int, usage: Usage | None) -> None:
        """End a reservation and book what the call took; None = nothing."""
        del self._reserved[number]
        if usage is not None:
            self.calls += usage.calls
            self.searches += usage.searches
            self.spent += usage.cost
            self.prompt_tokens += usage.prompt_tokens
            self.completion_tokens += usage.completion_tokens
        self._wake()

    def _wake(self) -> None:
        """Let all who wait look again."""
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


@dataclasses.dataclass
class Paying:
    """Books what calls really cost, beneath the cache and the retries, and stops before the budget is exceeded.

    A call that fails is booked with what its error has `spent`; a call that is cancelled may have been billed, and is
    booked with all that was reserved for it.
    """

    budget: Budget
    _dearest: float = dataclasses.field(default=0.0, init=False, repr=False)
    """US dollars of the dearest call that cost more than was reserved for it."""

    async def pay(self, worst: float, call: Callable[[], Awaitable[T]], unit: Usage) -> T:
        """What `call` gives, a reply with a `cost`; `worst` is the most that it is expected to cost, in US dollars.

        Raises `BudgetSpent` before a call that the budget cannot bear.
        """
        number, reserved = await self._reserve(worst)
        paid: Usage | None = None
        try:
            reply = await call()
            paid = used(reply, unit)
            return reply
        except VeridicalError as error:
            if error.spent is not None:
                paid = used(error.spent, unit)
            raise
        except asyncio.CancelledError:
            paid = msgspec.structs.replace(unit, cost=reserved)
            raise
        finally:
            if paid is not None and paid.cost > reserved:
                self._dearest = max(self._dearest, paid.cost)
            self.budget.settle(number, paid)

    async def _reserve(self, worst: float) -> tuple[int, float]:
        """The reservation and its US dollars; once more if a dearer call has ended while this one waited."""
        while True:
            reserved = max(worst, self._dearest)
            number = await self.budget.reserve(reserved)
            if self._dearest <= reserved:
                return number, reserved
            self.budget.settle(number, None)


@dataclasses.dataclass
class Paid(Wrapper):
    """A model whose calls are paid so.

    With a price `max_cost` holds as long as the server keeps to max_tokens; where it does not, the dearest call beyond
    its worst case is assumed of every later one. Without a price the dearest call so far stands for the worst case, so
    that the calls under way together may exceed `max_cost`.
    """

    budget: Budget
    price: Price | None = None
    _paying: Paying = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._paying = Paying(self.budget)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """As the inner model. Raises `BudgetSpent` before a call that the budget cannot bear."""
        worst = self.price.worst(request) if self.price else 0.0
        return await self._paying.pay(worst, functools.partial(self.inner.chat, request), CALL)
