"""The table of a LongFact benchmark: what each system said, how much of it is supported, and F1@K (SAFE, table 30).

All figures are means over responses, as in the paper. So F1@K is not to be had from the means of its parts: it is the
mean of each response's own F1@K.

F1@K is 0 where nothing is supported (section 5), so an abstention counts 0 here, in the counts and recall too: a system
that answers only what it is sure of is not to win by that. Precision, which an abstention has none of, is over answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..metrics import parse
from ..recall import Choice, resolved
from ..scores import Group, Policy
from ..types import Report, Score, Struct, Usage

COUNTS = ("supported", "not_supported", "irrelevant")
KS = ("median", "max")
"""K as in the paper: out of the compared systems' own responses."""
PRECISION = "precision"


class Row(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One system."""

    system: str
    responses: int
    unjudged: int
    """Facts without a verdict."""
    scores: dict[str, Score]
    """By metric, each with its interval over prompts."""
    per_response: dict[str, float]
    """Means: calls, searches, tokens, US dollars and seconds of the judge; tokens and US dollars of the answer, 0 where
    the answers do not say."""


class Table(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """All systems, best F1 at the first K first."""

    metrics: tuple[str, ...]
    """Columns."""
    first: str
    """The one that systems are ranked by: F1 at the first K."""
    k: tuple[Choice, ...]
    """Where K comes from, if it comes from the data."""
    rows: tuple[Row, ...]


def table(
    runs: Sequence[tuple[str, Callable[[], Iterable[Report]]]],
    ks: Sequence[str] = KS,
    *,
    abstentions: str = "zero",
    level: float = 0.95,
    seed: int = 0,
) -> Table:
    """The table of runs of (system, its reports). `ks`: numbers, or rules of `recall.RULES`; K = 1 is always there.

    `abstentions`: "zero", or "exclude" for means over answers only. Raises UsageError for what is neither.
    """
    wanted = ["f1@1", *(f"recall@{k}" for k in ks), *(f"f1@{k}" for k in ks)]
    spellings, choices = resolved(wanted, lambda: [reports() for _, reports in runs])
    names = tuple(dict.fromkeys(parse(spelling).name for spelling in (*COUNTS, PRECISION, *spellings)))
    policy = Policy(level=level, seed=seed, abstentions=abstentions)
    rows = [_row(system, reports, names, policy) for system, reports in runs]
    first = parse(f"f1@{next((choice.k for choice in choices if choice.rule == ks[0]), ks[0])}").name
    rows.sort(key=lambda row: -(row.scores[first].value or 0.0))
    return Table(metrics=names, first=first, k=tuple(choices), rows=tuple(rows))


def _row(system: str, reports: Callable[[], Iterable[Report]], names: Sequence[str], policy: Policy) -> Row:
    group = Group([parse(name) for name in names if name != PRECISION], policy)
    answers = Group([parse(PRECISION)], dataclasses.replace(policy, abstentions="exclude"))
    usage = Usage()
    said: dict[str, float] = dict.fromkeys(("tokens", "cost"), 0.0)
    responses = unjudged = 0
    for report in reports():
        group.add(report)
        answers.add(report)
        usage += report.usage
        for name, value in _answer(report).items():
            said[name] += value
        responses += 1
        unjudged += sum(fact.verdict is None for fact in report.facts)
    found = dict(zip((name for name in names if name != PRECISION), group.scores(), strict=True))
    found[PRECISION] = answers.scores()[0]
    spent = {
        "calls": usage.calls,
        "searches": usage.searches,
        "tokens": usage.prompt_tokens + usage.completion_tokens,
        "cost": usage.cost,
        "seconds": usage.seconds,
        "answer_tokens": said["tokens"],
        "answer_cost": said["cost"],
    }
    return Row(
        system=system,
        responses=responses,
        unjudged=unjudged,
        scores={name: found[name] for name in names},
        per_response={name: total / max(responses, 1) for name, total in spent.items()},
    )


def _answer(report: Report) -> dict[str, float]:
    """What the answer took, where it says so (`generate` writes it)."""
    metadata = report.generation.metadata
    usage = metadata.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return {"tokens": _number(tokens), "cost": _number(metadata.get("cost"))}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < float("inf") else 0.0
