"""A cheap judge where it is sure, a costly one for the rest, and an audit of what that costs in agreement.

The audit puts a random share of the facts that the cheap judge answered to the costly one too. Their verdicts stay the
cheap judge's, so that an audited run has the verdicts of one without audit and the audited facts are a plain sample of
all that the cheap judge answered. Agreement is on what scores are made of: supported, not supported (contradicted or
not enough evidence), irrelevant.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from .calibration import Calibration
from .ensemble import Case, Outcome, asked, gives_probability, member, vote, warnings
from .errors import UsageError
from .stats import wilson
from .types import Generation, JudgedFact, Label, Report, Struct, Verdict, Vote
from .verify import Verifier

CHEAP, COSTLY = "cheap", "costly"
"""The mode of a verdict: who answered."""
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)


@dataclass(frozen=True)
class Cascade:
    """A `Verifier` that asks `costly` only where `cheap` is not sure.

    The cheap judge answers where its probability p of supported has max(p, 1 - p) >= `confidence`. To the costly one go
    all others, and where the cheap one failed, gave no probability, said irrelevant (p says nothing of that), or where
    its label and p point different ways (supported and p < .5, or the reverse). A fact that the costly judge fails on
    is a failure with both votes; the unsure answer never stands in.

    A verdict is that of the judge that answered, in mode "cheap" or "costly"; its two votes, cheap and costly, are what
    each said, with the probabilities as given; the cheap judge's own verdict has p as calibrated.
    """

    cheap: Verifier
    costly: Verifier
    """A `Member` with a gatherer gathers only for the facts that come to it."""
    confidence: float = 0.9
    """In [.5, 1]."""
    calibration: Calibration | None = None
    """Makes p of the cheap judge's probability; None: taken as it is."""
    audit: float = 0.0
    """Share in [0, 1] of the facts answered by the cheap judge that the costly one is asked about too. Drawn by fact id
    and `seed`, so that order, batches and resuming change nothing."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence <= 1 or not 0 <= self.audit <= 1:
            raise UsageError(
                f"confidence lies in [.5, 1], the audited share in [0, 1]: {self.confidence}, {self.audit}"
            )
        object.__setattr__(self, "cheap", member(self.cheap))
        object.__setattr__(self, "costly", member(self.costly))

    @property
    def name(self) -> str:
        return f"cascade({self.cheap.name}, {self.costly.name})"

    @property
    def warning(self) -> str | None:
        return warnings((self.cheap, self.costly))

    @property
    def gives_probability(self) -> bool:
        return gives_probability(self.cheap) and gives_probability(self.costly)

    async def verify(self, facts: Sequence[Case], generation: Generation) -> list[Outcome]:
        """See `Verifier`. The costly judge is asked once for what is open and once for what is audited: apart, so that
        an audit cannot change what it says of the others."""
        first = await asked(self.cheap, facts, generation)
        sure = [self.probability(outcome) for outcome in first]
        open_ = [row for row, p in enumerate(sure) if p is None]
        audited = [row for row, p in enumerate(sure) if p is not None and self.audits(facts[row][0].id)]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(asked(self.costly, [facts[row] for row in rows], generation))
                for rows in (open_, audited)
            ]
        second: dict[int, Outcome] = {}
        for rows, task in zip((open_, audited), tasks, strict=True):
            second.update(zip(rows, task.result(), strict=True))
        return [self._outcome(one, second.get(row), sure[row]) for row, one in enumerate(first)]

    def probability(self, outcome: Outcome) -> float | None:
        """The calibrated p of an answer that the cheap judge is sure of; None: the costly one answers."""
        if not isinstance(outcome, Verdict) or outcome.probability is None or outcome.label is Label.IRRELEVANT:
            return None
        p = self.calibration(outcome.probability) if self.calibration else outcome.probability
        return p if _sure(p, outcome.label is Label.SUPPORTED, self.confidence) else None

    def audits(self, fact: str) -> bool:
        """Whether the fact with this id is in the audited share, should the cheap judge answer it."""
        drawn = hashlib.sha256(f"{self.seed}:{fact}".encode()).digest()[:8]
        return int.from_bytes(drawn, "big") < self.audit * 2**64

    def _outcome(self, first: Outcome, second: Outcome | None, p: float | None) -> Outcome:
        votes = (vote(self.cheap.name, first), vote(self.costly.name, second))
        if p is not None and isinstance(first, Verdict):
            return msgspec.structs.replace(first, probability=p, mode=CHEAP, votes=votes)
        if isinstance(second, Verdict):
            return msgspec.structs.replace(second, mode=COSTLY, votes=votes)
        if second is None:
            raise RuntimeError(f"{self.name}: an open fact was put to nobody")
        return msgspec.structs.replace(second, votes=votes)


class CascadeSummary(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What a cascade saved, and what that cost. Shares are in [0, 1], of facts (several may have shared a call)."""

    cheap_judge: str
    costly_judge: str
    facts: int
    """Facts with a verdict of the cascade: `cheap` + `costly`."""
    cheap: int
    """Answered by the cheap judge."""
    costly: int
    """Answered by the costly one."""
    unjudged: int
    """Facts without a verdict, for whatever reason; in no other number."""
    saved: float
    """Share of `facts` that the costly judge was not asked about, audited ones counted as asked."""
    audited: int
    """Answered by the cheap judge, and by the costly one too."""
    audit_failed: int
    """Audited facts that the costly judge failed on; not in `agreement`."""
    agreed: int
    agreement: float | None = None
    """agreed / audited: of the facts that the cheap judge answered. None without an audit."""
    low: float | None = None
    high: float | None = None
    """Interval of `agreement` at `level` (see `summarise`)."""
    whole: float | None = None
    """Estimated agreement of the cascade with the costly judge alone: (costly + agreement * cheap) / facts."""
    whole_low: float | None = None
    whole_high: float | None = None
    level: float = 0.95

    def lines(self) -> list[str]:
        """In words, for people."""
        missing = f"; {self.unjudged:,} without a verdict" if self.unjudged else ""
        found = [
            f"{self.cheap:,} of {self.facts:,} facts ({_percent(self.cheap / self.facts)}) answered by "
            f"{self.cheap_judge}, {self.costly:,} by {self.costly_judge}{missing}",
            f"{self.costly_judge} was spared {_percent(self.saved)} of the facts",
        ]
        failed = f" ({self.audit_failed:,} more could not be audited)" if self.audit_failed else ""
        if self.agreement is None:
            return [*found, f"no audit: how far the verdicts agree with {self.costly_judge} alone is not known{failed}"]
        return [
            *found,
            f"audit: {self.costly_judge} agreed with {self.agreed:,} of {self.audited:,} answers of "
            f"{self.cheap_judge}: {_percent(self.agreement)} {_range(self.low, self.high)}{failed}",
            f"estimated agreement with {self.costly_judge} alone: {_percent(self.whole)} "
            f"{_range(self.whole_low, self.whole_high)} ({_percent(self.level)} interval)",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def summarise(reports: Iterable[Report], *, level: float = 0.95) -> CascadeSummary:
    """What the reports of a cascade say of it; they may be streamed.

    The interval is `stats.wilson`, which stands where all audited facts agree: facts of one generation tend to agree
    together. Raises UsageError for reports without a verdict of a cascade, or with those of several.
    """
    if not 0 < level < 1:
        raise UsageError(f"the level of an interval lies between 0 and 1: {level}")
    judges: set[tuple[str, ...]] = set()
    count = {CHEAP: 0, COSTLY: 0}
    unjudged = failed = 0
    agreed: list[list[bool]] = []
    for report in reports:
        agreed.append([])
        unjudged += sum(judged.failure is not None for judged in report.facts)
        for verdict, cheap, costly in _votes(report.facts):
            judges.add((cheap.judge, costly.judge))
            count[verdict.mode] += 1
            if verdict.mode == CHEAP:
                failed += costly.failure is not None
                if cheap.label and costly.label:
                    agreed[-1].append(_kind(cheap.label) is _kind(costly.label))
    if len(judges) != 1:
        raise UsageError(f"reports of one cascade are summarised; these are of {len(judges)}")
    [(cheap_judge, costly_judge)] = judges
    facts, audited = sum(count.values()), sum(map(len, agreed))
    share, low, high = wilson(agreed, level=level)
    return CascadeSummary(
        cheap_judge=cheap_judge,
        costly_judge=costly_judge,
        facts=facts,
        cheap=count[CHEAP],
        costly=count[COSTLY],
        unjudged=unjudged,
        saved=(count[CHEAP] - audited - failed) / facts,
        audited=audited,
        audit_failed=failed,
        agreed=sum(map(sum, agreed)),
        agreement=share,
        low=low,
        high=high,
        level=level,
        **{
            name: None if one is None else (count[COSTLY] + one * count[CHEAP]) / facts
            for name, one in (("whole", share), ("whole_low", low), ("whole_high", high))
        },
    )


class Both(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Facts that both judges answered, as `sweep` and the fits of `calibration` take them; all (n,)."""

    probabilities: tuple[float | None, ...]
    """The cheap judge's, as given. None: it had none, failed, or said irrelevant."""
    supported: tuple[bool, ...]
    """The cheap judge's label."""
    costly: tuple[bool, ...]
    """Whether the costly judge said supported."""
    clusters: tuple[str, ...]
    """Id of the generation."""


def both(reports: Iterable[Report]) -> Both:
    """The facts of a run with `audit=1`. Facts that the costly judge failed on are left out.

    Raises UsageError where a fact was put to the cheap judge alone: the rest would be mostly those it is unsure of.
    """
    rows: list[tuple[float | None, bool, bool, str]] = []
    for report in reports:
        for verdict, cheap, costly in _votes(report.facts):
            if costly.label:
                known = None if cheap.label in (None, Label.IRRELEVANT) else cheap.probability
                rows.append(
                    (known, cheap.label is Label.SUPPORTED, costly.label is Label.SUPPORTED, report.generation.id)
                )
            elif verdict.mode == CHEAP and not costly.failure:
                raise UsageError("a cascade is planned from a fully audited run: audit=1")
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Both(**dict(zip(Both.__struct_fields__, map(tuple, columns), strict=True)))


class SweepRow(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What a cascade would be at one confidence. Shares in [0, 1]."""

    confidence: float
    n: int
    answered: float
    """Share that the cheap judge answers."""
    agreement: float | None
    """Of these, how many the costly judge says the same of; None for none."""
    kept: float
    """Of all facts, how many the costly judge alone says the same of."""
    balanced_accuracy: float | None
    """Of the cascade against the gold labels: mean of the shares of supported and of other facts that it gets right;
    None where the gold labels are all alike."""

    def __str__(self) -> str:
        cells = (
            f"{self.confidence:g}",
            *map(_cell, (self.answered, self.agreement, self.kept, self.balanced_accuracy)),
        )
        return f"| {' | '.join(cells)} |"


SWEEP_HEAD = (
    "| confidence | answered cheaply | agreement there | agreement kept | balanced accuracy |\n|---|---|---|---|---|"
)
"""Above the rows, each as `str`, it makes a Markdown table."""


def sweep(
    probabilities: Sequence[float | None],
    costly: Sequence[bool],
    *,
    supported: Sequence[bool] | None = None,
    gold: Sequence[bool] | None = None,
    calibration: Calibration | None = None,
    confidences: Sequence[float] = CONFIDENCES,
) -> list[SweepRow]:
    """What a `Cascade` would do at each confidence, without a call; all arguments (n,), n at least 1.

    `probabilities`: the cheap judge's (None: it has none); `costly`: whether the costly judge says supported, or a
    human does; `supported`: the cheap judge's own labels, by default p >= .5 after calibration; `gold`: human labels,
    by default those of the costly judge. Choose the confidence on other facts than those you report.
    """
    n = len(costly)
    sizes = {
        len(probabilities),
        n,
        len(costly if supported is None else supported),
        len(costly if gold is None else gold),
    }
    if not n or sizes != {n}:
        raise UsageError(f"a sweep needs as many probabilities as labels, and at least one: {sorted(sizes)}")
    known = [p if p is None or calibration is None else calibration(p) for p in probabilities]
    own = [p is not None and p >= 0.5 for p in known] if supported is None else list(supported)
    theirs, label = np.array(own, bool), np.array(costly, bool)
    truth = label if gold is None else np.array(gold, bool)
    rows: list[SweepRow] = []
    for confidence in confidences:
        sure = np.array([p is not None and _sure(p, s, confidence) for p, s in zip(known, own, strict=True)])
        decided = np.where(sure, theirs, label)
        rows.append(
            SweepRow(
                confidence=confidence,
                n=n,
                answered=float(sure.mean()),
                agreement=float((theirs == label)[sure].mean()) if sure.any() else None,
                kept=float((decided == label).mean()),
                balanced_accuracy=_balanced(decided, truth),
            )
        )
    return rows


def _sure(p: float, supported: bool, confidence: float) -> bool:
    return (p >= 0.5) == supported and max(p, 1 - p) >= confidence


def _balanced(decided: np.ndarray, truth: np.ndarray) -> float | None:
    if truth.all() or not truth.any():
        return None
    return float((decided[truth].mean() + (~decided[~truth]).mean()) / 2)


def _votes(facts: Iterable[JudgedFact]) -> Iterator[tuple[Verdict, Vote, Vote]]:
    """The verdicts of a cascade with both votes; those of triage, say, are passed over."""
    for judged in facts:
        if (verdict := judged.verdict) and verdict.mode in (CHEAP, COSTLY) and len(verdict.votes) == 2:
            yield verdict, *verdict.votes


def _kind(label: Label) -> Label:
    return Label.NOT_ENOUGH_EVIDENCE if label is Label.CONTRADICTED else label


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f} %"


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
