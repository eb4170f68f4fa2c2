"""`veridical methods`: the recipes by name."""

from __future__ import annotations

import inspect

import msgspec
import typer

from ..methods import METHODS
from . import show
from .options import AsJson

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(help="The published recipes and the embedded one.\n\nExample: veridical methods")
def methods(as_json: AsJson = False) -> None:
    known = {name: (inspect.getdoc(recipe) or "").split("\n")[0] for name, recipe in METHODS.items()}
    if as_json:
        typer.echo(msgspec.json.encode(known).decode())
        return
    table = show.table("method", "what it does")
    for name, words in known.items():
        table.add_row(name, words)
    show.out().print(table)
