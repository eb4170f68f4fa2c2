"""What all loaders share: rows of files with their place, and a labelled claim as a generation."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ...errors import InputError
from ...text.normal import is_blank
from ...types import Generation, GivenFact

Loader = Callable[[Path], Iterator[Generation]]
Row = Mapping[str, Any]
Meaning = TypeVar("Meaning")
SUPPORTED, CONTRADICTED, NOT_ENOUGH, NOT_SUPPORTED = "supported", "contradicted", "not_enough_evidence", "not_supported"
GAP = "\n\n"
"""Between the pieces of evidence in a reference."""


def pair(
    id: str,
    claim: str,
    label: str,
    evidence: Sequence[str] | None,
    *,
    cluster: str,
    topic: str | None = None,
    **more: Any,
) -> Generation:
    """One labelled claim. `cluster` is what is resampled together: its document, page or response. `evidence` None: the
    set has none, so a judge needs a knowledge source or its memory."""
    return Generation(
        id=id,
        text=claim,
        topic=topic,
        reference=None if evidence is None else GAP.join(text for text in evidence if not is_blank(text)),
        facts=(GivenFact(text=claim, sentence=claim, label=label),),
        metadata={"cluster": cluster, **{name: value for name, value in more.items() if value is not None}},
    )


def json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    """Line number and object; of a JSON array the number of the element. Raises InputError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(error), file=str(path)) from None
    if text.lstrip().startswith("["):
        try:
            rows = json.loads(text)
        except ValueError as error:
            raise InputError(str(error), file=str(path)) from None
        yield from ((number, _object(row, path, number)) for number, row in enumerate(rows, 1))
        return
    for number, line in enumerate(text.split("\n"), 1):  # no other line end: texts have U+2028 in them
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InputError(str(error), file=str(path), line=number) from None
            yield number, _object(row, path, number)


def tabbed(path: Path, *, delimiter: str = "\t", quoting: int = csv.QUOTE_NONE) -> Iterator[tuple[int, Row]]:
    """Line number and row of a file with a head line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            csv.field_size_limit(1 << 24)
            reader = csv.DictReader(file, delimiter=delimiter, quoting=quoting)  # type: ignore[arg-type]
            for row in reader:
                yield reader.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(str(error), file=str(path)) from None


def files(path: Path, pattern: str) -> list[Path]:
    """The file itself, or those of a folder, in the order of their names. Raises InputError for a folder without."""
    if path.is_file():
        return [path]
    found = sorted(path.rglob(pattern))
    if not found:
        raise InputError(f"no {pattern} in it", file=str(path))
    return found


def text(row: Row, field: str, path: Path, line: int) -> str:
    """A text that must be there and say something."""
    value = row.get(field)
    if not isinstance(value, str) or is_blank(value):
        raise InputError("must be a text", file=str(path), line=line, field=field)
    return value


def texts(row: Row, field: str, path: Path, line: int, inner: str | None = None) -> list[str]:
    """A list of texts, or of objects with a text under `inner`."""
    value = row.get(field)
    if not isinstance(value, list):
        raise InputError("must be a list", file=str(path), line=line, field=field)
    found = [one.get(inner) if inner and isinstance(one, dict) else one for one in value]
    if not all(isinstance(one, str) for one in found):
        raise InputError("must be a list of texts", file=str(path), line=line, field=field)
    return found  # type: ignore[return-value]


def objects(value: Any, field: str, path: Path, line: int) -> list[Row]:
    """A list of objects; none for what is not there."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InputError("must be a list of objects", file=str(path), line=line, field=field)
    return value


def choice(value: Any, menu: Mapping[Any, Meaning], path: Path, line: int, field: str) -> Meaning:
    """What a label of the set means for a judge (where the menu says None: the row is left out). Raises InputError for
    a label that is not on the menu: none is guessed."""
    key = value.strip().casefold() if isinstance(value, str) else value
    if isinstance(key, list | dict) or key not in menu:
        known = ", ".join(map(repr, menu))
        raise InputError(f"{value!r} is none of {known}", file=str(path), line=line, field=field)
    return menu[key]


def listed(value: Any) -> list[str]:
    """The texts of a list, or of a text alone; anything else is left out."""
    found = value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, str)]


def _object(row: Any, path: Path, line: int) -> Row:
    if not isinstance(row, dict):
        raise InputError("not a JSON object", file=str(path), line=line)
    return row
