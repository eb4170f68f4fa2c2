"""The verdicts of a run of `veridical score` as predictions: any method of ours, scored against FELM's labels.

Its facts rarely follow FELM's segments: each goes to the segment that it overlaps most in the response, or else to the
one that has most of its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..text.normal import tokens
from ..types import JudgedFact, Report
from .consistency import rolled_up
from .grounded import claim_of
from .records import Claim, Prediction, Sample, Unit, Why, abstained

LEAST = 0.5
"""Share of a fact's words that its segment must have, where their places do not tell."""


def from_reports(samples: Sequence[Sample], reports: Iterable[Report]) -> tuple[list[Prediction], int]:
    """A prediction for each sample that a report has the id of, and how many facts belong to no segment.

    A report that failed as a whole, or abstained, is an abstention on every segment.
    """
    by_id = {str(sample.id): sample for sample in samples}
    made: list[Prediction] = []
    lost = 0
    for report in reports:
        if sample := by_id.get(report.generation.id):
            one, without = _prediction(sample, report)
            made.append(one)
            lost += without
    return made, lost


def _prediction(sample: Sample, report: Report) -> tuple[Prediction, int]:
    done = f"{report.signature.partition(':')[0]}/fact"
    if report.failure or report.abstained:
        judgements = abstained(sample, Why.FAILURE)
        return Prediction(id=sample.id, judgements=judgements, done=done, failure=report.failure), 0
    claims, lost = [], 0
    for judged in report.facts:
        unit = _segment(judged, report, sample)
        if unit is None:
            lost += 1
        else:
            claims.append(_claim(judged, unit))
    return (
        Prediction(
            id=sample.id,
            judgements=rolled_up(claims, sample),
            done=done,
            claims=tuple(claims),
            usage=report.usage,
        ),
        lost,
    )


def _claim(judged: JudgedFact, unit: Unit) -> Claim:
    if judged.verdict:
        return claim_of(judged.fact.text, unit.index, judged.verdict)
    why = Why.PARSE_ERROR if judged.failure and judged.failure.error == "ParseError" else Why.FAILURE
    return Claim(text=judged.fact.text, unit=unit.index, why=why)


def _segment(judged: JudgedFact, report: Report, sample: Sample) -> Unit | None:
    fact = judged.fact
    span = fact.span
    if span is None and (found := next((one for one in report.sentences if one.index == fact.sentence), None)):
        span = (found.start, found.end)
    if span and report.generation.text == sample.response:
        overlaps = [(_overlap(span, unit.span), -place) for place, unit in enumerate(sample.units) if unit.span]
        most, place = max(overlaps, default=(0, 0))
        if most:
            return sample.units[-place]
    words = set(tokens(fact.text))
    shares = [(len(words & set(tokens(unit.text))), -place) for place, unit in enumerate(sample.units)]
    most, place = max(shares, default=(0, 0))
    return sample.units[-place] if words and most >= LEAST * len(words) else None


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> int:
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))
