"""Verification: from a fact and its evidence to a verdict (FActScore, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .types import AtomicFact, Evidence, Failure, Generation, Verdict


class Gatherer(Protocol):
    """Turn a fact into evidence: nothing at all, one retrieval, or a search loop."""

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence: ...


class Verifier(Protocol):
    """Judge facts by their evidence. Takes several at once so that a backend may batch."""

    @property
    def name(self) -> str: ...

    async def verify(self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation) -> list[Verdict | Failure]:
        """One verdict or failure for each fact, in order. Blank evidence is never "supported"."""
        ...
