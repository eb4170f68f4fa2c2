"""Score by score: how far a run's estimate of a system's FActScore is from the people's, and which systems it ranks
above which.

The error rate (FActScore, arXiv 2305.14251, section 4) rewards mistakes that cancel: it says nothing of single facts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from ..metrics import FActScore, Metric, Precision
from ..scores import Policy, outcome
from ..stats import Correlation, pearson, spearman
from ..text.normal import tokens
from ..types import Report, Struct
from .facts import ALWAYS_NS, ALWAYS_S, BASE, COIN
from .match import Pair
from .people import IRRELEVANT, OUTSIDE, SUPPORTED, Human, numbered, share, whole

WARNING = (
    "an error rate rewards mistakes that cancel (supported facts judged wrongly make up for others): "
    "read it beside the fact by fact figures"
)
MARKED = 5.0
"""The paper marks estimates further off than this, in points."""
_SAME = 1e-9


class Gap(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A run's estimate against people's score of one system, on the responses for which there are both."""

    system: str
    n: int
    """Such responses."""
    left_out: dict[str, int]
    """Labelled responses and reports that are not compared, by reason."""
    human: float | None
    """Mean of the people's scores of the n responses, in [0, 1]."""
    estimated: float | None
    """Mean of the run's, in [0, 1]."""
    estimated_bounds: tuple[float, float] | None
    """The same, were all that stayed unscored in them not supported, or supported."""
    error_rate: float | None
    """|estimated - human| in points (0 to 100)."""
    gap: float | None
    """estimated - human in points, with the paired interval over prompts beside it."""
    low: float | None
    high: float | None
    mark: str
    """"+" for an estimate more than 5 points too high, "-" for one as much too low, else "" (as the paper marks)."""
    pearson: Correlation
    spearman: Correlation
    """Of estimated and human scores of the responses."""
    trivial: dict[str, dict[str, float | None]]
    """What correlates with the human scores without a judge: "length" in words, "facts" of the run."""


