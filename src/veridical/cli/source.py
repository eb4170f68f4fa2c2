"""The input of a command: checked and counted once before anything is paid, then read again to be judged."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

from ..errors import FatalError, UsageError
from ..folder import RunFolder
from ..inputs import Inputs, read, sample
from .setup import Setup


class Source:
    """The input file: read once to check and count it before anything is paid, then once more to judge it."""

    def __init__(self, path: str, on_error: str, size: int | None, seed: int, facts: str) -> None:
        self.path, self.on_error, self.size, self.seed = path, on_error, size, seed
        self.facts = "model" if facts == "given-model" else "human"
        checked = self._open()
        self.total = self.references = self.given = self.samples = 0
        for generation in checked:
            self.total += 1
            self.references += generation.reference is not None
            self.samples += bool(generation.samples)
            self.given += generation.facts is not None or bool(generation.abstained)
        self.format, self.fields, self.skipped = checked.format, checked.fields, list(checked.skipped)
        if not self.total:
            raise UsageError(f"{path}: no usable generation in it")
        self.available, self.total = self.total, min(self.total, size) if size else self.total

    def _open(self) -> Inputs:
        return read(self.path, on_error=self.on_error, facts=self.facts)

    def __iter__(self) -> Any:
        inputs = self._open()
        return iter(sample(inputs, self.size, self.seed) if self.size else inputs)

    @property
    def sha256(self) -> str:
        with Path(self.path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def settings(self) -> dict[str, Any]:
        chosen = {"sample": self.size, "seed": self.seed} if self.size else {}
        skips = {"on_error": "skip"} if self.skipped else {}
        return {**chosen, **skips, **({"facts": self.facts} if self.facts == "model" else {})}


def check_evidence(source: Source, setup: Setup) -> None:
    """What would leave everything unscored is said before the run."""
    if setup.facts != "extracted" and not source.given:
        raise UsageError(f"--facts {setup.facts}: no input has facts")
    if "self-check" in setup.names and not (setup.subject or source.samples):
        raise UsageError("self-check compares with other answers: give samples with the input, or --subject MODEL")
    if not setup.needs_knowledge:
        return
    if not setup.knowledge and not source.references:
        raise UsageError("nothing to judge against: give --knowledge KB, or a reference with each input")


def spooled(path: str, folder: RunFolder) -> str:
    """The path itself; stdin is kept in the run folder under a name of its content, so that it can be read twice."""
    if path != "-":
        return path
    content = sys.stdin.buffer.read()
    kept = folder.path / f"input-{hashlib.sha256(content).hexdigest()[:12]}.jsonl"
    try:
        if not kept.exists():
            partial = kept.with_suffix(".partial")
            partial.write_bytes(content)
            partial.replace(kept)
    except OSError as error:
        raise FatalError(f"cannot keep stdin in {kept}: {error.strerror}") from error
    return str(kept)
