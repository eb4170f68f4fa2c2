"""A cheap judge where it is sure, a costly one for the rest; the audit, its summary, the planner."""

import asyncio
import random
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
import pytest

from test_ensemble import Fixed, Raising
from veridical.calibration import Calibration, fit_isotonic, fit_platt
from veridical.cascade import CONFIDENCES, SWEEP_HEAD, Both, Cascade, both, summarise, sweep
from veridical.decompose import GivenFacts
from veridical.ensemble import Ensemble, Member
from veridical.errors import BudgetSpent, ModelError, UsageError
from veridical.gather import NoEvidence, Reference
from veridical.models.scripted import Scripted
from veridical.pipeline import Method, evaluate
from veridical.signature import sign
from veridical.types import (
    AtomicFact,
    Evidence,
    Failure,
    Generation,
    GivenFact,
    JudgedFact,
    Label,
    Passage,
    Report,
    Verdict,
    Vote,
)
from veridical.verifiers.embedded import EmbeddedJudge
from veridical.verify import RetrieveVerifier

S, C, E, I = Label.SUPPORTED, Label.CONTRADICTED, Label.NOT_ENOUGH_EVIDENCE, Label.IRRELEVANT  # noqa: E741
F = Failure(stage="verify", error="ModelError", message="no reply")
PASSAGE = Passage(id="p", text="Ana ran the mill.")


@dataclass
class ById:
    """A verifier that says what `says` has for a fact's id: a label, (label, probability), or a failure."""

    says: dict
    name: str = "judge"
    calls: list = field(default_factory=list)

    async def verify(self, facts, generation):
        self.calls.append([fact.id for fact, _ in facts])
        return [self.said(self.says[fact.id]) for fact, _ in facts]

    def said(self, one):
        if isinstance(one, Failure):
            return one
        label, probability = one if isinstance(one, tuple) else (one, None)
        return Verdict(label=label, judge=f"model of {self.name}", probability=probability, mode="logprobs")


def facts(ids):
    return [(AtomicFact(id=one, text="Ana ran it.", sentence=0), Evidence(passages=(PASSAGE,))) for one in ids]


def judge(cascade, ids, generation="g"):
    return asyncio.run(cascade.verify(facts(ids), Generation(id=generation, text="x")))


def reports(cascade, sizes):
    """One report a generation: g0/0.0, g0/0.1, …"""
    made = []
    for place, size in enumerate(sizes):
        ids = [f"g{place}/0.{n}" for n in range(size)]
        outcomes = judge(cascade, ids, f"g{place}")
        judged = tuple(
            JudgedFact(fact=fact, verdict=one) if isinstance(one, Verdict) else JudgedFact(fact=fact, failure=one)
            for (fact, _), one in zip(facts(ids), outcomes, strict=True)
        )
        made.append(Report(generation=Generation(id=f"g{place}", text="x"), facts=judged))
    return made


# --- who answers


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        ((S, 0.9), "cheap"),
        ((S, 0.89), "costly"),
        ((E, 0.1), "cheap"),
        ((C, 0.0), "cheap"),
        ((E, 0.11), "costly"),
        ((E, 0.95), "costly"),  # its label and its probability point different ways
        ((S, 0.05), "costly"),
        ((I, 0.0), "costly"),
        (S, "costly"),
        (F, "costly"),
    ],
)
def test_the_cheap_judge_answers_where_it_is_sure(said, answers):
    cheap, costly = ById({"a": said}, "small"), ById({"a": (C, 0.3)}, "large")
    [verdict] = judge(Cascade(cheap, costly), "a")
    assert verdict.mode == answers
    label, probability = said if isinstance(said, tuple) else (None if said is F else said, None)
    first = Vote(judge="small", label=label, probability=probability, failure=F if said is F else None)
    if answers == "cheap":
        assert costly.calls == []
        assert (verdict.label, verdict.probability, verdict.judge) == (*said, "model of small")
        assert verdict.votes == (first, Vote(judge="large"))
    else:
        assert costly.calls == [["a"]]
        assert (verdict.label, verdict.probability, verdict.judge) == (C, 0.3, "model of large")
        assert verdict.votes == (first, Vote(judge="large", label=C, probability=0.3))


