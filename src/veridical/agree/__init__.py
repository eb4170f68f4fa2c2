"""Runs against people's labels: fact by fact, score by score, and what judges that read nothing would get.

The figures are those of FActScore (arXiv 2305.14251, sections 3 and 4, appendix B) with what they lack: intervals,
coverage, figures that chance does not flatter, and the counting rule by name (docs/agree.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import UsageError
from ..scores import Policy
from ..types import Generation, Report, Struct
from .correlate import Correlated, correlated
from .facts import FIGURES, Counts, FactAgreement, Figure, compared, counted, trivial
from .gaps import WARNING, Gap, Ranking, Trivial, across, error_rate, gap, ranking, trivials
from .match import Pair, matched, slim
from .pairing import AUTO, CONTENT, MODES, SEGMENTS, paired
from .people import PAPER, RULES, Human, Labelled, checked, human, labelled

ALL = "all"
"""Name under which the facts of all systems are pooled."""


class Evaluator(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One method against the labels, over the systems that it judged."""

    name: str
    """Signature of its runs."""
    gaps: tuple[Gap, ...]
    """A system each."""
    ranking: Ranking
    facts: tuple[FactAgreement, ...]
    """A system each, then all pooled where there are several; empty where facts cannot be compared."""
    compared: str | None
    """How verdicts met labels: "given", "segments", "content" (see `pairing.paired`); None: by score only."""
    responses: tuple[Correlated, ...] = ()
    """Counts and F1@K of the responses by the run and by people: a system each, then all pooled where there are
    several."""
    notes: tuple[str, ...] = ()


