"""LongFact: prompts that ask for long answers on concepts and objects of 38 topics (Wei et al. 2024, arXiv 2403.18802).

Files as published, one JSON line a prompt, `longfact-<task>_<topic>.jsonl`; files of `veridical longfact create` are
the same without the canary. What a prompt is called does not depend on the order in which a file system lists them.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InputError, UsageError
from .biographies import Prompt
from .longfact_topics import supercategory, topic_named

TASKS = ("concepts", "objects")
CANARY = "VZHzSDbambDng7BLzp3c-IC4pWbv3ReNgMNB"
"""Identifier in the published files' canary, which asks to be kept out of training data."""
SUBSET = 250
"""Prompts of Objects that the paper benchmarks with (section 6)."""
SUBSET_SHA256 = "591692c6418612a9ef2665ef3ed2515e66bbff8eac46d7aa70c219e967b8eae2"
"""Of the subset's prompts joined by line feeds; they are those of appendix E.6."""
_SEED = 1
_NAME = re.compile(rf"longfact-({'|'.join(TASKS)})_(.+)\.jsonl")


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that stands in several places of one task."""

    prompt: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class LongFact:
    """The prompts of one task in the order of their files' names, and what was noticed about them."""

    task: str
    prompts: tuple[Prompt, ...]
    """`id` is "task/topic/number", the number from 1 as in the file; metadata has task and supercategory."""
    canaries: int
    """Lines with the canary of the published files; it is checked for and goes nowhere."""

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(prompt.topic for prompt in self.prompts))

    @property
    def repeated(self) -> tuple[Repeated, ...]:
        """Prompts that occur more than once: nine in the published Objects, in spite of the folder's name."""
        places: dict[str, list[str]] = {}
        for prompt in self.prompts:
            places.setdefault(prompt.prompt, []).append(prompt.id)
        return tuple(Repeated(prompt=text, ids=tuple(ids)) for text, ids in places.items() if len(ids) > 1)

    def subset(self, n: int = SUBSET) -> tuple[Prompt, ...]:
        """The first `n` in the published shuffle; 250 of Objects are those of the paper.

        Files by name, then Python's `random.seed(1)` and `shuffle`. The released code takes files as the file system
        lists them, so that its subset differs from one machine to the next. Raises UsageError for an n that cannot be.
        """
        if not 1 <= n <= len(self.prompts):
            raise UsageError(f"a subset of LongFact {self.task} has 1 to {len(self.prompts)} prompts, not {n}")
        shuffled = list(self.prompts)
        random.Random(_SEED).shuffle(shuffled)
        return tuple(shuffled[:n])


def digest(prompts: Iterable[Prompt]) -> str:
    """SHA-256 of the prompts joined by line feeds: how a subset is told to be the published one."""
    return hashlib.sha256("\n".join(prompt.prompt for prompt in prompts).encode()).hexdigest()


def load(path: Path | str, task: str) -> LongFact:
    """One task from a folder of files, or from the folder above it that holds both tasks.

    Raises UsageError where there is no file of the task, or several folders have one; InputError for a line that
    cannot be read.
    """
    if task not in TASKS:
        raise UsageError(f"LongFact has the tasks {' and '.join(TASKS)}, not {task!r}")
    files = _files(Path(path), task)
    prompts: list[Prompt] = []
    canaries = 0
    for file in files:
        topic = topic_named(_topic(file).replace("-", " "))
        metadata = {"task": task, "supercategory": supercategory(topic)}
        metadata = {name: value for name, value in metadata.items() if value is not None}
        for number, record in enumerate(_records(file), 1):
            id_ = f"{task}/{_topic(file)}/{number}"
            prompts.append(Prompt(id=id_, prompt=record.prompt, topic=topic, metadata=metadata))
            canaries += CANARY in record.canary
    if not prompts:
        raise UsageError(f"{path}: no prompt in its files")
    return LongFact(task=task, prompts=tuple(prompts), canaries=canaries)


class _Record(msgspec.Struct):
    prompt: str
    canary: str = ""


_decoder = msgspec.json.Decoder(_Record)


def _files(path: Path, task: str) -> list[Path]:
    """The task's files by name; the order is that of code points, which no file system changes."""
    if not path.is_dir():
        raise UsageError(f"{path}: not a folder; LongFact is read from a folder of longfact-{task}_TOPIC.jsonl")
    found = [
        file for file in (*path.iterdir(), *path.glob("*/*")) if (m := _NAME.fullmatch(file.name)) and m[1] == task
    ]
    folders = sorted({file.parent.name for file in found})
    if not found:
        raise UsageError(f"{path}: no file longfact-{task}_TOPIC.jsonl in it or in a folder of it")
    if len(folders) > 1:
        raise UsageError(f"{path}: several folders hold {task}: {', '.join(folders)}; name one of them")
    return sorted(found, key=lambda file: file.name)


def _topic(file: Path) -> str:
    match = _NAME.fullmatch(file.name)
    return match[2] if match else file.stem


def _records(file: Path) -> list[_Record]:
    found = []
    try:
        lines: list[Any] = file.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(file)) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = _decoder.decode(line)
        except msgspec.DecodeError as error:
            raise InputError(str(error), file=str(file), line=number) from None
        if not record.prompt.strip():
            raise InputError("blank", file=str(file), line=number, field="prompt")
        found.append(record)
    return found
