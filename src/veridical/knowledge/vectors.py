"""Vectors of texts, each worked out once: kept within a bound, and shared by all who ask at the same time."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Encode = Callable[[Sequence[str]], NDArray[np.float32]]

KEPT_BYTES = 1 << 28
"""Of vectors: 170,000 passages of 384 dimensions."""
_AT_ONCE = 256
"""Texts in one call: a run that is stopped waits for no more than these."""


class Memory:
    """Vectors by the content of their text; the ones unused for longest are dropped first.

    The first to ask starts encoding, in a thread. All that is asked for meanwhile goes into the next call, so that the
    facts of an answer share a few batches; a text that is being encoded is waited for, not encoded again.
    """

    def __init__(self, encode: Encode, *, kept_bytes: int = KEPT_BYTES) -> None:
        self._encode = encode
        self._most = kept_bytes
        self._kept: OrderedDict[bytes, Vector] = OrderedDict()
        self._bytes = 0
        self._keeping = threading.Lock()  # event loops of several threads may ask
        self._lines: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = weakref.WeakKeyDictionary()

    async def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 (n, d) for n > 0 texts. Raises what encoding them raised."""
        line = self._line()
        keys = [_key(text) for text in texts]
        found: dict[bytes, Vector] = {}
        awaited: dict[bytes, asyncio.Future[Vector]] = {}
        for key, text in zip(keys, texts, strict=True):
            if key in found or key in awaited:
                continue
            if (vector := self._recall(key)) is not None:
                found[key] = vector
            else:
                awaited[key] = line.put(key, text)
        if awaited:
            await asyncio.wait(
                awaited.values()
            )  # leaves the futures alone if this waiter is cancelled: others wait too
            found |= {key: future.result() for key, future in awaited.items()}
        return np.stack([found[key] for key in keys])

    def _line(self) -> _Line:
        loop = asyncio.get_running_loop()
        with self._keeping:
            if loop not in self._lines:
                self._lines[loop] = _Line(self._encode, self._keep)
            return self._lines[loop]

    def _recall(self, key: bytes) -> Vector | None:
        with self._keeping:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: bytes, vector: Vector) -> None:
        with self._keeping:
            if key not in self._kept:
                self._kept[key] = vector
                self._bytes += vector.nbytes
            while self._bytes > self._most and self._kept:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes


class _Line:
    """Texts that wait to be encoded, of one event loop."""

    def __init__(self, encode: Encode, keep: Callable[[bytes, Vector], None]) -> None:
        self._encode, self._keep = encode, keep
        self._waiting: dict[bytes, str] = {}
        self._futures: dict[bytes, asyncio.Future[Vector]] = {}
        self._task: asyncio.Task[None] | None = None

    def put(self, key: bytes, text: str) -> asyncio.Future[Vector]:
        """The vector to come."""
        if key not in self._futures:
            self._futures[key] = asyncio.get_running_loop().create_future()
            self._waiting[key] = text
            if self._task is None:
                self._task = asyncio.create_task(self._work())
        return self._futures[key]

    async def _work(self) -> None:
        try:
            while self._waiting:
                keys = list(self._waiting)[:_AT_ONCE]
                texts = [self._waiting.pop(key) for key in keys]
                await self._batch(keys, texts)
        finally:
            for future in self._futures.values():  # only if this task was cancelled: the event loop is ending
                future.cancel()
            self._futures.clear()
            self._waiting.clear()
            self._task = None

    async def _batch(self, keys: Sequence[bytes], texts: Sequence[str]) -> None:
        try:
            vectors = await asyncio.to_thread(self._encode, texts)
            if len(vectors) != len(texts):
                raise RuntimeError(f"{len(vectors)} vectors for {len(texts)} texts")
        except Exception as error:
            for key in keys:
                future = self._futures.pop(key)
                future.set_exception(error)
                future.exception()  # seen, even if nobody waits any more
            return
        for key, vector in zip(keys, np.asarray(vectors, np.float32), strict=True):
            own = vector.copy()  # a row would keep its whole batch in memory
            self._keep(key, own)
            self._futures.pop(key).set_result(own)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
