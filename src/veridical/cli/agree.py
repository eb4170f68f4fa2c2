"""`veridical agree`: runs against people's labels, and what labels alone say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ..agree import ALL, PAPER, Agreement, Correlated, Evaluator, FactAgreement, Figure, Human
from ..agree import agree as agreed
from ..errors import UsageError
from ..inputs import read
from ..types import Generation, Report
from . import show
from .options import AsJson
from .runs import Run, is_run, run_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)

COLUMNS = {
    "f1_micro": "F1-micro (not supp.)",
    "macro_f1": "macro-F1",
    "balanced_accuracy": "balanced acc.",
    "accuracy": "accuracy",
    "kappa": "kappa",
}
"""Figures in the tables; precision and recall stand under them."""


@app.command(
    help="Runs against people's labels: error rate, F1, balanced accuracy, agreement, ranking. Labels alone give the "
    "people's scores and what judges that read nothing would get.\n\n"
    "Example: veridical agree runs/chatgpt ChatGPT.jsonl"
)
def agree(
    paths: Annotated[
        list[Path], typer.Argument(help="Run folders, and files with labels (none for runs of --facts given).")
    ],
    rule: Annotated[str, typer.Option(help="How a response is counted: paper, irrelevant-in, irrelevant-out.")] = PAPER,
    match: Annotated[
        str,
        typer.Option(
            help="How verdicts meet labels: auto; given (the run judged the labelled facts), segments (its claims are "
            "rolled up to labelled stretches), content (facts worded alike)."
        ),
    ] = "auto",
    k: Annotated[int, typer.Option("--k", min=1, help="K of F1@K of the responses.")] = 64,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    folders = {path: run_at(path) for path in paths if is_run(path)}
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: neither a run folder nor a file with labels")
    result = agreed(
        _runs(folders.values()),
        [(_stem(path.name), _labels(path)) for path in paths if path not in folders],
        rule=rule,
        match=match,
        k=k,
        level=level,
        seed=seed,
    )
    if as_json:
        typer.echo(msgspec.json.encode(result).decode())
        return
    _print(result)


def _runs(folders: Iterable[Run]) -> Sequence[tuple[str, Iterable[Report]]]:
    """Each run under the name of its input, which is its system's where the generations do not say."""
    return [(_stem(folder.info().input), folder.reports()) for folder in folders]


def _stem(name: str) -> str:
    """ "ChatGPT" of "ChatGPT.jsonl.gz"."""
    return Path(name).name.split(".", 1)[0] or name


def _labels(path: Path) -> Iterable[Generation]:
    return read(str(path))


def _print(result: Agreement) -> None:
    out = show.out()
    rules = ", ".join(dict.fromkeys(human.rule for human in result.people))
    out.print(f"People's scores by the rule '{rules}', in points, {result.level:.0%} intervals", markup=False)
    out.print(_people(result.people))
    if any(human.rule != "sentences" for human in result.people):
        out.print(f"rule {result.rule}: {result.rule_words}", markup=False)
    for words in dict.fromkeys(human.score.rule for human in result.people if human.rule == "sentences"):
        out.print(f"rule of labelled sentences: {words}", markup=False)
    for human in result.people:
        for line in _about(human):
            out.print(f"  {human.system}: {line}", markup=False)
    out.print()
    _print_trivial(result)
    for evaluator in result.evaluators:
        out.print()
        _print_evaluator(evaluator, result)
    for note in result.notes:
        out.print(f"note: {note}", markup=False)


def _people(people: Sequence[Human]) -> object:
    columns = ("system", "responses", "% answered", "facts", "unique", "S", "NS", "IR", "facts a response", "score")
    made = show.table(*columns, "interval", right=columns[1:])
    for human in people:
        score = human.score
        made.add_row(
            human.system,
            str(score.n),
            points(human.response_rate, 1),
            str(human.facts),
            str(human.unique),
            *(str(human.labels[label]) for label in ("supported", "not_supported", "irrelevant")),
            show.number(human.facts_per_response, 1),
            points(score.value),
            span(score.low, score.high),
        )
    return made


