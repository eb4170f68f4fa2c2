"""Bounded concurrency that adapts to what the server bears.

Additive increase, multiplicative decrease as in TCP (Jacobson 1988): slow start up to the limit, half of it on the
first sign of congestion, one more a round of calls after that. `Slots` bounds any calls, `Limited` those of a model.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from .base import ChatReply, ChatRequest, Wrapper
from .retry import Passing

T = TypeVar("T")

_START = 8


@dataclasses.dataclass
class Slots:
    """At most `limit` calls at once, first come first served; fewer while the server is congested.

    Rate limits, overload and time-outs halve the window, but only once for all calls that were under way together: a
    burst of refusals is one sign of congestion, not many.
    """

    limit: int = 64
    in_flight: int = dataclasses.field(default=0, init=False)
    """Calls under way now."""
    _window: float = dataclasses.field(init=False, repr=False)
    _threshold: float = dataclasses.field(init=False, repr=False)
    _epoch: int = dataclasses.field(default=0, init=False, repr=False)
    _waiting: deque[asyncio.Future[None]] = dataclasses.field(default_factory=deque, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit must be at least 1, not {self.limit}")
        self._window = float(min(self.limit, _START))
        self._threshold = float(self.limit)

    @property
    def current(self) -> int:
        """Calls allowed at once now, between 1 and `limit`."""
        return int(self._window)

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """What `call` gives, made once a slot is free."""
        await self._acquire()
        epoch = self._epoch
        try:
            reply = await call()
            self._grow()
            return reply
        except Passing as error:
            if error.trouble.congestion and epoch == self._epoch:
                self._shrink()
            raise
        finally:
            self._release()

    def _grow(self) -> None:
        step = 1.0 if self._window < self._threshold else 1.0 / self._window
        self._window = min(float(self.limit), self._window + step)

    def _shrink(self) -> None:
        self._epoch += 1
        self._window = self._threshold = max(1.0, self._window / 2)

    async def _acquire(self) -> None:
        if self.in_flight < self.current:  # then nobody waits: see `_hand_over`
            self.in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the slot had been handed over in the same tick: pass it on
                self._release()
            raise

    def _release(self) -> None:
        self.in_flight -= 1
        self._hand_over()

    def _hand_over(self) -> None:
        """Give free slots to those who wait, oldest first. They are taken here, so that nobody can slip in."""
        while self._waiting and self.in_flight < self.current:
            turn = self._waiting.popleft()
            if not turn.done():  # else cancelled while it waited
                self.in_flight += 1
                turn.set_result(None)


@dataclasses.dataclass
class Limited(Slots, Wrapper):
    """A model whose calls are bounded so."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """As the inner model, once a slot is free."""
        return await self.run(functools.partial(self.inner.chat, request))
