"""Fact by fact: verdicts against people's labels, with "not supported" as the class to be found.

Irrelevant facts count as not supported on both sides, which is what gives the paper's trivial baselines (F1-micro of
"always not supported" 71.4 / 58.3 / 30.9; FActScore, arXiv 2305.14251, appendix B.2 and table 9).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..scores import Policy
from ..stats import Floats, bca
from ..types import Struct
from .match import Pair, Row
from .people import IRRELEVANT, NOT_SUPPORTED, SUPPORTED, numbered

_CELLS = 1 << 21
_DEFINED = 0.9
"""Least share of resamples in which a figure must be defined for its interval to be given."""


@dataclass(frozen=True)
class Counts:
    """Facts by label and verdict: people's label first, "n" not supported, "s" supported. May be expected counts."""

    nn: float = 0
    ns: float = 0
    sn: float = 0
    ss: float = 0

    @property
    def n(self) -> float:
        return self.nn + self.ns + self.sn + self.ss

    def said(self, chance: float) -> Counts:
        """Expected counts of a judge that says "not supported" of any fact with this chance."""
        bad, good = self.nn + self.ns, self.sn + self.ss
        return Counts(bad * chance, bad * (1 - chance), good * chance, good * (1 - chance))


def precision(c: Counts) -> float | None:
    return _ratio(c.nn, c.nn + c.sn)


def recall(c: Counts) -> float | None:
    return _ratio(c.nn, c.nn + c.ns)


def f1(c: Counts) -> float | None:
    """Of not supported, pooled over all facts (the paper's F1-micro); 0 where none of those there are is found."""
    return _ratio(2 * c.nn, 2 * c.nn + c.sn + c.ns)


def f1_supported(c: Counts) -> float | None:
    return _ratio(2 * c.ss, 2 * c.ss + c.sn + c.ns)


def macro_f1(c: Counts) -> float | None:
    return _mean(f1(c), f1_supported(c))


def balanced_accuracy(c: Counts) -> float | None:
    """Mean of the shares of both classes that are found; undefined where people used one label only."""
    return _mean(recall(c), _ratio(c.ss, c.ss + c.sn))


def accuracy(c: Counts) -> float | None:
    return _ratio(c.nn + c.ss, c.n)


def kappa(c: Counts) -> float | None:
    """Cohen's (Educational and Psychological Measurement 20, 1960); undefined where both use one label, the same."""
    if not c.n:
        return None
    chance = ((c.nn + c.ns) * (c.nn + c.sn) + (c.sn + c.ss) * (c.ns + c.ss)) / c.n**2
    return None if 1 - chance < 1e-12 else ((c.nn + c.ss) / c.n - chance) / (1 - chance)


FIGURES: dict[str, Callable[[Counts], float | None]] = {
    "f1_micro": f1,
    "precision": precision,
    "recall": recall,
    "macro_f1": macro_f1,
    "balanced_accuracy": balanced_accuracy,
    "accuracy": accuracy,
    "kappa": kappa,
}
"""By their names in the JSON, each of counts; None where undefined (0/0)."""
ALWAYS_S, ALWAYS_NS, COIN, BASE = "always supported", "always not supported", "random .5", "random at the base rate"


