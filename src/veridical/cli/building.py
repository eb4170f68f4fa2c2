"""The progress of a build on stderr: a bar with MB/s and time left; plain lines without a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import rich.console
import rich.progress
from rich.markup import escape

from ..knowledge.build import Event, Progress

EVERY = 10.0
"""Seconds between lines where there is no terminal."""


@contextmanager
def building(console: rich.console.Console) -> Iterator[Callable[[Event], None]]:
    """One callback for a build's events."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.TextColumn("{task.fields[speed]}"),
        rich.progress.TimeRemainingColumn(),
    )
    with rich.progress.Progress(*columns, console=console, transient=True) as bar:
        yield _Bar(bar)


class _Speed:
    """What was read, and how fast; what an earlier build had read already counts for nothing."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def __call__(self, at: Progress) -> str:
        seconds = max(time.monotonic() - self._start, 1e-6)
        rate = (at.bytes - at.repeated) / 1e6 / seconds
        return f"{at.bytes / 1e6:,.0f} of {at.total / 1e6:,.0f} MB, {rate:.1f} MB/s, {at.pages:,} pages"


class _Bar:
    def __init__(self, bar: rich.progress.Progress) -> None:
        self._bar, self._speed = bar, _Speed()
        self._task = bar.add_task("reading", total=None, speed="")

    def __call__(self, event: Event) -> None:
        if isinstance(event, Progress):
            name, done, total, words = escape(Path(event.file).name), event.bytes, event.total, self._speed(event)
        else:
            name, done, total, words = f"index of {event.index}", event.done, event.total, f"{event.done:,}"
        self._bar.update(self._task, description=name, completed=done, total=total, speed=words)


class _Lines:
    def __init__(self, console: rich.console.Console) -> None:
        self._console, self._speed = console, _Speed()
        self._last = time.monotonic()

    def __call__(self, event: Event) -> None:
        if time.monotonic() - self._last < EVERY:
            return
        self._last = time.monotonic()
        if isinstance(event, Progress):
            told = self._speed(event)
        else:
            told = f"index of {event.index}: {event.done:,} of {event.total:,}"
        self._console.print(told, markup=False)
