"""Calibration: from what a judge calls its probability to how often it is right when it says so.

Two maps, fitted on facts whose label is known. Both never fall as the judge's probability rises, and neither is ever
exactly 0 or 1:

- isotonic regression by pooling adjacent violators (Zadrozny and Elkan, KDD 2002): any rising shape; wants some
  hundreds of labels;
- Platt scaling of log-odds (Platt 1999; minimised as in Lin, Lin and Weng, Machine Learning 68, 2007): two numbers;
  for fewer labels.

A map holds for the judge, the settings and the kind of facts that it was fitted on.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError, UsageError
from .types import Struct

Floats = NDArray[np.float64]
Recipe = dict[str, str | int | float | bool | None]
"""Settings of a judge, as a signature has them."""
KINDS = ("isotonic", "platt")
_EDGE = 1e-6
"""Log-odds are those of a probability at least this far from 0 and 1."""
_RIDGE = 1e-12
"""Keeps Newton's steps defined where the data say nothing (all probabilities alike)."""
_STEPS = 100
_FIELD = re.compile(r"at `\$\.(\w+)|field `(\w+)`|^(\w+): ")


class Calibration(Struct, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True):
    """A fitted map from [0, 1] into (0, 1). Made by `fit_isotonic` or `fit_platt`, kept as JSON.

    Raises ValueError for values that are no such map.
    """

    kind: str
    """"isotonic" or "platt"."""
    n: int
    """Facts it was fitted on, at least 1."""
    name: str = "calibration"
    judge: str = ""
    """Name of the judge that it was fitted for, where that is known."""
    recipe: Recipe = {}
    """Its settings, where they are known (`calibrated.recipe`)."""
    knots: tuple[tuple[float, float], ...] = ()
    """isotonic: (probability, calibrated), both rising; linear between them, constant beyond them."""
    slope: float | None = None
    """platt: calibrated = logistic(slope * logit(probability) + offset), held within 1/(n+2) of 0 and 1."""
    offset: float | None = None

    def __post_init__(self) -> None:
        if trouble := self._trouble():
            raise ValueError(": ".join(trouble))

    def _trouble(self) -> tuple[str, str] | None:
        """The field that is wrong, and why."""
        if self.kind not in KINDS:
            return "kind", f"either {' or '.join(KINDS)}, not {self.kind!r}"
        if self.n < 1:
            return "n", f"a map is fitted on at least one fact, not {self.n}"
        if self.kind == "isotonic":
            return ("knots", words) if (words := _unfit(self.knots)) else None
        if self.slope is None or not math.isfinite(self.slope) or self.slope < 0:
            return "slope", f"a number of at least 0, not {self.slope}"
        if self.offset is None or not math.isfinite(self.offset):
            return "offset", f"a number, not {self.offset}"
        return None

    @property
    def fingerprint(self) -> str:
        """First 12 digits of the SHA-256 of all fields: what a signature holds."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]

    def __call__(self, probability: float) -> float:
        """The calibrated probability. Raises UsageError outside [0, 1]."""
        return float(self.map([probability])[0])

    def map(self, probabilities: ArrayLike) -> Floats:
        """The same for n of them at once, (n,) -> (n,)."""
        p = _probabilities(probabilities)
        if self.kind == "isotonic":
            x, y = np.array(self.knots, np.float64).T
            return np.interp(p, x, y)
        least = 1 / (self.n + 2)
        return np.clip(_logistic((self.slope or 0.0) * _logit(p) + (self.offset or 0.0)), least, 1 - least)

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read it back, the same to the last digit. Raises InputError, which names the file and the field."""
        try:
            return msgspec.json.decode(Path(path).read_bytes(), type=cls)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=str(path)) from None
        except msgspec.ValidationError as error:
            found = _FIELD.search(str(error))
            field = next(filter(None, found.groups()), None) if found else None
            raise InputError(str(error).removeprefix(f"{field}: "), file=str(path), field=field) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"is not JSON: {error}", file=str(path)) from None


def fit_isotonic(p: ArrayLike, y: ArrayLike, *, name: str = "isotonic") -> Calibration:
    """The rising map that is closest to the labels in squared error. `p` (n,) in [0, 1]; `y` (n,) 0 or 1: supported.

    Facts of one probability are pooled first. Where the outermost m facts are all alike, the map says 1/(m+2) or
    (m+1)/(m+2) (Laplace's rule of succession) instead of 0 or 1, or its neighbour's value if that is closer to 0 or 1;
    all other values are plain shares. Raises UsageError for no facts, and for values of another kind.
    """
    probability, label = _pairs(p, y)
    x, inverse, counts = np.unique(probability, return_inverse=True, return_counts=True)
    hits = np.bincount(inverse, weights=label)
    blocks: list[tuple[float, int, int, int]] = []  # supported, facts, first and last place in x
    for place in range(len(x)):
        block = (float(hits[place]), int(counts[place]), place, place)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2], place)
        blocks.append(block)
    values = _within([(supported, facts) for supported, facts, _, _ in blocks])
    knots = [
        (float(x[place]), value)
        for value, (_, _, first, last) in zip(values, blocks, strict=True)
        for place in dict.fromkeys((first, last))
    ]
    return Calibration(kind="isotonic", knots=tuple(knots), n=len(label), name=name)


