"""How sure a number is: bootstrap over prompts, paired randomisation tests, Holm's correction, correlations.

Everything takes its seed and gives the same numbers for it on every machine; nothing here returns NaN: what the data
cannot say is None. Intervals are BCa (bias-corrected and accelerated; Efron, JASA 82, 1987; DiCiccio and Efron,
Statistical Science 11, 1996), which follow the skew of scores near 0 or 1 and stay within the range of the data. On few
prompts any bootstrap is too narrow: the nominal 95 % covers 79 to 83 % at 5 prompts, 86 to 91 % at 10, about 92 % at 20
and 94 to 96 % at 200 (skewed scores, simulated; docs/metrics.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import UsageError
from .types import Struct

Floats = NDArray[np.float64]
FEW = 20
"""Below this many prompts an interval is said to be too narrow."""
_CELLS = 1 << 21
"""Resampled items held at once."""
_EXACT = 14
"""Up to this many differences all sign patterns are counted, instead of drawn."""
_NORMAL = NormalDist()


def bootstrap(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    statistic: Callable[[Sequence[float]], float] | None = None,
) -> tuple[float, float] | None:
    """BCa interval of the mean (or of `statistic`), resampling whole clusters with replacement.

    `values` (n) and `clusters` (n, any integers; None: each value its own). Values of one cluster (several answers to
    one prompt) are never torn apart, since they are not independent. None for fewer than two clusters, and where
    resampling changes nothing (all clusters alike): then the data say nothing of their spread.
    """
    _checked(level, resamples)
    data = np.asarray(values, dtype=np.float64)
    groups = _grouped(data, clusters)
    if len(groups) < 2:
        return None
    if statistic is None:
        sums, sizes = np.array([group.sum() for group in groups]), np.array([len(group) for group in groups], float)
        drawn = _means(sums, sizes, resamples, seed)
        jackknife = (sums.sum() - sums) / (sizes.sum() - sizes)
        estimate = float(sums.sum() / sizes.sum())
    else:
        drawn, jackknife = _resampled(groups, statistic, resamples, seed)
        estimate = statistic(data.tolist())
    return bca(drawn, estimate, jackknife, level=level)


def bca(drawn: Floats, estimate: float, jackknife: Floats, *, level: float = 0.95) -> tuple[float, float] | None:
    """BCa interval out of the statistic of each resample and of each leave-one-out sample; None where none varies."""
    scale = max(1.0, float(np.abs(drawn).max()))
    same = 1e-12 * scale  # sums in another order, or on another machine, differ by rounding only
    if np.ptp(drawn) <= same or np.ptp(jackknife) <= same:
        return None
    below = (np.count_nonzero(drawn < estimate - same) + np.count_nonzero(drawn <= estimate + same)) / (2 * len(drawn))
    bias = _NORMAL.inv_cdf(min(max(below, 0.5 / len(drawn)), 1 - 0.5 / len(drawn)))
    influence = jackknife.mean() - jackknife
    acceleration = float((influence**3).sum() / (6 * (influence**2).sum() ** 1.5))
    tails = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        shifted = bias + _NORMAL.inv_cdf(tail)
        tails.append(_NORMAL.cdf(bias + shifted / (1 - acceleration * shifted)))
    low, high = np.quantile(drawn, tails)
    return float(low), float(high)


def bca_defined(
    drawn: Floats, estimate: float | None, jackknife: Floats, *, level: float = 0.95
) -> tuple[float, float] | None:
    """`bca` of a figure that is NaN in some resamples, which are left out; None where `estimate` is."""
    drawn, jackknife = drawn[~np.isnan(drawn)], jackknife[~np.isnan(jackknife)]
    if estimate is None or len(drawn) < 2 or len(jackknife) < 2:
        return None
    return bca(drawn, estimate, jackknife, level=level)


def weights(n: int, resamples: int, seed: int) -> Floats:
    """(resamples, n): how often each of n clusters is drawn."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(float)


def wilson(groups: Sequence[Sequence[bool]], *, level: float = 0.95) -> tuple[float | None, float | None, float | None]:
    """Share of True in all groups, and its interval: Wilson's (JASA 22, 1927), which stands where all or none are True.

    It is on the number of values divided by their design effect (Rao and Scott, Biometrics 48, 1992), since values of
    one group (facts of one generation) tend to be alike. The effect is taken as 1 where it comes out below, where all
    or none are True, and within a single group. None, None, None without a value.
    """
    groups = [group for group in groups if group]
    n = sum(map(len, groups))
    if not n:
        return None, None, None
    share = sum(map(sum, groups)) / n
    effect = 1.0
    if len(groups) > 1 and 0 < share < 1:
        spread = sum((sum(group) - share * len(group)) ** 2 for group in groups)
        effect = max(1.0, len(groups) / (len(groups) - 1) * spread / (n * share * (1 - share)))
    z, size = _NORMAL.inv_cdf((1 + level) / 2), n / effect
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return share, max(0.0, middle - half), min(1.0, middle + half)


