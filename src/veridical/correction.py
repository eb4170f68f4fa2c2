"""A score that is right although its judge errs: corrected by a small random part that people labelled.

Three estimates of the mean that people would give, side by side:

- "labels": the labelled part alone, with no judge; never biased, widest.
- "ppi": prediction-powered inference with power tuning (Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453), which
  for a mean is the regression estimator of survey sampling (Cochran, Sampling Techniques, chapter 7): the judge's mean
  over everything, times `power`, plus what the labelled part says is missing. Right whatever the judge does, since
  nothing is assumed of it; the better the judge agrees with people, the narrower.
- "rogan-gladen": the judge's mean solved for its sensitivity and specificity, which are estimated on the labelled part
  (Rogan and Gladen, American Journal of Epidemiology 107, 1978). Assumes that both hold everywhere in the run.

The unit is the generation: its facts are not independent of each other, so intervals come from differences between
generations. What people labelled must be a random draw, of generations or of facts; labels chosen because the judge was
unsure correct nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .errors import UsageError
from .types import Struct

Floats = NDArray[np.float64]
TARGETS = ("run", "prompts")
LEAST = 4
"""Labelled generations below which no interval can be made: two are spent on the regression."""
FEW = 15
"""Below so many labelled generations an interval is said to be a rough one."""
_BLIND = 0.05
"""Sensitivity + specificity - 1 of a judge that tells too little for Rogan-Gladen."""


class Item(Struct, frozen=True, kw_only=True):
    """One generation. Scores are shares of supported facts, in [0, 1]."""

    key: str
    """Of its prompt: what pairs the systems."""
    judge: float
    """By the judge, over all its facts. Any rule for facts that stayed unjudged will do: correction cures that too."""
    people: float | None = None
    """By people, over the facts that they labelled; None: not labelled."""
    judge_there: float | None = None
    """By the judge, over the facts that people labelled; None: they labelled all of them."""
    hits: tuple[float, float, float, float] | None = None
    """Shares of its labelled facts: supported by both, supported by people, not by either, not by people."""


class Estimate(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The score that people would give, or the difference of two."""

    method: str
    """"labels", "ppi", "rogan-gladen", or "judge": the judge's own mean, uncorrected and without a valid interval."""
    value: float | None
    """None where it is undefined; `note` says why."""
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    target: str = "run"
    """"run": of the generations that are there; "prompts": of all that might have been drawn like them."""
    n: int = 0
    """Labelled generations."""
    of: int = 0
    """All generations."""
    power: float | None = None
    """ppi: what the judge's score is multiplied with; near 0 the judge is of no use."""
    note: str = ""

    @property
    def width(self) -> float | None:
        """Half of the interval: the ± of the value."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


class _Part(Struct, frozen=True, kw_only=True):
    """An estimate of one system as a sum of what each labelled and each generation at all contributes."""

    value: float
    labelled: dict[str, float]
    """Key -> its share of the error that comes from labelling only some (already divided by n)."""
    every: dict[str, float]
    """Key -> its share of the error that comes from these prompts rather than others (already divided by N)."""
    left: float
    """Share of the generations that nobody labelled (wholly): the finite population correction."""
    df: int
    power: float | None = None


def corrected(items: Sequence[Item], *, target: str = "run", level: float = 0.95) -> list[Estimate]:
    """The judge's own mean, then "labels", "ppi" and "rogan-gladen".

    Raises UsageError for an unknown target and fewer than `LEAST` labelled generations.
    """
    _checked(items, target, level)
    labelled = [item for item in items if item.people is not None]
    own = float(np.mean([item.judge for item in items]))
    common = {"level": level, "target": target, "n": len(labelled), "of": len(items)}
    made = [Estimate(method="judge", value=own, note="uncorrected", **common)]
    for name, part in (("labels", _labels(items)), ("ppi", _ppi(items)), ("rogan-gladen", _rogan_gladen(items))):
        if isinstance(part, str):
            made.append(Estimate(method=name, value=None, note=part, **common))
            continue
        half = _half([part], [1.0], target, level)
        made.append(_estimate(name, part.value, half, part.power, common, bounds=(0.0, 1.0)))
    return made


def difference(a: Sequence[Item], b: Sequence[Item], *, target: str = "run", level: float = 0.95) -> list[Estimate]:
    """Score of `a` minus that of `b`, over the prompts that both answered, by each method.

    Prompts that are labelled for both make it narrower: what they have in common cancels.
    """
    common = {item.key for item in a} & {item.key for item in b}
    sides = [[item for item in items if item.key in common] for items in (a, b)]
    for side in sides:
        _checked(side, target, level)
    n = min(sum(item.people is not None for item in side) for side in sides)
    shown = {"level": level, "target": target, "n": n, "of": len(common)}
    own = [float(np.mean([item.judge for item in side])) for side in sides]
    made = [Estimate(method="judge", value=own[0] - own[1], note="uncorrected", **shown)]
    for name, method in (("labels", _labels), ("ppi", _ppi), ("rogan-gladen", _rogan_gladen)):
        first, second = method(sides[0]), method(sides[1])
        if isinstance(first, str) or isinstance(second, str):
            note = first if isinstance(first, str) else str(second)
            made.append(Estimate(method=name, value=None, note=note, **shown))
            continue
        half = _half([first, second], [1.0, -1.0], target, level)
        made.append(_estimate(name, first.value - second.value, half, None, shown, bounds=(-1.0, 1.0)))
    return made


def planned(
    half: float, *, of: int, spread: float, agreement: float = 0.0, target: str = "run", level: float = 0.95
) -> int | None:
    """How many random generations to label for an interval of ± `half`.

    `spread` is the standard deviation of people's scores between generations, `agreement` the correlation of the
    judge's scores with them (0: labels alone). None where even all `of` labels do not suffice (target "prompts").
    """
    if not 0 < half < 1 or spread < 0 or not -1 <= agreement <= 1 or of < 1:
        raise UsageError(f"a plan needs 0 < ± < 1, a spread and a correlation: {half}, {spread}, {agreement}")
    used = 2 if agreement else 1
    for n in range(LEAST, of + 1):
        residual = spread**2 * (1 - agreement**2) * (n - 1) / max(1, n - used)
        variance = (1 - n / of) * residual / n + (spread**2 / of if target == "prompts" else 0.0)
        if _t(level, n - used) * math.sqrt(variance) <= half:
            return n
    return None


def _checked(items: Sequence[Item], target: str, level: float) -> None:
    if target not in TARGETS or not 0 < level < 1:
        raise UsageError(f"a corrected score is of {' or '.join(TARGETS)}, at a level in (0, 1): {target}, {level}")
    n = sum(item.people is not None for item in items)
    if n < LEAST:
        raise UsageError(f"{n} labelled generations of {len(items)}: at least {LEAST} are needed, better {FEW} or more")


def _estimate(
    method: str, value: float, half: float, power: float | None, common: dict, *, bounds: tuple[float, float]
) -> Estimate:
    least, most = bounds
    rough = f"rough: fewer than {FEW} labelled generations" if common["n"] < FEW else ""
    return Estimate(
        method=method,
        value=min(most, max(least, value)),
        low=max(least, value - half),
        high=min(most, value + half),
        power=power,
        note=rough,
        **common,
    )


def _labels(items: Sequence[Item]) -> _Part:
    labelled = [item for item in items if item.people is not None]
    y = np.array([item.people for item in labelled], float)
    n = len(y)
    deviations = (y - y.mean()) * math.sqrt(n / (n - 1)) / n
    return _Part(
        value=float(y.mean()),
        labelled=_by_key(labelled, deviations),
        every=_all(items, {item.key: float(d) for item, d in zip(labelled, y - y.mean(), strict=True)}, n),
        left=_left(items),
        df=n - 1,
    )


def _ppi(items: Sequence[Item]) -> _Part:
    labelled = [item for item in items if item.people is not None]
    y = np.array([item.people for item in labelled], float)
    f = np.array([item.judge if item.judge_there is None else item.judge_there for item in labelled], float)
    n, every = len(y), np.array([item.judge for item in items], float)
    spread = float(((f - f.mean()) ** 2).sum())
    if spread < 1e-12:
        return _labels(items)
    power = float(((f - f.mean()) * (y - y.mean())).sum() / spread)
    residuals = y - y.mean() - power * (f - f.mean())
    leverage = 1 / n + (f - f.mean()) ** 2 / spread
    # each residual as if its own generation had not been used for the fit (jackknife; HC3 of MacKinnon and White 1985)
    honest = residuals / np.clip(1 - leverage, 1e-6, None)
    shift = every.mean() - f.mean()
    weights = 1 / n + shift * (f - f.mean()) / spread
    return _Part(
        value=float(y.mean() + power * shift),
        labelled=_by_key(labelled, honest * weights),
        every=_all(items, {item.key: float(d) for item, d in zip(labelled, y - y.mean(), strict=True)}, n),
        left=_left(items),
        df=n - 2,
        power=power,
    )


def _rogan_gladen(items: Sequence[Item]) -> _Part | str:
    labelled = [item for item in items if item.people is not None]
    if any(item.hits is None for item in labelled):
        return "labels of facts are needed, not scores alone"
    table = np.array([item.hits for item in labelled], float)
    n = len(table)
    both, positive, neither, negative = table.mean(axis=0)
    if positive <= 0 or negative <= 0:
        return "the labels are all of one kind"
    sensitivity, specificity = both / positive, neither / negative
    told = sensitivity + specificity - 1
    if told < _BLIND:
        return f"the judge tells too little: sensitivity {sensitivity:.2f}, specificity {specificity:.2f}"
    judged = float(np.mean([item.judge for item in items]))
    value = (judged + specificity - 1) / told
    # the value to first order: how it moves with the sensitivity and the specificity, and these with each generation
    of_sensitivity, of_specificity = -value / told, (1 - value) / told
    moves = of_sensitivity * (table[:, 0] - sensitivity * table[:, 1]) / positive
    moves += of_specificity * (table[:, 2] - specificity * table[:, 3]) / negative
    own = {item.key: float((item.judge - judged) / told) for item in items}
    return _Part(
        value=float(value),
        labelled=_by_key(labelled, moves * math.sqrt(n / (n - 1)) / n),
        every={key: move / len(items) for key, move in own.items()},
        left=_left(items),
        df=n - 1,
    )


def _left(items: Sequence[Item]) -> float:
    """1 where facts were drawn: then even labels in all generations leave something to chance."""
    if any(item.judge_there is not None for item in items):
        return 1.0
    return 1 - sum(item.people is not None for item in items) / len(items)


def _by_key(labelled: Sequence[Item], moves: Floats) -> dict[str, float]:
    found: dict[str, float] = {}
    for item, move in zip(labelled, moves, strict=True):  # several answers to one prompt stay together
        found[item.key] = found.get(item.key, 0.0) + float(move)
    return found


def _all(items: Sequence[Item], deviations: dict[str, float], n: int) -> dict[str, float]:
    """What each prompt contributes to the spread over prompts: known of the labelled ones, and as much of the rest."""
    scale = math.sqrt(n / (n - 1)) / math.sqrt(n * len(items))
    return {key: deviation * scale for key, deviation in deviations.items()}


def _half(parts: Sequence[_Part], signs: Sequence[float], target: str, level: float) -> float:
    """Half the width of the interval of a sum of parts, prompts in common taken together."""
    total = _together(
        [part.labelled for part in parts], [s * math.sqrt(p.left) for s, p in zip(signs, parts, strict=True)]
    )
    if target == "prompts":
        total += _together([part.every for part in parts], list(signs))
    return _t(level, min(part.df for part in parts)) * math.sqrt(total)


def _together(moves: Sequence[dict[str, float]], factors: Sequence[float]) -> float:
    keys = sorted(set().union(*moves))
    return math.fsum(sum(f * m.get(key, 0.0) for f, m in zip(factors, moves, strict=True)) ** 2 for key in keys)


@functools.lru_cache(maxsize=1024)
def _t(level: float, df: int) -> float:
    from scipy.stats import t  # takes a second to import, which the rest of the command line need not wait for

    return float(t.ppf((1 + level) / 2, df))
