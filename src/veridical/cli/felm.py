"""`veridical felm`: an evaluator of factuality against FELM's labels."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.markup import escape

from ..datasets import locate
from ..errors import UsageError
from ..felm import Grounded, Loaded, Policy, Prediction, Prompted, Said, Sample, Scores, load, paired, score
from ..felm.data import stratified
from ..felm.evaluators import Evaluator
from ..felm.evidence import Web
from ..felm.run import FelmFolder, read, run
from ..felm.runs import from_reports
from ..felm.table import HEADINGS, csv_text, markdown, misses, remarks, rows
from ..folder import RunFolder, RunInfo
from ..models.cache import CallStore
from ..models.factory import open_model
from ..models.metered import Budget
from ..models.probe import adaptations
from ..signature import sign
from . import show
from .opening import GRACE
from .options import AsJson, Cache, Config, MaxCost
from .setup import EMBEDDED

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EVERY = 10.0
"""Seconds between lines of progress."""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """How the evaluator is made."""

    judge: str
    method: str | None
    units: str
    samples: int
    temperature: float
    types: bool
    shape: str
    max_tokens: int
    compat: str | None
    fetch: bool
    concurrency: int


@app.command(
    help="An evaluator against FELM's labels: which segments of 847 responses are wrong? No file: the fetched one.\n\n"
    "Example: veridical felm all.jsonl --judge openai/gpt-4o-mini --method cot --samples 9 --out runs/felm"
)
def felm(
    file: Annotated[Path | None, typer.Argument(help="FELM's all.jsonl (veridical data fetch felm).")] = None,
    judge: Annotated[str, typer.Option("--judge", help="Model that judges: provider/name, or embedded.")] = EMBEDDED,
    method: Annotated[
        str | None, typer.Option("--method", help="vanilla (the default), cot, link, doc (the default of embedded).")
    ] = None,
    units: Annotated[str, typer.Option("--units", help="What is judged: segment, or claim (taken out first).")] = (
        "segment"
    ),
    samples: Annotated[int, typer.Option("--samples", help="Self-consistency: answers that vote; odd (paper: 9).")] = 1,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="Of those answers.")] = 0.9,
    types: Annotated[bool, typer.Option("--types", help="Ask for the kind of error too, and score it.")] = False,
    shape: Annotated[str, typer.Option("--shape", help="What the model writes: list, or json with a schema.")] = "list",
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer (100 in the paper).")] = 1024,
    version: Annotated[str | None, typer.Option("--version", help="Samples of which version: 817 or 847.")] = None,
    sample_size: Annotated[
        int | None, typer.Option("--sample", min=1, help="Only N samples, each domain by its share.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of --sample and of the intervals.")] = 0,
    drop_enumerators: Annotated[
        bool, typer.Option("--drop-enumerators", help="Leave out segments without a word, such as '2.'.")
    ] = False,
    require_evidence: Annotated[
        bool, typer.Option("--require-evidence", help="Only samples with reference text.")
    ] = False,
    fetch: Annotated[bool, typer.Option("--fetch", help="Bring reference pages that the file lacks.")] = False,
    uncovered: Annotated[str, typer.Option(help="A segment without claims: factual or abstain.")] = "factual",
    not_enough: Annotated[
        str, typer.Option(help="What the evidence does not settle (methods of ours): wrong, factual or abstain.")
    ] = "wrong",
    without_type: Annotated[
        list[str] | None, typer.Option("--without-type", help="Leave out wrong segments of this type; may be repeated.")
    ] = None,
    compat: Annotated[
        str | None, typer.Option("--compat", help="felm or vicuna: read answers as the released code does.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write, or to go on with.")] = None,
    predictions: Annotated[
        Path | None, typer.Option("--predictions", help="Score these predictions (a file or folder) without a call.")
    ] = None,
    from_run: Annotated[
        Path | None, typer.Option("--run", help="Score the verdicts of this run of `veridical score FILE`.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option("--against", help="Folder of another evaluator: both compared, paired.")
    ] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Most model calls at once.")] = 16,
    max_cost: MaxCost = None,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Start again, or go on (the default).")] = False,
    cache: Cache = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    policy = _policy(uncovered, not_enough, without_type or [])
    if predictions and from_run:
        raise UsageError("--predictions and --run exclude each other")
    data = load(_path(file), version=version, drop_enumerators=drop_enumerators, require_evidence=require_evidence)
    chosen = stratified(data.samples, sample_size, seed) if sample_size else list(data.samples)
    budget, seconds, notes, title = Budget(max_cost=max_cost), 0.0, list(data.notes), ""
    if predictions or from_run:
        made, title, more = _given(chosen, predictions, from_run)
        notes += more
    else:
        asked = _Asked(
            judge=judge,
            method=method,
            units=units,
            samples=samples,
            temperature=temperature,
            types=types,
            shape=shape,
            max_tokens=max_tokens,
            compat=compat,
            fetch=fetch,
            concurrency=concurrency,
        )
        settings = {"version": version, "sample": sample_size, "seed": seed if sample_size else None}
        settings |= {"drop_enumerators": drop_enumerators, "require_evidence": require_evidence}
        folder = FelmFolder(out or Path("runs") / f"felm-{judge.rpartition('/')[2]}-{method or 'default'}-{units}")
        with folder.held():
            seconds, title = asyncio.run(_run(asked, chosen, data, folder, settings, budget, cache, fresh=fresh))
        made, out = read(folder.reports_path), folder.path
        if judge == EMBEDDED:
            from ..verifiers.embedded import WEAK

            notes.append(WEAK)
    scores = score(chosen, {one.id: one for one in made}, policy=policy, seed=seed)
    other = paired(chosen, _by_id(made), _by_id(read(against)), policy=policy, seed=seed) if against else []
    result: dict[str, Any] = {"evaluator": title, "data": data.path, "sha256": data.sha256, "scores": scores}
    result |= {"repairs": {one.what: len(one.ids) for one in data.repairs}, "notes": notes, "against": other}
    result |= {"seconds": seconds, "segments_per_s": _segments(made) / seconds if seconds else None}
    result |= {"spent": budget.spent, "calls": budget.calls}
    if out:
        _write(out, result, scores, title)
        _write_misses(out, misses(chosen, _by_id(made), policy))
    if as_json:
        typer.echo(msgspec.json.encode(result).decode())
    else:
        _print(result, scores, data, budget, against)
    if scores.missing or scores.abstained.keys() & {"parse_error", "failure"}:
        raise typer.Exit(1)


def _policy(uncovered: str, not_enough: str, without_types: list[str]) -> Policy:
    try:
        return Policy(uncovered=Said(uncovered), not_enough=Said(not_enough), without_types=tuple(without_types))
    except ValueError as error:
        raise UsageError(
            f"--uncovered is factual or abstain, --not-enough wrong, factual or abstain: {error}"
        ) from None


def _path(file: Path | None) -> Path:
    if file:
        return file
    if found := locate("felm"):
        return found / "all.jsonl"
    raise UsageError("no file given, and FELM has not been fetched: veridical data fetch felm")


def _by_id(made: Sequence[Prediction]) -> dict[int, Prediction]:
    return {one.id: one for one in made}


def _segments(made: Sequence[Prediction]) -> int:
    return sum(len(one.judgements) for one in made)


def _given(
    chosen: Sequence[Sample], predictions: Path | None, run_: Path | None
) -> tuple[list[Prediction], str, list[str]]:
    if predictions:
        return read(predictions), str(predictions), []
    folder = RunFolder(run_ or Path())
    made, lost = from_reports(chosen, folder.reports())
    notes = [f"{lost} facts belong to no segment and are left out"] if lost else []
    return made, folder.info().signature, notes


async def _run(
    asked: _Asked,
    chosen: Sequence[Sample],
    data: Loaded,
    folder: FelmFolder,
    settings: dict[str, Any],
    budget: Budget,
    cache: Path | None,
    *,
    fresh: bool,
) -> tuple[float, str]:
    """Seconds, and the evaluator's name."""
    store = CallStore(cache or folder.calls_path)
    try:
        async with _opened(asked, store, budget) as evaluator:
            signature = sign(evaluator)
            signature = type(signature)({**signature.fields, "name": "felm"})
            info = RunInfo(
                signature=str(signature),
                fields=signature.fields,
                input=data.path,
                input_sha256=data.sha256,
                generations=len(chosen),
                settings=settings,
            )
            done = folder.start(signature, info, fresh=fresh)
            progress = _Progress(len(chosen), len(done))
            started = time.perf_counter()
            in_flight = max(2, min(asked.concurrency, 64))
            await run(chosen, evaluator, folder, done=done, in_flight=in_flight, on_prediction=progress)
            seconds = time.perf_counter() - started
            return (seconds if len(done) < len(chosen) else 0.0), evaluator.name
    finally:
        store.close()


