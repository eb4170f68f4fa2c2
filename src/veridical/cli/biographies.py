"""`veridical biographies`: the prompts of FActScore's benchmark, from a table of people or a list of names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ..benchmarks.biographies import BOUNDS, Draw, Prompt, draw, prompts, some
from ..benchmarks.entities import Entities, names
from ..errors import UsageError
from . import show
from .options import AsJson

app = typer.Typer(add_completion=False, rich_markup_mode=None)

PEOPLE = 500
"""As many as the unlabelled set of the paper has."""


@app.command(
    help="Draw people from a table and write the prompts of FActScore's biographies.\n\n"
    "Example: veridical biographies people.jsonl --n 500 --out prompts.jsonl"
)
def biographies(
    entities: Annotated[
        Path,
        typer.Argument(help="Table (JSONL, CSV, Parquet, Wikidata export), or a list of names that ends in .txt."),
    ],
    out: Annotated[Path, typer.Option("--out", help="JSONL file to write.")],
    n: Annotated[
        int | None, typer.Option("--n", min=1, help=f"How many (default: {PEOPLE}; all names of a list).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    levels: Annotated[
        str, typer.Option(help="The four values at which rare, medium, frequent and very frequent begin.")
    ] = ",".join(map(str, BOUNDS)),
    fill: Annotated[
        str, typer.Option(help="Cells that run short: leave them short, or take from their neighbours.")
    ] = "leave",
    on_error: Annotated[str, typer.Option(help="Unusable rows: stop, or skip them and go on.")] = "stop",
    as_json: AsJson = False,
) -> None:
    if out.exists() and entities.exists() and out.samefile(entities):
        raise UsageError(f"--out {out} is the input itself")
    if entities.suffix == ".txt":
        _list(entities, out, n, seed, as_json=as_json)
        return
    table = Entities(entities, on_error=on_error)
    result = draw(table, n or PEOPLE, seed=seed, bounds=_bounds(levels), fill=fill)
    _write(prompts(result.entities), out)
    if as_json:
        about = msgspec.to_builtins(result) | {
            "entities": len(result.entities),
            "skipped": table.skipped,
            "without_page": table.without_page,
            "without_name": table.without_name,
            "seed": seed,
            "out": str(out),
        }
        typer.echo(msgspec.json.encode(about).decode())
    else:
        _print(result, table, out)
    for error in table.errors[:5]:
        show.err().print(f"skipped: {error}", markup=False)


def _list(path: Path, out: Path, n: int | None, seed: int, *, as_json: bool) -> None:
    listed = names(path)
    if not listed:
        raise UsageError(f"{path}: no name in it")
    chosen = listed if n is None else some(listed, n, seed=seed)
    _write(prompts(chosen), out)
    if as_json:
        about = {"entities": len(chosen), "people": len(listed), "wanted": n, "seed": seed, "out": str(out)}
        typer.echo(msgspec.json.encode(about).decode())
    else:
        show.out().print(f"{len(chosen):,} of {len(listed):,} names, without levels or regions: {out}", markup=False)


def _write(made: Iterable[Prompt], out: Path) -> None:
    """All or nothing: an earlier file stays whole until the new one is complete."""
    partial = out.with_name(f"{out.name}.partial")
    try:
        with partial.open("wb") as file:
            for prompt in made:
                file.write(msgspec.json.encode(prompt) + b"\n")
        partial.replace(out)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror or error}") from error


def _bounds(levels: str) -> tuple[float, ...]:
    try:
        return tuple(float(bound) for bound in levels.split(","))
    except ValueError:
        raise UsageError(
            f"--levels {levels}: four numbers with commas between, such as 100,1000,10000,100000"
        ) from None


def _print(result: Draw, table: Entities, out: Path) -> None:
    screen = show.out()
    made = show.table("frequency", "region", "available", "wanted", "drawn", right=("available", "wanted", "drawn"))
    for cell in result.cells:
        made.add_row(cell.frequency, cell.region, f"{cell.available:,}", f"{cell.wanted:,}", f"{cell.drawn:,}")
    screen.print(made)
    drawn = len(result.entities)
    screen.print(f"{drawn:,} people of {result.people:,} in {table.path}: {out}", markup=False)
    if result.short:
        screen.print(f"{result.short:,} fewer than wanted: cells ran short", style="yellow")
    for words in _left_out(result, table):
        screen.print(words, markup=False, style="dim")


def _left_out(result: Draw, table: Entities) -> Iterable[str]:
    """What is not in the sample, in words."""
    if result.unknown_nationality:
        named = ", ".join(f"{show.printable(label) or 'missing'}: {count:,}" for label, count in result.unknown)
        yield f"left out, nationality unknown: {result.unknown_nationality:,} ({named})"
    if result.ambiguous:
        yield f"left out, several people of one name: {result.ambiguous:,} names among the candidates"
    if result.duplicates:
        yield f"further rows of one person: {result.duplicates:,} among the candidates"
    if table.without_page:
        yield f"left out, no Wikipedia page: {table.without_page:,}"
    if table.without_name:
        yield f"left out, no name but an item number: {table.without_name:,}"
    if table.skipped:
        yield f"skipped, unusable: {table.skipped:,}"
