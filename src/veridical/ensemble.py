"""Several judges, one verdict. FActScore's best estimators are of this kind: supported when the language model says so
and then the nonparametric one does too (section 4.1, appendix B.1).

What a rule makes of the members' labels (n members, s of them "supported"):

| rule     | supported if                        | asked |
|----------|-------------------------------------|-------|
| all      | s = n                               | in order, until one says something else |
| any      | s > 0                               | in order, until one says supported |
| majority | s > n / 2: a tie is not supported   | all, at once |
| mean     | mean of probabilities >= threshold  | all, at once |

A fact that is not supported is irrelevant if all n say so; contradicted if all that were asked and do not say
"supported" say "contradicted"; else not_enough_evidence.

A member that failed might have said anything. The verdict stands only where nothing it could have said would change
whether the fact is supported, not supported or irrelevant (as in Kleene's three-valued logic); else the fact is a
`Failure` that names the members that failed. Asking in order obeys the same rule: a member is left out only where it
could change nothing of this.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

import msgspec

from .calibration import Calibration
from .errors import ModelError, StageError, UsageError, leaf
from .failures import failure
from .gather import Gatherer
from .types import AtomicFact, Evidence, Failure, Generation, Label, Quote, Verdict, Vote
from .verify import Verifier

RULES = ("all", "any", "majority", "mean")
MODE = "votes"
_IN_ORDER = ("all", "any")
Case = tuple[AtomicFact, Evidence]
Outcome = Verdict | Failure
Said = Outcome | None
"""None: not asked."""


@dataclass(frozen=True)
class Member:
    """A judge with, if need be, its own evidence and its own calibration. A `Verifier` itself."""

    verifier: Verifier
    gatherer: Gatherer | None = None
    """None: it judges by the evidence that was gathered for all. FActScore's language model reads 5 passages that a
    dense retriever ranked, its nonparametric judge 3 that BM25 did."""
    calibration: Calibration | None = None
    """Applied to its probabilities; its labels stay."""

    @property
    def name(self) -> str:
        return self.verifier.name

    @property
    def warning(self) -> str | None:
        return getattr(self.verifier, "warning", None)

    @property
    def gives_probability(self) -> bool:
        return gives_probability(self.verifier)

    async def verify(self, facts: Sequence[Case], generation: Generation) -> list[Outcome]:
        """See `Verifier`. Quotes stay where their passage, word for word, is in the evidence of `facts` too."""
        own = await _gathered(self.gatherer, facts, generation) if self.gatherer else [shared for _, shared in facts]
        found = [(fact, one) for (fact, _), one in zip(facts, own, strict=True) if isinstance(one, Evidence)]
        outcomes = iter(await asked(self.verifier, found, generation))
        return [
            self._seen(next(outcomes), one, shared) if isinstance(one, Evidence) else one
            for one, (_, shared) in zip(own, facts, strict=True)
        ]

    def _seen(self, outcome: Outcome, own: Evidence, shared: Evidence) -> Outcome:
        if isinstance(outcome, Failure):
            return outcome
        probability = outcome.probability
        if self.calibration and probability is not None:
            probability = self.calibration(probability)
        quotes = outcome.quotes if own is shared else _shared(outcome.quotes, own, shared)
        return msgspec.structs.replace(outcome, probability=probability, quotes=quotes)


@dataclass(frozen=True)
class Ensemble:
    """A `Verifier` made of verifiers, by one of the rules at the top of this module.

    Verdicts are in mode "votes" and hold one vote a member, in order. `probability` is, of the members that were asked,
    the least (all: an upper bound where one was left out), the greatest (any: a lower bound), the lower median
    (majority) or the mean; None where one of them failed or gave none (in mode "no evidence" none counts as 0, since
    blank evidence never supports). It is on the scale of the judge that it comes
    from: where judges have thresholds of their own (nonparametric: .3), .31 may be that of a supported fact. Rationale,
    error type and quotes are those of the first member that said the outcome.

    Rule mean takes the probabilities as they are given and ignores the members' own thresholds, so give a judge whose
    numbers are no probabilities a `Member.calibration`. A verdict without a probability leaves the mean open, as a
    failure does.
    """

    members: tuple[Verifier, ...]
    """Verifiers, or `Member`s; kept as members."""
    rule: str = "all"
    threshold: float = 0.5
    """Rule mean only, in [0, 1]."""

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise UsageError(f"an ensemble's rule is one of {', '.join(RULES)}, not {self.rule!r}")
        if not self.members or not 0 <= self.threshold <= 1:
            raise UsageError(f"an ensemble needs a member, and a threshold from 0 to 1: {self.threshold}")
        if self.rule == "mean" and (mute := [one.name for one in self.members if not gives_probability(one)]):
            raise UsageError(f"rule mean needs probabilities, and {mute[0]} gives none: read it by logprobs, if it can")
        object.__setattr__(self, "members", tuple(map(member, self.members)))

    @property
    def name(self) -> str:
        return f"{self.rule}({', '.join(one.name for one in self.members)})"

    @property
    def warning(self) -> str | None:
        return warnings(self.members)

    @property
    def gives_probability(self) -> bool:
        return all(map(gives_probability, self.members))

    async def verify(self, facts: Sequence[Case], generation: Generation) -> list[Outcome]:
        """See `Verifier`. Each member is asked once for all the facts that it is asked about."""
        if self.rule in _IN_ORDER:
            said = await self._in_order(facts, generation)
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(asked(one, facts, generation)) for one in self.members]
            said = list(zip(*(task.result() for task in tasks), strict=True))
        return [self.outcome(one) for one in said]

    async def _in_order(self, facts: Sequence[Case], generation: Generation) -> list[list[Said]]:
        said: list[list[Said]] = [[None] * len(self.members) for _ in facts]
        for place, one in enumerate(self.members):
            open_ = [row for row in range(len(facts)) if len(self._possible(said[row])) > 1]
            outcomes = await asked(one, [facts[row] for row in open_], generation)
            for row, outcome in zip(open_, outcomes, strict=True):
                said[row][place] = outcome
        return said

    def outcome(self, said: Sequence[Said]) -> Outcome:
        """What the rule makes of what the members said, one a member in order; None: was not asked."""
        possible = self._possible(said)
        if len(possible) > 1:
            return self._open(said)
        verdicts = [one for one in said if isinstance(one, Verdict)]
        label = _label(possible.pop(), verdicts)
        speaker = next((one for one in verdicts if _agrees(one.label, label, verdicts)), None)
        votes = tuple(vote(part.name, one) for part, one in zip(self.members, said, strict=True))
        return Verdict(
            label=label,
            judge=self.name,
            probability=self._probability(said),
            mode=MODE,
            rationale=speaker.rationale if speaker else None,
            quotes=speaker.quotes if speaker else (),
            error_type=speaker.error_type if speaker else None,
            votes=votes,
        )

    def _possible(self, said: Sequence[Said]) -> set[Label]:
        """What the fact can still be, whatever those say that failed or were not asked: SUPPORTED, IRRELEVANT, and
        NOT_ENOUGH_EVIDENCE for all that is not supported."""
        labels = [one.label for one in said if isinstance(one, Verdict)]
        if self.rule == "mean":
            return self._possible_means(said, labels)
        n, supported = len(said), labels.count(Label.SUPPORTED)
        irrelevant, unknown = labels.count(Label.IRRELEVANT), n - len(labels)
        return {
            self._kind(supported + more, irrelevant + others, n)
            for more in range(unknown + 1)
            for others in range(unknown - more + 1)
        }

    def _kind(self, supported: int, irrelevant: int, n: int) -> Label:
        enough = {"all": supported == n, "any": supported > 0, "majority": 2 * supported > n}[self.rule]
        if enough:
            return Label.SUPPORTED
        return Label.IRRELEVANT if irrelevant == n else Label.NOT_ENOUGH_EVIDENCE

    def _possible_means(self, said: Sequence[Said], labels: Sequence[Label]) -> set[Label]:
        possible: set[Label] = set()
        if set(labels) <= {Label.IRRELEVANT}:
            if len(labels) == len(said):
                return {Label.IRRELEVANT}
            possible.add(Label.IRRELEVANT)
        known = [p for one in said if (p := _probability(one)) is not None]
        n, least = len(said), math.fsum(known)
        if (least + n - len(known)) / n >= self.threshold:
            possible.add(Label.SUPPORTED)
        if least / n < self.threshold:
            possible.add(Label.NOT_ENOUGH_EVIDENCE)
        return possible

    def _probability(self, said: Sequence[Said]) -> float | None:
        found = [_probability(one) for one in said if one is not None]
        known = [p for p in found if p is not None]
        if not known or len(known) < len(found):
            return None
        if self.rule == "mean":
            return math.fsum(known) / len(known)
        return {"all": min, "any": max, "majority": median_low}[self.rule](known)

    def _open(self, said: Sequence[Said]) -> Failure:
        """The failure of a fact that the members leave open: the first one's, in the words of all."""
        failed = [
            (part.name, trouble)
            for part, one in zip(self.members, said, strict=True)
            if (trouble := one if isinstance(one, Failure) else self._muteness(one))
        ]
        words = "; ".join(f"{name}: {trouble.message}" for name, trouble in failed)
        votes = tuple(vote(part.name, one) for part, one in zip(self.members, said, strict=True))
        return msgspec.structs.replace(failed[0][1], message=words, votes=votes)

    def _muteness(self, said: Said) -> Failure | None:
        """What is wrong with a verdict that the mean cannot use."""
        if self.rule != "mean" or _probability(said) is not None:
            return None
        return failure("verify", ModelError("gave no probability, which rule mean needs"))