def test_each_judge_is_asked_once_for_all_its_facts():
    cheap = ById({"a": (S, 0.99), "b": (S, 0.6), "c": (E, 0.02), "d": F}, "small")
    costly = ById(dict.fromkeys("abcd", S), "large")
    outcomes = judge(Cascade(cheap, costly), "abcd")
    assert cheap.calls == [["a", "b", "c", "d"]]
    assert costly.calls == [["b", "d"]]
    assert [one.mode for one in outcomes] == ["cheap", "costly", "cheap", "costly"]
    assert judge(Cascade(cheap, costly), "") == []


def test_where_the_costly_judge_fails_the_unsure_answer_does_not_stand_in():
    [outcome] = judge(Cascade(ById({"a": (S, 0.8)}), ById({"a": F})), "a")
    assert isinstance(outcome, Failure) and (outcome.error, outcome.message) == (F.error, F.message)
    cheap, costly = outcome.votes  # nothing that was paid for is lost, and the fact stays unscored
    assert (cheap.label, cheap.probability, costly.failure) == (S, 0.8, F)
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Failure) == outcome
    broken = Raising([ModelError("down")], name="broken")
    assert judge(Cascade(broken, ById({"a": S})), "a")[0].label is S
    [outcome] = judge(Cascade(ById({"a": F}), broken), "a")
    assert outcome.message == "down"


def test_a_fatal_error_ends_the_run():
    with pytest.raises(ExceptionGroup) as caught:
        judge(Cascade(ById({"a": F}), Raising([BudgetSpent("spent")], name="broken")), "a")
    assert caught.group_contains(BudgetSpent)


def test_confidence_is_in_the_calibrated_probability_and_votes_keep_the_raw_one():
    calibration = Calibration(kind="isotonic", knots=((0.1, 0.3), (0.9, 0.95)), n=100)
    cheap = ById({"a": (S, 0.9), "b": (E, 0.1), "c": (E, 0.7)})
    outcomes = judge(Cascade(cheap, ById(dict.fromkeys("abc", C)), calibration=calibration), "abc")
    assert [one.mode for one in outcomes] == ["cheap", "costly", "costly"]
    assert (outcomes[0].probability, outcomes[0].votes[0].probability) == (0.95, 0.9)


def test_the_costly_judge_gathers_only_for_what_comes_to_it():
    gathered = []

    class Counting(Fixed):
        async def gather(self, fact, generation):
            gathered.append(fact.id)
            return Evidence()

    cheap = ById({"a": (S, 0.99), "b": (S, 0.6)})
    judge(Cascade(cheap, Member(ById(dict.fromkeys("ab", S)), Counting())), "ab")
    assert gathered == ["b"]


def test_a_cascade_of_ensembles_and_an_ensemble_of_cascades():
    sure, unsure = ById({"a": (S, 0.95)}, "x"), ById({"a": (S, 0.6)}, "y")
    costly = ById({"a": (C, 0.1)}, "z")
    [verdict] = judge(Cascade(Ensemble((sure, unsure)), costly), "a")
    assert (verdict.mode, verdict.votes[0].probability) == ("costly", 0.6)
    [verdict] = judge(Ensemble((Cascade(sure, costly), unsure)), "a")
    assert (verdict.label, verdict.judge) == (S, "all(cascade(x, z), y)")


