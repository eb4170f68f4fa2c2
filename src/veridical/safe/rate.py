"""The last question of SAFE (section 4): does what the searches found make the fact all but certain?

Labels: as in `verify`. "Not supported" of the two-way question is NOT_ENOUGH_EVIDENCE, the weaker statement.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError
from ..prompts import fence
from ..verify import Asked, RetrieveVerifier
from .steps import shown


@dataclass(frozen=True)
class Rate(RetrieveVerifier):
    """Judges a fact by all that was found for it, in the order of the searches, with titles, addresses and dates.

    Mode "text": the reasons, which are the verdict's rationale, then an answer in brackets. "logprobs" and "logits" are
    read as in `RetrieveVerifier`, off one word. The sentence of the fact is not shown, since facts stand alone here.
    A fact without passages is NOT_ENOUGH_EVIDENCE in mode "no evidence" and the model is not asked. SAFE asks it all
    the same, so that it answers from memory and nobody can tell.
    """

    context: bool = False
    order: str = "best_first"
    """The order of the searches."""
    max_evidence_tokens: int = 4000

    _template = "rate"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.context or self.order != "best_first" or self.facts_per_call != 1:
            raise UsageError("safe shows one fact and what was found for it, in the order of the searches")

    @property
    def name(self) -> str:
        return f"safe({self.model.name})"

    def _batch(self) -> None:
        """None: each fact has evidence of its own."""

    def _file(self, name: str) -> str:
        kind = "_label" if self.mode != "text" else "_three" if self.choices == "three" else ""
        return f"safe/{name}{kind}"

    def _prompt(self, case: Asked) -> str:
        return self.template.fill(
            evidence=fence("evidence", shown(case.passages)), statement=fence("statement", case.fact.text)
        )
