"""Work of several processes, its results in the order of the work, with no more of it under way than memory allows."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from ..errors import FatalError

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2
"""Items a worker that are under way or wait to be taken: what a build holds in memory does not grow with its source."""


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], *, workers: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with what `function` makes of it, in the items' order; with one worker in this very process.

    `function` and the items go to other processes, so they must be picklable, `function` by its name. What it raises
    is raised here, at its item's turn. FatalError if a worker is killed (as for want of memory). Closing the iterator
    drops what waits.
    """
    if workers <= 1:
        for item in items:
            yield item, function(item)
        return
    context = multiprocessing.get_context("spawn")  # a fork would share locks and open files of this process
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_quiet)
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    try:
        for item in items:
            waiting.append((item, pool.submit(function, item)))
            if len(waiting) >= AHEAD * workers:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
    except BrokenProcessPool as error:
        raise FatalError("a process that reads the sources was killed, perhaps for want of memory") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _quiet() -> None:
    """Ctrl-C is the main process's affair: it stops the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
