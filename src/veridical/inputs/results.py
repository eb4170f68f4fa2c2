"""Result files as runs, so that whatever is computed from a run folder can be computed from them.

| file | what it has |
|---|---|
| SAFE (`…-SAFE.json`) | each prompt with one or two sides: statements with "Supported", "Not Supported", "Irrelevant" |
| VeriScore (JSON lines of its last stage) | claims with "supported", "unsupported", … |
| FActScore (`…_factscore_output.json`) | a list of decisions for each topic, null for an abstention; no texts |
| reports (`reports.jsonl` of a run folder) | everything but the run's settings |

What a system left out because it failed on it (SAFE drops such facts) is there as a failure, counted and bounded like
any other. "Not supported" becomes NOT_ENOUGH_EVIDENCE: none of them says whether evidence speaks against the fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..errors import InputError
from ..types import Report
from .files import Record, records
from .originals import factscore, safe, veriscore
from .originals.shared import Row

_UNREADABLE = (TypeError, ValueError, AttributeError, KeyError, RecursionError, OverflowError, msgspec.MsgspecError)


class Shape(NamedTuple):
    """One kind of result file."""

    name: str
    fits: Callable[[Row], bool]
    """Whether a record is of it."""
    reports: Callable[[Row, int], Iterator[Report]]
    """Of a record and its number, from 1. Raises any of `_UNREADABLE`."""
    lacks: str = ""
    """What a run folder would have and such a file has not."""


def _own(row: Row, number: int) -> Iterator[Report]:
    yield msgspec.convert(row, Report)


SHAPES = (
    Shape("SAFE", safe.fits, safe.reports, safe.LACKS),
    Shape("VeriScore", veriscore.fits, veriscore.reports, veriscore.LACKS),
    Shape("FActScore", factscore.fits, factscore.reports, factscore.LACKS),
    Shape("reports", lambda row: isinstance(row.get("generation"), dict), _own, "the run's settings and metrics"),
)


class Results:
    """The reports of a result file, read anew each time. `shape` is known once the first was read.

    Raises InputError, naming the file and line, for a file of no such kind and a record that cannot be read.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self.shape: Shape | None = None

    def __iter__(self) -> Iterator[Report]:
        empty = True
        waiting: list[tuple[int, Record]] = []
        """Records of no content, until one shows what they are of."""
        for number, record in enumerate(records(self.path, ()), 1):
            if record.error:
                raise record.error
            waiting.append((number, record))
            if record.value == {} and empty:
                continue
            shape = self._shape(record)
            for one in waiting:
                for report in self._reports(shape, *one):
                    empty = False
                    yield report
            waiting.clear()
        if empty:
            raise InputError("no result in it", file=self.path)

    def _shape(self, record: Record) -> Shape:
        """The file's, which each of its records must have."""
        found = self.shape or _shape_of(record.value)
        if found is None:
            words = "neither a run folder nor a result file of SAFE, VeriScore or FActScore"
            raise InputError(words, file=self.path, line=record.line)
        if not isinstance(record.value, dict) or not found.fits(record.value):
            raise InputError(f"no record of {found.name}, as those before it", file=self.path, line=record.line)
        self.shape = found
        return found

    def _reports(self, shape: Shape, number: int, record: Record) -> Iterator[Report]:
        try:
            for report in shape.reports(record.value, number):
                msgspec.json.encode(report)  # so that it can be written
                yield report
        except _UNREADABLE as error:
            words = f"a record of {shape.name} that cannot be read: {error or type(error).__name__}"
            raise InputError(words, file=self.path, line=record.line) from None


def is_results(path: Path | str) -> bool:
    """Whether the file begins with a result of one of the kinds. Raises InputError for one that cannot be read."""
    for record in records(str(path), ()):
        if record.value != {}:
            return _shape_of(record.value) is not None
    return False


def _shape_of(value: Any) -> Shape | None:
    return next((one for one in SHAPES if isinstance(value, dict) and one.fits(value)), None)
