"""`veridical meta`: a judge against labelled sets."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import typer

from ..calibration import fit_isotonic, fit_platt
from ..errors import UsageError
from ..folder import RunFolder, RunInfo
from ..meta import SETS, LabelledSet, Measures, Paired, Trivial, labelled_set, measures, paired, trivial
from ..meta.measures import rows
from ..methods import warning
from ..models.cache import CallStore
from ..models.metered import Budget
from ..run import run
from ..types import Generation, Report
from . import show
from .opening import opened
from .options import AsJson, Cache, Config, MaxCost
from .progress import listener
from .setup import Setup, judging

app = typer.Typer(add_completion=False, rich_markup_mode=None)

WITHOUT = ("facts", "decomposer", "demonstrations", "shape", "abstain", "sentences", "evidence")
IN_FLIGHT = 64


@app.command(
    help="A judge against labelled sets: balanced accuracy, AUC, calibration, coverage, speed, price, with intervals, "
    "beside judges that read nothing.\n\n"
    "Example: veridical meta fm2:dev.jsonl mine.jsonl --judge vllm/my-model --out runs/meta\n\n"
    f"Sets: {', '.join(SETS)}, and files of claim, evidence, label."
)
@judging(without=WITHOUT, facts="given", abstain="never")
def meta(
    setup: Setup,
    sets: Annotated[list[str], typer.Argument(help="name:PATH of a known set, or a file of claim, evidence, label.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for a run of each set, or to go on with.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="--out of another judge on the same sets: the two are compared, paired.")
    ] = None,
    sample_size: Annotated[int | None, typer.Option("--sample", min=1, help="Only N claims of each set.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample and the intervals.")] = 0,
    by_domain: Annotated[bool, typer.Option("--by-domain", help="A row for each domain of a set too.")] = False,
    calibrate: Annotated[
        Path | None, typer.Option("--fit-calibration", help="Write a calibration fitted on all the sets together.")
    ] = None,
    kind: Annotated[str, typer.Option("--calibration-kind", help="isotonic, or platt for few labels.")] = "isotonic",
    max_cost: MaxCost = None,
    cache: Cache = None,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Start again, or go on (the default).")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    chosen = [labelled_set(spec) for spec in sets]
    if len({one.name for one in chosen}) < len(chosen):
        raise UsageError("two sets have the same name; give one of them another file name")
    if kind not in ("isotonic", "platt"):
        raise UsageError(f"--calibration-kind {kind}: must be one of isotonic, platt")
    with tempfile.TemporaryDirectory() as scratch:
        place = out or Path(scratch)
        spent = asyncio.run(_run(chosen, setup, place, cache, max_cost, sample_size, seed, fresh=fresh))
        found = [_measured(one.name, RunFolder(place / one.name), seed, by_domain=by_domain) for one in chosen]
        compared = [_compared(one.name, place, against, seed) for one in chosen] if against else []
        if calibrate:
            _calibrate([RunFolder(place / one.name) for one in chosen], calibrate, kind)
    if as_json:
        typer.echo(_json([row for rows in found for row in rows[0]], [rows[1] for rows in found], compared, spent))
        return
    _print([row for rows in found for row in rows[0]], {rows[0][0].set: rows[1] for rows in found}, compared)
    for one in chosen:
        if one.about:
            show.out().print(f"{one.name}: {one.about}; licence: {one.licence}", markup=False, style="dim")


async def _run(
    sets: Sequence[LabelledSet],
    setup: Setup,
    place: Path,
    cache: Path | None,
    max_cost: float | None,
    size: int | None,
    seed: int,
    *,
    fresh: bool,
) -> float:
    """Judge what is not judged yet of each set; returns what was spent."""
    spent = 0.0
    for one in sets:
        folder = RunFolder(place / one.name)
        budget = Budget(max_cost=None if max_cost is None else max(0.0, max_cost - spent))
        with folder.held():
            store = CallStore(cache or folder.calls_path)
            try:
                await _one(one, setup, folder, budget, store, size, seed, fresh=fresh)
            finally:
                store.close()
        spent += budget.spent
    return spent


async def _one(
    one: LabelledSet,
    setup: Setup,
    folder: RunFolder,
    budget: Budget,
    store: CallStore,
    size: int | None,
    seed: int,
    *,
    fresh: bool,
) -> None:
    claims = _some(list(one), size, seed)
    if not setup.knowledge and setup.needs_knowledge and not any(claim.reference for claim in claims):
        raise UsageError(f"{one.name} has no evidence inside: give --knowledge, or a method that needs none")
    digest = hashlib.sha256(msgspec.json.encode(claims)).hexdigest()
    async with opened(setup, store=store, budget=budget) as method:
        info = RunInfo(
            signature=str(method.signature),
            fields=method.signature.fields,
            input=one.path.name,
            input_sha256=digest,
            generations=len(claims),
        )
        done = folder.start(method.signature, info, fresh=fresh)
        clock = folder.path / "seconds.json"
        before = json.loads(clock.read_text()) if clock.exists() and done else 0.0
        started = time.perf_counter()
        with listener(show.err(), budget) as on_event:
            await run(claims, method, folder, done=done, total=len(claims), in_flight=IN_FLIGHT, on_event=on_event)
        if len(done) < len(claims):
            clock.write_text(json.dumps(before + time.perf_counter() - started))
        if words := warning(method):
            show.err().print(f"caution: {words}", markup=False)


def _some(claims: list[Generation], size: int | None, seed: int) -> list[Generation]:
    """Whole clusters at random until there are `size` claims, so that intervals stay true; in the set's order."""
    if size is None or size >= len(claims):
        return claims
    salted = {c.id: hashlib.sha256(f"{seed}{c.metadata['cluster']}".encode()).digest() for c in claims}
    ranked = sorted(claims, key=lambda claim: (salted[claim.id], claim.id))
    kept = {claim.id for claim in ranked[:size]}
    return [claim for claim in claims if claim.id in kept]


