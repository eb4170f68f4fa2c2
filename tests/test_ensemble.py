"""Several judges, one verdict: truth tables, failures, who is asked, what is shown."""

import asyncio
import itertools
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median_low

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.calibration import Calibration, fit_platt
from veridical.decompose import GivenFacts
from veridical.ensemble import RULES, Ensemble, Member, asked
from veridical.errors import BudgetSpent, ModelError, SearchError, UsageError
from veridical.gather import NoEvidence, Reference
from veridical.models.scripted import Scripted
from veridical.pipeline import Method, evaluate
from veridical.signature import sign
from veridical.types import AtomicFact, Evidence, Failure, Generation, GivenFact, Label, Passage, Quote, Verdict, Vote
from veridical.verifiers.embedded import EmbeddedJudge
from veridical.verify import NoContextVerifier, RetrieveVerifier

S, C, E, I = Label.SUPPORTED, Label.CONTRADICTED, Label.NOT_ENOUGH_EVIDENCE, Label.IRRELEVANT  # noqa: E741
F = Failure(stage="verify", error="ModelError", message="no reply")
GENERATION = Generation(id="g", text="Ana ran the mill.", reference="Ana ran the mill. She sold it in 1932.")
PASSAGE = Passage(id="p", text="Ana ran the mill.")


def without_votes(outcome):
    return msgspec.structs.replace(outcome, votes=())


@dataclass
class Judge:
    """A verifier that says what it is told to, one saying a fact by its number, and keeps what it was asked."""

    says: list
    name: str = "judge"
    quotes: tuple = ()
    calls: list = field(default_factory=list)

    async def verify(self, facts, generation):
        self.calls.append([fact.id for fact, _ in facts])
        self.evidence = [evidence for _, evidence in facts]
        await asyncio.sleep(0)
        return [self.said(int(fact.id.rpartition(".")[2])) for fact, _ in facts]

    def said(self, number):
        said = self.says[number % len(self.says)]
        if isinstance(said, (Verdict, Failure)):
            return said
        label, probability = said if isinstance(said, tuple) else (said, None)
        return Verdict(
            label=label,
            judge=self.name,
            probability=probability,
            rationale=f"{self.name} says {label}",
            quotes=self.quotes,
            error_type=f"of {self.name}",
        )


def facts(n=1, passages=(PASSAGE,)):
    return [
        (AtomicFact(id=str(i), text="Ana ran it.", sentence=0), Evidence(passages=tuple(passages))) for i in range(n)
    ]


def np_judge(*probabilities):
    """FActScore's: supported above .3, strictly."""
    return Judge([(S if p > 0.3 else E, p) for p in probabilities], name="np")


async def judge(ensemble, n=1, **options):
    return await ensemble.verify(facts(n, **options), GENERATION)


# --- F10


@pytest.mark.parametrize(
    ("lm", "probability", "label", "asked_np"), [(S, 0.31, S, True), (S, 0.30, E, True), (E, 0.9, E, False)]
)
async def test_f10_supported_if_the_lm_says_so_and_np_is_above_its_threshold(lm, probability, label, asked_np):
    np = np_judge(probability)
    [verdict] = await judge(Ensemble((Judge([lm], name="lm"), np), rule="all"))
    assert verdict.label is label
    assert verdict.judge == "all(lm, np)"
    assert verdict.mode == "votes"
    assert np.calls == ([["0"]] if asked_np else [])
    said = Vote(judge="np", label=S if probability > 0.3 else E, probability=probability)
    assert verdict.votes == (Vote(judge="lm", label=lm), said if asked_np else Vote(judge="np"))


# --- all rules, all combinations, against a definition that tries everything out


def kind(rule, labels):
    """Of a full set of labels: "supported", "irrelevant" or "not"."""
    supported = [label is S for label in labels]
    enough = {"all": all(supported), "any": any(supported), "majority": sum(supported) > len(labels) / 2}[rule]
    return "supported" if enough else "irrelevant" if set(labels) == {I} else "not"


