"""`veridical decomposers`: decomposers against facts that people wrote, beside what needs no decomposer."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.markup import escape

from ..decompose import Decomposer, LLMDecomposer
from ..decomposition import (
    DecomposerMeasures,
    Estimate,
    Follows,
    Response,
    Told,
    baseline,
    labelled,
    measured,
    predicted,
    run,
    trivial,
    written,
)
from ..decomposition.trivial import BEGUN_WITH
from ..errors import UsageError
from ..models.cache import CallStore
from ..models.factory import open_model
from ..models.metered import Budget
from ..models.probe import adaptations
from ..published import Published
from ..safe.published import PublishedSAFE
from ..stats import Correlation
from . import show
from .opening import GRACE
from .options import AsJson, Cache, Config, MaxCost
from .setup import EMBEDDED

app = typer.Typer(add_completion=False, rich_markup_mode=None)

CACHE = Path("runs") / "decomposers" / "calls.sqlite"
"""Where the replies of models are kept if nothing else is said."""
EVERY = 10.0
"""Seconds between lines of progress."""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """How models are made decomposers, and what they have in common."""

    demonstrations: str
    shape: str
    compat: str | None
    concurrency: int
    store: CallStore | None
    budget: Budget


@app.command(
    help="Decomposers against facts that people wrote: precision, coverage, counts, invention, speed.\n\n"
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
    shape: Annotated[str, typer.Option(help="What a model writes: list, or json with a schema.")] = "list",
    compat: Annotated[
        str | None, typer.Option(help="factscore or safe: a model splits as their released pipelines do.")
    ] = None,
    threshold: Annotated[
        list[float] | None, typer.Option(min=0, max=1, help="F1 from which two facts are the same (0.6 and 0.75).")
    ] = None,
    sample_size: Annotated[int | None, typer.Option("--sample", min=1, help="Only N responses.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of --sample and of the intervals.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the figures, each decomposer's facts, replies.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Most model calls at once.")] = 16,
    max_cost: MaxCost = None,
    cache: Cache = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    names = list(dict.fromkeys(decomposer or ([] if predictions else [EMBEDDED])))
    models = [name for name in names if name != EMBEDDED]
    _check(shape, compat, models)
    every = [one for file in files for one in labelled(file)]
    theirs = predicted(every, predictions) if predictions else []
    kept = _sampled(len(every), sample_size, seed)
    responses = [every[place] for place in kept]
    settings: dict[str, Any] = {"seed": seed} | ({"thresholds": tuple(threshold)} if threshold else {})
    rows = [measured(name, responses, told, **settings) for name, told in trivial(responses).items()]
    if predictions:
        rows.append(measured(predictions.name, responses, [theirs[place] for place in kept], **settings))
    store = CallStore(cache or (out / "calls.sqlite" if out else CACHE)) if models else None
    budget = Budget(max_cost=max_cost)
    asked = _Asked(
        demonstrations=demonstrations, shape=shape, compat=compat, concurrency=concurrency, store=store, budget=budget
    )
    try:
        for name in names:
            row, told = asyncio.run(_run(name, responses, asked, settings))
            rows.append(row)
            if out:
                _save(out, f"{_slug(row.name)}.facts.jsonl", b"".join(written(responses, told)))
    finally:
        if store:
            store.close()
    result = {"responses": len(responses), "decomposers": rows, "alone": baseline(responses, seed=seed)}
    encoded = msgspec.json.encode(result | {"spent": budget.spent, "calls": budget.calls})
    if out:
        _save(out, "decomposers.json", msgspec.json.format(encoded, indent=2) + b"\n")
    if as_json:
        typer.echo(encoded.decode())
    else:
        _print(rows, result["alone"], responses)
    if failed := sum(row.failed for row in rows):
        typer.echo(f"veridical: {failed:,} sentences could not be read and are in no figure", err=True)
        raise typer.Exit(1)


def _check(shape: str, compat: str | None, models: Sequence[str]) -> None:
    """Before anything is read or paid for."""
    if shape not in ("list", "json"):
        raise UsageError(f"--shape {shape}: must be one of list, json")
    if compat not in (None, "factscore", "safe"):
        raise UsageError(f"--compat {compat}: must be one of factscore, safe")
    if compat and not models:
        raise UsageError(f"--compat {compat}: needs a model to split (--decomposer provider/name)")
    if compat and shape != "list":
        raise UsageError(f"--compat {compat}: the released pipelines have lists, no --shape {shape}")


def _sampled(n: int, size: int | None, seed: int) -> list[int]:
    return list(range(n)) if size is None or size >= n else sorted(random.Random(seed).sample(range(n), size))


def _save(folder: Path, name: str, data: bytes) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None


def _slug(name: str) -> str:
    """A decomposer's name as part of a file's."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:100]


