"""`veridical correct`: scores corrected by a small part that people labelled, and how much to label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ..agree import PAPER
from ..correct import Correction, Plan, drawn, plan
from ..correct import correct as corrected
from ..correction import Estimate
from ..errors import UsageError
from ..inputs import read
from ..types import Generation
from . import show
from .options import AsJson
from .runs import Run, is_run, run_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)

METHODS = {
    "judge": "the judge alone",
    "labels": "the labelled part alone",
    "ppi": "prediction-powered",
    "rogan-gladen": "Rogan-Gladen",
}


@app.command(
    help="Scores corrected by a small random part that people labelled, with a valid interval.\n\n"
    "Example: veridical correct runs/mine labels.jsonl\n\n"
    "Draw what to label: veridical correct runs/mine --draw 30 --out to_label.jsonl"
)
def correct(
    paths: Annotated[list[Path], typer.Argument(help="Run folders or result files, and files with people's labels.")],
    rule: Annotated[str, typer.Option(help="How a response is counted: paper, irrelevant-in, irrelevant-out.")] = PAPER,
    target: Annotated[
        str, typer.Option(help="run: the score of these answers; prompts: of all answers to prompts like these.")
    ] = "run",
    points: Annotated[
        float | None, typer.Option("--plan", min=0.1, max=50, help="How many to label for an interval of ± POINTS.")
    ] = None,
    draw: Annotated[int | None, typer.Option(min=1, help="Draw N random answers of one run to be labelled.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="With --draw: JSONL file to write.")] = None,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of --draw.")] = 0,
    as_json: AsJson = False,
) -> None:
    if missing := next((path for path in paths if not path.exists()), None):
        raise UsageError(f"{missing}: neither a run folder nor a file")
    runs = [run_at(path) for path in paths if is_run(path)]
    files = [path for path in paths if not is_run(path)]
    if not runs:
        raise UsageError("no run folder or result file among the arguments")
    if (draw is not None or points is not None) and len(runs) != 1:
        raise UsageError("--draw and --plan are for one run")
    if draw is not None:
        _draw(runs[0], draw, out, seed, as_json=as_json)
        _note_unfinished(runs[0])
        return
    labels = [generation for path in files for generation in _labels(path)]
    if points is not None:
        made = plan(runs[0].reports(), labels, points / 100, rule=rule, target=target, level=level)
        _say(made, as_json=as_json)
        _note_unfinished(runs[0])
        return
    if not files:
        raise UsageError("give files with labels; to make one: veridical correct RUN --draw 30 --out to_label.jsonl")
    named = [(Path(run.info().input).name.split(".", 1)[0], run.reports()) for run in runs]
    result = corrected(named, labels, rule=rule, target=target, level=level)
    for run in runs:
        _note_unfinished(run)
    if as_json:
        typer.echo(msgspec.json.encode(result).decode())
    else:
        _print(result)


def _labels(path: Path) -> Iterable[Generation]:
    return read(str(path))


def _note_unfinished(run: Run) -> None:
    """What is drawn or labelled out of a part that happened to be finished stands for that part only."""
    total, found = run.info().generations, sum(1 for _ in run.reports())
    if total is not None and found < total:
        words = f"unfinished: {run.path} reports {found} of {total} generations"
        show.err().print(words, style="yellow", markup=False, soft_wrap=True)


def _draw(run: Run, n: int, out: Path | None, seed: int, *, as_json: bool) -> None:
    if out is None:
        raise UsageError("--draw needs --out FILE")
    if out.exists():
        raise UsageError(f"{out} is there already, and may hold labels")
    chosen = list(drawn(run.reports(), n, seed=seed))
    out.write_bytes(b"".join(_row(generation) for generation in chosen))
    facts = sum(len(generation.facts or ()) for generation in chosen)
    if as_json:
        typer.echo(msgspec.json.encode({"answers": n, "facts": facts, "out": str(out)}).decode())
        return
    show.out().print(
        f"{n} answers with {facts} facts: {out}\ngive each fact a label: supported, not_supported, contradicted, "
        "not_enough_evidence or irrelevant",
        markup=False,
    )


def _row(generation: Generation) -> bytes:
    """As our own input has it, with an empty label beside each fact."""
    row = msgspec.to_builtins(generation)
    row["facts"] = [
        {"text": fact.text, "sentence": fact.sentence, "label": fact.label} for fact in generation.facts or ()
    ]
    return msgspec.json.encode(row) + b"\n"


def _say(made: Plan, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(made).decode())
        return
    out = show.out()
    table = show.table("correlation of judge and people", "answers to label", right=("answers to label",))
    for correlation, n in made.needed.items():
        table.add_row(correlation, "more than there are" if n is None else str(n))
    out.print(f"for ±{made.half * 100:g} points, of {made.of} answers", markup=False)
    out.print(table)
    source = "measured on the labels" if made.measured else "the judge's scores stand for people's; nothing is labelled"
    out.print(f"scores spread by {made.spread * 100:.1f} points ({source})", markup=False, style="dim")


def _print(result: Correction) -> None:
    out = show.out()
    out.print(f"People's scores by the rule '{result.rule}', in points, {result.level:.0%} intervals", markup=False)
    for one in result.systems:
        first = one.estimates[0]
        out.print(f"\n{one.system}: {first.n} of {first.of} answers labelled", markup=False)
        out.print(_table(one.estimates))
        told = "" if one.agreement is None else f"; the judge's scores correlate with people's by {one.agreement:.2f}"
        out.print(f"scores spread by {one.spread * 100:.1f} points{told}", markup=False, style="dim")
        for note in one.notes:
            out.print(f"note: {note}", markup=False)
    for name, estimates in result.differences.items():
        out.print(f"\n{name}: {estimates[0].of} common prompts", markup=False)
        out.print(_table(estimates))
    out.print()
    for note in result.notes:
        out.print(f"note: {note}", markup=False)
    out.print(f"rule {result.rule}: {result.rule_words}", markup=False, style="dim")


def _table(estimates: Sequence[Estimate]) -> object:
    made = show.table("estimate", "score", "interval", "±", "", right=("score", "±"))
    for one in estimates:
        span = "" if one.low is None or one.high is None else f"{one.low * 100:.1f} to {one.high * 100:.1f}"
        half = "" if one.width is None else f"{one.width * 100:.1f}"
        power = "" if one.power is None else f"judge's weight {one.power:.2f}"
        value = "undefined" if one.value is None else f"{one.value * 100:.1f}"
        made.add_row(METHODS[one.method], value, span, half, "; ".join(filter(None, (power, one.note))))
    return made
