"""Tables of `veridical analyse` for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rich.console
import rich.table

from ..analysis import (
    Citations,
    Coverage,
    Curve,
    Estimate,
    Estimators,
    Groups,
    Leaders,
    Overview,
    Positions,
    Rarity,
    Share,
    Stability,
)
from ..compare import Comparison
from ..types import Score
from . import show

_NONE = "(none)"


def show_all(out: rich.console.Console, found: dict[str, Any]) -> None:
    """All of what `analyse` found, then what it left out."""
    out.print(f"metric: {found['metric']}", markup=False)
    for choice in found["k"]:
        out.print(choice.words, markup=False)
    _overviews(out, found["runs"])
    for run in found["runs"]:
        for made in run["groups"]:
            _groups(out, run["name"], made)
        if "positions" in run:
            _positions(out, run["name"], run["positions"])
        for made in run["rarity"]:
            _rarity(out, run["name"], made)
        if "curve" in run:
            _curve(out, run["name"], run["curve"])
        if "citations" in run:
            _citations(out, run["name"], run["citations"])
    if "leaders" in found:
        _leaders(out, found["leaders"])
    if "stability" in found:
        _stability(out, found["stability"])
    if "ranking" in found:
        _ranking(out, found["ranking"])
    if "estimators" in found:
        _estimators(out, found["estimators"])
    for name, why in found["left_out"].items():
        out.print(f"left out: {name}: {why}", markup=False, style="dim")


def _curve(out: rich.console.Console, name: str, found: Curve | None) -> None:
    _title(out, name, "F1@K")
    if found is None:
        out.print("no response has a fact with a verdict", markup=False)
        return
    made = show.table("K", "F1@K", "interval", "recall@K", right=("K", "F1@K", "recall@K"))
    for point in found.points:
        made.add_row(str(point.k), show.number(point.f1), show.span(point.low, point.high), show.number(point.recall))
    out.print(made)
    left = {"abstained": found.abstained, "without claims": found.no_claims, **found.unscored}
    told = ", ".join(f"{why} {n}" for why, n in left.items() if n)
    out.print(
        f"precision {show.number(found.precision)}; {found.responses} responses, at most {found.most} relevant facts"
        + (f"; left out: {told}" if told else "")
        + (f"; {found.unjudged} facts without a verdict count nowhere" if found.unjudged else ""),
        markup=False,
        style="dim",
    )


def _leaders(out: rich.console.Console, found: Leaders) -> None:
    _title(out, f"highest F1@K on {found.prompts} common prompts")
    made = show.table("K", "system", "ahead by at least", right=("ahead by at least",))
    for span in found.spans:
        ks = str(span.first) if span.first == span.last else f"{span.first} to {span.last}"
        made.add_row(ks, show.printable(" = ".join(span.systems)), show.number(span.lead))
    made.add_row("without end", show.printable(" = ".join(found.limit)), "")
    out.print(made)
    if len(found.spans) > 1:
        out.print(
            "who wins depends on K; near a border the difference is as small as chance", markup=False, style="dim"
        )


def _title(out: rich.console.Console, *words: str) -> None:
    out.print()
    out.print(": ".join(show.printable(word) for word in words), markup=False, style="bold")


def _overviews(out: rich.console.Console, runs: Sequence[dict[str, Any]]) -> None:
    _title(out, "responses")
    first: Overview = runs[0]["overview"]
    names = [score.name for score in first.scores]
    columns = ("run", *names[:1], "interval", *names[1:], "words", "sentences", "facts / sentence", "n", "unscored")
    made = show.table(*columns, right=(*names, *columns[-5:]))
    labels = show.table("run", *first.labels, right=tuple(first.labels)) if first.labels else None
    for run in runs:
        row: Overview = run["overview"]
        head = row.scores[0]
        made.add_row(
            show.printable(run["name"]),
            show.number(head.value),
            show.span(head.low, head.high),
            *(show.number(score.value, 1 if score.name == "facts" else 3) for score in row.scores[1:]),
            *(show.number(found.value, 1) for found in (row.words, row.sentences, row.facts_per_sentence)),
            str(head.n),
            _unscored(head),
        )
        if labels:
            labels.add_row(show.printable(run["name"]), *(show.number(row.labels.get(name)) for name in first.labels))
    out.print(made)
    if labels:
        out.print("verdicts, mean share of a response, abstentions counted:", markup=False)
        out.print(labels)
    out.print(f"{first.scores[0].name}: {first.scores[0].rule}", markup=False, style="dim")


def _groups(out: rich.console.Console, run: str, found: Groups) -> None:
    _title(out, run, f"by {' and '.join(found.fields)}")
    names = found.metrics
    columns = (*found.fields, *names[:1], "interval", *names[1:], "scored", "unscored", "")
    made = show.table(*columns, right=(*names, "scored"))
    for group in (*found.groups, found.overall):
        head = group.scores[0]
        levels = [show.printable(level) or _NONE for level in group.levels] or ["all", *[""] * (len(found.fields) - 1)]
        made.add_row(
            *levels,
            show.number(head.value),
            show.span(head.low, head.high),
            *(show.number(score.value, 1 if score.name == "facts" else 3) for score in group.scores[1:]),
            f"{head.scored} of {head.n}",
            _unscored(head),
            "too few" if group.few else "",
        )
    out.print(made)


def _positions(out: rich.console.Console, run: str, found: Positions) -> None:
    _title(out, run, "along the response")
    made = show.table(
        "part", "supported", "interval", "facts", "left out", "", right=("supported", "facts", "left out")
    )
    for bin_ in found.bins:
        name = f"{bin_.start:.0%} to {bin_.end:.0%}"
        made.add_row(name, *_share(bin_.share), str(bin_.left_out), _few(bin_.share))
    out.print(made)
    out.print(
        f"from start to end {_estimate(found.slope)} (slope); last minus first {_estimate(found.last_minus_first)}"
    )
    out.print(f"{found.unit}; {found.rule}", markup=False, style="dim")
    _coverage(out, found.coverage)


def _rarity(out: rich.console.Console, run: str, found: Rarity) -> None:
    _title(out, run, f"by rarity: {found.field}")
    made = show.table(found.field, found.metric, "interval", "scored", "unscored", "", right=(found.metric, "scored"))
    for step in found.steps:
        score = step.score
        made.add_row(
            show.printable(step.name),
            show.number(score.value),
            show.span(score.low, score.high),
            f"{score.scored} of {score.n}",
            _unscored(score),
            "too few" if step.few else "",
        )
    out.print(made)
    each = "tenfold" if found.kind == "number" else "level"
    rho = found.spearman
    out.print(
        f"Spearman {show.number(rho.value)} {show.span(rho.low, rho.high)} over {rho.n} prompts; "
        f"per {each} {_estimate(found.slope)}; without the field {found.without}",
        markup=False,
    )


def _citations(out: rich.console.Console, run: str, found: Citations) -> None:
    _title(out, run, f"citations ({found.marks} marks)")
    made = show.table("", "cited", "interval", "of", "", right=("cited", "of"))
    for name, share in found.sentences.items():
        made.add_row(f"sentences, {name}", *_share(share), _few(share))
    for name, share in found.facts.items():
        made.add_row(f"facts, {name}", *_share(share), _few(share))
    out.print(made)
    support = show.table("facts", "supported", "interval", "of", "", right=("supported", "of"))
    support.add_row("in cited sentences", *_share(found.cited), _few(found.cited))
    support.add_row("in others", *_share(found.uncited), _few(found.uncited))
    support.add_row("difference", *_cells(found.difference), "", "")
    out.print(support)
    out.print(found.rule, markup=False, style="dim")
    _coverage(out, found.coverage)


def _stability(out: rich.console.Console, found: Stability) -> None:
    evenly = f", drawn evenly by {found.category}" if found.category else ""
    _title(out, f"stability over subsets of {found.prompts} prompts{evenly}, seed {found.seed}")
    sizes = [f"{size.n} prompts" for size in found.sizes]
    made = show.table("system", "all", "scored", *sizes, right=("all", "scored", *sizes))
    for place, full in enumerate(found.full):
        spreads = [size.systems[place] for size in found.sizes]
        cells = [f"{show.number(spread.mean)} ± {show.number(spread.sd)}" for spread in spreads]
        made.add_row(show.printable(full.system), show.number(full.value), str(full.scored), *cells)
    if len(found.full) > 1:
        made.add_row("same ranking", "", "", *(show.number(size.same_ranking) for size in found.sizes))
        made.add_row("Kendall's tau", "", "", *(show.number(size.kendall) for size in found.sizes))
    out.print(made)
    lacking = [size for size in found.sizes if size.ranked < size.subsets and len(found.full) > 1]
    for size in lacking:
        out.print(f"{size.subsets - size.ranked} of {size.subsets} subsets of {size.n} left a system without a score")
    if found.too_large:
        out.print(f"no subset of {', '.join(map(str, found.too_large))} can be drawn out of {found.prompts} prompts")
    out.print("mean ± standard deviation over subsets; other prompts would differ more", style="dim")


def _ranking(out: rich.console.Console, found: Comparison) -> None:
    _title(out, f"ranking on {found.n} common prompts")
    made = show.table("rank", "system", found.metric, "interval", right=("rank", found.metric))
    for system in found.systems:
        span = show.span(system.low, system.high)
        made.add_row(str(system.rank), show.printable(system.name), show.number(system.value), span)
    out.print(made)
    if found.left_out:
        out.print(f"left out: {show.reasons(found.left_out)}", markup=False)
    for note in found.notes:
        out.print(f"note: {note}", markup=False)


def _estimators(out: rich.console.Console, found: Estimators) -> None:
    _title(out, "two estimators")
    made = show.table("system", "first", "second", "difference", right=("first", "second", "difference"))
    for name, first, second in found.systems:
        made.add_row(show.printable(name), show.number(first), show.number(second), f"{first - second:+.3f}")
    out.print(made)
    for over, pair in (("systems", found.over_systems), ("responses", found.over_responses)):
        if pair:
            told = f"Pearson {show.number(pair.pearson.value, 4)} {show.span(pair.pearson.low, pair.pearson.high)}"
            told += f", Spearman {show.number(pair.spearman.value, 4)}, Kendall {show.number(pair.kendall, 4)}"
            out.print(f"over {pair.pearson.n} {over}: {told}", markup=False)
    out.print(f"ranking {'the same' if found.same_ranking else 'not the same'}", markup=False)
    if found.left_out:
        out.print(f"left out: {show.reasons(found.left_out)}", markup=False)
    if found.one_sided:
        out.print(f"seen by one estimator only: {', '.join(found.one_sided)}", markup=False)


def _share(share: Share) -> tuple[str, str, str]:
    return show.number(share.value), show.span(share.low, share.high), str(share.n)


def _cells(found: Estimate) -> tuple[str, str]:
    value = "–" if found.value is None else f"{found.value:+.3f}"
    return value, show.span(found.low, found.high)


def _estimate(found: Estimate) -> str:
    return " ".join(_cells(found))


def _few(share: Share) -> str:
    return "too few" if share.few else ""


def _unscored(score: Score) -> str:
    """Abstentions, answers without claims and failures in words."""
    parts = {"abstained": score.abstained, "no claims": score.no_claims, **score.unscored}
    return show.reasons({name: n for name, n in parts.items() if n}) or "–"


def _coverage(out: rich.console.Console, found: Coverage) -> None:
    parts = {"abstained": found.abstained, "no claims": found.no_claims, **found.unscored}
    left = show.reasons({name: n for name, n in parts.items() if n})
    unjudged = f"; facts without verdict: {show.reasons(found.unjudged)}" if found.unjudged else ""
    told = f"{found.facts} facts of {found.scored} of {found.n} generations" + (f" ({left})" if left else "")
    out.print(told + unjudged, markup=False, style="dim")
