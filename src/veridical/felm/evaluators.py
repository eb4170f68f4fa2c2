"""Evaluators by a language model: vanilla, chain of thought, links, documents; of segments or of claims (sections 4.1
and 5.1 of the paper). One call judges a whole response, as published.

What a domain has no form for is substituted, and each prediction says so: without references "link" and "doc" ask as
"vanilla" does; mathematics and reasoning are judged by segment, since their steps rest on each other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec

from ..asking import ask
from ..asking import prompt as request_of
from ..errors import ParseError, StageError, UsageError
from ..failures import failure
from ..models.base import ChatReply, LanguageModel
from ..models.metered import measure
from .answers import COMPAT, STAGE, Drawn, Reading, draw
from .ask import UNITS, Prompts, addresses, documents, read_claims
from .consistency import rolled_up, vote
from .evidence import CHUNK, Pages, closest, fetched
from .records import STEPS, Claim, Judgement, Prediction, Said, Sample, Unit, Why, abstained

NO_REFERENCE = "no reference"
NO_CLAIMS = "no claim form"


class Evaluator(Protocol):
    """Says of each segment of a sample whether it is wrong."""

    @property
    def name(self) -> str: ...

    async def judge(self, sample: Sample) -> Prediction:
        """Never raises for trouble with this sample alone; a `FatalError` stops the run."""
        ...


@dataclass(frozen=True)
class Prompted:
    """A language model as evaluator.

    `method` "vanilla", "cot", "link" or "doc"; `units` "segment" or "claim". With `samples` > 1 (odd; 9 in the paper)
    answers are drawn at `temperature` and vote. `compat` "felm" or "vicuna" reads answers as the released code does,
    for regression only: what cannot be read is then "all correct".
    """

    model: LanguageModel
    method: str = "vanilla"
    units: str = "segment"
    samples: int = 1
    temperature: float = 0.9
    """Of the samples of self-consistency; a single answer is asked for at 0."""
    types: bool = False
    """Ask for the kind of error too."""
    shape: str = "list"
    """What the model writes: "list" or "json"."""
    max_tokens: int = 1024
    """Of an answer (100 in the paper, where thoughts were cut and then counted as "all correct")."""
    claim_tokens: int = 1500
    """Of a list of claims, as in the paper."""
    retries: int = 1
    """Further calls for an answer that cannot be read."""
    compat: str | None = None
    chunk: int = CHUNK
    pages: Pages | None = None
    """Brings the text of references that the file lacks."""
    prompts: Prompts = field(init=False)

    def __post_init__(self) -> None:
        if self.units not in UNITS:
            raise UsageError(f"--units {self.units}: one of {', '.join(UNITS)}")
        if self.samples < 1 or self.samples % 2 == 0:
            raise UsageError(f"--samples {self.samples}: an odd number, so that a vote is decided")
        if self.compat not in (None, *COMPAT):
            raise UsageError(f"--compat {self.compat}: {' or '.join(COMPAT)}")
        if self.compat and self.shape == "json":
            raise UsageError("--compat reads lists: leave out --shape json")
        object.__setattr__(self, "prompts", Prompts(self.method, self.shape, self.types))

    @property
    def name(self) -> str:
        drawn = f"x{self.samples}" if self.samples > 1 else ""
        return f"{self.model.name} {self.method}/{self.units}{drawn}"

    async def judge(self, sample: Sample) -> Prediction:
        """See `Evaluator`."""
        started = time.perf_counter()
        with measure() as meter:
            try:
                made = await self._judge(sample)
            except StageError as error:
                why = Why.PARSE_ERROR if isinstance(error, ParseError) else Why.FAILURE
                made = Prediction(
                    id=sample.id,
                    judgements=abstained(sample, why),
                    done=f"{self.method}/{self.units}",
                    failure=failure(STAGE, error),
                    asked=1,
                    unread=int(isinstance(error, ParseError)),
                )
        usage = msgspec.structs.replace(meter.usage, seconds=time.perf_counter() - started)
        return msgspec.structs.replace(made, usage=usage)

    async def _judge(self, sample: Sample) -> Prediction:
        if self.pages and self.method == "doc":
            sample = await fetched(sample, self.pages)
        way, reasons = self, []
        evidence = self._evidence(sample)
        if self.method in ("link", "doc") and not evidence:
            reasons.append(NO_REFERENCE)
            way = replace(self, method="vanilla")
        if self.units == "claim" and sample.domain in STEPS:
            reasons.append(NO_CLAIMS)
            way = replace(way, units="segment")
        made = await (way._claims(sample, evidence) if way.units == "claim" else way._segments(sample, evidence))
        return msgspec.structs.replace(
            made, done=f"{way.method}/{way.units}", substituted="; ".join(reasons) if reasons else None
        )

    def _evidence(self, sample: Sample) -> str:
        if self.method == "link":
            return addresses(sample.urls) if sample.urls else ""
        if self.method == "doc":
            found = closest(sample.refs, f"{sample.prompt}\n{sample.response}", limit=self.chunk)
            return documents([text for _, text in found]) if found else ""
        return ""

    async def _segments(self, sample: Sample, evidence: str) -> Prediction:
        texts = [unit.text for unit in sample.units]
        asked = self.prompts.judge(sample.domain, sample.prompt, texts, of="segment", evidence=evidence)
        drawn = await self._drawn(asked, len(texts))
        opinions = vote(drawn.votes, len(texts), trouble=drawn.trouble)
        judgements = tuple(
            Judgement(
                unit=unit.index,
                said=said,
                score=score,
                why=why,
                error_type=drawn.types.get(number) if said is Said.WRONG else None,
            )
            for number, (unit, (said, score, why)) in enumerate(zip(sample.units, opinions, strict=True), 1)
        )
        return drawn.prediction(sample, judgements)

    async def _claims(self, sample: Sample, evidence: str) -> Prediction:
        listed, raw = await self._extracted(sample)
        claims = [Claim(text=text, unit=unit.index) for unit, texts in listed for text in texts]
        if not claims:
            return Prediction(id=sample.id, judgements=rolled_up([], sample), replies=(raw,), asked=1)
        texts = [claim.text for claim in claims]
        asked = self.prompts.judge(sample.domain, sample.prompt, texts, of="claim", evidence=evidence)
        drawn = await self._drawn(asked, len(texts))
        opinions = vote(drawn.votes, len(texts), trouble=drawn.trouble)
        judged = [
            msgspec.structs.replace(claim, said=said, score=score, why=why)
            for claim, (said, score, why) in zip(claims, opinions, strict=True)
        ]
        types: dict[int, str] = {}
        for number, claim in enumerate(judged, 1):
            if claim.said is Said.WRONG and number in drawn.types:
                types.setdefault(claim.unit, drawn.types[number])
        made = drawn.prediction(sample, rolled_up(judged, sample, types=types))
        return msgspec.structs.replace(made, claims=tuple(judged), replies=(raw, *made.replies), asked=made.asked + 1)

    async def _extracted(self, sample: Sample) -> tuple[list[tuple[Unit, tuple[str, ...]]], str]:
        texts = [unit.text for unit in sample.units]
        raw = ""

        def read(reply: ChatReply) -> dict[int, tuple[str, ...]]:
            nonlocal raw
            raw = reply.text
            return read_claims(reply.text, len(texts), cut=reply.finish_reason == "length")

        request = request_of(self.prompts.extract(sample.domain, sample.prompt, texts), max_tokens=self.claim_tokens)
        reminder = self.prompts.claims_reminder.text.strip()
        found = await ask(self.model, request, read, reminder=reminder, retries=self.retries)
        return [(unit, found.get(number, ())) for number, unit in enumerate(sample.units, 1)], raw

    async def _drawn(self, text: str, n: int) -> Drawn:
        """All answers to one question."""
        temperature = self.temperature if self.samples > 1 else 0.0
        request = request_of(text, max_tokens=self.max_tokens, temperature=temperature)
        reading = Reading(
            shape=self.shape,
            compat=self.compat,
            types=self.types,
            reminder=self.prompts.reminder.fill(last=str(n)).strip(),
            retries=0 if self.compat else self.retries,
        )
        return await draw(self.model, request, n, self.samples, reading)
