"""Build a knowledge source: pages in, one SQLite file with its search indexes out.

Units of the sources are read by several processes; this one writes. The file appears when it is complete, or not at
all; a build that is broken off goes on where it stopped when the same command is given again.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from .. import __version__
from ..errors import FatalError, UsageError
from ..types import Struct
from . import sources as kinds
from .bulk import Bulk
from .derived import Indexing, Tables
from .indexes import Passages, Titles
from .locks import FileLock
from .parallel import in_order, processors
from .passages import LIMIT
from .places import clear_others, index_folder, lock_file, size
from .prepare import Batch, Settings, decoded, prepared, streamed
from .redirects import Redirects
from .schema import APPLICATION, LANGUAGE, label
from .sources import Unit
from .words import Language

STREAMED = 32 << 20
"""Bytes of a unit from which on it is read in this process, page by page: what cannot be cut can be of any size."""
GROUPED = 1 << 20
"""Bytes of small units that one process takes together."""


class Progress(Struct, frozen=True, kw_only=True):
    """How far a build has come."""

    file: str
    pages: int
    passages: int
    bytes: int
    """Of the sources, that are done."""
    total: int
    """Of the sources."""
    repeated: int = 0
    """Of those done, bytes that an earlier, broken-off build has done."""


class BuildReport(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What a build made, and what it left out."""

    name: str
    path: str
    pages: int
    passages: int
    redirects: int
    skipped: dict[str, int]
    """Pages left out, by reason."""
    examples: tuple[str, ...]
    """The first of them: where, and why."""
    characters: int
    """Of text, in passages."""
    bytes: int
    """Size of the file."""
    seconds: float
    index_bytes: int = 0
    """Size of its search indexes."""
    read: int = 0
    """Bytes of the sources."""
    plain: int = 0
    """Pages whose markup could not be read as a whole: their text is plainer than it could be."""
    disambiguation: int = 0
    """Pages that only list what their title may mean."""
    led: Redirects = Redirects()
    """Where the redirects of dumps lead."""


Event = Progress | Indexing


