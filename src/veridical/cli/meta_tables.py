"""What `veridical meta` prints for people."""

from __future__ import annotations

from collections.abc import Sequence

from ..meta import LabelledSet, Measures, Paired, Responses, Trivial
from ..stats import Correlation
from . import show

COLUMNS = (
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


def printed(
    found: Sequence[Measures],
    beside: dict[str, list[Trivial]],
    answered: Sequence[Responses],
    compared: Sequence[Paired],
    sets: Sequence[LabelledSet],
) -> None:
    """The table, what it leaves out, comparisons, and what each set's labels mean."""
    out = show.out()
    made = show.table(*COLUMNS, right=COLUMNS[1:4] + COLUMNS[5:])
    for row in found:
        made.add_row(*_cells(row))
        for one in beside.get(row.set, ()):
            cells = (show.number(one.balanced_accuracy), "", "", "", show.number(one.f1, 2), show.number(one.auc, 2))
            made.add_row(f"  {one.name}", "", "", *cells, "", "", "", "", style="dim")
    out.print(made)
    for words in [
        *(line for row in found for line in _remarks(row)),
        *map(_answered, answered),
        *map(_paired, compared),
    ]:
        out.print(words, markup=False)
    for one in sets:
        if one.about:
            out.print(f"{one.name}: {one.about}; licence: {one.licence}", markup=False, style="dim")
    for note in dict.fromkeys(one.note for one in sets if one.note):
        out.print(note, markup=False, style="dim")


def _cells(row: Measures) -> tuple[str, ...]:
    shares = (row.recall_supported, row.recall_not_supported, row.f1, row.auc, row.ece)
    return (
        row.set,
        f"{row.n:,}",
        f"{row.coverage:.0%}",
        show.number(row.balanced_accuracy),
        show.span(row.low, row.high),
        *(show.number(one, 2) for one in shares),
        f"{row.calls:.1f}",
        f"{row.cost_per_1000:.2f}",
        "" if row.pairs_per_s is None else f"{row.pairs_per_s:.1f}",
    )


def _remarks(row: Measures) -> list[str]:
    told = []
    if row.seen:
        told.append("the embedded judge was trained on part of this set: its figures flatter it")
    if row.unjudged:
        wrong = show.number(row.balanced_accuracy_all)
        told.append(f"without a verdict: {show.reasons(row.unjudged)}; balanced accuracy were they wrong {wrong}")
    if row.balanced_accuracy is None and row.n:
        told.append("balanced accuracy is undefined: a class has no claim with a verdict")
    if row.auc is None and row.coverage:
        told.append("AUC and calibration are undefined: the judge gives no probabilities, or the set has one class")
    if row.balanced_accuracy_tuned is not None:
        tuned = show.number(row.balanced_accuracy_tuned)
        told.append(f"with a threshold of the probability from other clusters, balanced accuracy {tuned}")
    if "contradicted" in row.confusion:
        said = "; ".join(f"{label}: {show.reasons(counts)}" for label, counts in row.confusion.items())
        told.append(f"said of {said}")
    if row.pairs:
        ordered = "" if row.pairs_ordered is None else f", in the right order {row.pairs_ordered:.3f}"
        told.append(f"of {row.pairs} minimal pairs both right {row.pairs_right:.3f}{ordered}")
    if row.error_types:
        kinds = ", ".join(f"{name} {share:.2f} of {n}" for name, (n, share) in row.error_types.items())
        told.append(f"found by kind of error: {kinds}")
    return [f"{row.set}: {words}" for words in told]


def _answered(row: Responses) -> str:
    shares = {"accuracy": row.accuracy, "f1_factual": row.f1_factual, "f1_not_factual": row.f1_not_factual}
    spans = {name: show.span(*row.intervals.get(name, (None, None))) for name in shares}
    figures = ", ".join(f"{name.replace('_', ' ')} {show.number(one)} {spans[name]}" for name, one in shares.items())
    related = f"Pearson {_correlation(row.pearson)}, Spearman {_correlation(row.spearman)}"
    empty = "" if not row.empty else f"; {row.empty:,} more have no labelled claim and are not called factual"
    return (
        f"{row.set}: of {row.n:,} responses {row.factual:,} factual, {row.undecided:,} undecided; {figures}; "
        f"share not supported, over {row.rated:,}: {related}{empty}"
    )


def _correlation(one: Correlation) -> str:
    return "undefined" if one.value is None else f"{one.value:.3f} {show.span(one.low, one.high)}"


def _paired(pair: Paired) -> str:
    span = "" if pair.low is None else f" [{pair.low:+.3f}, {pair.high:+.3f}]"
    by = "undefined" if pair.difference is None else f"{pair.difference:+.3f}{span}"
    return (
        f"{pair.set}: this judge {show.number(pair.first)}, the other {show.number(pair.second)}, difference {by}; "
        f"right alone {pair.only_first} and {pair.only_second} of {pair.n} ({pair.left_out} left out), "
        f"McNemar p {pair.p:.4f}"
    )
