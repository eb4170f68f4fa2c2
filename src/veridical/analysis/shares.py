"""Shares of facts with intervals by response, and who is in them.

Facts of one response are alike, so whole prompts are resampled (`scores.task`), never facts. What is kept is a row of
sums a prompt; every statistic here is a function of the sums of these rows.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from ..metrics import F1, Metric, Precision, Recall
from ..scores import NO_CLAIMS, Policy, task
from ..stats import FEW, Floats, bca
from ..tally import reason, trouble
from ..types import JudgedFact, Label, Report, Struct

Statistic = Callable[[Floats], Floats]
"""From (m, columns) sums to (m,) values, NaN where undefined."""

RULES = {
    "factscore": "supported / judged facts, irrelevant counting as not supported",
    "precision": "supported / (supported + contradicted + without evidence), irrelevant left out",
    "decided": "supported / (supported + contradicted), without evidence and irrelevant left out",
}
"""How facts are counted, as in the metrics of these names."""
_LEFT_OUT = {
    "factscore": frozenset[Label](),
    "precision": frozenset({Label.IRRELEVANT}),
    "decided": frozenset({Label.IRRELEVANT, Label.NOT_ENOUGH_EVIDENCE}),
}
_DEFINED = 0.9
"""Least part of the resamples in which a statistic must be defined."""
_CELLS = 1 << 21


class Estimate(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A number with its interval; None where the data cannot say."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Share(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """`hits` of `n`, pooled over responses."""

    hits: int
    n: int
    value: float | None
    low: float | None
    high: float | None
    responses: int
    """Different prompts that it comes from."""
    few: bool
    """Fewer than 20 prompts: the interval is too narrow."""


class Coverage(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Which generations and facts an analysis of facts looked at."""

    n: int
    """Generations in all."""
    scored: int
    abstained: int
    no_claims: int
    """Answered, with no facts."""
    unscored: dict[str, int]
    """Generations left out for a failure, by reason."""
    facts: int
    unjudged: dict[str, int]
    """Facts without a verdict, by reason: they keep their place and are in no share."""


class Counted:
    """Counts generations and facts into a `Coverage`."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._unscored: Counter[str] = Counter()
        self._unjudged: Counter[str] = Counter()

    def takes(self, report: Report) -> bool:
        """Whether the facts of the report are to be looked at; it is counted either way."""
        self._seen["n"] += 1
        failed = trouble(report)
        if report.abstained:
            self._seen["abstained"] += 1
            return False
        if failed:
            self._unscored[failed] += 1
            return False
        if not report.facts:
            self._seen[NO_CLAIMS] += 1
            return False
        self._seen["scored"] += 1
        self._seen["facts"] += len(report.facts)
        self._unjudged.update(reason(judged.failure) for judged in report.facts if judged.failure)
        return True

    def coverage(self) -> Coverage:
        return Coverage(
            n=self._seen["n"],
            scored=self._seen["scored"],
            abstained=self._seen["abstained"],
            no_claims=self._seen[NO_CLAIMS],
            unscored=dict(sorted(self._unscored.items())),
            facts=self._seen["facts"],
            unjudged=dict(sorted(self._unjudged.items())),
        )


def rule_of(metric: Metric) -> str:
    """The rule by which facts are counted one by one that goes with a metric of responses."""
    if isinstance(metric, Precision):
        return "decided" if metric.decided else "precision"
    return "precision" if isinstance(metric, (F1, Recall)) else "factscore"


def supported(judged: JudgedFact, rule: str) -> bool | None:
    """Whether a fact is a hit; None where the rule leaves it out, or it has no verdict."""
    if judged.verdict is None or judged.verdict.label in _LEFT_OUT[rule]:
        return None
    return judged.verdict.label is Label.SUPPORTED


class Rows:
    """A row of sums for each prompt."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._places: dict[bytes, int] = {}
        self._values = array("d")

    def add(self, report: Report, values: Sequence[float]) -> None:
        """Add to the row of the report's prompt."""
        key = task(report)
        if key not in self._places:
            self._places[key] = len(self._places)
            self._values.extend([0.0] * self._columns)
        start = self._places[key] * self._columns
        for offset, value in enumerate(values):
            self._values[start + offset] += value

    def matrix(self) -> Floats:
        """(prompts, columns)."""
        return np.array(self._values, dtype=np.float64).reshape(-1, self._columns)


def share(rows: Floats, policy: Policy) -> Share:
    """Of (prompts, 2) hits and counts; prompts without a count are no part of it."""
    kept = rows[rows[:, 1] > 0]
    found = estimate(kept, _ratio, policy)
    return Share(
        hits=round(float(kept[:, 0].sum())),
        n=round(float(kept[:, 1].sum())),
        value=found.value,
        low=found.low,
        high=found.high,
        responses=len(kept),
        few=len(kept) < FEW,
    )


def ratio(rows: Floats, policy: Policy) -> Estimate:
    """Sum of the first column over that of the second."""
    return estimate(rows, _ratio, policy)


def difference(rows: Floats, policy: Policy) -> Estimate:
    """First minus second share of (prompts, 4) hits, counts, hits, counts; paired, since the same prompts are drawn."""
    return estimate(rows, lambda sums: _ratio(sums[:, :2]) - _ratio(sums[:, 2:]), policy)


def estimate(rows: Floats, statistic: Statistic, policy: Policy) -> Estimate:
    """The statistic of the sums of (prompts, columns) rows with its BCa interval over prompts.

    No interval for fewer than two prompts, where resampling changes nothing, and where the statistic is undefined with
    some prompt left out or in more than a tenth of the resamples.
    """
    total = rows.sum(axis=0, keepdims=True)
    value = float(statistic(total)[0])
    if not np.isfinite(value):
        return Estimate()
    if len(rows) < 2:
        return Estimate(value=value)
    drawn = statistic(_resampled(rows, policy))
    defined = drawn[np.isfinite(drawn)]
    jackknife = statistic(total - rows)
    if len(defined) < _DEFINED * len(drawn) or not np.isfinite(jackknife).all():
        return Estimate(value=value)
    low, high = bca(defined, value, jackknife, level=policy.level) or (None, None)
    return Estimate(value=value, low=low, high=high)


def slope(sums: Floats) -> Floats:
    """Least-squares slope out of sums of 1, x, y, xx and xy in five columns."""
    n, x, y, xx, xy = sums.T
    return _quotient(n * xy - x * y, n * xx - x * x)


def _ratio(sums: Floats) -> Floats:
    return _quotient(sums[:, 0], sums[:, 1])


def _quotient(above: Floats, below: Floats) -> Floats:
    """NaN where the denominator is nothing, or rounding."""
    scale = 1e-12 * max(1.0, float(np.abs(below).max(initial=0.0)))
    safe = np.abs(below) > scale
    return np.where(safe, above / np.where(safe, below, 1.0), np.nan)


def _resampled(rows: Floats, policy: Policy) -> Floats:
    """(resamples, columns) sums over prompts drawn with replacement."""
    rng = np.random.default_rng(policy.seed)
    n = len(rows)
    size = max(1, _CELLS // n)
    sums = []
    for start in range(0, policy.resamples, size):
        count = min(size, policy.resamples - start)
        drawn = rng.integers(0, n, (count, n)) + n * np.arange(count)[:, None]
        sums.append(np.bincount(drawn.ravel(), minlength=count * n).reshape(count, n) @ rows)
    return np.concatenate(sums)
