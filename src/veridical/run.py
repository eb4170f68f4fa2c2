"""Many generations: bounded, in input order, resumable, with events for whoever listens.

Memory depends on `in_flight`, never on the length of the input: generations are read, judged and written one by one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import UsageError, leaf
from .folder import RunFolder
from .pipeline import Method, evaluate
from .types import Generation, Report

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Started:
    """The run begins. `total` is None where the input's length is not known."""

    total: int | None
    done: int


@dataclass(frozen=True)
class Reported:
    """One report was written."""

    report: Report


@dataclass(frozen=True)
class Ended:
    """The last report was written."""

    reports: int


Event = Started | Reported | Ended


def silent(event: Event) -> None:
    """The listener that does nothing."""


async def run(
    generations: Iterable[Generation],
    method: Method,
    folder: RunFolder,
    *,
    done: Iterable[str] = (),
    total: int | None = None,
    in_flight: int = 16,
    on_event: Callable[[Event], None] = silent,
) -> int:
    """Judge what is not done yet and append the reports in input order; returns how many were written.

    `done` are the ids already reported: since reports are in input order, the first ids of the input, which is checked
    (UsageError). A `FatalError` (or cancellation) stops the run; every report finished in order up to then is on disk.
    """
    todo, skipped = iter(generations), 0
    for skipped, id_ in enumerate(done, 1):
        if (found := next(todo, None)) is None or found.id != id_:
            raise UsageError(
                f"{folder.reports_path}:{skipped} is of {id_!r}, not of the input's generation {skipped}: "
                "it was changed; use --fresh"
            )
    on_event(Started(total, skipped))
    with folder.appending() as writer:

        def write(report: Report) -> None:
            writer.write(report)
            on_event(Reported(report))

        written = await ordered(todo, lambda generation: evaluate(generation, method), write, in_flight=in_flight)
    on_event(Ended(written))
    return written


async def ordered(
    todo: Iterable[Item],
    work: Callable[[Item], Coroutine[Any, Any, Result]],
    write: Callable[[Result], None],
    *,
    in_flight: int,
) -> int:
    """Write what `work` makes of each item, in the items' order; returns how many were written.

    At most `in_flight` items are worked on at once, and at most four times as many wait for their turn to be written:
    one slow item holds up neither the others nor the order. The first error of either stops it, after the results that
    are finished in order have been written; what could not be written is not written past.
    """
    slots = asyncio.Semaphore(in_flight)
    window: deque[asyncio.Task[Result]] = deque()
    written, broken = 0, False

    async def worked(item: Item) -> Result:
        async with slots:
            return await work(item)

    def write_first() -> None:
        nonlocal written, broken
        result = window[0].result()
        broken = True  # until it is on disk: nothing may be written behind a result that could not be
        write(result)
        broken = False
        window.popleft()
        written += 1

    try:
        async with asyncio.TaskGroup() as group:
            for item in todo:
                window.append(group.create_task(worked(item)))
                while window and (window[0].done() or len(window) >= 4 * in_flight):
                    await asyncio.wait([window[0]])
                    write_first()
                if len(window) >= in_flight:
                    await asyncio.sleep(0)  # let the work go on before more input is read
            while window:
                await asyncio.wait([window[0]])
                write_first()
    except BaseExceptionGroup as group:
        raise leaf(group) from None
    finally:
        while (
            not broken and window and window[0].done() and not window[0].cancelled() and window[0].exception() is None
        ):
            write_first()
    return written
