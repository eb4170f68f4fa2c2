"""What is worth a check, by what a decomposer makes of it: for sets whose labels tell claims from other words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from ..decompose import Decomposer, GivenFacts
from ..errors import StageError
from ..failures import failure
from ..gather import NoEvidence
from ..pipeline import Method
from ..text.sentences import split
from ..types import AtomicFact, Evidence, Failure, Generation, Label, Verdict


@dataclass(frozen=True)
class Worth:
    """SUPPORTED: the decomposer finds a fact in it, so it is worth a check. NOT_ENOUGH_EVIDENCE: it finds none."""

    decomposer: Decomposer

    @property
    def name(self) -> str:
        return f"facts by {self.decomposer.name}"

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """One for each fact, in order. A sentence that the decomposer could not read is a failure."""
        return list(await asyncio.gather(*(self._one(fact, generation) for fact, _ in facts)))

    async def _one(self, fact: AtomicFact, generation: Generation) -> Verdict | Failure:
        alone = msgspec.structs.replace(generation, text=fact.text, facts=None)
        try:
            found = await self.decomposer.decompose(alone, split(fact.text))
        except StageError as error:
            return failure("decompose", error)
        if found.facts:
            words = "; ".join(one.text for one in found.facts)
            return Verdict(label=Label.SUPPORTED, judge=self.name, rationale=words)
        if found.failures:
            return found.failures[0].failure
        words = "; ".join(one.reason for one in found.skipped) or "no fact"
        return Verdict(label=Label.NOT_ENOUGH_EVIDENCE, judge=self.name, rationale=words)


def worth(method: Method) -> Method:
    """The method's decomposer as a judge of what is worth a check."""
    return Method(
        name="worth",
        decomposer=GivenFacts(),
        gatherer=NoEvidence(),
        verifier=Worth(method.decomposer),
        abstention=method.abstention,
    )
