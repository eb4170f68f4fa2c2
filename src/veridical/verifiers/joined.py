"""What the encoder read and what the words say, weighed together: two heads of fitted trees from a JSON file.

`experiments/verifier/join.py` fits them and writes the file; without one the encoder decides alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from .features import DOWN, FEATURES, FREE, UP
from .fitted import Arrays, Trees, logistic

ENCODED: dict[str, int] = {
    "most_supported": UP,
    "most_contradicted": FREE,
    "most_unknown": FREE,
    "telling_supported": UP,
    "telling_contradicted": DOWN,
    "telling_unknown": FREE,
    "best_supported": UP,
    "best_contradicted": FREE,
    "best_unknown": FREE,
    "windows": FREE,
}
"""The encoder's values, and the direction in which more of each may move P(supported): log-odds of the three classes in
the window that supports most, in the one that says most, and in the one of the best sentences; the windows read."""


class Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    name: str
    encoder: str
    """Fingerprint of the encoder that it was fitted with."""
    values: list[str]
    """Names of the values in a row: `ENCODED`, then `features.FEATURES`."""
    support: Trees
    """Supported against not."""
    platt: tuple[float, float]
    """P(supported) is the logistic of slope times the trees' sum plus offset."""
    threshold: float
    contradiction: Trees
    """Contradicted against not enough evidence, among the facts that are not supported."""
    contradiction_threshold: float


@dataclass(frozen=True, eq=False)
class Joined:
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

    def probabilities(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """P(supported), and P(contradicted given not supported); `rows` is [n, ENCODED + FEATURES], each result [n]."""
        support, contradiction = self._heads
        slope, offset = self.weights.platt
        return logistic(slope * support.sum(rows) + offset), logistic(contradiction.sum(rows))


def load(file: Path, encoder: str) -> Joined:
    """The trees in a file, for the encoder with that fingerprint. UsageError where they were fitted with another."""
    data = file.read_bytes()
    try:
        weights = msgspec.json.decode(data, type=Weights)
    except msgspec.DecodeError as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error
    if weights.values != [*ENCODED, *FEATURES]:
        raise UsageError(f"{file}: fitted on other values than this version computes")
    if weights.encoder != encoder:
        raise UsageError(f"{file}: fitted with the encoder {weights.encoder}, not with {encoder}, which lies beside it")
    return Joined(weights, hashlib.sha256(data).hexdigest()[:12])
