"""SQLite files opened to be read only, after a look at what they really are."""

from __future__ import annotations

import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import FatalError, InputError, SearchError

READERS = 4
"""Threads that can read at a time; further ones wait."""
_MAPPED = 1 << 40
"""Bytes of the file that are read through the memory of the system, which all processes share."""
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
    counted = counted and not any(_beside(path, end).exists() for end in ("-wal", "-journal"))  # which may complete it
    if counted and found < expected:
        raise InputError(f"a SQLite database cut off after {found:,} of {expected:,} bytes", file=str(path))


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


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
    """A SQLite file that cannot be written through this, for several threads at a time.

    All connections are opened at once: one opened later, under the same path, could meet another file there (a rebuilt
    knowledge source), and so mix two contents. An open Database keeps reading the file that it opened.
    """

    def __init__(self, path: str | Path) -> None:
        """Raises InputError if `path` is not a whole SQLite database."""
        self.path = Path(path)
        check(self.path)
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._connections: list[sqlite3.Connection] = []
        try:
            before = self.path.stat()
            for _ in range(READERS + 1):
                self._connections.append(self._connect())
            self._opened = self.path.stat()
            if not os.path.samestat(before, self._opened):
                raise InputError("was replaced while it was opened; try again", file=str(path))
            rows = self._connections[0].execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            self.tables = frozenset(name for (name,) in rows)
        except sqlite3.Error as error:
            self.close()
            raise InputError(f"cannot be read as a SQLite database: {error}", file=str(path)) from error
        self._watching = threading.Lock()
        self._watch, *others = self._connections
        for connection in others:
            self._idle.put(connection)

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """All rows of a query. Raises FatalError if the file cannot be read (any more)."""
        return list(self.stream(sql, *values))

    def stream(self, sql: str, *values: Any) -> Iterator[Any]:
        """The rows of a query, one after the other. SearchError for a value that is no valid Unicode."""
        with self._borrowed() as connection:
            yield from connection.execute(sql, values)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the file, whatever others write meanwhile."""
        with self._borrowed() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    @property
    def closed(self) -> bool:
        return not self._connections

    def version(self) -> int:
        """Another number after each change that another connection or process has made to the file."""
        with self._watching:
            if not self._connections:
                raise FatalError(f"{self.path}: the knowledge source was closed")
            try:
                ((number,),) = self._watch.execute("PRAGMA data_version")
            except sqlite3.Error as error:
                raise FatalError(f"{self.path}: cannot be searched: {error}") from error
            return number

    def replaced(self) -> bool:
        """Whether another file has taken the place of the one that is open."""
        try:
            return not os.path.samestat(self._opened, self.path.stat())
        except OSError:
            return True

    @contextlib.contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        if not self._connections:
            raise FatalError(f"{self.path}: the knowledge source was closed")
        connection = self._idle.get()
        try:
            yield connection
        except sqlite3.Error as error:
            raise FatalError(f"{self.path}: cannot be searched: {error}") from error
        except UnicodeEncodeError as error:
            raise SearchError(f"half a surrogate pair cannot be looked up: {error.object[:80]!r}") from error
        finally:
            self._idle.put(connection)

    def close(self) -> None:
        """Close the connections; when no search is under way."""
        while self._connections:
            self._connections.pop().close()

    def _connect(self) -> sqlite3.Connection:
        uri = self.path.resolve().as_uri() + "?mode=ro"
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
        connection.execute(f"PRAGMA mmap_size = {_MAPPED}")
        try:
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        except sqlite3.OperationalError:
            connection.close()
            if _beside(self.path, "-wal").exists():
                raise
            # written in WAL mode, which needs files beside it, and none can be made: nobody can write it either
            connection = sqlite3.connect(f"{uri}&immutable=1", uri=True, check_same_thread=False, isolation_level=None)
        return connection  # used by one thread at a time
