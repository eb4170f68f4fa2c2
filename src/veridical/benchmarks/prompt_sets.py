"""Prompt sets by name: LongFact, biographies, or a file; what `veridical generate` asks a model.

longfact, longfact:objects, longfact:concepts     as fetched (`veridical data fetch longfact`)
longfact:objects:250                              the paper's subset; any other number is its beginning or more
longfact:objects@FOLDER                           of a folder of yours
biographies                                       the 183 people of FActScore's labelled data, as fetched
biographies@FILE                                  of your names (.txt), or of what `veridical biographies` wrote
FILE                                              JSONL, JSON, CSV or Parquet with a prompt a row; .txt: one a line
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from ..datasets import locate
from ..errors import InputError, UsageError
from ..inputs import sample
from ..inputs.files import records
from ..inputs.formats import ALIASES
from ..types import Struct
from . import longfact
from .biographies import QUESTION
from .entities import names

_OF_ANSWERS = {*ALIASES["text"], *ALIASES["system"], "samples", "facts", "abstained", "failure", "annotations"}
"""Fields that say something about another model's answer."""
_FIELDS = ("id", "prompt", "topic", "reference")


class Prompt(Struct, frozen=True, kw_only=True):
    """One prompt of a set."""

    id: str
    prompt: str
    topic: str | None = None
    reference: str | None = None
    """Text that answers are to be judged against, where the set brings one."""
    metadata: dict[str, Any] = {}


