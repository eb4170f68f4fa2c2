"""The whole logic on one screen: one generation in, one report out.

    abstained? -> sentences -> facts -> (triage) -> evidence -> verdicts

A `Method` is a frozen bundle of parts. Nothing here knows which method it runs, and nothing here bounds, retries or
caches: that lives with the resources that the parts hold (`models/factory.py`).
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from .decompose import Decomposer
from .errors import FatalError, StageError, UsageError, leaf
from .failures import failure
from .gather import Gatherer
from .models.metered import measure
from .published import zero_facts
from .signature import Signature, sign
from .text.abstention import Abstention, Standard
from .text.sentences import SPLITTER, split
from .types import (
    AtomicFact,
    Decomposition,
    Evidence,
    Failure,
    Generation,
    JudgedFact,
    Report,
    Sentence,
    Usage,
    Verdict,
)
from .verify import Verifier


class Triage(Protocol):
    """A look at a fact before anything is spent on it: relevance, check-worthiness."""

    async def triage(self, fact: AtomicFact, generation: Generation) -> Verdict | None:
        """A final verdict, or None: go on."""
        ...


@dataclass(frozen=True, kw_only=True)
class Method:
    """How a generation is judged. Every setting that can move a number is a field of a part, so all are signed."""

    name: str
    decomposer: Decomposer
    gatherer: Gatherer
    verifier: Verifier
    abstention: Abstention = Standard()
    triage: Triage | None = None
    splitter: str = SPLITTER
    """Name and version of the sentence splitter."""
    published_sentences: bool = False
    """End sentences where FActScore's splitter does, mistakes included ("Symphony No. | 1")."""
    zero_facts_abstain: bool = False
    """Take an answer without facts for an abstention, as FActScore's code does (`published.zero_facts`)."""

    @functools.cached_property
    def signature(self) -> Signature:
        return sign(self)


async def evaluate(generation: Generation, method: Method) -> Report:
    """Judge one generation. Never raises for trouble with this one alone.

    `FatalError` and `UsageError` pass through: no other generation would fare better.
    """
    signature, started = method.signature.short, time.perf_counter()
    with measure() as meter:
        report = await _report(generation, method)
    report = zero_facts(report) if method.zero_facts_abstain else report
    usage = msgspec.structs.replace(meter.usage, seconds=time.perf_counter() - started)
    return msgspec.structs.replace(report, signature=signature, usage=usage)


async def _report(generation: Generation, method: Method) -> Report:
    if generation.abstained:
        return Report(generation=generation, abstained=True, abstention="the input says so")
    stage = "abstention"
    sentences: list[Sentence] = []
    try:
        if words := method.abstention.detect(generation.text, generation.topic):
            return Report(generation=generation, abstained=True, abstention=f"{method.abstention.name}: {words}")
        stage = "sentences"
        sentences = split(generation.text, published=method.published_sentences)
        stage = "decompose"
        decomposition = await method.decomposer.decompose(generation, sentences)
        stage = "judge"
        facts = await judge(decomposition, generation, method)
    except Exception as raised:  # the one place where trouble with an item becomes a value
        error = leaf(raised)
        if isinstance(error, (FatalError, UsageError)):
            raise error from None
        stage = stage if isinstance(error, StageError) else "internal"
        return Report(generation=generation, sentences=tuple(sentences), failure=failure(stage, error))
    return _assembled(generation, sentences, decomposition, facts)


async def judge(decomposition: Decomposition, generation: Generation, method: Method) -> list[JudgedFact]:
    """Triage, gather and verify the facts of one generation; in their order, each with a verdict or a failure."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_prepare(fact, generation, method)) for fact in decomposition.facts]
    prepared = [task.result() for task in tasks]
    open_facts = [(fact, evidence) for fact, evidence, outcome in prepared if outcome is None]
    outcomes = iter(await _verify(open_facts, generation, method) if open_facts else [])
    return [_judged(fact, evidence, outcome or next(outcomes)) for fact, evidence, outcome in prepared]


async def _prepare(
    fact: AtomicFact, generation: Generation, method: Method
) -> tuple[AtomicFact, Evidence, Verdict | Failure | None]:
    stage = "triage"
    try:
        if method.triage and (verdict := await method.triage.triage(fact, generation)):
            return fact, Evidence(), verdict
        stage = "gather"
        return fact, await method.gatherer.gather(fact, generation), None
    except StageError as error:
        return fact, Evidence(), failure(stage, error)


async def _verify(
    facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation, method: Method
) -> list[Verdict | Failure]:
    try:
        outcomes = await method.verifier.verify(facts, generation)
    except StageError as error:
        return [failure("verify", error)] * len(facts)
    if len(outcomes) != len(facts):
        raise RuntimeError(f"{method.verifier.name} gave {len(outcomes)} outcomes for {len(facts)} facts")
    return outcomes


def _judged(fact: AtomicFact, evidence: Evidence, outcome: Verdict | Failure) -> JudgedFact:
    if isinstance(outcome, Verdict):
        return JudgedFact(fact=fact, evidence=evidence, verdict=outcome)
    return JudgedFact(fact=fact, evidence=evidence, failure=outcome)


def _assembled(
    generation: Generation, sentences: Sequence[Sentence], decomposition: Decomposition, facts: Sequence[JudgedFact]
) -> Report:
    return Report(
        generation=generation,
        sentences=tuple(sentences),
        facts=tuple(facts),
        skipped=decomposition.skipped,
        failures=decomposition.failures,
        usage=Usage(),
    )


def evaluate_sync(generation: Generation, method: Method) -> Report:
    """`evaluate` for code without an event loop."""
    return asyncio.run(evaluate(generation, method))