@asynccontextmanager
async def _opened(asked: _Asked, store: CallStore, budget: Budget) -> AsyncIterator[Evaluator]:
    async with AsyncExitStack() as stack:
        pages = None
        if asked.fetch:
            from ..knowledge.web.fetch import Fetcher  # HTTP and the readers of pages, which few runs need

            fetcher = Fetcher(store)
            stack.push_async_callback(fetcher.close)
            pages = Web(fetcher)
            stack.callback(_unread, pages)
        if asked.judge == EMBEDDED:
            yield _embedded(asked, pages)
            return
        model = open_model(asked.judge, store=store, budget=budget, concurrency=asked.concurrency)
        stack.push_async_callback(model.close)
        stack.push_async_callback(store.drain, GRACE)
        stack.callback(budget.stop)  # first of these three
        yield Prompted(
            model,
            method=asked.method or "vanilla",
            units=asked.units,
            samples=asked.samples,
            temperature=asked.temperature,
            types=asked.types,
            shape=asked.shape,
            max_tokens=asked.max_tokens,
            compat=asked.compat,
            pages=pages,
        )
        for words in adaptations(model):
            show.err().print(f"note: {asked.judge}: {words}", markup=False)


def _unread(pages: Web) -> None:
    if pages.troubles:
        show.err().print(f"note: {pages.troubles.total()} reference pages could not be had", markup=False)


