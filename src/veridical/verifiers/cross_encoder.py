"""The trained reader of the package: evidence and claim go through a small encoder together, three classes come out.

A BERT of six layers (22 million weights) in ONNX, eight bits a weight, run by onnxruntime; no torch.
`experiments/verifier` trains and exports it, docs/verifier.md is its card. A folder holds `model.onnx`,
`tokenizer.json` and `card.json`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ..errors import UsageError

FOLDER = Path(__file__).with_name("reader")
CLASSES = ("supported", "contradicted", "not_enough_evidence")
FILES = ("model.onnx", "tokenizer.json", "card.json")
LEAST_EVIDENCE = 64
"""Tokens that are kept for the evidence, however long the claim."""
_SPECIAL = 3
"""Tokens around and between evidence and claim."""
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")

Share = Annotated[float, Meta(ge=0, le=1)]


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the weights are to be used: written when they are exported, with what calibration found."""

    name: str
    longest: Annotated[int, Meta(ge=LEAST_EVIDENCE + _SPECIAL + 1, le=512)] = 224
    """Tokens of evidence and claim together that one pass reads; the end of longer evidence is cut."""
    words: Annotated[int, Meta(ge=8)] = 120
    """Longest window of evidence, in words."""
    windows: Annotated[int, Meta(ge=1)] = 4
    """Windows of one fact at most."""
    temperature: Annotated[float, Meta(gt=0)] = 1.0
    """What the logits are divided by."""
    threshold: Share = 0.5
    """Least P(supported) of a fact that is called supported."""
    contradiction_threshold: Share = 0.5
    """Least P(contradicted) given not supported of a fact that is called contradicted."""
    warning: str = "Trained judge: how good it is has not been measured yet."
    """What is printed with every score: what it was measured on, and how good it was."""


@dataclass(frozen=True, eq=False)
class CrossEncoder:
    """Weights, tokenizer and card, ready to use. Several threads may share one."""

    card: Card
    session: Any
    tokenizer: Any
    fingerprint: str
    """First 12 digits of the SHA-256 of all that can move a result: weights, tokenizer, card but for its warning."""
    threads: int = 1

    @property
    def name(self) -> str:
        return self.card.name

    @property
    def longest_claim(self) -> int:
        """Tokens of the longest claim that is read whole."""
        return self.card.longest - LEAST_EVIDENCE - _SPECIAL

    def fits(self, claims: Sequence[str]) -> list[bool]:
        """Whether each claim is read whole."""
        return [len(one.ids) <= self.longest_claim for one in self._encode(claims)]

    def read(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Logarithms of the calibrated probabilities of `CLASSES`, [pairs, 3], for (evidence, claim) each.

        The end of evidence that does not fit is cut, and of a claim that does not fit (see `fits`). Each pair goes
        through the encoder alone: eight-bit activations are scaled by all that goes together, so that company would
        change a result a little; nor is a batch faster here. The threads take different pairs.
        """
        claims = list(dict.fromkeys(claim for _, claim in pairs))
        short = dict(zip(claims, map(self._cut, claims, self._encode(claims)), strict=True))
        encoded = self.tokenizer.encode_batch([(evidence, short[claim]) for evidence, claim in pairs]) if pairs else []
        if self.threads > 1 and len(pairs) > 1:
            with ThreadPoolExecutor(self.threads) as pool:
                rows = list(pool.map(self._logits, encoded))
        else:
            rows = [self._logits(one) for one in encoded]
        logits = np.array(rows, np.float64).reshape(len(rows), len(CLASSES)) / self.card.temperature
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    def _encode(self, claims: Sequence[str]) -> list[Any]:
        return self.tokenizer.encode_batch(list(claims), add_special_tokens=False) if claims else []

    def _cut(self, claim: str, encoded: Any) -> str:
        return claim if len(encoded.ids) <= self.longest_claim else claim[: encoded.offsets[self.longest_claim - 1][1]]

    def _logits(self, encoded: Any) -> NDArray[np.float32]:
        values = (encoded.ids, encoded.attention_mask, encoded.type_ids)
        inputs = {name: np.array([value], np.int64) for name, value in zip(_INPUTS, values, strict=True)}
        return self.session.run(["logits"], inputs)[0][0]


def present(folder: Path = FOLDER) -> bool:
    """Whether a folder holds an encoder."""
    return all((folder / name).is_file() for name in FILES)


@lru_cache(maxsize=2)
def load(folder: Path = FOLDER, threads: int = 0) -> CrossEncoder:
    """The encoder in a folder, on `threads` threads (0: one for each processor that this process may use).

    Raises UsageError where the folder holds none, or one of another make, or where onnxruntime is missing.
    """
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise UsageError(f"the trained judge needs {error.name}: pip install 'veridical[reader]'") from error

    if not present(folder):
        raise UsageError(f"{folder}: not a folder with {', '.join(FILES)}")
    weights, words, card = ((folder / name).read_bytes() for name in FILES)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        made = msgspec.json.decode(card, type=Card)
        session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_buffer(words)
    except Exception as error:  # each of the three libraries has its own
        raise UsageError(f"{folder}: cannot be read: {error}") from error
    if {one.name for one in session.get_inputs()} != set(_INPUTS):
        raise UsageError(f"{folder}: the model takes {', '.join(one.name for one in session.get_inputs())}")
    tokenizer.no_padding()
    tokenizer.enable_truncation(made.longest, strategy="only_first")
    settings = msgspec.json.encode(msgspec.structs.replace(made, warning=""))
    digest = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in (weights, words, settings)))
    return CrossEncoder(made, session, tokenizer, digest.hexdigest()[:12], threads or _processors())


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
