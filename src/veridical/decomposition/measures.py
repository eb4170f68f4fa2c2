"""The figures of one decomposer: matched facts, counts, invention, self-containment, with intervals.

The correlation of counts says little of quality: on FActScore's labels the number of words reaches as much as a
published splitter. Read it beside the matched facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..errors import UsageError
from ..stats import Correlation, bca, pearson, spearman
from ..types import AtomicFact, Decomposition, Struct
from .labelled import Response
from .match import STOP_WORDS, Match, matched, words

THRESHOLDS = (0.6, 0.75)
PRONOUNS = frozenset({
    "he", "she", "it", "they", "him", "her", "them", "his", "hers", "its", "their", "theirs", "this", "that", "these",
    "those", "i", "we", "you", "who",
})  # fmt: skip
RESAMPLES = 2000


class Told(Struct, frozen=True, kw_only=True):
    """What a decomposer said of a response."""

    facts: tuple[tuple[str, ...], ...]
    """Of each sentence."""
    failed: tuple[int, ...] = ()
    """Sentences of which it said nothing that could be read: not counted as sentences without facts."""
    repeats: int = 0
    """Facts that said the same as another and were merged."""
    whole: int = 0
    """Sentences that were passed on uncut, and said to be."""

    @classmethod
    def of(cls, response: Response, made: Decomposition) -> Told:
        facts: list[list[AtomicFact]] = [[] for _ in response.sentences]
        for fact in made.facts:
            facts[fact.sentence].append(fact)
        return cls(
            facts=tuple(tuple(fact.text for fact in own) for own in facts),
            failed=tuple(one.sentence for one in made.failures),
            repeats=sum(fact.repeats for fact in made.facts),
            whole=sum(any("whole" in flag for flag in fact.flags) for fact in made.facts),
        )


class Matched(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Matched facts at one threshold."""

    threshold: float
    precision: float | None
    coverage: float | None
    f1: float | None
    low: float | None
    high: float | None
    """Interval of F1, whole topics resampled."""
    systems: dict[str, float | None]
    """F1 of each system."""