def settled(rule, said):
    """The one kind that every completion of the failures comes to, or None."""
    options = [[S, C, E, I] if one is F else [one] for one in said]
    kinds = {kind(rule, labels) for labels in itertools.product(*options)}
    return kinds.pop() if len(kinds) == 1 else None


@pytest.mark.parametrize("rule", ["all", "any", "majority"])
@pytest.mark.parametrize("n", [1, 2, 3])
async def test_every_combination(rule, n):
    table = list(itertools.product([S, C, E, I, F], repeat=n))
    judges = [Judge([row[place] for row in table], name=f"j{place}") for place in range(n)]
    verdicts = await judge(Ensemble(tuple(judges), rule=rule), len(table))
    for said, outcome in zip(table, verdicts, strict=True):
        expected = settled(rule, said)
        if expected is None:
            assert isinstance(outcome, Failure), said
            for place, one in enumerate(said):
                assert (f"j{place}" in outcome.message) == (one is F)
            continue
        assert isinstance(outcome, Verdict), said
        heard = [vote.label for vote in outcome.votes if vote.label]
        if expected == "supported":
            assert outcome.label is S
        elif expected == "irrelevant":
            assert outcome.label is I
            assert set(said) == {I}
        else:
            assert outcome.label is (C if {one for one in heard if one is not S} == {C} else E), said
        for vote, one in zip(outcome.votes, said, strict=True):
            silent = Vote(judge=vote.judge)
            assert vote in (silent, Vote(judge=vote.judge, failure=F) if one is F else replace_label(silent, one))
        if rule == "majority":
            assert all(vote.label or vote.failure for vote in outcome.votes)


def replace_label(vote, label):
    return Vote(judge=vote.judge, label=label)


@pytest.mark.parametrize("rule", ["all", "any"])
async def test_asked_in_order_and_only_as_far_as_it_matters(rule):
    table = list(itertools.product([S, C, E, I, F], repeat=3))
    judges = [Judge([row[place] for row in table], name=f"j{place}") for place in range(3)]
    await judge(Ensemble(tuple(judges), rule=rule), len(table))
    for place, one in enumerate(judges):
        # unasked are those whose beginning settles it, whatever the others may say
        due = [str(i) for i, row in enumerate(table) if settled(rule, (*row[:place], *[F] * (3 - place))) is None]
        assert one.calls == [due]


async def test_members_that_are_all_asked_are_asked_at_once():
    """Each waits for the other: one after the other they would never end."""
    barrier = asyncio.Barrier(2)

    class Waiting(Judge):
        async def verify(self, facts, generation):
            async with asyncio.timeout(5):
                await barrier.wait()
            return await super().verify(facts, generation)

    for rule in ("majority", "mean"):
        members = (Waiting([(S, 0.9)], name="a"), Waiting([(S, 0.8)], name="b"))
        verdicts = await judge(Ensemble(members, rule=rule), 3)
        assert [verdict.label for verdict in verdicts] == [S] * 3
        assert [one.calls for one in members] == [[["0", "1", "2"]]] * 2


@pytest.mark.parametrize("rule", RULES)
async def test_no_facts_no_calls(rule):
    one = Judge([(S, 0.5)])
    assert await Ensemble((one, one), rule=rule).verify([], GENERATION) == []
    assert one.calls == []


# --- mean