def _measured(name: str, folder: RunFolder, seed: int, *, by_domain: bool) -> tuple[list[Measures], list[Trivial]]:
    reports = list(folder.reports())
    clock = folder.path / "seconds.json"
    seconds = json.loads(clock.read_text()) if clock.exists() else None
    found = [measures(name, reports, seconds=seconds, seed=seed)]
    domains: dict[str, list[Report]] = {}
    for report in reports if by_domain else ():
        if domain := report.generation.metadata.get("domain"):
            domains.setdefault(str(domain), []).append(report)
    found += [measures(f"{name}/{domain}", own, seed=seed) for domain, own in sorted(domains.items())]
    return found, trivial(reports)


def _compared(name: str, place: Path, against: Path, seed: int) -> Paired:
    first, second = (list(RunFolder(where / name).reports()) for where in (place, against))
    return paired(name, first, second, seed=seed)


def _calibrate(folders: Iterable[RunFolder], out: Path, kind: str) -> None:
    known = [row for folder in folders for row in rows(folder.reports()) if row.probability is not None]
    if not known:
        raise UsageError("the judge gives no probabilities to calibrate: --read logprobs")
    fit = fit_isotonic if kind == "isotonic" else fit_platt
    made = fit(np.array([row.probability for row in known], float), np.array([row.gold for row in known], float))
    made.save(out)
    show.err().print(f"calibration of {len(known):,} claims: {out}", markup=False)


def _json(
    found: Sequence[Measures], beside: Sequence[Sequence[Trivial]], compared: Sequence[Paired], spent: float
) -> str:
    plain = [msgspec.to_builtins(row) for row in found]
    whole: dict[str, Any] = {"sets": plain, "trivial": beside, "paired": compared, "spent": spent}
    return msgspec.json.encode(whole).decode()


def _print(found: Sequence[Measures], beside: dict[str, list[Trivial]], compared: Sequence[Paired]) -> None:
    out = show.out()
    columns = (
        "set",
        "n",
        "judged",
        "bal. acc.",
        "interval",
        "supp.",
        "not",
        "F1 not",
        "AUC",
        "ECE",
        "calls",
        "$/1000",
        "per s",
    )
    made = show.table(*columns, right=columns[1:4] + columns[5:])
    for row in found:
        made.add_row(
            row.set,
            f"{row.n:,}",
            f"{row.coverage:.0%}",
            show.number(row.balanced_accuracy),
            show.span(row.low, row.high),
            *(
                show.number(one, 2)
                for one in (row.recall_supported, row.recall_not_supported, row.f1, row.auc, row.ece)
            ),
            f"{row.calls:.1f}",
            f"{row.cost_per_1000:.2f}",
            "" if row.pairs_per_s is None else f"{row.pairs_per_s:.1f}",
        )
        for one in beside.get(row.set, ()):
            cells = (show.number(one.balanced_accuracy), "", "", "", show.number(one.f1, 2), show.number(one.auc, 2))
            made.add_row(f"  {one.name}", "", "", *cells, "", "", "", "", style="dim")
    out.print(made)
    for row in found:
        if row.unjudged:
            shown = f"counted as wrong {show.number(row.balanced_accuracy_all)}"
            out.print(f"{row.set}: without a verdict: {show.reasons(row.unjudged)}; {shown}", markup=False)
        if row.pairs:
            ordered = "" if row.pairs_ordered is None else f", in the right order {row.pairs_ordered:.3f}"
            out.print(
                f"{row.set}: of {row.pairs} minimal pairs both right {row.pairs_right:.3f}{ordered}", markup=False
            )
        if row.error_types:
            told = ", ".join(f"{name} {share:.2f} of {n}" for name, (n, share) in row.error_types.items())
            out.print(f"{row.set}: found by kind of error: {told}", markup=False)
    for pair in compared:
        span = "" if pair.low is None else f" [{pair.low:+.3f}, {pair.high:+.3f}]"
        out.print(
            f"{pair.set}: this judge {show.number(pair.first)}, the other {show.number(pair.second)}, difference "
            f"{'undefined' if pair.difference is None else f'{pair.difference:+.3f}'}{span}; right alone "
            f"{pair.only_first} and {pair.only_second} of {pair.n}, McNemar p {pair.p:.4f}",
            markup=False,
        )
