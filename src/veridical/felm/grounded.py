"""Any verifier of ours as an evaluator: each segment, or each of its claims, against the reference text.

The embedded judge needs no language model. Segments without reference text are abstained on: to judge them by nothing
would be to guess.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from ..decompose import Decomposer
from ..errors import StageError
from ..failures import failure
from ..models.metered import measure
from ..text.normal import is_blank
from ..types import AtomicFact, Evidence, Failure, Generation, Label, Sentence, Verdict
from ..verify import Verifier
from .answers import STAGE
from .consistency import rolled_up
from .data import is_enumerator
from .evaluators import NO_CLAIMS
from .evidence import CHUNK, Pages, fetched, passages
from .records import STEPS, Claim, Prediction, Said, Sample, Why, abstained


@dataclass(frozen=True)
class Grounded:
    """A verifier as evaluator. With a `decomposer` its facts of each segment are judged (units "claim"), in domains
    that have claims; without, each segment as it stands."""

    verifier: Verifier
    decomposer: Decomposer | None = None
    chunk: int = CHUNK
    per_page: int = 1
    """Chunks of each reference that are shown; the query is the prompt and the segment or claim."""
    pages: Pages | None = None
    """Brings the text of references that the file lacks."""

    @property
    def name(self) -> str:
        return f"{self.verifier.name} {self.units}"

    @property
    def units(self) -> str:
        return "claim" if self.decomposer else "segment"

    async def judge(self, sample: Sample) -> Prediction:
        """See `Evaluator`."""
        started = time.perf_counter()
        with measure() as meter:
            try:
                made = await self._judge(sample)
            except StageError as error:
                judgements = abstained(sample, Why.FAILURE)
                done = f"doc/{self.units}"
                made = Prediction(id=sample.id, judgements=judgements, done=done, failure=failure(STAGE, error))
        usage = msgspec.structs.replace(meter.usage, seconds=time.perf_counter() - started)
        return msgspec.structs.replace(made, usage=usage)

    async def _judge(self, sample: Sample) -> Prediction:
        if self.pages:
            sample = await fetched(sample, self.pages)
        claims = self.decomposer is not None and sample.domain not in STEPS
        done, substituted = ("doc/claim", None) if claims else ("doc/segment", NO_CLAIMS if self.decomposer else None)
        if not sample.has_evidence:
            judgements = abstained(sample, Why.NO_EVIDENCE)
            return Prediction(id=sample.id, judgements=judgements, done=done, substituted=substituted)
        generation = Generation(id=str(sample.id), text=sample.response, prompt=sample.prompt)
        facts = await self._facts(sample, generation) if claims else _segments(sample)
        shown = [(fact, Evidence(passages=self._passages(sample, fact.text))) for fact in facts]
        said = await self.verifier.verify(shown, generation) if shown else []
        judged = [_claim(fact, one) for fact, one in zip(facts, said, strict=True)]
        if claims:
            return Prediction(
                id=sample.id,
                judgements=rolled_up(judged, sample),
                done=done,
                claims=tuple(judged),
            )
        judgements = rolled_up(judged, sample)  # of one claim at most
        return Prediction(id=sample.id, judgements=judgements, done=done, substituted=substituted)

    def _passages(self, sample: Sample, text: str) -> tuple:
        return passages(sample, f"{sample.prompt}\n{text}", limit=self.chunk, k=self.per_page)

    async def _facts(self, sample: Sample, generation: Generation) -> Sequence[AtomicFact]:
        assert self.decomposer
        sentences = [_sentence(unit.index, unit.text, unit.span) for unit in sample.units]
        return (await self.decomposer.decompose(generation, sentences)).facts


def _segments(sample: Sample) -> list[AtomicFact]:
    return [
        AtomicFact(id=f"{sample.id}/{unit.index}.0", text=unit.text, sentence=unit.index, span=unit.span)
        for unit in sample.units
        if not is_blank(unit.text) and not is_enumerator(unit.text)  # they claim nothing: uncovered
    ]


def _sentence(index: int, text: str, span: tuple[int, int] | None) -> Sentence:
    """A segment as a sentence; one that cannot be found in the response is given its own length from 0 on."""
    start, end = span or (0, len(text))
    return Sentence(index=index, text=text, start=start, end=end)


def _claim(fact: AtomicFact, said: Verdict | Failure) -> Claim:
    if isinstance(said, Failure):
        why = Why.PARSE_ERROR if said.error == "ParseError" else Why.FAILURE
        return Claim(text=fact.text, unit=fact.sentence, why=why)
    return claim_of(fact.text, fact.sentence, said)


def claim_of(text: str, unit: int, verdict: Verdict) -> Claim:
    """A verdict of ours in FELM's terms: supported is factual, contradicted is wrong, the rest is neither."""
    score = None if verdict.probability is None else 1 - verdict.probability
    known = {Label.SUPPORTED: Said.FACTUAL, Label.CONTRADICTED: Said.WRONG}
    said = known.get(verdict.label, Said.ABSTAIN)
    why = None
    if said is Said.ABSTAIN:
        why = Why.NO_EVIDENCE if verdict.mode == "no evidence" else Why.NOT_ENOUGH
    return Claim(text=text, unit=unit, said=said, score=score, why=why)
