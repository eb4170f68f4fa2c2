"""F1@K over K: who wins depends on how much a reader wants (SAFE, arXiv 2403.18802, appendix E.3).

At K = 1 systems are ranked by precision; as K grows by the number of supported facts. A curve that lies below another
at every K is of the worse system whatever K is; where two cross, the choice of K decides, and must be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..metrics import F1
from ..recall import relevant
from ..scores import ABSTAINED, NO_CLAIMS, Policy, outcome, task
from ..tally import tally
from ..types import Report, Struct

Floats = NDArray[np.float64]
POINTS = (1, 2, 4, 8, 16, 32, 48, 64, 84, 100, 128, 178, 256, 512)
"""K with an interval, up to twice the most relevant facts of a response; the paper's are 1, 48, 64, 84 and 178."""


class Point(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One K. F1 and recall lie in [0, 1], means over responses."""

    k: int
    f1: float
    low: float | None
    high: float | None
    recall: float


class Curve(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """F1@K of one system."""

    precision: float | None
    """supported / relevant, mean over the responses that have a relevant fact."""
    values: tuple[float, ...]
    """F1@K for each K from 1 to twice the most relevant facts of a response."""
    points: tuple[Point, ...]
    """Some K, with intervals by bootstrap over prompts."""
    most: int
    """Relevant facts of the response with most."""
    responses: int
    abstained: int
    no_claims: int
    unscored: dict[str, int]
    """Responses whose facts are not all known, by reason."""
    unjudged: int
    """Facts without a verdict, which are in neither precision nor recall."""


def curve(
    reports: Iterable[Report],
    *,
    ks: Sequence[int] | None = None,
    also: Sequence[int] = (),
    repeats: bool = False,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Curve | None:
    """The curve of a run; None where no response has a fact with a verdict. `ks`: where intervals are wanted, by
    default at `POINTS`; `also`: at these K too, such as the median and the greatest of several runs.

    Counts as `metrics.F1` does: a response with verdicts but nothing supported has F1 0, irrelevant facts are left out,
    `repeats` counts merged copies of a fact again. Raises UsageError for a K below 1.
    """
    if (least := min((*(ks or ()), *also), default=1)) < 1:
        raise UsageError(f"K must be at least 1: {least}")
    rows: list[tuple[int, int]] = []
    keys: list[bytes] = []
    out, unjudged, most = Counter[str](), 0, 0
    for report in reports:
        counts = tally(report, repeats=repeats)
        if why := _without(report, repeats):
            out[why] += 1
            continue
        rows.append((counts.supported, counts.not_supported))
        keys.append(task(report))
        unjudged += counts.unjudged
        most = max(most, relevant(report, repeats=repeats) or 0)
    if not rows:
        return None
    supported, not_supported = np.array(rows, dtype=np.float64).T
    values = [float(f1(supported, not_supported, k).mean()) for k in range(1, 2 * max(most, 1) + 1)]
    policy, numbers = Policy(level=level, resamples=resamples, seed=seed), _numbered(keys)
    points = []
    for k in sorted({*(ks or (k for k in POINTS if k <= len(values))), *also}):
        found = f1(supported, not_supported, k)
        low, high = policy.interval(found.tolist(), numbers)
        recall = float(np.minimum(supported / k, 1).mean())
        points.append(Point(k=k, f1=float(found.mean()), low=low, high=high, recall=recall))
    judged = supported + not_supported
    shares = supported[judged > 0] / judged[judged > 0]
    return Curve(
        precision=float(shares.mean()) if len(shares) else None,
        values=tuple(values),
        points=tuple(points),
        most=most,
        responses=len(rows),
        abstained=out.pop(ABSTAINED, 0),
        no_claims=out.pop(NO_CLAIMS, 0),
        unscored=dict(out),
        unjudged=unjudged,
    )


class Span(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Consecutive K with the same leaders."""

    first: int
    last: int
    systems: tuple[str, ...]
    """Whose F1@K is the highest: one, or those that are equal."""
    lead: float
    """Least distance to the next system within the span; 0 for equals."""


class Leaders(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Which system has the highest F1@K, for every K up to twice `most`. More than one span: K decides who wins."""

    prompts: int
    """Common prompts with a value in all systems: the comparison is on them alone."""
    most: int
    """Relevant facts of the response with most, among them."""
    spans: tuple[Span, ...]
    """From K = 1 on. Differences near a border are as small as chance; `compare` tests one K."""
    limit: tuple[str, ...]
    """Who leads as K grows without end: whose answers have the most supported facts."""


_SAME = 1e-12


def leaders(runs: Iterable[tuple[str, Iterable[Report]]], *, repeats: bool = False) -> Leaders | None:
    """Who leads at which K, on the common prompts; several answers of a system to one prompt count as their mean.

    None without a common prompt or a second system.
    """
    systems = {name: _by_prompt(reports, repeats) for name, reports in runs}
    common = [key for key in next(iter(systems.values()), {}) if all(key in found for found in systems.values())]
    if len(systems) < 2 or not common:
        return None
    rows = {name: [np.array(found[key], dtype=np.float64) for key in common] for name, found in systems.items()}
    weights = {name: np.concatenate([np.full(len(of), 1 / len(of)) for of in found]) for name, found in rows.items()}
    facts = {name: np.concatenate(found) for name, found in rows.items()}
    most = max(int(counts.sum(axis=1).max()) for counts in facts.values())
    values = np.array(
        [
            [
                float(f1(counts[:, 0], counts[:, 1], k) @ weights[name]) / len(common)
                for k in range(1, 2 * max(most, 1) + 1)
            ]
            for name, counts in facts.items()
        ]
    )
    means = np.array([float(counts[:, 0] @ weights[name]) / len(common) for name, counts in facts.items()])
    names = list(systems)
    limit = tuple(names[place] for place in _best(means))  # K * F1@K -> 2S
    return Leaders(prompts=len(common), most=most, spans=tuple(_spans(names, values)), limit=limit)


def _spans(names: Sequence[str], values: Floats) -> Iterator[Span]:
    """`values` by system and K from 1."""
    best = [_best(column) for column in values.T]
    for places, run in groupby(range(len(best)), key=lambda at: best[at]):
        ks = list(run)
        lead = min(_gap(values[:, at], places) for at in ks)
        yield Span(first=ks[0] + 1, last=ks[-1] + 1, systems=tuple(names[place] for place in places), lead=lead)


def _best(column: Floats) -> tuple[int, ...]:
    return tuple(int(place) for place in np.flatnonzero(column >= column.max() - _SAME))


def _gap(column: Floats, places: Sequence[int]) -> float:
    others = np.delete(column, list(places))
    return float(column.max() - others.max()) if len(places) == 1 and len(others) else 0.0


def _by_prompt(reports: Iterable[Report], repeats: bool) -> dict[bytes, list[tuple[int, int]]]:
    """Supported and not supported facts of the answers to each prompt; prompts with an answer that has no value are
    left out."""
    found: dict[bytes, list[tuple[int, int]]] = {}
    without: set[bytes] = set()
    for report in reports:
        counts, key = tally(report, repeats=repeats), task(report)
        if _without(report, repeats):
            without.add(key)
        else:
            found.setdefault(key, []).append((counts.supported, counts.not_supported))
    return {key: rows for key, rows in found.items() if key not in without}


def _without(report: Report, repeats: bool) -> str:
    """Why a report has no F1@K; "" if it has."""
    found = outcome(report, F1(k=1, repeats=repeats))
    return found if isinstance(found, str) else ""


def f1(supported: Floats, not_supported: Floats, k: int) -> Floats:
    """F1@K of each response: `metrics.f1_at_k` for many at once."""
    recall = np.minimum(supported / k, 1.0)
    precision = supported / np.maximum(supported + not_supported, 1.0)
    return np.where(supported > 0, 2 * precision * recall / np.maximum(precision + recall, 1e-300), 0.0)


def _numbered(keys: Sequence[bytes]) -> list[int]:
    seen: dict[bytes, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]
