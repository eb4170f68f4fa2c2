"""OpenFactCheck (Wang et al. 2024): its three-column CSV of a checker's verdicts, and its frozen FacTool results.

Its CSV has a verdict (True, False), a time and a cost, and no ids: its evaluator goes by the order of the rows. Here
the ids stand beside it in FILE.ids, one a line, which that evaluator does not see; or in a fourth column `id`. Without
either a file must have exactly as many rows as the set has claims. What the checker could not tell is an empty cell,
never False.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..types import Failure, Label, Report, Struct, Usage, Verdict
from .sets.openfactcheck import checked, is_replay
from .sets.rows import choice, tabbed

COLUMNS = ("verification", "time (ms)", "cost")
_SAID: dict[Any, Label | None] = {
    "true": Label.SUPPORTED,
    "false": Label.NOT_ENOUGH_EVIDENCE,
    **dict.fromkeys(("", "unknown", "na", "n/a", "nan", "none", "null"), None),
}
_REPLAYED: dict[Any, Label | None] = {
    1: Label.SUPPORTED,
    0: Label.NOT_ENOUGH_EVIDENCE,
    2: Label.NOT_ENOUGH_EVIDENCE,
    -1: None,
}
"""FacTool's labels there: 1 factual, 0 not, 2 nothing definitive or mixed, -1 a reply that was not understood."""


class Given(Struct, frozen=True, kw_only=True):
    """What a file says of one claim, and where."""

    id: str
    line: int
    outcome: Verdict | Failure
    usage: Usage = Usage()


def ids_of(path: Path) -> Path:
    """Where the ids of a CSV stand."""
    return path.with_name(path.name + ".ids")


def verdicts(path: Path, ids: Sequence[str]) -> Iterator[Given] | None:
    """What such a file says, by id; None for a file of another shape. `ids` are those of the whole set, in its order.

    Raises InputError for a verdict, time or cost that cannot be read, and where rows and ids do not go together.
    """
    if is_replay(path):
        return _replayed(path)
    return _rows(path, ids) if _is_csv(path) else None


def _replayed(path: Path) -> Iterator[Given]:
    for claim in checked(path):
        label = choice(claim.row.get("label"), _REPLAYED, path, claim.line, "label")
        stances = claim.row.get("stances")
        why = stances[0] if isinstance(stances, list) and stances and isinstance(stances[0], str) else None
        outcome = _unknown() if label is None else Verdict(label=label, judge=path.stem, rationale=why)
        yield Given(id=claim.id, line=claim.line, outcome=outcome)


def _header(path: Path) -> list[str]:
    """The cells of the first line; none of what is no text, or JSON."""
    if not path.is_file():
        return []
    try:
        with path.open("rb") as file:
            line = file.readline(1 << 16).decode("utf-8-sig")
        return [] if line.lstrip()[:1] in ("{", "[") else [cell.strip() for cell in next(csv.reader([line]), [])]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    except (UnicodeDecodeError, csv.Error):
        return []


def _is_csv(path: Path) -> bool:
    columns = [name for name in _header(path) if name != "id"]
    return len(columns) == 3 and "time" in columns[1].casefold() and "cost" in columns[2].casefold()


def _rows(path: Path, ids: Sequence[str]) -> Iterator[Given]:
    header = _header(path)
    said, time, cost = (name for name in header if name != "id")
    rows = list(tabbed(path, delimiter=",", quoting=csv.QUOTE_MINIMAL))
    named = _named(path, rows, ids, inside="id" in header)
    scale = 0.001 if "ms" in time.casefold() else 1.0
    for (line, cells), id_ in zip(rows, named, strict=True):
        row = {(name or "").strip(): cell for name, cell in cells.items()}
        if "" in row or None in row.values():
            raise InputError(f"must have {len(header)} cells", file=str(path), line=line)
        label = choice(row[said], _SAID, path, line, said)
        usage = Usage(cost=_amount(row, cost, path, line), seconds=scale * _amount(row, time, path, line))
        outcome = _unknown() if label is None else Verdict(label=label, judge=path.stem)
        yield Given(id=id_, line=line, outcome=outcome, usage=usage)


def _named(path: Path, rows: Sequence[tuple[int, Any]], ids: Sequence[str], *, inside: bool) -> Sequence[str]:
    """The id of each row: its own, of the file beside, or of the set's claim in its place."""
    if inside:
        return [row.get("id") or "" for _, row in rows]
    beside = ids_of(path)
    known = beside.read_text(encoding="utf-8").removesuffix("\n").split("\n") if beside.exists() else ids
    if len(rows) != len(known):
        what = f"there are {len(known)} ids in {beside.name}" if beside.exists() else f"the set has {len(known)} claims"
        raise InputError(f"{len(rows)} rows without ids, but {what}", file=str(path), field="id")
    return known


def _amount(row: dict[str, str], name: str, path: Path, line: int) -> float:
    try:
        found = float(row[name] or 0)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise InputError(f"{row[name]!r} must be a number from 0 on", file=str(path), line=line, field=name)
    return found


def _unknown() -> Failure:
    return Failure(stage="verify", error="Unknown", message="the checker could not tell")


def written(reports: Iterable[Report], path: Path) -> tuple[int, int]:
    """Write verdicts as such a CSV, in the order given, and their ids beside it; returns rows, and those left empty.

    The evaluator of OpenFactCheck refuses empty cells: it has no place for claims without a verdict.
    """
    rows = empty = 0
    with (
        path.open("w", encoding="utf-8", newline="") as file,
        ids_of(path).open("w", encoding="utf-8", newline="\n") as beside,
    ):
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for report in reports:
            verdict = report.facts[0].verdict if report.facts else None
            said = "" if verdict is None else str(verdict.label is Label.SUPPORTED)
            out.writerow((said, f"{1000 * report.usage.seconds:.3f}", f"{report.usage.cost:.8g}"))
            beside.write(f"{report.generation.id}\n")
            rows, empty = rows + 1, empty + (verdict is None)
    return rows, empty
