"""The text of a page, read in another process that is stopped where it takes too long (see `reader.py`).

Bytes come from strangers: whatever they are, the outcome is a text or a `SearchError`.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib.util
import os
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path

import msgspec

from ...errors import SearchError, UsageError
from .reader import Extracted, Job, Outcome, framed, readable

__all__ = ["Extracted", "Readers", "available", "extract", "readable"]

SECONDS = 30
"""For one page."""
READERS = 2
"""Processes at once: reading is work for the processor."""
HINT = "reading pages needs trafilatura and pypdf: pip install 'veridical[pages]'"
_PACKAGES = Path(__file__).resolve().parents[3]
_PASSED = ("PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SYSTEMROOT", "TMPDIR", "TEMP", "LANG", "LC_ALL")
"""Environment of the process. Not the keys: it reads what strangers wrote."""


def available() -> None:
    """Raises UsageError where the libraries are not installed."""
    if any(importlib.util.find_spec(name) is None for name in ("trafilatura", "pypdf", "charset_normalizer")):
        raise UsageError(HINT)


async def extract(body: bytes, content_type: str, url: str) -> Extracted:
    """The text of one page; for many, `Readers`."""
    readers = Readers()
    try:
        return await readers.read(body, content_type, url)
    finally:
        await readers.close()


@dataclasses.dataclass
class Readers:
    """At most `limit` processes that read pages, started when they are needed. To be used in one event loop."""

    limit: int = READERS
    seconds: int = SECONDS
    _idle: list[Process] = dataclasses.field(default_factory=list, init=False, repr=False)
    _slots: asyncio.Semaphore = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.limit)

    async def read(self, body: bytes, content_type: str, url: str) -> Extracted:
        """The text of a page. `content_type` is the header ("text/html; charset=utf-8"); without one the bytes decide.

        Raises `SearchError` for another type, for what cannot be read in time and for what says nothing, `UsageError`
        where the libraries are not installed.
        """
        available()
        job = msgspec.json.encode(Job(content_type=_storable(content_type), url=_storable(url)))
        async with self._slots:
            process = self._taken() or await _started(self.seconds)
            try:
                async with asyncio.timeout(self.seconds):
                    answer = await _asked(process, framed(job) + framed(body))
            except TimeoutError:
                raise SearchError(f"the page could not be read within {self.seconds} s") from None
            except (OSError, asyncio.IncompleteReadError):
                raise SearchError("the page cannot be read: it stopped its reader") from None
            else:
                self._idle.append(process)
            finally:
                if process not in self._idle:
                    await _ended(process)
        result = msgspec.json.decode(answer, type=Outcome)
        if result.found is None:
            raise SearchError(result.trouble)
        return result.found

    async def close(self) -> None:
        """End the processes that wait for work; a later `read` starts new ones."""
        while self._idle:
            await _ended(self._idle.pop())

    def _taken(self) -> Process | None:
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
        return None


def environment() -> dict[str, str]:
    """Of a process that reads what strangers wrote."""
    environ = {name: os.environ[name] for name in _PASSED if name in os.environ}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_PACKAGES), environ.get("PYTHONPATH"))))
    return environ


async def _started(seconds: int) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "veridical.knowledge.web.reader", str(seconds + 5),
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment(),
        )  # fmt: skip
    except OSError as error:
        raise SearchError(f"no process to read pages can be started: {error}") from error


async def _asked(process: Process, request: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request)
    await process.stdin.drain()
    size = struct.unpack(">I", await process.stdout.readexactly(4))[0]
    return await process.stdout.readexactly(size)


async def _ended(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
