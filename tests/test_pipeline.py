"""One generation through the pipeline: what becomes a failure, and where."""

from dataclasses import dataclass, field

import pytest

from veridical.errors import FatalError, ModelError, ParseError, TopicNotFound
from veridical.pipeline import Method, evaluate
from veridical.types import (
    AtomicFact,
    Decomposition,
    Evidence,
    Generation,
    Label,
    Passage,
    Verdict,
)

TEXT = "One stands. Two falls. Three waits."


@dataclass(frozen=True)
class OneEach:
    name: str = "one each"
    fingerprint = "a double"
    error: type[Exception] | None = None

    async def decompose(self, generation, sentences):
        if self.error:
            raise self.error("no")
        return Decomposition(
            facts=tuple(AtomicFact(id=f"{generation.id}/{s.index}.0", text=s.text, sentence=s.index) for s in sentences)
        )


@dataclass(frozen=True)
class Page:
    fingerprint = "a double; its errors are not part of any recipe"
    errors: dict = field(default_factory=dict)

    async def gather(self, fact, generation):
        for words, error in self.errors.items():
            if words in fact.text:
                raise error
        return Evidence(queries=(fact.text,), passages=(Passage(id="p", text="x"),))


@dataclass(frozen=True)
class Says:
    name: str = "says"
    fingerprint = "a double"
    outcomes: tuple = ()
    error: type[Exception] | None = None

    async def verify(self, facts, generation):
        if self.error:
            raise self.error("no")
        return list(self.outcomes)[: len(facts)] or [Verdict(label=Label.SUPPORTED, judge="says") for _ in facts]


@dataclass(frozen=True)
class FirstIsIrrelevant:
    async def triage(self, fact, generation):
        return Verdict(label=Label.IRRELEVANT, judge="triage") if fact.sentence == 0 else None


def method(**parts) -> Method:
    return Method(name="m", **{"decomposer": OneEach(), "gatherer": Page(), "verifier": Says(), **parts})


async def report(text: str = TEXT, **parts):
    return await evaluate(Generation(id="g", text=text), method(**parts))


async def test_each_fact_has_its_verdict_in_order():
    found = await report()
    assert [f.fact.text for f in found.facts] == ["One stands.", "Two falls.", "Three waits."]
    assert all(f.verdict and f.verdict.label is Label.SUPPORTED for f in found.facts)
    assert found.signature.startswith("m:")


async def test_evidence_that_fails_for_one_fact_fails_that_fact():
    found = await report(gatherer=Page({"Two": TopicNotFound("X", ("Y",))}))
    assert [f.failure and f.failure.error for f in found.facts] == [None, "TopicNotFound", None]
    assert "Y" in found.facts[1].failure.message


async def test_a_verifier_that_fails_scores_nothing():
    found = await report(verifier=Says(error=ModelError))
    assert [f.failure.error for f in found.facts] == ["ModelError"] * 3


async def test_a_verifier_that_miscounts_is_an_internal_failure_never_a_verdict():
    found = await report(verifier=Says(outcomes=(Verdict(label=Label.SUPPORTED, judge="j"),)))
    assert found.failure and found.failure.stage == "internal"
    assert not found.facts


async def test_decomposition_failure_is_not_an_abstention():
    found = await report(decomposer=OneEach(error=ParseError))
    assert found.failure and found.failure.stage == "decompose" and not found.abstained


@pytest.mark.parametrize(
    "parts",
    [
        {"decomposer": OneEach(error=FatalError)},
        {"gatherer": Page({"Two": FatalError("key")})},
        {"verifier": Says(error=FatalError)},
    ],
)
async def test_fatal_errors_pass_through_from_every_stage(parts):
    with pytest.raises(FatalError):
        await report(**parts)


async def test_a_bug_in_a_part_is_counted_and_does_not_end_the_run():
    found = await report(gatherer=Page({"Two": ZeroDivisionError("oops")}))
    assert found.failure and found.failure.error == "ZeroDivisionError"


async def test_triage_ends_a_fact_early():
    found = await report(triage=FirstIsIrrelevant())
    assert [f.verdict.label for f in found.facts] == [Label.IRRELEVANT, Label.SUPPORTED, Label.SUPPORTED]


async def test_abstention_asks_nobody():
    found = await report("I'm sorry, I cannot help with that.", decomposer=OneEach(error=ModelError))
    assert found.abstained and "standard" in found.abstention.lower() and not found.failure
    said = await evaluate(Generation(id="g", text="x", abstained=True), method())
    assert said.abstained and said.abstention == "the input says so"
