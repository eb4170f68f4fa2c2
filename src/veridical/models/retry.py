"""Retry what may pass on another try, for a bounded number of attempts and a bounded wait.

Composition is `Cached(Retrying(Limited(client)))`: a slot of the limiter is free while a call waits for its next try.
The policy, `Retries`, repeats any call; `Retrying` applies it to a model.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import random
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, TypeVar

from ..errors import FatalError, ModelError, StageError
from .base import ChatReply, ChatRequest, Wrapper

T = TypeVar("T")


class Trouble(StrEnum):
    """What kind of passing trouble a call met."""

    RATE_LIMIT = "rate limit"
    OVERLOAD = "overload"
    TIMEOUT = "time-out"
    CONNECTION = "connection"
    MALFORMED = "malformed reply"

    @property
    def congestion(self) -> bool:
        """Whether fewer calls at once would help."""
        return self in (Trouble.RATE_LIMIT, Trouble.OVERLOAD, Trouble.TIMEOUT)


class Passing(StageError):
    """This call failed and the same call may succeed later."""

    final: type[StageError] = StageError
    """What it becomes once it has been repeated often enough."""

    def __init__(
        self,
        message: str,
        *,
        trouble: Trouble,
        retry_after: float | None = None,
        spent: Any = None,
        tries: int | None = None,
    ) -> None:
        super().__init__(message)
        self.spent = spent
        self.tries = tries
        """Most tries of this call in all; None: as many as the policy has."""
        self.trouble = trouble
        self.retry_after = retry_after
        """Seconds that the server asks to wait; None if it says nothing."""


class Retryable(Passing, ModelError):
    """A call of a model that failed and may succeed later."""

    final = ModelError


@dataclasses.dataclass
class Retries:
    """Repeat calls that fail with `Passing`, with exponential backoff and full jitter; other errors pass at once.

    Trouble that is not of one item must not be booked as one item's failure: after `circuit` calls in a row that used
    up their attempts, with no answer of any kind between them, `FatalError` stops the (resumable) run. Where the server
    has never answered at all, the first such call suffices.
    """

    attempts: int = 6
    """Tries a call in all."""
    max_wait: float = 120.0
    """Seconds that one call may wait between its tries, in all. A server that asks for more is not waited for."""
    first_wait: float = 1.0
    """Upper end of the first wait in seconds; it doubles with each try."""
    longest_wait: float = 30.0
    """Upper end of a single wait in seconds, unless the server asks for more."""
    circuit: int = 8
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    jitter: Callable[[], float] = random.random
    retries: int = dataclasses.field(default=0, init=False)
    """How many tries beyond the first there have been, for progress displays."""
    waited: float = dataclasses.field(default=0.0, init=False)
    """Seconds waited in all calls together."""
    _lost: int = dataclasses.field(default=0, init=False, repr=False)
    _answered: bool = dataclasses.field(default=False, init=False, repr=False)

    async def run(self, call: Callable[[], Awaitable[T]], name: str) -> T:
        """What `call` gives, made until it does; `name` says in messages whom it asks.

        Raises the `final` error of what it failed with, naming attempts and last error, when they are used up.
        """
        waited = 0.0
        for attempt in range(1, self.attempts + 1):
            try:
                reply = await call()
            except Passing as error:
                wait = self._wait(attempt, error.retry_after)
                if attempt >= min(self.attempts, error.tries or self.attempts) or waited + wait > self.max_wait:
                    raise self._given_up(error, attempt, waited, name) from error
                self.retries += 1
                self.waited += wait
                waited += wait
                await self.sleep(wait)
            except StageError:  # an answer all the same: the server is there
                self._answer()
                raise
            else:
                self._answer()
                return reply
        raise ValueError(f"attempts must be at least 1, not {self.attempts}")

    def _wait(self, attempt: int, asked: float | None) -> float:
        """Full jitter; on top of what the server asks for, so that its clients do not all return at one moment."""
        ceiling = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        return self.jitter() * ceiling if asked is None else asked + self.jitter() * self.first_wait

    def _answer(self) -> None:
        self._answered, self._lost = True, 0

    def _given_up(self, error: Passing, attempt: int, waited: float, name: str) -> StageError | FatalError:
        self._lost += 1
        tried = f"{attempt} attempt{'s' if attempt > 1 else ''} over {waited:.0f} s of waiting"
        asked = (
            f" (it asks for {error.retry_after:.0f} s more)" if error.retry_after and attempt < self.attempts else ""
        )
        message = f"{name}: given up after {tried}{asked}; last error: {error}"
        unreachable = error.trouble is Trouble.CONNECTION and not self._answered
        if unreachable or self._lost >= self.circuit:
            what = "server unreachable" if error.trouble is Trouble.CONNECTION else "the server answers no call"
            return FatalError(f"{what}: {message}")
        return error.final(message)


@dataclasses.dataclass
class Retrying(Retries, Wrapper):
    """A model whose calls are repeated by this policy."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """As the inner model, repeated. Raises `ModelError` naming attempts and last error when they are used up."""
        return await self.run(functools.partial(self.inner.chat, request), self.name)
