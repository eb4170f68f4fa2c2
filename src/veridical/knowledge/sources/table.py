"""Tables of text, .csv and .tsv: the first line names the columns, title and text at least; quoted as in RFC 4180."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import packed, rows
from .base import BIGGEST, Bad, Kind, Pages, Passed, Unit, shown, unusable, whole

_COLUMNS = ("id", "title", "text", "url")


def units(path: Path) -> Iterator[Unit]:
    """One: where a row ends is known only after all before it, since a quoted field may hold line ends."""
    head = packed.head(path, expected="a table")
    if packed.foreign(head):
        raise unusable(path, f"expected a table of text, found {packed.found(head)}")
    with _opened(path) as file:
        _columns(path, file)
    yield whole(path, "table")


def read(piece: Unit, language: str | None, passed: Passed) -> Pages:
    path, name = Path(piece.file), shown(piece.file)
    with _opened(path) as file:
        reader, columns = _columns(path, file)
        line = reader.line_num + 1
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield Bad(reason="no row of a table", detail=str(error), file=name, line=line)
                return
            known = {column: value for column, value in zip(columns, row, strict=False) if column in _COLUMNS}
            if row:
                yield rows.record(known, name, line)
            line = reader.line_num + 1


def _opened(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(packed.opened(path), encoding="utf-8-sig", newline="")


def _columns(path: Path, file: io.TextIOWrapper) -> tuple[Any, list[str]]:
    """The reader of rows behind the first line, and the names of the columns."""
    csv.field_size_limit(BIGGEST)
    ending = Path(path.stem).suffix if packed.packing(path) else path.suffix
    reader = csv.reader(file, csv.excel_tab if ending.lower() == ".tsv" else csv.excel)
    try:
        columns = [name.strip().lower() for name in next(reader, [])]
    except csv.Error as error:
        raise unusable(path, f"no table ({error})") from error
    if not {"title", "text"} <= set(columns):
        raise unusable(
            path, f"expected a first line with the columns title and text, found {', '.join(columns[:20])[:200]}"
        )
    return reader, columns


KIND = Kind(units=units, read=read)
