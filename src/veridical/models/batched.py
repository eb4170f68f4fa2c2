"""Many callers, one thread: calls that wait at the same time are computed together."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_LINGER = 0.003
"""Seconds to wait for further calls, as long as more come."""


class Batched(Generic[A, B]):
    """Hands what callers submit to `run`, in a thread of its own, as many at a time as wait, `most` at most.

    `run` gives each item its result or an exception. A caller that is cancelled before its batch begins is left out of
    it; later it merely does not get its result. Works with any number of event loops.
    """

    def __init__(self, run: Callable[[Sequence[A]], Sequence[B | Exception]], *, most: int, name: str) -> None:
        self._run, self._most, self._name = run, most, name
        self._waiting: deque[tuple[A, Future[B]]] = deque()
        self._thread: ThreadPoolExecutor | None = None

    async def submit(self, item: A) -> B:
        """The item's result; raises what `run` gave or raised for it."""
        if self._thread is None:
            self._thread, self._waiting = ThreadPoolExecutor(1, thread_name_prefix=self._name), deque()
        future: Future[B] = Future()
        self._waiting.append((item, future))
        # one round for each call; those that find nothing left end at once
        self._thread.submit(self._round, self._waiting)
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        """End the thread once what it computes is done; what waits is cancelled. A further call starts another."""
        thread, self._thread = self._thread, None
        if thread is not None:
            for _, future in tuple(self._waiting):
                future.cancel()
            await asyncio.to_thread(thread.shutdown, wait=True, cancel_futures=True)

    def _round(self, waiting: deque[tuple[A, Future[B]]]) -> None:
        seen = 0
        while len(waiting) > seen and seen < self._most:
            seen = len(waiting)
            time.sleep(_LINGER)
        taken = [waiting.popleft() for _ in range(min(len(waiting), self._most))]
        live = [(item, future) for item, future in taken if future.set_running_or_notify_cancel()]
        if not live:
            return
        try:
            results = self._run([item for item, _ in live])
        except BaseException as error:
            for _, future in live:
                future.set_exception(error)
            return
        for (_, future), result in zip(live, results, strict=True):
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
