"""Metrics: what a report is worth, as pure functions of it. Nothing here asks a model.

The value of a run is the mean over its generations (macro average), as in FActScore (arXiv 2305.14251, section 3.1) and
SAFE (arXiv 2403.18802, section 5). Spellings, as on the command line: `factscore(gamma=10)`, `precision`,
`precision(decided)`, `f1@64`, `recall@64`, `facts`, `supported`, ... see `parse`. The option `repeats` counts the
copies of a fact that were merged into it (`AtomicFact.repeats`) again: `f1@64(repeats)`.
"""

from __future__ import annotations

import dataclasses
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import UsageError
from .tally import Tally, tally, trouble
from .types import Label, Report, Verdict


class Metric(Protocol):
    """A number for a report, and for a run."""

    @property
    def name(self) -> str:
        """As spelled on the command line: `parse(metric.name) == metric`."""
        ...

    @property
    def rule(self) -> str:
        """How one generation is counted, in words."""
        ...

    def of(self, report: Report) -> float | None:
        """The value, over the facts that have a verdict; None where there is nothing to count."""
        ...

    def bounds(self, report: Report) -> tuple[float, float] | None:
        """Least and greatest value, were all that stayed unjudged not supported, or supported; None where there is
        nothing to count, or no limit."""
        ...

    def combine(self, values: Sequence[float]) -> float:
        """The value of a run, out of at least one value of a generation."""
        ...


def length_penalty(facts: int, gamma: float) -> float:
    """exp(1 - gamma / n) for n <= gamma facts, else 1 (the released FActScore code; not in the paper)."""
    return math.exp(1 - gamma / facts) if facts <= gamma else 1.0


def f1_at_k(supported: int, not_supported: int, k: int) -> float:
    """F1@K of S supported and N not supported facts (SAFE, section 5): precision S/(S+N), recall min(S/K, 1)."""
    recall = recall_at_k(supported, k)
    if not_supported < 0:
        raise ValueError(f"a count cannot be negative: {not_supported}")
    if supported == 0:
        return 0.0
    precision = supported / (supported + not_supported)
    return 2 * precision * recall / (precision + recall)


def recall_at_k(supported: int, k: int) -> float:
    """min(S/K, 1): supported facts against the K that a reader wants (SAFE, section 5)."""
    if k < 1 or supported < 0:
        raise ValueError(f"K must be at least 1 and a count cannot be negative: K {k}, supported {supported}")
    return min(supported / k, 1.0)


@dataclass(frozen=True)
class Macro(ABC):
    """Base of all metrics here (see `Metric`): the value of a run is the mean over its generations."""

    repeats: bool = False
    """Count merged copies of a fact again."""

    def combine(self, values: Sequence[float]) -> float:
        return math.fsum(values) / len(values)

    @property
    def name(self) -> str:
        options = [_option(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)]
        k = f"@{vars(self)['k']}" if "k" in vars(self) else ""
        inside = ",".join(option for option in options if option)
        return f"{self._word}{k}({inside})" if inside else f"{self._word}{k}"

    @property
    @abstractmethod
    def rule(self) -> str: ...

    @abstractmethod
    def of(self, report: Report) -> float | None: ...

    @abstractmethod
    def bounds(self, report: Report) -> tuple[float, float] | None: ...

    @property
    @abstractmethod
    def _word(self) -> str:
        """The metric's word in its name."""


def _option(name: str, value: Any) -> str:
    if name in ("k", "counted"):
        return ""
    if isinstance(value, bool):
        return name if value else ""
    return f"{name}={value:g}" if float(f"{value:g}") == value else f"{name}={value!r}"


@dataclass(frozen=True)
class _Share(Macro):
    """A number between 0 and 1 of the tally of a report."""

    @abstractmethod
    def _value(self, tally: Tally) -> float | None: ...

    def of(self, report: Report) -> float | None:
        if report.abstained or trouble(report):
            return None
        return self._value(tally(report, repeats=self.repeats))

    def bounds(self, report: Report) -> tuple[float, float] | None:
        if report.abstained:
            return None
        if trouble(report):
            return 0.0, 1.0
        counts = tally(report, repeats=self.repeats)
        least, most = self._value(counts.settled(supported=False)), self._value(counts.settled(supported=True))
        return None if least is None or most is None else (least, most)