@pytest.mark.parametrize("settings", [{"confidence": 0.4}, {"confidence": 1.1}, {"audit": -0.1}, {"audit": 2}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(UsageError):
        Cascade(ById({}), ById({}), **settings)


# --- audit

IDS = [f"g/{n // 5}.{n % 5}" for n in range(2000)]
ALL_SURE = ById(dict.fromkeys(IDS, (S, 0.95)), "small")


def audited(ids, **settings):
    costly = ById(dict.fromkeys(IDS, C), "large")
    outcomes = judge(Cascade(ALL_SURE, costly, **settings), ids)
    assert all((one.label, one.mode, one.probability) == (S, "cheap", 0.95) for one in outcomes)
    chosen = {one for one, outcome in zip(ids, outcomes, strict=True) if outcome.votes[1].label}
    assert chosen == {one for call in costly.calls for one in call}
    return chosen


def test_an_audit_takes_its_share_and_leaves_the_verdicts():
    assert audited(IDS) == set()
    assert audited(IDS, audit=1.0) == set(IDS)
    assert len(audited(IDS, audit=0.1)) == pytest.approx(200, abs=4 * (2000 * 0.09) ** 0.5)


def test_an_audit_depends_on_id_and_seed_alone():
    chosen = audited(IDS, audit=0.1)
    shuffled = random.Random(3).sample(IDS, len(IDS))
    assert audited(shuffled, audit=0.1) == chosen
    assert audited(IDS[:700], audit=0.1) | audited(IDS[700:], audit=0.1) == chosen
    assert chosen < audited(IDS, audit=0.2)
    other = audited(IDS, audit=0.1, seed=1)
    assert len(chosen & other) < len(chosen) / 2


def test_an_audit_is_asked_apart_from_what_is_open():
    cheap = ById({"a": (S, 0.95), "b": (S, 0.6)}, "small")
    costly = ById({"a": F, "b": S}, "large")
    sure, unsure = judge(Cascade(cheap, costly, audit=1.0), "ab")
    assert sorted(costly.calls) == [["a"], ["b"]]
    assert (sure.label, sure.votes[1]) == (S, Vote(judge="large", failure=F))
    assert unsure.mode == "costly"


# --- summary


def told(labels_cheap, labels_costly, **settings):
    """A cascade over one fact an entry, in generations of four."""
    size = len(labels_cheap)
    ids = [f"g{n // 4}/0.{n % 4}" for n in range(size)]
    cheap = ById(dict(zip(ids, labels_cheap, strict=True)), "small")
    costly = ById(dict(zip(ids, labels_costly, strict=True)), "large")
    return reports(Cascade(cheap, costly, **settings), [4] * (size // 4))


def test_summary_by_hand():
    sure, unsure = (S, 0.95), (S, 0.6)
    found = told(
        [sure, sure, unsure, unsure, sure, (C, 0.01), sure, unsure],
        [S, C, S, F, S, E, F, I],
        audit=1.0,
    )
    summary = summarise(found)
    # sure: S/S, S/C, S/S, C/E (both not supported), S/failed; unsure: S, failed, I
    assert (summary.facts, summary.cheap, summary.costly, summary.unjudged) == (7, 5, 2, 1)
    assert (summary.audited, summary.audit_failed, summary.agreed) == (4, 1, 3)
    assert summary.agreement == 0.75
    assert summary.saved == 0
    assert summary.whole == pytest.approx((2 + 0.75 * 5) / 7)
    assert summary.whole_low == pytest.approx((2 + summary.low * 5) / 7)
    lines = str(summary).splitlines()
    assert lines == summary.lines()
    assert "5 of 7 facts (71.4 %) answered by small, 2 by large; 1 without a verdict" in lines[0]
    assert "large agreed with 3 of 4 answers of small: 75.0 % [" in lines[2]
    assert "(1 more could not be audited)" in lines[2]
    assert "82.1 %" in lines[3]


def test_without_an_audit_agreement_is_not_known():
    summary = summarise(told([(S, 0.95)] * 6 + [(S, 0.6)] * 2, [S] * 8))
    assert summary.saved == 0.75
    assert (summary.agreement, summary.low, summary.whole) == (None, None, None)
    assert "not known" in summary.lines()[-1]


def test_the_interval_is_wilsons():
    """46 of 50 audited facts, no two of one generation: Wilson's interval as scipy has it."""
    stats = pytest.importorskip("scipy.stats")
    ids = [f"g{n}/0.0" for n in range(50)]
    cheap = ById(dict.fromkeys(ids, (S, 0.95)))
    costly = ById({one: S if n >= 4 else E for n, one in enumerate(ids)})
    summary = summarise(reports(Cascade(cheap, costly, audit=1.0), [1] * 50))
    # clusters of one: the design effect is n / (n - 1)
    low, high = summary.low, summary.high
    wilson = stats.binomtest(46, 50).proportion_ci(0.95, method="wilson")
    assert low == pytest.approx(wilson.low, abs=0.002)
    assert high == pytest.approx(wilson.high, abs=0.002)
    all_agree = summarise(reports(Cascade(cheap, ById(dict.fromkeys(ids, S)), audit=1.0), [1] * 50))
    wilson = stats.binomtest(50, 50).proportion_ci(0.95, method="wilson")
    assert (all_agree.low, all_agree.high) == pytest.approx((wilson.low, wilson.high))
    assert all_agree.agreement == 1


def test_facts_that_agree_by_generation_count_for_less():
    """The same 32 of 40, spread evenly and in whole generations (ten of four facts)."""
    sure = [(S, 0.95)] * 40
    together = summarise(told(sure, [E] * 8 + [S] * 32, audit=1.0))
    spread = summarise(told(sure, [E if n % 5 == 0 else S for n in range(40)], audit=1.0))
    assert together.agreement == spread.agreement == 0.8
    assert together.high - together.low > 1.5 * (spread.high - spread.low)


def test_the_interval_covers_what_an_audit_of_everything_would_find():
    """Generations that differ, a fifth audited: nearly always the true agreement is within the interval."""
    rng = np.random.default_rng(0)
    held = 0
    for seed in range(30):
        says, ids = {}, []
        for g in range(30):
            rate = rng.beta(9, 1)
            own = [f"g{g}/0.{n}" for n in range(15)]
            ids += own
            says.update({one: S if rng.random() < rate else E for one in own})
        cheap, costly = ById(dict.fromkeys(ids, (S, 0.95))), ById(says)
        summary = summarise(reports(Cascade(cheap, costly, audit=0.2, seed=seed), [15] * 30))
        truth = sum(one is S for one in says.values()) / len(ids)
        held += summary.whole_low <= truth <= summary.whole_high
    assert held >= 26


def test_only_reports_of_one_cascade_are_summarised():
    plain = Report(
        generation=Generation(id="g", text="x"),
        facts=(JudgedFact(fact=facts("a")[0][0], verdict=Verdict(label=S, judge="j")),),
    )
    one = told([(S, 0.95)] * 4, [S] * 4)
    other = reports(Cascade(ById({"g0/0.0": (S, 0.95)}, "tiny"), ById({})), [1])
    for found in ([plain], [], [*one, *other]):
        with pytest.raises(UsageError, match="one cascade"):
            summarise(found)
    assert summarise([plain, *one]).facts == 4
    with pytest.raises(UsageError, match="level"):
        summarise(one, level=1.0)


# --- planning

PROBABILITIES = [0.97, 0.92, 0.8, 0.55, 0.45, 0.3, 0.08, 0.01, None, 0.99]
COSTLY = [True, True, False, True, True, False, False, False, True, False]


def test_sweep_by_hand():
    rows = {row.confidence: row for row in sweep(PROBABILITIES, COSTLY, confidences=(0.5, 0.9, 1.0))}
    assert rows[1.0].answered == 0
    assert (rows[1.0].agreement, rows[1.0].kept, rows[1.0].balanced_accuracy) == (None, 1.0, 1.0)
    assert rows[0.9].answered == 0.5
    assert rows[0.9].agreement == 0.8  # .99 is wrong
    assert rows[0.9].kept == 0.9
    assert rows[0.9].balanced_accuracy == pytest.approx((1 + 4 / 5) / 2)
    assert rows[0.5].answered == 0.9
    assert rows[0.5].kept == pytest.approx(0.7)
    table = "\n".join([SWEEP_HEAD, *map(str, rows.values())])
    assert "| 1 | 0.000 | - | 1.000 | 1.000 |" in table
    assert len({line.count("|") for line in table.splitlines()}) == 1


def test_sweep_against_gold_and_by_the_judges_own_labels():
    gold = [True, True, False, True, False, False, False, False, True, True]
    own = [p is not None and p > 0.3 for p in PROBABILITIES]  # .45 and .55: above its own threshold
    [row] = sweep(PROBABILITIES, COSTLY, gold=gold, supported=own, confidences=(0.5,))
    assert row.answered == 0.8  # not None, and not .45, where label and probability differ
    decided = [True, True, True, True, True, False, False, False, True, True]
    assert row.kept == np.mean(np.array(decided) == COSTLY)
    assert row.balanced_accuracy == pytest.approx((5 / 5 + 3 / 5) / 2)
    assert sweep([0.9], [True])[0].balanced_accuracy is None


@pytest.mark.parametrize("calibrated", [False, True])
def test_sweep_foretells_what_the_cascade_does(calibrated):
    rng = np.random.default_rng(1)
    p = rng.random(200).round(3)
    truth = rng.random(200) < p**2
    calibration = fit_isotonic(p, truth) if calibrated else None
    ids = [f"g{n // 10}/0.{n % 10}" for n in range(200)]
    cheap = ById({one: (S if x >= 0.5 else E, x) for one, x in zip(ids, p.tolist(), strict=True)}, "small")
    costly = ById({one: S if yes else C for one, yes in zip(ids, truth, strict=True)}, "large")
    found = both(reports(Cascade(cheap, costly, audit=1.0), [10] * 20))
    assert found.probabilities == tuple(p.tolist())
    assert found.costly == tuple(truth.tolist())
    assert found.clusters == tuple(f"g{n // 10}" for n in range(200))
    rows = sweep(found.probabilities, found.costly, supported=found.supported, calibration=calibration)
    assert [row.confidence for row in rows] == list(CONFIDENCES)
    for row in rows:
        cascade = Cascade(cheap, costly, confidence=row.confidence, calibration=calibration, audit=1.0)
        summary = summarise(reports(cascade, [10] * 20))
        assert summary.cheap / summary.facts == row.answered
        assert summary.agreement == row.agreement
        assert (summary.whole or 1.0) == pytest.approx(row.kept)


def test_planning_takes_a_fully_audited_run():
    cheap = [(S, 0.95), (S, 0.95), F, (I, 0.0), (E, 0.6), S, (S, 0.6), (S, 0.9)]
    costly = [S, F, C, I, S, S, F, E]
    found = both(told(cheap, costly, audit=1.0))
    assert found == Both(
        probabilities=(0.95, None, None, 0.6, None, 0.9),
        supported=(True, False, False, False, True, True),
        costly=(True, False, False, True, True, False),
        clusters=("g0", "g0", "g0", "g1", "g1", "g1"),
    )
    with pytest.raises(UsageError, match="audit=1"):
        both(told(cheap, costly))
    assert both([]).costly == ()


@pytest.mark.parametrize(
    ("p", "costly", "more"), [([], [], {}), ([0.5], [True, False], {}), ([0.5], [True], {"gold": []})]
)
def test_a_sweep_needs_as_many_of_each(p, costly, more):
    with pytest.raises(UsageError):
        sweep(p, costly, **more)


# --- within a method


def method(verifier):
    return Method(name="m", decomposer=GivenFacts(), gatherer=Reference(), verifier=verifier)


async def test_in_a_pipeline():
    generation = Generation(
        id="g",
        text="Ana ran the mill.",
        reference="Ana ran the mill.",
        facts=(GivenFact(text="Ana ran the mill."), GivenFact(text="Ana was a queen of Peru in 1740.")),
    )
    costly = RetrieveVerifier(Scripted("False"))
    report = await evaluate(generation, method(Cascade(EmbeddedJudge(), costly, confidence=0.9, audit=1.0)))
    summary = summarise([report])
    assert summary.facts == 2
    assert summary.cheap_judge == "embedded/features-1"
    assert len(costly.model.seen) == summary.audited + summary.costly == 2


LLM = RetrieveVerifier(Scripted("True"))
BASE = Cascade(EmbeddedJudge(), LLM, calibration=fit_platt([0.2, 0.8], [0, 1]))


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, confidence=0.8),
        replace(BASE, calibration=None),
        replace(BASE, calibration=fit_platt([0.2, 0.8], [0, 0])),
        replace(BASE, audit=0.1),
        replace(BASE, seed=1),
        replace(BASE, cheap=LLM),
        replace(BASE, costly=EmbeddedJudge()),
        replace(BASE, costly=Member(LLM, NoEvidence())),
        replace(BASE, costly=replace(LLM, retries=0)),
    ],
    ids=str,
)
def test_every_setting_is_signed(changed):
    assert sign(method(changed)).digest != sign(method(BASE)).digest
    assert sign(method(BASE)).fields["verifier"] == "cascade(embedded/features-1, retrieve(scripted))"
    assert method(BASE).verifier.warning == EmbeddedJudge().warning