@given(
    said=st.lists(
        st.one_of(
            st.just(F), st.tuples(st.sampled_from([S, C, E, I]), st.one_of(st.none(), st.sampled_from(range(5))))
        ),
        min_size=1,
        max_size=3,
    ),
    threshold=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
)
def test_mean_stands_where_nothing_the_missing_could_say_changes_it(said, threshold):
    """Probabilities are quarters, so that sums are exact; a missing one is tried out at every quarter."""
    rows = [one if one is F else (one[0], None if one[1] is None else one[1] / 4) for one in said]
    judges = tuple(Judge([row], name=f"j{place}") for place, row in enumerate(rows))
    [outcome] = asyncio.run(judge(Ensemble(judges, rule="mean", threshold=threshold)))
    grid = [n / 4 for n in range(5)]
    options = [
        list(itertools.product([S, C, E, I], grid))
        if row is F
        else [(row[0], p) for p in grid]
        if row[1] is None
        else [row]
        for row in rows
    ]
    kinds = set()
    for full in itertools.product(*options):
        mean = sum(p for _, p in full) / len(full)
        kinds.add("irrelevant" if {label for label, _ in full} == {I} else "yes" if mean >= threshold else "no")
    if len(kinds) > 1:
        assert isinstance(outcome, Failure)
        assert "j" in outcome.message
        return
    [found] = kinds
    against = {row[0] for row in rows if row is not F} - {S}
    no = C if against == {C} else E
    assert outcome.label is {"irrelevant": I, "yes": S, "no": no}[found]
    whole = [row[1] for row in rows if row is not F]
    assert outcome.probability == (None if F in rows or None in whole else sum(whole) / len(whole))


async def test_mean_ignores_the_thresholds_of_its_members():
    """NP .4 is supported by its own threshold; the mean of .4 and .5 is not."""
    [verdict] = await judge(Ensemble((Judge([(S, 0.5)], name="lm"), np_judge(0.4)), rule="mean"))
    assert (verdict.label, verdict.probability) == (E, pytest.approx(0.45))
    assert verdict.rationale is None
    assert verdict.quotes == ()


async def test_mean_of_calibrated_probabilities():
    double = Calibration(kind="isotonic", knots=((0.0, 0.01), (0.3, 0.5), (1.0, 0.99)), n=50)
    members = (Judge([(S, 0.5)], name="lm"), Member(np_judge(0.4), calibration=double))
    [verdict] = await judge(Ensemble(members, rule="mean"))
    assert verdict.label is S
    assert [vote.probability for vote in verdict.votes] == [0.5, double(0.4)]


async def test_a_verdict_without_probability_leaves_the_mean_open_by_name():
    [outcome] = await judge(Ensemble((Judge([(S, 0.9)], name="a"), Judge([S], name="b")), rule="mean"))
    assert [vote.probability for vote in outcome.votes] == [0.9, None]  # what was paid for is kept
    assert without_votes(outcome) == Failure(
        stage="verify", error="ModelError", message="b: gave no probability, which rule mean needs"
    )


async def test_no_evidence_counts_as_probability_zero():
    blank = RetrieveVerifier(Scripted("True"), mode="logprobs")
    [verdict] = await judge(Ensemble((blank, Judge([(S, 0.9)])), rule="mean"), passages=())
    assert (verdict.label, verdict.probability) == (E, 0.45)


def test_a_judge_read_from_text_is_refused_at_once():
    for part in (RetrieveVerifier(Scripted("True")), Member(NoContextVerifier(Scripted("True")))):
        with pytest.raises(UsageError, match=r"\(scripted\) gives none"):
            Ensemble((part,), rule="mean")
    assert Ensemble((RetrieveVerifier(Scripted("True"), mode="logprobs"),), rule="mean")


# --- probabilities, quotes, words


@pytest.mark.parametrize(("rule", "of"), [("all", min), ("any", max), ("majority", median_low)])
@pytest.mark.parametrize("said", list(itertools.product([0.2, 0.6, 0.9], repeat=3)), ids=str)
async def test_the_probability_is_on_the_side_of_the_label(rule, of, said):
    judges = tuple(Judge([(S if p >= 0.5 else E, p)]) for p in said)
    [verdict] = await judge(Ensemble(judges, rule=rule))
    heard = [vote.probability for vote in verdict.votes if vote.label]
    assert verdict.probability == of(heard)
    assert (verdict.probability >= 0.5) == (verdict.label is S)


async def test_no_probability_where_one_that_was_asked_gave_none():
    [verdict] = await judge(Ensemble((Judge([S]), np_judge(0.9))))
    assert (verdict.label, verdict.probability) == (S, None)
    [verdict] = await judge(Ensemble((Judge([F]), np_judge(0.1))))
    assert (verdict.label, verdict.probability) == (E, None)


