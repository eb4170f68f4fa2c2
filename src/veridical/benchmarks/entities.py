"""Tables of people: name, how often each is written of and looked up, nationality. From files of any size."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError, UsageError
from ..inputs.files import STDIN, Record, records
from ..text.normal import fold
from ..types import Struct

ALIASES = {
    "name": ("name", "topic", "itemLabel", "title"),
    "id": ("id", "item", "qid"),
    "occurrences": ("occurrences", "occurrence", "count"),
    "views": ("views", "pageviews"),
    "nationality": ("nationality", "country", "countryLabel"),
    "page": ("page", "article", "sitelinks"),
}
"""Field -> the names it goes by, the first that is there taken."""
COLUMNS = frozenset(alias for aliases in ALIASES.values() for alias in aliases)
MOST_ERRORS = 100
"""Errors that are kept; further ones are counted."""
_ITEM = re.compile(r"(?:https?://www\.wikidata\.org/entity/)?(Q[0-9]+)")
_NONE = ("", "0", "false", "none", "null", "no")


class Entity(Struct, frozen=True, kw_only=True):
    """One person of a table."""

    name: str
    """The title of the page, which is also the topic of the generation."""
    id: str | None = None
    """Key of the table, for Wikidata the item ("Q42"): tells one person listed twice from two of one name."""
    occurrences: float | None = None
    """How often a corpus links to the person's page."""
    views: float | None = None
    """How often the page is looked up."""
    nationality: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The larger of occurrences and views (FActScore, appendix A.1: either alone misses some)."""
        return max(self.occurrences or 0.0, self.views or 0.0)

    @property
    def key(self) -> str:
        """Equal for names that differ in case, blanks and quotes only."""
        if self.name.isascii():  # what `fold` makes of it, several times faster
            return self.name.lower().replace("`", "'")
        return fold(self.name)


class Unusable(Exception):
    """A row that cannot be read as a person."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class Entities:
    """Iterable of the persons of a table; each iteration reads the file anew and holds one row.

    JSONL, JSON, CSV and Parquet (packed by gzip or not), and what Wikidata's query service exports: results in its JSON
    (held whole) or CSV. `on_error`: "stop" raises InputError at the first unusable row, "skip" goes on.
    """

    def __init__(self, path: str | Path, *, on_error: str = "stop") -> None:
        if on_error not in ("stop", "skip"):
            raise UsageError(f"on_error is either stop or skip, not {on_error!r}")
        if str(path) == STDIN:
            raise UsageError("a table of entities is read twice: give a file")
        self.path, self.on_error = str(path), on_error
        self._start()

    def _start(self) -> None:
        self.rows = 0
        """Rows seen, usable or not."""
        self.without_page = 0
        """Rows that say that there is no Wikipedia page, left out."""
        self.without_name = 0
        """Items to which Wikidata gives no label, left out."""
        self.skipped = 0
        """Unusable rows."""
        self.errors: list[InputError] = []
        """The first of them, with their places."""

    def __iter__(self) -> Iterator[Entity]:
        self._start()
        for record in records(self.path, COLUMNS):
            for place, row in _rows(record):
                self.rows += 1
                try:
                    made = _entity(row)
                except Unusable as error:
                    self._refuse(InputError(f"{place}{error}", file=self.path, line=record.line, field=error.field))
                    continue
                except InputError as error:
                    self._refuse(error)
                    continue
                if isinstance(made, Entity):
                    yield made
                elif made == "name":
                    self.without_name += 1
                else:
                    self.without_page += 1

    def _refuse(self, error: InputError) -> None:
        if self.on_error == "stop":
            raise error
        self.skipped += 1
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(error)


def names(path: str | Path) -> list[str]:
    """The names of a plain list, one a line, each once and in order; blank lines are left out."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(path)) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"not UTF-8 ({error.reason})", file=str(path), line=line) from None
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if name := " ".join(line.split()):
            found.setdefault(fold(name), name)
    return list(found.values())


def _rows(record: Record) -> Iterator[tuple[str, Any]]:
    """The rows of one record, each with words for its place: one, or the bindings of SPARQL results."""
    if record.error:
        yield "", record.error
        return
    results = record.value.get("results") if isinstance(record.value, dict) else None
    bindings = results.get("bindings") if isinstance(results, dict) else None
    if not isinstance(bindings, list):
        yield "", record.value
        return
    for number, binding in enumerate(bindings, 1):
        plain = {name: _unwrapped(value) for name, value in binding.items()} if isinstance(binding, dict) else binding
        yield f"binding {number}: ", plain


def _unwrapped(value: Any) -> Any:
    """The value of a SPARQL term, `{"type": "literal", "value": "…"}`."""
    return value.get("value") if isinstance(value, dict) else value


def _entity(row: Any) -> Entity | str:
    """The person of a row; "name" or "page" if what makes it one is missing. Raises Unusable, or the row's error."""
    if isinstance(row, InputError):
        raise row
    if not isinstance(row, Mapping):
        raise Unusable("not an object", "row")
    values: dict[str, Any] = dict.fromkeys(ALIASES)
    fields = dict(_sources(tuple(row)))
    for field, aliases in _present(tuple(row)):
        for alias in aliases:
            if not _missing(row[alias]):
                values[field], fields[field] = row[alias], alias
                break
    if fields["page"] in row and _absent(values["page"]):
        return "page"
    name = values["name"]
    if name is None:
        raise Unusable(f"none of {', '.join(ALIASES['name'])} is there, or it is blank", fields["name"])
    if not isinstance(name, str):
        raise Unusable(f"{name!r} is not a string", fields["name"])
    if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
        raise Unusable(f"{name!r} cannot be kept as UTF-8", fields["name"])
    if fields["name"] == "itemLabel" and _ITEM.fullmatch(name.strip()):
        return "name"
    occurrences, views = (_count(values[field], fields[field]) for field in ("occurrences", "views"))
    if occurrences is None and views is None:
        known = ", ".join((*ALIASES["occurrences"], *ALIASES["views"]))
        raise Unusable(f"none of {known} is there, or it is blank", "occurrences")
    return Entity(
        name=" ".join(name.split()),
        id=_id(values["id"], fields["id"]),
        occurrences=occurrences,
        views=views,
        nationality=_nationality(values["nationality"], fields["nationality"]),
    )


@functools.lru_cache(maxsize=64)
def _present(columns: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Of each field, the names that a row with these columns has. Rows of a table are alike."""
    return tuple((field, tuple(alias for alias in aliases if alias in columns)) for field, aliases in ALIASES.items())


@functools.lru_cache(maxsize=64)
def _sources(columns: tuple[str, ...]) -> dict[str, str]:
    """Field -> the name by which an error calls it."""
    return {field: next(iter(aliases), field) for field, aliases in _present(columns)}


def _missing(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _absent(value: Any) -> bool:
    """Whether a field that stands for the page says that there is none."""
    return not value or (isinstance(value, str) and value.strip().lower() in _NONE)


def _count(value: Any, field: str) -> float | None:
    if value is None:
        return None
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise Unusable(f"{value!r} is not a number of 0 or more", field)
    return number


def _id(value: Any, field: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise Unusable(f"{value!r} is neither a string nor a whole number", field)
    item = _ITEM.fullmatch(str(value).strip())
    return item[1] if item else str(value).strip()


def _nationality(value: Any, field: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value or []
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, str) for one in listed):
        raise Unusable(f"{value!r} is neither a string nor a list of strings", field)
    return tuple(one.strip() for one in listed if one.strip())
