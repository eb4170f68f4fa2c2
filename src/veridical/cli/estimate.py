"""`veridical estimate`: what a run would ask for, before anything is spent."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
import typer

from ..errors import UsageError
from ..estimate import CHARACTERS_PER_TOKEN, WORDS_PER_FACT, Estimate
from ..estimate import estimate as estimated
from . import show
from .opening import opened
from .options import AsJson, Config
from .setup import Setup, judging
from .source import Source, check_evidence

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    help="Calls, tokens, money and time before spending any.\n\n"
    "Example: veridical estimate answers.jsonl --judge openai/gpt-4o-mini --knowledge kb.sqlite"
)
@judging(without=("abstain", "read", "sentences"))
def estimate(
    setup: Setup,
    generations: Annotated[str, typer.Argument(help="JSONL, JSON, CSV or Parquet file.")],
    latency: Annotated[float, typer.Option(min=0, help="Seconds a call takes.")] = 1.0,
    sample_size: Annotated[int, typer.Option("--sample", min=1, help="Generations to look at.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    result = asyncio.run(_estimate(generations, setup, latency, sample_size, seed))
    if as_json:
        typer.echo(msgspec.json.encode(result).decode())
    else:
        _print(result, latency, setup.concurrency)


async def _estimate(path: str, setup: Setup, latency: float, size: int, seed: int) -> Estimate:
    if path == "-":
        raise UsageError("estimate reads its input twice: give a file")
    source = Source(path, "skip", size, seed, setup.facts)
    check_evidence(source, setup)
    async with opened(setup, dry=True) as made:
        total, most = source.available, setup.concurrency
        return await estimated(source, made, total=total, latency=latency, concurrency=most, limit=size)


def _print(result: Estimate, latency: float, concurrency: int) -> None:
    out = show.out()
    table = show.table("model", "calls", "prompt tokens", "completion tokens", right=("calls",))
    for name, usage in result.models.items():
        table.add_row(name, f"{usage.calls:,}", f"{usage.prompt_tokens:,}", f"{usage.completion_tokens:,}")
    if result.models:
        out.print(table)
    else:
        out.print("this method asks no model")
    cost = "price not known" if result.cost is None else f"${result.cost:,.2f}"
    searches = f", {result.searches:,} searches of the web" if result.searches else ""
    out.print(f"{result.generations} generations, about {result.facts:,} facts{searches}; {cost}", markup=False)
    if result.calls:
        out.print(f"{result.seconds / 60:.1f} minutes at {latency:g} s a call and {concurrency} at once", markup=False)
    assumed = "taken from {} generations; a fact for each {} words of an LLM's splitting, {:g} characters a token"
    out.print(assumed.format(result.sampled, WORDS_PER_FACT, CHARACTERS_PER_TOKEN), markup=False, style="dim")
