"""Pages of sources added to a knowledge source that is there already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from ..errors import InputError
from ..types import Struct
from . import sources as kinds
from .build import Event, Progress
from .passages import LIMIT
from .prepare import Settings, streamed
from .store import Store
from .writer import Writer


class ChangeReport(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What became of the pages of some sources."""

    name: str
    """Of the knowledge source afterwards."""
    pages: int
    """Added under a title that was not there."""
    replaced: int
    skipped: dict[str, int]
    """Left out, by reason."""


def changed(
    path: str | Path,
    sources: Sequence[str | Path],
    *,
    replace: bool = False,
    on_error: Literal["stop", "skip"] = "stop",
    on_event: Callable[[Event], None] | None = None,
) -> ChangeReport:
    """Add the pages of `sources` to the knowledge source at `path`, cut as its others are; with `replace` in place of
    those that have their title. What is committed stays when a later page cannot be used.

    Raises InputError as `build` does, UsageError while another process writes it.
    """
    with Store.open(path) as store:
        info = store.info
    if info.format != "veridical":
        raise InputError("FActScore's format cannot be changed; build a knowledge source of it", file=str(path))
    compat = "factscore" if info.built.get("compat") == "factscore" else None
    language = info.built.get("language")
    settings = Settings(limit=int(info.built.get("limit", LIMIT)), compat=compat, language=language)
    added = replaced = done = 0
    skipped: Counter[str] = Counter()
    total = sum(unit.bytes for unit in kinds.units(sources))
    with Writer(path) as writer:
        for unit in kinds.units(sources):
            for batch in streamed(unit, settings):
                if batch.bad and on_error == "stop":
                    raise batch.bad[0].error()
                skipped.update(bad.kind for bad in batch.bad)
                for page in batch.pages:
                    there = replace and writer.has(page.title)
                    reason = writer.replace(page) if replace else writer.add(page)
                    if reason:
                        skipped[reason] += 1
                    else:
                        added, replaced = added + (not there), replaced + bool(there)
                writer.commit()
            done += unit.bytes
            if on_event:
                on_event(Progress(file=unit.file, pages=added + replaced, passages=0, bytes=done, total=total))
        return ChangeReport(name=writer.name, pages=added, replaced=replaced, skipped=dict(skipped))
