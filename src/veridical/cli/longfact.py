"""`veridical longfact`: new prompts in the manner of LongFact."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ..benchmarks import longfact_create as creating
from ..benchmarks.longfact_choose import LIKENESS, OVERLAP
from ..errors import FatalError, UsageError
from ..folder import RunFolder, RunInfo
from ..models.cache import CallStore
from ..models.embedded import locate
from ..models.encoders import SentenceEncoder, open_encoder
from ..models.factory import open_model
from ..models.metered import Budget
from . import show
from .opening import GRACE
from .options import AsJson, Cache, MaxCost
from .setup import ENCODER

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="New prompts in the manner of LongFact."
)

EVERY = 10.0
"""Seconds between lines of progress."""


@app.callback()
def _group() -> None:
    """Keeps `create` a subcommand although it is the only one."""


@app.command(
    help="Make new LongFact-style prompts with a model.\n\n"
    "Example: veridical longfact create --topics volcanology,chess --model openai/gpt-4o --out prompts"
)
def create(
    topics: Annotated[
        str, typer.Option("--topics", help="all (the 38 published), names with commas between, or a file of names.")
    ],
    model: Annotated[str, typer.Option("--model", help="Model that writes them: provider/name.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write, or to go on with.")],
    task: Annotated[str, typer.Option(help="objects or concepts.")] = "objects",
    per_topic: Annotated[int, typer.Option(min=1, help="Prompts to keep of each topic.")] = creating.KEPT,
    draws: Annotated[int, typer.Option(min=1, help="Different prompts to draw for each topic.")] = creating.DRAWS,
    tries: Annotated[int | None, typer.Option(min=1, help="Most calls a topic in one go (default: 3 a draw).")] = None,
    seed: Annotated[int, typer.Option(help="Seed of what is kept.")] = 0,
    encoder: Annotated[
        str,
        typer.Option(
            help=f"What finds prompts that ask for the same: {ENCODER}, hf/…, words; auto: {ENCODER} if it is there."
        ),
    ] = "auto",
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help=f"Likeness of prompts that ask for the same ({LIKENESS}; words: {OVERLAP})."),
    ] = None,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="Of the model.")] = 1.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest reply.")] = 128,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Most topics at once.")] = 16,
    max_cost: MaxCost = None,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Start again, or go on (the default).")] = False,
    cache: Cache = None,
    as_json: AsJson = False,
) -> None:
    if per_topic > draws:
        raise UsageError(f"--per-topic {per_topic} of --draws {draws}: fewer are drawn than kept")
    named = creating.topics_of(topics)
    chosen, note = _encoder(encoder)
    folder = RunFolder(out / f".{task}")
    settings = {"task": task, "temperature": temperature, "max_tokens": max_tokens}
    budget = Budget(max_cost=max_cost)
    with folder.held():
        drawn = asyncio.run(
            _draw(named, model, settings, folder, budget, cache, draws, tries, concurrency, fresh=fresh)
        )
        made = [
            creating.write(one, out, task=task, encoder=chosen, threshold=threshold, per_topic=per_topic, seed=seed)
            for one in drawn
        ]
        _keep_removed(folder, made)
    _print(made, out, note, folder, budget, as_json=as_json)
    if short := [one.topic for one in made if one.kept < one.wanted]:
        typer.echo(
            f"veridical: fewer prompts than wanted for {', '.join(short)}; the same command tries again", err=True
        )
        raise typer.Exit(1)


async def _draw(
    topics: list[str],
    spec: str,
    settings: dict[str, Any],
    folder: RunFolder,
    budget: Budget,
    cache: Path | None,
    draws: int,
    tries: int | None,
    concurrency: int,
    *,
    fresh: bool,
) -> list[creating.Drawn]:
    progress = folder.path / "progress"
    store = CallStore(cache or folder.calls_path)
    try:
        model = open_model(spec, store=store, budget=budget, concurrency=concurrency, keep_cut=True)
        try:
            creator = creating.Creator(model=model, **settings)
            signed = creator.signature
            folder.start(
                signed,
                RunInfo(signature=str(signed), fields=signed.fields, input="", input_sha256=""),
                fresh=fresh,
            )
            if fresh and progress.exists():
                shutil.rmtree(progress)
            return await creating.draw_all(
                topics,
                creator,
                progress,
                draws=draws,
                tries=tries,
                in_flight=concurrency,
                on_call=_Progress(len(topics) * draws),
            )
        finally:
            budget.stop()
            await store.drain(GRACE)
            await model.close()
    finally:
        store.close()


class _Progress:
    """A line on stderr now and then."""

    def __init__(self, total: int) -> None:
        self.total, self.calls, self.drawn, self.said = total, 0, 0, time.monotonic()

    def __call__(self, topic: str, call: creating.Call) -> None:
        self.calls += 1
        self.drawn += call.prompt is not None
        if time.monotonic() - self.said >= EVERY:
            self.said = time.monotonic()
            show.err().print(f"{self.drawn} new prompts of at most {self.total} in {self.calls} calls")


def _encoder(spec: str) -> tuple[SentenceEncoder | None, str]:
    """The encoder, and how likeness is found in words."""
    ready = locate(ENCODER.partition("/")[2]) and importlib.util.find_spec("sentence_transformers")
    if spec == "words":
        return None, "by common words"
    if spec == "auto" and not ready:
        return None, f"by common words, since {ENCODER} is not here (veridical models fetch minilm; the hf extra)"
    name = ENCODER if spec == "auto" else spec
    return open_encoder(name), f"by {name}"


def _keep_removed(folder: RunFolder, made: list[creating.Made]) -> None:
    lines = [
        msgspec.json.encode({"topic": one.topic, **msgspec.to_builtins(removed)}) + b"\n"
        for one in made
        for removed in one.removed
    ]
    try:
        (folder.path / "removed.jsonl").write_bytes(b"".join(lines))
    except OSError as error:
        raise FatalError(f"cannot write to {folder.path}: {error.strerror or error}") from error


def _print(
    made: list[creating.Made], out: Path, note: str, folder: RunFolder, budget: Budget, *, as_json: bool
) -> None:
    if as_json:
        about = {"topics": made, "out": str(out), "likeness": note, "spent": budget.spent}
        typer.echo(msgspec.json.encode(about).decode())
        return
    screen = show.out()
    numbers = ("calls", "drawn", "repeated", "unreadable", "failed", "removed", "kept")
    table = show.table("topic", *numbers, right=numbers)
    for one in made:
        counts = [one.calls, one.drawn, one.repeated, one.unreadable, one.failed, len(one.removed), one.kept]
        table.add_row(show.printable(one.topic), *map(str, counts))
    screen.print(table)
    screen.print(f"{sum(one.kept for one in made):,} prompts: {out}", markup=False, soft_wrap=True)
    screen.print(
        f"those that ask for the same were found {note}; look through {folder.path / 'removed.jsonl'}",
        markup=False,
        soft_wrap=True,
    )
    if budget.spent:
        screen.print(f"spent ${budget.spent:.4f} on {budget.calls} calls", markup=False)