def member(part: Verifier) -> Member:
    """As a member: with the shared evidence, if it is not one yet."""
    return part if isinstance(part, Member) else Member(part)


async def asked(verifier: Verifier, facts: Sequence[Case], generation: Generation) -> list[Outcome]:
    """What it says of these facts, in order; it is not asked about none. A `StageError` is a failure of each."""
    if not facts:
        return []
    try:
        outcomes = await verifier.verify(facts, generation)
    except Exception as raised:
        error = leaf(raised)
        if not isinstance(error, StageError):
            raise
        return [failure("verify", error)] * len(facts)
    if len(outcomes) != len(facts):
        raise RuntimeError(f"{verifier.name} gave {len(outcomes)} outcomes for {len(facts)} facts")
    return outcomes


def vote(judge: str, said: Said) -> Vote:
    """What one judge said, for `Verdict.votes`."""
    if isinstance(said, Verdict):
        return Vote(judge=judge, label=said.label, probability=said.probability)
    return Vote(judge=judge, failure=said)


def gives_probability(part: Verifier) -> bool:
    """Whether its verdicts have probabilities, as far as it knows."""
    return getattr(part, "gives_probability", True)


def warnings(parts: Sequence[Verifier]) -> str | None:
    """What must be printed with the scores of these judges, each sentence once."""
    found = [words for part in parts if (words := getattr(part, "warning", None))]
    return " ".join(dict.fromkeys(found)) or None


