"""Judges that read nothing, or only words: what a judge has to beat on the same set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Report, Struct
from ..verifiers.embedded import lexical_coverage
from .figures import area, balanced, f1, table, threshold
from .measures import rows


class Trivial(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A judge that reads nothing, or only words."""

    name: str
    balanced_accuracy: float | None
    f1: float | None
    """Of not supported."""
    auc: float | None = None


def trivial(reports: Sequence[Report]) -> list[Trivial]:
    """On the claims of these reports, whatever their verdicts: always supported, never, a fair coin, and the share of
    the claim's words that its evidence has. The threshold of the last is the one that suits these very labels best, so
    it is optimistic. The coin's F1 is that of its expected table."""
    gold = np.array([row.gold for row in rows(reports)], bool)
    made = []
    for name, said in (("always supported", True), ("always not supported", False)):
        always = table(gold, np.full(len(gold), said))
        made.append(Trivial(name=name, balanced_accuracy=balanced(always), f1=f1(always)))
    coin = (table(gold, np.full(len(gold), True)) + table(gold, np.full(len(gold), False))) / 2
    both = 0 < gold.sum() < len(gold)
    auc = 0.5 if both else None
    made.append(Trivial(name="a fair coin (expected)", balanced_accuracy=balanced(coin), f1=f1(coin), auc=auc))
    evidence = [_evidence(report) for report in reports]
    known = [words for words in evidence if words is not None]
    if both and len(known) == len(evidence):
        share = np.array([lexical_coverage(r.generation.text, words) for r, words in zip(reports, known, strict=True)])
        best = table(gold, share >= (threshold(gold, share) or 0.0))
        name = "share of words, best threshold (optimistic)"
        made.append(Trivial(name=name, balanced_accuracy=balanced(best), f1=f1(best), auc=area(gold, share)))
    return made


def _evidence(report: Report) -> str | None:
    """What came with the claim, else what was found for it."""
    if report.generation.reference is not None:
        return report.generation.reference
    passages = report.facts[0].evidence.passages if report.facts else ()
    return "\n".join(passage.text for passage in passages) or None
