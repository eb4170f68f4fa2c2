"""The human side: what people's labels make of a system, under a counting rule that is named with every figure.

Labels come as `Generation`s with labelled `facts` (FActScore's annotated files, or our own input format), or with one
label a sentence in `metadata["annotation"]` (WikiBio GPT-3).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..scores import Policy, task
from ..types import Generation, Label, Report, Score, Struct

SUPPORTED, NOT_SUPPORTED, IRRELEVANT = "supported", "not_supported", "irrelevant"
PAPER, INSIDE, OUTSIDE = "paper", "irrelevant-in", "irrelevant-out"
RULES: dict[str, str] = {
    PAPER: "supported / all facts of a response, irrelevant facts and the facts of irrelevant sentences counting as "
    "not supported",
    INSIDE: "supported / labelled facts of a response, irrelevant facts counting as not supported; irrelevant "
    "sentences left out",
    OUTSIDE: "supported / (supported + not supported) of a response; irrelevant facts and sentences left out",
}
"""Counting rules by name. FActScore's paper does not say which is its own; only "paper" gives its numbers."""
SENTENCES: dict[str, float] = {"accurate": 1.0, "minor_inaccurate": 0.5, "major_inaccurate": 0.0}
"""What a labelled sentence of WikiBio GPT-3 counts."""
_SENTENCE_RULE = "mean over the sentences of a response: accurate 1, minor inaccuracy 0.5, major 0"


def three(label: Label | str) -> str:
    """The label among three: contradicted and without enough evidence are both "not_supported"."""
    return label if label in (SUPPORTED, IRRELEVANT) else NOT_SUPPORTED


class Gold(Struct, frozen=True, kw_only=True):
    """One labelled fact."""

    text: str
    label: str
    """As the file has it (see `GivenFact.label`)."""
    sentence: str | None = None


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """One response with what people said of it."""

    system: str
    generation: Generation
    facts: tuple[Gold, ...] = ()
    unlabelled: int = 0
    """Facts that nobody labelled; in no figure."""
    irrelevant_sentences: int = 0
    beside: int = 0
    """Facts that a model took out of the irrelevant sentences."""
    sentences: tuple[float, ...] | None = None
    """The values of its sentences, where people labelled sentences."""

    @property
    def abstained(self) -> bool:
        return bool(self.generation.abstained)

    @property
    def counts(self) -> Counter[str]:
        return Counter(three(fact.label) for fact in self.facts)

    def value(self, rule: str) -> float | None:
        """Its score in [0, 1] under the rule; None for an abstention and where the rule leaves nothing to count."""
        if self.abstained:
            return None
        if self.sentences is not None:
            return math.fsum(self.sentences) / len(self.sentences)
        return share(self.counts, self.beside, rule)

    def size(self, rule: str) -> int:
        """How many facts the rule counts."""
        return whole(self.counts, self.beside, rule)


def whole(counts: Mapping[str, int], beside: int, rule: str) -> int:
    """The rule's denominator: facts by their three labels, and those beside them in irrelevant sentences."""
    relevant = counts.get(SUPPORTED, 0) + counts.get(NOT_SUPPORTED, 0)
    if rule == OUTSIDE:
        return relevant
    return relevant + counts.get(IRRELEVANT, 0) + (beside if rule == PAPER else 0)


def share(counts: Mapping[str, int], beside: int, rule: str) -> float | None:
    among = whole(counts, beside, rule)
    return counts.get(SUPPORTED, 0) / among if among else None


def checked(rule: str) -> str:
    if rule not in RULES:
        raise UsageError(f"no counting rule {rule!r}; there are {', '.join(RULES)}")
    return rule


def labelled(system: str, generation: Generation) -> Labelled | None:
    """What people said of a generation, or None where they said nothing.

    Null annotations (`abstained`) say that it declined to answer. Facts of which not one has a label say nothing.
    """
    if generation.abstained:
        return Labelled(system=system, generation=generation)
    sentences = _sentences(generation.metadata)
    if sentences:
        return Labelled(system=system, generation=generation, sentences=sentences)
    if generation.facts is None:
        return None
    facts = tuple(
        Gold(text=fact.text.strip(), label=fact.label, sentence=fact.sentence)
        for fact in generation.facts
        if fact.label is not None
    )
    if generation.facts and not facts:
        return None
    count, beside = _irrelevant(generation.metadata)
    return Labelled(
        system=system,
        generation=generation,
        facts=facts,
        unlabelled=len(generation.facts) - len(facts),
        irrelevant_sentences=count,
        beside=beside,
    )