async def _gathered(gatherer: Gatherer, facts: Sequence[Case], generation: Generation) -> list[Evidence | Failure]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_gather(gatherer, fact, generation)) for fact, _ in facts]
    return [task.result() for task in tasks]


async def _gather(gatherer: Gatherer, fact: AtomicFact, generation: Generation) -> Evidence | Failure:
    try:
        return await gatherer.gather(fact, generation)
    except StageError as error:
        return failure("gather", error)


def _shared(quotes: Sequence[Quote], own: Evidence, shared: Evidence) -> tuple[Quote, ...]:
    """Those that a reader of the shared evidence can look up; ids may be those of other words there."""
    texts = {passage.id: passage.text for passage in shared.passages}
    read = {passage.id: passage.text for passage in own.passages}
    return tuple(q for q in quotes if q.passage in texts and texts[q.passage] == read.get(q.passage))


def _label(kind: Label, verdicts: Sequence[Verdict]) -> Label:
    if kind is not Label.NOT_ENOUGH_EVIDENCE:
        return kind
    against = {verdict.label for verdict in verdicts} - {Label.SUPPORTED}
    return Label.CONTRADICTED if against == {Label.CONTRADICTED} else Label.NOT_ENOUGH_EVIDENCE


def _agrees(said: Label, outcome: Label, verdicts: Sequence[Verdict]) -> bool:
    """Whether a member that said this speaks for the outcome: its label, or else also not supported."""
    if any(verdict.label is outcome for verdict in verdicts):
        return said is outcome
    return outcome is not Label.SUPPORTED and said is not Label.SUPPORTED


def _probability(said: Said) -> float | None:
    if not isinstance(said, Verdict):
        return None
    return 0.0 if said.probability is None and said.mode == "no evidence" else said.probability
