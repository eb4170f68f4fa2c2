"""`veridical bench`: a benchmark in one go, from the prompts to the table of systems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ..benchmarks.longfact_table import KS, Row, Table, table
from ..compare import compare
from ..errors import UsageError
from ..folder import RunFolder
from ..metrics import parse
from ..models.metered import Budget
from ..recall import RULES
from ..types import Report
from . import compare as comparing
from . import show
from .generate import Part, answer_all
from .options import AsJson, Cache, Config, MaxCost
from .runs import Run, run_at
from .score import judge_all
from .setup import Setup, judging

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Benchmarks from the prompts to the table of systems."""


@app.command(
    help="LongFact: answers of each model, judged, in the table of the paper: counts, precision, recall@K, F1@K, "
    "ranking, cost.\n\n"
    "Example: veridical bench longfact --models openai/gpt-4o,openai/gpt-4o-mini --method safe "
    "--judge openai/gpt-4o-mini --knowledge web:serper --out bench/mine\n\n"
    "Of finished runs: veridical bench longfact --runs runs/a,runs/b"
)
@judging(without=("facts",), facts="extracted")
def longfact(
    setup: Setup,
    models: Annotated[str | None, typer.Option("--models", help="Models to compare, with commas between.")] = None,
    runs: Annotated[str | None, typer.Option("--runs", help="Finished runs in place of models.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for answers and runs, or to go on with.")] = None,
    prompts: Annotated[str, typer.Option(help="Prompt set, as for `generate`.")] = "longfact:objects:250",
    ks: Annotated[
        str, typer.Option("--ks", help=f"K of recall and F1, with commas: numbers, or {', '.join(RULES)}.")
    ] = ",".join(KS),
    first: Annotated[int | None, typer.Option("--first", min=1, help="Only the first N prompts.")] = None,
    sample_size: Annotated[int | None, typer.Option("--sample", min=1, help="Only N prompts at random.")] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer.")] = 1024,
    max_cost: MaxCost = None,
    cache: Cache = None,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of --sample and the intervals.")] = 0,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    chosen = [k.strip() for k in ks.split(",")]
    if odd := next((k for k in chosen if k not in RULES and not (k.isdecimal() and int(k))), None):
        raise UsageError(f"--ks {odd!r}: a number of facts, or one of {', '.join(RULES)}")
    if (models is None) == (runs is None):
        raise UsageError("give --models to be asked, or --runs that are finished")
    if runs is not None:
        paths = [Path(path.strip()) for path in runs.split(",")]
        folders: dict[str, Run] = dict(zip(comparing.names_of(paths), map(run_at, paths), strict=True))
    else:
        if out is None:
            raise UsageError("--models needs --out FOLDER for the answers and the runs")
        names = [name.strip() for name in str(models).split(",") if name.strip()]
        part = Part(first=first, sample=sample_size, seed=seed)
        folders = _made(names, out, prompts, part, max_tokens, setup, max_cost, cache)
    for folder in folders.values():
        folder.info()
    made = table([(name, folder.reports) for name, folder in folders.items()], chosen, level=level, seed=seed)
    ranked = _ranked(made, folders, level, seed)
    if as_json:
        found: dict[str, Any] = {"table": made, "ranking": ranked, "runs": [str(f.path) for f in folders.values()]}
        typer.echo(msgspec.json.encode(found).decode())
        return
    _print(made)
    if ranked:
        show.out().print()
        comparing.show_comparison(ranked)


def _made(
    names: Sequence[str], out: Path, prompts: str, part: Part, max_tokens: int, setup: Setup, max_cost: float | None,
    cache: Path | None,
) -> dict[str, Run]:  # fmt: skip
    """Each model's answers and run, gone on with where they are not finished."""
    places = [out / _safe(name) for name in names]
    if len(set(places)) < len(places) or not places:
        raise UsageError(f"--models names no model, or one twice: {', '.join(names)}")
    settings = {"max_tokens": max_tokens, "temperature": 0.0}
    folders: dict[str, Run] = {}
    spent = 0.0

    def rest() -> Budget:
        return Budget(max_cost=None if max_cost is None else max(0.0, max_cost - spent))

    for name, place in zip(names, places, strict=True):
        place.mkdir(parents=True, exist_ok=True)
        answers, folder = place / "answers.jsonl", RunFolder(place / "run")
        show.err().print(f"{name}: answers", markup=False)
        budget = rest()
        answer_all(
            prompts, name, answers, budget, part=part, settings=settings, system=name, concurrency=setup.concurrency,
            cache=cache,
        )  # fmt: skip
        spent += budget.spent
        budget = rest()
        show.err().print(f"{name}: verdicts", markup=False)
        judge_all(str(answers), setup, folder, budget, ["f1@64"], on_error="skip", cache=cache)
        spent += budget.spent
        folders[name] = folder
    return folders


def _safe(name: str) -> str:
    """A folder for a model: "openai/gpt-4o" -> "openai-gpt-4o"."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "model"


def _ranked(made: Table, folders: dict[str, Run], level: float, seed: int) -> Any:
    """The systems by F1 at the first K, with paired differences; None for fewer than two or without common prompts."""
    runs: list[tuple[str, Iterable[Report]]] = [(name, folder.reports()) for name, folder in folders.items()]
    try:
        return compare(runs, parse(made.first), level=level, seed=seed) if len(runs) > 1 else None
    except UsageError:
        return None


HEADS = {"supported": "S", "not_supported": "NS", "irrelevant": "IR", "precision": "prec."}


def _print(made: Table) -> None:
    out = show.out()
    heads = [HEADS.get(name, name.replace("recall@", "R@").replace("f1@", "F1@")) for name in made.metrics]
    columns = ("system", "n", *heads, "unjudged")
    shown = show.table(*columns, right=columns[1:])
    for row in made.rows:
        shown.add_row(show.printable(row.system), str(row.responses), *_cells(row, made.metrics), str(row.unjudged))
    out.print(shown)
    for choice in made.k:
        out.print(choice.words, markup=False)
    spans = show.table("system", *(h for n, h in zip(made.metrics, heads, strict=True) if n.startswith("f1@")))
    for row in made.rows:
        cells = [_span(row, name) for name in made.metrics if name.startswith("f1@")]
        spans.add_row(show.printable(row.system), *cells)
    out.print("intervals", markup=False)
    out.print(spans)
    spent = show.table("system", "calls", "searches", "tokens", "US$", "seconds", right=("calls", "searches", "tokens"))
    for row in made.rows:
        use = row.per_response
        spent.add_row(
            show.printable(row.system),
            f"{use['calls']:.1f}",
            f"{use['searches']:.1f}",
            f"{use['tokens']:,.0f}",
            f"{use['cost']:.4f}",
            f"{use['seconds']:.1f}",
        )
    out.print("to judge one response", markup=False)
    out.print(spent)


def _cells(row: Row, names: Sequence[str]) -> list[str]:
    return [_cell(name, row.scores[name].value) for name in names]


def _cell(name: str, value: float | None) -> str:
    """Counts as they are, shares in points."""
    if value is None:
        return "–"
    return f"{value:.1f}" if name in ("supported", "not_supported", "irrelevant") else f"{100 * value:.1f}"


def _span(row: Row, name: str) -> str:
    one = row.scores[name]
    return "–" if one.low is None or one.high is None else f"{100 * one.low:.1f} to {100 * one.high:.1f}"
