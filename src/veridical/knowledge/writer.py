"""Changes to a finished knowledge source while others read it: pages added, replaced and deleted.

A commit writes pages and a list of what changed (the outbox) in one transaction of SQLite, and is on the disk when it
returns. The search indexes follow it; if the process dies before they do, the next reader or writer lets them.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType

from ..errors import FatalError, InputError, UsageError
from .database import check
from .derived import Damaged, Derived, Tables, follow
from .indexes import Passages, Titles
from .locks import FileLock
from .places import index_folder, lock_file
from .prepare import Ready
from .rows import Rows
from .schema import LANGUAGE, VERSION, label
from .words import Language


class Writer:
    """One at a time, over all processes. Use it as a context; what was not committed is forgotten at its end.

    Readers in this and other processes see a commit at their next search, with the source's new name.
    """

    def __init__(self, path: str | Path) -> None:
        """Raises InputError, saying what was found, for what is no knowledge source of this version, UsageError while
        another process writes it."""
        self.path = Path(path)
        check(self.path)
        self._lock = FileLock(lock_file(self.path))
        if not self._lock.acquire():
            raise UsageError(f"{self.path}: {self._lock.holder()} is writing it")
        try:
            self._database = sqlite3.connect(self.path, isolation_level=None)
            self._meta = self._known()
            for pragma in ("journal_mode = WAL", "synchronous = FULL"):
                self._database.execute(f"PRAGMA {pragma}")
            folder = index_folder(self.path, self._meta["store"])
            language = Language(self._meta.get("language", LANGUAGE))
            self._indexes: tuple[Derived, ...] = (Passages(folder, language), Titles(folder))
            self._follow()  # what a writer that died has left
            self._database.execute("BEGIN IMMEDIATE")
            self._rows = Rows(self._database)
        except BaseException as error:
            self._close()
            if isinstance(error, sqlite3.Error):
                raise InputError(f"cannot be written as a knowledge source: {error}", file=str(self.path)) from error
            raise

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    @property
    def name(self) -> str:
        """Name, snapshot and fingerprint, uncommitted changes included."""
        return label({**self._meta, "fingerprint": str(self._rows.fingerprint)})

    def has(self, title: str) -> bool:
        """Whether a page or redirect has exactly that title."""
        sql = "SELECT 1 FROM page WHERE title = ? UNION ALL SELECT 1 FROM redirect WHERE title = ?"
        return self._database.execute(sql, (title, title)).fetchone() is not None

    def add(self, page: Ready) -> str | None:
        """The reason why not, if it cannot be taken ("no text", "repeated title")."""
        return self._rows.add(page)

    def replace(self, page: Ready) -> str | None:
        """In place of what has its title, or as a new page; the reason why not, and nothing is changed."""
        return self._rows.replace(page)

    def delete(self, title: str) -> bool:
        """Whether there was a page or redirect of exactly that title."""
        return self._rows.delete(title)

    def commit(self) -> None:
        """All or nothing, and durable once it returns; then the indexes follow. Raises FatalError where the disk is
        full: then nothing was changed."""
        run = self._database.execute
        try:
            self._database.executemany("INSERT INTO outbox (owner) VALUES (?)", [(one,) for one in self._rows.touched])
            self._rows.save()
            run("COMMIT")
        except sqlite3.Error as error:
            self._database.rollback()
            self._rows.load()
            raise FatalError(f"{self.path}: cannot be written: {error}") from error
        finally:
            self._rows.touched.clear()
        self._follow()
        run("BEGIN IMMEDIATE")

    def _follow(self) -> None:
        """Bring the indexes up to the tables, and empty the outbox. One that is damaged or missing is left to the next
        search, which makes it again."""
        run = self._database.execute
        run("BEGIN")
        tables = Tables.read(self._database)
        behind = [one for one in self._indexes if one.standing(tables) == "behind"]
        sessions = []
        try:
            sessions = [one.session() for one in behind]
            follow(behind, sessions, self._database)
        except Damaged:
            for one in behind:
                one.forget()
        finally:
            for session in sessions:
                session.close()
            run("ROLLBACK")
        run("DELETE FROM outbox WHERE seq <= ?", (tables.seq,))

    def _known(self) -> dict[str, str]:
        meta: dict[str, str] = dict(self._database.execute("SELECT key, value FROM meta"))
        if meta.get("schema") != str(VERSION):
            found = f"schema {meta['schema']}" if "schema" in meta else "unfinished"
            raise InputError(f"no knowledge source of this version ({found}): build it again", file=str(self.path))
        return meta

    def _close(self) -> None:
        if hasattr(self, "_database"):
            if self._database.in_transaction:
                self._database.rollback()
            self._database.close()
        self._lock.release()
