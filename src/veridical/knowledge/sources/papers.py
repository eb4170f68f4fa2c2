"""HTML, PDF and Word files, each one page.

Their parsers are fed by strangers, so they run in a process of their own, with bounded memory and time; it is kept for
the next file and ends with the process that asked.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from ...errors import FatalError, SearchError, UsageError
from ...types import Struct
from ..documents import Record, Section
from ..titles import tidy
from ..web import reader
from ..web.extract import available, environment
from . import word
from .base import BIGGEST, Bad, Kind, Pages, Passed, Unit, shown, whole
from .text import named

SECONDS = 120
"""For one file."""
SHEETS = 5_000
"""Most pages of a PDF that are read."""
CHARACTERS = 20_000_000
"""Most characters of a text that are kept."""
_TYPES = {".html": "text/html", ".htm": "text/html", ".xhtml": "text/html", ".pdf": "application/pdf"}


class Job(Struct, frozen=True, kw_only=True):
    """What comes before the bytes of a file."""

    ending: str


class Answer(Struct, frozen=True, kw_only=True):
    """What comes back."""

    sections: tuple[Section, ...] = ()
    title: str = ""
    date: str | None = None
    cut: bool = False
    trouble: str = ""


def units(path: Path) -> Iterator[Unit]:
    if path.suffix.lower() != ".docx":
        available()
    elif importlib.util.find_spec("docx") is None:
        raise UsageError(f"{shown(path)}: Word files need python-docx: pip install 'veridical[documents]'")
    yield whole(path, "paper")


def read(piece: Unit, language: str | None, passed: Passed) -> Pages:
    path, name = Path(piece.file), shown(piece.file)
    if not piece.bytes or piece.bytes > BIGGEST:
        yield Bad(
            reason=f"a document of more than {BIGGEST >> 20} MB" if piece.bytes else "the file is empty", file=name
        )
        return
    found = ask(Job(ending=path.suffix.lower()), path.read_bytes())
    if found.trouble:
        yield Bad(reason=found.trouble, file=name)
        return
    yield Record(title=tidy(found.title) or named(path), sections=found.sections, date=found.date, file=name)
    if found.cut:
        yield Bad(reason=f"a document of more than {SHEETS:,} pages or {CHARACTERS:,} characters, cut there", file=name)


# In the process that asks


_kept: dict[int, subprocess.Popen[bytes]] = {}
"""The process of a process: what is inherited by a fork is its parent's."""


def ask(job: Job, body: bytes) -> Answer:
    """Have a file read. Whatever it is, there is an answer, if only one of what went wrong."""
    process = _kept.pop(os.getpid(), None)
    if process is None or process.poll() is not None:
        process = _started()
    assert process.stdin is not None
    assert process.stdout is not None
    late: list[bool] = []

    def stop() -> None:
        late.append(True)
        process.kill()

    timer = threading.Timer(SECONDS, stop)
    timer.start()
    try:
        process.stdin.write(reader.framed(msgspec.json.encode(job)) + reader.framed(body))
        process.stdin.flush()
        size = struct.unpack(">I", _exactly(process.stdout, 4))[0]
        answer = msgspec.json.decode(_exactly(process.stdout, size), type=Answer)
    except (OSError, EOFError):
        process.kill()
        process.wait()
        return Answer(trouble=f"it could not be read within {SECONDS} s" if late else "it stopped its reader")
    finally:
        timer.cancel()
    if _kept.setdefault(os.getpid(), process) is not process:  # another thread has kept its own
        process.kill()
        process.wait()
    return answer


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", __name__, str(SECONDS + 5)]
    try:
        return subprocess.Popen(  # noqa: S603  our own module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
        )
    except OSError as error:
        raise FatalError(f"no process to read documents can be started: {error}") from error


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise EOFError
    return data


@atexit.register
def close() -> None:
    """End the process that is kept; a further file starts a new one."""
    process = _kept.pop(os.getpid(), None)
    if process is not None:
        process.kill()
        process.wait()


# In the process that reads


def answer(head: bytes, body: bytes) -> bytes:
    """Read a file, with every trouble as a value."""
    job = msgspec.json.decode(head, type=Job)
    try:
        found = _word(body) if job.ending == ".docx" else _page(body, job.ending)
    except SearchError as error:
        found = Answer(trouble=str(error).replace("the page", "the document"))
    except MemoryError:
        found = Answer(trouble="the document needs too much memory")
    except Exception as error:
        found = Answer(trouble=f"the document cannot be read: {type(error).__name__}")
    return msgspec.json.encode(found)


def _page(body: bytes, ending: str) -> Answer:
    found = reader.read(body, _TYPES[ending], "", pages=SHEETS, characters=CHARACTERS)
    return Answer(sections=(Section(text=found.text),), title=found.title, date=found.date, cut=found.cut)


def _word(body: bytes) -> Answer:
    title, sections = word.read(body)
    if not any(section.text.strip() for section in sections):
        raise SearchError("the document has no text")
    return Answer(title=title, sections=tuple(sections), cut=False)


KIND = Kind(units=units, read=read)

if __name__ == "__main__":
    reader.main(int(sys.argv[1]), answer)