def _about(human: Human) -> list[str]:
    """What is not in the table."""
    lines = []
    if human.shares:
        shares = ", ".join(f"{label.replace('_', ' ')} {points(share, 1)}" for label, share in human.shares.items())
        lines.append(f"% of a response's facts, mean over all responses: {shares}")
    if human.irrelevant_sentences:
        facts = human.irrelevant_sentence_facts
        lines.append(f"{human.irrelevant_sentences} irrelevant sentences with {facts} facts that a model found in them")
    if human.unlabelled:
        lines.append(f"{human.unlabelled} facts without a label")
    if human.not_labelled:
        lines.append(f"{human.not_labelled} responses without labels")
    if human.score.no_claims:
        lines.append(f"{human.score.no_claims} answers with nothing that the rule counts")
    return lines


def _print_trivial(result: Agreement) -> None:
    """Judges that read nothing, on all that people labelled."""
    out = show.out()
    out.print("Judges that read nothing, against these labels", markup=False)
    systems = [human.system for human in result.people if human.score.value is not None]
    made = show.table("judge", *(f"error rate {system}" for system in systems), "ranking kept")
    for trivial in result.trivial_scores:
        made.add_row(trivial.name, *(f"{trivial.error_rates[system]:.1f}" for system in systems), kept(trivial.kept))
    out.print(made)
    if not result.trivial_facts or any(evaluator.facts for evaluator in result.evaluators):
        return  # they stand beside the run's own figures
    made = show.table("system", "judge", *COLUMNS.values(), right=tuple(COLUMNS.values()))
    for system, judges in result.trivial_facts.items():
        for name, figures in judges.items():
            made.add_row(system, name, *(cell(figure, figures[figure]) for figure in COLUMNS))
    out.print(made)


def _print_evaluator(evaluator: Evaluator, result: Agreement) -> None:
    out = show.out()
    out.print(f"Run {evaluator.name or '(unsigned)'}", markup=False)
    columns = ("system", "responses", "people", "run", "error rate", "off by", "interval", "", "Pearson", "Spearman")
    made = show.table(*columns, right=("responses", "people", "run", "error rate", "off by"))
    for gap in evaluator.gaps:
        made.add_row(
            gap.system,
            str(gap.n),
            points(gap.human),
            points(gap.estimated),
            show.number(gap.error_rate, 2),
            "–" if gap.gap is None else f"{gap.gap:+.2f}",
            "–" if gap.low is None or gap.high is None else f"[{gap.low:+.2f}, {gap.high:+.2f}]",
            gap.mark,
            correlation(gap.pearson.value, gap.pearson.low, gap.pearson.high),
            correlation(gap.spearman.value, gap.spearman.low, gap.spearman.high),
        )
    out.print(made)
    for gap in evaluator.gaps:
        if gap.left_out:
            out.print(f"  {gap.system}: not compared: {show.reasons(gap.left_out)}", markup=False)
        bounds = gap.estimated_bounds
        if bounds and bounds[1] - bounds[0] > 1e-9:
            between = f"{points(bounds[0])} and {points(bounds[1])}"
            out.print(f"  {gap.system}: with its unscored facts the run lies between {between}", markup=False)
        trivial = [f"{name} {show.number(found['pearson'], 2)}" for name, found in gap.trivial.items()]
        out.print(
            f"  {gap.system}: Pearson with the people's scores without a judge: {', '.join(trivial)}", markup=False
        )
    _print_ranking(evaluator)
    if evaluator.responses:
        _print_responses(evaluator.responses)
    if evaluator.facts:
        _print_facts(evaluator.facts)
    for note in evaluator.notes:
        out.print(f"note: {note}", markup=False)


def _print_ranking(evaluator: Evaluator) -> None:
    ranking, out = evaluator.ranking, show.out()
    if ranking.kept is None:
        return
    out.print(
        f"ranking {'kept' if ranking.kept else 'not kept'} ({ranking.pairs_kept} of {ranking.pairs} pairs): "
        f"people {' > '.join(ranking.human)}; run {' > '.join(ranking.estimated)}",
        markup=False,
    )
    if ranking.pearson is not None:
        out.print(f"Pearson over the {len(ranking.human)} systems {ranking.pearson:.4f}", markup=False)


