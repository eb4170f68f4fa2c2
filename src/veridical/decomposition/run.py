"""Any decomposer over labelled responses: at most so many at once, in order, and what it took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence

from ..decompose import Decomposer
from ..models.metered import measure
from ..types import Struct, Usage
from .labelled import Response
from .measures import Told


class Run(Struct, frozen=True, kw_only=True):
    """What a decomposer said of each response, in their order."""

    told: tuple[Told, ...]
    seconds: float
    usage: Usage
    """What the work takes of models; calls answered from a cache are in it."""


async def run(
    decomposer: Decomposer,
    responses: Sequence[Response],
    *,
    in_flight: int = 1,
    on_told: Callable[[Told], None] = lambda _: None,
) -> Run:
    """Raises what the decomposer raises; sentences that it could not read are in `Told.failed`."""
    told: dict[int, Told] = {}
    waiting: Iterator[tuple[int, Response]] = iter(enumerate(responses))

    async def work() -> None:
        for place, response in waiting:
            told[place] = Told.of(response, await decomposer.decompose(response.generation, response.sentences))
            on_told(told[place])

    started = time.perf_counter()
    with measure() as meter:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, min(in_flight, len(responses)))):
                group.create_task(work())
    seconds = time.perf_counter() - started
    return Run(told=tuple(told[place] for place in range(len(responses))), seconds=seconds, usage=meter.usage)
