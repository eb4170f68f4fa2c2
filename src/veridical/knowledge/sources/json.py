"""JSON lines, cut at line ends; and JSON arrays, read element by element."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from ...errors import InputError
from . import packed, rows
from .base import BIGGEST, UNIT_BYTES, Bad, Kind, Pages, Passed, Unit, shown, unit, unusable, whole

_CHUNK = 1 << 20
_BLANKS = re.compile(r"\s*")
_MARK = b"\xef\xbb\xbf"


def units(path: Path) -> Iterator[Unit]:
    head = packed.head(path, expected="JSON")
    start = head.removeprefix(_MARK).lstrip()
    named = path.stem if packed.packing(path) else path.name
    if named.lower().endswith(".json") and start.startswith(b"["):
        yield whole(path, "json")
        return
    lines = [line.lstrip() for line in head.removeprefix(_MARK).split(b"\n")]
    undecided = len(lines) == 1 and len(head) >= packed.HEAD and not packed.foreign(head)
    if not undecided and not any(line.startswith(b"{") for line in lines):  # one bad line is no reason to refuse others
        raise unusable(path, f"expected JSON objects, one a line, found {packed.found(head)}")
    if packed.packing(path):
        yield whole(path, "jsonl")
    else:
        yield from _ranges(path)


def _ranges(path: Path) -> Iterator[Unit]:
    """Pieces that end with a line. The whole file is read, to count its lines: they are named when one is broken."""
    with path.open("rb") as file:
        start, line = 0, 1
        while piece := file.read(UNIT_BYTES):
            count, ended = piece.count(b"\n"), piece.endswith(b"\n")
            while not ended and (more := file.readline(_CHUNK)):
                ended = more.endswith(b"\n")
                count += ended
            end = file.tell()
            yield unit(path, "jsonl", start, end, size=end - start, line=line)
            start, line = end, line + count


def read_lines(piece: Unit, language: str | None, passed: Passed) -> Pages:
    path, name = Path(piece.file), shown(piece.file)
    with packed.opened(path) as file:
        if packed.packing(path):
            numbered = _lines(file)
        else:
            file.seek(piece.start)
            numbered = _lines(file, piece.end - piece.start)
        for number, line in enumerate(numbered, start=piece.line):
            if line is None:
                yield Bad(reason=f"a line of more than {BIGGEST >> 20} MB", file=name, line=number)
                continue
            line = line.removeprefix(_MARK).strip()
            if not line:
                continue
            try:
                value = msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                yield Bad(reason="not JSON", detail=str(error), file=name, line=number)
                continue
            yield rows.record(value, name, number)


def _lines(file: IO[bytes], left: int | None = None) -> Iterator[bytes | None]:
    """The lines of the next `left` bytes; None in place of one that is too long to be held."""
    while (left is None or left > 0) and (line := file.readline(BIGGEST + 1)):
        taken, whole_line = len(line), len(line) <= BIGGEST
        while not whole_line and not line.endswith(b"\n"):
            if not (line := file.readline(_CHUNK)):
                break
            taken += len(line)
        left = None if left is None else left - taken
        yield line if whole_line else None


def read_array(piece: Unit, language: str | None, passed: Passed) -> Pages:
    name = shown(piece.file)
    for number, value in enumerate(elements(Path(piece.file)), start=1):
        yield rows.record(value, name, number)


def elements(path: Path) -> Iterator[Any]:
    """The elements of a JSON array, without holding more than one of them and a chunk of the file."""
    decode = json.JSONDecoder().raw_decode
    with packed.opened(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig") as file:
        buffer = file.read(_CHUNK)
        at, comma_due = buffer.index("[") + 1, False
        while True:
            at = _BLANKS.match(buffer, at).end()  # type: ignore[union-attr]
            mark = buffer[at : at + 1]
            if mark == "]":
                return
            if comma_due and mark == ",":
                at, comma_due = at + 1, False
                continue
            if comma_due and mark:
                raise _array(path, "a comma was expected")
            value, end, trouble = None, len(buffer), "it is not closed"
            try:
                value, end = decode(buffer, at)
            except (ValueError, RecursionError) as error:
                trouble = str(error)
            if end < len(buffer):
                yield value
                at, comma_due = end, True
            else:  # perhaps only the end of the chunk
                more = file.read(max(_CHUNK, len(buffer) - at))
                if not more or len(buffer) - at > BIGGEST:
                    raise _array(path, trouble)
                buffer, at = buffer[at:] + more, 0


def _array(path: Path, trouble: str) -> InputError:
    return unusable(path, f"a broken JSON array ({trouble})")


LINES = Kind(units=units, read=read_lines)
ARRAY = Kind(units=units, read=read_array)
