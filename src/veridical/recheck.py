"""A second source: what one source did not support is judged again by another (SAFE, appendix A.5).

Wikipedia does not hold everything: of 30 facts that it did not support, the web supported 3 in SAFE's own check. Facts
that were supported or irrelevant keep their verdict, so the score can only rise; what it rises by is the share of false
alarms that the first source was to blame for, and those that the second judge makes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from .errors import FatalError, StageError, UsageError, leaf
from .failures import failure
from .models.metered import measure
from .pipeline import Method, judge
from .scores import task
from .signature import Flat, Signature
from .stats import wilson
from .types import Decomposition, JudgedFact, Label, Report, Struct, Verdict, Vote

AGAIN = (Label.CONTRADICTED, Label.NOT_ENOUGH_EVIDENCE)
"""Which facts are judged again by default."""


def signature(first: str, method: Method, labels: Sequence[Label], *, unjudged: bool) -> Signature:
    """Of a run by two sources: the first run's signature, the second method's fields, and what was judged again."""
    again = [label.value for label in labels] + (["unjudged"] if unjudged else [])
    fields: Flat = {"name": "recheck", "first": first, "again": ", ".join(again)}
    fields |= {f"second.{name}": value for name, value in method.signature.fields.items() if name != "version"}
    return Signature(fields | {"version": method.signature.fields["version"]})


async def recheck(
    report: Report, method: Method, *, labels: Sequence[Label] = AGAIN, unjudged: bool = False, sign: str = ""
) -> Report:
    """The report with those of its facts judged again by `method` whose verdict is among `labels` (with `unjudged`,
    those without one too). Never raises for trouble with this one alone.

    A fact with a second verdict has that verdict and evidence, and both `votes`, the first one first; where the second
    judge fails, or sets it aside as irrelevant, the first verdict stays.
    """
    again = [one for one in report.facts if _wanted(one, labels, unjudged=unjudged)]
    started = time.perf_counter()
    with measure() as meter:
        second = await _judged(again, report, method)
    usage = msgspec.structs.replace(meter.usage, seconds=time.perf_counter() - started)
    made = {first.fact.id: _both(first, now) for first, now in zip(again, second, strict=True)}
    facts = tuple(made.get(one.fact.id, one) for one in report.facts)
    return msgspec.structs.replace(report, facts=facts, signature=sign, usage=report.usage + usage)


async def _judged(again: Sequence[JudgedFact], report: Report, method: Method) -> list[JudgedFact]:
    """Their facts by the method, in order."""
    if not again:
        return []
    facts = tuple(one.fact for one in again)
    try:
        return await judge(Decomposition(facts=facts), report.generation, method)
    except Exception as raised:  # as in `pipeline`: trouble with an item becomes a value
        error = leaf(raised)
        if isinstance(error, (FatalError, UsageError)):
            raise error from None
        lost = failure("judge" if isinstance(error, StageError) else "internal", error)
        return [JudgedFact(fact=fact, failure=lost) for fact in facts]


def _wanted(one: JudgedFact, labels: Sequence[Label], *, unjudged: bool) -> bool:
    return unjudged if one.verdict is None else one.verdict.label in labels


def _both(first: JudgedFact, second: JudgedFact) -> JudgedFact:
    votes = (_vote(first), _vote(second))
    if second.verdict is None or second.verdict.label is Label.IRRELEVANT:
        if first.verdict is None:
            return msgspec.structs.replace(first, evidence=second.evidence, failure=second.failure or first.failure)
        return msgspec.structs.replace(first, verdict=msgspec.structs.replace(first.verdict, votes=votes))
    return msgspec.structs.replace(second, verdict=msgspec.structs.replace(second.verdict, votes=votes))


def _vote(one: JudgedFact) -> Vote:
    sources = dict.fromkeys(passage.source for passage in one.evidence.passages if passage.source)
    where = f" by {', '.join(sources)}" if sources else ""
    if one.verdict is None:
        return Vote(judge=f"unknown{where}", failure=one.failure)
    return Vote(judge=f"{one.verdict.judge}{where}", label=one.verdict.label, probability=one.verdict.probability)


class Recovered(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What a second source made of the facts that were judged again."""

    again: int
    """Facts that were judged again."""
    supported: int
    """Of them, now supported."""
    share: float | None
    low: float | None
    high: float | None
    """95 %, Wilson's, widened for facts of one answer that come out alike (`stats.wilson`); None without facts."""
    other: dict[str, int]
    """What became of the rest, by label; "unscored" where the second judge failed."""


def recovered(
    pairs: Iterable[tuple[Report, Report]], *, labels: Sequence[Label] = AGAIN, unjudged: bool = False
) -> Recovered:
    """Over pairs of a report and what `recheck` made of it."""
    outcomes: Counter[str] = Counter()
    groups: dict[bytes, list[bool]] = {}
    for first, second in pairs:
        for one, now in zip(first.facts, second.facts, strict=True):
            if _wanted(one, labels, unjudged=unjudged):
                outcome = _outcome(now.verdict)
                outcomes[outcome] += 1
                groups.setdefault(task(first), []).append(outcome == Label.SUPPORTED.value)
    share, low, high = wilson(list(groups.values()))
    again, supported = outcomes.total(), outcomes.pop(Label.SUPPORTED.value, 0)
    other = dict(outcomes.most_common())
    return Recovered(again=again, supported=supported, share=share, low=low, high=high, other=other)


def _outcome(verdict: Verdict | None) -> str:
    """What the second judge said."""
    label = verdict.votes[-1].label if verdict and verdict.votes else None
    return label.value if label else "unscored"
