"""`veridical metrics`: scores of a finished run, without any call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ..metrics import parse
from ..recall import resolved
from ..scores import scores
from . import show
from .options import AsJson
from .runs import ResultFile, run_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)

DEFAULTS = ("factscore(gamma=0)", "precision", "precision(decided)", "response_rate", "facts")
"""Printed beside the metrics that the run was scored with."""


@app.command(
    help="Scores of a finished run: any metric, no model calls.\n\n"
    "Example: veridical metrics runs/mine --metric f1@64 --metric precision"
)
def metrics(
    run: Annotated[
        Path, typer.Argument(help="Run folder, reports.jsonl, or a result file of SAFE, VeriScore, FActScore.")
    ],
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="As it is printed, such as f1@64; or f1@median.")
    ] = None,
    abstentions: Annotated[str, typer.Option(help="exclude: only answers count; zero: an abstention counts 0.")] = (
        "exclude"
    ),
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    folder = run_at(run)
    info = folder.info()
    wanted, choices = resolved(metric or list(dict.fromkeys([*info.metrics, *DEFAULTS])), lambda: [folder.reports()])
    made = [parse(spelling) for spelling in wanted]
    results = scores(folder.reports(), made, level=level, seed=seed, abstentions=abstentions, signature=info.signature)
    shape = folder.shape() if isinstance(folder, ResultFile) else None
    if as_json:
        file = {"format": shape.name, "lacks": shape.lacks} if shape else {}
        typer.echo(msgspec.json.encode({"scores": results, "k": choices, "run": str(run), **file}).decode())
        return
    out = show.out()
    if shape:
        out.print(f"read as a file of {shape.name}, which lacks {shape.lacks}", markup=False)
    if info.generations is not None and results[0].n < info.generations:
        out.print(f"unfinished: {results[0].n} of {info.generations} generations are reported", style="yellow")
    out.print(show.scores(results))
    out.print()
    for line in show.denominators(results[0]):
        out.print(line, markup=False)
    for choice in choices:
        out.print(choice.words, markup=False)
    for result in results:
        out.print(f"{result.name}: {result.rule}", markup=False, style="dim")
    out.print(f"signature: {info.signature}", markup=False, style="dim")
