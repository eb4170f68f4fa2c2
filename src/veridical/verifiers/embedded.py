"""The judge without any language model: words, numbers and names of the fact laid against its evidence.

It looks up the sentences that share most with the fact, measures how much of it they hold (`features.py`), and lets
fitted trees say how likely the fact is supported (`fitted.py`; fitted and measured in `experiments/judge`). It maps to
the four labels thus: supported at or above the fitted threshold; below it contradicted or not_enough_evidence by a
second head; never irrelevant. docs/embedded_judge.md is its model card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from unicodedata import name as character_name

import numpy as np

from ..errors import StageError
from ..failures import failure
from ..types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Quote, Verdict
from .features import FEATURES, Claim, Match, Place, claim_of, compare
from .fitted import Fitted, load
from .reading import RULES, Unit, Word, read

WEAK = (
    "Weak judge: it compares words, numbers and names and does not read. Balanced accuracy (chance .50) is .72 on "
    "Factcheck-Bench, .77 on WiCE pages, .68 on WikiBio sentences and .58 on Fool Me Twice; of claims that their "
    "evidence refutes it calls 32 % (Factcheck-Bench) to 53 % (Fool Me Twice, retrieved sentences) supported."
)
"""What must be printed with every score of this judge; the figures are those of experiments/judge/README.md."""


@dataclass(frozen=True)
class EmbeddedJudge:
    """A `Verifier` that needs no model and no network. Weak: see `WEAK`."""

    fitted: Fitted = field(default_factory=load)
    rules: int = RULES
    """How texts are read (`reading.RULES`)."""

    @property
    def name(self) -> str:
        return f"embedded/{self.fitted.name}"

    @property
    def warning(self) -> str:
        return WEAK

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """A verdict for each fact, in order; a `Failure` for a fact without a word. Deterministic, numpy only."""
        library = Library()
        found = [self.lay(fact.text, evidence.passages, generation.topic or "", library) for fact, evidence in facts]
        rows = [one[1].values for one in found if isinstance(one, tuple)]
        supported, contradicted = self.fitted.probabilities(np.array(rows, float).reshape(len(rows), len(FEATURES)))
        odds = iter(zip(supported.tolist(), contradicted.tolist(), strict=True))
        return [
            self._verdict(fact.text, evidence.passages, *one, *next(odds)) if isinstance(one, tuple) else one
            for (fact, evidence), one in zip(facts, found, strict=True)
        ]

    def lay(
        self, text: str, passages: Sequence[Passage], topic: str, library: Library
    ) -> tuple[Claim, Match] | Verdict | Failure:
        """The claim laid against its evidence; a final verdict where there is none, a failure where it has no word."""
        units = read(text)
        if not units:
            return failure("verify", StageError("the fact holds no word"))
        places = [place for i, passage in enumerate(passages) for place in library.places(i, passage)]
        if not places:
            return Verdict(
                label=Label.NOT_ENOUGH_EVIDENCE,
                judge=self.name,
                probability=0.0,
                mode="no evidence",
                rationale="There is no evidence to judge by.",
            )
        weights = self.fitted.weights
        claim = claim_of(units, weights.idf, weights.rarest, library.topic(topic, passages))
        return claim, compare(claim, places)

    def _verdict(
        self,
        text: str,
        passages: Sequence[Passage],
        claim: Claim,
        match: Match,
        supported: float,
        contradicted: float,
    ) -> Verdict:
        weights = self.fitted.weights
        if supported >= weights.threshold:
            label = Label.SUPPORTED
        elif contradicted >= weights.contradiction_threshold:
            label = Label.CONTRADICTED
        else:
            label = Label.NOT_ENOUGH_EVIDENCE
        quotes = tuple(
            Quote(passage=passages[place.passage].id, start=place.unit.start, end=place.unit.end)
            for place in match.window
            if not claim.unit.stems.isdisjoint(place.unit.stems)
        )
        return Verdict(
            label=label,
            judge=self.name,
            probability=supported,
            mode="features",
            rationale=rationale(text, passages, claim, match),
            quotes=quotes,
        )


class Library:
    """Passages read once a call, whatever the number of facts that they serve."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[Unit, ...]] = {}

    def read(self, text: str) -> tuple[Unit, ...]:
        if text not in self._read:
            self._read[text] = read(text)
        return self._read[text]

    def stems(self, text: str) -> frozenset[str]:
        return frozenset().union(*(unit.stems for unit in self.read(text)))

    def places(self, index: int, passage: Passage) -> list[Place]:
        title = self.stems(passage.title)
        return [Place(index, unit, title) for unit in self.read(passage.text)]

    def topic(self, topic: str, passages: Sequence[Passage]) -> frozenset[str]:
        """Stems that name the subject: the generation's topic, or else the title that all passages share."""
        titles = {passage.title for passage in passages}
        return self.stems(topic or (titles.pop() if len(titles) == 1 else ""))


def rationale(text: str, passages: Sequence[Passage], claim: Claim, match: Match) -> str:
    """One sentence: what is missing from the evidence, or else how much of the fact is in it."""
    foreign = "" if _is_latin(text) else " (The weights were fitted on English.)"
    content = [word for word in claim.unit.words if word.content]
    if not content:
        return f"The fact holds no content word to look for.{foreign}"
    if match.absent_numbers:
        return f"{_listed(text, match.absent_numbers)} not in the evidence.{foreign}"
    if match.opposite:
        ours, theirs, passage = match.opposite
        said = passages[passage].text[theirs.start : theirs.end]
        return f"The fact has “{text[ours.start : ours.end]}” where the evidence has “{said}”.{foreign}"
    if match.missing:
        found = len(content) - len(match.missing)
        return (
            f"{_listed(text, match.missing)} not in the sentences that come closest; {found} of {len(content)} "
            f"content words are.{foreign}"
        )
    return f"All {len(content)} content words are in the evidence.{foreign}"


def _listed(text: str, words: Sequence[Word]) -> str:
    forms = list(dict.fromkeys(text[word.start : word.end] for word in words))
    shown = ", ".join(forms[:4]) + (" …" if len(forms) > 4 else "")
    return f"{shown} {'is' if len(forms) == 1 else 'are'}"


def _is_latin(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    latin = sum(char.isascii() or character_name(char, "").startswith("LATIN") for char in letters)
    return 2 * latin >= len(letters)


def lexical_coverage(claim: str, evidence: str) -> float:
    """Share of the claim's different content words that occur in the evidence, in [0, 1]: the baseline to beat.

    A claim without content words has coverage 0.
    """
    wanted = frozenset().union(*(unit.stems for unit in read(claim)))
    found = frozenset().union(*(unit.stems for unit in read(evidence)))
    return len(wanted & found) / len(wanted) if wanted else 0.0
