"""`veridical check`: one text, printed as a table of facts."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import msgspec
import typer

from ..errors import UsageError
from ..methods import Method, warning
from ..models.cache import CallStore
from ..models.metered import Budget
from ..pipeline import evaluate
from ..types import Generation, Report
from . import show
from .opening import opened
from .options import AsJson, Cache, Config, MaxCost
from .setup import Setup, judging

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    help="Check one text and print its facts with verdict, evidence and source.\n\n"
    'Example: veridical check "Ada Lovelace died in 1862." --topic "Ada Lovelace" --knowledge kb.sqlite'
)
@judging(without=("facts", "sentences"), demonstrations="general")
def check(
    setup: Setup,
    text: Annotated[str, typer.Argument(help="The text; - is stdin.")],
    topic: Annotated[str | None, typer.Option(help="Title of the page to judge against.")] = None,
    prompt: Annotated[str, typer.Option(help="What was asked.")] = "",
    reference: Annotated[str | None, typer.Option(help="Text to judge against, instead of --knowledge.")] = None,
    max_cost: MaxCost = None,
    cache: Cache = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    if setup.needs_knowledge and not setup.knowledge and not reference:
        raise UsageError("check needs something to judge against: --knowledge KB or --reference TEXT")
    if "self-check" in setup.names and not (setup.subject and prompt):
        raise UsageError("self-check draws other answers: give --subject MODEL and what it was asked, --prompt TEXT")
    if setup.knowledge and reference is not None:
        raise UsageError("--reference takes the place of --knowledge: give one of them")
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" else _whole(text)
    generation = Generation(
        id="text",
        text=text,
        topic=_whole(topic) if topic else None,
        prompt=_whole(prompt),
        reference=None if reference is None else _whole(reference),
    )
    store = CallStore(cache) if cache else None
    report, made = asyncio.run(_check(generation, setup, store, Budget(max_cost=max_cost)))
    if as_json:
        typer.echo(msgspec.json.encode(report).decode())
    else:
        _print(report, made)
    if report.failure or report.failures or any(fact.failure for fact in report.facts):
        raise typer.Exit(1)


def _whole(argument: str) -> str:
    """An argument without the half characters that stand for bytes that are no UTF-8."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


async def _check(
    generation: Generation, setup: Setup, store: CallStore | None, budget: Budget
) -> tuple[Report, Method]:
    try:
        async with opened(setup, store=store, budget=budget) as made:
            return await evaluate(generation, made), made
    finally:
        if store:
            store.close()


def _print(report: Report, made: Method) -> None:
    out = show.out()
    if report.abstained:
        out.print(f"an abstention ({show.printable(report.abstention or '')}); nothing to check", markup=False)
        return
    if report.failure:
        failure = report.failure
        out.print(f"unscored: {failure.stage}: {failure.error}: {show.printable(failure.message)}", markup=False)
        return
    out.print(show.facts(report))
    for skipped in report.skipped:
        words = report.sentences[skipped.sentence].text
        out.print(f"no claim ({skipped.reason}): {show.printable(words)}", markup=False, style="dim")
    for failed in report.failures:
        words = report.sentences[failed.sentence].text
        out.print(f"not decomposed ({show.printable(failed.failure.message)}): {show.printable(words)}", markup=False)
    counts = show.verdicts([report])
    out.print("\n" + ", ".join(f"{label} {n}" for label, n in counts.most_common()), markup=False)
    if caution := warning(made):
        out.print(f"caution: {caution}", markup=False, style="yellow")