def _print_responses(responses: Sequence[Correlated]) -> None:
    out = show.out()
    out.print()
    out.print("Response by response: does the run's figure follow people's?", markup=False)
    columns = ("system", "figure", "people", "run", "Pearson", "Spearman", "words alone", "sentences alone")
    made = show.table(*columns, right=("people", "run"))
    for one in responses:
        scale = 100.0 if one.what.startswith("f1@") else 1.0
        both = (correlation(found.value, found.low, found.high) for found in (one.pearson, one.spearman))
        alone = (
            " / ".join(show.number(found[how].value) for how in ("pearson", "spearman"))
            for found in one.trivial.values()
        )
        figures = (f"{scale * one.people:.1f}", f"{scale * one.run:.1f}")
        made.add_row(one.system, one.what.replace("_", " "), *figures, *both, *alone)
    out.print(made)
    out.print(
        "  alone: Pearson / Spearman of people's figure with the length of the response", markup=False, style="dim"
    )
    for one in (one for one in responses if one.what == "facts"):
        if one.left_out:
            out.print(f"  {one.system}: responses left out: {show.reasons(one.left_out)}", markup=False)
        if one.unjudged:
            told = f"{one.unjudged} facts without a verdict are in the number of facts only"
            out.print(f"  {one.system}: {told}", markup=False)


def _print_facts(facts: Sequence[FactAgreement]) -> None:
    out = show.out()
    out.print()
    out.print("Fact by fact; irrelevant counts as not supported", markup=False)
    made = show.table("system", "judge", "facts", *COLUMNS.values(), right=("facts", *COLUMNS.values()))
    for one in facts:
        name = "all pooled" if one.system == ALL else one.system
        scored = f"{one.scored} of {one.facts}"
        made.add_row(name, "the run", scored, *(cell(figure, one.figures[figure].value) for figure in COLUMNS))
        made.add_row("", "  interval", "", *(_interval(figure, one.figures[figure]) for figure in COLUMNS))
        if one.scored < one.facts:
            made.add_row(
                "", "  unscored wrong / right", "", *(_settled(figure, one.figures[figure]) for figure in COLUMNS)
            )
        for judge, figures in one.trivial.items():
            made.add_row("", judge, "", *(cell(figure, figures[figure]) for figure in COLUMNS))
    out.print(made)
    for one in facts:
        out.print(f"  {_line(one)}", markup=False)
        if one.unscored:
            out.print(f"  {one.system}: without verdict: {show.reasons(one.unscored)}", markup=False)
    _print_confusion(facts)


def _line(one: FactAgreement) -> str:
    found, right = points(one.figures["recall"].value), points(one.figures["precision"].value)
    same = f"{points(one.agreement.value)} {span(one.agreement.low, one.agreement.high)}"
    return (
        f"{one.system}: precision {right}, recall {found} of not supported; same of three labels {same}; "
        f"{one.prompts} prompts resampled"
    )


def _interval(name: str, figure: Figure) -> str:
    return show.span(figure.low, figure.high) if name == "kappa" else span(figure.low, figure.high)


def _settled(name: str, figure: Figure) -> str:
    return f"{cell(name, figure.if_wrong)} / {cell(name, figure.if_right)}"


def _print_confusion(facts: Sequence[FactAgreement]) -> None:
    """People's labels against the run's."""
    columns = ("supported", "not supported", "irrelevant", "unscored")
    made = show.table("system", "people say", *(f"run: {column}" for column in columns), right=columns)
    for one in facts:
        for label, row in one.confusion.items():
            name = one.system if label == "supported" else ""
            made.add_row(name, label.replace("_", " "), *(str(row[column.replace(" ", "_")]) for column in columns))
    show.out().print(made)


def kept(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"


def cell(figure: str, value: float | None) -> str:
    """A figure for a table: kappa as it is, the others in points."""
    if figure != "kappa" or value is None:
        return points(value)
    return f"{value if abs(value) >= 0.0005 else 0.0:.3f}"


def points(value: float | None, digits: int = 2) -> str:
    """A share in points; "undefined" is no number."""
    return "undefined" if value is None else f"{100 * value:.{digits}f}"


def span(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"[{100 * low:.2f}, {100 * high:.2f}]"


def correlation(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.2f}" + ("" if low is None or high is None else f" [{low:.2f}, {high:.2f}]")
