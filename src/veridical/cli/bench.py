"""`veridical bench`: a benchmark in one go, from the prompts to the table of systems."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ..benchmarks.longfact_table import COUNTS, KS, Row, Table, table
from ..compare import Comparison, compare
from ..errors import FatalError, UsageError
from ..folder import RunFolder
from ..generate import Summary, lines, summarise
from ..metrics import parse
from ..models.metered import Budget
from ..recall import RULES
from ..scores import Policy
from ..types import Report, Score
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
    abstentions: Annotated[
        str, typer.Option(help="zero: nothing said is nothing supported, as F1@K has it; exclude: only answers count.")
    ] = "zero",
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
    policy = Policy(level=level, seed=seed, abstentions=abstentions)
    if (models is None) == (runs is None):
        raise UsageError("give --models to be asked, or --runs that are finished")
    if first and sample_size:
        raise UsageError("--first and --sample exclude each other")
    without: dict[str, str] = {}
    answers: dict[str, Summary] = {}
    if runs is not None:
        given = {"--out": out, "--first": first, "--sample": sample_size, "--max-cost": max_cost, "--cache": cache}
        if idle := next((name for name, value in given.items() if value is not None), None):
            raise UsageError(f"{idle} has no effect on --runs, which are finished")
        paths = [Path(path.strip()) for path in runs.split(",")]
        folders: dict[str, Run] = dict(zip(comparing.names_of(paths), map(run_at, paths), strict=True))
        if len(folders) < len(paths):
            raise UsageError(f"--runs names one run twice: {runs}")
    else:
        if out is None:
            raise UsageError("--models needs --out FOLDER for the answers and the runs")
        names = [name.strip() for name in str(models).split(",") if name.strip()]
        part = Part(first=first, sample=sample_size, seed=seed)
        folders, answers, without = _made(names, out, prompts, part, max_tokens, setup, max_cost, cache)
        if not folders:
            raise FatalError(f"no model answered a prompt: {'; '.join(f'{n}: {why}' for n, why in without.items())}")
    notes = [note for name, folder in folders.items() for note in _unfinished(name, folder)]
    notes += [f"{name} is not in the table: {why}" for name, why in without.items()]
    made = table(
        [(name, folder.reports) for name, folder in folders.items()],
        chosen,
        abstentions=abstentions,
        level=level,
        seed=seed,
    )
    ranked, alone = _ranked(made, folders, policy)
    notes += [f"no ranking: {alone}"] if alone else []
    if as_json:
        found: dict[str, Any] = {
            "table": made,
            "ranking": ranked,
            "runs": [str(folder.path) for folder in folders.values()],
            "answers": answers,
            "without": without,
            "notes": notes,
        }
        typer.echo(msgspec.json.encode(found).decode())
    else:
        _print(made, answers)
        if ranked:
            show.out().print()
            comparing.show_comparison(ranked)
        for note in notes:
            show.out().print(f"note: {show.printable(note)}", markup=False)
    if models is not None:
        _exit(made, answers, without)


def _made(
    names: Sequence[str], out: Path, prompts: str, part: Part, max_tokens: int, setup: Setup, max_cost: float | None,
    cache: Path | None,
) -> tuple[dict[str, Run], dict[str, Summary], dict[str, str]]:  # fmt: skip
    """Each model's answers and run, gone on with where they are not finished; and why a model has no run."""
    places = [out / folder_of(name) for name in names]
    if not places or len(set(names)) < len(names):
        raise UsageError(f"--models names no model, or one twice: {', '.join(names)}")
    if len({place.name.casefold() for place in places}) < len(places):
        raise UsageError(f"--models: two of {', '.join(names)} would share a folder; use another --out for one of them")
    settings = {"max_tokens": max_tokens, "temperature": 0.0}
    folders: dict[str, Run] = {}
    summaries: dict[str, Summary] = {}
    without: dict[str, str] = {}
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
        summaries[name] = summarise(answers)
        if not summaries[name].answered:
            failed = next(line.failure for line in lines(answers) if line.failure)
            without[name] = f"all {summaries[name].failed} prompts failed, the first with {failed.message}"
            continue
        budget = rest()
        show.err().print(f"{name}: verdicts", markup=False)
        judge_all(str(answers), setup, folder, budget, ["f1@64"], on_error="skip", anew=True, cache=cache)
        spent += budget.spent
        folders[name] = folder
    return folders, summaries, without


LONGEST = 100
"""Characters of a folder's name that come from the model's."""


