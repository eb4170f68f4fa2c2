"""Decomposition: from a generation's sentences to its atomic facts (FActScore, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .types import Decomposition, Generation, Sentence


class Decomposer(Protocol):
    """Split sentences into self-contained atomic facts."""

    @property
    def name(self) -> str: ...

    async def decompose(self, generation: Generation, sentences: Sequence[Sentence]) -> Decomposition:
        """Facts in text order, non-claims in `skipped`, sentences that could not be read in `failures`."""
        ...
