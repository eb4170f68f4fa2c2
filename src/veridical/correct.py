"""Runs and a labelled part of them: what people would have scored, and how much must be labelled to know it."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from .agree import PAPER, RULES, Labelled, labelled, matched, paired
from .agree.match import ABSENT, Pair, slim
from .agree.pairing import CONTENT
from .agree.people import IRRELEVANT, OUTSIDE, SUPPORTED, checked, three
from .correction import Estimate, Item, corrected, difference, planned
from .errors import UsageError
from .scores import task
from .types import Generation, GivenFact, Report, Struct

AGREEMENTS = (0.0, 0.5, 0.7, 0.8, 0.9)
"""Correlations of judge and people for which a plan is made where nothing is labelled yet."""


class CorrectedSystem(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One system's score, uncorrected and corrected. Scores lie in [0, 1]."""

    system: str
    estimates: tuple[Estimate, ...]
    spread: float
    """Standard deviation of people's scores between generations."""
    agreement: float | None
    """Correlation of judge's and people's scores over the labelled generations; None where one does not vary."""
    notes: tuple[str, ...] = ()


class Correction(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Corrected scores of all systems, and the differences of each two of them."""

    rule: str
    rule_words: str
    target: str
    level: float
    systems: tuple[CorrectedSystem, ...]
    differences: dict[str, tuple[Estimate, ...]] = {}
    """"a - b" -> the difference by each method, over the prompts that both answered."""
    notes: tuple[str, ...] = ()


class Plan(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """How many generations to label for an interval of ± `half`."""

    half: float
    of: int
    spread: float
    needed: dict[str, int | None]
    """Correlation of judge and people -> generations; None: not to be had with these generations."""
    measured: bool
    """Spread and correlation come from labels; else the judge's own spread stands for people's."""


def correct(
    runs: Sequence[tuple[str, Iterable[Report]]],
    labels: Iterable[Generation],
    *,
    rule: str = PAPER,
    target: str = "run",
    level: float = 0.95,
) -> Correction:
    """Correct the score of each system in these runs of (name, reports) by people's labels of some of its answers.

    - A labelled answer is found by its text and prompt (`agree.match`); its system is its `system`, else that of
      the run in which it is found. Labels of other answers are left out and counted.
    - `rule` is the counting rule of people's scores (`agree.RULES`), and of the judge's: what stayed unjudged counts as
      not supported, which correction cures like any other error.
    - Where the run judged the labelled facts themselves (`--facts given`, or its own facts labelled afterwards), facts
      without a label are taken for not drawn, and sensitivity and specificity can be known.

    Raises UsageError where fewer than `correction.LEAST` answers of a system are labelled.
    """
    checked(rule)
    people = list(labels)
    sides = {name: items(name, [slim(report) for report in reports], people, rule) for name, reports in _systems(runs)}
    if not sides:
        raise UsageError("no run to correct")
    systems = tuple(_system(name, side, target, level) for name, side in sides.items())
    apart = {
        f"{a} - {b}": tuple(found)
        for a, b in itertools.combinations(sides, 2)
        if (found := _difference(sides[a], sides[b], target, level))
    }
    return Correction(
        rule=rule,
        rule_words=RULES[rule],
        target=target,
        level=level,
        systems=systems,
        differences=apart,
        notes=("the labelled answers must have been drawn at random; chosen ones correct nothing",),
    )


def plan(
    reports: Iterable[Report],
    labels: Iterable[Generation],
    half: float,
    *,
    rule: str = PAPER,
    target: str = "run",
    level: float = 0.95,
) -> Plan:
    """How many answers to label; from some labels if there are any, else for several assumed correlations."""
    side = items("run", [slim(report) for report in reports], list(labels), checked(rule))
    if not side.items:
        raise UsageError("no answer in the run to plan for")
    there = [item for item in side.items if item.people is not None]
    measured = len(there) >= 4
    scores = _scores(there) if measured else np.array([item.judge for item in side.items])
    spread = float(scores.std(ddof=1)) if len(scores) > 1 else 0.0
    known = _agreement(there) if measured else None
    correlations = AGREEMENTS if known is None else (0.0, known)
    of = len(side.items)
    needed = {
        f"{r:.2f}": planned(half, of=of, spread=spread, agreement=r, target=target, level=level) for r in correlations
    }
    return Plan(half=half, of=of, spread=spread, needed=needed, measured=measured)


def drawn(reports: Iterable[Report], n: int, *, seed: int = 0) -> Iterator[Generation]:
    """`n` random answers of a run with its facts, to be labelled: "label" of each fact is to be filled in."""
    answers = [slim(report) for report in reports]
    answers = [report for report in answers if not report.abstained and not report.failure and report.facts]
    if n > len(answers):
        raise UsageError(f"{n} answers to label, and the run has {len(answers)} with facts")
    for place in sorted(random.Random(seed).sample(range(len(answers)), n)):
        report = answers[place]
        texts = {sentence.index: sentence.text for sentence in report.sentences}
        facts = tuple(
            GivenFact(text=judged.fact.text, sentence=texts.get(judged.fact.sentence)) for judged in report.facts
        )
        yield msgspec.structs.replace(report.generation, facts=facts)


@dataclass
class _Side:
    """The generations of one system."""

    items: list[Item] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _systems(runs: Sequence[tuple[str, Iterable[Report]]]) -> Iterator[tuple[str, list[Report]]]:
    found: dict[str, list[Report]] = {}
    for name, reports in runs:
        for report in reports:
            found.setdefault(report.generation.system or name, []).append(slim(report))
    yield from found.items()


def items(system: str, reports: Sequence[Report], people: Sequence[Generation], rule: str) -> _Side:
    """An item for each answer that neither the run nor people call an abstention."""
    responses = [one for generation in people if (one := _of(system, generation))]
    pairs, alone = matched(responses, reports)
    found, _ = paired(pairs, CONTENT)
    by_report = {pair.report.generation.id: pair for pair in found}
    side = _Side()
    if alone:
        side.notes.append(
            "labels and answers without a partner: " + ", ".join(f"{n} {why}" for why, n in alone.items())
        )
    judged = {report.generation.id: value for report in reports if (value := _judged(report, rule)) is not None}
    middle = float(np.mean(list(judged.values()))) if judged else 0.0
    for report in reports:
        pair = by_report.get(report.generation.id)
        if report.abstained or (pair and pair.labelled.abstained):
            continue
        side.items.append(_item(report, pair, judged.get(report.generation.id, middle), rule))
    failed = len([report for report in reports if not report.abstained and report.generation.id not in judged])
    if failed:
        side.notes.append(f"{failed} answers without a score by the judge count as the mean of the others")
    return side


def _of(system: str, generation: Generation) -> Labelled | None:
    return labelled(system, generation) if generation.system in (None, system) else None


def _item(report: Report, pair: Pair | None, judged: float, rule: str) -> Item:
    key = task(report).hex()
    value = pair.labelled.value(rule) if pair else None
    if pair is None or value is None:
        return Item(key=key, judge=judged)
    rows = [row for row in pair.rows if not (rule == OUTSIDE and row.gold == IRRELEVANT)]
    if not rows or any(row.reason == ABSENT for row in rows):  # labels of other facts: only scores can be compared
        return Item(key=key, judge=judged, people=value)
    both = [(row.verdict == SUPPORTED, row.gold == SUPPORTED) for row in rows]
    counts = Counter(both)
    n = len(both)
    partly = pair.labelled.unlabelled or len(rows) < len(report.facts)
    return Item(
        key=key,
        judge=judged,
        people=(counts[True, True] + counts[False, True]) / n if partly else value,
        judge_there=(counts[True, True] + counts[True, False]) / n if partly else None,
        hits=(
            counts[True, True] / n,
            (counts[True, True] + counts[False, True]) / n,
            counts[False, False] / n,
            (counts[False, False] + counts[True, False]) / n,
        ),
    )


def _judged(report: Report, rule: str) -> float | None:
    """The judge's share of supported facts; None where there are none to share."""
    said = [three(fact.verdict.label) if fact.verdict else "" for fact in report.facts]
    counted = [label for label in said if not (rule == OUTSIDE and label == IRRELEVANT)]
    return None if report.failure or not counted else counted.count(SUPPORTED) / len(counted)


def _system(name: str, side: _Side, target: str, level: float) -> CorrectedSystem:
    try:
        estimates = corrected(side.items, target=target, level=level)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    there = [item for item in side.items if item.people is not None]
    return CorrectedSystem(
        system=name,
        estimates=tuple(estimates),
        spread=float(_scores(there).std(ddof=1)),
        agreement=_agreement(there),
        notes=tuple(side.notes),
    )


def _difference(a: _Side, b: _Side, target: str, level: float) -> list[Estimate]:
    """[] where too few of the prompts in common are labelled."""
    try:
        return difference(a.items, b.items, target=target, level=level)
    except UsageError:
        return []


def _scores(there: Sequence[Item]) -> np.ndarray:
    return np.array([item.people for item in there], dtype=np.float64)


def _agreement(there: Sequence[Item]) -> float | None:
    f = np.array([item.judge if item.judge_there is None else item.judge_there for item in there])
    y = _scores(there)
    if len(there) < 3 or not np.ptp(f) or not np.ptp(y):
        return None
    return float(np.corrcoef(f, y)[0, 1])
