"""At which level verdicts meet labels: fact by fact, or claims rolled up to the segments that people labelled."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..tally import reason
from ..text.align import find_all
from ..types import JudgedFact, Report
from .match import Pair, Row, rowed
from .people import IRRELEVANT, NOT_SUPPORTED, SUPPORTED, three

AUTO, GIVEN, CONTENT, SEGMENTS = "auto", "given", "content", "segments"
MODES = (AUTO, GIVEN, CONTENT, SEGMENTS)
ENOUGH = 0.9
"""With "auto", the least share of a run's facts that must be labelled facts word for word. Model-made facts of the same
sentences share 49 to 63 % of their wordings with the people's (FActScore's three files)."""
UNPLACED = "its place in the answer was not found"
Span = tuple[int, int]


def paired(pairs: Sequence[Pair], mode: str = AUTO) -> tuple[list[Pair], str | None]:
    """The pairs with their rows, and the level at which verdicts can be compared with labels; None: only scores can.

    - "given": the run judged the labelled facts, which are found again by their text (and, where texts repeat, their
      order).
    - "segments": people labelled stretches of the answer (FELM), the run judged claims out of them; see `rolled`.
    - "content": whatever labelled facts the run has up to case, articles and punctuation, be they many or few.
    - "auto": "given" if the run's facts carry labels or `ENOUGH` of them are labelled ones word for word; else
      "segments" if the labelled facts are their own sentences; else None.
    """
    if mode not in MODES:
        raise UsageError(f"facts are matched {', '.join(MODES)}, not {mode!r}")
    if mode == SEGMENTS:
        return [rolled(pair) for pair in pairs], SEGMENTS
    found = [rowed(pair) for pair in pairs]
    if mode != AUTO:
        return found, mode
    facts, known = sum(pair.facts for pair in found), sum(pair.found for pair in found)
    carried = any(judged.fact.gold for pair in pairs for judged in pair.report.facts)
    if facts and (carried or known >= ENOUGH * facts):
        return found, GIVEN
    labelled = [gold for pair in pairs for gold in pair.labelled.facts]
    if labelled and all((gold.sentence or "").strip() == gold.text for gold in labelled):
        return [rolled(pair) for pair in pairs], SEGMENTS
    return found, None


def rolled(pair: Pair) -> Pair:
    """The pair with one row a labelled segment, out of the claims that stand in it.

    A claim belongs to the segment with which its place (its span, else its sentence) has most in common. A segment is
    not supported if one of its claims is; unscored if none is but one is unscored, or if its sentence could not be
    decomposed; irrelevant if all its claims are; supported if it has other claims, and where it has none (`assumed`).
    """
    report = pair.report
    if report.abstained or report.failure or pair.labelled.sentences is not None or pair.labelled.abstained:
        return rowed(pair)
    spans = find_all([gold.text for gold in pair.labelled.facts], report.generation.text)
    claims: dict[int, list[JudgedFact]] = {}
    for judged in report.facts:
        if (place := _closest(_span(judged, report), spans)) is not None:
            claims.setdefault(place, []).append(judged)
    broken = {
        place: reason(failure.failure)
        for failure in report.failures
        if (place := _closest(_sentence(failure.sentence, report), spans)) is not None
    }
    rows = [
        _segment(three(gold.label), span, claims.get(place, []), broken.get(place))
        for place, (gold, span) in enumerate(zip(pair.labelled.facts, spans, strict=True))
    ]
    return Pair(pair.labelled, report, tuple(rows), len(report.facts), sum(map(len, claims.values())))


def _segment(gold: str, span: Span | None, claims: Sequence[JudgedFact], broken: str | None) -> Row:
    if span is None:
        return Row(gold, None, UNPLACED)
    said = [three(judged.verdict.label) for judged in claims if judged.verdict]
    if NOT_SUPPORTED in said:
        return Row(gold, NOT_SUPPORTED)
    if failed := broken or next((reason(judged.failure) for judged in claims if judged.failure), None):
        return Row(gold, None, failed)
    if claims:
        return Row(gold, IRRELEVANT if all(word == IRRELEVANT for word in said) else SUPPORTED)
    return Row(gold, SUPPORTED, assumed=True)


def _span(judged: JudgedFact, report: Report) -> Span | None:
    return judged.fact.span or _sentence(judged.fact.sentence, report)


def _sentence(index: int, report: Report) -> Span | None:
    return next(((s.start, s.end) for s in report.sentences if s.index == index), None)


def _closest(span: Span | None, places: Sequence[Span | None]) -> int | None:
    """The place that shares most with the span, the first of equals; None where none shares anything."""
    if span is None:
        return None
    shared = [max(0, min(span[1], place[1]) - max(span[0], place[0])) if place else 0 for place in places]
    best = max(range(len(shared)), key=shared.__getitem__, default=None)
    return best if best is not None and shared[best] else None
