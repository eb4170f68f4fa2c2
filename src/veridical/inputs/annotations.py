"""Label files of several annotators, in the shapes that labelling tools write.

| shape | a row |
|---|---|
| long | an item, an annotator, a label |
| wide | an item and a column for each annotator, which are named |
| nested | an item and `labels`: {annotator: label}, or a list of labels in the annotators' order |
| facts | a generation with `facts`, each of which is nested |
| one file each | an item and a label; the file's name is the annotator's |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..agreement import Mark
from ..errors import InputError, UsageError
from ..types import Struct
from .files import records

ITEMS = ("item", "id", "item_id", "claim_id", "fact_id", "task_id")
ANNOTATORS = ("annotator", "annotator_id", "worker", "worker_id", "rater", "user", "coder")
LABELS = ("label", "labels", "annotation", "annotations", "verdict", "choice")
TEXTS = ("claim", "fact", "text", "sentence")


class Labelled(Struct, frozen=True, kw_only=True):
    """One label, with what is known of its item."""

    mark: Mark
    row: dict[str, Any]
    """The item's other fields, as the file has them."""
    parent: dict[str, Any] | None = None
    """Of a fact: its generation, all facts without labels; `place` is the fact's among them."""
    place: int = 0


class Columns(Struct, frozen=True, kw_only=True):
    """Which fields to read; what is None is found by the usual names. `annotators` names the columns of a wide file."""

    item: str | None = None
    annotator: str | None = None
    label: str | None = None
    annotators: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    """Labels that are none, such as "skip", in any case."""


def read(files: Sequence[Path], columns: Columns) -> Iterator[Labelled]:
    """The labels of all files. Raises InputError with file, line and field for a row that cannot be read, UsageError
    where two files would be the same annotator."""
    names = [file.stem for file in files]
    if len(files) > 1 and len(set(names)) < len(names):
        raise UsageError(f"two files of one name, which is the annotator's: {', '.join(map(str, files))}")
    dropped = {label.casefold() for label in columns.drop}
    for file in files:
        named = filter(None, (columns.item, columns.annotator, columns.label))
        for record in records(str(file), (*LABELS, *ITEMS, *columns.annotators, *named)):
            if record.error:
                raise record.error
            if not isinstance(record.value, dict):
                raise InputError("not an object", file=str(file), line=record.line)
            for one in _row(record.value, _Place(str(file), record.line), columns, alone=len(files) == 1):
                if one.mark.label.casefold() not in dropped:
                    yield one


class _Place:
    """Where a row stands, for what is wrong with it."""

    def __init__(self, file: str, line: int) -> None:
        self.file, self.line = file, line

    def error(self, message: str, field: str | None = None) -> InputError:
        return InputError(message, file=self.file, line=self.line, field=field)


def _row(row: Mapping[str, Any], place: _Place, columns: Columns, *, alone: bool) -> Iterator[Labelled]:
    facts = row.get("facts")
    if isinstance(facts, list) and not any(name in row for name in (*LABELS, columns.label)):
        yield from _facts(row, facts, place, columns, alone=alone)
        return
    item = _item(row, columns)
    if item is None:
        raise place.error(f"no item: there is none of {columns.item or ', '.join(ITEMS)}", columns.item)
    for mark in _marks(item, row, place, columns, alone=alone):
        yield Labelled(mark=mark, row=_rest(row, *LABELS, *ANNOTATORS))


def _facts(
    row: Mapping[str, Any], facts: Sequence[Any], place: _Place, columns: Columns, *, alone: bool
) -> Iterator[Labelled]:
    for number, fact in enumerate(facts):
        if not isinstance(fact, dict):
            raise place.error(f"fact {number} is not an object", "facts")
    stem, rest = _item(row, columns) or str(place.line), _rest(row, "facts", *ANNOTATORS)
    parent = {**rest, "id": stem, "facts": [_rest(fact, *LABELS, *ANNOTATORS) for fact in facts]}
    for number, fact in enumerate(facts):
        item = f"{stem}#{_item(fact, columns) or number}"
        for mark in _marks(item, {**_rest(row, "facts"), **fact}, place, columns, alone=alone):
            yield Labelled(mark=mark, row={**rest, **parent["facts"][number]}, parent=parent, place=number)


def _marks(item: str, row: Mapping[str, Any], place: _Place, columns: Columns, *, alone: bool) -> Iterator[Mark]:
    for annotator, label in _labels(row, place, columns, alone=alone):
        if label is None or label == "":
            continue  # not labelled by this annotator
        if isinstance(label, list | dict):
            raise place.error("must be a label, not a list or an object", columns.label or "label")
        yield Mark(item, annotator, _said(label))


def _labels(row: Mapping[str, Any], place: _Place, columns: Columns, *, alone: bool) -> Iterable[tuple[str, Any]]:
    if columns.annotators:
        if missing := [name for name in columns.annotators if name not in row]:
            raise place.error("there is no such column", missing[0])
        return [(name, row[name]) for name in columns.annotators]
    field = columns.label or next((name for name in LABELS if name in row), None)
    if field is None or field not in row:
        hint = "" if field else "; where each annotator has a column, name them all with --column"
        raise place.error(f"there is no label{hint}", field or "label")
    value = row[field]
    if isinstance(value, dict):
        return [(str(name), label) for name, label in value.items()]
    if isinstance(value, list):
        return [(str(number + 1), label) for number, label in enumerate(value)]
    who = row.get(columns.annotator) if columns.annotator else _first(row, ANNOTATORS)
    if who is None and not alone:
        who = Path(place.file).stem
    if who is None:
        raise place.error("no annotator: name the field, the columns, or give a file an annotator", columns.annotator)
    return [(str(who), value)]


def _item(row: Mapping[str, Any], columns: Columns) -> str | None:
    found = _first(row, (columns.item,) if columns.item else ITEMS)
    return None if found is None else str(found)


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _rest(row: Mapping[str, Any], *without: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in without}


def _said(label: Any) -> str:
    return str(label).strip() if not isinstance(label, bool) else str(label).lower()
