"""SQLite files opened to be read only, after a look at what they really are."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import FatalError, InputError

_MAGIC = b"SQLite format 3\x00"
_KINDS = {
    b"<!doctype": "an HTML page",
    b"<html": "an HTML page",
    b"<?xml": "an XML file",
    b"\x1f\x8b": "a gzip archive",
    b"bzh": "a bzip2 archive",
    b"pk\x03\x04": "a zip archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"\xfd7zxz": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstandard archive",
    b"par1": "a Parquet file",
    b"version https://git-lfs": "a Git LFS pointer, not the file itself",
    b"{": "a JSON file",
    b"[": "a JSON file",
}
"""First bytes in lower case -> what such a file is."""


def check(path: Path) -> None:
    """Raise InputError, saying what was found, unless `path` is a whole SQLite file as far as its header tells."""
    if not path.exists():
        raise InputError("there is no such file", file=str(path))
    if path.is_dir():
        raise InputError("this is a folder, not a knowledge source", file=str(path))
    with path.open("rb") as file:
        head = file.read(512)
    found = path.stat().st_size
    if not head:
        raise InputError("the file is empty", file=str(path))
    if not head.startswith(_MAGIC):
        raise InputError(f"expected a SQLite database, found {_kind(head)}", file=str(path))
    if len(head) < 100:
        raise InputError(f"a SQLite database cut off after {found} bytes", file=str(path))
    page_size = int.from_bytes(head[16:18], "big")
    expected = int.from_bytes(head[28:32], "big") * (65536 if page_size == 1 else page_size)
    counted = head[24:28] == head[92:96]  # else the count of pages in the header is out of date
    if counted and found < expected:
        raise InputError(f"a SQLite database cut off after {found:,} of {expected:,} bytes", file=str(path))


def _kind(head: bytes) -> str:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for magic, kind in _KINDS.items():
        if start.startswith(magic):
            return kind
    try:
        return f"text that begins {head[:40].decode()!r}"
    except UnicodeDecodeError:
        return f"bytes that begin {head[:8].hex(' ')}"


class Database:
    """A SQLite file that cannot be written through this. Each thread has its own connection, opened when needed."""

    def __init__(self, path: str | Path) -> None:
        """Raises InputError if `path` is not a whole SQLite database."""
        self.path = Path(path)
        check(self.path)
        self._uri = self.path.resolve().as_uri() + "?mode=ro"
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            rows = self._connection().execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            self.tables = frozenset(name for (name,) in rows)
        except sqlite3.Error as error:
            raise InputError(f"cannot be read as a SQLite database: {error}", file=str(path)) from error

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """All rows of a query. Raises FatalError if the file cannot be read (any more)."""
        return list(self.stream(sql, *values))

    def stream(self, sql: str, *values: Any) -> Iterator[Any]:
        """The rows of a query, one after the other."""
        try:
            yield from self._connection().execute(sql, values)
        except sqlite3.Error as error:
            raise FatalError(f"{self.path}: cannot be searched: {error}") from error

    def close(self) -> None:
        """Close the connections of all threads. A later query opens one again."""
        with self._lock:
            while self._opened:
                self._opened.pop().close()
            self._local = threading.local()

    def _connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
            with self._lock:
                self._opened.append(found)
            self._local.connection = found
        return found
