"""`veridical knowledge`: build, search, describe, change and check a knowledge source."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.markup import escape

from ..knowledge.build import BuildReport
from ..knowledge.build import build as build_knowledge
from ..knowledge.changes import changed
from ..knowledge.checking import check as checked
from ..knowledge.passages import LIMIT
from ..knowledge.store import Info, Store
from ..knowledge.writer import Writer
from ..types import Passage, Query
from . import show
from .building import building

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Build, search, change and check a knowledge source to judge against.",
)


class OnError(StrEnum):
    STOP = "stop"
    SKIP = "skip"


class Compat(StrEnum):
    FACTSCORE = "factscore"


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to stdout.")]  # not of `options`, which loads models
Knowledge = Annotated[Path, typer.Argument(metavar="KB", help="A knowledge source, or FActScore's enwiki .db.")]


@app.command(
    help="Build a knowledge source from MediaWiki dumps, JSONL or JSON of {title, text}, Parquet, CSV, text, Markdown, "
    "HTML, PDF and Word files, folders of these, urls:FILE (a list of links), or FActScore's .db. The same command "
    "goes on where it stopped.\n\n"
    "Example: veridical knowledge build enwiki-20261101-pages-articles-multistream.xml.bz2 --out enwiki.sqlite"
)
def build(
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE...", help="Files, folders, urls:FILE.")],
    out: Annotated[Path, typer.Option(metavar="KB", help="The file to make; an older one is replaced at the end.")],
    name: Annotated[str | None, typer.Option(help="Its name in results (default: the file's name).")] = None,
    snapshot: Annotated[str | None, typer.Option(help="Date or version of the content, such as 20230401.")] = None,
    licence: Annotated[str | None, typer.Option(help="Licence of the content, kept with it.")] = None,
    language: Annotated[
        str | None, typer.Option(help="Of the text, for stems and dumps' templates (default: the dump's, or en).")
    ] = None,
    words: Annotated[int, typer.Option(min=1, help="Most words a passage.")] = LIMIT,
    compat: Annotated[Compat | None, typer.Option(help="Cut passages as FActScore does, amid sentences.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that read the sources (default: one a processor).")
    ] = None,
    on_error: Annotated[OnError, typer.Option(help="What to do at a page that cannot be used.")] = OnError.STOP,
    as_json: AsJson = False,
) -> None:
    with building(show.err()) as on_event:
        report = build_knowledge(
            sources,
            out,
            name=name or out.stem,
            snapshot=snapshot,
            licence=licence,
            language=language,
            limit=words,
            compat=compat.value if compat else None,
            workers=workers,
            on_error=on_error.value,
            on_event=on_event,
        )
    if as_json:
        typer.echo(msgspec.json.encode(report).decode())
    else:
        show.out().print(escape(_built(report)))
    for example in report.examples:
        show.err().print(f"left out: {escape(example)}", soft_wrap=True)
    if (more := sum(report.skipped.values()) - len(report.examples)) > 0:
        show.err().print(f"left out: {more} more")


@app.command(
    help="What a judge would be shown for a query.\n\n"
    'Example: veridical knowledge search kb.sqlite "born in 1815" --topic "Ada Lovelace" -k 3'
)
def search(
    kb: Knowledge,
    query: Annotated[str, typer.Argument(help="Words to look for.")],
    topic: Annotated[str | None, typer.Option(help="Search only the page of this title.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Most passages.")] = 5,
    as_json: AsJson = False,
) -> None:
    with Store.open(kb) as store:
        found = asyncio.run(store.search(Query(text=query, topic=topic), k=k))
    if as_json:
        for passage in found:
            typer.echo(msgspec.json.encode(passage).decode())
    elif found:
        show.out().print(_passages(found))
    else:
        show.err().print("nothing found")


@app.command(
    help="Pages, passages, snapshot, size, and how it was built.\n\nExample: veridical knowledge info kb.sqlite"
)
def info(kb: Knowledge, as_json: AsJson = False) -> None:
    with Store.open(kb) as store:
        told = store.info
    if as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        show.out().print(_info(told))


@app.command(
    help="Add pages to a knowledge source while others read it, or put them in place of those of the same title.\n\n"
    "Example: veridical knowledge add kb.sqlite news.jsonl --replace"
)
def add(
    kb: Knowledge,
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE...", help="As of build.")],
    replace: Annotated[bool, typer.Option("--replace", help="In place of pages that have the title.")] = False,
    on_error: Annotated[OnError, typer.Option(help="What to do at a page that cannot be used.")] = OnError.STOP,
    as_json: AsJson = False,
) -> None:
    with building(show.err()) as on_event:
        report = changed(kb, sources, replace=replace, on_error=on_error.value, on_event=on_event)
    if as_json:
        typer.echo(msgspec.json.encode(report).decode())
        return
    show.out().print(escape(f"{report.name}: {report.pages:,} pages added, {report.replaced:,} replaced"))
    if report.skipped:
        left = sum(report.skipped.values())
        show.err().print(escape(f"left out {left:,}: {show.reasons(report.skipped)}"), soft_wrap=True)


@app.command(
    help="Take pages out of a knowledge source, by their exact titles.\n\n"
    'Example: veridical knowledge delete kb.sqlite "Ada Lovelace"'
)
def delete(
    kb: Knowledge, titles: Annotated[list[str], typer.Argument(metavar="TITLE...", help="As the source spells them.")]
) -> None:
    with Writer(kb) as writer:
        missing = [title for title in titles if not writer.delete(title)]
        writer.commit()
        name = writer.name
    show.out().print(escape(f"{name}: {len(titles) - len(missing):,} pages deleted"))
    for title in missing:
        show.err().print(escape(f"no page has the title {title!r}"))
    if missing:
        raise typer.Exit(1)


@app.command(
    help="Read all of a knowledge source: is it whole, and does its search index fit?\n\n"
    "Example: veridical knowledge check kb.sqlite"
)
def check(kb: Knowledge, as_json: AsJson = False) -> None:
    found = checked(kb)
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        index = {"current": "fits", "behind": "follows at the next search", "partial": "was not finished"}
        words = index.get(found.index, "is made again at the next search")
        whole = "is whole" if not found.wrong else "is damaged"
        counts = f"{found.pages:,} pages, {found.passages:,} passages"
        show.out().print(escape(f"{kb}: {counts}; it {whole}; its search index {words}"))
        for one in found.wrong:
            show.out().print(escape(f"  {one}"), style="red")
    if found.wrong:
        raise typer.Exit(1)


def _built(report: BuildReport) -> str:
    counts = f"{report.pages:,} pages, {report.passages:,} passages, {report.redirects:,} redirects"
    speed = f", {report.read / 1e6 / report.seconds:.1f} MB/s" if report.read > 1e6 else ""
    index = f" and {_size(report.index_bytes)} of search index" if report.index_bytes > 1e6 else ""
    lines = [f"{report.name}: {counts}, {_size(report.bytes)}{index} in {report.path} ({report.seconds:.1f} s{speed})"]
    kinds = {"only list what their title may mean": report.disambiguation, "are in plainer text": report.plain}
    lines += [f"{n:,} pages {what}" for what, n in kinds.items() if n]
    if report.led.dangling or report.led.circular:
        lines.append(f"redirects that lead nowhere: {report.led.dangling + report.led.circular:,}")
    if report.skipped:
        lines.append(f"left out {sum(report.skipped.values()):,}: {show.reasons(report.skipped)}")
    return "\n".join(lines)


def _passages(found: list[Passage]) -> object:
    table = show.table("score", "passage", "text", right=("score",))
    for passage in found:
        table.add_row(show.number(passage.score), escape(passage.id), escape(passage.text))
    return table


def _info(told: Info) -> object:
    table = show.table("", "")
    rows = {
        "name": told.name,
        "format": told.format,
        "pages": f"{told.pages:,}",
        "passages": "not counted" if told.passages is None else f"{told.passages:,}",
        "redirects": f"{told.redirects:,}",
        "size": _size(told.bytes) + (f" and {_size(told.index_bytes)} of search index" if told.index_bytes else ""),
        "snapshot": told.snapshot or "–",
        "licence": told.licence or "–",
        **told.built,
    }
    for key, value in rows.items():
        table.add_row(key, escape(value))
    return table


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.2f} GB"
