"""From reports to scores: a number with its interval and everything that is not in it.

One pass over the reports, which may be streamed from disk; what is kept is a few numbers a generation.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .errors import UsageError
from .metrics import Macro, Metric
from .stats import FEW, bootstrap
from .tally import reason, trouble
from .types import Report, Score

ABSTAINED = "abstained"
NO_CLAIMS = "no claims"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How scores are made."""

    level: float = 0.95
    """Of the interval, between 0 and 1."""
    resamples: int = 2000
    seed: int = 0
    abstentions: str = "exclude"
    """"exclude": only answers count; "zero": an abstention counts 0."""

    def __post_init__(self) -> None:
        if self.abstentions not in ("exclude", "zero"):
            raise UsageError(f"abstentions are either exclude or zero, not {self.abstentions!r}")
        if not 0 < self.level < 1 or self.resamples < 1:
            raise UsageError(f"the level must lie between 0 and 1, resamples be at least 1: {self}")

    def interval(
        self,
        values: Sequence[float],
        clusters: Sequence[int] | None = None,
        statistic: Callable[[Sequence[float]], float] | None = None,
    ) -> tuple[float, float] | tuple[None, None]:
        """Of the mean, or of `statistic` (see `stats.bootstrap`)."""
        settings = {"resamples": self.resamples, "seed": self.seed}
        return bootstrap(values, clusters, level=self.level, statistic=statistic, **settings) or (None, None)


def scores(
    reports: Iterable[Report],
    metrics: Sequence[Metric],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    abstentions: str = "exclude",
    signature: str = "",
) -> list[Score]:
    """A score for each metric, in their order.

    - A report with a failure, or with sentences that could not be decomposed, is unscored: counted by reason, and
      bounded (0 to 1 for shares). One whose facts failed in part is scored over the judged ones, and bounded.
    - Abstentions are left out ("exclude"), or count 0 ("zero").
    - An answer without facts, or with none that the metric counts, has no claims: undefined, never perfect.
    - The interval is `stats.bootstrap` over prompts (see `task`); several answers to one prompt stay together.
    - `signature` defaults to what the reports carry.
    """
    policy = Policy(level=level, resamples=resamples, seed=seed, abstentions=abstentions)
    group = Group(metrics, policy)
    for report in reports:
        group.add(report)
    return group.scores(signature)


def score(
    reports: Iterable[Report],
    metric: Metric,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    abstentions: str = "exclude",
    signature: str = "",
) -> Score:
    """The score of one metric (see `scores`)."""
    return scores(
        reports,
        [metric],
        level=level,
        resamples=resamples,
        seed=seed,
        abstentions=abstentions,
        signature=signature,
    )[0]


def by(
    reports: Iterable[Report],
    field: str,
    metrics: Sequence[Metric],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    abstentions: str = "exclude",
) -> dict[str, list[Score]]:
    """Scores for each value of a field of the generation ("topic", "system") or of its metadata, sorted by value.

    Reports without the field are in the group "".
    """
    policy = Policy(level=level, resamples=resamples, seed=seed, abstentions=abstentions)
    groups: dict[str, Group] = {}
    for report in reports:
        groups.setdefault(_field(report, field), Group(metrics, policy)).add(report)
    return {value: group.scores() for value, group in sorted(groups.items())}


def unscored(reports: Iterable[Report], metric: Metric) -> Iterator[tuple[str, str]]:
    """(generation id, reason) of each report that stayed without a value for a failure."""
    for report in reports:
        found = outcome(report, metric)
        if isinstance(found, str) and found not in (ABSTAINED, NO_CLAIMS):
            yield report.generation.id, found


def outcome(report: Report, metric: Metric, abstentions: str = "exclude") -> float | str:
    """The value of a report, or why it has none: ABSTAINED, NO_CLAIMS or a reason such as "verify:ParseError"."""
    value = metric.of(report)
    if value is not None and math.isfinite(value):
        return value
    if report.abstained:
        return 0.0 if abstentions == "zero" else ABSTAINED
    failed = trouble(report) or next(iter(_unjudged(report)), None)
    if failed is None and value is not None:
        return f"metric:{value}"
    return failed or NO_CLAIMS


