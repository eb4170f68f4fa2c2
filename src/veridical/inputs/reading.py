"""From records to generations: every field checked, every trouble named by file, line and field."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from ..errors import InputError, UsageError
from ..types import Generation
from .files import STDIN, Record, records
from .formats import ALIASES, Draft, Unusable, drafts, given, texts

Item = TypeVar("Item")

_STRINGS = ("prompt", "topic", "system", "reference")


def read(path: str, *, on_error: str = "stop", facts: str = "human") -> Inputs:
    """The generations of a file, of stdin for "-" (see docs/inputs.md).

    `on_error`: "stop" raises InputError at the first unusable record, "skip" goes on and lists it in `skipped`.
    `facts`: which facts of FActScore's labelled files to use, the "human" ones with labels or the "model" ones.
    """
    if on_error not in ("stop", "skip"):
        raise UsageError(f"on_error is either stop or skip, not {on_error!r}")
    if facts not in ("human", "model"):
        raise UsageError(f"facts of a labelled file are either human or model, not {facts!r}")
    return Inputs(str(path), on_error, facts)


class Inputs:
    """Iterable of generations. What was found is known once it has been iterated; each iteration reads anew."""

    def __init__(self, path: str, on_error: str, facts: str) -> None:
        self.path, self.on_error, self.facts = path, on_error, facts
        self._start()

    def _start(self) -> None:
        self.fields: dict[str, str] = {}
        """Field of `Generation` -> the field of the file it was taken from."""
        self.kept: list[str] = []
        """Fields that went into the metadata."""
        self.skipped: list[InputError] = []
        """What was unusable, with its place."""
        self._formats: dict[str, None] = {}

    @property
    def format(self) -> str:
        """Which formats were recognised: "generations" by our own field names, or a published one."""
        return ", ".join(self._formats)

    def __iter__(self) -> Iterator[Generation]:
        self._start()
        name = "stdin" if self.path == STDIN else self.path
        places: dict[str, int] = {}
        for number, record in enumerate(records(self.path, ALIASES["text"]), 1):
            for draft in self._drafts(record, name):
                try:
                    made = self._generation(draft, number, record.line, places)
                except Unusable as error:
                    message = f"{draft.part}: {error}" if draft.part else str(error)
                    self._refuse(InputError(message, file=name, line=record.line, field=error.field))
                else:
                    yield made

    def _drafts(self, record: Record, name: str) -> Iterator[Draft]:
        if record.error:
            self._refuse(record.error)
            return
        try:
            yield from drafts(record.value, self.facts)
        except Unusable as error:
            self._refuse(InputError(str(error), file=name, line=record.line, field=error.field))

    def _refuse(self, error: InputError) -> None:
        if self.on_error == "stop":
            raise error
        self.skipped.append(error)

    def _generation(self, draft: Draft, number: int, line: int, places: dict[str, int]) -> Generation:
        made = _checked(draft, f"{number:06d}")
        if made.id in places:
            raise Unusable(f"id {made.id!r} is taken: lines {places[made.id]} and {line}", draft.taken.get("id", "id"))
        places[made.id] = line
        self._formats.setdefault(draft.format)
        for field, source in draft.taken.items():
            self.fields.setdefault(field, source)
        self.kept += [name for name in draft.metadata if name not in self.kept]
        return made


def _checked(draft: Draft, default: str) -> Generation:
    """The generation of a draft; `default` is its id where it has none."""
    values = draft.values
    strings = {field: _string(draft, field) for field in _STRINGS}
    text = values.get("text")
    if not isinstance(text, str):
        missing = f"none of {', '.join(ALIASES['text'])} is there"
        trouble = draft.trouble or (f"{_kind(text)}, not a string" if "text" in values else missing)
        raise Unusable(trouble, draft.taken.get("text", "text"))
    facts, samples = values.get("facts"), values.get("samples")
    made = Generation(
        id=_id(draft) or default,
        text=text,
        prompt=strings.pop("prompt") or "",
        facts=None if facts in (None, "") else given(facts),
        samples=() if samples in (None, "") else texts(samples, draft.taken.get("samples", "samples")),
        abstained=_flag(draft),
        metadata=draft.metadata,
        **{field: value if value and value.strip() else None for field, value in strings.items()},
    )
    try:
        msgspec.json.encode(made)  # so that no report of it can fail to be written
    except (UnicodeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Unusable(f"cannot be kept as JSON ({error})") from None
    return made


def _string(draft: Draft, field: str) -> str | None:
    value = draft.values.get(field)
    if value is not None and not isinstance(value, str):
        raise Unusable(f"{_kind(value)}, not a string", draft.taken.get(field, field))
    return value


def _id(draft: Draft) -> str:
    value = draft.values.get("id")
    if value is not None and (not isinstance(value, (str, int)) or isinstance(value, bool)):
        raise Unusable(f"{_kind(value)}, neither a string nor a whole number", draft.taken.get("id", "id"))
    return "" if value is None else str(value).strip()


def _flag(draft: Draft) -> bool | None:
    value = draft.values.get("abstained")
    known: dict[Any, bool | None] = {"": None, "true": True, "false": False, "1": True, "0": False}
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.strip().lower() not in known:
        raise Unusable(f"{value!r} is neither true nor false", draft.taken.get("abstained", "abstained"))
    return known[value.strip().lower()]


_KINDS = {dict: "an object", list: "a list", bool: "true or false", int: "a number", float: "a number"}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return "NaN" if value != value else _KINDS.get(type(value), f"a {type(value).__name__}")


def sample(items: Iterable[Item], n: int, seed: int = 0) -> list[Item]:
    """n of the items at random, in their order; all where there are no more. The same seed takes the same ones.

    Reservoir sampling (Vitter's algorithm R): one pass, n items held.
    """
    if n < 1:
        raise UsageError(f"a sample needs at least one item: {n}")
    draw = random.Random(seed)
    held: list[tuple[int, Item]] = []
    for place, item in enumerate(items):
        if place < n:
            held.append((place, item))
        elif (slot := draw.randrange(place + 1)) < n:
            held[slot] = (place, item)
    return [item for _, item in sorted(held, key=lambda pair: pair[0])]
