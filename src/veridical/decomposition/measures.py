"""The figures of one decomposer: matched facts, counts, invention, self-containment, with intervals.

The correlation of counts says little of quality: on FActScore's labels the number of words reaches as much as a
published splitter. Read it beside the matched facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import UsageError
from ..stats import Correlation, bca, pearson, spearman
from ..types import Decomposition, Struct
from .labelled import Response
from .match import Match, paired
from .wording import duplicates, invented, is_whole, leads_with_pronoun, without_subject

THRESHOLDS = (0.6, 0.75)
RESAMPLES = 2000


class Told(Struct, frozen=True, kw_only=True):
    """What a decomposer said of a response."""

    facts: tuple[tuple[str, ...], ...]
    """Of each sentence."""
    failed: tuple[int, ...] = ()
    """Sentences of which it said nothing that could be read: not counted as sentences without facts."""
    repeats: int = 0
    """Facts that said the same as another and were merged."""

    @classmethod
    def of(cls, response: Response, made: Decomposition) -> Told:
        facts: list[list[str]] = [[] for _ in response.sentences]
        for fact in made.facts:
            facts[fact.sentence].append(fact.text)
        return cls(
            facts=tuple(map(tuple, facts)),
            failed=tuple(one.sentence for one in made.failures),
            repeats=sum(fact.repeats for fact in made.facts),
        )


class Estimate(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A share in [0, 1], None where it is undefined, with its interval, for which whole topics are resampled."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Matched(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Matched facts at one threshold, pooled over sentences."""

    threshold: float
    precision: Estimate
    coverage: Estimate
    f1: Estimate
    systems: dict[str, Matched] = {}
    """The same of each system's responses, where there are several systems."""


