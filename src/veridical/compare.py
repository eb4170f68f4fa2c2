"""Systems side by side on the prompts that all of them answered: paired differences, tests, ranking.

Comparing runs on different prompts compares the prompts; so a prompt that one run left unscored counts for none, and
the comparison says how many there were and why.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from .errors import UsageError
from .metrics import Metric
from .scores import ABSTAINED, NO_CLAIMS, Policy, outcome, task
from .stats import FEW, holm, randomisation
from .types import Report, Struct


class System(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One run on the common prompts."""

    name: str
    value: float
    """Mean over the common prompts of the mean of its answers to each."""
    low: float | None
    high: float | None
    rank: int
    """1 + how many systems are better than it by a corrected p below 1 - level; those not told apart share a rank."""
    prompts: int
    """Different prompts in the run, common or not."""


class Difference(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """`first` minus `second` on the common prompts."""

    first: str
    second: str
    value: float
    low: float | None
    high: float | None
    p: float
    """Two-sided, paired randomisation test."""
    p_holm: float
    """Corrected for the number of pairs (Holm)."""
    wins: int
    """Prompts on which `first` has the higher value; the rest are ties and losses."""
    ties: int
    losses: int


class Comparison(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Runs compared by one metric. `systems` best first, `differences` of each pair in their order."""

    metric: str
    level: float
    n: int
    """Common prompts."""
    left_out: dict[str, int]
    """Prompts not compared, each under its first reason: "missing in B", "abstained in A", "verify:ParseError in A"."""
    systems: tuple[System, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()


def compare(
    runs: Sequence[tuple[str, Iterable[Report]]],
    metric: Metric,
    *,
    match: str = "prompt",
    level: float = 0.95,
    resamples: int = 2000,
    permutations: int = 10_000,
    seed: int = 0,
    abstentions: str = "exclude",
) -> Comparison:
    """Compare two or more runs of (name, reports), each read once.

    Prompts are matched by what was asked (`scores.task`), or with `match="id"` by the ids of the generations. A run's
    value on a prompt is the mean of its answers to it; a prompt with an answer that stayed unscored is left out, and so
    is one to which some run has abstentions or claimless answers only. Raises UsageError for fewer than two runs, equal
    names, or no common prompt.
    """
    policy = Policy(level=level, resamples=resamples, seed=seed, abstentions=abstentions)
    names = [name for name, _ in runs]
    if len(runs) < 2 or len(set(names)) < len(names):
        raise UsageError(f"comparing needs two runs or more, with different names: {', '.join(names) or 'none given'}")
    if match not in ("prompt", "id"):
        raise UsageError(f"runs are matched by prompt or by id, not by {match!r}")
    read = [_Run(name, reports, metric, policy, match) for name, reports in runs]
    common, left_out = _common(read)
    if not common:
        why = "; ".join(f"{reason}: {count}" for reason, count in left_out.items())
        other = "id" if match == "prompt" else "prompt"
        raise UsageError(f"the runs have no scored prompt in common ({why or 'no reports'}); try match={other!r}")
    values = {run.name: [run.values[key] for key in common] for run in read}
    ranked = sorted(read, key=lambda run: -_mean(values[run.name]))
    differences = _differences([run.name for run in ranked], values, policy, permutations)
    return Comparison(
        metric=metric.name,
        level=level,
        n=len(common),
        left_out=left_out,
        systems=tuple(_system(run, values[run.name], differences, policy) for run in ranked),
        differences=differences,
        notes=_notes(read, len(common)),
    )


class _Run:
    """The values of one run by prompt, and why the other prompts have none."""

    def __init__(self, name: str, reports: Iterable[Report], metric: Metric, policy: Policy, match: str) -> None:
        self.name = name
        self.signatures: set[str] = set()
        found: dict[bytes, list[float]] = {}
        empty: dict[bytes, str] = {}
        failed: dict[bytes, str] = {}
        for report in reports:
            key = report.generation.id.encode() if match == "id" else task(report)
            self.signatures.add(report.signature)
            result = outcome(report, metric, policy.abstentions)
            if not isinstance(result, str):
                found.setdefault(key, []).append(result)
            elif result in (ABSTAINED, NO_CLAIMS):
                empty.setdefault(key, result)
            else:
                failed.setdefault(key, result)
        self.values = {key: _mean(values) for key, values in found.items() if key not in failed}
        self.missing = {key: reason for key, reason in (empty | failed).items() if key not in self.values}
        self.prompts = len(self.values) + len(self.missing)


def _common(runs: Sequence[_Run]) -> tuple[list[bytes], dict[str, int]]:
    """Keys with a value in every run, in the order of the first; the others counted by the first reason."""
    keys = dict.fromkeys(key for run in runs for key in (*run.values, *run.missing))
    common = [key for key in keys if all(key in run.values for run in runs)]
    reasons = Counter(
        next(f"{run.missing.get(key, 'missing')} in {run.name}" for run in runs if key not in run.values)
        for key in keys
        if not all(key in run.values for run in runs)
    )
    return common, dict(sorted(reasons.items()))


def _differences(
    ranked: Sequence[str], values: dict[str, list[float]], policy: Policy, permutations: int
) -> tuple[Difference, ...]:
    pairs = list(combinations(ranked, 2))
    gaps = [[a - b for a, b in zip(values[first], values[second], strict=True)] for first, second in pairs]
    ps = [randomisation(gap, resamples=permutations, seed=policy.seed) for gap in gaps]
    return tuple(
        _difference(pair, gap, p, corrected, policy)
        for pair, gap, p, corrected in zip(pairs, gaps, ps, holm(ps), strict=True)
    )


def _difference(pair: tuple[str, str], gap: list[float], p: float, corrected: float, policy: Policy) -> Difference:
    low, high = policy.interval(gap)
    wins, losses = sum(d > 0 for d in gap), sum(d < 0 for d in gap)
    return Difference(
        first=pair[0],
        second=pair[1],
        value=_mean(gap),
        low=low,
        high=high,
        p=p,
        p_holm=corrected,
        wins=wins,
        ties=len(gap) - wins - losses,
        losses=losses,
    )


def _system(run: _Run, values: list[float], differences: Sequence[Difference], policy: Policy) -> System:
    low, high = policy.interval(values)
    better = [d for d in differences if d.second == run.name and d.value > 0 and d.p_holm < 1 - policy.level]
    return System(name=run.name, value=_mean(values), low=low, high=high, rank=1 + len(better), prompts=run.prompts)


def _notes(runs: Sequence[_Run], n: int) -> tuple[str, ...]:
    notes = []
    if len(set.union(*(run.signatures for run in runs))) > 1:
        notes.append("the runs were judged by different methods, so a difference may be the judges'")
    if n < FEW:
        notes.append(f"only {n} common prompts: intervals are too narrow, small differences cannot be seen")
    return tuple(notes)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
