"""`veridical decomposers`: decomposers against facts that people wrote, beside what needs no decomposer."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ..clauses import ClauseDecomposer
from ..decompose import Decomposer, LLMDecomposer
from ..decomposition import DecomposerMeasures, Response, Told, labelled, measured, trivial
from ..decomposition.measures import baseline
from ..decomposition.predictions import predicted
from ..models.cache import CallStore
from ..models.factory import open_model
from ..models.metered import Budget
from ..stats import Correlation
from . import show
from .options import AsJson, Cache, Config, MaxCost
from .setup import EMBEDDED

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    help="Decomposers against facts that people wrote: precision, coverage, invention, speed.\n\n"
    "Example: veridical decomposers ChatGPT.jsonl --decomposer embedded --decomposer openai/gpt-4o-mini"
)
def decomposers(
    files: Annotated[
        list[Path], typer.Argument(help="FActScore's annotated files, or inputs whose facts name their sentence.")
    ],
    decomposer: Annotated[
        list[str] | None,
        typer.Option(help="embedded, or provider/name; may be repeated (default: embedded, unless --predictions)."),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Facts of any other decomposer: rows of id or topic, sentence, facts.")
    ] = None,
    demonstrations: Annotated[str, typer.Option(help="Those that a model is shown: biographies or general.")] = (
        "biographies"
    ),
    threshold: Annotated[
        list[float] | None, typer.Option(min=0, max=1, help="F1 from which two facts are the same (0.6 and 0.75).")
    ] = None,
    sample_size: Annotated[int | None, typer.Option("--sample", min=1, help="Only N responses.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of --sample and of the intervals.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="Most model calls at once.")] = 16,
    max_cost: MaxCost = None,
    cache: Cache = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    responses = [one for file in files for one in labelled(file)]
    if sample_size and sample_size < len(responses):
        kept = set(random.Random(seed).sample(range(len(responses)), sample_size))
        responses = [one for place, one in enumerate(responses) if place in kept]
    settings: dict[str, Any] = {"seed": seed} | ({"thresholds": tuple(threshold)} if threshold else {})
    rows = [measured(name, responses, told, **settings) for name, told in trivial(responses).items()]
    if predictions:
        rows.append(measured(predictions.name, responses, predicted(responses, predictions), **settings))
    names = decomposer or ([] if predictions else [EMBEDDED])
    with tempfile.TemporaryDirectory() as scratch:
        store = CallStore(cache or Path(scratch) / "calls.sqlite")
        budget = Budget(max_cost=max_cost)
        try:
            for name in dict.fromkeys(names):
                rows.append(asyncio.run(_run(name, responses, demonstrations, store, budget, concurrency, settings)))
        finally:
            store.close()
    counts = baseline(responses, seed=seed)
    if as_json:
        typer.echo(msgspec.json.encode({"decomposers": rows, "counts": counts, "spent": budget.spent}).decode())
    else:
        _print(rows, counts, responses)
    if failed := sum(row.failed for row in rows):
        typer.echo(f"veridical: {failed:,} sentences could not be read and are in no figure", err=True)
        raise typer.Exit(1)


async def _run(
    name: str,
    responses: Sequence[Response],
    demonstrations: str,
    store: CallStore,
    budget: Budget,
    concurrency: int,
    settings: dict[str, Any],
) -> DecomposerMeasures:
    """One decomposer over all responses; what a model answered stays in the cache."""
    if name == EMBEDDED:
        made: Decomposer = ClauseDecomposer()
        first = responses[0]
        await made.decompose(first.generation, first.sentences[:1])  # loads the parser
        return await _measured(made, responses, budget, settings)
    model = open_model(name, store=store, budget=budget, concurrency=concurrency)
    try:
        return await _measured(LLMDecomposer(model=model, demonstrations=demonstrations), responses, budget, settings)
    finally:
        await model.close()


async def _measured(
    made: Decomposer, responses: Sequence[Response], budget: Budget, settings: dict[str, Any]
) -> DecomposerMeasures:
    spent, start = budget.spent, time.perf_counter()
    if isinstance(made, LLMDecomposer):
        found = await asyncio.gather(*(made.decompose(one.generation, one.sentences) for one in responses))
    else:
        found = [await made.decompose(one.generation, one.sentences) for one in responses]
    seconds = time.perf_counter() - start
    told = [Told.of(response, one) for response, one in zip(responses, found, strict=True)]
    return measured(made.name, responses, told, seconds=seconds, cost=budget.spent - spent, **settings)


def _print(rows: Sequence[DecomposerMeasures], counts: dict[str, Correlation], responses: Sequence[Response]) -> None:
    out = show.out()
    sentences = sum(bool(facts) for one in responses for facts in one.human)
    out.print(f"{len(responses):,} responses, {sentences:,} sentences with people's facts", markup=False)
    for place, first in enumerate(rows[0].matched):
        out.print()
        out.print(f"facts are the same from F1 {first.threshold:g} of their words on:", markup=False)
        table = show.table("decomposer", "precision", "coverage", "F1", "interval", *_systems(rows), right=("F1",))
        for row in rows:
            one = row.matched[place]
            systems = [show.number(value) for value in one.systems.values()] if _systems(rows) else []
            cells = [show.number(value) for value in (one.precision, one.coverage, one.f1)]
            table.add_row(show.printable(row.name), *cells, show.span(one.low, one.high), *systems)
        out.print(table)
    out.print()
    table = show.table(
        "decomposer", "facts a sentence", "Pearson of counts", "Spearman", "invented", "pronoun first", "failed",
        "sentences/s",
    )  # fmt: skip
    for row in rows:
        speed = row.sentences / row.seconds if row.seconds else None
        table.add_row(
            show.printable(row.name),
            show.number(row.facts_per_sentence, 2),
            _correlation(row.pearson),
            _correlation(row.spearman),
            _percent(row.invented),
            _percent(row.pronoun),
            f"{row.failed:,}",
            show.number(speed, 0),
        )
    out.print(table)
    people = rows[0].human_per_sentence
    out.print(f"people: {show.number(people, 2)} facts a sentence", markup=False)
    beside = ", ".join(f"{name} {_correlation(found)}" for name, found in counts.items())
    out.print(f"Pearson of people's counts with what reads nothing: {beside}", markup=False)
    for row in rows:
        if row.cost:
            out.print(f"{row.name}: ${row.cost:.4f}", markup=False)
    if rows[-1].name.startswith("the model's") or any(row.name.startswith("the model's") for row in rows):
        out.print("the model's facts are favoured: annotators began with them", markup=False, style="dim")


def _systems(rows: Sequence[DecomposerMeasures]) -> list[str]:
    names = list(rows[0].matched[0].systems)
    return names if len(names) > 1 else []


def _correlation(found: Correlation) -> str:
    return f"{show.number(found.value)} {show.span(found.low, found.high)}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"
