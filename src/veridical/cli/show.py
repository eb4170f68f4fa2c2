"""Tables for people. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import rich.box
import rich.console
import rich.table
from rich.markup import escape
from rich.text import Text

from ..types import JudgedFact, Label, Passage, Report, Score, Vote

_NAMED = 3
"""Votes that are shown by the judges' names; of more only how many said what."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MARKS = {
    Label.SUPPORTED: ("✓ supported", "green"),
    Label.CONTRADICTED: ("✗ contradicted", "red"),
    Label.NOT_ENOUGH_EVIDENCE: ("? not enough evidence", "yellow"),
    Label.IRRELEVANT: ("- irrelevant", "dim"),
}


def out() -> rich.console.Console:
    """stdout; plain and wide when it is not a terminal, so that nothing is cut in a pipe."""
    console = rich.console.Console(highlight=False)
    return console if console.is_terminal else rich.console.Console(highlight=False, width=_width())


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) >= 40 else 160


def err() -> rich.console.Console:
    """stderr, for progress and remarks."""
    return rich.console.Console(stderr=True, highlight=False)


def table(*columns: str, right: Sequence[str] = ()) -> rich.table.Table:
    made = rich.table.Table(box=rich.box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        side = "right" if column in right else "left"
        made.add_column(column, justify=side, overflow="fold", no_wrap=column == "metric")
    return made


def printable(text: str) -> str:
    """The text without control characters, which a terminal would obey."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def span(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def reasons(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason} {n}" for reason, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def scores(results: Sequence[Score]) -> rich.table.Table:
    """One row a metric: value, interval, denominators, bounds."""
    level = f"{results[0].level:.0%} interval" if results else "interval"
    made = table("metric", "value", level, "scored", "with the unscored counted", right=("value", "scored"))
    for score in results:
        if not score.unscored and not score.unjudged:
            bounds = "nothing unscored"
        else:
            bounds = "–" if score.bounds is None else "between {:.3f} and {:.3f}".format(*score.bounds)
        denominator = f"{score.scored} of {score.n}"
        made.add_row(score.name, number(score.value), span(score.low, score.high), denominator, bounds)
    return made


def denominators(score: Score) -> list[str]:
    """In words: who is in the number and who is not."""
    left_out = score.n - score.scored
    lines = [f"{score.scored} of {score.n} generations scored" + (f", {left_out} not" if left_out else "")]
    if score.abstained:
        rate = f"response rate {1 - score.abstained / score.n:.3f}"
        zero = "" if score.value is None else f"; counted as 0 they make {score.name} {_with_zeros(score):.3f}"
        lines.append(f"  abstained {score.abstained} ({rate}{zero})")
    if score.no_claims:
        lines.append(f"  without claims {score.no_claims}")
    if score.unscored:
        lines.append(f"  unscored {sum(score.unscored.values())}: {reasons(score.unscored)}")
    facts = f"{score.facts_judged} of their {score.facts} facts judged"
    lines.append(facts + (f"; without verdict: {reasons(score.unjudged)}" if score.unjudged else ""))
    return lines


def _with_zeros(score: Score) -> float:
    """The mean over answers and abstentions."""
    with_value = score.n - score.no_claims - sum(score.unscored.values())
    return (score.value or 0.0) * score.scored / with_value


def facts(report: Report) -> rich.table.Table:
    """Each fact with its verdict, the quoted evidence and its source."""
    made = table("fact", "verdict", "p", "evidence", "source", right=("p",))
    for judged in report.facts:
        evidence = "\n".join(filter(None, (_quote(judged), _votes(judged), _skipped(judged))))
        cells = [escape(printable(text)) for text in (judged.fact.text, evidence, _source(judged))]
        made.add_row(cells[0], *_verdict(judged), *cells[1:])
    return made


def _verdict(judged: JudgedFact) -> tuple[Text, str]:
    if judged.verdict is None:
        failure = judged.failure
        return Text(f"! unscored: {failure.error if failure else ''}", style="magenta"), ""
    words, style = MARKS[judged.verdict.label]
    probability = judged.verdict.probability
    return Text(words, style=style), "" if probability is None else f"{probability:.2f}"


def _quote(judged: JudgedFact) -> str:
    if judged.verdict is None:
        return judged.failure.message if judged.failure else ""
    passages = {passage.id: passage for passage in judged.evidence.passages}
    quotes = [passages[q.passage].text[q.start : q.end] for q in judged.verdict.quotes if q.passage in passages]
    return " … ".join(quotes) or judged.verdict.rationale or ""


def _votes(judged: JudgedFact) -> str:
    """What several judges said: each by name, or of many how many said what."""
    said = judged.verdict or judged.failure
    votes = said.votes if said else ()
    words = [
        one.label.value.replace("_", " ") if one.label else "failed" if one.failure else "not asked" for one in votes
    ]
    if len(votes) > _NAMED:
        return "votes: " + ", ".join(f"{n} {word}" for word, n in Counter(words).most_common())
    told = (f"{one.judge} {word}{_probability(one)}" for one, word in zip(votes, words, strict=True))
    return f"votes: {', '.join(told)}" if votes else ""


def _probability(one: Vote) -> str:
    return "" if one.probability is None else f" ({one.probability:.2f})"


def _skipped(judged: JudgedFact) -> str:
    """What was found and left out: the first, and how many more."""
    skipped = judged.evidence.skipped
    more = f"; {len(skipped) - 1} more" if len(skipped) > 1 else ""
    return f"left out: {skipped[0]}{more}" if skipped else ""


def _source(judged: JudgedFact) -> str:
    ids = {quote.passage for quote in judged.verdict.quotes} if judged.verdict else set()
    cited = [p for p in judged.evidence.passages if p.id in ids] or judged.evidence.passages[:1]
    return ", ".join(dict.fromkeys(map(_named, cited)))


def _named(passage: Passage) -> str:
    """Title and address, or where there is none the knowledge source."""
    where = passage.url or passage.source
    return f"{passage.title or passage.id} ({where})" if where and where != passage.id else passage.title or passage.id


def verdicts(reports: Iterable[Report]) -> Counter[str]:
    """How many facts have which verdict; those without one under "unscored"."""
    return Counter(
        judged.verdict.label.value if judged.verdict else "unscored" for report in reports for judged in report.facts
    )