class DecomposerMeasures(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Of one decomposer."""

    name: str
    responses: int
    sentences: int
    """With facts of people's, that the decomposer could read."""
    failed: int
    """Such sentences that it could not."""
    facts: int
    matched: tuple[Matched, ...]
    facts_per_sentence: float | None
    human_per_sentence: float | None
    pearson: Correlation
    spearman: Correlation
    """Of the facts a response with people's; responses with a failed sentence are left out."""
    counted: int
    """Responses in the correlations."""
    invented: float | None
    """Share of facts with a content word or number that stands nowhere in the response or the topic."""
    pronoun: float | None
    """Share of facts that begin with a pronoun, and so cannot be judged by themselves."""
    repeats: int
    whole: int
    seconds: float | None = None
    cost: float | None = None


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
    kept = [_kept(response, one) for response, one in zip(responses, told, strict=True)]
    facts = [
        (fact, response) for response, own in zip(responses, kept, strict=True) for _, ours, _ in own for fact in ours
    ]
    sentences = sum(map(len, kept))
    human = sum(len(theirs) for own in kept for _, _, theirs in own)
    whole = [
        (sum(len(ours) for _, ours, _ in own), sum(map(len, response.human)), response.cluster)
        for response, one, own in zip(responses, told, kept, strict=True)
        if not one.failed and any(response.human)
    ]
    return DecomposerMeasures(
        name=name,
        responses=len(responses),
        sentences=sentences,
        failed=sum(
            bool(response.human[place]) for response, one in zip(responses, told, strict=True) for place in one.failed
        ),
        facts=len(facts),
        matched=tuple(_matched(responses, kept, threshold, level, seed) for threshold in thresholds),
        facts_per_sentence=len(facts) / sentences if sentences else None,
        human_per_sentence=human / sentences if sentences else None,
        pearson=_correlated(pearson, whole, level, seed),
        spearman=_correlated(spearman, whole, level, seed),
        counted=len(whole),
        invented=_share([bool(invented(fact, response)) for fact, response in facts]),
        pronoun=_share([leads_with_pronoun(fact) for fact, _ in facts]),
        repeats=sum(one.repeats for one in told),
        whole=sum(one.whole for one in told),
        seconds=seconds,
        cost=cost,
    )


def baseline(responses: Sequence[Response], *, level: float = 0.95, seed: int = 0) -> dict[str, Correlation]:
    """Pearson of people's number of facts with what reads nothing: words and sentences of the sentences labelled."""
    rows = [(one, [s for s, facts in zip(one.sentences, one.human, strict=True) if facts]) for one in responses]
    rows = [(one, own) for one, own in rows if own]
    counts = {
        "words": [sum(len(words(sentence.text)) for sentence in own) for _, own in rows],
        "sentences": [len(own) for _, own in rows],
    }
    return {
        name: _correlated(
            pearson,
            [(n, sum(map(len, one.human)), one.cluster) for n, (one, _) in zip(own, rows, strict=True)],
            level,
            seed,
        )
        for name, own in counts.items()
    }


def invented(fact: str, response: Response) -> list[str]:
    """Content words and numbers of a fact that stand nowhere in the response, its prompt's topic included."""
    known = {*words(response.generation.text), *words(response.topic)}
    return [word for word in words(fact) if word not in known and word not in STOP_WORDS and word != "s"]


def leads_with_pronoun(fact: str) -> bool:
    return bool(first := words(fact)[:1]) and first[0] in PRONOUNS


_Sentence = tuple[int, Sequence[str], Sequence[str]]


def _kept(response: Response, told: Told) -> list[_Sentence]:
    """Place, predicted and human facts of the sentences that count."""
    failed = set(told.failed)
    return [
        (place, ours, theirs)
        for place, (ours, theirs) in enumerate(zip(told.facts, response.human, strict=True))
        if theirs and place not in failed
    ]


def _matched(
    responses: Sequence[Response], kept: Sequence[Sequence[_Sentence]], threshold: float, level: float, seed: int
) -> Matched:
    clusters: dict[str, Match] = {}
    systems: dict[str, Match] = {}
    for response, own in zip(responses, kept, strict=True):
        for _, ours, theirs in own:
            pairs = matched(ours, theirs, response.topic, threshold)
            one = Match(matched=len(pairs), predicted=len(ours), human=len(theirs))
            clusters[response.cluster] = clusters.get(response.cluster, Match()) + one
            system = response.generation.system or ""
            systems[system] = systems.get(system, Match()) + one
    total = sum(systems.values(), Match())
    low, high = _interval(list(clusters.values()), level, seed) or (None, None)
    return Matched(
        threshold=threshold,
        precision=total.precision,
        coverage=total.coverage,
        f1=total.f1,
        low=low,
        high=high,
        systems={name: one.f1 for name, one in systems.items()},
    )


def _interval(clusters: Sequence[Match], level: float, seed: int) -> tuple[float, float] | None:
    """Of the pooled F1, whole clusters resampled."""
    if len(clusters) < 2:
        return None
    table = np.array([(2 * one.matched, one.predicted + one.human) for one in clusters], float)
    weights = np.random.default_rng(seed).multinomial(len(table), np.full(len(table), 1 / len(table)), size=RESAMPLES)
    drawn, rest, total = weights @ table, table.sum(0) - table, table.sum(0)
    return bca(drawn[:, 0] / drawn[:, 1], float(total[0] / total[1]), rest[:, 0] / rest[:, 1], level=level)


def _correlated(
    of: Callable[..., Correlation], rows: Sequence[tuple[int, int, str]], level: float, seed: int
) -> Correlation:
    places = {name: number for number, name in enumerate(sorted({cluster for _, _, cluster in rows}))}
    ours, theirs, clusters = ([row[0] for row in rows], [row[1] for row in rows], [places[row[2]] for row in rows])
    return of(ours, theirs, clusters, level=level, seed=seed) if rows else Correlation(value=None)


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None
