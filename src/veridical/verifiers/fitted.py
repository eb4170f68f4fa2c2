"""The fitted part of the embedded judge: boosted trees from a JSON file, evaluated in numpy."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec
import numpy as np

from ..errors import UsageError
from .features import FEATURES

FILE = Path(__file__).with_name("embedded.json")


class Trees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sum of regression trees. Each tree is a list of nodes; a leaf is its own child on both sides.

    A row goes left where `row[feature] <= threshold`; the sum of `base` and the leaves' values is a log-odds.
    """

    base: float
    feature: list[list[int]]
    threshold: list[list[float]]
    left: list[list[int]]
    right: list[list[int]]
    value: list[list[float]]


class Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: see `experiments/judge/fit.py`, which writes it."""

    name: str
    splitter: str
    """The sentence splitter that it was fitted with; another one moves probabilities a little."""
    features: list[str]
    support: Trees
    """Supported against not."""
    platt: tuple[float, float]
    """P(supported) is the logistic of slope times the trees' sum plus offset."""
    threshold: float
    """Least P(supported) of a fact that is called supported."""
    contradiction: Trees
    """Contradicted against not enough evidence, among the facts that are not supported."""
    contradiction_threshold: float
    rarest: float
    """Inverse document frequency of a word that `idf` does not list."""
    idf: dict[str, float]


def _check(weights: Weights) -> Weights:
    if weights.features != list(FEATURES):
        raise UsageError(f"the weights {weights.name} were fitted on other features than this version computes")
    return weights


@dataclass(frozen=True, eq=False)
class Fitted:
    """Weights, ready to use."""

    weights: Weights
    fingerprint: str
    """First 12 digits of the file's SHA-256."""

    @property
    def name(self) -> str:
        return self.weights.name

    @cached_property
    def _heads(self) -> tuple[Arrays, Arrays]:
        return Arrays(self.weights.support), Arrays(self.weights.contradiction)

    def probabilities(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P(supported), and P(contradicted given not supported); `rows` is [n, features], each result [n]."""
        support, contradiction = self._heads
        slope, offset = self.weights.platt
        return logistic(slope * support.sum(rows) + offset), logistic(contradiction.sum(rows))


class Arrays:
    """Trees padded to one size, so that all rows walk all trees at once."""

    def __init__(self, trees: Trees) -> None:
        width = max(map(len, trees.value))

        def padded(lists: list[list[int]] | list[list[float]], dtype: type) -> np.ndarray:
            table = np.zeros((len(lists), width), dtype)
            for row, values in zip(table, lists, strict=True):
                row[: len(values)] = values
            return table

        self.base = trees.base
        self.feature, self.left, self.right = (padded(part, int) for part in (trees.feature, trees.left, trees.right))
        self.threshold, self.value = padded(trees.threshold, float), padded(trees.value, float)

    def sum(self, rows: np.ndarray) -> np.ndarray:
        tree = np.arange(len(self.value))
        row = np.arange(len(rows))[:, None]
        node = np.zeros((len(rows), len(tree)), int)
        while True:
            goes_left = rows[row, self.feature[tree, node]] <= self.threshold[tree, node]
            following = np.where(goes_left, self.left[tree, node], self.right[tree, node])
            if np.array_equal(following, node):
                return self.base + self.value[tree, node].sum(axis=1)
            node = following


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(x, -40, 40)))


@lru_cache(maxsize=4)
def load(file: Path = FILE) -> Fitted:
    """The weights in a file. Raises UsageError where they do not fit this version's features."""
    data = file.read_bytes()
    return Fitted(_check(msgspec.json.decode(data, type=Weights)), hashlib.sha256(data).hexdigest()[:12])
