"""New LongFact-style prompts, by the procedure of the paper (Wei et al. 2024, arXiv 2403.18802, appendix B.1).

A model is asked for one prompt at a time. It sees instructions, the ten most recent exemplars (at first ten seeds, two
each of people, events, companies, cities and animals, which its own prompts displace one by one), and the topic with an
open bracket; the first brackets of its reply are the prompt. When there are 60 different ones, those that ask for about
the same are removed, and 30 of the rest are kept at random.

Ours: all wording; a bound on the calls (the released code asks for ever); a repeated prompt does not become an exemplar
a second time; what the authors removed by hand is found by likeness, so look through it (`removed`).
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from ..errors import FatalError, InputError, StageError, UsageError, leaf
from ..models.base import ChatRequest, LanguageModel, Message
from ..models.encoders import SentenceEncoder
from ..prompts import Template, fingerprint
from ..signature import Signature, sign
from ..types import Struct
from .longfact import TASKS
from .longfact_choose import Removed, choose, distinct
from .longfact_topics import TOPICS, slug, topic_named

WINDOW = 10
"""Exemplars that the model sees."""
DRAWS = 60
KEPT = 30
_LONGEST = 600


class Exemplar(msgspec.Struct, frozen=True):
    """A prompt that the model sees as an example."""

    topic: str
    prompt: str


@dataclass(frozen=True)
class Seeds:
    """The exemplars at the start. `fingerprint` goes into the signature."""

    items: tuple[Exemplar, ...] = field(repr=False)
    fingerprint: str

    @classmethod
    def load(cls, task: str) -> Seeds:
        return _seeds(task)


@functools.cache
def _seeds(task: str) -> Seeds:
    text = files("veridical.prompts").joinpath("longfact", "seeds.jsonl").read_text(encoding="utf-8")
    rows = [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
    return Seeds(tuple(Exemplar(row["topic"], row[task]) for row in rows), fingerprint(text))


@dataclass(frozen=True, kw_only=True)
class Creator:
    """How prompts are drawn. All of it is in the signature."""

    model: LanguageModel
    task: str = "objects"
    temperature: float = 1.0
    max_tokens: int = 128
    name: str = "longfact-create"
    instructions: Template = field(init=False)
    special: Template = field(init=False)
    """For the objects of "moral disputes", of which models tend to name ideas."""
    seeds: Seeds = field(init=False)

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise UsageError(f"LongFact has the tasks {' and '.join(TASKS)}, not {self.task!r}")
        object.__setattr__(self, "instructions", Template.load(f"longfact/{self.task}"))
        object.__setattr__(self, "special", Template.load("longfact/objects_moral_disputes"))
        object.__setattr__(self, "seeds", Seeds.load(self.task))

    @property
    def signature(self) -> Signature:
        return sign(self)

    def request(self, topic: str, drawn: Sequence[str], call: int) -> ChatRequest:
        """What call number `call` asks, after the prompts `drawn` so far. Topics are in upper case, as published."""
        recent = [*self.seeds.items, *(Exemplar(topic, prompt) for prompt in drawn)][-WINDOW:]
        blocks = (f"TOPIC: {one.topic.upper()}\nPROMPT: [{one.prompt}]" for one in recent)
        special = topic == "moral disputes" and self.task == "objects"
        template = self.special if special else self.instructions
        text = template.fill(topic=topic.upper(), exemplars="\n\n".join(blocks)).rstrip()
        return ChatRequest(
            messages=(Message(role="user", content=text),),
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            sample=call,
        )


def bracketed(reply: str) -> str | None:
    """The prompt of a reply: what its first brackets hold, on one line; None if there is none.

    The bracket that the question left open may be closed without having been opened. Brackets within brackets belong to
    the prompt and are made round. A reply that was cut within them has no prompt.
    """
    start, depth = 0, 0
    closes_ours = "]" in reply and "[" not in reply[: reply.index("]")]
    depth = 1 if closes_ours else 0
    for place, char in enumerate(reply):
        if char == "[":
            start = start if depth else place + 1
            depth += 1
        elif char == "]" and depth:
            depth -= 1
            if not depth and (found := _prompt(reply[start:place])):
                return found
    return None


def _prompt(inner: str) -> str | None:
    text = " ".join(inner.replace("[", "(").replace("]", ")").split()).strip('"“”')
    return text if len(text.split()) > 1 and any(map(str.isalpha, text)) and len(text) <= _LONGEST else None


# --- drawing


class Call(Struct, frozen=True, kw_only=True):
    """What came of one call: a line of a topic's progress file."""

    prompt: str | None = None
    trouble: str | None = None
    """Why there is no new prompt: "unreadable", "repeated", or the error."""