class Figure(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A number in [0, 1] (kappa in [-1, 1]) over the facts with a verdict."""

    value: float | None
    """None: undefined."""
    low: float | None = None
    high: float | None = None
    """The interval, by bootstrap over prompts: facts of one response, and the systems' responses to one prompt, stay
    together."""
    if_wrong: float | None = None
    """Over all facts, were each unscored one judged wrongly; the same as `value` if all have verdicts."""
    if_right: float | None = None


class FactAgreement(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Verdicts of a run against labels, of one system or of all pooled."""

    system: str
    facts: int
    """Labelled facts of the matched responses, one a row of the labels."""
    scored: int
    """Those with a verdict."""
    coverage: float | None
    """scored / facts."""
    unscored: dict[str, int]
    """Those without, by reason."""
    assumed: int
    """Labelled segments in which the run claims nothing, counted as supported (level "segments")."""
    run_facts: int
    """Facts of the run in these responses."""
    run_facts_found: int
    """Those of them that are labelled facts, or stand in labelled segments."""
    responses: int
    prompts: int
    """What the bootstrap resamples."""
    confusion: dict[str, dict[str, int]]
    """People's label -> the run's -> facts; "unscored" among the run's."""
    agreement: Figure
    """Share of facts with the same of the three labels (supported, not supported, irrelevant)."""
    figures: dict[str, Figure]
    """By the names of `FIGURES`."""
    trivial: dict[str, dict[str, float | None]]
    """The same figures, on the same facts, of judges that read nothing; the random ones by expectation."""


def compared(system: str, pairs: Sequence[Pair], policy: Policy) -> FactAgreement:
    """The figures of these pairs (see `pairing.paired`)."""
    pairs = [pair for pair in pairs if pair.rows]
    rows = [row for pair in pairs for row in pair.rows]
    groups = _grouped(pairs)
    scored = sum(row.verdict is not None for row in rows)
    return FactAgreement(
        system=system,
        facts=len(rows),
        scored=scored,
        coverage=scored / len(rows) if rows else None,
        unscored=dict(sorted(Counter(row.reason for row in rows if row.verdict is None).items())),
        assumed=sum(row.assumed for row in rows),
        run_facts=sum(pair.facts for pair in pairs),
        run_facts_found=sum(pair.found for pair in pairs),
        responses=len(pairs),
        prompts=len(groups),
        confusion=_confusion(rows),
        agreement=_agreement(groups, rows, policy),
        figures=_figures(groups, rows, policy),
        trivial=trivial(counted(rows)),
    )


def trivial(counts: Counts) -> dict[str, dict[str, float | None]]:
    """The figures of judges that look at nothing, on facts with these labels."""
    bad = counts.nn + counts.ns
    chances = {ALWAYS_S: 0.0, ALWAYS_NS: 1.0, COIN: 0.5} | ({BASE: bad / counts.n} if counts.n else {})
    return {
        name: {figure: of(counts.said(chance)) for figure, of in FIGURES.items()} for name, chance in chances.items()
    }


def counted(rows: Iterable[Row], unscored: str = "") -> Counts:
    """Counts of the facts with a verdict; with `unscored` "right" or "wrong" of all, the others judged like that."""
    found: Counter[tuple[bool, bool]] = Counter()
    for row in rows:
        good = row.gold == SUPPORTED
        if row.verdict is not None:
            found[good, row.verdict == SUPPORTED] += 1
        elif unscored:
            found[good, good == (unscored == "right")] += 1
    return Counts(found[False, False], found[False, True], found[True, False], found[True, True])


def _grouped(pairs: Sequence[Pair]) -> list[list[Row]]:
    """The rows by prompt."""
    groups: dict[int, list[Row]] = {}
    for number, pair in zip(numbered(pair.key for pair in pairs), pairs, strict=True):
        groups.setdefault(number, []).extend(pair.rows)
    return list(groups.values())


def _confusion(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    found = Counter((row.gold, row.verdict or "unscored") for row in rows)
    labels = (SUPPORTED, NOT_SUPPORTED, IRRELEVANT)
    return {gold: {said: found[gold, said] for said in (*labels, "unscored")} for gold in labels}


def _agreement(groups: Sequence[Sequence[Row]], rows: Sequence[Row], policy: Policy) -> Figure:
    def table(rows: Iterable[Row]) -> list[float]:
        scored = [row for row in rows if row.verdict is not None]
        return [sum(row.gold == row.verdict for row in scored), len(scored)]

    same, scored = table(rows)
    low, high = _interval([table(group) for group in groups], lambda sums: _ratio(sums[0], sums[1]), policy)
    return Figure(
        value=_ratio(same, scored),
        low=low,
        high=high,
        if_wrong=_ratio(same, len(rows)),
        if_right=_ratio(same + len(rows) - scored, len(rows)),
    )


def _figures(groups: Sequence[Sequence[Row]], rows: Sequence[Row], policy: Policy) -> dict[str, Figure]:
    tables = [_cells(counted(group)) for group in groups]
    drawn, jackknife = _resampled(tables, policy)
    counts, wrong, right = counted(rows), counted(rows, "wrong"), counted(rows, "right")
    figures = {}
    for name, of in FIGURES.items():
        value = of(counts)
        over, without = [of(Counts(*sums)) for sums in drawn], [of(Counts(*sums)) for sums in jackknife]
        low, high = _bca(over, value, without, policy)
        figures[name] = Figure(value=value, low=low, high=high, if_wrong=of(wrong), if_right=of(right))
    return figures


def _cells(counts: Counts) -> list[float]:
    return [counts.nn, counts.ns, counts.sn, counts.ss]


def _interval(
    tables: Sequence[Sequence[float]], statistic: Callable[[Sequence[float]], float | None], policy: Policy
) -> tuple[float, float] | tuple[None, None]:
    drawn, jackknife = _resampled(tables, policy)
    whole = [sum(column) for column in zip(*tables, strict=True)]
    value = statistic(whole) if whole else None
    return _bca([statistic(sums) for sums in drawn], value, [statistic(sums) for sums in jackknife], policy)


def _resampled(tables: Sequence[Sequence[float]], policy: Policy) -> tuple[list[list[float]], list[list[float]]]:
    """Sums over clusters drawn with replacement, and with each cluster left out."""
    if len(tables) < 2:
        return [], []
    data = np.array(tables, dtype=np.float64)
    drawn = [part for weights in _weights(len(data), policy) for part in (weights @ data).tolist()]
    return drawn, (data.sum(axis=0) - data).tolist()


def _weights(clusters: int, policy: Policy) -> Iterator[Floats]:
    """How often each cluster is drawn, (resamples, clusters) in portions."""
    rng = np.random.default_rng(policy.seed)
    size = max(1, _CELLS // clusters)
    even = np.full(clusters, 1 / clusters)
    for start in range(0, policy.resamples, size):
        yield rng.multinomial(clusters, even, min(size, policy.resamples - start)).astype(np.float64)


def _bca(
    drawn: Sequence[float | None], value: float | None, jackknife: Sequence[float | None], policy: Policy
) -> tuple[float, float] | tuple[None, None]:
    """The interval over the resamples in which the figure is defined, if it nearly always is."""
    found = [item for item in drawn if item is not None]
    without = [item for item in jackknife if item is not None]
    if value is None or len(without) < 2 or len(found) < _DEFINED * len(drawn):
        return None, None
    return bca(np.array(found), value, np.array(without), level=policy.level) or (None, None)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _mean(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else (a + b) / 2