@pytest.mark.parametrize(
    ("rule", "said", "label", "speaker"),
    [
        ("all", [S, S], S, "j0"),
        ("all", [S, C], C, "j1"),
        ("any", [C, E], E, "j1"),
        ("any", [I, C], E, "j0"),
        ("majority", [C, S, S], S, "j1"),
        ("majority", [S, C, I, I], E, "j1"),
    ],
)
async def test_rationale_quotes_and_error_type_are_those_of_the_first_that_agrees(rule, said, label, speaker):
    quote = Quote(passage="p", start=0, end=3)
    judges = [Judge([one], name=f"j{n}", quotes=(replace_end(quote, n),)) for n, one in enumerate(said)]
    [verdict] = await judge(Ensemble(tuple(judges), rule=rule))
    assert verdict.label is label
    assert verdict.rationale.startswith(speaker)
    assert verdict.error_type == f"of {speaker}"
    assert verdict.quotes == judges[int(speaker[1])].quotes


def replace_end(quote, n):
    return Quote(passage=quote.passage, start=0, end=quote.end + n)


# --- evidence of one's own


@dataclass(frozen=True)
class Fixed:
    """A gatherer of given passages; a fact whose number is in `missing` is a `SearchError`."""

    passages: tuple = ()
    missing: tuple = ()

    async def gather(self, fact, generation):
        if int(fact.id) in self.missing:
            raise SearchError("no page")
        return Evidence(passages=self.passages)


async def test_a_member_with_a_gatherer_reads_its_own_passages():
    own = Passage(id="own", text="Another page.")
    alone, shared = Judge([S], name="alone"), Judge([S], name="shared")
    await judge(Ensemble((Member(alone, Fixed((own,))), shared)), 2)
    assert [evidence.passages for evidence in alone.evidence] == [(own,)] * 2
    assert [evidence.passages for evidence in shared.evidence] == [(PASSAGE,)] * 2


async def test_quotes_are_kept_where_the_shared_evidence_has_their_passage_word_for_word():
    own = (PASSAGE, Passage(id="own", text="Another page."), Passage(id="q", text="One thing."))
    quotes = tuple(Quote(passage=passage.id, start=0, end=3) for passage in own)
    member = Member(Judge([S], quotes=quotes), Fixed(own))
    [verdict] = await judge(Ensemble((member,)), passages=(PASSAGE, Passage(id="q", text="Other words.")))
    assert verdict.quotes == quotes[:1]


async def test_what_cannot_be_gathered_is_a_failure_of_this_member_and_fact():
    member = Member(Judge([S], name="own"), Fixed(missing=(1,)))
    outcomes = await judge(Ensemble((member, Judge([S, S, S]))), 3)
    assert [outcome.label if isinstance(outcome, Verdict) else None for outcome in outcomes] == [S, None, S]
    assert [vote.label for vote in outcomes[1].votes] == [None, S]
    assert without_votes(outcomes[1]) == Failure(stage="gather", error="SearchError", message="own: no page")
    assert member.verifier.calls == [["0", "2"]]


# --- trouble


class Raising(Judge):
    async def verify(self, facts, generation):
        async with asyncio.TaskGroup() as group:
            group.create_task(self.fail())
        return []

    async def fail(self):
        raise self.says[0]


async def test_an_error_of_one_item_is_this_members_failure():
    broken = Raising([ModelError("down")], name="broken")
    kept, open_ = await judge(Ensemble((broken, Judge([C, S], name="b")), rule="all"), 2)
    assert kept.label is C
    assert kept.votes[0].failure == Failure(stage="verify", error="ModelError", message="down")
    assert without_votes(open_) == Failure(stage="verify", error="ModelError", message="broken: down")


@pytest.mark.parametrize("error", [BudgetSpent("spent"), UsageError("no such model"), ValueError("a bug")])
@pytest.mark.parametrize("rule", RULES)
async def test_an_error_of_the_whole_run_is_not_a_failure(error, rule):
    with pytest.raises(ExceptionGroup) as caught:
        await judge(Ensemble((Raising([error], name="broken"), Judge([S])), rule=rule))
    assert caught.group_contains(type(error))


