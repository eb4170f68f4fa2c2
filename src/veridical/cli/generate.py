"""`veridical generate`: a model's answers to a prompt set."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ..benchmarks.prompt_sets import PromptSet, prompt_set
from ..errors import UsageError
from ..folder import RunFolder, RunInfo
from ..generate import Line, Summary, Writer, postamble, summarise
from ..generate import generate as generated
from ..models.cache import CallStore
from ..models.factory import open_model
from ..models.metered import Budget
from ..models.probe import adaptations
from . import show
from .opening import GRACE
from .options import AsJson, Cache, Config, MaxCost
from .source import spooled

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EVERY = 10.0
"""Seconds between lines of progress."""


@app.command(
    help="Answers of a model to a prompt set, ready to be scored.\n\n"
    "Example: veridical generate longfact:objects:250 --model openai/gpt-4o-mini --out answers.jsonl"
)
def generate(
    prompts: Annotated[
        str, typer.Argument(help="longfact:objects, longfact:objects:250, biographies, …@PATH, or a file; - is stdin.")
    ],
    model: Annotated[str, typer.Option("--model", help="Model under test: provider/name.")],
    out: Annotated[Path, typer.Option("--out", help="JSONL file to write, or to go on with.")],
    after: Annotated[
        str,
        typer.Option("--postamble", help="Put after each prompt: detailed, none, a text; auto: detailed for LongFact."),
    ] = "auto",
    system_prompt: Annotated[str, typer.Option(help="System message.")] = "",
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer.")] = 1024,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="Of the answer.")] = 0.0,
    samples: Annotated[int, typer.Option(min=0, help="Further answers to each prompt, for self-check.")] = 0,
    sample_temperature: Annotated[float, typer.Option(min=0, max=2, help="Of the further answers.")] = 1.0,
    first: Annotated[int | None, typer.Option("--first", min=1, help="Only the first N prompts.")] = None,
    sample_size: Annotated[int | None, typer.Option("--sample", min=1, help="Only N prompts at random.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of --sample.")] = 0,
    system: Annotated[str | None, typer.Option("--system", help="What the answers' author is called.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Most model calls at once.")] = 16,
    max_cost: MaxCost = None,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Start again, or go on (the default).")] = False,
    cache: Cache = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    if first and sample_size:
        raise UsageError("--first and --sample exclude each other")
    budget = Budget(max_cost=max_cost)
    settings = {
        "system_prompt": system_prompt,
        "max_tokens": max_tokens,
        "temperature": temperature,
        "samples": samples,
        "sample_temperature": sample_temperature,
    }
    part = Part(first=first, sample=sample_size, seed=seed)
    asked = answer_all(
        prompts,
        model,
        out,
        budget,
        part=part,
        after=after,
        settings=settings,
        system=system,
        concurrency=concurrency,
        cache=cache,
        fresh=fresh,
    )
    summary = summarise(out)
    _print(summary, out, asked, budget, as_json=as_json)
    if summary.failed:
        prompts_failed = "1 prompt" if summary.failed == 1 else f"{summary.failed:,} prompts"
        which = "the first: " if summary.failed > 1 else ""
        why = f" ({which}{show.printable(summary.reason)})" if summary.reason else ""
        typer.echo(f"veridical: {prompts_failed} failed{why}; the same command asks again", err=True)
        raise typer.Exit(1)


@dataclass(frozen=True)
class Part:
    """Which of the prompts are answered."""

    first: int | None = None
    sample: int | None = None
    seed: int = 0

    def of(self, asked: PromptSet) -> PromptSet:
        if self.sample:
            return asked.sample(self.sample, self.seed)
        return asked.first(self.first) if self.first else asked


def answer_all(
    prompts: str,
    model: str,
    out: Path,
    budget: Budget,
    *,
    part: Part,
    settings: dict[str, Any],
    after: str = "auto",
    system: str | None = None,
    concurrency: int = 16,
    cache: Path | None = None,
    fresh: bool = False,
) -> PromptSet:
    """Write the answers that are not there yet, to the prompts that are given back; `settings` are those of
    `generate.Writer`. Prints nothing to stdout."""
    folder = RunFolder(out.with_name(f"{out.name}.run"))
    with folder.held():
        asked = prompt_set(spooled(prompts, folder))
        _check_paths(out, prompts)
        count, digest = asked.described()
        if not count:
            raise UsageError(f"{prompts}: no prompt in it")
        info = RunInfo(
            signature="",
            fields={},
            input=asked.name,
            input_sha256=digest,
            settings=({"sample": part.sample, "seed": part.seed} if part.sample else {}) | {"system": system or model},
        )

        def start(writer: Writer) -> None:
            if fresh:
                out.unlink(missing_ok=True)
            if out.exists() and out.stat().st_size and not folder.info_path.exists():
                raise UsageError(f"{out} is there and not from `generate`: use another --out, or --fresh")
            signed = writer.signature
            named = msgspec.structs.replace(info, signature=str(signed), fields=signed.fields)
            folder.start(signed, named, fresh=fresh)

        asyncio.run(
            _run(
                part.of(asked),
                model,
                out,
                budget,
                cache or folder.calls_path,
                start,
                _Progress(min(count, part.sample or part.first or count)),
                settings={"postamble": postamble(after, detailed=asked.detailed), **settings},
                system=system,
                concurrency=concurrency,
            )
        )
    return part.of(asked)


async def _run(
    prompts: PromptSet,
    model: str,
    out: Path,
    budget: Budget,
    calls: Path,
    start: Callable[[Writer], None],
    progress: _Progress,
    *,
    settings: dict[str, Any],
    system: str | None,
    concurrency: int,
) -> None:
    store = CallStore(calls)
    try:
        opened = open_model(model, store=store, budget=budget, concurrency=concurrency, keep_cut=True)
        try:
            writer = Writer(model=opened, **settings)
            start(writer)
            await generated(
                prompts, writer, out, system=system, in_flight=max(2, min(concurrency, 64)), on_line=progress
            )
            for words in adaptations(opened):
                show.err().print(f"note: {model}: {words}", markup=False)
        finally:
            budget.stop()
            await store.drain(GRACE)
            await opened.close()
    finally:
        store.close()


class _Progress:
    """A line on stderr now and then."""

    def __init__(self, total: int) -> None:
        self.total, self.made, self.failed = total, 0, 0
        self.started = self.said = time.monotonic()

    def __call__(self, line: Line) -> None:
        self.made += 1
        self.failed += line.failure is not None
        now = time.monotonic()
        if now - self.said >= EVERY:
            self.said = now
            failed = f", {self.failed} failed" if self.failed else ""
            speed = self.made / max(now - self.started, 1e-6)
            show.err().print(f"{self.made} answers of {self.total} prompts{failed}, {speed:.1f}/s")


def _check_paths(out: Path, prompts: str) -> None:
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder; it must be a file")
    path = Path(prompts.partition("@")[2] or prompts)
    if out.exists() and path.exists() and out.samefile(path):
        raise UsageError(f"--out {out} is the input itself")


def _print(summary: Summary, out: Path, prompts: PromptSet, budget: Budget, *, as_json: bool) -> None:
    if as_json:
        about = msgspec.to_builtins(summary) | {"out": str(out), "spent": budget.spent, "notes": prompts.notes}
        typer.echo(msgspec.json.encode(about).decode())
        return
    screen = show.out()
    parts = [f"{summary.answered:,} of {summary.prompts:,} prompts answered"]
    parts += [
        f"{count:,} {name}"
        for name, count in (
            ("truncated", summary.truncated),
            ("refused", summary.refused),
            ("failed", summary.failed),
        )
        if count
    ]
    screen.print(f"{', '.join(parts)}: {out}", markup=False, soft_wrap=True)
    cost = f", ${summary.cost:.4f}" if summary.cost else ""
    screen.print(f"tokens: {summary.prompt_tokens:,} in, {summary.completion_tokens:,} out{cost}", markup=False)
    if budget.spent:
        screen.print(f"spent ${budget.spent:.4f} on {budget.calls} calls in this run", markup=False)
    for note in prompts.notes:
        screen.print(f"note: {show.printable(note)}", markup=False, style="dim")