class Ranking(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Whether estimates put systems in the order that people put them in."""

    human: tuple[str, ...]
    """Best first."""
    estimated: tuple[str, ...]
    kept: bool | None
    """Whether each pair that people tell apart has the same order in the estimates; equal estimates of such a pair are
    a loss, pairs that people score equal do not count. None where there is no pair to keep."""
    pairs: int
    pairs_kept: int
    pearson: float | None
    """Over the systems; None for fewer than three, where it says nothing."""


class Trivial(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A judge that gives every system the same score without reading anything."""

    name: str
    estimated: float
    """In [0, 1]."""
    error_rates: dict[str, float]
    """By system, in points."""
    kept: bool | None
    """Whether it keeps the people's ranking."""


def error_rate(estimated: float, human: float) -> float:
    """In points, of two scores in [0, 1]."""
    return 100 * abs(estimated - human)


def ranking(human: Mapping[str, float], estimated: Mapping[str, float]) -> Ranking:
    """The rankings of the systems that have both scores."""
    names = [name for name in human if name in estimated]
    pairs = [(a, b) for a, b in combinations(names, 2) if abs(human[a] - human[b]) > _SAME]
    kept = sum(_order(human[a], human[b]) == _order(estimated[a], estimated[b]) for a, b in pairs)
    return Ranking(
        human=tuple(sorted(names, key=lambda name: -human[name])),
        estimated=tuple(sorted(names, key=lambda name: -estimated[name])),
        kept=kept == len(pairs) if pairs else None,
        pairs=len(pairs),
        pairs_kept=kept,
        pearson=across(human, estimated),
    )


def across(first: Mapping[str, float], second: Mapping[str, float]) -> float | None:
    """Pearson's r of two estimators over the systems that both scored (FActScore, section 5); None for fewer than
    three, and where one does not vary."""
    names = [name for name in first if name in second]
    if len(names) < 3:
        return None
    return pearson([first[name] for name in names], [second[name] for name in names], resamples=1).value


def trivials(people: Sequence[Human]) -> tuple[Trivial, ...]:
    """The judges that read nothing. The base rate is that of all facts that the rule counts, of all systems given."""
    scores = {human.system: human.score.value for human in people if human.score.value is not None}
    good = sum(human.labels[SUPPORTED] for human in people)
    counted = sum(whole(human.labels, human.irrelevant_sentence_facts, human.rule) for human in people)
    values = {ALWAYS_S: 1.0, ALWAYS_NS: 0.0, COIN: 0.5} | ({BASE: good / counted} if counted else {})
    return tuple(
        Trivial(
            name=name,
            estimated=value,
            error_rates={system: error_rate(value, score) for system, score in scores.items()},
            kept=ranking(scores, dict.fromkeys(scores, value)).kept,
        )
        for name, value in values.items()
    )


def gap(system: str, pairs: Sequence[Pair], left_out: Counter[str], rule: str, given: bool, policy: Policy) -> Gap:
    """Compare the scores of one system's pairs. `given`: the run judged the labelled facts (see `pairing.paired`)."""
    alone = Counter(left_out)
    kept: list[Pair] = []
    people: list[float] = []
    estimates: list[float] = []
    for pair in pairs:
        human, estimate = pair.labelled.value(rule), estimated(pair, rule, given)
        if human is None or isinstance(estimate, str):
            alone[_why(pair, human, estimate)] += 1
        else:
            kept.append(pair)
            people.append(human)
            estimates.append(estimate)
    differences = [100 * (a - b) for a, b in zip(estimates, people, strict=True)]
    low, high = policy.interval(differences, numbered(pair.key for pair in kept))
    off = _mean(differences)
    settings = {"level": policy.level, "resamples": policy.resamples, "seed": policy.seed}
    return Gap(
        system=system,
        n=len(kept),
        left_out=dict(sorted(alone.items())),
        human=_mean(people),
        estimated=_mean(estimates),
        estimated_bounds=_bounded([_bounds(pair, rule, given) for pair in kept]),
        error_rate=None if off is None else abs(off),
        gap=off,
        low=low,
        high=high,
        mark="" if off is None or abs(off) <= MARKED else "+" if off > 0 else "-",
        pearson=pearson(estimates, people, **settings),
        spearman=spearman(estimates, people, **settings),
        trivial=_trivial(kept, people),
    )


def estimated(pair: Pair, rule: str, given: bool) -> float | str:
    """The run's score of a response in [0, 1], or why it has none.

    Of a run over the labelled facts: over those with a verdict, under the people's rule. So facts of irrelevant
    sentences, which such a run is not shown, count as not supported under "paper", and facts that people found
    irrelevant are left out under "irrelevant-out", as are those of which the run says so. Of any other run: its own
    FActScore without length penalty, or its precision under "irrelevant-out".
    """
    metric = _metric(rule)
    if not given:
        return outcome(pair.report, metric)
    if pair.report.abstained or pair.report.failure or pair.report.failures:
        return outcome(pair.report, metric)
    rows = [row for row in pair.rows if rule != OUTSIDE or row.gold != IRRELEVANT]
    counts = Counter(row.verdict for row in rows if row.verdict is not None)
    value = share(counts, pair.labelled.beside, rule)
    if value is not None and (counts or not rows):
        return value
    return next((row.reason for row in rows if row.verdict is None), "no claims")


def _metric(rule: str) -> Metric:
    return Precision() if rule == OUTSIDE else FActScore(gamma=0)


def _bounds(pair: Pair, rule: str, given: bool) -> tuple[float, float] | None:
    if not given:
        return _metric(rule).bounds(pair.report)
    rows = [row for row in pair.rows if rule != OUTSIDE or row.gold != IRRELEVANT]
    counts = Counter(row.verdict or "unscored" for row in rows)
    among = whole(counts, pair.labelled.beside, rule) + counts["unscored"]
    return (counts[SUPPORTED] / among, (counts[SUPPORTED] + counts["unscored"]) / among) if among else None


def _bounded(bounds: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    known = [pair for pair in bounds if pair is not None]
    if not known or len(known) < len(bounds):
        return None
    return math.fsum(least for least, _ in known) / len(known), math.fsum(most for _, most in known) / len(known)


def _why(pair: Pair, human: float | None, estimate: float | str) -> str:
    """The first reason that a pair is not compared."""
    if pair.labelled.abstained:
        both = pair.report.abstained
        return "abstained for the people and in the run" if both else "abstained for the people, not in the run"
    if human is None:
        return "no claims for the people"
    return f"{estimate} in the run" if estimate in ("abstained", "no claims") else str(estimate)


def _trivial(pairs: Sequence[Pair], people: Sequence[float]) -> dict[str, dict[str, float | None]]:
    reports: list[Report] = [pair.report for pair in pairs]
    simple = {
        "length": [len(tokens(report.generation.text)) for report in reports],
        "facts": [len(report.facts) for report in reports],
    }
    return {
        name: {
            "pearson": pearson(values, people, resamples=1).value,
            "spearman": spearman(values, people, resamples=1).value,
        }
        for name, values in simple.items()
    }


def _order(a: float, b: float) -> int:
    return 0 if abs(a - b) <= _SAME else 1 if a > b else -1


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
