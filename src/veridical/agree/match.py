"""Which report is about which labelled response, and which verdict about which labelled fact.

A report is about a labelled response where its text is the same; of several with that text, the one that answers the
same prompt. Nothing else is a match: another answer to the same prompt has other claims.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ..scores import task
from ..tally import reason, trouble
from ..text.normal import content_key, fold
from ..types import Evidence, JudgedFact, Report
from .people import Gold, Labelled, key, three

ABSENT = "not among the run's facts"
NO_REPORT = "not in the run"
OTHER_TEXT = "another answer to the same prompt"
NOT_LABELLED = "no labels for it"


@dataclass(frozen=True)
class Row:
    """A labelled fact and what the run says of it."""

    gold: str
    """supported, not_supported, irrelevant."""
    verdict: str | None
    """One of the same, or None: unscored."""
    reason: str = ""
    """Why it is unscored."""
    assumed: bool = False
    """The run claims nothing here, which counts as supported (see `pairing.rolled`)."""


@dataclass(frozen=True)
class Pair:
    """A labelled response and the report of a run about it."""

    labelled: Labelled
    report: Report
    rows: tuple[Row, ...] = ()
    """One a labelled fact."""
    facts: int = 0
    """Facts in the report."""
    found: int = 0
    """Those of them that are labelled facts."""

    @property
    def key(self) -> bytes:
        return key(self.labelled)


def slim(report: Report) -> Report:
    """The report without its evidence, which is most of it and plays no part here."""
    facts = tuple(
        JudgedFact(fact=judged.fact, evidence=Evidence(), verdict=judged.verdict, failure=judged.failure)
        for judged in report.facts
    )
    return Report(
        generation=report.generation,
        sentences=report.sentences,
        facts=facts,
        failures=report.failures,
        abstained=report.abstained,
        failure=report.failure,
        signature=report.signature,
    )


def matched(responses: Sequence[Labelled], reports: Sequence[Report]) -> tuple[list[Pair], Counter[str]]:
    """Pairs in the order of the labels, and how many responses and reports have no partner, by reason."""
    by_text: dict[str, list[int]] = defaultdict(list)
    for place, report in enumerate(reports):
        by_text[fold(report.generation.text)].append(place)
    used: set[int] = set()
    pairs: list[Pair] = []
    alone: list[Report] = []
    for response in responses:
        wanted = Report(generation=response.generation)
        places = [place for place in by_text[fold(response.generation.text)] if place not in used]
        same = [place for place in places if task(reports[place]) == task(wanted)]
        about = [place for place in places if _topic(reports[place]) == _topic(wanted)]
        blank = not response.generation.text.strip()  # an empty answer does not say whose it is
        chosen = next(iter([*same, *about, *([] if blank else places)]), None)
        if chosen is None:
            alone.append(wanted)
        else:
            used.add(chosen)
            pairs.append(Pair(response, reports[chosen]))
    others = [report for place, report in enumerate(reports) if place not in used]
    return pairs, _alone(alone, others)


def _alone(responses: Sequence[Report], reports: Sequence[Report]) -> Counter[str]:
    """Why labelled responses and reports have no partner; an answer with another text on each side counts once."""
    asked, labelled = _asked(reports), _asked(responses)
    counts = Counter(OTHER_TEXT if _keys(response) & asked else NO_REPORT for response in responses)
    return counts + Counter({NOT_LABELLED: sum(not _keys(report) & labelled for report in reports)})


def _asked(reports: Sequence[Report]) -> set[bytes | str]:
    return {name for report in reports for name in _keys(report)}


def _keys(report: Report) -> set[bytes | str]:
    topic = _topic(report)
    return {task(report), *([topic] if topic else [])}


def _topic(report: Report) -> str:
    return fold(report.generation.topic or "")


def rowed(pair: Pair) -> Pair:
    """The pair with the verdict of each labelled fact, found by its wording."""
    report = pair.report
    if pair.labelled.sentences is not None or pair.labelled.abstained:
        return pair
    whole = "abstained in the run" if report.abstained else trouble(report) or ABSENT
    index = _Index(report.facts)
    rows = []
    for gold in pair.labelled.facts:
        judged = index.find(gold)
        if judged is None:
            rows.append(Row(three(gold.label), None, whole))
        elif judged.verdict:
            rows.append(Row(three(gold.label), three(judged.verdict.label)))
        else:
            rows.append(Row(three(gold.label), None, reason(judged.failure) if judged.failure else ABSENT))
    return Pair(pair.labelled, report, tuple(rows), len(report.facts), len(index.used))


class _Index:
    """The facts of a report by their wording."""

    def __init__(self, facts: Sequence[JudgedFact]) -> None:
        self.used: set[str] = set()
        """Ids of those that were found."""
        self._facts = facts
        self._kinds: list[tuple[Callable[[JudgedFact], Hashable], Callable[[Gold], Hashable]]] = [
            (lambda judged: (judged.fact.text.strip(), judged.fact.gold), lambda gold: (gold.text, gold.label)),
            (lambda judged: judged.fact.text.strip(), lambda gold: gold.text),
            (lambda judged: (content_key(judged.fact.text), judged.fact.gold), lambda gold: (_key(gold), gold.label)),
            (lambda judged: content_key(judged.fact.text), _key),
        ]
        self._held: list[dict[Hashable, list[JudgedFact]]] = [defaultdict(list) for _ in self._kinds]
        for held, (of, _) in zip(self._held, self._kinds, strict=True):
            for judged in facts:
                held[of(judged)].append(judged)
        self._taken: Counter[Hashable] = Counter()

    def find(self, gold: Gold) -> JudgedFact | None:
        """The fact of that wording; the n-th for the n-th of equal wordings, and the last where copies were merged."""
        for number, (held, (_, wanted)) in enumerate(zip(self._held, self._kinds, strict=True)):
            if facts := held.get(wanted(gold)):
                place = self._taken[number, wanted(gold)]
                self._taken[number, wanted(gold)] += 1
                judged = facts[min(place, len(facts) - 1)]
                self.used.add(judged.fact.id)
                return judged
        return self._fuller(gold)

    def _fuller(self, gold: Gold) -> JudgedFact | None:
        """The fact that "He was born." was merged into, which begins with the same words (`facts.assemble`)."""
        stem = gold.text.rstrip(". ").casefold() + " "
        merged = (judged for judged in self._facts if judged.fact.repeats and judged.fact.gold == gold.label)
        return next((judged for judged in merged if judged.fact.text.casefold().startswith(stem)), None)


def _key(gold: Gold) -> str:
    return content_key(gold.text)
