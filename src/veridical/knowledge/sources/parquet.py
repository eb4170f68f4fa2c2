"""Parquet with columns of a page, such as Wikimedia's export (id, url, title, text), by groups of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import UsageError
from . import rows, structured
from .base import UNIT_BYTES, Kind, Pages, Passed, Unit, shown, unit, unusable

_BATCH = 100
"""Rows that are held at a time."""


def units(path: Path) -> Iterator[Unit]:
    """Groups of rows of about 8 MB; a file of one large group is one unit."""
    with _opened(path) as table:
        columns = set(table.schema_arrow.names)
        if not ({"title", "text"} <= columns or ("name" in columns and columns & {"sections", "abstract"})):
            held = ", ".join(table.schema_arrow.names[:20])
            raise unusable(path, f"expected columns title and text (or name and sections), found {held}")
        meta = table.metadata
        sizes = [_stored(meta.row_group(number)) for number in range(meta.num_row_groups)]
        counts = [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]
    if not sum(counts):
        raise unusable(path, "a Parquet file without rows")
    scale = path.stat().st_size / max(1, sum(sizes))
    start, line, told = 0, 1, 0
    for end in range(1, len(sizes) + 1):
        if sum(sizes[start:end]) >= UNIT_BYTES or end == len(sizes):
            upto = round(sum(sizes[:end]) * scale) if end < len(sizes) else path.stat().st_size
            yield unit(path, "parquet", start, end, size=upto - told, line=line)
            line += sum(counts[start:end])
            start, told = end, upto


def _stored(group: Any) -> int:
    return sum(group.column(number).total_compressed_size for number in range(group.num_columns))


def read(piece: Unit, language: str | None, passed: Passed) -> Pages:
    name, number = shown(piece.file), piece.line
    with _opened(Path(piece.file)) as table:
        held = table.schema_arrow.names
        wanted = rows.FIELDS if "title" in held else structured.COLUMNS
        groups = list(range(piece.start, piece.end))
        columns = [column for column in wanted if column in held]
        try:
            for batch in table.iter_batches(batch_size=_BATCH, row_groups=groups, columns=columns):
                for row in batch.to_pylist():
                    known = {column: value for column, value in row.items() if value is not None}
                    yield rows.record(known, name, number)
                    number += 1
        except _trouble() as error:
            raise unusable(piece.file, f"cannot be read as Parquet from row {number} on ({error})") from error


def _opened(path: Path) -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(f"{shown(path)}: Parquet needs pyarrow: pip install 'veridical[parquet]'") from error
    if not path.stat().st_size:
        raise unusable(path, "the file is empty")
    try:
        return pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
    except _trouble() as error:
        raise unusable(path, f"cannot be read as Parquet ({error})") from error


def _trouble() -> tuple[type[Exception], ...]:
    import pyarrow

    return (pyarrow.ArrowException, OSError)


KIND = Kind(units=units, read=read)
