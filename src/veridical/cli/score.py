"""`veridical score`: the main job."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from .. import calibrated
from ..cascade import Cascade, CascadeSummary, summarise
from ..errors import UsageError
from ..export import arrow, write_parquet
from ..folder import RunFolder, RunInfo
from ..methods import Method, warning
from ..metrics import FActScore, parse
from ..models.cache import CallStore
from ..models.metered import Budget
from ..recall import from_data
from ..run import run
from ..safe import PublishedSAFE
from ..scores import scores
from ..types import Score
from . import show
from .opening import opened
from .options import AsJson, Cache, Config, MaxCost
from .progress import listener
from .setup import Setup, judging
from .source import Source, check_evidence, spooled

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    help="Decompose, gather evidence, judge and score a file of generations.\n\n"
    "Example: veridical score answers.jsonl --knowledge kb.sqlite --out runs/mine"
)
@judging()
def score(
    setup: Setup,
    generations: Annotated[str, typer.Argument(help="JSONL, JSON, CSV or Parquet file; - is stdin.")],
    out: Annotated[Path, typer.Option("--out", help="Run folder to write, or to go on with.")],
    gamma: Annotated[float, typer.Option(min=0, help="Length penalty of FActScore; 0 = none.")] = 10,
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Further metrics, such as precision.")] = None,
    max_cost: MaxCost = None,
    on_error: Annotated[str, typer.Option(help="Unusable input: stop, or skip it and go on.")] = "stop",
    sample_size: Annotated[int | None, typer.Option("--sample", min=1, help="Judge only N generations.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample and the intervals.")] = 0,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Start again, or go on (the default).")] = False,
    fail_under: Annotated[float | None, typer.Option(help="Exit 1 if the score is lower.")] = None,
    cache: Cache = None,
    log: Annotated[bool, typer.Option("--log", help="Also write events.jsonl.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="Also write facts.parquet: one row a fact.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    spellings = _spellings(setup, gamma, metric or [])
    if fail_under is not None and not 0 <= fail_under <= 1:
        raise UsageError(f"--fail-under {fail_under}: must be between 0 and 1, as the score is")
    if parquet:
        arrow()
    folder, budget = RunFolder(out), Budget(max_cost=max_cost)
    made, source = judge_all(
        generations,
        setup,
        folder,
        budget,
        spellings,
        on_error=on_error,
        part=(sample_size, seed),
        fresh=fresh,
        cache=cache,
        log=log,
        parquet=parquet,
    )
    results = scores(
        folder.reports(), [parse(spelling) for spelling in spellings], seed=seed, signature=str(made.signature)
    )
    left = _left(folder) if results[0].unscored or results[0].unjudged else []
    _print(results, folder, made, source, budget, left, as_json=as_json)
    _exit(results, left, fail_under)


DEFAULTS = ("precision", "facts")
"""Printed beside FActScore with and without its length penalty."""
CALIBRATED = "calibrated_mean"
"""Printed too where the judge is calibrated."""


def _spellings(setup: Setup, gamma: float, further: list[str]) -> list[str]:
    """The metrics to print, the headline first: F1@64 for method safe, else FActScore."""
    headline = FActScore(repeats="repeats" in (setup.defect or ()), gamma=gamma).name
    own = PublishedSAFE().metric if setup.recipe == "safe" else None
    expected = [CALIBRATED] if setup.calibration and "cascade" not in setup.names else []
    if unknown := next(filter(from_data, further), None):
        raise UsageError(
            f"{unknown} takes K from finished runs: veridical metrics RUN --metric {unknown} after this one; "
            "here give a number, such as f1@64"
        )
    wanted = [*([own] if own else []), headline, "factscore(gamma=0)", *DEFAULTS, *expected, *further]
    return list(dict.fromkeys(parse(one).name for one in wanted))


SHOWN = 10
"""How many of the things that stayed unscored are printed."""


def judge_all(
    generations: str,
    setup: Setup,
    folder: RunFolder,
    budget: Budget,
    metrics: list[str],
    *,
    on_error: str = "stop",
    part: tuple[int | None, int] = (None, 0),
    fresh: bool = False,
    anew: bool = False,
    cache: Path | None = None,
    log: bool = False,
    parquet: bool = False,
) -> tuple[Method, Source]:
    """Judge what is not judged yet; `part` is how many at random, and the seed; `anew` and `fresh` are those of
    `RunFolder.start`. Prints nothing to stdout."""
    with folder.held():
        source = Source(spooled(generations, folder), on_error, *part, setup.facts)
        check_evidence(source, setup)
        made = asyncio.run(_run(source, setup, folder, budget, cache, metrics, fresh=fresh, anew=anew, log=log))
        if parquet:
            write_parquet(folder.reports(), folder.facts_path)
    return made, source


async def _run(
    source: Source,
    setup: Setup,
    folder: RunFolder,
    budget: Budget,
    cache: Path | None,
    metrics: list[str],
    *,
    fresh: bool,
    anew: bool,
    log: bool,
) -> Method:
    err = show.err()
    store = CallStore(cache or folder.calls_path)
    try:
        async with opened(setup, store=store, budget=budget) as made:
            info = RunInfo(
                signature=str(made.signature),
                fields=made.signature.fields,
                input=Path(source.path).name,
                input_sha256=source.sha256,
                generations=source.total,
                metrics=tuple(metrics),
                settings=source.settings,
            )
            if setup.knowledge and source.references:
                err.print(f"note: --knowledge takes the place of the references of {source.references} inputs")
            done = folder.start(made.signature, info, fresh=fresh, anew=anew)
            with listener(err, budget, folder.events_path if log else None) as on_event:
                await run(
                    source,
                    made,
                    folder,
                    done=done,
                    total=source.total,
                    in_flight=max(2, min(setup.concurrency, 64)),
                    on_event=on_event,
                )
            return made
    finally:
        store.close()


def _left(folder: RunFolder) -> list[tuple[str, str]]:
    """(id of a generation or fact, what went wrong) of everything that stayed without a value."""
    found: list[tuple[str, str]] = []
    for report in folder.reports():
        id_ = report.generation.id
        failures = [(id_, report.failure)] if report.failure else []
        failures += [(f"{id_}/{failed.sentence}", failed.failure) for failed in report.failures]
        failures += [(judged.fact.id, judged.failure) for judged in report.facts if judged.failure]
        found += [(name, f"{f.stage}: {f.error}: {f.message}") for name, f in failures]
    return found


def _print(
    results: list[Score],
    folder: RunFolder,
    made: Method,
    source: Source,
    budget: Budget,
    left: list[tuple[str, str]],
    *,
    as_json: bool,
) -> None:
    if as_json:
        unscored = [{"id": id_, "reason": reason} for id_, reason in left]
        result = {"scores": results, "unscored": unscored, "run": str(folder.path), "spent": budget.spent}
        if saving := _cascade(folder, made):
            result["cascade"] = saving
        if fitted := _calibrated(folder, made):
            result["calibrated"] = fitted
        typer.echo(msgspec.json.encode(result).decode())
        return
    out = show.out()
    out.print(show.scores(results))
    out.print()
    for line in show.denominators(results[0]):
        out.print(line, markup=False)
    for id_, reason in left[:SHOWN]:
        out.print(f"    {show.printable(f'{id_}: {reason}')}", markup=False)
    if len(left) > SHOWN:
        out.print(f"    … and {len(left) - SHOWN} more (--json lists them all)", markup=False)
    counts, foreign = show.verdicts(folder.reports()), _foreign(folder)
    if counts:
        if bare := _bare(folder):
            out.print(f"caution: nothing at all was found for {bare} of {counts.total()} facts", markup=False)
        out.print("verdicts: " + ", ".join(f"{label} {n}" for label, n in counts.most_common()), markup=False)
    if foreign:
        out.print(
            f"caution: {foreign} sentences are not English; the embedded parts were made for English", markup=False
        )
    if saving := _cascade(folder, made):
        for line in saving.lines():
            out.print(line, markup=False)
    if fitted := _calibrated(folder, made):
        for line in fitted.lines():
            out.print(show.printable(line), markup=False)
    if source.skipped:
        first = show.printable(str(source.skipped[0]))
        out.print(f"skipped input lines: {len(source.skipped)}; first: {first}", markup=False)
    if caution := warning(made):
        out.print(f"caution: {caution}", markup=False, style="yellow")
    if budget.spent:
        searches = f" and {budget.searches:,} searches" if budget.searches else ""
        out.print(f"spent ${budget.spent:.4f} on {budget.calls:,} calls{searches}", markup=False)
    out.print(f"signature: {made.signature}", markup=False, style="dim")
    out.print(f"every fact: {folder.reports_path}", markup=False)


def _cascade(folder: RunFolder, made: Method) -> CascadeSummary | None:
    """What a cascade saved, if it is one and judged anything."""
    judged = any(fact.verdict for report in folder.reports() for fact in report.facts)
    return summarise(folder.reports()) if isinstance(made.verifier, Cascade) and judged else None


def _calibrated(folder: RunFolder, made: Method) -> calibrated.CalibratedSummary | None:
    """What a calibration and thresholds did, if the judge has any."""
    judge = made.verifier
    return calibrated.summarise(folder.reports(), judge) if isinstance(judge, calibrated.Calibrated) else None


def _bare(folder: RunFolder) -> int:
    """Facts that were judged without any evidence: a source, date or domain that does not fit looks like that."""
    return sum(
        bool(judged.verdict and judged.verdict.mode == "no evidence") for r in folder.reports() for judged in r.facts
    )


def _foreign(folder: RunFolder) -> int:
    """Facts that are whole sentences because the clause splitter does not know their language."""
    return sum("not English" in flag for r in folder.reports() for j in r.facts for flag in j.fact.flags)


def _exit(results: list[Score], left: list[tuple[str, str]], fail_under: float | None) -> None:
    """Status 1 where something stayed unscored or the threshold was missed; stderr says which."""
    first, complaints = results[0], []
    if first.unscored or first.unjudged:
        asked = any(not reason.startswith("gather") for _, reason in left)
        cure = "--fresh asks models again for what failed, the cache has the rest" if asked else "the reasons say why"
        complaints.append(f"something stayed unscored; {cure}")
    if fail_under is not None and (first.value is None or first.value < fail_under):
        complaints.append(f"{first.name} is {show.number(first.value)}, below {fail_under}")
    for complaint in complaints:
        typer.echo(f"veridical: {complaint}", err=True)
    if complaints:
        raise typer.Exit(1)
