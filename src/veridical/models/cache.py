"""The cache of calls: what we asked the outside world and what it said, keyed by the content of the question.

One SQLite file that any tool can open: `select request, response from calls`. The key covers everything that can change
a reply: kind, model, base URL and the whole request. Only complete replies are stored; an error or a cut reply is not an
answer. Identical calls in flight share one task.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..errors import FatalError, UsageError
from ..types import Struct
from .base import ChatReply, ChatRequest, LanguageModel

T = TypeVar("T")

MIGRATIONS = (
    """create table calls (
         key text primary key, kind text not null, name text not null, identity text not null,
         request text not null, response text not null,
         prompt_tokens integer not null, completion_tokens integer not null, cost real not null,
         created text not null default current_timestamp) without rowid""",
)
"""Statement n takes a file from user_version n to n + 1."""

BUSY = 30.0
"""Seconds to wait for another process that is writing."""


class CacheRow(Struct, omit_defaults=False):
    """What `stats` says of one model."""

    kind: str
    name: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float


def canonical(request: Any) -> str:
    """The request as JSON in one spelling: sorted keys, no blanks, defaults written out."""
    if isinstance(request, msgspec.Struct):
        plain = {name: msgspec.to_builtins(getattr(request, name)) for name in request.__struct_fields__}
    else:
        plain = msgspec.to_builtins(request)
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def key_of(kind: str, identity: str, body: str) -> str:
    """sha256 over kind, identity and the canonical request."""
    return hashlib.sha256("\0".join((kind, identity, body)).encode("utf-8", "surrogatepass")).hexdigest()


class CallStore:
    """The file. One per process and path; several processes may share a path."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._pending: dict[str, asyncio.Task[Any]] = {}
        _check_header(self.path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=BUSY)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = normal")
            self._migrate()
        except sqlite3.DatabaseError as error:
            raise _explained(error, self.path) from None
        except OSError as error:
            raise UsageError(f"{self.path}: {error.strerror}") from None

    def _migrate(self) -> None:
        self._db.execute("begin immediate")
        version = self._db.execute("pragma user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            self._db.execute("rollback")
            raise UsageError(f"{self.path} was made by a newer veridical (cache version {version})")
        for statement in MIGRATIONS[version:]:
            self._db.execute(statement)
        self._db.execute(f"pragma user_version = {len(MIGRATIONS)}")
        self._db.execute("commit")

    def get(self, key: str) -> str | None:
        """The stored response, or None."""
        row = self._run("select response from calls where key = ?", (key,)).fetchone()
        return row[0] if row else None

    def put(
        self, key: str, kind: str, name: str, identity: str, request: str, response: str, reply: Any = None
    ) -> None:
        """Store a response; the first one stays. On disk before this returns (safe against kill -9)."""
        tokens = (
            getattr(reply, "prompt_tokens", 0),
            getattr(reply, "completion_tokens", 0),
            getattr(reply, "cost", 0.0),
        )
        self._run(
            "insert or ignore into calls(key, kind, name, identity, request, response, prompt_tokens, "
            "completion_tokens, cost) values (?,?,?,?,?,?,?,?,?)",
            (key, kind, name, identity, request, response, *tokens),
        )

    def forget(self, key: str) -> None:
        """Delete one response, so that the call is made again."""
        self._run("delete from calls where key = ?", (key,))

    async def get_or_call(
        self,
        kind: str,
        model: tuple[str, str],
        request: Any,
        call: Callable[[], Awaitable[T]],
        type_: type[T],
        keep: Callable[[T], bool] = lambda _: True,
    ) -> T:
        """The stored response to `request` of `model` (name, identity), else that of `call`, stored if `keep` says so.

        Whoever asks the same meanwhile waits for the same call; a waiter that is cancelled takes nobody with it.
        """
        name, identity = model
        body = canonical(request)
        key = key_of(kind, identity, body)
        if (stored := self.get(key)) is not None:
            return msgspec.json.decode(stored, type=type_)
        if key not in self._pending:

            async def call_and_keep() -> T:
                response = await call()
                if keep(response):
                    self.put(key, kind, name, identity, body, msgspec.json.encode(response).decode(), response)
                return response

            task = asyncio.create_task(call_and_keep())
            self._pending[key] = task
            task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(self._pending[key])

    def _done(self, key: str, task: asyncio.Task[Any]) -> None:
        self._pending.pop(key, None)
        if not task.cancelled():
            task.exception()  # seen, even if every waiter is gone

    def stats(self) -> list[CacheRow]:
        """Replies, tokens and money by kind and name."""
        rows = self._run(
            "select kind, name, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost) "
            "from calls group by kind, name order by kind, name"
        )
        fields = CacheRow.__struct_fields__
        return [CacheRow(**dict(zip(fields, row, strict=True))) for row in rows]

    def clear(self, *, kind: str | None = None, name: str | None = None) -> int:
        """Delete responses of this kind and name (None: any); returns how many."""
        return self._run(
            "delete from calls where (?1 is null or kind = ?1) and (?2 is null or name = ?2)", (kind, name)
        ).rowcount

    def close(self) -> None:
        self._db.close()

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except sqlite3.DatabaseError as error:
            raise _explained(error, self.path, fatal=True) from None


@dataclasses.dataclass
class Cached:
    """Answers from the store where it can. Cut replies are passed on and not stored."""

    inner: LanguageModel
    store: CallStore

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> str:
        return self.inner.identity

    async def chat(self, request: ChatRequest) -> ChatReply:
        return await self.store.get_or_call(
            "chat",
            (self.name, self.identity),
            request,
            lambda: self.inner.chat(request),
            ChatReply,
            keep=lambda reply: reply.finish_reason != "length" and bool(reply.text),
        )

    async def reject(self, request: ChatRequest) -> None:
        """The reply to this request could not be read: forget it, so that a later run asks again."""
        self.store.forget(key_of("chat", self.identity, canonical(request)))

    async def close(self) -> None:
        await self.inner.close()


def _check_header(path: Path) -> None:
    """A file that is no SQLite database is refused at once, and left as it is."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if head and head != b"SQLite format 3\0":
        raise UsageError(f"{path} is not a cache of calls: it is not a SQLite file")


def _explained(error: sqlite3.DatabaseError, path: Path, *, fatal: bool = False) -> UsageError | FatalError:
    kind = FatalError if fatal else UsageError
    return kind(f"the cache {path} cannot be used: {error}; move it away to start with an empty one")
