"""A local GGUF file, run by llama.cpp inside this process (the `llamacpp` extra)."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import json
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from ..errors import FatalError, ModelError, UsageError
from .base import ChatReply, ChatRequest
from .embedded import remembered_sha256
from .llamacpp_labels import Spelling, compared, lookups, question, spellings
from .wire import Dialect, decode, encode

_MAGIC = b"GGUF"
_HINT = "a local GGUF needs llama.cpp: pip install 'veridical[llamacpp]'"


@dataclasses.dataclass
class LlamaCpp:
    """One model file; it is loaded at the first call and runs one call at a time, in a thread of its own.

    The chat template is the file's own. Nothing is kept from one prompt for the next: with a warm prompt cache the
    log-probabilities would depend on the order of the calls (by up to 0.1, measured), and so would the verdicts.
    """

    path: Path
    n_ctx: int = 4096
    """Tokens of prompt and answer together. A longer prompt is a `ModelError` before any answer."""
    threads: int | None = None
    """Threads for computing; None = as many as processors are free when the model is loaded."""
    name: str = ""
    """"llamacpp/file@hash" if empty."""
    _server: Any = dataclasses.field(default=None, init=False, repr=False)
    _spellings: dict[tuple[str, ...], tuple[Spelling, ...]] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )
    _thread: ThreadPoolExecutor | None = dataclasses.field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        if self.n_ctx < 1 or (self.threads is not None and self.threads < 1):
            raise UsageError(f"n_ctx and threads must be at least 1, not {self.n_ctx} and {self.threads}")
        _check_magic(self.path)
        self._engine = _engine()
        self._sha256 = remembered_sha256(self.path)
        self.name = self.name or f"llamacpp/{self.path.stem}@{self._sha256[:8]}"

    @property
    def identity(self) -> str:
        """The file's hash: the same weights at another place are the same model."""
        return f"gguf sha256:{self._sha256} n_ctx={self.n_ctx}"

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply. Raises `ModelError` for a prompt longer than the window or a schema that llama.cpp cannot follow,
        `FatalError` for a file that it cannot load.

        With `labels` the reply's text is the likeliest of them (the first of equals), its one token has all labels with
        their log-probabilities among themselves. `ModelError` for labels that begin with the same token.
        """
        if request.labels:
            return await self._compare(request)
        body = json.loads(encode(request, self.name, _DIALECT))
        reply = decode(await self._said(body), request, _DIALECT, {})
        return msgspec.structs.replace(reply, model=self.name)  # in place of the file's path

    async def close(self) -> None:
        """Free the model once the call under way has ended; later ones are dropped. A further call loads it again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.shutdown, wait=True, cancel_futures=True)
        self._server = None

    async def _said(self, body: dict[str, Any]) -> bytes:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="llamacpp")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, body)

    async def _compare(self, request: ChatRequest) -> ChatReply:
        plain = msgspec.structs.replace(request, labels=(), stop=(), top_p=None, json_schema=None, top_logprobs=None)
        body = json.loads(encode(plain, self.name, _DIALECT))
        if (ways := self._spellings.get(request.labels)) is None:
            found = {text: await self._said(asked) for text, asked in lookups(request.labels)}
            ways = self._spellings[request.labels] = spellings(request.labels, found)
        return compared(request, await self._said(question(body, ways)), ways, self.name)

    def _run(self, body: dict[str, Any]) -> bytes:
        if self._server is None:
            self._server = self._load()
        ask = self._server.handle_chat_completions if "messages" in body else self._server.handle_completions
        try:
            return json.dumps(ask(body)).encode()
        except (ValueError, RuntimeError) as error:
            raise ModelError(f"{self.name}: llama.cpp refuses the request: {str(error)[:500]}") from error

    def _load(self) -> Any:
        params = self._engine.CommonParams()
        params.model.path = str(self.path)
        params.n_ctx = self.n_ctx
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self.threads or _free_processors()
        params.verbosity = -1  # it would write to the terminal
        params.warmup = False
        params.cache_prompt = False
        params.cache_ram_mib = 0
        params.ctx_shift = False  # it would drop the front of the prompt to make room
        params.api_keys = [secrets.token_hex(16)]  # it listens on 127.0.0.1: nobody else shall use it
        try:
            return self._engine.Server(params)
        except Exception as error:
            raise FatalError(f"llama.cpp cannot load {self.path}: {error}") from error


_DIALECT = Dialect(price_in=0.0, price_out=0.0)


def _check_magic(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
    except (OSError, ValueError) as error:  # ValueError: a character that no path has
        raise UsageError(f"model file {path}: {getattr(error, 'strerror', None) or error}") from error
    if head != _MAGIC:
        raise UsageError(f"model file {path}: not a GGUF file (it begins with {head!r})")


def _engine() -> Any:
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise UsageError(f"{_HINT} ({error})") from error


def _free_processors() -> int:
    """Processors that this process may use and that others leave idle, OMP_NUM_THREADS at most.

    llama.cpp's threads wait for each other by spinning: two of them on two busy processors took up to ten times as long
    as one.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    busy = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    asked = os.environ.get("OMP_NUM_THREADS", "")
    most = int(asked) if asked.isdecimal() else usable
    return max(1, min(usable - busy, most))