class Agreement(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Runs against labels. Scores and shares lie in [0, 1]; error rates and gaps are points (0 to 100)."""

    rule: str
    rule_words: str
    level: float
    people: tuple[Human, ...]
    """A system each."""
    trivial_facts: dict[str, dict[str, dict[str, float | None]]]
    """System -> judge that reads nothing -> its figures on all labelled facts."""
    trivial_scores: tuple[Trivial, ...]
    evaluators: tuple[Evaluator, ...]
    notes: tuple[str, ...] = ()


def agree(
    runs: Sequence[tuple[str, Iterable[Report]]] = (),
    labels: Sequence[tuple[str, Iterable[Generation]]] = (),
    *,
    rule: str = PAPER,
    match: str = AUTO,
    k: int = 64,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Compare runs of (name, reports) with labels of (name, generations); each is read once.

    - The system of a generation is its `system`, else the name of its run or labels. If the labels are of one system
      and the run of one too, they belong together whatever they are called.
    - Without labels, those that the runs' own inputs carry are used; without runs only people's side is given.
    - Runs that judge one system more than once are told apart by the signatures of their methods.
    - `k`: of F1@K of the responses.
    - `rule`: one of `RULES`. `match`: one of `MODES`, see `pairing.paired`.

    Raises UsageError for names that do not match, labels with nothing in them, and equal runs of one system.
    """
    policy, rule = Policy(level=level, resamples=resamples, seed=seed), checked(rule)
    read = [(name, [slim(report) for report in reports]) for name, reports in runs]
    if not labels:
        own = {report.generation.id + "\0" + system: (system, report.generation) for system, report in _named(read)}
        labels = [(system, [generation]) for system, generation in own.values()]
    systems = _labelled(labels)
    if all(response.abstained for found, _ in systems.values() for response in found):
        raise UsageError("no people's labels: give files with labelled facts, or runs scored with --facts given")
    people = tuple(human(name, found, rule, policy, not_labelled=none) for name, (found, none) in systems.items())
    evaluators = [
        _evaluator(name, judged, {system: found for system, (found, _) in systems.items()}, rule, match, policy, k)
        for name, judged in _methods(_aligned(read, systems))
    ]
    return Agreement(
        rule=rule,
        rule_words=RULES[rule],
        level=level,
        people=people,
        trivial_facts={name: trivial(_gold(found)) for name, (found, _) in systems.items() if _gold(found).n},
        trivial_scores=trivials(people),
        evaluators=tuple(evaluators),
        notes=(WARNING,),
    )


def _named(runs: Sequence[tuple[str, list[Report]]]) -> list[tuple[str, Report]]:
    """Each report with its system."""
    return [(report.generation.system or name, report) for name, reports in runs for report in reports]


def _labelled(labels: Sequence[tuple[str, Iterable[Generation]]]) -> dict[str, tuple[list[Labelled], int]]:
    """System -> its labelled responses, and how many nobody labelled."""
    found: dict[str, list[Labelled]] = {}
    without: Counter[str] = Counter()
    for name, generations in labels:
        for generation in generations:
            system = generation.system or name
            one = labelled(system, generation)
            found.setdefault(system, [])
            if one:
                found[system].append(one)
            else:
                without[system] += 1
    return {system: (responses, without[system]) for system, responses in found.items()}


def _gold(responses: Sequence[Labelled]) -> Counts:
    labels = sum((response.counts for response in responses), Counter[str]())
    good = labels["supported"]
    return Counts(nn=labels.total() - good, ss=good)


def _aligned(runs: Sequence[tuple[str, list[Report]]], systems: Mapping[str, object]) -> list[tuple[str, Report]]:
    """Each report with its system under the labels' name for it."""
    named = _named(runs)
    there = dict.fromkeys(system for system, _ in named)
    if not there or any(system in systems for system in there):
        return [(system, report) for system, report in named if system in systems]
    if len(there) == len(systems) == 1:
        return [(next(iter(systems)), report) for _, report in named]
    raise UsageError(
        f"the labels are of {', '.join(systems)}, the runs of {', '.join(there)}; a run's system is the `system` "
        "of its generations, else the name of its input file"
    )


@dataclass
class _Judged:
    """Reports of one method."""

    systems: dict[str, list[Report]]
    signatures: dict[str, None]


def _methods(reports: Sequence[tuple[str, Report]]) -> list[tuple[str, _Judged]]:
    """Reports by method. One method if no generation was judged twice, whatever the signatures; else by signature."""
    if not reports:
        return []
    once = len({(system, report.generation.id) for system, report in reports}) == len(reports)
    groups: dict[str, _Judged] = {}
    for system, report in reports:
        judged = groups.setdefault("" if once else report.signature, _Judged({}, {}))
        judged.systems.setdefault(system, []).append(report)
        judged.signatures.setdefault(report.signature)
    for judged in groups.values():
        for system, found in judged.systems.items():
            if len({report.generation.id for report in found}) < len(found):
                raise UsageError(f"two runs by one method judge the same generations of {system}; give one of them")
    return [(" | ".join(judged.signatures), judged) for judged in groups.values()]


def _evaluator(
    name: str, judged: _Judged, systems: dict[str, list[Labelled]], rule: str, match: str, policy: Policy, k: int
) -> Evaluator:
    matches = {system: matched(systems[system], reports) for system, reports in judged.systems.items()}
    rowed, at = paired([pair for pairs, _ in matches.values() for pair in pairs], match)
    by_system: dict[str, list[Pair]] = {system: [] for system in matches}
    for pair in rowed:
        by_system[pair.labelled.system].append(pair)
    own = at is not None and at != CONTENT  # by content only some facts are found: the run's own score is its estimate
    gaps = tuple(
        gap(system, pairs, matches[system][1], rule, own and _facted(pairs), policy)
        for system, pairs in by_system.items()
    )
    facts = [compared(system, pairs, policy) for system, pairs in by_system.items() if _facted(pairs)] if at else []
    if len(facts) > 1:
        facts.append(compared(ALL, rowed, policy))
    return Evaluator(
        name=name,
        gaps=gaps,
        ranking=ranking(*({one.system: value for one, value in side} for side in _sides(gaps))),
        facts=tuple(facts),
        compared=at if facts else None,
        responses=tuple(_responses(by_system, policy, k)),
        notes=tuple(_notes(judged, rowed, at, gaps)),
    )


def _responses(by_system: Mapping[str, Sequence[Pair]], policy: Policy, k: int) -> list[Correlated]:
    found = [one for system, pairs in by_system.items() for one in correlated(system, pairs, policy, k=k)]
    if len({one.system for one in found}) > 1:
        found += correlated(ALL, [pair for pairs in by_system.values() for pair in pairs], policy, k=k)
    return found


def _facted(pairs: Sequence[Pair]) -> bool:
    return any(pair.rows for pair in pairs)


def _sides(gaps: Sequence[Gap]) -> tuple[list[tuple[Gap, float]], list[tuple[Gap, float]]]:
    both = [(one, one.human, one.estimated) for one in gaps if one.human is not None and one.estimated is not None]
    return [(one, people) for one, people, _ in both], [(one, run) for one, _, run in both]


def _notes(judged: _Judged, pairs: Sequence[Pair], at: str | None, gaps: Sequence[Gap]) -> list[str]:
    notes = []
    if len(judged.signatures) > 1:
        notes.append("the systems were judged by different methods, so their ranking may be the methods'")
    facts, found = sum(pair.facts for pair in pairs), sum(pair.found for pair in pairs)
    rows = sum(len(pair.rows) for pair in pairs)
    if not pairs:
        notes.append("no report is about a labelled response, so nothing can be compared")
    elif not rows:
        notes.append("people labelled no facts here, so only scores are compared")
    elif at is None:
        notes.append(
            f"the run judged facts of its own ({found} of its {facts} are labelled ones word for word), so verdicts "
            "cannot be compared fact by fact: score with --facts given for that, or compare what there is by content"
        )
    elif at == SEGMENTS:
        assumed = sum(row.assumed for pair in pairs for row in pair.rows)
        notes.append(
            "people labelled segments: one is not supported if a claim in it is not, and counts as supported where the "
            f"run claims nothing ({assumed} of {rows})"
        )
    elif at == CONTENT:
        notes.append(
            f"facts were matched by content: {found} of the run's {facts}; the figures are of these, which are hardly "
            "a fair sample, and the scores compared are the run's over its own facts"
        )
    small = [one.system for one in gaps if 0 < one.n < 20]
    if small:
        notes.append(f"fewer than 20 responses of {', '.join(small)}: intervals are too narrow")
    return notes


__all__ = [
    "ALL",
    "FIGURES",
    "MODES",
    "PAPER",
    "RULES",
    "WARNING",
    "Agreement",
    "Correlated",
    "Counts",
    "Evaluator",
    "FactAgreement",
    "Figure",
    "Gap",
    "Human",
    "Labelled",
    "Ranking",
    "Trivial",
    "across",
    "agree",
    "compared",
    "counted",
    "error_rate",
    "gap",
    "human",
    "labelled",
    "matched",
    "paired",
    "ranking",
    "trivial",
    "trivials",
]
