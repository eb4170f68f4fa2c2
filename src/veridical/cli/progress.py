"""The progress of a run on stderr: a bar with facts per second, money and time left; plain lines without a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec
import rich.console
import rich.progress

from ..models.metered import Budget
from ..run import Ended, Event, Reported, Started

EVERY = 10.0
"""Seconds between lines where there is no terminal."""


@contextmanager
def listener(
    console: rich.console.Console, budget: Budget, log: Path | None = None
) -> Iterator[Callable[[Event], None]]:
    """One callback for the run's events: shows them, and writes them to `log` (JSON lines) if given."""
    show = _Bar(console, budget) if console.is_terminal else _Lines(console, budget)
    file = log.open("a", encoding="utf-8") if log else None
    try:
        with show:

            def on_event(event: Event) -> None:
                show(event)
                if file:
                    _log(file, event)

            yield on_event
    finally:
        if file:
            file.close()


def _log(file: IO[str], event: Event) -> None:
    record: dict[str, object] = {"event": type(event).__name__.lower(), "at": round(time.time(), 3)}
    if isinstance(event, Reported):
        report = event.report
        record |= {
            "id": report.generation.id,
            "facts": len(report.facts),
            "unscored": sum(fact.failure is not None for fact in report.facts) + len(report.failures),
            "failure": report.failure,
            "usage": report.usage,
        }
    else:
        record |= vars(event)
    file.write(msgspec.json.encode(record).decode() + "\n")
    file.flush()


class _Speed:
    """Facts so far and per second."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.started = time.monotonic()
        self.facts = 0

    def __str__(self) -> str:
        seconds = max(time.monotonic() - self.started, 1e-6)
        cost = f", ${self.budget.spent:.4f}" if self.budget.spent else ""
        if not self.facts:  # a finished run that is resumed, say: 0.0 facts/s would be no speed
            return f"no new facts{cost}"
        return f"{self.facts} facts, {self.facts / seconds:.1f} facts/s{cost}"


class _Bar:
    def __init__(self, console: rich.console.Console, budget: Budget) -> None:
        self._speed = _Speed(budget)
        self._progress = rich.progress.Progress(
            rich.progress.TextColumn("{task.completed} generations of {task.fields[of]}"),
            rich.progress.BarColumn(),
            rich.progress.TextColumn("{task.fields[speed]}"),
            rich.progress.TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, speed="", of="?")

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            self._progress.update(self._task, total=event.total, completed=event.done, of=event.total or "?")
        elif isinstance(event, Reported):
            self._speed.facts += len(event.report.facts)
            self._progress.update(self._task, advance=1, speed=str(self._speed))


class _Lines:
    def __init__(self, console: rich.console.Console, budget: Budget) -> None:
        self._console = console
        self._speed = _Speed(budget)
        self._total: int | None = None
        self._done = 0
        self._last = time.monotonic()

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            self._total, self._done = event.total, event.done
            if event.done:
                self._console.print(f"going on after {event.done} finished generations")
        elif isinstance(event, Reported):
            self._done += 1
            self._speed.facts += len(event.report.facts)
            if time.monotonic() - self._last >= EVERY:
                self._last = time.monotonic()
                self._console.print(f"{self._done} of {self._total or '?'} generations, {self._speed}")
        elif isinstance(event, Ended):
            self._console.print(f"{self._done} generations, {self._speed}")
