"""The cache of calls: what was asked of the outside world and what it said, by the content of the question.

One SQLite file in WAL mode that any SQLite tool can read and several processes may share. JSON only. An entry is
written at once, so a killed process loses none of the replies it has seen; replies that are no answer are not stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import hashlib
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..errors import FatalError, ModelError, UsageError
from ..types import Struct
from .base import ChatReply, ChatRequest, Wrapper

T = TypeVar("T")

_APPLICATION = 0x76657263  # "verc": marks the file as ours
_MAGIC = b"SQLite format 3\x00"
_BUSY_SECONDS = 20.0
_CHECKED_BYTES = 256 * 2**20
"""Files up to this size are checked as a whole when opened, which takes 0.7 ms a megabyte."""


def _first(db: sqlite3.Connection) -> None:
    db.execute(
        "create table calls ("
        "key text not null unique, kind text not null, name text not null, identity text not null, "
        "request text not null, response text not null, prompt_tokens integer not null, "
        "completion_tokens integer not null, cost real not null, "
        "created text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')))"
    )


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_first]
"""Each takes the file from one version (its `user_version`) to the next; append only."""


def canonical(request: Struct) -> bytes:
    """JSON of a request in which equal requests have equal bytes: all of its fields, defaults too, keys sorted.

    Raises `ModelError` for text that is no Unicode (a lone surrogate).
    """
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    try:
        return msgspec.json.encode(fields, order="sorted")
    except UnicodeEncodeError as error:
        raise ModelError(f"the request holds a lone surrogate: {error.reason}") from error


class Question:
    """What a reply is stored under. `kind` is "chat", "search", …; `identity` names all beside the request that can
    change the reply."""

    __slots__ = ("body", "identity", "key", "kind", "name")

    def __init__(self, kind: str, name: str, identity: str, request: Struct) -> None:
        self.kind, self.name, self.identity = kind, name, identity
        self.body = canonical(request)
        head = msgspec.json.encode((kind, name, identity))  # as JSON, so that no two triples read the same
        self.key = hashlib.sha256(head + self.body).hexdigest()


class CallStats(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What is stored of one model or search."""

    kind: str
    name: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    """US dollars that these replies cost when they were made."""


