"""FActScore's database, by ranges of its rows: passages as they were cut."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from ...errors import FatalError
from ..database import Database
from ..documents import Record, Section
from ..factscore import FActScoreTables, passages
from . import rows
from .base import UNIT_BYTES, Bad, Kind, Pages, Passed, Unit, shown, unit, unusable


def units(path: Path) -> Iterator[Unit]:
    database = Database(path)
    try:
        if not FActScoreTables.TABLES & database.tables:
            raise unusable(path, "a SQLite database, but not FActScore's (no table documents)")
        FActScoreTables(database)
        ((first, last),) = database.rows("SELECT min(rowid), max(rowid) FROM documents")
    finally:
        database.close()
    size = path.stat().st_size
    parts = max(1, min(last - first + 1, size // UNIT_BYTES))
    edges = [first + (last + 1 - first) * n // parts for n in range(parts + 1)]
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        yield unit(path, "factscore", start, end, size=size * (number + 1) // parts - size * number // parts)


def read(piece: Unit, language: str | None, passed: Passed) -> Pages:
    name = shown(piece.file)
    sql = "SELECT rowid, title, text FROM documents WHERE rowid >= ? AND rowid < ? ORDER BY rowid"
    database = Database(piece.file)
    try:
        for row, title, text in database.stream(sql, piece.start, piece.end):
            if not isinstance(title, str) or not isinstance(text, str) or not rows.storable(title, text):
                yield Bad(reason="a title and a text are needed", file=name, line=row)
                continue
            sections = tuple(Section(text=passage) for passage in passages(text))
            yield Record(title=title, sections=sections, cut=True, file=name)
    except FatalError as error:
        raise unusable(piece.file, f"the database is damaged ({error})") from error
    finally:
        database.close()


KIND = Kind(units=units, read=read)
