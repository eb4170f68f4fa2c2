"""`veridical meta`: a judge against labelled sets."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import typer

from ..calibrated import Calibrated, Thresholds, recipe, summarise
from ..calibration import fit_isotonic, fit_platt
from ..errors import UsageError
from ..folder import RunFolder, RunInfo
from ..meta import (
    SETS,
    LabelledSet,
    Measures,
    Paired,
    Responses,
    labelled_set,
    measures,
    openfactcheck,
    paired,
    predicted,
    responses,
    trivial,
    worth,
)
from ..meta.figures import threshold
from ..meta.measures import rows
from ..meta.predictions import written
from ..meta.sets.factcheck import HELD_OUT
from ..methods import warning
from ..models.cache import CallStore
from ..models.metered import Budget
from ..run import Reported, run
from ..types import Generation, Report
from . import show
from .meta_tables import printed
from .opening import opened
from .options import AsJson, Cache, Config, MaxCost
from .progress import listener
from .setup import EMBEDDED, Setup, judging

app = typer.Typer(add_completion=False, rich_markup_mode=None)

WITHOUT = ("facts", "decomposer", "demonstrations", "shape", "abstain", "sentences", "evidence")
IN_FLIGHT = 64
HALVES = ("first", "second")
SPEED = "speed.json"
"""In a run's folder: seconds, and the claims judged in them, over all its parts."""


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
    predictions: Annotated[
        Path | None, typer.Option(help="Verdicts of any other evaluator on the set, by id, in place of a judge.")
    ] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option("--openfactcheck", help="Write the verdicts as OpenFactCheck's CSV, with their ids in FILE.ids."),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Write the claims with id, evidence and label to this file, and stop.")
    ] = None,
    sample_size: Annotated[int | None, typer.Option("--sample", min=1, help="Only N claims of each set.")] = None,
    part: Annotated[
        str | None,
        typer.Option(help="first or second half of each set's documents: fit on one, test on the other."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample and the intervals.")] = 0,
    by_domain: Annotated[bool, typer.Option("--by-domain", help="A row for each domain of a set too.")] = False,
    calibrate: Annotated[
        Path | None,
        typer.Option(
            "--fit-calibration",
            help="Write a calibration fitted on all the sets together, and thresholds by set and domain beside it.",
        ),
    ] = None,
    kind: Annotated[str, typer.Option("--calibration-kind", help="isotonic, or platt for few labels.")] = "isotonic",
    max_cost: MaxCost = None,
    cache: Cache = None,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Start again, or go on (the default).")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    chosen = [labelled_set(spec) for spec in sets]
    _together(setup, chosen, kind, {"--predictions": predictions, "--pairs": pairs, "--openfactcheck": verdicts})
    if calibrate and (setup.calibration or setup.thresholds) and setup.recipe != "cascade":
        raise UsageError("--fit-calibration fits the judge as it is: leave out --calibration and --thresholds")
    whole_sets = [list(one) for one in chosen]
    claims = [_some(_half(own, part), sample_size, seed) for own in whole_sets]
    if pairs:
        show.err().print(f"{written(claims[0], pairs):,} claims: {pairs}", markup=False)
        return
    spent, judged = 0.0, {"verifier": f"predictions in {predictions.name}" if predictions else ""}
    if predictions:
        ids = [claim.id for claim in whole_sets[0]]
        found = {chosen[0].name: (predicted(claims[0], predictions, ids=ids), None)}
    else:
        for one, own in zip(chosen, claims, strict=True):
            _evidenced(one, own, setup)
        with _folder(out) as place:
            spent = asyncio.run(_run(chosen, claims, setup, place, cache, max_cost, fresh=fresh))
            found = {one.name: _reports(RunFolder(place / one.name)) for one in chosen}
            judged = RunFolder(place / chosen[0].name).info().fields
    domains = by_domain or calibrate is not None
    fitted = {one.name: one.seen and not predictions and EMBEDDED in setup.names for one in chosen}
    figures = {name: _measured(name, *own, seed, seen=fitted[name], by_domain=domains) for name, own in found.items()}
    compared = [_compared(name, own[0], against, seed) for name, own in found.items()] if against else []
    if calibrate:
        _calibrate([report for reports, _ in found.values() for report in reports], figures, calibrate, kind, judged)
    if verdicts:
        _write(found[chosen[0].name][0], verdicts)
    answered = [] if sample_size else _answered(chosen, found, seed, by_domain=by_domain, whole=part is None)
    shown = [row for name, own in figures.items() for row in own if by_domain or row.set == name]
    beside = {name: trivial(reports) for name, (reports, _) in found.items()}
    if as_json:
        whole: dict[str, Any] = {"sets": shown, "responses": answered, "trivial": list(beside.values())}
        whole |= {"paired": compared, "spent": spent}
        typer.echo(msgspec.json.encode(whole).decode())
    else:
        printed(shown, beside, answered, compared, chosen)
    if left := sum(sum(own[0].unjudged.values()) for own in figures.values()):
        typer.echo(f"veridical: {left:,} claims stayed without a verdict", err=True)
        raise typer.Exit(1)


def _together(setup: Setup, chosen: Sequence[LabelledSet], kind: str, single: dict[str, Path | None]) -> None:
    """Refuse what does not fit together."""
    if len({one.name for one in chosen}) < len(chosen):
        raise UsageError("two sets have the same name; give one of them another file name")
    if kind not in ("isotonic", "platt"):
        raise UsageError(f"--calibration-kind {kind}: must be one of isotonic, platt")
    if len(chosen) > 1 and (option := next((name for name, path in single.items() if path), None)):
        raise UsageError(f"{option} is for one set at a time")
    if single["--predictions"] and (setup.judge or setup.method):
        raise UsageError("--predictions are another judge's verdicts: --judge and --method would do nothing")


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out:
        yield out
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(scratch)


def _half(claims: list[Generation], part: str | None) -> list[Generation]:
    """One of two halves of the set's clusters, the same for every judge and seed."""
    if part is None:
        return claims
    if part not in HALVES:
        raise UsageError(f"--part {part}: must be one of {', '.join(HALVES)}")
    wanted = HALVES.index(part)
    return [c for c in claims if hashlib.sha256(str(c.metadata["cluster"]).encode()).digest()[0] % 2 == wanted]


def _some(claims: list[Generation], size: int | None, seed: int) -> list[Generation]:
    """A claim of each cluster at random, then a second of each, until there are `size`; in the set's order.

    As many clusters as can be, since it is their number that makes intervals narrow. The sides of a minimal pair stay
    together.
    """
    if size is None or size >= len(claims):
        return claims
    clusters: dict[Any, dict[Any, list[str]]] = {}
    for claim in sorted(claims, key=lambda claim: hashlib.sha256(f"{seed}{claim.id}".encode()).digest()):
        own = clusters.setdefault(claim.metadata["cluster"], {})
        own.setdefault(claim.metadata.get("pair", claim.id), []).append(claim.id)
    turns = ((turn, ids) for own in clusters.values() for turn, ids in enumerate(own.values()))
    ranked = [id_ for _, ids in sorted(turns, key=lambda one: one[0]) for id_ in ids]
    kept = set(ranked[:size])
    return [claim for claim in claims if claim.id in kept]


def _evidenced(one: LabelledSet, claims: Sequence[Generation], setup: Setup) -> None:
    """Said before anything is paid for."""
    without = not any(claim.reference is not None for claim in claims)
    if without and setup.needs_knowledge and not setup.knowledge and not one.worth:
        raise UsageError(f"{one.name} has no evidence inside: give --knowledge, or a method that needs none")


async def _run(
    sets: Sequence[LabelledSet],
    claims: Sequence[list[Generation]],
    setup: Setup,
    place: Path,
    cache: Path | None,
    max_cost: float | None,
    *,
    fresh: bool,
) -> float:
    """Judge what is not judged yet of each set; returns what was spent."""
    spent = 0.0
    for one, own in zip(sets, claims, strict=True):
        folder = RunFolder(place / one.name)
        budget = Budget(max_cost=None if max_cost is None else max(0.0, max_cost - spent))
        with folder.held():
            store = CallStore(cache or folder.calls_path)
            try:
                await _one(one, own, setup, folder, budget, store, fresh=fresh)
            finally:
                store.close()
        spent += budget.spent
    return spent


async def _one(
    one: LabelledSet,
    claims: list[Generation],
    setup: Setup,
    folder: RunFolder,
    budget: Budget,
    store: CallStore,
    *,
    fresh: bool,
) -> None:
    digest = hashlib.sha256(msgspec.json.encode(claims)).hexdigest()
    chosen = dataclasses.replace(setup, facts="extracted") if one.worth else setup
    async with opened(chosen, store=store, budget=budget) as made:
        method = worth(made) if one.worth else made
        info = RunInfo(
            signature=str(method.signature),
            fields=method.signature.fields,
            input=one.path.name,
            input_sha256=digest,
            generations=len(claims),
        )
        done = folder.start(method.signature, info, fresh=fresh)
        with listener(show.err(), budget) as on_event, _timed(folder, anew=not done) as count:

            def told(event: Any) -> None:
                count(event)
                on_event(event)

            await run(claims, method, folder, done=done, total=len(claims), in_flight=IN_FLIGHT, on_event=told)
        if isinstance(made.verifier, Calibrated):
            for line in summarise(folder.reports(), made.verifier).lines():
                show.err().print(f"{one.name}: {line}", markup=False)
        if words := warning(made):
            show.err().print(f"caution: {words}", markup=False)


@contextmanager
def _timed(folder: RunFolder, *, anew: bool) -> Iterator[Any]:
    """Add the seconds of this part of the run, and the claims judged in it, to those of the parts before."""
    clock = folder.path / SPEED
    seconds, claims = (0.0, 0) if anew or not clock.exists() else json.loads(clock.read_bytes())
    started, judged = time.perf_counter(), 0

    def count(event: Any) -> None:
        nonlocal judged
        judged += isinstance(event, Reported)

    try:
        yield count
    finally:
        if judged:
            clock.write_text(json.dumps([seconds + time.perf_counter() - started, claims + judged]))


def _reports(folder: RunFolder) -> tuple[list[Report], float | None]:
    """Of a run, and the claims that were judged in a second."""
    clock = folder.path / SPEED
    seconds, claims = json.loads(clock.read_bytes()) if clock.exists() else (0.0, 0)
    return list(folder.reports()), claims / seconds if seconds else None


def _measured(
    name: str, reports: Sequence[Report], speed: float | None, seed: int, *, seen: bool, by_domain: bool
) -> list[Measures]:
    """Of the whole set, and of each of its domains. The claims that nothing of ours was trained on are one."""
    domains: dict[str, list[Report]] = {}
    for report in reports if by_domain else ():
        if domain := report.generation.metadata.get("domain"):
            domains.setdefault(str(domain), []).append(report)
    whole = measures(name, reports, speed=speed, seen=seen, seed=seed)
    return [
        whole,
        *(
            measures(f"{name}/{domain}", own, seen=seen and domain != HELD_OUT, seed=seed)
            for domain, own in sorted(domains.items())
        ),
    ]


def _write(reports: Sequence[Report], path: Path) -> None:
    try:
        n, empty = openfactcheck.written(reports, path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    left = f"; {empty:,} without a verdict have an empty cell, which OpenFactCheck's evaluator refuses" if empty else ""
    show.err().print(f"{n:,} verdicts: {path}{left}", markup=False)


def _answered(
    sets: Sequence[LabelledSet], found: dict[str, Any], seed: int, *, by_domain: bool, whole: bool
) -> list[Responses]:
    """Of the responses of each set that tells them, and of each domain: a part by claims would cut them."""
    made = []
    for one in sets:
        reports = found[one.name][0]
        empty = one.empty(one.path) if one.empty and whole else None
        made.append(responses(one.name, reports, empty=empty, seed=seed))
        domains = sorted({str(report.generation.metadata.get("domain") or "") for report in reports} - {""})
        for domain in domains if by_domain else ():
            own = [report for report in reports if report.generation.metadata.get("domain") == domain]
            made.append(responses(f"{one.name}/{domain}", own, seed=seed))
    return [one for one in made if one]


def _compared(name: str, reports: Sequence[Report], against: Path, seed: int) -> Paired:
    return paired(name, reports, list(RunFolder(against / name).reports()), seed=seed)


def _calibrate(
    reports: Iterable[Report], figures: dict[str, list[Measures]], out: Path, kind: str, judged: dict[str, Any]
) -> None:
    """Write the calibration, and beside it the threshold of each set and domain, for `score`; `judged`: the fields of
    the signature, by which another judge is refused."""
    known = [row for row in rows(reports) if row.probability is not None]
    if not known:
        raise UsageError("the judge gives no probabilities to calibrate: --read logprobs")
    fit = fit_isotonic if kind == "isotonic" else fit_platt
    probability, gold = np.array([row.probability for row in known], float), np.array([row.gold for row in known], bool)
    judge, settings = str(judged["verifier"]), recipe(judged)
    msgspec.structs.replace(fit(probability, gold.astype(float)), judge=judge, recipe=settings).save(out)
    told = f"calibration of {len(known):,} claims: {out}"
    overall = threshold(gold, probability)
    if overall is not None:  # else one class only
        domains = {row.set: row.threshold for own in figures.values() for row in own if row.threshold is not None}
        beside = out.with_suffix(".thresholds.json")
        held = {name: min(1.0, value) for name, value in domains.items()}
        Thresholds(judge=judge, recipe=settings, overall=min(1.0, overall), domains=held).save(beside)
        told += f"; thresholds: {beside}"
    show.err().print(told, markup=False)
