"""`veridical compare`: runs side by side on their common prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ..compare import Comparison
from ..compare import compare as compared
from ..errors import UsageError
from ..metrics import parse
from ..recall import resolved
from . import show
from .options import AsJson
from .runs import headline, run_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    help="Runs side by side on their common prompts: differences, intervals, ranking.\n\n"
    "Example: veridical compare runs/a runs/b"
)
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, two or more.")],
    metric: Annotated[
        str | None,
        typer.Option(
            help="As it is printed, such as f1@64; f1@median, f1@max: K from these runs (default: what the runs were "
            "scored by first, if that is the same)."
        ),
    ] = None,
    match: Annotated[str, typer.Option(help="Match answers by prompt, or by id.")] = "prompt",
    abstentions: Annotated[str, typer.Option(help="exclude, or zero.")] = "exclude",
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap and the test.")] = 0,
    as_json: AsJson = False,
) -> None:
    if len(runs) < 2:
        raise UsageError("compare needs two runs or more")
    folders = [(name, run_at(path)) for name, path in zip(names_of(runs), runs, strict=True)]
    chosen, note = (metric, None) if metric else headline(folder for _, folder in folders)
    (spelling,), choices = resolved([chosen], lambda: [folder.reports() for _, folder in folders])
    result = compared(
        [(name, folder.reports()) for name, folder in folders],
        parse(spelling),
        match=match,
        level=level,
        seed=seed,
        abstentions=abstentions,
    )
    if as_json:
        typer.echo(msgspec.json.encode({**msgspec.to_builtins(result), "k": choices}).decode())
        return
    show_comparison(result)
    out = show.out()
    if note:
        out.print(f"note: {note}", markup=False)
    for choice in choices:
        out.print(choice.words, markup=False)
    for name, folder in folders:
        total, found = folder.info().generations, sum(1 for _ in folder.reports())
        if total is not None and found < total:
            out.print(f"unfinished: {name} reports {found} of {total} generations", style="yellow", markup=False)
    infos = {name: folder.info() for name, folder in folders}
    for field in sorted({field for info in infos.values() for field in info.fields}):
        values = [info.fields.get(field) for info in infos.values()]
        if any(value != values[0] for value in values):
            told = ", ".join(f"{name} {value!r}" for name, value in zip(infos, values, strict=True))
            out.print(f"differs: {field}: {told}", markup=False)
    for name, info in infos.items():
        out.print(f"{name}: {info.signature}", markup=False, style="dim")


def names_of(runs: list[Path]) -> list[str]:
    """Folder names where they differ, whole paths otherwise."""
    short = [run.resolve().name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]


def show_comparison(result: Comparison) -> None:
    """The ranking, then each pair."""
    out = show.out()
    out.print(f"{result.metric} on {result.n} common prompts, {result.level:.0%} intervals", markup=False)
    if result.left_out:
        out.print(f"left out: {show.reasons(result.left_out)}", markup=False)
    systems = show.table("rank", "run", "value", "interval", "prompts in it", right=("rank", "value", "prompts in it"))
    for system in result.systems:
        systems.add_row(
            str(system.rank),
            system.name,
            show.number(system.value),
            show.span(system.low, system.high),
            str(system.prompts),
        )
    out.print(systems)
    pairs = show.table("difference", "value", "interval", "p", "p corrected", "better / same / worse", right=("value",))
    for pair in result.differences:
        pairs.add_row(
            f"{pair.first} - {pair.second}",
            f"{pair.value:+.3f}",
            show.span(pair.low, pair.high),
            f"{pair.p:.4f}",
            f"{pair.p_holm:.4f}",
            f"{pair.wins} / {pair.ties} / {pair.losses}",
        )
    out.print(pairs)
    for note in result.notes:
        out.print(f"note: {note}", markup=False)
