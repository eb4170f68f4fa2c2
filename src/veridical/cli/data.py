"""`veridical data`: published sets, listed and fetched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ..datasets import dataset, datasets, listing
from ..datasets import fetch as fetched
from ..wikimedia import NAMES, listed
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
    for name, what in NAMES.items():
        found_by = f"veridical data fetch {name} --language en --date 20261101"
        show.err().print(f"{name}: {what}; {found_by}", markup=False, soft_wrap=True)
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
    name: Annotated[str, typer.Argument(help=", ".join([*datasets(), *NAMES]))],
    language: Annotated[str, typer.Option(help="wikipedia: of which Wikipedia.")] = "en",
    date: Annotated[str | None, typer.Option(help="wikipedia: day of the dump, such as 20261101.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for its files (default: the data folder).")] = None,
    mirror: Annotated[str | None, typer.Option(help="Another address of the same files.")] = None,
    as_json: AsJson = False,
) -> None:
    err = show.err()
    found = asyncio.run(listed(name, language, date, base=mirror)) if name in NAMES else dataset(name)
    if name in NAMES:
        err.print(f"{found.name}: {len(found.files)} files, {found.size / 1e9:,.2f} GB; licence: {found.licence}")

    def progress(done: int, of: int) -> None:
        if done in (0, of) or err.is_terminal:
            err.print(f"{name}: {done} of {of} files", end="\r" if err.is_terminal and done < of else "\n")

    path = asyncio.run(fetched(found, into=out, base=None if name in NAMES else mirror, progress=progress))
    if as_json:
        about = {"name": name, "path": str(path), "files": len(found.files), "size": found.size}
        typer.echo(msgspec.json.encode(about | {"licence": found.licence, "source": found.base}).decode())
    else:
        show.out().print(f"{path}  ({len(found.files)} files; licence: {found.licence})", markup=False, soft_wrap=True)