def task(report: Report) -> bytes:
    """Key of what was asked: prompt, topic and reference, or the generation's id where it has none of them.

    Answers with the same key are answers to the same question, of one run or of several.
    """
    generation = report.generation
    asked = [generation.prompt.strip(), (generation.topic or "").strip(), (generation.reference or "").strip()]
    parts = asked if any(asked) else ["", "", "", generation.id]
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Group:
    """The reports that one list of scores is about."""

    def __init__(self, metrics: Sequence[Metric], policy: Policy) -> None:
        self._collectors = [_Collector(metric, policy) for metric in metrics]
        self._tasks: dict[bytes, int] = {}
        self._signatures: set[str] = set()

    def add(self, report: Report) -> None:
        number = self._tasks.setdefault(task(report), len(self._tasks))
        self._signatures.add(report.signature)
        for collector in self._collectors:
            collector.add(report, number)

    def scores(self, signature: str = "") -> list[Score]:
        signature = signature or " | ".join(sorted(self._signatures - {""}))
        return [collector.score(signature) for collector in self._collectors]


@dataclass
class _Collector:
    """What one metric makes of the reports so far."""

    metric: Metric
    policy: Policy
    values: array[float] = field(default_factory=lambda: array("d"))
    tasks: array[int] = field(default_factory=lambda: array("q"))
    least: array[float] = field(default_factory=lambda: array("d"))
    most: array[float] = field(default_factory=lambda: array("d"))
    unbounded: bool = False
    n: int = 0
    abstained: int = 0
    no_claims: int = 0
    facts: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)

    def add(self, report: Report, number: int) -> None:
        found = outcome(report, self.metric, self.policy.abstentions)
        self.n += 1
        self.abstained += report.abstained
        if not isinstance(found, str):
            self.values.append(found)
            self.tasks.append(number)
            self.facts += len(report.facts)
            unjudged = _unjudged(report)
            self.unjudged.update(unjudged)
            self._bound(self.metric.bounds(report) or (None if unjudged else (found, found)))
        elif found == NO_CLAIMS:
            self.no_claims += 1
        elif found != ABSTAINED:
            self.unscored[found] += 1
            self._bound(self.metric.bounds(report))

    def _bound(self, bounds: tuple[float, float] | None) -> None:
        if bounds is None:
            self.unbounded = True
        else:
            self.least.append(bounds[0])
            self.most.append(bounds[1])

    def score(self, signature: str) -> Score:
        statistic = None if isinstance(self.metric, Macro) else self.metric.combine
        low, high = self.policy.interval(self.values, self.tasks, statistic)
        bounded = len(self.least) > 0 and not self.unbounded
        return Score(
            name=self.metric.name,
            value=self.metric.combine(self.values) if self.values else None,
            low=low,
            high=high,
            level=self.policy.level,
            n=self.n,
            scored=len(self.values),
            abstained=self.abstained,
            no_claims=self.no_claims,
            unscored=dict(sorted(self.unscored.items())),
            facts=self.facts,
            facts_judged=self.facts - self.unjudged.total(),
            unjudged=dict(sorted(self.unjudged.items())),
            bounds=(self.metric.combine(self.least), self.metric.combine(self.most)) if bounded else None,
            rule=self._rule(),
            signature=signature,
        )

    def _rule(self) -> str:
        parts = [self.metric.rule]
        if isinstance(self.metric, Macro):
            parts.append("mean over responses")
        left_out = self.n - len(self.values) - self.no_claims - self.unscored.total()
        if left_out:
            parts.append("abstentions left out")
        elif self.abstained and self.policy.abstentions == "zero":
            parts.append("abstentions count 0")
        prompts = len(set(self.tasks))
        if prompts == 1 < len(self.values):
            parts.append("no interval, since all are answers to one prompt")
        elif 1 < prompts < FEW:
            parts.append(f"an interval from only {prompts} prompts is too narrow")
        return "; ".join(parts)


def _unjudged(report: Report) -> Counter[str]:
    """Facts without a verdict, by reason, most frequent first."""
    counts = Counter(reason(judged.failure) for judged in report.facts if judged.failure)
    return Counter(dict(counts.most_common()))


def _field(report: Report, field: str) -> str:
    generation = report.generation
    value = getattr(generation, field) if field in ("topic", "system") else generation.metadata.get(field)
    return "" if value is None else str(value)