async def test_a_miscounting_member_is_a_bug():
    class Short(Judge):
        async def verify(self, facts, generation):
            return []

    with pytest.raises(RuntimeError, match="short gave 0 outcomes for 2"):
        await asked(Short([S], name="short"), facts(2), GENERATION)


@pytest.mark.parametrize(
    "settings", [{"rule": "most"}, {"members": ()}, {"threshold": 1.5}, {"threshold": float("nan")}]
)
def test_an_ensemble_of_nothing_or_by_no_rule_is_refused(settings):
    with pytest.raises(UsageError):
        Ensemble(**{"members": (Judge([S]),)} | settings)


# --- within a method


def method(verifier):
    return Method(name="m", decomposer=GivenFacts(), gatherer=Reference(), verifier=verifier)


async def test_in_a_pipeline():
    generation = Generation(
        id="g",
        text="Ana ran the mill. Ana was a queen.",
        reference="Ana ran the mill.",
        facts=(GivenFact(text="Ana ran the mill."), GivenFact(text="Ana was a queen of Peru.")),
    )
    second = RetrieveVerifier(Scripted({"queen": "False", "mill": "True"}))
    report = await evaluate(generation, method(Ensemble((EmbeddedJudge(), second))))
    yes, no = (judged.verdict for judged in report.facts)
    assert (yes.label, no.label is S) == (S, False)
    assert yes.judge == "all(embedded/features-1, retrieve(scripted))"
    assert yes.quotes[0].passage == "reference/0"
    assert len(second.model.seen) == 1


LLM = RetrieveVerifier(Scripted("True"), mode="logprobs")
MEMBERS = (Member(EmbeddedJudge()), Member(LLM, Reference(k=3), fit_platt([0.2, 0.8], [0, 1])))
BASE = Ensemble(MEMBERS, rule="mean")


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, rule="majority"),
        replace(BASE, threshold=0.6),
        replace(BASE, members=MEMBERS[::-1]),
        replace(BASE, members=MEMBERS[:1]),
        replace(BASE, members=(*MEMBERS, MEMBERS[0])),
        *(
            replace(BASE, members=(MEMBERS[0], replace(MEMBERS[1], **change)))
            for change in (
                {"gatherer": None},
                {"gatherer": NoEvidence()},
                {"gatherer": Reference(k=5)},
                {"calibration": None},
                {"calibration": fit_platt([0.2, 0.8], [0, 0])},
                {"verifier": replace(LLM, max_tokens=9)},
                {"verifier": replace(LLM, model=Scripted("True", name="other"))},
                {"verifier": NoContextVerifier(Scripted("True"), mode="logprobs")},
            )
        ),
    ],
)
def test_every_setting_is_signed(changed):
    assert sign(method(changed)).digest != sign(method(BASE)).digest
    assert sign(method(BASE)).fields["verifier"] == "mean(embedded/features-1, retrieve(scripted))"


def test_the_weakness_of_a_member_is_printed_once():
    weak = EmbeddedJudge()
    nested = Ensemble((Ensemble((weak, weak)), Member(weak), LLM))
    assert nested.warning == weak.warning
    assert Ensemble((LLM,)).warning is None
    assert nested.name == (
        "all(all(embedded/features-1, embedded/features-1), embedded/features-1, retrieve(scripted))"
    )


def test_the_python_of_the_docs_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = {"np": np_judge(0.5), "dense": Fixed(), "bm25": Fixed()}
    known["generations"] = [
        Generation(
            id=f"g{n}", text="Ana ran the mill.", reference="Ana ran it.", facts=(GivenFact(text="Ana ran it."),)
        )
        for n in range(3)
    ]
    known["llm"] = Judge([(S, 0.9)], name="llm")
    page = Path(__file__).resolve().parents[1] / "docs" / "ensembles.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        exec(compile(block, str(page), "exec"), known)
    assert len(blocks) == 3
    assert known["summary"].audited == known["summary"].cheap
    assert known["method"].verifier.calibration == Calibration.load(tmp_path / "small-judge.json")