@dataclass(frozen=True)
class FActScore(_Share):
    """FActScore (arXiv 2305.14251, section 3.1), with the length penalty of the released code; gamma 0 is the paper's.

    Irrelevant facts count as not supported. The penalty looks at all facts of a response, judged or not, since its
    length is known either way.
    """

    gamma: float = 10.0

    def __post_init__(self) -> None:
        if not 0 <= self.gamma < math.inf:
            raise UsageError(f"gamma must be a number of facts, 0 or more: {self.gamma!r}")

    @property
    def _word(self) -> str:
        return "factscore"

    @property
    def rule(self) -> str:
        share = "supported / judged facts of a response, irrelevant counting as not supported"
        return f"{share}, times exp(1 - {self.gamma:g}/n) for n <= {self.gamma:g} facts" if self.gamma else share

    def _value(self, tally: Tally) -> float | None:
        if not tally.judged:
            return None
        return tally.supported / tally.judged * length_penalty(tally.facts, self.gamma)


@dataclass(frozen=True)
class Precision(_Share):
    """supported / (supported + not supported) as in SAFE (section 5); `decided`: over supported and contradicted."""

    decided: bool = False

    @property
    def _word(self) -> str:
        return "precision"

    @property
    def rule(self) -> str:
        if self.decided:
            return "supported / (supported + contradicted) of a response; without evidence and irrelevant left out"
        return "supported / (supported + contradicted + without evidence) of a response; irrelevant left out"

    def _value(self, tally: Tally) -> float | None:
        among = tally.supported + tally.contradicted if self.decided else tally.relevant
        return tally.supported / among if among else None


@dataclass(frozen=True)
class _AtK(_Share):
    k: int = dataclasses.field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UsageError(f"{self._word} needs a K of at least 1, as in {self._word}@64")


@dataclass(frozen=True)
class F1(_AtK):
    """F1@K (SAFE, section 5): precision over relevant facts, recall against K supported facts; 0 if none is."""

    @property
    def _word(self) -> str:
        return "f1"

    @property
    def rule(self) -> str:
        return (
            f"harmonic mean of supported / (supported + not supported) and min(supported/{self.k}, 1) of a response; "
            "0 if nothing is supported; irrelevant left out"
        )

    def _value(self, tally: Tally) -> float | None:
        return f1_at_k(tally.supported, tally.not_supported, self.k) if tally.judged else None


@dataclass(frozen=True)
class Recall(_AtK):
    """min(supported / K, 1) (SAFE, section 5)."""

    @property
    def _word(self) -> str:
        return "recall"

    @property
    def rule(self) -> str:
        return f"min(supported/{self.k}, 1) of a response"

    def _value(self, tally: Tally) -> float | None:
        return recall_at_k(tally.supported, self.k) if tally.judged else None


_COUNTED = {
    "facts": "facts of a response, judged or not",
    "supported": "supported facts of a response",
    "not_supported": "contradicted facts and those without evidence of a response",
    "contradicted": "contradicted facts of a response",
    "not_enough_evidence": "facts of a response that evidence neither supports nor contradicts",
    "irrelevant": "irrelevant facts of a response",
}


@dataclass(frozen=True)
class Count(Macro):
    """How many facts a response has, all or those of one verdict."""

    counted: str = "facts"

    @property
    def _word(self) -> str:
        return self.counted

    @property
    def rule(self) -> str:
        return _COUNTED[self.counted]

    def of(self, report: Report) -> float | None:
        counts = self._tally(report)
        if counts is None or not (counts.judged or self.counted == "facts"):
            return None
        return float(getattr(counts, self.counted))

    def bounds(self, report: Report) -> tuple[float, float] | None:
        counts = self._tally(report)
        if counts is None:
            return None
        least = float(getattr(counts, self.counted))
        return least, least if self.counted == "facts" else least + counts.unjudged

    def _tally(self, report: Report) -> Tally | None:
        known = bool(report.facts) and not report.abstained and not trouble(report)
        return tally(report, repeats=self.repeats) if known else None