def folder_of(name: str) -> str:
    """A folder for a model on any file system: "openai/gpt-4o" -> "openai-gpt-4o".

    Names that are long or not ASCII end in a hash, so that no two share a folder for what was left out.
    """
    bare = re.sub(r"//[^/@\s]*@", "//", name)  # no password out of an address
    short = re.sub(r"[^A-Za-z0-9_.+-]+", "-", bare).strip("-.") or "model"
    if len(short) <= LONGEST and name.isascii():
        return short
    return f"{short[:LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _unfinished(name: str, folder: Run) -> list[str]:
    total, found = folder.info().generations, sum(1 for _ in folder.reports())
    return [f"unfinished: {name} reports {found} of {total} generations"] if total is not None and found < total else []


def _ranked(made: Table, folders: dict[str, Run], policy: Policy) -> tuple[Comparison | None, str]:
    """The systems by F1 at the first K, with paired differences; or why there is no such thing ("" for one system)."""
    if len(folders) < 2:
        return None, ""
    runs: list[tuple[str, Iterable[Report]]] = [(name, folder.reports()) for name, folder in folders.items()]
    try:
        found = compare(runs, parse(made.first), abstentions=policy.abstentions, level=policy.level, seed=policy.seed)
    except UsageError as error:
        return None, str(error)
    return found, ""


def _exit(made: Table, answers: dict[str, Summary], without: dict[str, str]) -> None:
    """Status 1 where a prompt failed or something stayed without a verdict."""
    failed = sum(summary.failed for summary in answers.values())
    unscored = sum(sum(row.scores[made.first].unscored.values()) for row in made.rows)
    unjudged = sum(row.unjudged for row in made.rows)
    parts = {"prompts failed": failed, "responses unscored": unscored, "facts without a verdict": unjudged}
    if told := ", ".join(f"{n} {what}" for what, n in parts.items() if n):
        cure = "; the same command asks for the failed prompts again" if failed else ""
        typer.echo(f"veridical: {told}{cure}", err=True)
    if told or without:
        raise typer.Exit(1)


def _print(made: Table, answers: dict[str, Summary]) -> None:
    """Counts, shares with their intervals, and what it took: three tables, since one is wider than a terminal."""
    out = show.out()
    columns = ("system", "n", "supported", "not supported", "irrelevant", "beside")
    counts = show.table(*columns, right=columns[1:-1])
    shares = [name for name in made.metrics if name not in COUNTS]
    shown = show.table("system", *(name.replace("recall@", "R@").replace("f1@", "F1@") for name in shares))
    heads = ("calls", "searches", "tokens", "US$", "seconds", "answer's tokens", "answer's US$")
    spent = show.table("system", *heads, right=heads)
    for row in made.rows:
        system, first = show.printable(row.system), row.scores[made.first]
        means = (show.number(row.scores[name].value, 1) for name in COUNTS)
        counts.add_row(system, str(first.scored), *means, _beside(row, first, answers.get(row.system)))
        shown.add_row(system, *(_share(row.scores[name]) for name in shares))
        spent.add_row(system, *_spent(row))
    out.print("facts of a response", markup=False)
    out.print(counts)
    out.print(f"in points, {made.rows[0].scores[made.first].level:.0%} intervals over prompts", markup=False)
    out.print(shown)
    for choice in made.k:
        out.print(choice.words, markup=False)
    for name in (made.first, "precision"):
        out.print(f"{name}: {made.rows[0].scores[name].rule}", markup=False, style="dim")
    out.print("to judge one response, and what the answer took", markup=False)
    out.print(spent)


def _spent(row: Row) -> tuple[str, ...]:
    use = row.per_response
    return (
        f"{use['calls']:.1f}",
        f"{use['searches']:.1f}",
        f"{use['tokens']:,.0f}",
        f"{use['cost']:.4f}",
        f"{use['seconds']:.1f}",
        f"{use['answer_tokens']:,.0f}",
        f"{use['answer_cost']:.4f}",
    )


def _beside(row: Row, score: Score, answers: Summary | None) -> str:
    """What is not in the means, or counts 0 in them."""
    parts = {
        "failed prompts": answers.failed if answers else 0,
        "abstained": score.abstained,
        "no claims": score.no_claims,
        "facts without a verdict": row.unjudged,
        **score.unscored,
    }
    return show.reasons({name: n for name, n in parts.items() if n}) or "–"


def _share(score: Score) -> str:
    if score.value is None:
        return "–"
    span = "" if score.low is None or score.high is None else f" [{100 * score.low:.1f}, {100 * score.high:.1f}]"
    return f"{100 * score.value:.1f}{span}"
