"""Temperature and thresholds of an encoder, on documents that were neither trained on nor are reported.

These are the development rows (`split = dev`) of the training files that no table of evaluate.py shows. Every file has
the same weight, half of it on either side, however many rows it has.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
from mix import ROWS, Pair, read
from scipy.optimize import minimize_scalar

from veridical.verifiers.cross_encoder import Card, CrossEncoder

REPORTED = (
    "te_new_protocols",
    "fm2_dev",
    "wice_dev_chunks",
    "summedits_part",
    "begin_dev",
    "fever_symmetric",
    "feverous_dev",
    "factcheck_gpt_train",
)
LEAST = 20
"""Rows of a file on either side: with fewer it has no say."""


def documents(folder: Path) -> list[Pair]:
    """The rows to calibrate on, in an order that is by chance and always the same: any first part is a sample."""
    rows = list(read(folder, "dev", {name: most for name, most in ROWS.items() if name not in REPORTED}))
    reported = {row.group for row in read(folder, "dev", dict.fromkeys(REPORTED, 0))}
    free = [row for row in rows if row.group not in reported]
    return sorted(free, key=lambda row: hashlib.sha1(f"{row.claim}\0{row.evidence}".encode()).digest())


def weights(sources: list[str], positive: np.ndarray) -> np.ndarray:
    """Each source the same, half on either side; nothing for a source with few rows on a side. Sum 1."""
    counts = Counter(zip(sources, positive.tolist(), strict=True))
    fair = [name for name in set(sources) if min(counts[name, True], counts[name, False]) >= LEAST]
    found = [
        1 / counts[name, side] if name in fair else 0.0 for name, side in zip(sources, positive.tolist(), strict=True)
    ]
    return np.array(found) / max(sum(found), 1e-12)


def temperature(logs: np.ndarray, labels: np.ndarray, coarse: np.ndarray, weight: np.ndarray) -> float:
    """What the logits are best divided by: least cross-entropy, of coarse rows only over supported or not."""

    def loss(log_temperature: float) -> float:
        scaled = logs / np.exp(log_temperature)
        scaled = scaled - np.logaddexp.reduce(scaled, axis=1, keepdims=True)
        rest = np.logaddexp(scaled[:, 1], scaled[:, 2])
        return -float(weight @ np.where(coarse, rest, scaled[np.arange(len(labels)), labels]))

    return round(float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x)), 3)


def best_threshold(score: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> float:
    """The middle of the scores at or above which "positive" has the best weighted balanced accuracy, within .002."""
    candidates = np.unique(np.round(np.quantile(score, np.linspace(0.01, 0.99, 197)), 4))
    right, wrong = weight * positive, weight * ~positive
    accuracy = np.array(
        [right[score >= t].sum() / right.sum() + wrong[score < t].sum() / wrong.sum() for t in candidates]
    )
    return round(float(np.median(candidates[accuracy >= accuracy.max() - 0.002])), 4)


def calibrated(reader: CrossEncoder, rows: list[Pair]) -> Card:
    """The card of `reader` with what these rows say. They are short enough for one window each."""
    plain = msgspec.structs.replace(reader.card, temperature=1.0)
    logs = replace(reader, card=plain).read([(row.evidence, row.claim) for row in rows])
    labels = np.array([row.label for row in rows])
    coarse = np.array([row.coarse for row in rows])
    supported = labels == 0
    weight = weights([row.source for row in rows], supported)
    if not weight.any():
        raise SystemExit(f"{len(rows)} pairs are too few: no file has {LEAST} on either side")
    heat = temperature(logs, labels, coarse, weight)
    scaled = logs / heat
    chance = np.exp(scaled - np.logaddexp.reduce(scaled, axis=1, keepdims=True))
    firm = ~supported & ~coarse
    against = labels[firm] == 1
    sides = weights([row.source for row, is_firm in zip(rows, firm, strict=True) if is_firm], against)
    given = chance[firm, 1] / (1 - chance[firm, 0])
    return msgspec.structs.replace(
        plain,
        temperature=heat,
        threshold=best_threshold(chance[:, 0], supported, weight),
        contradiction_threshold=best_threshold(given, against, sides) if sides.any() else 0.5,
    )
