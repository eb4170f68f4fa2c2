"""`veridical recheck`: what one source did not support, judged again by another."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ..errors import UsageError
from ..folder import RunFolder, RunInfo
from ..methods import FREE, WITHOUT_KNOWLEDGE, Method, warning
from ..metrics import parse
from ..models.cache import CallStore
from ..models.metered import Budget
from ..recheck import AGAIN, Recovered, recovered, signature
from ..recheck import recheck as again
from ..run import Ended, Reported, Started, ordered
from ..scores import scores
from ..types import Label, Report, Score
from . import show
from .opening import opened
from .options import AsJson, Cache, Config, MaxCost
from .progress import listener
from .runs import ResultFile, Run, headline, own_method, run_at
from .setup import Setup, judging

app = typer.Typer(add_completion=False, rich_markup_mode=None)

WITHOUT = ("facts", "decomposer", "demonstrations", "shape", "abstain", "sentences", "evidence")


@app.command(
    help="Judge the facts that a run did not support again, by another source; tells what share is recovered.\n\n"
    "Example: veridical recheck runs/wiki --knowledge web:serper --judge openai/gpt-4o-mini --out runs/wiki-web"
)
@judging(without=WITHOUT, facts="given")
def recheck(
    setup: Setup,
    run: Annotated[Path, typer.Argument(help="Run folder or result file of the first source.")],
    out: Annotated[Path, typer.Option("--out", help="Run folder to write, or to go on with.")],
    labels: Annotated[
        str, typer.Option(help="Verdicts to look at again, with commas between.")
    ] = "contradicted,not_enough_evidence",
    unjudged: Annotated[bool, typer.Option("--unjudged", help="Also facts that stayed without a verdict.")] = False,
    max_cost: MaxCost = None,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Start again, or go on (the default).")] = False,
    cache: Cache = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    if not setup.knowledge:
        raise UsageError("recheck needs the second source: --knowledge KB or --knowledge web:PROVIDER")
    wanted, first, folder, budget = _labels(labels), run_at(run), RunFolder(out), Budget(max_cost=max_cost)
    if run.resolve() in (out.resolve(), folder.reports_path.resolve()):
        raise UsageError("--out is the first run itself")
    setup = _by_the_same(setup, first)
    with folder.held():
        made = asyncio.run(_run(setup, first, folder, budget, cache, wanted, unjudged=unjudged, fresh=fresh))
    found = recovered(zip(first.reports(), folder.reports(), strict=False), labels=wanted, unjudged=unjudged)
    metric = parse(headline([first])[0])
    before, after = (scores(one.reports(), [metric])[0] for one in (first, folder))
    _print(found, before, after, folder, budget, as_json=as_json)
    if (caution := warning(made)) and not as_json:
        show.out().print(f"caution: {caution}", markup=False, style="yellow")
    if found.other.get("unscored"):
        raise typer.Exit(1)


def _by_the_same(setup: Setup, first: Run) -> Setup:
    """With the first run's method where none was asked for, if that can look into a second source."""
    own = own_method(first)
    asked = setup.method or setup.compat or (setup.judge and own and set(own.split("+")) <= FREE)
    if asked or own is None or set(own.split("+")) <= WITHOUT_KNOWLEDGE:
        return setup
    if own != setup.recipe:
        show.err().print(f"note: judged by method {own}, as the first run was (--method chooses another)", markup=False)
    return replace(setup, method=own)


def _labels(names: str) -> tuple[Label, ...]:
    try:
        chosen = tuple(Label(name.strip()) for name in names.split(","))
    except ValueError:
        chosen = ()
    if not chosen or Label.SUPPORTED in chosen:
        raise UsageError(f"--labels {names}: some of {', '.join(AGAIN)}, irrelevant")
    return chosen


async def _run(
    setup: Setup,
    first: Run,
    folder: RunFolder,
    budget: Budget,
    cache: Path | None,
    labels: tuple[Label, ...],
    *,
    unjudged: bool,
    fresh: bool,
) -> Method:
    store = CallStore(cache or folder.calls_path)
    try:
        async with opened(setup, store=store, budget=budget) as method:
            before = first.info()
            sign = signature(before.signature, method, labels, unjudged=unjudged)
            with (first.path if isinstance(first, ResultFile) else first.reports_path).open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            total = sum(1 for _ in first.reports())
            if before.generations is not None and total < before.generations:
                words = f"unfinished: {total} of {before.generations} generations are reported in {first.path}"
                show.err().print(words, style="yellow", markup=False)
            info = RunInfo(
                signature=str(sign),
                fields=sign.fields,
                input=before.input,
                input_sha256=sha256,
                generations=total,
                metrics=before.metrics,
            )
            done = len(folder.start(sign, info, fresh=fresh))
            todo = (report for place, report in enumerate(first.reports()) if place >= done)
            with listener(show.err(), budget) as on_event, folder.appending() as writer:
                on_event(Started(total, done))

                async def work(report: Report) -> Report:
                    return await again(report, method, labels=labels, unjudged=unjudged, sign=sign.short)

                def write(report: Report) -> None:
                    writer.write(report)
                    on_event(Reported(report))

                in_flight = max(2, min(setup.concurrency, 64))
                on_event(Ended(await ordered(todo, work, write, in_flight=in_flight)))
            return method
    finally:
        store.close()


def _print(found: Recovered, before: Score, after: Score, folder: RunFolder, budget: Budget, *, as_json: bool) -> None:
    if as_json:
        result: dict[str, Any] = {"recovered": found, "before": before, "after": after, "run": str(folder.path)}
        typer.echo(msgspec.json.encode({**result, "spent": budget.spent}).decode())
        return
    out = show.out()
    if found.share is None:
        out.print("no fact to judge again", markup=False)
    else:
        span = "" if found.low is None else f" {show.span(found.low, found.high)}"
        out.print(
            f"{found.supported:,} of {found.again:,} facts are supported by the second source: {found.share:.3f}{span}",
            markup=False,
        )
    if found.other:
        out.print(f"the others: {show.reasons(found.other)}", markup=False)
    for name, score in (("before", before), ("after", after)):
        out.print(f"{name}: {score.name} {show.number(score.value)} {show.span(score.low, score.high)}", markup=False)
    if budget.spent:
        out.print(f"spent ${budget.spent:.4f} on {budget.calls:,} calls and {budget.searches:,} searches", markup=False)
    out.print(f"every fact, with both verdicts: {folder.reports_path}", markup=False)
