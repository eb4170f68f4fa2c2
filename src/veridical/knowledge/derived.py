"""A search index that is made from the tables of a knowledge source, and can be made again at any time.

It lies in a folder of its own, beside a note of the state of the tables that it follows. What a reader finds in it is
looked up in the tables before it is believed, for the index follows a change a moment later.
"""

from __future__ import annotations

import contextlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import msgspec
import tantivy

from ..types import Struct

FORMAT = "2"
"""Of the fields of an index and of the words in them."""
HEAP = 128_000_000
"""Bytes in which a new index is sorted before it goes to the disk."""
SMALL_HEAP = 30_000_000
THREADS = 2
EVERY = 5_000
"""Documents between two events."""
COMMIT = 500_000
"""Documents after which the building of a large index can be taken up again."""


class Indexing(Struct, frozen=True, kw_only=True):
    """How far the building of a search index has come."""

    index: str
    """"passages" or "titles"."""
    done: int
    total: int


OnIndexing = Callable[[Indexing], None] | None


class Damaged(Exception):
    """An index that cannot be used; making it again helps."""


class Tables(Struct, frozen=True, kw_only=True):
    """The state of the tables that an index follows."""

    seq: int
    """The last change that went through the outbox; 0 if none ever did."""
    oldest: int | None
    """The first that is still in it."""
    fingerprint: str

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Tables:
        ((oldest,),) = connection.execute("SELECT min(seq) FROM outbox")
        last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()
        ((fingerprint,),) = connection.execute("SELECT value FROM meta WHERE key = 'fingerprint'")
        return cls(seq=last[0] if last else 0, oldest=oldest, fingerprint=fingerprint)


class _State(Struct, frozen=True, kw_only=True):
    """What an index follows, written after it."""

    format: str
    seq: int
    fingerprint: str
    to: int | None = None
    """The last row that is in it, if it is not complete."""


Standing = Literal["current", "behind", "partial", "useless"]


class Derived(ABC):
    """One index in the folder `folder/kind`."""

    kind: ClassVar[str]

    def __init__(self, folder: Path, analyzer: tantivy.TextAnalyzer) -> None:
        self.folder = folder / self.kind
        self._note = folder / f"{self.kind}.json"
        self._analyzer = analyzer
        self._index: tantivy.Index | None = None
        self.schema = self._schema()

    @abstractmethod
    def _schema(self) -> tantivy.Schema:
        """With an indexed integer field "owner": page.id, or -redirect.id. The analyzer is called "words"."""

    @abstractmethod
    def documents(self, connection: sqlite3.Connection, owner: int) -> Iterator[tantivy.Document]:
        """Those of one page or redirect, as it is now; none if it was deleted."""

    @abstractmethod
    def everything(self, connection: sqlite3.Connection, after: int) -> Iterator[tuple[int, tantivy.Document]]:
        """All documents beyond the row `after`, with their row, in its order."""

    @abstractmethod
    def total(self, connection: sqlite3.Connection) -> int:
        """How many they are about."""

    def standing(self, tables: Tables) -> Standing:
        """Whether it can be searched as it is, after a `follow`, after the rest of a `rebuild`, or only after all."""
        state = self._state()
        if state is None or state.format != FORMAT or not tantivy_exists(self.folder):
            return "useless"
        same = state.seq == tables.seq and state.fingerprint == tables.fingerprint
        if state.to is not None:
            return "partial" if same else "useless"
        if same:
            return "current"
        return "behind" if state.seq < tables.seq and (tables.oldest or 0) in range(1, state.seq + 2) else "useless"

    def opened(self) -> tantivy.Index:
        """As of the last `reload`. Raises `Damaged`."""
        if self._index is None:
            self.reload()
        assert self._index is not None
        return self._index

    def reload(self) -> None:
        """See what was committed since. Raises `Damaged`."""
        with watched():
            if self._index is None:
                self._index = self._open(self.folder)
                self._index.config_reader(reload_policy="manual")
            self._index.reload()

    def rebuild(self, connection: sqlite3.Connection, on_event: OnIndexing = None) -> None:
        """Make it from the tables, or the rest of it. The caller has the lock and a snapshot."""
        tables = Tables.read(connection)
        state = self._state() if self.standing(tables) == "partial" else None
        try:
            with watched():
                self._build(connection, tables, state.to if state and state.to is not None else 0, on_event)
        except Damaged:
            if state is None:
                raise
            self._build(connection, tables, 0, on_event)

    def _build(self, connection: sqlite3.Connection, tables: Tables, after: int, on_event: OnIndexing) -> None:
        self._index = None
        if not after:
            self._note.unlink(missing_ok=True)
            _emptied(self.folder)
        total, done = self.total(connection), 0
        with self.session(heap=HEAP, threads=THREADS) as session:
            if after:
                session.forget_after(after)
            for row, document in self.everything(connection, after):
                session.add(document)
                done += 1
                if on_event and done % EVERY == 0:
                    on_event(Indexing(index=self.kind, done=done, total=max(total, done)))
                if done % COMMIT == 0:
                    session.commit()
                    self.remember(tables, to=row)
            session.commit()
        self.remember(tables)

    def remember(self, tables: Tables, *, to: int | None = None) -> None:
        """Note that it follows `tables`, up to the row `to` if it is not complete; after the commit."""
        state = _State(format=FORMAT, seq=tables.seq, fingerprint=tables.fingerprint, to=to)
        written = self._note.with_suffix(".new")
        written.write_bytes(msgspec.json.encode(state))
        written.replace(self._note)

    def forget(self) -> None:
        """It is to be made again, from the beginning."""
        self._note.unlink(missing_ok=True)
        self._index = None

    def changed(self) -> int:
        """When it was last brought up to date, as a number; 0 if there is none."""
        try:
            return self._note.stat().st_mtime_ns
        except OSError:
            return 0

    def _state(self) -> _State | None:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._note.read_bytes(), type=_State)
        return None

    def session(self, *, heap: int = SMALL_HEAP, threads: int = 1) -> Session:
        """Changes to it. The caller has the lock. Raises `Damaged`."""
        with watched():
            self.folder.mkdir(parents=True, exist_ok=True)
            return Session(self, self._open(self.folder, new=True), heap=heap, threads=threads)

    def _open(self, folder: Path, *, new: bool = False) -> tantivy.Index:
        index = tantivy.Index(self.schema, path=str(folder)) if new else tantivy.Index.open(str(folder))
        index.register_tokenizer("words", self._analyzer)
        return index


