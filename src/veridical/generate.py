"""Prompts x model -> generations: the answers of a model to a prompt set, one line each, ready to be scored.

    OUT             one answer a line, in the order of the prompts, appended and flushed line by line
    OUT.run/        what belongs to it: run.json (recipe), calls.sqlite (the cache of calls), run.lock

A line is a `Generation` with `finish_reason`, `usage` and `cost` in its metadata. A prompt that failed keeps its place:
a line without a text and with its `failure`, which a reader refuses by name; the next run asks for it again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from .benchmarks.prompt_sets import Prompt
from .errors import FatalError, InputError, StageError, UsageError, leaf
from .failures import failure
from .models.base import ChatReply, ChatRequest, LanguageModel, Message
from .prompts import Template
from .run import ordered
from .signature import Signature, sign
from .text.abstention import Abstention, Standard
from .types import Failure, Struct

POSTAMBLES = ("auto", "detailed", "none")
STAGE = "generate"


class Line(Struct, frozen=True, kw_only=True):
    """One line of the file: the fields of a `Generation`, or a failure in place of the text."""

    id: str
    text: str | None = None
    prompt: str = ""
    """As the set has it; what is put before and after it is in run.json."""
    topic: str | None = None
    system: str | None = None
    reference: str | None = None
    samples: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    failure: Failure | None = None


class Summary(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What is in a file of answers."""

    prompts: int = 0
    answered: int = 0
    """With a text; truncated and refused ones among them."""
    truncated: int = 0
    refused: int = 0
    failed: int = 0
    reason: str = ""
    """Of the first that failed; the others' are in their lines."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """US dollars that the answers cost when they were made."""


@dataclass(frozen=True, kw_only=True)
class Writer:
    """How a model is asked. All of it is in the signature."""

    model: LanguageModel
    postamble: str = ""
    """Put after each prompt, with a blank between."""
    system_prompt: str = ""
    max_tokens: int = 1024
    temperature: float = 0.0
    samples: int = 0
    """Further answers to each prompt, for self-check."""
    sample_temperature: float = 1.0
    name: str = STAGE

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.samples < 0:
            raise UsageError(f"an answer has at least one token, and samples are 0 or more: {self.max_tokens}")
        if not 0 <= self.temperature <= 2 or not 0 <= self.sample_temperature <= 2:
            raise UsageError("a temperature is between 0 and 2")
        if self.samples and not self.sample_temperature > 0:
            raise UsageError("samples differ only at a temperature above 0")

    @property
    def signature(self) -> Signature:
        return sign(self)

    def request(self, prompt: str, number: int = 0) -> ChatRequest:
        """What the model is asked: number 0 for the answer, 1 and up for the samples."""
        asked = f"{prompt} {self.postamble}" if self.postamble else prompt
        system = (Message(role="system", content=self.system_prompt),) if self.system_prompt else ()
        return ChatRequest(
            messages=(*system, Message(role="user", content=asked)),
            max_tokens=self.max_tokens,
            temperature=self.sample_temperature if number else self.temperature,
            sample=number,
        )


def postamble(chosen: str, *, detailed: bool) -> str:
    """The sentence after each prompt: "detailed" is ours, of the published kind (arXiv 2403.18802, section 6);
    "auto" is that one for sets that are published with it (`detailed`); "none"; anything else is itself."""
    if chosen == "none" or (chosen == "auto" and not detailed):
        return ""
    return Template.load("longfact/detailed").text.strip() if chosen in POSTAMBLES else chosen


async def answer(prompt: Prompt, writer: Writer, *, system: str, abstention: Abstention | None = None) -> Line:
    """The model's answer as a line. A `StageError` becomes the line's failure, a `FatalError` is raised."""
    asked = [writer.request(prompt.prompt, number) for number in range(writer.samples + 1)]
    base = Line(id=prompt.id, prompt=prompt.prompt, topic=prompt.topic, system=system, reference=prompt.reference)
    try:
        async with asyncio.TaskGroup() as group:  # all are waited for, so that the cache keeps what was paid for
            tasks = [group.create_task(_reply(writer.model, request)) for request in asked]
    except BaseExceptionGroup as errors:
        raise leaf(errors) from None
    replies: list[ChatReply] = []
    for task in tasks:
        outcome = task.result()
        if isinstance(outcome, StageError):
            return msgspec.structs.replace(base, metadata=prompt.metadata, failure=failure(STAGE, outcome))
        replies.append(outcome)
    first, *others = replies
    marks: dict[str, Any] = {"finish_reason": first.finish_reason}
    if first.finish_reason == "length":
        marks["truncated"] = True
    if words := (abstention or Standard()).detect(first.text, prompt.topic):
        marks["refused"] = words
    if cut := sum(reply.finish_reason == "length" for reply in others):
        marks["samples_truncated"] = cut
    tokens = {name: sum(getattr(reply, name) for reply in replies) for name in ("prompt_tokens", "completion_tokens")}
    marks |= {"usage": {"calls": len(replies), **tokens}, "cost": sum(reply.cost for reply in replies)}
    return msgspec.structs.replace(
        base, text=first.text, samples=tuple(reply.text for reply in others), metadata=prompt.metadata | marks
    )


async def _reply(model: LanguageModel, request: ChatRequest) -> ChatReply | StageError:
    try:
        return await model.chat(request)
    except StageError as error:
        return error


async def generate(
    prompts: Iterable[Prompt],
    writer: Writer,
    out: Path,
    *,
    system: str | None = None,
    in_flight: int = 16,
    on_line: Callable[[Line], None] = lambda line: None,
) -> int:
    """Write the answers that `out` lacks, and ask again for those that failed; returns how many prompts were asked.

    `prompts` is read several times and must be the same each time. What is there must be of the first prompts, in order
    (UsageError). Memory depends on `in_flight` only. A `FatalError` (or a kill) stops it; the same call goes on.
    """
    system = system or writer.model.name
    done, failed = _check(prompts, out)
    if failed:
        await _mend(prompts, writer, out, system, in_flight, on_line)

    async def work(prompt: Prompt) -> Line:
        return await answer(prompt, writer, system=system)

    with _appending(out) as file:

        def write(line: Line) -> None:
            _append(file, encoded(line))
            on_line(line)

        return failed + await ordered(islice(prompts, done, None), work, write, in_flight=in_flight)


async def _mend(
    prompts: Iterable[Prompt],
    writer: Writer,
    out: Path,
    system: str,
    in_flight: int,
    on_line: Callable[[Line], None],
) -> None:
    """The same file with failed lines asked again. It takes the old one's place when it is whole: a kill loses nothing,
    since the cache has the new answers."""

    async def work(pair: tuple[bytes, Prompt | None]) -> bytes:
        line, prompt = pair
        if prompt is None or not _heads.decode(line).failure:
            return line
        made = await answer(prompt, writer, system=system)
        on_line(made)
        return encoded(made)

    partial = out.with_name(f"{out.name}.mending")
    partial.unlink(missing_ok=True)
    with _appending(partial) as file:
        todo = iter(prompts)  # may be fewer than there are lines
        pairs = ((line, next(todo, None)) for line in _raw(out))
        await ordered(pairs, work, lambda line: _append(file, line), in_flight=in_flight)
    partial.replace(out)


def summarise(out: Path) -> Summary:
    """Count what is in a file of answers, those of earlier runs too."""
    counts: dict[str, Any] = dict.fromkeys(Summary.__struct_fields__, 0) | {"reason": ""}
    for line in lines(out):
        counts["prompts"] += 1
        counts["failed"] += line.failure is not None
        counts["answered"] += line.failure is None
        if line.failure:
            counts["reason"] = counts["reason"] or line.failure.message
        counts["truncated"] += bool(line.metadata.get("truncated"))
        counts["refused"] += bool(line.metadata.get("refused"))
        if line.failure is None:
            counts["cost"] += line.metadata.get("cost", 0.0)
            for name in ("prompt_tokens", "completion_tokens"):
                counts[name] += line.metadata.get("usage", {}).get(name, 0)
    return Summary(**counts)


def lines(out: Path) -> Iterator[Line]:
    """The lines of a file of answers. Raises InputError for one that is none."""
    for number, line in enumerate(_raw(out), 1):
        yield _decoded(_decoder, line, out, number)


# --- the file


class _Head(msgspec.Struct):
    id: str
    failure: dict[str, Any] | None = None


_heads = msgspec.json.Decoder(_Head)
_decoder = msgspec.json.Decoder(Line)


def encoded(line: Line) -> bytes:
    """The line as it stands in the file."""
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which JSON cannot hold
        sound = msgspec.structs.replace(line, text=None, samples=(), metadata={})
        trouble = Failure(stage=STAGE, error="ModelError", message="the answer is not Unicode")
        return msgspec.json.encode(msgspec.structs.replace(sound, failure=trouble)) + b"\n"


def _check(prompts: Iterable[Prompt], out: Path) -> tuple[int, int]:
    """(lines that are there, those of them that failed). A torn last line is cut off."""
    _mend_tail(out)
    done = failed = 0
    todo = iter(prompts)
    for done, line in enumerate(_raw(out), 1):
        head = _decoded(_heads, line, out, done)
        wanted = next(todo, None)
        if wanted is None:  # fewer prompts than before: what is there stays
            continue
        if wanted.id != head.id:
            raise UsageError(
                f"{out}:{done} is of prompt {head.id!r}, not of {wanted.id!r}: use another --out, or --fresh"
            )
        failed += head.failure is not None
    return done, failed


def _decoded(decoder: msgspec.json.Decoder[Any], line: bytes, out: Path, number: int) -> Any:
    try:
        return decoder.decode(line)
    except msgspec.DecodeError as error:
        raise InputError(str(error), file=str(out), line=number) from None


def _raw(out: Path) -> Iterator[bytes]:
    if out.exists():
        with out.open("rb") as file:
            yield from file


def _mend_tail(out: Path) -> None:
    """Cut off a torn last line; a whole one that lacks its newline gets it."""
    if not out.exists():
        return
    start, last = 0, b""
    for line in _raw(out):
        start, last = start + len(last), line
    if last.endswith(b"\n") or not last:
        return
    with out.open("r+b") as file:
        try:
            _heads.decode(last)
        except msgspec.DecodeError:
            file.truncate(start)
        else:
            file.seek(0, os.SEEK_END)
            file.write(b"\n")


def _appending(path: Path) -> FileIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab", buffering=0)
    except OSError as error:
        raise UsageError(f"cannot write to {path}: {error.strerror or error}") from error


def _append(file: FileIO, line: bytes) -> None:
    """The whole line or nothing of it. Raises FatalError where there is no room."""
    start = file.seek(0, os.SEEK_END)
    try:
        if file.write(line) == len(line):
            return
        trouble = "no space left"
    except OSError as error:
        trouble = error.strerror or str(error)
    with suppress(OSError):
        file.truncate(start)
    raise FatalError(f"cannot write answers: {trouble}")