class Drawn(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The prompts of a topic and the calls that they took, those of earlier runs too."""

    topic: str
    prompts: tuple[str, ...]
    calls: int
    unreadable: int
    repeated: int
    failed: int


async def draw(
    topic: str,
    creator: Creator,
    progress: Path,
    *,
    draws: int = DRAWS,
    tries: int | None = None,
    on_call: Callable[[str, Call], None] = lambda topic, call: None,
) -> Drawn:
    """Different prompts of a topic, up to `draws` of them, in at most `tries` further calls (3 a draw if None).

    Each call's outcome is appended to `progress`, from which a further call goes on. A `StageError` costs a try; a
    `FatalError` is raised.
    """
    calls = _progress(progress)
    prompts = [call.prompt for call in calls if call.prompt]
    left = 3 * draws if tries is None else tries
    progress.parent.mkdir(parents=True, exist_ok=True)
    while len(prompts) < draws and left > 0:
        left -= 1
        made = await _call(creator, topic, prompts, len(calls))
        _append(progress, made)
        calls.append(made)
        prompts += [made.prompt] if made.prompt else []
        on_call(topic, made)
    troubles = [call.trouble for call in calls if call.trouble]
    unreadable, repeated = troubles.count("unreadable"), troubles.count("repeated")
    return Drawn(
        topic=topic,
        prompts=tuple(prompts[:draws]),
        calls=len(calls),
        unreadable=unreadable,
        repeated=repeated,
        failed=len(troubles) - unreadable - repeated,
    )


async def _call(creator: Creator, topic: str, prompts: Sequence[str], number: int) -> Call:
    try:
        reply = await creator.model.chat(creator.request(topic, prompts, number))
    except StageError as error:
        return Call(trouble=f"{type(error).__name__}: {error}"[:500])
    found = bracketed(reply.text)
    if found is None:
        return Call(trouble="unreadable")
    return Call(trouble="repeated") if found in prompts else Call(prompt=found)


def _progress(path: Path) -> list[Call]:
    """The calls so far; a torn last line is cut off."""
    if not path.exists():
        return []
    content_ = path.read_bytes()
    whole = content_[: content_.rfind(b"\n") + 1]
    if len(whole) < len(content_):
        path.write_bytes(whole)
    calls = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            calls.append(msgspec.json.decode(line, type=Call))
        except msgspec.DecodeError as error:
            raise InputError(f"{error}; --fresh starts again", file=str(path), line=number) from None
    return calls


def _append(path: Path, call: Call) -> None:
    try:
        with path.open("ab", buffering=0) as file:
            file.write(msgspec.json.encode(call) + b"\n")
    except OSError as error:
        raise FatalError(f"cannot write to {path}: {error.strerror or error}") from error


async def draw_all(
    topics: Sequence[str], creator: Creator, progress: Path, *, in_flight: int = 16, **settings: Any
) -> list[Drawn]:
    """`draw` for each topic, `in_flight` at once, with a progress file each in the folder `progress`."""
    slots = asyncio.Semaphore(in_flight)

    async def one(topic: str) -> Drawn:
        async with slots:
            return await draw(topic, creator, progress / f"{slug(topic)}.jsonl", **settings)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(topic)) for topic in topics]
    except BaseExceptionGroup as errors:
        raise leaf(errors) from None
    return [task.result() for task in tasks]


# --- topics and files


class Made(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What became of a topic."""

    topic: str
    wanted: int
    kept: int
    drawn: int
    calls: int
    unreadable: int
    repeated: int
    failed: int
    file: str | None
    """None: there was no prompt to keep."""
    removed: tuple[Removed, ...]


def write(
    drawn: Drawn,
    out: Path,
    *,
    task: str,
    encoder: SentenceEncoder | None = None,
    threshold: float | None = None,
    per_topic: int = KEPT,
    seed: int = 0,
) -> Made:
    """Choose among the prompts of a topic and write its file in the published layout, without a canary."""
    different, removed = distinct(drawn.prompts, encoder, threshold=threshold)
    kept = choose(different, per_topic, seed=seed, topic=drawn.topic, task=task)
    file = out / f"longfact-{task}_{slug(drawn.topic)}.jsonl"
    partial = file.with_name(f"{file.name}.partial")
    try:
        if kept:
            partial.write_bytes(b"".join(msgspec.json.encode({"prompt": prompt}) + b"\n" for prompt in kept))
            partial.replace(file)
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise FatalError(f"cannot write to {file}: {error.strerror or error}") from error
    counts = {name: getattr(drawn, name) for name in ("calls", "unreadable", "repeated", "failed")}
    return Made(
        topic=drawn.topic,
        wanted=per_topic,
        kept=len(kept),
        drawn=len(drawn.prompts),
        file=str(file) if kept else None,
        removed=tuple(removed),
        **counts,
    )


def topics_of(spec: str) -> list[str]:
    """Topics: "all" (the 38 published), names with commas between, or a file with one a line; each once, in order.

    Raises UsageError for a name that cannot be part of a file's name.
    """
    if spec == "all":
        return list(TOPICS)
    path = Path(spec)
    if path.is_file():
        try:
            named: Iterable[str] = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read: {error}", file=spec) from error
    else:
        named = spec.split(",")
    found = {slug(topic): topic for name in named if (topic := topic_named(name))}
    if not found:
        raise UsageError(f"no topic in {spec!r}: all, names with commas between, or a file with one a line")
    for topic in found.values():
        if not topic.isprintable() or set(topic) & set('/\\:*?"<>|[]') or topic.startswith(".") or len(topic) > 80:
            raise UsageError(f"topic {topic!r}: its name must be able to stand in a file's name")
    return list(found.values())
