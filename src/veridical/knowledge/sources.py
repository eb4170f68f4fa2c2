"""What a knowledge source can be built from: files and folders, read as a stream of pages.

JSONL and JSON arrays of {title, text[, url, redirects]} (also .gz), Parquet with these columns, text and Markdown
(see `documents.py`), and FActScore's database. `text` is a string, or a list of sections, each a string or
{heading, text}. `aliases` is another name for `redirects`; other fields are left alone.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import InputError, UsageError
from ..types import Struct
from . import documents
from .documents import Record, Section
from .titles import tidy

BIGGEST_ITEM = 1 << 26
"""Characters of one element of a JSON array; an array with a larger one is taken to be broken."""
_CHUNK = 1 << 20
_BLANKS = re.compile(r"\s*")


class Bad(Struct, frozen=True, kw_only=True):
    """A page that cannot be used, where it stands and why."""

    reason: str
    file: str
    line: int | None = None
    field: str | None = None
    detail: str = ""

    @property
    def kind(self) -> str:
        """What such pages are counted under."""
        return f"{self.field}: {self.reason}" if self.field else self.reason

    def error(self) -> InputError:
        reason = f"{self.reason} ({self.detail})" if self.detail else self.reason
        return InputError(reason, file=self.file, line=self.line, field=self.field)


Pages = Iterator[Record | Bad]


def files(source: Path) -> list[Path]:
    """The file itself, or the readable files of a folder and all below it, in the order of their names.

    Raises UsageError for a path that does not exist or that cannot be read as pages.
    """
    if source.is_dir():
        found = [
            Path(folder, name)
            for folder, folders, names in os.walk(source)
            for name in names
            if not name.startswith(".") and not _hidden(Path(folder), source)
        ]
        return sorted(path for path in found if _reader(path))
    if not source.exists():
        raise UsageError(f"{source}: there is no such file or folder")
    if _reader(source) is None:
        raise UsageError(f"{source}: cannot be read as pages; what can is {', '.join(_READERS)} (JSON also as .gz)")
    return [source]


def pages(path: Path) -> Pages:
    """The pages of one file, and what in it cannot be used. Raises InputError if the file as a whole is unusable."""
    reader = _reader(path)
    if reader is None:
        raise UsageError(f"{path}: cannot be read as pages")
    try:
        yield from reader(path)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"a damaged or cut off gzip archive ({error})", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 (byte {error.start}: {error.reason})", file=str(path)) from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _hidden(folder: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in folder.relative_to(root).parts)


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _json_lines(path: Path) -> Pages:
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            line = line.removeprefix(b"\xef\xbb\xbf").strip()
            if not line:
                continue
            try:
                value = msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                yield Bad(reason="not JSON", detail=str(error), file=str(path), line=number)
                continue
            yield _record(value, str(path), number)


def _json(path: Path) -> Pages:
    with _opened(path) as file:
        start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        for number, value in enumerate(_elements(path), start=1):
            yield _record(value, str(path), number)
    else:
        yield from _json_lines(path)


def _elements(path: Path) -> Iterator[Any]:
    """The elements of a JSON array, without holding more than one of them and a chunk of the file."""
    decode = json.JSONDecoder().raw_decode
    with _opened(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig") as file:
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
                raise InputError("a broken JSON array (a comma was expected)", file=str(path))
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
                if not more or len(buffer) - at > BIGGEST_ITEM:
                    raise InputError(f"a broken JSON array ({trouble})", file=str(path))
                buffer, at = buffer[at:] + more, 0


def _parquet(path: Path) -> Pages:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(f"{path}: Parquet needs pyarrow: pip install 'veridical[parquet]'") from error
    try:
        table = pyarrow.parquet.ParquetFile(path)
        wanted = [name for name in table.schema_arrow.names if name in _FIELDS]
        number = 0
        for batch in table.iter_batches(batch_size=500, columns=wanted):
            for row in batch.to_pylist():
                number += 1
                yield _record({name: value for name, value in row.items() if value is not None}, str(path), number)
    except pyarrow.ArrowException as error:
        raise InputError(f"cannot be read as Parquet ({error})", file=str(path)) from error


def _document(path: Path) -> Pages:
    yield documents.read(path)


def _factscore(path: Path) -> Pages:
    from .database import Database
    from .factscore import FActScoreTables

    database = Database(path)
    if not FActScoreTables.TABLES & database.tables:
        raise InputError("a SQLite database, but not FActScore's (no table documents)", file=str(path))
    try:
        for title, passages in FActScoreTables(database).documents():
            yield Record(title=title, sections=tuple(Section(text=text) for text in passages), cut=True, file=str(path))
    finally:
        database.close()


_FIELDS = ("title", "text", "url", "redirects", "aliases")
_READERS: dict[str, Callable[[Path], Pages]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
    ".parquet": _parquet,
    ".txt": _document,
    ".md": _document,
    ".markdown": _document,
    ".db": _factscore,
    ".sqlite": _factscore,
}


def _reader(path: Path) -> Callable[[Path], Pages] | None:
    """By the end of the name; compressed, only JSON."""
    if path.suffix.lower() == ".gz":
        inner = Path(path.stem).suffix.lower()
        return _READERS.get(inner) if inner in (".jsonl", ".ndjson", ".json") else None
    return _READERS.get(path.suffix.lower())


def _record(value: Any, file: str, line: int) -> Record | Bad:
    """A page of what was read, checked field by field."""

    def bad(reason: str, field: str | None = None) -> Bad:
        return Bad(reason=reason, file=file, line=line, field=field)

    if not isinstance(value, dict):
        return bad("an object of title and text is needed")
    for field in ("title", "text"):
        if field not in value:
            return bad("missing", field)
    title, url = value["title"], value.get("url")
    if not isinstance(title, str) or not tidy(title):
        return bad("a string that is not blank is needed", "title")
    if url is not None and not isinstance(url, str):
        return bad("a string is needed", "url")
    sections = _sections(value["text"])
    if sections is None:
        return bad("a string is needed, or a list of strings or of {heading, text}", "text")
    field = "redirects" if "redirects" in value else "aliases"
    redirects = value.get(field) or []
    if not isinstance(redirects, list) or not all(isinstance(name, str) for name in redirects):
        return bad("a list of strings is needed", field)
    try:
        "".join([title, url or "", *redirects, *(section.heading + section.text for section in sections)]).encode()
    except UnicodeEncodeError:
        return bad("half a surrogate pair, so no valid Unicode")
    return Record(
        title=title.strip(), sections=sections, url=url or None, redirects=tuple(redirects), file=file, line=line
    )


def _sections(text: Any) -> tuple[Section, ...] | None:
    if isinstance(text, str):
        return (Section(text=text),)
    if not isinstance(text, list):
        return None
    sections: list[Section] = []
    for part in text:
        if isinstance(part, str):
            sections.append(Section(text=part))
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            heading = part.get("heading", part.get("title", ""))
            sections.append(Section(text=part["text"], heading=heading if isinstance(heading, str) else ""))
        else:
            return None
    return tuple(sections)