def _sentences(metadata: Mapping[str, Any]) -> tuple[float, ...] | None:
    labels = metadata.get("annotation")
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        return None
    return tuple(SENTENCES[label] for label in labels) if set(labels) <= set(SENTENCES) else None


def _irrelevant(metadata: Mapping[str, Any]) -> tuple[int, int]:
    """Irrelevant sentences that the reader kept, and how many facts a model took out of them."""
    kept = metadata.get("irrelevant_sentences")
    sentences = [item for item in kept if isinstance(item, dict)] if isinstance(kept, list) else []
    facts = [item["facts"] for item in sentences if isinstance(item.get("facts"), list)]
    return len(sentences), sum(map(len, facts))


class Human(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What the labels say of one system: its score under the rule, and what was labelled."""

    system: str
    rule: str
    """Name of the counting rule; "sentences" where people labelled sentences, not facts."""
    score: Score
    response_rate: float
    """Answers of all responses, in [0, 1]."""
    facts_per_response: float | None
    """Facts that the rule counts, per answer."""
    facts: int
    """Labelled facts, one a row of the file."""
    unique: int
    """The same, equal texts of one response counted once."""
    labels: dict[str, int]
    """Facts by label: supported, not_supported, irrelevant."""
    shares: dict[str, float]
    """Means over all responses of the shares of their facts by label, irrelevant sentences counting as irrelevant, and
    of "abstained"; they sum to 1 if no answer is without facts (FActScore's table 1)."""
    unlabelled: int
    irrelevant_sentences: int
    irrelevant_sentence_facts: int
    not_labelled: int
    """Responses of which nobody said anything; in no other figure."""


def human(system: str, responses: Sequence[Labelled], rule: str, policy: Policy, *, not_labelled: int = 0) -> Human:
    """The human side of one system. Several answers to one prompt stay together in the interval."""
    answers = [response for response in responses if not response.abstained]
    sizes = [response.size(rule) for response in answers if response.sentences is None]
    labels = sum((response.counts for response in answers), Counter[str]())
    by_sentence = any(response.sentences is not None for response in answers)
    return Human(
        system=system,
        rule="sentences" if by_sentence else rule,
        score=_score(responses, rule, policy, _SENTENCE_RULE if by_sentence else RULES[rule]),
        response_rate=len(answers) / len(responses) if responses else 0.0,
        facts_per_response=sum(sizes) / len(sizes) if sizes else None,
        facts=labels.total(),
        unique=sum(len({fact.text for fact in response.facts}) for response in answers),
        labels={label: labels[label] for label in (SUPPORTED, NOT_SUPPORTED, IRRELEVANT)},
        shares=_shares(responses) if sizes else {},
        unlabelled=sum(response.unlabelled for response in answers),
        irrelevant_sentences=sum(response.irrelevant_sentences for response in answers),
        irrelevant_sentence_facts=sum(response.beside for response in answers),
        not_labelled=not_labelled,
    )


def _score(responses: Sequence[Labelled], rule: str, policy: Policy, words: str) -> Score:
    found = [(value, key(response)) for response in responses if (value := response.value(rule)) is not None]
    values = [value for value, _ in found]
    abstained = sum(response.abstained for response in responses)
    low, high = policy.interval(values, numbered([place for _, place in found]))
    return Score(
        name=f"human factscore ({rule})",
        value=math.fsum(values) / len(values) if values else None,
        low=low,
        high=high,
        level=policy.level,
        n=len(responses),
        scored=len(values),
        abstained=abstained,
        no_claims=len(responses) - abstained - len(values),
        facts=sum(response.size(rule) for response in responses),
        facts_judged=sum(response.size(rule) for response in responses),
        rule=f"{words}; mean over responses" + ("; abstentions left out" if abstained else ""),
    )


def _shares(responses: Sequence[Labelled]) -> dict[str, float]:
    totals: dict[str, float] = dict.fromkeys((SUPPORTED, NOT_SUPPORTED, IRRELEVANT, "abstained"), 0.0)
    for response in responses:
        sums = response.counts + Counter({IRRELEVANT: response.beside})
        for label, count in sums.items():
            totals[label] += count / sums.total()
        totals["abstained"] += response.abstained
    return {label: total / len(responses) for label, total in totals.items()} if responses else {}


def key(response: Labelled) -> bytes:
    """What was asked, the same for all systems (`scores.task`)."""
    return task(Report(generation=response.generation))


def numbered(keys: Iterable[bytes]) -> list[int]:
    """Each key as a number, equal keys as the same one, in order of first sight."""
    seen: dict[bytes, int] = {}
    return [seen.setdefault(item, len(seen)) for item in keys]