@dataclass(frozen=True)
class CalibratedMean(Macro):
    """What precision is expected to be by the probabilities of a calibrated judge (`Calibrated`): their mean.

    Raises UsageError for a report with verdicts of a judge that was not calibrated.
    """

    @property
    def _word(self) -> str:
        return "calibrated_mean"

    @property
    def rule(self) -> str:
        return (
            "mean calibrated probability of the facts of a response, 0 for one without any evidence; "
            "irrelevant ones and verdicts without a probability left out"
        )

    def of(self, report: Report) -> float | None:
        if report.abstained or trouble(report):
            return None
        expected, known, _ = self._sums(report)
        return expected / known if known else None

    def bounds(self, report: Report) -> tuple[float, float] | None:
        if report.abstained:
            return None
        if trouble(report):
            return 0.0, 1.0
        expected, known, unknown = self._sums(report)
        facts = known + unknown
        return (expected / facts, (expected + unknown) / facts) if facts else None

    def _sums(self, report: Report) -> tuple[float, int, int]:
        """The sum of the probabilities; how many facts have one; how many have none, or no verdict."""
        expected, known, unknown = 0.0, 0, 0
        for judged in report.facts:
            verdict, weight = judged.verdict, 1 + judged.fact.repeats if self.repeats else 1
            if verdict and verdict.label is Label.IRRELEVANT:
                continue
            p = _calibrated(verdict) if verdict else None
            if p is None:
                unknown += weight
            else:
                expected, known = expected + p * weight, known + weight
        return expected, known, unknown


def _calibrated(verdict: Verdict) -> float | None:
    if verdict.raw is None and (verdict.probability is not None or verdict.mode == "text"):
        raise UsageError(f"calibrated_mean needs a run with --calibration of its judge; {verdict.judge} had none")
    return 0.0 if verdict.probability is None and verdict.mode == "no evidence" else verdict.probability


@dataclass(frozen=True)
class ResponseRate(Macro):
    """Generations that answer, of all. An answer without claims, or one that stayed unscored, is still an answer."""

    @property
    def _word(self) -> str:
        return "response_rate"

    @property
    def rule(self) -> str:
        return "1 for an answer, 0 for an abstention"

    def of(self, report: Report) -> float | None:
        return 0.0 if report.abstained else 1.0

    def bounds(self, report: Report) -> tuple[float, float] | None:
        return (0.0, 0.0) if report.abstained else (1.0, 1.0)


_METRICS: dict[str, type[Macro]] = {
    "factscore": FActScore,
    "precision": Precision,
    "f1": F1,
    "recall": Recall,
    "calibrated_mean": CalibratedMean,
    "response_rate": ResponseRate,
    **dict.fromkeys(_COUNTED, Count),
}
SPELLINGS = (
    *("factscore(gamma=10)", "precision", "precision(decided)", "f1@64", "recall@64"),
    *("calibrated_mean", "response_rate", *_COUNTED),
)
_SPELLING = re.compile(r"([a-z_]+[0-9]?)(?:@([0-9]{1,9}))?(?:\(([^()]*)\))?")


def parse(spelling: str) -> Macro:
    """The metric of that spelling; `parse(spelling).name` spells it in full. Raises UsageError that lists them all."""
    match = _SPELLING.fullmatch(re.sub(r"\s", "", spelling).lower())
    made = _METRICS.get(match[1]) if match else None
    if match is None or made is None:
        raise UsageError(f"no metric {spelling!r}; there are {', '.join(SPELLINGS)}; f1@median of finished runs")
    known = {field.name for field in dataclasses.fields(made)} - {"k", "counted"}
    options: dict[str, Any] = {"counted": match[1]} if made is Count else {}
    if match[2] is not None:
        if not issubclass(made, _AtK):
            raise UsageError(f"metric {spelling!r}: {match[1]} takes no K")
        options["k"] = int(match[2])
    for option in filter(None, (match[3] or "").split(",")):
        name, equals, value = option.partition("=")
        if name not in known or bool(equals) != (name == "gamma"):
            allowed = ", ".join("gamma=NUMBER" if word == "gamma" else word for word in sorted(known))
            raise UsageError(f"metric {spelling!r}: no option {option!r}; {match[1]} takes {allowed}")
        options[name] = _number(value, spelling) if equals else True
    return made(**options)


def _number(text: str, spelling: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"metric {spelling!r}: {text!r} is not a number") from None
