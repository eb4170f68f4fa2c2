"""`veridical freeze`: the evidence of a run in one file, for other judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ..folder import RunFolder
from ..frozen import freeze as frozen
from . import show
from .options import AsJson

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    help="The facts of a run and the evidence of each in one file, for other judges to rate offline.\n\n"
    "Example: veridical freeze runs/mine --out evidence.jsonl\n\n"
    "Then: veridical score answers.jsonl --evidence evidence.jsonl --judge vllm/my-model --out runs/other"
)
def freeze(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    out: Annotated[Path, typer.Option("--out", help="JSONL file to write.")],
    as_json: AsJson = False,
) -> None:
    folder = RunFolder(run)
    expected = folder.info().generations
    head = frozen(folder.reports(), out)
    if expected is not None and head.generations < expected:
        show.err().print(f"unfinished: {head.generations} of {expected} generations are reported", style="yellow")
    if as_json:
        typer.echo(msgspec.json.encode({**msgspec.to_builtins(head), "out": str(out)}).decode())
        return
    size = out.stat().st_size / 1e6
    show.out().print(
        f"{head.generations:,} generations, {head.facts:,} facts, {head.passages:,} passages, {size:.1f} MB: {out}\n"
        f"sha256 {head.sha256}",
        markup=False,
    )
