"""Frozen evidence: the same for every judge, byte for byte, and nothing taken for it that is not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical import cli
from veridical.errors import InputError, UsageError
from veridical.folder import RunFolder
from veridical.frozen import Frozen, evidence_sha256, freeze
from veridical.knowledge.given import Given
from veridical.methods import method
from veridical.models.scripted import Scripted
from veridical.parts import Parts
from veridical.pipeline import evaluate
from veridical.published import Published
from veridical.safe.dry import stand_in
from veridical.types import (
    AtomicFact,
    Evidence,
    Failure,
    Generation,
    JudgedFact,
    Label,
    Passage,
    Report,
    Sentence,
    Verdict,
)

PAGES = Given({"Ana Brandt": ["Ana Brandt sold the mill in 1932.", "The mill stood in Turin."]})
GENERATION = Generation(
    id="g", prompt="Who was Ana Brandt?", text="Ana Brandt sold the mill in 1932. Oranges are round."
)


def answers(request):
    asked = request.messages[0].content
    if "Oranges" in asked and "Lom" in asked and "<statement" in asked:
        statement = asked.split("<statement")[1]
        return "About fruit.\n[Not Lom]" if "Oranges" in statement else "[Lom]"
    return (
        stand_in(request)
        or "- Ana Brandt sold the mill in 1932.\n" * ("Oranges" not in asked.split("<sentence")[-1])
        or ("- Oranges are round.")
    )


async def searched(**more):
    made = method("safe", Parts(judge=Scripted(answers), searcher=PAGES, embedded_decomposer=True, **more))
    return await evaluate(GENERATION, made)


async def test_another_judge_sees_the_same_evidence_and_searches_nothing(tmp_path):
    first = await searched()
    assert [fact.verdict.label for fact in first.facts] == [Label.SUPPORTED, Label.IRRELEVANT]
    head = freeze([first], tmp_path / "evidence.jsonl")
    assert (head.generations, head.facts) == (1, 2)
    other = Scripted("False", name="other")
    made = method("factscore", Parts(judge=other, frozen=Frozen(tmp_path / "evidence.jsonl")))
    second = await evaluate(GENERATION, made)
    assert [fact.verdict.label for fact in second.facts] == [Label.NOT_ENOUGH_EVIDENCE, Label.IRRELEVANT]
    assert [fact.evidence for fact in second.facts] == [fact.evidence for fact in first.facts]
    assert len(other.seen) == 1  # the one fact that was not set aside; nothing was split, sorted or searched


async def test_f53_the_same_judge_says_the_same_and_freezing_again_gives_the_same_bytes(tmp_path):
    first = await searched()
    freeze([first], tmp_path / "a.jsonl")
    frozen = Frozen(tmp_path / "a.jsonl")
    second = await evaluate(GENERATION, method("safe", Parts(judge=Scripted(answers), frozen=frozen)))
    assert [fact.verdict for fact in second.facts] == [fact.verdict for fact in first.facts]
    freeze([second], tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


async def test_the_file_s_hash_is_in_the_signature(tmp_path):
    freeze([await searched()], tmp_path / "a.jsonl")
    freeze([await searched(steps=1)], tmp_path / "b.jsonl")
    made = [method("embedded", Parts(frozen=Frozen(tmp_path / name))) for name in ("a.jsonl", "b.jsonl")]
    assert made[0].signature.fields["gatherer.frozen"].startswith("evidence@")
    assert made[0].signature.digest != made[1].signature.digest


async def test_every_member_of_an_ensemble_judges_by_it(tmp_path):
    freeze([await searched()], tmp_path / "a.jsonl")
    made = method("embedded+factscore", Parts(judge=Scripted("True"), frozen=Frozen(tmp_path / "a.jsonl")))
    report = await evaluate(GENERATION, made)
    assert {vote.judge.split("(")[0] for vote in report.facts[0].verdict.votes} >= {"retrieve"}
    assert all(one.gatherer is None for one in made.verifier.members)


def lost(stage, error="SearchError"):
    fact = AtomicFact(id="g/0.0", text="Ana Brandt sold the mill in 1932.", sentence=0)
    sentence = Sentence(index=0, text=GENERATION.text[:33], start=0, end=33)
    other = Sentence(index=1, text=GENERATION.text[34:], start=34, end=len(GENERATION.text))
    failed = Failure(stage=stage, error=error, message="no such page")
    return Report(generation=GENERATION, sentences=(sentence, other), facts=(JudgedFact(fact=fact, failure=failed),))


@pytest.mark.parametrize(
    ("stage", "error"), [("gather", "TopicNotFound"), ("gather", "SearchError"), ("triage", "ModelError")]
)
async def test_what_could_not_be_looked_up_stays_unscored_whoever_judges(stage, error, tmp_path):
    freeze([lost(stage, error)], tmp_path / "a.jsonl")
    again = await evaluate(
        GENERATION, method("factscore", Parts(judge=Scripted("True"), frozen=Frozen(tmp_path / "a.jsonl")))
    )
    assert again.facts[0].failure == lost(stage, error).facts[0].failure


async def test_what_could_not_be_judged_is_judged_anew(tmp_path):
    freeze([lost("verify", "ParseError")], tmp_path / "a.jsonl")
    again = await evaluate(
        GENERATION, method("factscore", Parts(judge=Scripted("True"), frozen=Frozen(tmp_path / "a.jsonl")))
    )
    assert again.facts[0].verdict.mode == "no evidence"


async def test_another_text_and_an_unknown_generation_are_told_apart_from_evidence(tmp_path):
    freeze([await searched()], tmp_path / "a.jsonl")
    made = method("factscore", Parts(judge=Scripted("True"), frozen=Frozen(tmp_path / "a.jsonl")))
    other = await evaluate(Generation(id="g", text="Something else."), made)
    assert "had another text" in other.failure.message
    unknown = await evaluate(Generation(id="h", text="Something else."), made)
    assert "is not in a.jsonl" in unknown.failure.message


@pytest.mark.parametrize("defects", [("zero-facts-abstain",), ()])
async def test_an_abstention_stays_without_facts_whatever_the_rule(defects, tmp_path):
    made = Generation(id="g", text="Well, hmm.")
    first = Report(generation=made, abstained=True, abstention="no facts, as released")
    freeze([first], tmp_path / "a.jsonl")
    parts = Parts(judge=Scripted("True"), frozen=Frozen(tmp_path / "a.jsonl"), published=Published(defects=defects))
    again = await evaluate(made, method("factscore", parts))
    assert (again.abstained, again.facts, again.failure) == (bool(defects), (), None)


async def test_two_generations_with_one_id_are_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    with pytest.raises(UsageError, match="two reports are of a generation g"):
        freeze([await searched(), lost("gather")], path)
    assert not list(tmp_path.iterdir())
    freeze([await searched()], path)
    head, line = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + line + line)
    with pytest.raises(InputError, match=r"a\.jsonl:3: generation g is there twice"):
        Frozen(path)


async def test_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    freeze([await searched()], path)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace("1932", "1933"), encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl: not what was frozen"):
        Frozen(path)
    path.write_text(whole.replace('{"id"', '{"id', 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl:2"):
        Frozen(path)
    path.write_text('{"text": "an input"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="no frozen evidence"):
        Frozen(path)
    with pytest.raises(UsageError, match="No such file"):
        Frozen(tmp_path / "none")


@given(st.lists(st.text(max_size=40), max_size=4), st.text(max_size=40))
def test_any_evidence_comes_back_as_it_was(tmp_path_factory, texts, query):
    folder = tmp_path_factory.mktemp("frozen")
    passages = tuple(Passage(id=str(n), text=text) for n, text in enumerate(texts))
    evidence = Evidence(queries=(query,), passages=passages)
    verdict = Verdict(label=Label.SUPPORTED, judge="x")
    fact = JudgedFact(fact=AtomicFact(id="g/0.0", text="x", sentence=0), evidence=evidence, verdict=verdict)
    freeze([Report(generation=GENERATION, facts=(fact,))], folder / "a.jsonl")
    [found] = Frozen(folder / "a.jsonl")
    assert found.facts[0].evidence == evidence
    assert found.facts[0].sha256 == evidence_sha256(evidence)


@given(st.data())
def test_any_damage_is_told_or_harmless(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("frozen") / "a.jsonl"
    evidence = Evidence(queries=("q",), passages=(Passage(id="1", text="Ana Brandt, Turin."),))
    verdict = Verdict(label=Label.SUPPORTED, judge="x")
    fact = JudgedFact(fact=AtomicFact(id="g/0.0", text="x", sentence=0), evidence=evidence, verdict=verdict)
    freeze([Report(generation=GENERATION, facts=(fact,))], path)
    before = list(Frozen(path))
    whole = bytearray(path.read_bytes())
    start = data.draw(st.integers(0, len(whole) - 1))
    whole[start : start + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=6))
    path.write_bytes(whole)
    try:
        assert list(Frozen(path)) == before
    except UsageError as error:
        assert str(path) in str(error)


def test_on_the_command_line(tmp_path, capsys):
    items = tmp_path / "items.jsonl"
    rows = [
        {"id": f"g{n}", "text": f"Ana Brandt sold mill {n} in 1932.", "reference": f"She sold mill {n} in 1932."}
        for n in range(3)
    ]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert cli.run(["score", str(items), "--out", str(tmp_path / "a")]) == 0
    assert cli.run(["freeze", str(tmp_path / "a"), "--out", str(tmp_path / "e.jsonl"), "--json"]) == 0
    facts = sum(len(report.facts) for report in RunFolder(tmp_path / "a").reports())
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["facts"] == facts > 0
    bare = tmp_path / "bare.jsonl"
    bare.write_text(
        "".join(json.dumps({"id": row["id"], "text": row["text"]}) + "\n" for row in rows), encoding="utf-8"
    )
    frozen = ["--evidence", str(tmp_path / "e.jsonl")]
    assert cli.run(["score", str(bare), "--out", str(tmp_path / "b"), *frozen]) == 0
    first, second = (list(RunFolder(tmp_path / name).reports()) for name in "ab")
    assert [r.facts for r in first] == [r.facts for r in second]
    assert cli.run(["score", str(bare), "--out", str(tmp_path / "c"), *frozen, "-k", "3"]) == 2
    assert "--evidence brings its own" in capsys.readouterr().err
