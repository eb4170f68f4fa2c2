"""The table of a LongFact benchmark: what each system said, how much of it is supported, and F1@K (SAFE, table 30).

All figures are means over responses, as in the paper. So F1@K is not to be had from the means of its parts: it is the
mean of each response's own F1@K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..metrics import parse
from ..recall import Choice, resolved
from ..scores import scores
from ..types import Report, Score, Struct, Usage

COUNTS = ("supported", "not_supported", "irrelevant")
KS = ("median", "max")
"""K as in the paper: out of the compared systems' own responses."""


class Row(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One system."""

    system: str
    responses: int
    unjudged: int
    """Facts without a verdict."""
    scores: dict[str, Score]
    """By metric, each with its interval over prompts."""
    per_response: dict[str, float]
    """Means of calls, searches, tokens, US dollars and seconds."""


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
    level: float = 0.95,
    seed: int = 0,
) -> Table:
    """The table of runs of (system, its reports). `ks`: numbers, or rules of `recall.RULES`; K = 1 is always there.

    Raises UsageError for what is neither.
    """
    wanted = ["f1@1", *(f"recall@{k}" for k in ks), *(f"f1@{k}" for k in ks)]
    spellings, choices = resolved(wanted, lambda: [reports() for _, reports in runs])
    names = tuple(parse(spelling).name for spelling in (*COUNTS, "precision", *spellings))
    rows = [_row(system, reports, names, level, seed) for system, reports in runs]
    first = parse(f"f1@{next((choice.k for choice in choices if choice.rule == ks[0]), ks[0])}").name
    rows.sort(key=lambda row: -(row.scores[first].value or 0.0))
    return Table(metrics=names, first=first, k=tuple(choices), rows=tuple(rows))


def _row(system: str, reports: Callable[[], Iterable[Report]], names: Sequence[str], level: float, seed: int) -> Row:
    usage, responses, unjudged = Usage(), 0, 0
    for report in reports():
        usage += report.usage
        responses += 1
        unjudged += sum(fact.verdict is None for fact in report.facts)
    found = scores(reports(), [parse(name) for name in names], level=level, seed=seed)
    return Row(
        system=system,
        responses=responses,
        unjudged=unjudged,
        scores=dict(zip(names, found, strict=True)),
        per_response={
            "calls": usage.calls / max(responses, 1),
            "searches": usage.searches / max(responses, 1),
            "tokens": (usage.prompt_tokens + usage.completion_tokens) / max(responses, 1),
            "cost": usage.cost / max(responses, 1),
            "seconds": usage.seconds / max(responses, 1),
        },
    )
