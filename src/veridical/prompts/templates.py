"""Prompt texts as files: load, fill in one pass, fingerprint.

A template is `prompts/<folder>/<name>.txt` with `{{slot}}` where text goes. Text put in is never looked at again,
so braces, percent signs and slot names in it stay as they are. Demonstrations are `prompts/<folder>/<name>.jsonl`.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, field
from importlib.resources import files

import msgspec

from ..errors import UsageError

_SLOT = re.compile(r"\{\{([a-z][a-z0-9_]{0,40})\}\}")


@dataclass(frozen=True)
class Template:
    """A prompt with slots. `fingerprint` (of the file) goes into the signature of whatever uses it."""

    name: str
    text: str = field(repr=False)

    @classmethod
    def load(cls, name: str) -> Template:
        """The template shipped under this name ("factscore/verify"). Raises `UsageError` if there is none."""
        return cls(name, _read(f"{name}.txt"))

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.text)

    @property
    def slots(self) -> frozenset[str]:
        return frozenset(_SLOT.findall(self.text))

    def fill(self, **values: str) -> str:
        """The prompt. Raises `UsageError` if a slot gets no value or a value has no slot."""
        if wrong := self.slots ^ values.keys():
            raise UsageError(f"template {self.name}: slots without a value or values without a slot: {sorted(wrong)}")
        return _SLOT.sub(lambda slot: values[slot.group(1)], self.text)


class Demonstration(msgspec.Struct, frozen=True):
    """A worked example of decomposition."""

    sentence: str
    facts: tuple[str, ...]
    context: str = ""
    """What the sentence's pronouns refer to: the topic, or the sentence before."""


@dataclass(frozen=True)
class Demonstrations:
    """A set of worked examples, in the order of the file."""

    name: str
    items: tuple[Demonstration, ...] = field(repr=False)
    fingerprint: str = ""

    @classmethod
    def load(cls, name: str) -> Demonstrations:
        """The set shipped under this name ("decompose/biographies"). Raises `UsageError` if there is none."""
        return _demonstrations(name)


@functools.cache
def _demonstrations(name: str) -> Demonstrations:
    text = _read(f"{name}.jsonl")
    decoder = msgspec.json.Decoder(Demonstration)
    items = tuple(decoder.decode(line) for line in text.splitlines() if line.strip())
    return Demonstrations(name, items, fingerprint(text))


@functools.cache
def _read(path: str) -> str:
    file = files("veridical.prompts").joinpath(*path.split("/"))
    if ".." in path or not file.is_file():
        raise UsageError(f"no prompt file {path}")
    return file.read_text(encoding="utf-8")


def fingerprint(text: str) -> str:
    """First 12 hex digits of the SHA-256 of the text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def fence(name: str, text: str) -> str:
    """The text between a pair of markers that do not occur in it, so that it cannot end its own block.

    The markers come from the text's hash: the same text always makes the same prompt.
    """
    salt = 0
    while (mark := f"{name}-{fingerprint(f'{salt}{text}')[:6]}") in text:
        salt += 1
    return f"<{mark}>\n{text}\n</{mark}>"