def build(
    sources: Sequence[str | Path],
    out: str | Path,
    *,
    name: str,
    snapshot: str | None = None,
    licence: str | None = None,
    language: str | None = None,
    limit: int = LIMIT,
    compat: Literal["factscore"] | None = None,
    workers: int | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    on_event: Callable[[Event], None] | None = None,
) -> BuildReport:
    """Read the pages of `sources` (see `sources/`) into a new knowledge source `out`, in bounded memory.

    `limit` is in words a passage; `compat` packs passages as FActScore does; `workers` processes read (one each
    processor; one for small sources). Snapshot, licence and language are taken from the sources where they say them. A
    title that comes again is left out and counted, as is a page without text. Raises InputError at the first page that
    cannot be used, unless `on_error` is "skip": then those are counted too; UsageError for impossible sources or an
    `out` that is something else; FatalError where the disk is full. Whatever is raised, `out` stays as it was, and what
    was done is gone on with by the next build of the same sources with the same settings.
    """
    started = time.monotonic()
    out = Path(out)
    if not name.strip():
        raise UsageError("a knowledge source needs a name")
    if limit < 1:
        raise UsageError(f"a passage must hold at least 1 word, not {limit}")
    inputs = [file for source in sources for file in kinds.files(source)]
    _check_out(out, inputs)
    about = kinds.about(sources)
    settings = Settings(limit=limit, compat=compat, language=language or about.language)
    told = {
        "name": name,
        "snapshot": snapshot or about.snapshot,
        "licence": licence or about.licence,
        "language": language or about.language or LANGUAGE,
        "sources": ", ".join(kinds.shown(source) for source in sources),
        "limit": str(limit),
        "compat": compat,
        "veridical": __version__,
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    meta = {key: value for key, value in told.items() if value is not None}
    out.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(lock_file(out))
    if not lock.acquire():
        raise UsageError(f"{out}: {lock.holder()} is writing it")
    try:
        total = sum(_size(file) for file in inputs)
        spoken = meta["language"]
        with Bulk(out.with_name(f".{out.name}.partial"), _job(inputs, settings, spoken), spoken) as bulk:
            tell = _Told(bulk, total, on_event)
            for batch, unit, last in _batches(kinds.units(sources), settings, bulk, workers or _workers(total)):
                if batch.bad and on_error == "stop":
                    raise batch.bad[0].error()
                bulk.take(batch, file=unit.file, dump=unit.kind == "dump")
                bulk.done(last)
                tell(unit)
            _check_found(sources, bulk)
            led = bulk.indexed()
            folder = index_folder(out, bulk.store)
            for index in (Passages(folder, Language(spoken)), Titles(folder)):
                if index.standing(Tables.read(bulk.connection)) != "current":
                    index.rebuild(bulk.connection, on_event)
            bulk.finish(meta)
            rows, left = bulk.rows, bulk.left
            stored = {**meta, "fingerprint": str(rows.fingerprint)}
        _moved(bulk, out)
        _sync(out.parent)
        clear_others(folder)
    except (sqlite3.Error, OSError) as error:
        raise FatalError(f"{out}: cannot be written: {error}") from error
    finally:
        lock.release()
    return BuildReport(
        name=label(stored),
        path=str(out),
        pages=rows.pages,
        passages=rows.passages,
        redirects=rows.redirects,
        skipped=left.skipped,
        examples=tuple(left.examples),
        characters=rows.characters,
        bytes=out.stat().st_size,
        seconds=time.monotonic() - started,
        index_bytes=size(folder),
        read=total,
        plain=left.plain,
        disambiguation=left.disambiguation,
        led=led,
    )


class _Told:
    """Tells how far it has come."""

    def __init__(self, bulk: Bulk, total: int, on_event: Callable[[Event], None] | None) -> None:
        self._bulk, self._total, self._on_event, self._before = bulk, total, on_event, bulk.bytes

    def __call__(self, unit: Unit) -> None:
        if self._on_event:
            rows = self._bulk.rows
            self._on_event(
                Progress(
                    file=unit.file,
                    pages=rows.pages,
                    passages=rows.passages,
                    bytes=self._bulk.bytes,
                    total=self._total,
                    repeated=self._before,
                )
            )


_Done = dict[str, int]
"""Keys of the pieces that a batch completes, and the bytes that each stands for."""


def _batches(
    units: Iterator[Unit], settings: Settings, bulk: Bulk, workers: int
) -> Iterator[tuple[Batch, Unit, _Done]]:
    """Pages in the order of the units, without those that are done."""
    todo = (unit for unit in units if unit.key not in bulk.finished)
    work = in_order(functools.partial(_read, settings=settings), _groups(todo), workers=workers)
    for group, read in work:
        if read is None:
            yield from _streamed(group[0], settings, bulk)
        else:
            for unit, data in zip(group, read, strict=True):
                yield decoded(data), unit, {unit.key: unit.bytes}


def _read(group: list[Unit], *, settings: Settings) -> list[bytes] | None:
    """In a process of its own; None for what is too big to be handed over whole."""
    return None if group[0].bytes > STREAMED else [prepared(unit, settings) for unit in group]


def _streamed(unit: Unit, settings: Settings, bulk: Bulk) -> Iterator[tuple[Batch, Unit, _Done]]:
    """A unit that is too big to be held, batch by batch, each committed."""
    start = 0
    while f"{unit.key}#{start}" in bulk.finished:
        start += 1
    for number, batch in enumerate(streamed(unit, settings, start=start), start):
        yield batch, unit, {f"{unit.key}#{number}": 0}
    yield Batch(), unit, {unit.key: unit.bytes}


def _groups(units: Iterator[Unit]) -> Iterator[list[Unit]]:
    """Small units together, others alone, in their order."""
    group: list[Unit] = []
    held = 0
    for unit in units:
        if group and held + unit.bytes > GROUPED:
            yield group
            group, held = [], 0
        group.append(unit)
        held += unit.bytes
    if group:
        yield group


def _moved(bulk: Bulk, out: Path) -> None:
    """Put what is complete in its place."""
    try:
        _sync(bulk.path)
        bulk.path.replace(out)
    except OSError:
        bulk.remove()
        raise


def _workers(total: int) -> int:
    """One for what is read sooner than processes start."""
    return processors() if total > 4 * GROUPED else 1


def _size(file: Path) -> int:
    path = Path(str(file).removeprefix("urls:"))
    return path.stat().st_size


def _job(inputs: Sequence[Path], settings: Settings, language: str) -> str:
    """The same for the same files, unchanged, and the same settings."""
    stamps = []
    for file in inputs:
        found = Path(str(file).removeprefix("urls:")).stat()
        stamps.append((kinds.shown(file), found.st_size, found.st_mtime_ns))
    return hashlib.blake2b(msgspec.json.encode((stamps, settings, language, __version__)), digest_size=16).hexdigest()


def _check_found(sources: Sequence[str | Path], bulk: Bulk) -> None:
    """Raise for a dump without an article (W1), and where no page could be taken at all."""
    left = bulk.left
    for file, passed in left.passed.items():
        if not left.articles.get(file) and not left.skipped:
            raise kinds.nothing(file, Counter(passed))
    if not bulk.rows.pages:
        why = ", ".join(f"{reason} {count}" for reason, count in Counter(left.skipped).most_common())
        named = ", ".join(kinds.shown(source) for source in sources) or "no source"
        raise UsageError(f"no page could be taken from {named}: {why or 'no page in them'}")


def _check_out(out: Path, inputs: Sequence[Path]) -> None:
    """Raise UsageError rather than overwrite anything that is not a knowledge source."""
    if out.is_dir():
        raise UsageError(f"{out}: is a folder; name a file, such as {out / 'knowledge.db'}")
    if any(out.resolve() == file.resolve() for file in inputs):
        raise UsageError(f"{out}: is a source too and would be overwritten")
    if out.exists() and out.stat().st_size:
        with out.open("rb") as file:
            head = file.read(72)
        if not head.startswith(b"SQLite format 3\x00") or head[68:72] != APPLICATION.to_bytes(4, "big"):
            raise UsageError(f"{out}: exists and is not a knowledge source of veridical; it is left alone")


def _sync(path: Path) -> None:
    """Make sure that it is on the disk."""
    if path.is_dir() and os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
