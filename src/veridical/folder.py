"""The run folder: what a run leaves on disk, and what makes it resumable after a kill at any byte.

    run.json        signature, versions, input hash, settings
    reports.jsonl   one `Report` a line, in input order, flushed line by line
    calls.sqlite    the cache of calls (may be shared between runs)
    facts.parquet   with --parquet: one row a fact
    events.jsonl    with --log
    input-*.jsonl   what came from stdin, so that the run can go on
    run.lock        held while a process writes

Resume is two facts and no checkpoint: the ids in `reports.jsonl` are done, and the cache answers what was paid for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from . import __version__
from .errors import FatalError, InputError, UsageError
from .signature import Signature
from .types import Report, Struct

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Report)


class RunInfo(Struct, frozen=True, kw_only=True):
    """`run.json`."""

    signature: str
    fields: dict[str, Any]
    """Flat fields of the signature."""
    input: str
    """Name of the input file."""
    input_sha256: str
    generations: int | None = None
    """How many there are to report."""
    metrics: tuple[str, ...] = ()
    """What the run was scored with first."""
    settings: dict[str, Any] = {}
    """The options that chose what was read and how: sample, seed, facts."""
    versions: dict[str, str] = msgspec.field(
        default_factory=lambda: {"veridical": __version__, "python": sys.version.split()[0]}
    )


class _Id(msgspec.Struct):
    id: str


class _Head(msgspec.Struct):
    generation: _Id


_heads = msgspec.json.Decoder(_Head)


_NAMED = 5
"""Differences that a refusal names; another judge alone makes a dozen, all of which tell the same."""


class RunFolder:
    """Paths and files of one run."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.info_path = self.path / "run.json"
        self.reports_path = self.path / "reports.jsonl"
        self.calls_path = self.path / "calls.sqlite"
        self.facts_path = self.path / "facts.parquet"
        self.events_path = self.path / "events.jsonl"

    def info(self) -> RunInfo:
        """What `run.json` says. Raises UsageError if this is not a run folder, InputError if it is damaged."""
        try:
            return msgspec.json.decode(self.info_path.read_bytes(), type=RunInfo)
        except FileNotFoundError:
            raise UsageError(f"{self.path} is not a run folder: it has no run.json") from None
        except OSError as error:
            raise UsageError(f"{self.info_path}: {error.strerror}") from None
        except msgspec.DecodeError as error:
            raise InputError(f"{error}; score --fresh makes it anew", file=str(self.info_path)) from None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder if need be, and keep every other process from writing to it meanwhile."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = (self.path / "run.lock").open("ab")
        except OSError as error:
            raise UsageError(f"cannot write to {self.path}: {error.strerror}") from None
        with file:
            _lock(file, self.path)
            yield

    def start(self, signature: Signature, info: RunInfo, *, fresh: bool = False, anew: bool = False) -> list[str]:
        """Begin or go on with the run of a `held` folder; returns the ids already reported, in order.

        Another signature, input or setting refuses to append and says what differs. `fresh` drops the reports and keeps
        the cache; `anew` does so where the input alone is another (an answer that had failed is there now).
        """
        if anew and self.info_path.exists():
            before = self.info()
            chosen = {**info.settings, "on_error": before.settings.get("on_error")}
            same = msgspec.structs.replace(info, input_sha256=before.input_sha256, settings=chosen)
            self._check_same(signature, same)
            fresh = fresh or before.input_sha256 != info.input_sha256
        if fresh:
            for path in (self.reports_path, self.info_path, self.facts_path, self.events_path):
                path.unlink(missing_ok=True)
        if not self.info_path.exists():
            if self.reports_path.exists() and self.reports_path.stat().st_size:
                raise UsageError(f"{self.path} holds reports of an unknown run (no run.json); use --fresh")
            self._write_info(info)
            return []
        self._check_same(signature, info)
        return self.done()

    def _check_same(self, signature: Signature, info: RunInfo) -> None:
        before = self.info()
        other_input = before.input_sha256 != info.input_sha256
        changed = [f"input: {before.input} with other content"] if other_input else []
        keys = sorted({*before.settings, *info.settings})
        changed += [
            f"{key}: {before.settings.get(key)!r} then, {info.settings.get(key)!r} now"
            for key in keys
            if before.settings.get(key) != info.settings.get(key)
        ]
        changed += signature.differences(before.fields)
        if changed:
            more = [f"and {len(changed) - _NAMED} more"] if len(changed) > _NAMED else []
            raise UsageError(
                f"{self.path} holds a run made otherwise ({'; '.join(changed[:_NAMED] + more)}). "
                "Use another --out, or --fresh to start again (paid calls stay in its cache)."
            )

    def _write_info(self, info: RunInfo) -> None:
        temporary = self.info_path.with_suffix(".tmp")
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(info), indent=2) + b"\n")
        temporary.replace(self.info_path)

    def done(self) -> list[str]:
        """Ids already reported. A torn last line is cut off; a whole one that lacks its newline gets it."""
        _mend_tail(self.reports_path)
        if not self.reports_path.exists():
            return []
        with self.reports_path.open("rb") as file:
            return [_read(_heads, line, self.reports_path, number).generation.id for number, line in enumerate(file, 1)]

    def reports(self) -> Iterator[Report]:
        """The reports, one at a time. A torn last line is left out; anything else unreadable is an InputError."""
        if not self.reports_path.exists():
            raise UsageError(f"{self.path} is not a run folder: it has no reports.jsonl")
        with self.reports_path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n") and not _whole(line):
                    return
                yield _read(_decoder, line, self.reports_path, number)

    @contextmanager
    def appending(self) -> Iterator[ReportWriter]:
        """Open `reports.jsonl` of a `held` folder for appending."""
        try:
            file = self.reports_path.open("ab", buffering=0)
        except OSError as error:
            raise FatalError(f"cannot write reports: {error.strerror}") from error
        with file:
            yield ReportWriter(file)


