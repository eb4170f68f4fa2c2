"""F1@K over K: who wins depends on how much a reader wants (SAFE, arXiv 2403.18802, appendix E.3).

At K = 1 systems are ranked by precision; as K grows by the number of supported facts. A curve that lies below another
at every K is of the worse system whatever K is; where two cross, the choice of K decides, and must be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..metrics import tally, trouble
from ..recall import relevant
from ..scores import ABSTAINED, NO_CLAIMS, Policy, task
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
    repeats: bool = False,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Curve | None:
    """The curve of a run; None where no response has a fact with a verdict. `ks`: where intervals are wanted.

    Counts as `metrics.F1` does: a response with verdicts but nothing supported has F1 0, irrelevant facts are left out,
    `repeats` counts merged copies of a fact again. Raises UsageError for a K below 1.
    """
    if ks and min(ks) < 1:
        raise UsageError(f"K must be at least 1: {min(ks)}")
    rows: list[tuple[int, int]] = []
    keys: list[bytes] = []
    out, unjudged, most = Counter[str](), 0, 0
    for report in reports:
        counts = tally(report, repeats=repeats)
        if why := ABSTAINED if report.abstained else trouble(report) or ("" if counts.judged else NO_CLAIMS):
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
    chosen = sorted(set(ks)) if ks else [k for k in POINTS if k <= len(values)]
    points = []
    for k in chosen:
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


def f1(supported: Floats, not_supported: Floats, k: int) -> Floats:
    """F1@K of each response: `metrics.f1_at_k` for many at once."""
    recall = np.minimum(supported / k, 1.0)
    precision = supported / np.maximum(supported + not_supported, 1.0)
    return np.where(supported > 0, 2 * precision * recall / np.maximum(precision + recall, 1e-300), 0.0)


def _numbered(keys: Sequence[bytes]) -> list[int]:
    seen: dict[bytes, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]