class CallStore:
    """The file. To be used from one thread; other processes may use the same file at the same time.

    Opening raises `UsageError` for a file that is no cache, is damaged, or was made by a newer version, and
    `FatalError` where it cannot be written. Trouble with the file later on is a `FatalError`.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._pending: dict[str, asyncio.Task[Any]] = {}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _check_file(self.path)
            self._db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        except (OSError, sqlite3.OperationalError) as error:
            raise FatalError(f"cache {self.path}: {error}") from error
        try:
            self._open()
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        try:
            _enter_wal(self._db)
            self._db.execute("pragma synchronous=normal")  # survives the death of the process, if not of the machine
            self._migrate()
            self._check_pages()
        except sqlite3.OperationalError as error:  # cannot be written, no space, locked for too long
            raise FatalError(f"cache {self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, str(error)) from error

    def _migrate(self) -> None:
        version = self._pragma("user_version")
        if version > len(MIGRATIONS):
            raise UsageError(f"cache {self.path}: made by a newer version of veridical")
        tables = self._db.execute("select count(*) from sqlite_master").fetchone()[0]
        if tables and self._pragma("application_id") != _APPLICATION:
            raise UsageError(f"cache {self.path}: an SQLite file, but no cache of calls")
        if version == len(MIGRATIONS):
            return
        with self._db:
            self._db.execute("begin immediate")  # another process may be about to do the same
            for number in range(self._pragma("user_version"), len(MIGRATIONS)):
                MIGRATIONS[number](self._db)
            self._db.execute(f"pragma user_version={len(MIGRATIONS)}")
            self._db.execute(f"pragma application_id={_APPLICATION}")

    def _check_pages(self) -> None:
        if self.path.stat().st_size <= _CHECKED_BYTES:
            result = self._db.execute("pragma quick_check(1)").fetchone()[0]
            if result != "ok":
                raise _damaged(self.path, result)

    def _pragma(self, name: str) -> int:
        return self._db.execute(f"pragma {name}").fetchone()[0]

    async def get_or_call(
        self,
        question: Question,
        call: Callable[[], Awaitable[T]],
        reply_type: type[T],
        *,
        complete: Callable[[T], bool] = lambda _: True,
    ) -> T:
        """The stored reply, or that of `call`, which is then stored if it is `complete`.

        The same question asked again while its call is under way joins that call. A waiter that is cancelled neither
        stops the call, whose reply is stored all the same, nor disturbs the others.
        """
        reply = self._read(question, reply_type)
        if reply is not None:
            return reply
        task = self._pending.get(question.key)
        if task is None:
            task = asyncio.create_task(self._call_and_keep(question, call, reply_type, complete))
            self._pending[question.key] = task
            task.add_done_callback(functools.partial(self._done, question.key))
        return await asyncio.shield(task)

    async def _call_and_keep(
        self, question: Question, call: Callable[[], Awaitable[T]], reply_type: type[T], complete: Callable[[T], bool]
    ) -> T:
        reply = await call()
        if not complete(reply) or self._write(question, reply):
            return reply
        return self._read(question, reply_type) or reply  # another process was first: one question, one answer

    def _done(self, key: str, task: asyncio.Task[Any]) -> None:
        self._pending.pop(key, None)
        if not task.cancelled():
            task.exception()  # looked at, so that one whose waiters have all left is not reported as lost

    def _read(self, question: Question, reply_type: type[T]) -> T | None:
        with self._guarded():
            row = self._db.execute("select response from calls where key = ?", (question.key,)).fetchone()
        if row is None:
            return None
        try:
            return _decoder(reply_type).decode(row[0])
        except msgspec.MsgspecError:  # stored by a version with another shape: no answer any more
            self.forget(question)
            return None

    def _write(self, question: Question, reply: Any) -> bool:
        """Whether it was stored; False if there was one already."""
        row = (
            question.key,
            question.kind,
            question.name,
            question.identity,
            question.body.decode(),
            msgspec.json.encode(reply).decode(),
            getattr(reply, "prompt_tokens", 0),
            getattr(reply, "completion_tokens", 0),
            getattr(reply, "cost", 0.0),
        )
        with self._guarded():
            done = self._db.execute(
                "insert into calls"
                " (key, kind, name, identity, request, response, prompt_tokens, completion_tokens, cost)"
                " values (?,?,?,?,?,?,?,?,?) on conflict (key) do nothing",
                row,
            )
        return done.rowcount == 1

    def forget(self, question: Question) -> None:
        """Delete one stored reply, so that the question is asked again."""
        with self._guarded():
            self._db.execute("delete from calls where key = ?", (question.key,))

    def stats(self) -> list[CallStats]:
        """One entry a kind and name, in their order."""
        with self._guarded():
            rows = self._db.execute(
                "select kind, name, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost)"
                " from calls group by kind, name order by kind, name"
            ).fetchall()
        return [CallStats(**dict(zip(CallStats.__struct_fields__, row, strict=True))) for row in rows]

    def clear(self, *, kind: str | None = None, name: str | None = None) -> int:
        """Delete the replies of a kind, of a name, or all; returns how many there were."""
        with self._guarded():
            done = self._db.execute(
                "delete from calls where (?1 is null or kind = ?1) and (?2 is null or name = ?2)", (kind, name)
            )
            with contextlib.suppress(sqlite3.OperationalError):  # in use elsewhere: the space is used again later
                self._db.execute("vacuum")
        return done.rowcount

    async def drain(self, seconds: float) -> None:
        """Wait for the calls under way, so that what is being paid for is stored; at most so many seconds."""
        if self._pending:
            await asyncio.wait(list(self._pending.values()), timeout=seconds)

    def close(self) -> None:
        """Close the file. Calls still under way go on, and their replies are not stored."""
        self._db.close()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise FatalError(f"cache {self.path}: {error}") from error


def _enter_wal(db: sqlite3.Connection) -> None:
    """SQLite does not wait for other processes here, as it does elsewhere: so we do."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            db.execute("pragma journal_mode=wal")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _check_file(path: Path) -> None:
    """Refuse what is plainly something else, before SQLite takes a very short file for an empty one."""
    if path.is_dir():
        raise UsageError(f"cache {path}: is a folder")
    if path.exists():
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
        if head and head != _MAGIC:
            raise UsageError(f"cache {path}: not a cache of calls (not an SQLite file)")


def _damaged(path: Path, how: str) -> UsageError:
    return UsageError(f"cache {path}: damaged ({how}); delete the file, or name another with --cache")


@functools.cache
def _decoder(reply_type: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(reply_type)


@dataclasses.dataclass
class Cached(Wrapper):
    """A model whose complete replies are kept in a store.

    A reply cut by max_tokens is not stored, unless it came with log-probabilities: there the cut is intended, since the
    label stands in the first tokens.
    """

    store: CallStore
    keep_cut: bool = False
    """Keep replies that were cut too, apart from all others: where a cut text is a result, it is paid for once."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The stored reply, or the inner model's."""
        return await self.store.get_or_call(
            self._question(request), functools.partial(self.inner.chat, request), ChatReply, complete=self._complete
        )

    async def reject(self, request: ChatRequest) -> None:
        """Forget a reply whose text could not be read as what was asked for: the next run shall ask again."""
        self.store.forget(self._question(request))

    def _question(self, request: ChatRequest) -> Question:
        return Question("text" if self.keep_cut else "chat", self.name, self.identity, request)

    def _complete(self, reply: ChatReply) -> bool:
        whole = self.keep_cut or reply.finish_reason != "length" or reply.logprobs is not None
        return whole and bool(reply.text.strip())