class ReportWriter:
    """Appends one report a line, each whole or not at all."""

    def __init__(self, file: FileIO) -> None:
        self._file = file

    def write(self, report: Report) -> None:
        """Raises FatalError where there is no room for the whole line; what was written of it is taken back."""
        line = _encoder.encode(report) + b"\n"
        start = self._file.seek(0, os.SEEK_END)
        try:
            if self._file.write(line) == len(line):
                return
            trouble = "no space left"
        except OSError as error:
            trouble = error.strerror or str(error)
        with suppress(OSError):
            self._file.truncate(start)
        raise FatalError(f"cannot write reports: {trouble}")


def _read(decoder: msgspec.json.Decoder[Any], line: bytes, path: Path, number: int) -> Any:
    try:
        return decoder.decode(line)
    except msgspec.DecodeError as error:
        raise InputError(str(error), file=str(path), line=number) from None


def _whole(line: bytes) -> bool:
    try:
        _heads.decode(line)
    except msgspec.DecodeError:
        return False
    return True


def _mend_tail(path: Path) -> None:
    if not path.exists():
        return
    with path.open("r+b") as file:
        tail = _last_line(file)
        if tail and not tail.endswith(b"\n"):
            if _whole(tail):
                file.seek(0, os.SEEK_END)
                file.write(b"\n")
            else:
                file.truncate(file.seek(0, os.SEEK_END) - len(tail))


def _last_line(file: BinaryIO, block: int = 1 << 16) -> bytes:
    """The last line, with its newline if it has one; reads back from the end."""
    position = file.seek(0, os.SEEK_END)
    tail = b""
    while position and b"\n" not in tail[:-1]:
        step = min(block, position)
        position -= step
        file.seek(position)
        tail = file.read(step) + tail
    return tail[tail[:-1].rfind(b"\n") + 1 :]


def _lock(file: BinaryIO, folder: Path) -> None:
    """Hold the file until it closes, so that two processes never append to one run."""
    try:
        import fcntl
    except ImportError:  # Windows: its own open() semantics have no advisory locks; one process is the user's promise
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(f"another process is writing to {folder}") from None
