"""What all kinds of sources share: pieces of work, what cannot be used, and how a path is shown."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from ...errors import InputError
from ...types import Struct
from ..documents import Record

UNIT_BYTES = 8 << 20
"""About so much of a file is one unit, where it can be cut; compressed dumps a quarter of it (see `dump.py`)."""
BIGGEST = 64 << 20
"""Bytes of one line, document or element; what is longer is taken to be broken."""


class Unit(Struct, frozen=True, kw_only=True):
    """A piece of a source that can be read on its own, by any process, in any order."""

    file: str
    """As the system names it, to be opened; `shown` makes it fit to print."""
    kind: str
    """How it is read: a key of `KINDS`."""
    start: int = 0
    end: int
    """What of it: [start, end) in bytes of the file; of Parquet in row groups, of FActScore's databases in rowids."""
    line: int = 1
    """Number of the first line (JSON lines) or row (Parquet) in it."""
    key: str
    """The same when the same file is listed again and has not changed since (path, size and time of change)."""
    bytes: int
    """Of the file, that it stands for: over all units of a file they add up to its size."""


class Bad(Struct, frozen=True, kw_only=True):
    """A page that cannot be used, where it stands and why."""

    reason: str
    file: str
    line: int | None = None
    field: str | None = None
    detail: str = ""

    @property
    def kind(self) -> str:
        """What such pages are counted under."""
        return f"{self.field}: {self.reason}" if self.field else self.reason

    def error(self) -> InputError:
        reason = f"{self.reason} ({self.detail})" if self.detail else self.reason
        return InputError(reason, file=self.file, line=self.line, field=self.field)


Pages = Iterator[Record | Bad]
Passed = Counter[str]
"""What was read and is no page, by what it is: "namespace 1 (Talk)", "without text"."""


class Kind(Struct, frozen=True, kw_only=True):
    """How a kind of source is cut, and how a piece of it is read."""

    units: Callable[[Path], Iterator[Unit]]
    """Looks at the file first; InputError, saying what was found, where it is not what its name says."""
    read: Callable[[Unit, str | None, Passed], Pages]
    """Takes the language, where it is given, and counts what it passes over."""


def shown(path: str | Path) -> str:
    """A path that can be printed and stored, also where its bytes are no UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def unit(path: Path, kind: str, start: int, end: int, *, size: int, line: int = 1) -> Unit:
    """A unit with its key. `size` is what it stands for, in bytes of the file."""
    found = path.stat()
    of = f"{shown(path.absolute())}|{found.st_size}|{found.st_mtime_ns}"
    return Unit(
        file=str(path), kind=kind, start=start, end=end, line=line, bytes=size, key=f"{of}|{kind}|{start}-{end}"
    )


def whole(path: Path, kind: str) -> Unit:
    """The unit of a file that cannot be cut."""
    size = path.stat().st_size
    return unit(path, kind, 0, size, size=size)


def unusable(path: Path | str, reason: str) -> InputError:
    return InputError(reason, file=shown(path))