async def _run(
    name: str, responses: Sequence[Response], asked: _Asked, settings: dict[str, Any]
) -> tuple[DecomposerMeasures, Sequence[Told]]:
    """One decomposer over all responses; what a model answered stays in the cache."""
    paid = asked.budget.calls
    async with _opened(name, asked) as made:
        progress = _Progress(name, len(responses))
        in_flight = 1 if name == EMBEDDED else max(2, min(asked.concurrency, 64))
        found = await run(made, responses, in_flight=in_flight, on_told=progress)
    cached = asked.budget.calls - paid < found.usage.calls  # then the clock says nothing of the model
    title = f"{made.name} as {asked.compat}" if asked.compat and name != EMBEDDED else made.name
    cost = found.usage.cost if found.usage.calls else None
    seconds = None if cached else found.seconds
    return measured(title, responses, found.told, seconds=seconds, cost=cost, **settings), found.told


@asynccontextmanager
async def _opened(name: str, asked: _Asked) -> AsyncIterator[Decomposer]:
    if name == EMBEDDED:
        from ..clauses import ClauseDecomposer, model  # spaCy

        model.load()  # apart from what is timed
        yield ClauseDecomposer()
        return
    opened = open_model(name, store=asked.store, budget=asked.budget, concurrency=asked.concurrency)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(opened.close)
        if asked.store:
            stack.push_async_callback(asked.store.drain, GRACE)
        stack.push(lambda kind, *_: asked.budget.stop() if kind else None)  # first: no further call after trouble
        if asked.compat:
            preset = Published() if asked.compat == "factscore" else PublishedSAFE()
            yield preset.decomposer(opened, asked.demonstrations)
        else:
            yield LLMDecomposer(model=opened, demonstrations=asked.demonstrations, shape=asked.shape)
        for words in adaptations(opened):
            show.err().print(f"note: {name}: {words}", markup=False)


class _Progress:
    """A line on stderr now and then."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.made, self.failed = name, total, 0, 0
        self.said = time.monotonic()

    def __call__(self, told: Told) -> None:
        self.made += 1
        self.failed += len(told.failed)
        if time.monotonic() - self.said >= EVERY:
            self.said = time.monotonic()
            unread = f", {self.failed} sentences unread" if self.failed else ""
            show.err().print(f"{self.name}: {self.made} of {self.total} responses{unread}", markup=False)


def _print(rows: Sequence[DecomposerMeasures], alone: dict[str, Follows], responses: Sequence[Response]) -> None:
    out = show.out()
    sentences = sum(bool(facts) for one in responses for facts in one.human)
    out.print(f"{len(responses):,} responses, {sentences:,} sentences with people's facts, 95% intervals", markup=False)
    for place, first in enumerate(rows[0].matched):
        out.print(f"\nfacts are the same from F1 {first.threshold:g} of their words on; by system: F1", markup=False)
        out.print(_matched(rows, place))
    out.print("\nfacts of a sentence, and do the numbers of a response's facts follow people's?", markup=False)
    out.print(_counts(rows, alone))
    out.print("\nhow the facts are worded, and what they took", markup=False)
    out.print(_wording(rows))
    for row in rows:
        if row.cost:
            out.print(f"{row.name}: ${row.cost:.4f}", markup=False)
    if any(row.name == BEGUN_WITH for row in rows):
        out.print(f"{BEGUN_WITH}: favoured, since people revised them", markup=False, style="dim")


def _matched(rows: Sequence[DecomposerMeasures], place: int) -> object:
    systems = list(rows[0].matched[place].systems)
    table = show.table("decomposer", "precision", "coverage", "F1", *map(_cell, systems), right=systems)
    for row in rows:
        one = row.matched[place]
        own = (show.number(one.systems[system].f1.value) for system in systems)
        table.add_row(_cell(row.name), *map(_estimate, (one.precision, one.coverage, one.f1)), *own)
    return table


def _counts(rows: Sequence[DecomposerMeasures], alone: dict[str, Follows]) -> object:
    table = show.table("", "facts a sentence", "Pearson", "Spearman", right=("facts a sentence",))
    table.add_row("people", show.number(rows[0].human_per_sentence, 2), "", "")
    for name, found in alone.items():
        table.add_row(f"number of {name} alone", "", _correlation(found.pearson), _correlation(found.spearman))
    for row in rows:
        both = map(_correlation, (row.counts.pearson, row.counts.spearman))
        table.add_row(_cell(row.name), show.number(row.facts_per_sentence, 2), *both)
    return table


def _wording(rows: Sequence[DecomposerMeasures]) -> object:
    columns = ("facts", "invented", "pronoun first", "no subject", "duplicates", "uncut", "failed", "sentences/s")
    table = show.table("decomposer", *columns, right=columns)
    for row in rows:
        shares = map(_percent, (row.invented, row.pronoun, row.subjectless))
        counts = (f"{row.duplicates:,}", _percent(row.whole), f"{row.failed:,}")
        speed = (row.sentences + row.failed) / row.seconds if row.seconds else None
        table.add_row(_cell(row.name), f"{row.facts:,}", *shares, *counts, show.number(speed, 0))
    return table


def _cell(text: str) -> str:
    return escape(show.printable(text))


def _estimate(found: Estimate) -> str:
    return f"{show.number(found.value)} {show.span(found.low, found.high)}"


def _correlation(found: Correlation) -> str:
    return f"{show.number(found.value)} {show.span(found.low, found.high)}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"