def fit_platt(p: ArrayLike, y: ArrayLike, *, name: str = "platt") -> Calibration:
    """Logistic regression on logit(p). `p` (n,) in [0, 1]; `y` (n,) 0 or 1: supported.

    Labels are smoothed as Platt does: (s+1)/(s+2) for the s supported facts, 1/(u+2) for the u others. The slope is
    held at 0 or above: where the labels run against the judge, the map is constant rather than turning its order
    round. Raises UsageError for no facts, and for values of another kind.
    """
    probability, label = _pairs(p, y)
    supported = float(label.sum())
    target = np.where(label == 1, (supported + 1) / (supported + 2), 1 / (len(label) - supported + 2))
    slope, offset = _newton(_logit(probability), target)
    if slope < 0:
        slope, offset = 0.0, float(np.log(target.mean() / (1 - target.mean())))
    return Calibration(kind="platt", slope=slope, offset=offset, n=len(label), name=name)


def cross_fit(
    p: ArrayLike,
    y: ArrayLike,
    clusters: Sequence[str],
    *,
    fit: Callable[[Floats, Floats], Calibration] = fit_isotonic,
    folds: int = 5,
) -> Floats:
    """Each probability by a map that was fitted without its own fold, (n,): for measuring calibration without a second
    labelled set. Facts of one cluster (a generation, a claim) share a fold; the folds depend on the clusters' names
    alone. Raises UsageError for fewer than two clusters."""
    probability, label = _pairs(p, y)
    names = sorted(set(clusters), key=lambda cluster: hashlib.sha256(cluster.encode()).digest())
    if len(clusters) != len(label) or min(len(names), folds) < 2:
        raise UsageError(f"{len(label)} facts in {len(names)} clusters cannot be parted into {folds} folds")
    fold_of = {cluster: place % folds for place, cluster in enumerate(names)}
    fold = np.array([fold_of[cluster] for cluster in clusters])
    calibrated = np.empty(len(label))
    for out in np.unique(fold):
        calibrated[fold == out] = fit(probability[fold != out], label[fold != out]).map(probability[fold == out])
    return calibrated


def brier(p: ArrayLike, y: ArrayLike) -> float:
    """Mean squared difference between probability and label, in [0, 1]; 0 is best, .25 is always saying one half."""
    probability, label = _pairs(p, y)
    return float(((probability - label) ** 2).mean())


def expected_calibration_error(p: ArrayLike, y: ArrayLike, *, bins: int = 10, binning: str = "width") -> float:
    """Mean distance, over facts, between the mean probability and the share supported of a fact's bin, in [0, 1].

    `binning`: "width", equal parts of [0, 1] (Guo et al., ICML 2017); or "mass", equal numbers of facts, those of one
    probability never parted. It is biased upwards on few facts, and the more bins the more.
    """
    probability, label = _pairs(p, y)
    if bins < 1 or binning not in ("width", "mass"):
        raise UsageError(f"bins are at least one, of equal width or mass: {bins}, {binning!r}")
    if binning == "width":
        place = np.minimum((probability * bins).astype(int), bins - 1)
    else:
        below = np.searchsorted(np.sort(probability), probability, side="left")
        place = below * bins // len(label)
    return float(np.abs(np.bincount(place, weights=probability - label)).sum() / len(label))


def _unfit(knots: Sequence[tuple[float, float]]) -> str | None:
    """What keeps these knots from being a rising map into (0, 1)."""
    if not knots:
        return "an isotonic map has at least one"
    x, y = [knot[0] for knot in knots], [knot[1] for knot in knots]
    if not all(0 <= value <= 1 for value in x) or not all(0 < value < 1 for value in y):
        return "probabilities lie in [0, 1], calibrated ones between 0 and 1"
    if any(a >= b for a, b in pairwise(x)) or any(a > b for a, b in pairwise(y)):
        return "must rise"
    return None


def _within(blocks: Sequence[tuple[float, int]]) -> list[float]:
    """The share of each block, the outermost drawn away from 0 and 1 without passing their neighbours."""
    values = [supported / facts for supported, facts in blocks]
    first, last = values[0], values[-1]
    if last == 1:
        values[-1] = max((blocks[-1][1] + 1) / (blocks[-1][1] + 2), *values[-2:-1], 0.0)
    if first == 0:
        values[0] = min(1 / (blocks[0][1] + 2), *values[1:2], 1.0)
    return values


def _newton(x: Floats, target: Floats) -> tuple[float, float]:
    """Slope and offset of least cross-entropy to the targets, by Newton's method, steps halved until they descend."""

    def loss(at: Floats) -> float:
        z = at[0] * x + at[1]
        return float((np.logaddexp(0, z) - target * z).sum())

    design = np.column_stack([x, np.ones_like(x)])
    at: Floats = np.array([0.0, math.log(target.mean() / (1 - target.mean()))])
    for _ in range(_STEPS):
        said = _logistic(design @ at)
        gradient = design.T @ (said - target)
        if float(np.abs(gradient).max()) < 1e-10 * len(x):
            break
        hessian = design.T @ (design * (said * (1 - said))[:, None]) + _RIDGE * np.eye(2)
        step, now, size = np.linalg.solve(hessian, gradient), loss(at), 1.0
        while size > 1e-10 and loss(at - size * step) > now:
            size /= 2
        at = np.asarray(at - size * step, np.float64)
    return float(at[0]), float(at[1])


def _logit(p: Floats) -> Floats:
    held = np.clip(p, _EDGE, 1 - _EDGE)
    return np.log(held) - np.log1p(-held)


def _logistic(x: Floats) -> Floats:
    return np.exp(-np.logaddexp(0, -x))


def _probabilities(p: ArrayLike) -> Floats:
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise UsageError("probabilities are a list of numbers from 0 to 1")
    return values


def _pairs(p: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    probability, label = _probabilities(p), np.asarray(y, dtype=np.float64)
    if label.shape != probability.shape or not len(label):
        raise UsageError(f"{probability.size} probabilities and {label.size} labels: as many, and at least one")
    if not np.isin(label, (0, 1)).all():
        raise UsageError("labels are 0 or 1")
    return probability, label