def _embedded(asked: _Asked, pages: Any) -> Grounded:
    given = {"--samples": asked.samples != 1, "--types": asked.types, "--compat": asked.compat is not None}
    given |= {"--shape": asked.shape != "list", "--method": asked.method not in (None, "doc")}
    if wrong := [name for name, is_given in given.items() if is_given]:
        raise UsageError(f"{', '.join(wrong)}: the embedded judge compares with documents, and is asked nothing")
    if asked.units not in ("segment", "claim"):
        raise UsageError(f"--units {asked.units}: segment or claim")
    from ..verifiers.embedded import EmbeddedJudge

    decomposer = None
    if asked.units == "claim":
        from ..clauses import ClauseDecomposer  # spaCy, which segments do without

        decomposer = ClauseDecomposer()
    return Grounded(EmbeddedJudge(), decomposer, pages=pages)


class _Progress:
    """A line on stderr now and then."""

    def __init__(self, total: int, done: int) -> None:
        self.total, self.made, self.segments = total, done, 0
        self.started = self.said = time.monotonic()
        if done:
            show.err().print(f"going on after {done} finished samples")

    def __call__(self, prediction: Prediction) -> None:
        self.made += 1
        self.segments += len(prediction.judgements)
        now = time.monotonic()
        if now - self.said >= EVERY:
            self.said = now
            speed = self.segments / max(now - self.started, 1e-6)
            show.err().print(f"{self.made} of {self.total} samples, {speed:.1f} segments/s")


def _write(folder: Path, result: dict[str, Any], scores: Scores, title: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scores.json").write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
        (folder / "scores.md").write_text(markdown(scores, title), encoding="utf-8")
        (folder / "scores.csv").write_text(csv_text(scores), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None


def _write_misses(folder: Path, found: Iterable[dict[str, Any]]) -> None:
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in found)
    try:
        (folder / "misses.jsonl").write_bytes(lines)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None


def _print(result: dict[str, Any], scores: Scores, data: Loaded, budget: Budget, against: Path | None) -> None:
    screen = show.out()
    screen.print(f"{result['evaluator']} on {scores.samples} samples of {data.path}", markup=False)
    for level in ("segment", "response"):
        table = show.table(*HEADINGS, right=HEADINGS[2:])
        for cells in rows(scores, level, slices=False):
            table.add_row(*(escape(show.printable(cell)) for cell in cells))
        screen.print(f"\n{level} level")
        screen.print(table)
    screen.print("\nrecall by error type")
    table = show.table("type", "wrong", "flagged", "recall", "interval", right=("wrong", "flagged", "recall"))
    for one in scores.by_type:
        row = (str(one.wrong), str(one.flagged), show.number(one.recall), show.span(one.low, one.high))
        table.add_row(escape(show.printable(one.type)), *row)
    screen.print(table)
    if scores.types:
        typed = scores.types
        told = (
            f"error type right in {typed.right} of {typed.n} rightly flagged segments ({show.number(typed.accuracy)})"
        )
        screen.print(f"{told}; {typed.untyped} were given none", markup=False)
    _print_paired(result["against"], against)
    for line in (*remarks(scores), *result["notes"]):
        screen.print(f"note: {show.printable(line)}", markup=False)
    repairs = ", ".join(f"{one.what} ({len(one.ids)})" for one in data.repairs)
    screen.print(f"repairs of the file: {repairs or 'none'}", markup=False, style="dim")
    usage = scores.usage
    if usage.calls:
        tokens = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
        screen.print(f"{usage.calls:,} calls, {tokens}; spent ${budget.spent:.4f} on {budget.calls:,}", markup=False)
    if result["segments_per_s"]:
        screen.print(f"{result['seconds']:.1f} s, {result['segments_per_s']:.1f} segments/s", markup=False)


def _print_paired(pairs: Sequence[Any], against: Path | None) -> None:
    if not pairs:
        return
    screen = show.out()
    screen.print(f"\nthis minus {against}", markup=False)
    headings = ("level", "abstentions", "n", "only this right", "only that", "McNemar p", "p by response")
    table = show.table(*headings, "F1", "bal. acc.", right=headings[2:])
    for one in pairs:
        cells = [
            "–" if gap.value is None else f"{gap.value:+.3f} {show.span(gap.low, gap.high)}"
            for gap in (one.differences["f1"], one.differences["balanced_accuracy"])
        ]
        counted = (f"{one.n:,}", str(one.first), str(one.second), f"{one.mcnemar:.4f}", f"{one.randomisation:.4f}")
        table.add_row(one.level, one.abstentions, *counted, *cells)
    screen.print(table)
