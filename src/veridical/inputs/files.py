"""From bytes to records: what a file holds, one record after another, whatever it is packed in.

The kind is seen from the content, not from the name. Nothing is held but the record at hand, save for Parquet and
zip files from a pipe and for JSON objects that span lines, which are read whole.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import InputError, UsageError
from .inspect_log import samples

STDIN = "-"
_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 20
_LARGEST = 1 << 28
"""Characters of one element of a JSON array; one that is larger is taken for a broken array."""
_BLANKS = re.compile(r"\s*")


@dataclass(frozen=True)
class Record:
    """One record and the line (of Parquet: the row) where it starts; or an error in place of a value."""

    line: int
    value: Any = None
    error: InputError | None = None


def records(path: str, columns: Iterable[str]) -> Iterator[Record]:
    """The records of a file or of stdin ("-"). A first line with one of `columns` in it makes a text a CSV.

    Raises InputError where the file as a whole cannot be read.
    """
    name = "stdin" if path == STDIN else path
    try:
        with _opened(path) as stream:
            yield from _records(stream, name, frozenset(columns))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"a damaged or cut off gzip file ({error})", file=name) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=name) from error


@contextmanager
def _opened(path: str) -> Iterator[io.BufferedReader]:
    if path == STDIN:
        yield sys.stdin.buffer  # type: ignore[misc]
        return
    with Path(path).open("rb") as file:
        yield file


def _records(stream: io.BufferedReader, name: str, columns: frozenset[str]) -> Iterator[Record]:
    magic = stream.peek(4)[:4]
    if magic[:2] == b"\x1f\x8b":
        if isinstance(stream.raw, gzip.GzipFile):
            raise InputError("gzip within gzip; unpack it once", file=name)
        yield from _records(io.BufferedReader(gzip.GzipFile(fileobj=stream)), name, columns)  # type: ignore[arg-type]
    elif magic == b"PAR1":
        yield from _parquet(_seekable(stream), name)
    elif magic == b"PK\x03\x04":
        found = samples(_seekable(stream), name)
        yield from (Record(number, value) for number, value in enumerate(found, 1))
    else:
        yield from _text(stream, name, columns)


def _seekable(stream: io.BufferedReader) -> IO[bytes]:
    """The stream itself, or what is in it where it is a pipe or packed."""
    packed = isinstance(stream.raw, gzip.GzipFile)
    return stream if stream.seekable() and not packed else io.BytesIO(stream.read())


def _text(stream: io.BufferedReader, name: str, columns: frozenset[str]) -> Iterator[Record]:
    if stream.peek(1).removeprefix(_BOM).lstrip()[:1] == b"[":  # may be one line that is larger than memory
        yield from _array(stream.read(_CHUNK).removeprefix(_BOM), stream, name, 1)
        return
    number, first = 0, b""
    for number, first in enumerate(stream, 1):
        first = first.removeprefix(_BOM) if number == 1 else first
        if first.strip():
            break
    start = first.lstrip()
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("is UTF-16; save it as UTF-8", file=name, line=number)
    if start.startswith(b"["):
        yield from _array(first, stream, name, number)
    elif start.startswith(b"{") and _decoded(first, name, number).error:
        yield from _spanning(first + stream.read(), name, number)
    elif delimiter := _delimiter(first, columns):
        yield from _csv(chain([first], stream), name, number, delimiter)
    else:
        yield from _lines(chain([first], stream), name, number)


# --- JSON ------------------------------------------------------------------------------------------------------------


def _spanning(content: bytes, name: str, number: int) -> Iterator[Record]:
    """One object over all lines, else JSON lines of which the first is broken."""
    whole = _decoded(content, name, number)
    if whole.error:
        yield from _lines(content.splitlines(keepends=True), name, number)
    else:
        yield whole


def _lines(lines: Iterable[bytes], name: str, start: int) -> Iterator[Record]:
    for number, line in enumerate(lines, start):
        if line.strip():
            yield _decoded(line, name, number)


def _decoded(line: bytes, name: str, number: int) -> Record:
    try:
        text = line.decode("utf-8")
        try:
            return Record(number, msgspec.json.decode(text))
        except msgspec.DecodeError:
            return Record(number, json.loads(text))  # takes what is common though not JSON: NaN, lone surrogates
    except UnicodeDecodeError as error:
        trouble = f"not UTF-8 (byte {error.start + 1} of the line: {error.reason})"
    except (ValueError, RecursionError) as error:
        cut = "" if line.endswith(b"\n") else "; the last line is cut off"
        trouble = f"not JSON ({error}){cut}"
    return Record(number, error=InputError(trouble, file=name, line=number))


def _array(first: bytes, stream: IO[bytes], name: str, line: int) -> Iterator[Record]:
    """The elements of a JSON array, without holding more than one of them and a chunk of the file."""
    decode = json.JSONDecoder().raw_decode
    source = _chunks(first, stream, name, line)
    buffer = next(source)
    seen, at, due, ended = 0, buffer.index("[") + 1, False, False
    while True:
        at = _BLANKS.match(buffer, at).end()  # type: ignore[union-attr]
        line, seen = line + buffer.count("\n", seen, at), at
        mark = buffer[at : at + 1]
        if mark == "]":
            if buffer[at + 1 :].strip() or any(part.strip() for part in source):
                raise InputError("more after the end of the JSON array", file=name, line=line)
            return
        if due and mark == ",":
            at, due = at + 1, False
            continue
        if due and mark:
            raise InputError("a broken JSON array (a comma was expected)", file=name, line=line)
        value, end, trouble = None, len(buffer), "it is not closed; perhaps cut off"
        try:
            value, end = decode(buffer, at)
        except (ValueError, RecursionError) as error:
            trouble = f"{error}" if mark else trouble
        if end < len(buffer):
            yield Record(line, value)
            at, due = end, True
        elif ended or len(buffer) - at > _LARGEST:
            raise InputError(f"a broken JSON array ({trouble})", file=name, line=line)
        else:  # perhaps only the end of what was read so far
            more = _upto(source, len(buffer) - at)
            buffer, seen, at, ended = buffer[at:] + more, 0, 0, not more


def _chunks(first: bytes, stream: IO[bytes], name: str, line: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    chunk = first
    while True:
        try:
            yield decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise InputError(f"not UTF-8 ({error.reason})", file=name, line=line) from None
        if not chunk:
            return
        line += chunk.count(b"\n")
        chunk = stream.read(_CHUNK)


def _upto(source: Iterator[str], size: int) -> str:
    """At least `size` characters more, so that a long element is not tried too often; "" at the end."""
    parts, held = [], 0
    for part in source:
        parts.append(part)
        held += len(part)
        if held > size:
            break
    return "".join(parts)


# --- tables ----------------------------------------------------------------------------------------------------------


def _delimiter(first: bytes, columns: frozenset[str]) -> str | None:
    """ "," or ";" or a tab, where the line is a header with a known column in it."""
    line = first.decode("utf-8", "replace").strip()
    for delimiter in ",\t;":
        if columns & {cell.strip(' "') for cell in line.split(delimiter)}:
            return delimiter
    return None


def _csv(lines: Iterable[bytes], name: str, start: int, delimiter: str) -> Iterator[Record]:
    """Rows under their header. A quoted cell may span lines; `line` is where the row starts."""
    csv.field_size_limit(_LARGEST)
    bad: list[int] = []

    def decoded() -> Iterator[str]:
        for number, line in enumerate(lines, start):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                bad.append(number)
                yield line.decode("utf-8", "replace")

    reader = csv.reader(decoded(), delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        line = start + reader.line_num
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"broken CSV ({error})", file=name, line=line) from None
        if not header:
            header = [cell.strip() for cell in row]
            if len(set(header)) < len(header):
                raise InputError(f"two columns have one name: {', '.join(header)}", file=name, line=line)
            continue
        if not row:
            continue
        if bad:
            yield Record(line, error=InputError("not UTF-8", file=name, line=bad.pop()))
            bad.clear()
        elif len(row) > len(header):
            trouble = f"{len(row)} cells under {len(header)} columns"
            yield Record(line, error=InputError(trouble, file=name, line=line))
        else:
            yield Record(line, dict(zip(header, row, strict=False)))


def _parquet(stream: IO[bytes], name: str) -> Iterator[Record]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise UsageError(f"{name}: reading Parquet needs pyarrow: pip install 'veridical[parquet]'") from None
    try:
        batches = ParquetFile(stream).iter_batches(batch_size=256)
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        yield from (Record(number, row) for number, row in enumerate(rows, 1))
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"damaged Parquet ({error})", file=name) from error
