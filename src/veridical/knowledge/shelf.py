"""The search indexes of an open knowledge source: found, kept up to date, and made again where they are missing,
belong to another content, or are damaged. They are first touched by a search that needs them."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from ..errors import SearchError
from .database import Database
from .derived import Damaged, Derived, OnIndexing, Tables, follow
from .indexes import Passages, Titles
from .locks import FileLock
from .places import cache_folder, clear_others, index_folder, lock_file
from .words import Language

PATIENCE = 3600.0
"""Seconds to wait for another process that is making an index."""
_POLL = 0.1

T = TypeVar("T")
D = TypeVar("D", bound=Derived)


class _Kept(Generic[D]):
    """One of the two indexes: the one beside the file, and the one that is used."""

    def __init__(self, beside: Path, make: Callable[[Path], D]) -> None:
        self.make = make
        self.beside = make(beside)
        self.chosen: D | None = None
        self.version: int | None = None
        """Of the database when it was last looked after."""
        self.damaged = False
        self._links: tempfile.TemporaryDirectory[str] | None = None
        self._note = 0

    def choose(self, index: D) -> None:
        """Raises `Damaged`."""
        if os.access(index.folder, os.W_OK):
            index.reload()
            self.chosen = index
            return
        # tantivy cannot open a folder in which it cannot make a lock: it gets one of links to the files there
        links = tempfile.TemporaryDirectory(prefix="veridical-index-")
        linked = self.make(Path(links.name))
        linked.folder.mkdir()
        for file in index.folder.iterdir():
            if file.suffix != ".lock":
                (linked.folder / file.name).symlink_to(file.resolve())
        linked.reload()
        self.chosen, self._links = linked, links

    def broken(self) -> None:
        self.damaged, self.chosen, self.version = True, None, None
        self._note = self.beside.changed()

    def mended(self) -> bool:
        """Whether another process has made it again since it was found broken."""
        return self.damaged and self.beside.changed() != self._note


class Shelf:
    """Both indexes of one file, for several threads."""

    def __init__(self, database: Database, *, store: str, language: str, on_event: OnIndexing = None) -> None:
        self._database = database
        self._store = store
        self._on_event = on_event
        self._lock = threading.RLock()
        words = Language(language)
        beside = index_folder(database.path, store)
        self._passages = _Kept(beside, lambda folder: Passages(folder, words))
        self._titles = _Kept(beside, Titles)

    def best(self, query: str, k: int) -> list[tuple[int, float]]:
        """See `Passages.best`. Raises SearchError if there is no index and none can be made."""
        return self._use(self._passages, lambda index: index.best(query, k))

    def near(self, title: str) -> list[str]:
        """See `Titles.near`. Raises SearchError as `best` does."""
        return self._use(self._titles, lambda index: index.near(title))

    def _use(self, kept: _Kept[D], ask: Callable[[D], T]) -> T:
        try:
            return ask(self._ready(kept))
        except Damaged:
            with self._lock:
                kept.broken()
        try:
            return ask(self._ready(kept))
        except (Damaged, OSError) as error:
            raise SearchError(f"{self._database.path}: its search index cannot be used or made: {error}") from error

    def _ready(self, kept: _Kept[D]) -> D:
        with self._lock:
            version = self._database.version()
            if kept.version != version or kept.chosen is None:
                with self._database.snapshot() as connection:
                    settled = self._settle(kept, connection)
                kept.version = version if settled else None
            assert kept.chosen is not None
            return kept.chosen

    def _settle(self, kept: _Kept[D], connection: sqlite3.Connection) -> bool:
        """Choose an index; whether there is nothing to be done before the next change of the tables."""
        tables = Tables.read(connection)
        if self._database.replaced():  # what lies beside belongs to the file that took this one's place
            return self._cached(kept, connection, tables)
        standing = "useless" if kept.damaged else kept.beside.standing(tables)
        if standing == "current":
            kept.choose(kept.beside)
            return True
        lock = FileLock(lock_file(self._database.path))
        try:
            if standing == "behind" and not lock.acquire():
                kept.choose(kept.beside)  # a writer is at work: as far as it is by now
                return False
            if standing != "behind" and not self._waited(lock, kept, tables):
                kept.choose(kept.beside)
                return True
            try:
                self._repair(kept, kept.beside, connection, tables)
            finally:
                lock.release()
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            return self._cached(kept, connection, tables)
        kept.choose(kept.beside)
        return True

    def _cached(self, kept: _Kept[D], connection: sqlite3.Connection, tables: Tables) -> bool:
        folder = cache_folder(self._store, tables.fingerprint)
        own = kept.make(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.with_suffix(".lock"))
        if (own.standing(tables) != "current" or kept.damaged) and self._waited(lock, kept, tables, own):
            try:
                self._repair(kept, own, connection, tables)
                clear_others(folder, start=f"{self._store}-")
            finally:
                lock.release()
        kept.choose(own)
        return True

    def _repair(self, kept: _Kept[D], index: D, connection: sqlite3.Connection, tables: Tables) -> None:
        """The caller has the lock."""
        kept.damaged = kept.damaged and not kept.mended()
        standing = "useless" if kept.damaged else index.standing(tables)
        if standing == "behind":
            try:
                with index.session() as session:
                    follow([index], [session], connection)
                return
            except Damaged:
                pass
        if standing != "current":
            if kept.damaged:
                index.forget()
            index.rebuild(connection, self._on_event)
        kept.damaged = False

    def _waited(self, lock: FileLock, kept: _Kept[D], tables: Tables, index: D | None = None) -> bool:
        """Whether the lock was got; else the index has become usable meanwhile."""
        end = time.monotonic() + PATIENCE
        while not lock.acquire():
            if not kept.damaged and (index or kept.beside).standing(tables) in ("current", "behind"):
                return False
            if time.monotonic() > end:
                raise SearchError(f"{self._database.path}: {lock.holder()} is writing its search index for too long")
            time.sleep(_POLL)
        return True