class Session:
    """A writer of an index, which is open for a while."""

    def __init__(self, derived: Derived, index: tantivy.Index, *, heap: int, threads: int) -> None:
        self._derived = derived
        self._writer: tantivy.IndexWriter | None = index.writer(heap_size=heap, num_threads=threads)
        # A process that was killed while it committed leaves files, at which the same commit would fail for ever.
        self._writer.garbage_collect_files()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def writer(self) -> tantivy.IndexWriter:
        assert self._writer is not None
        return self._writer

    def add(self, document: tantivy.Document) -> None:
        self.writer.add_document(document)

    def forget_after(self, row: int) -> None:
        beyond = tantivy.Query.range_query(
            self._derived.schema, "id", tantivy.FieldType.Integer, lower_bound=row, include_lower=False
        )
        self.writer.delete_documents_by_query(beyond)

    def put(self, connection: sqlite3.Connection, owners: Iterable[int]) -> None:
        """Bring what belongs to these pages and redirects up to date."""
        for owner in owners:
            self.writer.delete_documents_by_term("owner", owner)
            for document in self._derived.documents(connection, owner):
                self.writer.add_document(document)

    def commit(self) -> None:
        self.writer.commit()

    def close(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.wait_merging_threads()


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Raises `Damaged` for what tantivy raises: ValueError, OSError, and panics, which are no Exception."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise Damaged(str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise Damaged(str(error)) from error


def follow(
    derived: Sequence[Derived],
    sessions: Sequence[Session],
    connection: sqlite3.Connection,
) -> Tables:
    """Bring indexes that are behind up to date with the outbox; returns what they follow then. The caller has the lock
    and a snapshot. Raises `Damaged`."""
    tables = Tables.read(connection)
    owners = [owner for (owner,) in connection.execute("SELECT DISTINCT owner FROM outbox ORDER BY owner")]
    with watched():
        for one, session in zip(derived, sessions, strict=True):
            session.put(connection, owners)
            session.commit()
            one.remember(tables)
    return tables


def tantivy_exists(folder: Path) -> bool:
    return (folder / "meta.json").is_file()


def _emptied(folder: Path) -> None:
    """Without its files; there are no folders in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