@dataclass(frozen=True)
class PromptSet:
    """Prompts that can be read again and again, always in the same order."""

    name: str
    read: Callable[[], Iterable[Prompt]]
    detailed: bool = False
    """Published with a sentence after each prompt that asks for details."""
    repeated: tuple[tuple[str, ...], ...] = ()
    """Ids of prompts that are the same, as published; some of them may be out of this set."""

    def __iter__(self) -> Iterator[Prompt]:
        return iter(self.read())

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about the set."""
        chosen = {prompt.id for prompt in self} if self.repeated else set()
        twice = [here for ids in self.repeated if len(here := [one for one in ids if one in chosen]) > 1]
        if not twice:
            return ()
        are = "1 prompt stands" if len(twice) == 1 else f"{len(twice)} prompts stand"
        return (f"{are} under two topics: {', '.join(ids[0] for ids in twice)}",)

    def first(self, n: int) -> PromptSet:
        """Its beginning."""
        return _with(self, lambda: islice(iter(self), n))

    def sample(self, n: int, seed: int = 0) -> PromptSet:
        """`n` of it at random, in its order."""
        return _with(self, lambda: sample(self, n, seed))

    def described(self) -> tuple[int, str]:
        """How many prompts there are, and the SHA-256 of all that is in them."""
        count, digest = 0, hashlib.sha256()
        for prompt in self:
            count += 1
            digest.update(msgspec.json.encode(prompt, order="sorted") + b"\n")
        return count, digest.hexdigest()


def prompt_set(spec: str) -> PromptSet:
    """The set of that name (see the module). Raises UsageError for a name that is none, or that is not there yet."""
    name, _, path = spec.partition("@")
    kind, *rest = name.split(":")
    if not Path(spec).is_file():
        if kind == "longfact":
            return _longfact(spec, rest, path)
        if name == "biographies":
            return PromptSet(spec, lambda: _people(Path(path))) if path else _published_people()
        raise UsageError(
            f"no prompt set {spec!r}: neither a file nor longfact:objects, longfact:concepts, longfact:objects:250 "
            "or biographies (see docs/generate.md)"
        )
    return PromptSet(spec, lambda: _lines(Path(spec)) if spec.lower().endswith(".txt") else _rows(spec))


def _with(one: PromptSet, read: Callable[[], Iterable[Prompt]]) -> PromptSet:
    return PromptSet(one.name, read, one.detailed, one.repeated)


# --- published sets


def _longfact(spec: str, rest: list[str], path: str) -> PromptSet:
    if len(rest) > 2 or (rest and rest[0] not in longfact.TASKS) or (len(rest) == 2 and not rest[1].isdecimal()):
        raise UsageError(f"no prompt set {spec!r}: longfact:TASK or longfact:TASK:N, TASK objects or concepts")
    folder = Path(path) if path else locate("longfact")
    if folder is None:
        raise UsageError(
            "LongFact has not been fetched yet: veridical data fetch longfact (or longfact:objects@FOLDER)"
        )
    tasks = [longfact.load(folder, task) for task in (rest[:1] or longfact.TASKS)]
    prompts = tasks[0].subset(int(rest[1])) if len(rest) == 2 else [prompt for one in tasks for prompt in one.prompts]
    found = [
        # LongFact's topics are fields of knowledge, not the titles of pages that answers could be judged by
        Prompt(id=prompt.id, prompt=prompt.prompt, metadata={"topic": prompt.topic, **prompt.metadata})
        for prompt in prompts
    ]
    repeated = tuple(one.ids for task in tasks for one in task.repeated)
    return PromptSet(spec, lambda: found, detailed=True, repeated=repeated)


def _published_people() -> PromptSet:
    folder = locate("factscore")
    if folder is None:
        raise UsageError("FActScore's people are not here yet: veridical data fetch factscore")
    return PromptSet("biographies", lambda: _labelled(folder / "InstructGPT.jsonl"))


def _labelled(path: Path) -> Iterator[Prompt]:
    for record in records(str(path), ()):
        row = record.value
        frequency, region = (row.get("cat") or [None, None])[:2]
        metadata = {name: value for name, value in (("frequency", frequency), ("region", region)) if value}
        name = row["topic"]
        yield Prompt(id=name, prompt=QUESTION.format(name=name), topic=name, metadata=metadata)


def _people(path: Path) -> Iterator[Prompt]:
    if path.suffix.lower() == ".txt":
        for name in names(path):
            yield Prompt(id=name, prompt=QUESTION.format(name=name), topic=name)
        return
    yield from _rows(str(path), lambda topic: QUESTION.format(name=topic))


# --- files


def _lines(path: Path) -> Iterator[Prompt]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            number = 0
            for line in file:
                if line.strip():
                    number += 1
                    yield Prompt(id=f"{number:06d}", prompt=line.strip())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 ({error.reason})", file=str(path)) from None


def _rows(path: str, asked: Callable[[str], str] | None = None) -> Iterator[Prompt]:
    """One prompt a row; `asked` makes one of a topic where the row has no prompt."""
    places: dict[str, int] = {}
    for number, record in enumerate(records(path, (*ALIASES["prompt"], "topic", "name")), 1):
        if record.error:
            raise record.error
        if not isinstance(record.value, dict):
            raise InputError("not an object", file=path, line=record.line)
        found = _row(record.value, f"{number:06d}", path, record.line, asked)
        try:
            msgspec.json.encode(found)
        except (UnicodeError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InputError(f"cannot be kept as JSON ({error})", file=path, line=record.line) from None
        if found.id in places:
            raise InputError(f"{found.id!r} is taken: line {places[found.id]}", file=path, line=record.line, field="id")
        places[found.id] = record.line
        yield found


def _row(row: dict[str, Any], default: str, path: str, line: int, asked: Callable[[str], str] | None) -> Prompt:
    field = next((name for name in ALIASES["prompt"] if row.get(name) not in (None, "")), "")
    topic = next((row[name] for name in ("topic", "name") if row.get(name) not in (None, "")), None)
    prompt = row.get(field) or (asked(topic) if asked and isinstance(topic, str) else None)
    if prompt is None:
        raise InputError(f"none of {', '.join(ALIASES['prompt'])} is there", file=path, line=line, field="prompt")
    for name, value in ((field or "prompt", prompt), ("topic", topic), ("reference", row.get("reference"))):
        if value is not None and not isinstance(value, str):
            raise InputError(f"{value!r} is not a string", file=path, line=line, field=name)
    if not prompt.strip():
        raise InputError("blank", file=path, line=line, field=field)
    inner = row.get("metadata")
    used = {field, "metadata", *_FIELDS, *_OF_ANSWERS} - ({"metadata"} if not isinstance(inner, dict) else set())
    metadata = {name: value for name, value in row.items() if name not in used and value not in (None, "")}
    return Prompt(
        id=str(row["id"]).strip() if row.get("id") not in (None, "") else default,
        prompt=prompt,
        topic=topic or None,
        reference=row.get("reference") or None,
        metadata=metadata | (inner if isinstance(inner, dict) else {}),
    )
