"""A new knowledge source while it is made: a file beside the one it becomes, which a broken-off build goes on with.

What of the sources is in it is committed together with their pages, so a build that was killed repeats nothing and
loses nothing. It is no knowledge source before `finish` has written the number of its format.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import msgspec

from .prepare import Batch
from .redirects import Redirects, counted
from .rows import Rows
from .schema import APPLICATION, INDEXES, TABLES, VERSION

_SAID = {"no text": "has no text", "repeated title": "came before"}
EXAMPLES = 20
"""Of what was left out, named in the report."""
_PROGRESS = """
CREATE TABLE progress (key TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE job (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_CACHE = -65536
"""KiB of the tables held in memory."""


class Left(msgspec.Struct, kw_only=True):
    """What was left out so far, and what was no page."""

    skipped: dict[str, int] = {}
    """Pages by reason."""
    examples: list[str] = []
    plain: int = 0
    """Pages whose markup could not be read as a whole."""
    disambiguation: int = 0
    passed: dict[str, dict[str, int]] = {}
    """File -> what of it is no page, by what it is; of dumps."""
    articles: dict[str, int] = {}
    """File -> its pages with text; of dumps."""


class Bulk:
    """The file. One process at a time; the caller has the lock."""

    def __init__(self, path: Path, job: str, language: str) -> None:
        """Go on with what is at `path` if it was made for the same `job` (sources and settings), else start anew."""
        self.path = path
        self._database = self._opened(job) or self._new(job, language)
        self.store = (self._value("store") or b"").decode()
        """Id of the file that it becomes."""
        self.rows = Rows(self._database)
        self.left = msgspec.json.decode(self._value("left") or b"{}", type=Left)
        self.finished: set[str] = {key for (key,) in self._database.execute("SELECT key FROM progress")}
        ((self.bytes,),) = self._database.execute("SELECT coalesce(sum(bytes), 0) FROM progress")
        self._database.execute("BEGIN")

    def __enter__(self) -> Bulk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it; what was not committed is forgotten. What holds nothing worth going on with is removed."""
        if self._database.in_transaction:
            self._database.rollback()
        self._database.close()
        if error is not None and not (self.finished and self.rows.pages):
            self.remove()

    @property
    def connection(self) -> sqlite3.Connection:
        return self._database

    def take(self, batch: Batch, *, file: str, dump: bool) -> None:
        """Pages of a source, and what was left out of it."""
        left = self.left
        for page in batch.pages:
            if reason := self.rows.add(page):
                self.skip(reason, f"{page.place}: {page.title!r} {_SAID.get(reason, f'cannot be kept: {reason}')}")
            elif page.target is None:
                left.plain += page.plain
                left.disambiguation += page.disambiguation
                if dump:
                    left.articles[file] = left.articles.get(file, 0) + 1
        for bad in batch.bad:
            self.skip(bad.kind, str(bad.error()))
        if dump:
            left.passed[file] = dict(Counter(left.passed.get(file, {})) + Counter(batch.passed))

    def skip(self, reason: str, example: str) -> None:
        self.left.skipped[reason] = self.left.skipped.get(reason, 0) + 1
        if len(self.left.examples) < EXAMPLES:
            self.left.examples.append(example)

    def done(self, keys: Mapping[str, int]) -> None:
        """Commit what was taken as all of these pieces, with the bytes that each stands for."""
        run = self._database.execute
        self._database.executemany("INSERT OR REPLACE INTO progress VALUES (?, ?)", list(keys.items()))
        run("INSERT OR REPLACE INTO job VALUES ('left', ?)", (msgspec.json.encode(self.left).decode(),))
        self.rows.save()
        run("COMMIT")
        run("BEGIN")
        self.rows.touched.clear()
        self.finished |= keys.keys()
        self.bytes += sum(keys.values())

    def indexed(self) -> Redirects:
        """Make the tables quick to search. Returns where their redirects lead."""
        run = self._database.execute
        self.rows.save()
        run("COMMIT")
        self._database.executescript(INDEXES)
        return counted(lambda sql, *values: run(sql, values).fetchall())

    def finish(self, told: Mapping[str, str]) -> None:
        """Make it a knowledge source: last of all the number of its format."""
        run = self._database.execute
        run("BEGIN")
        meta = dict(told) | {"schema": str(VERSION), "store": self.store}
        self._database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", sorted(meta.items()))
        run("DROP TABLE progress")
        run("DROP TABLE job")
        run("COMMIT")
        run("PRAGMA journal_mode = DELETE")  # one file, which a reader without rights to the folder can open

    def remove(self) -> None:
        for end in ("", "-wal", "-shm", "-journal"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def _opened(self, job: str) -> sqlite3.Connection | None:
        if not self.path.exists():
            return None
        database = _connected(self.path)
        try:
            row = database.execute("SELECT value FROM job WHERE key = 'job'").fetchone()
        except sqlite3.Error:
            row = None
        if row and row[0] == job:
            return database
        database.close()
        self.remove()
        return None

    def _new(self, job: str, language: str) -> sqlite3.Connection:
        database = _connected(self.path)
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.executescript(TABLES + _PROGRESS)
        known = [("job", job), ("store", secrets.token_hex(8))]
        database.executemany("INSERT INTO job VALUES (?, ?)", known)
        database.execute("INSERT INTO meta VALUES ('language', ?)", (language,))  # part of the fingerprint
        return database

    def _value(self, key: str) -> bytes | None:
        row = self._database.execute("SELECT value FROM job WHERE key = ?", (key,)).fetchone()
        return row[0].encode() if row else None


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", f"cache_size = {_CACHE}"):
        database.execute(f"PRAGMA {pragma}")
    return database
