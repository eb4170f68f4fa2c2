"""`veridical cache`: what the cache of calls holds; clear it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ..errors import UsageError
from ..folder import RunFolder
from ..models.cache import CallStore
from . import show
from .options import AsJson

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="The cache of calls of a run, or one shared.",
)

Where = Annotated[Path, typer.Argument(help="A run folder, or a cache file.")]


def _store(path: Path) -> CallStore:
    file = RunFolder(path).calls_path if path.is_dir() else path
    if not file.exists():
        raise UsageError(f"{file}: no such cache")
    return CallStore(file)


@app.command(
    help="How many replies of which model, with their tokens and cost.\n\nExample: veridical cache stats runs/mine"
)
def stats(path: Where, as_json: AsJson = False) -> None:
    store = _store(path)
    rows = store.stats()
    store.close()
    if as_json:
        typer.echo(msgspec.json.encode(rows).decode())
        return
    table = show.table("kind", "name", "replies", "prompt tokens", "completion tokens", "cost")
    for row in rows:
        table.add_row(
            row.kind, row.name, str(row.calls), str(row.prompt_tokens), str(row.completion_tokens), f"${row.cost:.4f}"
        )
    show.out().print(table)


@app.command(
    help="Delete stored replies: all, or those of one model.\n\nExample: veridical cache clear runs/mine --model m"
)
def clear(
    path: Where, model: Annotated[str | None, typer.Option(help="Only this model's (its name as in stats).")] = None
) -> None:
    store = _store(path)
    typer.echo(f"{store.clear(name=model)} replies deleted")
    store.close()
