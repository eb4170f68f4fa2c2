"""A GGUF file on this machine, through llama.cpp's engine in this process (extra `llamacpp`)."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec

from ..errors import UsageError
from .base import ChatReply, ChatRequest
from .wire import Dialect, decode, encode

HINT = "llama.cpp is not installed; pip install 'veridical[llamacpp]'"


class LlamaCpp:
    """One model file, loaded at the first call. One call at a time: the engine uses all threads for it.

    The chat template is the file's own. A prompt that does not fit `context` is refused before any answer
    (`ModelError`).
    """

    def __init__(self, path: Path, *, name: str = "", context: int = 4096, threads: int | None = None) -> None:
        self.path = path
        self.context = context
        self.threads = threads or os.cpu_count() or 1
        _check(path)
        self.sha256 = _sha256(path, path.stat().st_size, path.stat().st_mtime_ns)
        self.name = f"{name or f'llamacpp/{path.name}'}@{self.sha256[:8]}"
        self._dialect = Dialect(context_window=context, price_in=0.0, price_out=0.0)
        self._engine: Any = None
        self._turn = asyncio.Lock()

    @property
    def identity(self) -> str:
        """Hash of the file, and its window."""
        return f"llamacpp {self.sha256} n_ctx={self.context}"

    async def chat(self, request: ChatRequest) -> ChatReply:
        body = msgspec.json.decode(encode(request, self.name, self._dialect))
        async with self._turn:
            reply = await asyncio.to_thread(self._ask, body)
        return decode(msgspec.json.encode(reply), request, self._dialect, {})

    async def close(self) -> None:
        async with self._turn:
            self._engine = None

    def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        if self._engine is None:
            self._engine = self._load()
        return self._engine.handle_chat_completions(body)

    def _load(self) -> Any:
        try:
            import xllamacpp
        except ImportError:
            raise UsageError(HINT) from None
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self.path)
        parameters.n_ctx = self.context
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = self.threads
        parameters.warmup = False
        parameters.verbosity = -1
        try:
            return xllamacpp.Server(parameters)
        except RuntimeError as error:
            raise UsageError(f"{self.path}: llama.cpp cannot load it: {error}") from None


def _check(path: Path) -> None:
    """Raises UsageError if this is no GGUF file."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if magic != b"GGUF":
        raise UsageError(f"{path} is not a GGUF file (it begins with {magic!r})")


@functools.lru_cache(maxsize=16)
def _sha256(path: Path, size: int, changed: int) -> str:
    """Size and time of change are arguments so that a replaced file is hashed anew."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
