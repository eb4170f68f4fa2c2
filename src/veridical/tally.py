"""The facts of a report counted by verdict, and why one has no value."""

from __future__ import annotations

from collections import Counter

from .types import Failure, Report, Struct


class Tally(Struct, frozen=True, kw_only=True):
    """The facts of one report by verdict. `unjudged` are those with a failure in place of a verdict."""

    supported: int = 0
    contradicted: int = 0
    not_enough_evidence: int = 0
    irrelevant: int = 0
    unjudged: int = 0

    @property
    def not_supported(self) -> int:
        return self.contradicted + self.not_enough_evidence

    @property
    def relevant(self) -> int:
        return self.supported + self.not_supported

    @property
    def judged(self) -> int:
        return self.relevant + self.irrelevant

    @property
    def facts(self) -> int:
        return self.judged + self.unjudged

    def settled(self, *, supported: bool) -> Tally:
        """The same, were every unjudged fact supported, or contradicted."""
        label = "supported" if supported else "contradicted"
        counts = {name: getattr(self, name) for name in self.__struct_fields__}
        return Tally(**{**counts, label: counts[label] + self.unjudged, "unjudged": 0})


def tally(report: Report, *, repeats: bool = False) -> Tally:
    """Count the facts of a report; with `repeats` each as often as it was said."""
    counts: Counter[str] = Counter()
    for judged in report.facts:
        weight = 1 + judged.fact.repeats if repeats else 1
        counts[judged.verdict.label.value if judged.verdict else "unjudged"] += weight
    return Tally(**counts)


def reason(failure: Failure) -> str:
    """How a failure is counted: "verify:ParseError"."""
    return f"{failure.stage}:{failure.error}"


def trouble(report: Report) -> str | None:
    """Why not all facts of a report are known, so that it must stay unscored; None if they are."""
    if report.failure:
        return reason(report.failure)
    return reason(report.failures[0].failure) if report.failures else None