class Follows(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Does a count of each response follow people's number of facts?"""

    pearson: Correlation
    spearman: Correlation


class DecomposerMeasures(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Of one decomposer, over the sentences that people wrote facts of and that it could read."""

    name: str
    responses: int
    sentences: int
    failed: int
    """Sentences with facts of people's that it could not read."""
    facts: int
    matched: tuple[Matched, ...]
    """At each threshold."""
    facts_per_sentence: float | None
    human_per_sentence: float | None
    counts: Follows
    """Of the facts a response; responses with a failed sentence, and without facts of people's, are left out."""
    invented: float | None
    """Share of facts with a content word or number that stands nowhere in the response or the topic."""
    pronoun: float | None
    """Share of facts that begin with a pronoun, and so cannot be judged by themselves."""
    subjectless: float | None
    """Share of facts without a subject, by a parser (`wording.without_subject`)."""
    duplicates: int
    """Facts that say the same as another of their response, merged ones included."""
    whole: float | None
    """Share of sentences that are their only fact, word for word."""
    seconds: float | None = None
    cost: float | None = None
    """US dollars that the work takes, whether or not a cache answered."""


def measured(
    name: str,
    responses: Sequence[Response],
    told: Sequence[Told],
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    level: float = 0.95,
    seed: int = 0,
    seconds: float | None = None,
    cost: float | None = None,
) -> DecomposerMeasures:
    """Over the sentences that people wrote facts of; those that the decomposer failed on are left out and counted.

    UsageError where not every response has been told of, or with another number of sentences.
    """
    if len(told) != len(responses) or any(
        len(one.facts) != len(response.sentences) for one, response in zip(told, responses, strict=True)
    ):
        raise UsageError(f"{name}: not as many responses or sentences as the labelled file has")
    kept = [_kept(response, one, min(thresholds, default=1.0)) for response, one in zip(responses, told, strict=True)]
    facts = [
        (fact, response) for response, own in zip(responses, kept, strict=True) for one in own for fact in one.ours
    ]
    flat = [one for own in kept for one in own]
    rows = [
        (sum(len(sentence.ours) for sentence in own), sum(map(len, response.human)), response.cluster)
        for response, one, own in zip(responses, told, kept, strict=True)
        if not one.failed and any(response.human)
    ]
    return DecomposerMeasures(
        name=name,
        responses=len(responses),
        sentences=len(flat),
        failed=sum(
            bool(response.human[at]) for response, one in zip(responses, told, strict=True) for at in one.failed
        ),
        facts=len(facts),
        matched=tuple(_matched(responses, kept, threshold, level, seed) for threshold in thresholds),
        facts_per_sentence=len(facts) / len(flat) if flat else None,
        human_per_sentence=sum(len(one.theirs) for one in flat) / len(flat) if flat else None,
        counts=_follows(rows, level, seed),
        invented=_share([bool(invented(fact, response)) for fact, response in facts]),
        pronoun=_share([leads_with_pronoun(fact) for fact, _ in facts]),
        subjectless=without_subject((fact for fact, _ in facts), seed=seed),
        duplicates=sum(one.repeats + duplicates([fact for own in one.facts for fact in own]) for one in told),
        whole=_share([is_whole(one.ours, one.text) for one in flat]),
        seconds=seconds,
        cost=cost,
    )


def baseline(responses: Sequence[Response], *, level: float = 0.95, seed: int = 0) -> dict[str, Follows]:
    """What follows people's number of facts without reading: words, sentences of the sentences with people's facts."""
    counted: dict[str, Callable[[list[str]], int]] = {
        "words": lambda sentences: sum(len(sentence.split()) for sentence in sentences),
        "sentences": len,
    }
    own = [[s.text for s, facts in zip(one.sentences, one.human, strict=True) if facts] for one in responses]
    return {
        name: _follows(
            [
                (count(sentences), sum(map(len, one.human)), one.cluster)
                for one, sentences in zip(responses, own, strict=True)
                if sentences
            ],
            level,
            seed,
        )
        for name, count in counted.items()
    }


class _Sentence(Struct, frozen=True, kw_only=True):
    """One that counts."""

    text: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    pairs: tuple[float, ...]
    """F1 of each pair, down to the lowest threshold."""


def _kept(response: Response, told: Told, lowest: float) -> list[_Sentence]:
    failed = set(told.failed)
    return [
        _Sentence(
            text=sentence.text,
            ours=ours,
            theirs=theirs,
            pairs=tuple(f1 for f1, _, _ in paired(ours, theirs, response.topic, lowest)),
        )
        for sentence, ours, theirs in zip(response.sentences, told.facts, response.human, strict=True)
        if theirs and sentence.index not in failed
    ]


def _matched(
    responses: Sequence[Response], kept: Sequence[Sequence[_Sentence]], threshold: float, level: float, seed: int
) -> Matched:
    systems: dict[str, dict[str, Match]] = {}
    for response, own in zip(responses, kept, strict=True):
        clusters = systems.setdefault(response.generation.system or "", {})
        for sentence in own:
            pairs = sum(f1 >= threshold for f1 in sentence.pairs)
            one = Match(matched=pairs, predicted=len(sentence.ours), human=len(sentence.theirs))
            clusters[response.cluster] = clusters.get(response.cluster, Match()) + one
    pooled: dict[str, Match] = {}
    for clusters in systems.values():
        for cluster, match in clusters.items():
            pooled[cluster] = pooled.get(cluster, Match()) + match
    apart = {
        name: Matched(threshold=threshold, **_estimates(list(clusters.values()), level, seed))
        for name, clusters in systems.items()
        if len(systems) > 1
    }
    return Matched(threshold=threshold, systems=apart, **_estimates(list(pooled.values()), level, seed))


def _estimates(clusters: Sequence[Match], level: float, seed: int) -> dict[str, Any]:
    """Precision, coverage and F1, each a ratio of sums over clusters."""
    total = sum(clusters, Match())
    table = np.array([(one.matched, one.predicted, one.human) for one in clusters], float).reshape(-1, 3)
    n, weights = len(table), None
    if n > 1:
        weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    ratios = {
        "precision": (total.precision, table[:, 0], table[:, 1]),
        "coverage": (total.coverage, table[:, 0], table[:, 2]),
        "f1": (total.f1, 2 * table[:, 0], table[:, 1] + table[:, 2]),
    }
    made: dict[str, Any] = {}
    for name, (value, above, below) in ratios.items():
        low, high = _interval(value, above, below, weights, level)
        made[name] = Estimate(value=value, low=low, high=high)
    return made


def _interval(value: float | None, above: Any, below: Any, weights: Any, level: float) -> tuple[float | None, ...]:
    """BCa of a ratio of sums; resamples in which it is undefined are left out. None, None where it says nothing."""
    rest = below.sum() - below
    if value is None or weights is None or not rest.all():
        return None, None
    sums = weights @ below
    drawn = (weights @ above)[sums > 0] / sums[sums > 0]
    return bca(drawn, value, (above.sum() - above) / rest, level=level) or (None, None)


def _follows(rows: Sequence[tuple[int, int, str]], level: float, seed: int) -> Follows:
    """Of rows of (count, people's count, cluster)."""
    if not rows:
        return Follows(pearson=Correlation(value=None), spearman=Correlation(value=None))
    ours, theirs, names = zip(*rows, strict=True)
    places = {name: number for number, name in enumerate(sorted(set(names)))}
    clusters = [places[name] for name in names]
    return Follows(
        pearson=pearson(ours, theirs, clusters, level=level, seed=seed),
        spearman=spearman(ours, theirs, clusters, level=level, seed=seed),
    )


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None
