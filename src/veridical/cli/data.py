"""`veridical data`: published sets, listed and fetched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ..datasets import dataset, datasets, listing
from ..datasets import fetch as fetched
from . import show
from .options import AsJson

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Published data sets: list, fetch."
)


@app.command(
    "list",
    help="Published sets: what they are, their licence, and where they are.\n\nExample: veridical data list",
)
def list_(as_json: AsJson = False) -> None:
    found = listing()
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    table = show.table("name", "what", "licence", "files", "MB", "where", right=("files", "MB"))
    for one in found:
        where = one.path or f"veridical data fetch {one.name}"
        table.add_row(one.name, one.what, one.licence, str(one.files), f"{one.size / 1e6:.1f}", where)
    show.out().print(table)


@app.command(
    help="Bring a published set from its source and check the hash of every file.\n\n"
    "Example: veridical data fetch longfact"
)
def fetch(
    name: Annotated[str, typer.Argument(help=", ".join(datasets()))],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for its files (default: the data folder).")] = None,
    mirror: Annotated[str | None, typer.Option(help="Another address of the same files.")] = None,
    as_json: AsJson = False,
) -> None:
    found, err = dataset(name), show.err()

    def progress(done: int, of: int) -> None:
        if done in (0, of) or err.is_terminal:
            err.print(f"{name}: {done} of {of} files", end="\r" if err.is_terminal and done < of else "\n")

    path = asyncio.run(fetched(name, into=out, base=mirror, progress=progress))
    if as_json:
        about = {"name": name, "path": str(path), "files": len(found.files), "size": found.size}
        typer.echo(msgspec.json.encode(about | {"licence": found.licence, "source": found.base}).decode())
    else:
        show.out().print(f"{path}  ({len(found.files)} files; licence: {found.licence})", markup=False, soft_wrap=True)