def randomisation(differences: ArrayLike, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Two-sided p of the paired randomisation test: were each difference as likely to have the other sign, how often
    would their mean be as far from 0 as it is? (Fisher 1935; for NLP Yeh, COLING 2000.)

    Exact for up to 14 differences, else (1 + hits) / (1 + draws), which is never 0 (Phipson and Smyth 2010). 1 for no
    differences at all.
    """
    data = np.asarray(differences, dtype=np.float64)
    seen = abs(data.sum()) - 1e-12 * max(1.0, float(np.abs(data).sum()))
    if len(data) <= _EXACT:
        patterns = (np.arange(2 ** len(data))[:, None] >> np.arange(len(data))) & 1
        return float((np.abs((1.0 - 2.0 * patterns) @ data) >= seen).mean())
    rng = np.random.default_rng(seed)
    hits = 0
    for count in _portions(resamples, len(data)):
        signs = rng.integers(0, 2, (count, len(data)), dtype=np.int8)
        hits += int(np.count_nonzero(np.abs((1.0 - 2.0 * signs) @ data) >= seen))
    return (1 + hits) / (1 + resamples)


def holm(ps: Sequence[float]) -> list[float]:
    """p values corrected for having looked at all of them (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    corrected = [0.0] * len(ps)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = least
    return corrected


def mcnemar(first: int, second: int) -> float:
    """Exact two-sided p (McNemar, Psychometrika 12, 1947) for so many items on which only the first judge, and only the
    second, is right; 1 for none. It takes items for independent."""
    n = first + second
    tail = sum(math.comb(n, k) for k in range(min(first, second) + 1))
    return min(1.0, 2 * tail / 2**n) if n else 1.0


class Correlation(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Of n pairs. `value` is None where one side does not vary: undefined, not 0."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


def pearson(
    x: ArrayLike,
    y: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Correlation:
    """Pearson's r with a percentile bootstrap interval over pairs, or over whole clusters of them as in `bootstrap`
    (resamples without variation are left out)."""
    _checked(level, resamples)
    pairs = np.column_stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])
    value = _pearson(pairs[:, 0], pairs[:, 1])
    numbers = np.arange(len(pairs)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    if value is None or len(pairs) < 3 or numbers.max() < 2:
        return Correlation(value=value, n=len(pairs))
    found = _pearsons(pairs, numbers, resamples, seed)
    if not len(found):
        return Correlation(value=value, n=len(pairs))
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Correlation(value=value, low=float(low), high=float(high), n=len(pairs))


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Correlation:
    """Spearman's rho: `pearson` of the ranks, ties at their mean rank. The interval resamples the ranks of the whole
    sample rather than ranking anew, which is as wide and much cheaper."""
    return pearson(ranks(x), ranks(y), clusters, level=level, resamples=resamples, seed=seed)


def _pearsons(pairs: Floats, clusters: NDArray[np.intp], resamples: int, seed: int) -> Floats:
    """r of each resample of whole clusters, out of the sums of each cluster; those without variation are left out."""
    x, y = ((pairs - pairs.mean(axis=0)) / pairs.std(axis=0)).T
    parts = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    sums = np.stack([np.bincount(clusters, weights=part) for part in parts], axis=1)
    rng = np.random.default_rng(seed)
    found = []
    for count in _portions(resamples, len(sums)):
        drawn = rng.integers(0, len(sums), (count, len(sums)))
        n, mx, my, xx, yy, xy = np.stack([sums[:, part][drawn].sum(axis=1) for part in range(len(parts))])
        mx, my = mx / n, my / n
        vx, vy = xx / n - mx * mx, yy / n - my * my
        varied = (vx > 1e-12) & (vy > 1e-12)
        r = (xy / n - mx * my)[varied] / np.sqrt(vx[varied] * vy[varied])
        found.append(np.clip(r, -1.0, 1.0))
    return np.concatenate(found)


def ranks(values: ArrayLike) -> Floats:
    """Ranks from 1, least first, ties at their mean rank."""
    data = np.asarray(values, dtype=np.float64)
    _, inverse, counts = np.unique(data, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    return ((last - counts + 1 + last) / 2)[inverse.reshape(data.shape)]


def _checked(level: float, resamples: int) -> None:
    if not 0 < level < 1 or resamples < 1:
        raise UsageError(f"an interval needs a level between 0 and 1 and a resample: level {level}, {resamples}")


def _pearson(x: Floats, y: Floats) -> float | None:
    if len(x) < 2:
        return None
    a, b = x - x.mean(), y - y.mean()
    norm = math.sqrt(float(a @ a)) * math.sqrt(float(b @ b))
    tiny = 1e-13 * (1.0 + float(np.abs(x).max())) * (1.0 + float(np.abs(y).max()))
    return None if norm <= tiny else min(1.0, max(-1.0, float(a @ b) / norm))


def _grouped(data: Floats, clusters: ArrayLike | None) -> list[Floats]:
    if clusters is None:
        return list(data[:, None])
    keys = np.asarray(clusters)
    if keys.shape != data.shape:
        raise ValueError(f"{len(data)} values and {len(keys)} clusters")
    order = np.argsort(keys, kind="stable")
    return np.split(data[order], np.flatnonzero(np.diff(keys[order])) + 1) if len(data) else []


def _portions(resamples: int, items: int) -> list[int]:
    """How many resamples to draw at a time. Depends on the sizes alone, so the numbers do not depend on memory."""
    size = max(1, _CELLS // items)
    return [min(size, resamples - start) for start in range(0, resamples, size)]


def _means(sums: Floats, sizes: Floats, resamples: int, seed: int) -> Floats:
    """(resamples,) means of clusters drawn with replacement."""
    rng = np.random.default_rng(seed)
    means = []
    for count in _portions(resamples, len(sums)):
        drawn = rng.integers(0, len(sums), (count, len(sums)))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return np.concatenate(means)


def _resampled(
    groups: Sequence[Floats], statistic: Callable[[Sequence[float]], float], resamples: int, seed: int
) -> tuple[Floats, Floats]:
    """The statistic of each resample of clusters, and with each cluster left out."""
    rng = np.random.default_rng(seed)

    def over(places: Sequence[int]) -> float:
        return statistic(np.concatenate([groups[place] for place in places]).tolist())

    every = range(len(groups))
    drawn = [over(rng.integers(0, len(groups), len(groups)).tolist()) for _ in range(resamples)]
    return np.array(drawn), np.array([over([place for place in every if place != out]) for out in every])
