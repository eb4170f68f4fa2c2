"""The figures as text: rows for people, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .counts import CURVES, METRICS
from .items import LENGTH_NAMES, Policy, settled
from .measures import Figures, Scores
from .records import Gold, Prediction, Said, Sample

SHOWN = {
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "balanced_accuracy": "bal. acc.",
    "f1_factual": "F1 factual",
    "accuracy": "acc.",
    "mcc": "MCC",
    "auc_roc": "AUC",
}
"""Value -> heading. The positive class is error."""
WITH_INTERVAL = ("f1", "balanced_accuracy")
LEAK = (
    "that a sample has a reference says something of its label already (science: 29 of 70 wrong with one, 10 of 55 "
    "without; writing_rec: 42 of 73, 5 of 63): read the row 'with evidence', not 'all'"
)
WAYS = {"as factual": "factual", "excluded": "excluded", "none": ""}
HEADINGS = ("scope", "abstain is", "n", "wrong", "coverage", *SHOWN.values(), "flag all F1")


def rows(scores: Scores, level: str, *, slices: bool = True) -> list[tuple[str, ...]]:
    """Cells under `HEADINGS` of the figures and then the baselines of a level; without `slices` not those by length."""
    chosen = [
        one for one in scores.figures if one.level == level and one.n and (slices or one.scope not in LENGTH_NAMES)
    ]
    chosen += [one for one in scores.baselines if one.level == level]
    return [_cells(one) for one in chosen]


def _cells(one: Figures) -> tuple[str, ...]:
    shown = [_value(one, name) for name in SHOWN]
    coverage = "–" if one.coverage is None else _short(one.coverage)
    share = one.wrong / one.n if one.n else 0.0
    counted = (f"{one.n:,}", f"{one.wrong:,}", coverage)
    return (one.scope, WAYS[one.abstentions], *counted, *shown, _short(2 * share / (1 + share)))


def _value(one: Figures, name: str) -> str:
    value, span = one.values.get(name), one.intervals.get(name)
    if value is None:
        return "–"
    text = _short(value) + ("*" if name in one.undefined else "")
    return f"{text} [{_short(span[0])} {_short(span[1])}]" if span and name in WITH_INTERVAL else text


def _short(value: float) -> str:
    """Three digits without the 0 before the point, so that a row fits a screen."""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def remarks(scores: Scores) -> Iterator[str]:
    """What must be known to read the figures, a line each."""
    if scores.missing:
        yield f"unfinished: {scores.missing} of {scores.samples + scores.missing} samples have no prediction"
    if scores.substituted:
        done = ", ".join(f"{name} {n}" for name, n in scores.done.items())
        why = ", ".join(f"{name} {n}" for name, n in scores.substituted.items())
        yield f"substituted ({why}); done: {done}; 'all' and the domain mean have the substitutes in them"
    if scores.abstained:
        yield "abstained on segments: " + ", ".join(f"{name} {n}" for name, n in scores.abstained.items())
    if scores.abstained.get("no_evidence"):
        yield LEAK
    if scores.claims or scores.uncovered:
        counted = "are abstained on" if scores.policy.uncovered is Said.ABSTAIN else "count as factual"
        yield f"{scores.claims:,} claims; {scores.uncovered} segments without one {counted}"
    if scores.asked:
        yield f"{scores.unread} of {scores.asked} answers could not be read ({scores.unread / scores.asked:.1%})"
    if scores.unlabelled:
        yield f"{scores.unlabelled} segments without a label, or of a type that is left out, are in no figure"
    if any(one.undefined for one in scores.figures):
        yield "*: 0/0, given as 0"
    yield f"the positive class is error; intervals at {scores.level:.0%} by bootstrap over responses"
    yield from (f"{one.scope}: {one.note}" for one in scores.baselines if one.note)


def markdown(scores: Scores, title: str) -> str:
    """Both levels, error types, remarks."""
    parts = [f"# {title}", ""]
    for level in ("segment", "response"):
        parts += [f"## {level} level", "", *_markdown_table(HEADINGS, rows(scores, level)), ""]
    parts += ["## recall by error type", ""]
    typed = [(one.type, str(one.wrong), str(one.flagged), f"{one.recall or 0:.3f}") for one in scores.by_type]
    parts += [*_markdown_table(("type", "wrong", "flagged", "recall"), typed), ""]
    return "\n".join([*parts, *(f"- {line}" for line in remarks(scores)), ""])


def _markdown_table(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    lines = [headings, ["---"] * len(headings), *cells]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]


def misses(
    samples: Sequence[Sample], predictions: Mapping[int, Prediction], policy: Policy
) -> Iterator[dict[str, Any]]:
    """Each segment that was judged wrongly or not at all, with what people say of it."""
    for sample in samples:
        if made := predictions.get(sample.id):
            for unit, one in zip(sample.units, settled(sample, made, policy), strict=True):
                if unit.label is not Gold.UNKNOWN and one.said.value != unit.label.value:
                    about = {"id": sample.id, "domain": sample.domain, "prompt": sample.prompt, "segment": unit.text}
                    people = {"label": unit.label, "error_type": unit.error_type, "reason": unit.reason}
                    yield about | people | {"said": one.said, "why": one.why, "score": one.score}


def csv_text(scores: Scores) -> str:
    """Every row with every value and interval."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = (*METRICS, *CURVES)
    bounds = [f"{name}_{end}" for name in names for end in ("low", "high")]
    fields = (
        "scope",
        "level",
        "abstentions",
        "responses",
        "n",
        "wrong",
        "coverage",
        "tp",
        "fp",
        "fn",
        "tn",
        "undefined",
    )
    writer.writerow([*fields, *names, *bounds])
    for one in (*scores.figures, *scores.baselines):
        cells = one.confusion
        counted = [cells.tp, cells.fp, cells.fn, cells.tn] if cells else [""] * 4
        spans = [end for name in names for end in (one.intervals.get(name) or ("", ""))]
        head = [one.scope, one.level, one.abstentions, one.responses, one.n, one.wrong, one.coverage]
        values = ["" if one.values.get(name) is None else one.values[name] for name in names]
        writer.writerow([*head, *counted, " ".join(one.undefined), *values, *spans])
    return out.getvalue()
