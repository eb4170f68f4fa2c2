"""Counts and F1@K of responses against people's, on FActScore's labelled biographies and by hand."""

import msgspec
import pytest

from data import shared
from veridical.agree import agree
from veridical.gold import gold_reports
from veridical.inputs import read
from veridical.stats import pearson
from veridical.types import AtomicFact, Failure, Generation, GivenFact, JudgedFact, Label, Report, Verdict

SYSTEMS = ("InstructGPT", "ChatGPT", "PerplexityAI")
SAFE_AGREES, LABELLED = 11_528, 16_011


def labelled(system):
    return list(read(str(shared("factscore_labeled") / f"{system}.jsonl")))


def named(found, system, what):
    return next(one for one in found if (one.system, one.what) == (system, what))


def test_a_run_of_people_s_own_labels_follows_them_and_words_have_694():
    runs = [(system, list(gold_reports(labelled(system)))) for system in SYSTEMS]
    [evaluator] = agree(runs, [(system, labelled(system)) for system in SYSTEMS], resamples=20).evaluators
    pooled = named(evaluator.responses, "all", "facts")
    assert pooled.pearson.n == 496
    assert pooled.pearson.value == pytest.approx(1.0)
    found = {f"{size} {how}": one.value for size, both in pooled.trivial.items() for how, one in both.items()}
    assert found == pytest.approx(
        {"words pearson": 0.694, "words spearman": 0.756, "sentences pearson": 0.669, "sentences spearman": 0.708},
        abs=5e-4,
    )
    for what in ("supported", "not_supported", "irrelevant", "f1@64"):
        assert named(evaluator.responses, "all", what).pearson.value == pytest.approx(1.0)
    assert named(evaluator.responses, "ChatGPT", "supported").people == pytest.approx(3194 / 157)


def test_words_of_the_labelled_sentences_have_807():
    """More than SAFE's published .798, and not the same as the words of the whole responses."""
    people, words = [], []
    for system in SYSTEMS:
        for one in labelled(system):
            if one.facts:
                people.append(len(one.facts))
                words.append(sum(len(text.split()) for text in {fact.sentence for fact in one.facts}))
    assert pearson(words, people, resamples=1).value == pytest.approx(0.807, abs=5e-4)


def test_f17_safe_s_agreement_with_people():
    """The count of facts on which SAFE and people agree is the paper's; the released code does not compute it."""
    assert round(100 * SAFE_AGREES / LABELLED, 1) == 72.0
    texts = [{fact.text.strip() for fact in one.facts} for name in SYSTEMS for one in labelled(name) if one.facts]
    assert sum(map(len, texts)) == LABELLED


def generation(number, letters):
    words = {"S": "supported", "N": "not_supported", "I": "irrelevant"}
    facts = tuple(GivenFact(text=f"Fact {n}.", label=words[letter]) for n, letter in enumerate(letters))
    return Generation(id=str(number), prompt=f"Question {number}?", text="word " * len(letters), facts=facts)


def judged(one, letters):
    labels = {"S": Label.SUPPORTED, "N": Label.NOT_ENOUGH_EVIDENCE, "I": Label.IRRELEVANT}
    facts = tuple(
        JudgedFact(fact=AtomicFact(id=f"{one.id}/0.{n}", text=f"Fact {n}.", sentence=0),
                   verdict=Verdict(label=labels[letter], judge="j"))
        for n, letter in enumerate(letters)
    )  # fmt: skip
    return Report(generation=msgspec.structs.replace(one, facts=None), facts=facts)


def test_by_hand():
    people = ["SSN", "SNNN", "S", "SSSSSI"]
    run = ["SSS", "SSNN", "N", "SSSSSI"]
    generations = [generation(n, letters) for n, letters in enumerate(people)]
    reports = [judged(one, letters) for one, letters in zip(generations, run, strict=True)]
    [evaluator] = agree([("run", reports)], [("run", generations)], k=2, resamples=20).evaluators
    supported = named(evaluator.responses, "run", "supported")
    assert (supported.people, supported.run) == (9 / 4, 10 / 4)
    assert supported.pearson.value == pytest.approx(10.5 / (10.75 * 13) ** 0.5)
    assert named(evaluator.responses, "run", "facts").pearson.value == pytest.approx(1.0)
    assert named(evaluator.responses, "run", "facts").trivial["words"]["pearson"].value == pytest.approx(1.0)
    assert named(evaluator.responses, "run", "f1@2").people < 1


def test_what_the_run_abstained_from_is_left_out_and_told():
    generations = [generation(n, "SN") for n in range(4)]
    reports = [judged(one, "SN") for one in generations[:3]]
    reports.append(Report(generation=msgspec.structs.replace(generations[3], facts=None), abstained=True))
    [evaluator] = agree([("run", reports)], [("run", generations)], resamples=20).evaluators
    found = named(evaluator.responses, "run", "facts")
    assert found.pearson.n == 3
    assert found.pearson.value is None  # all have two facts: undefined, not 0
    assert found.left_out == {"abstained in the run": 1}
    assert found.unjudged == 0


def test_unjudged_facts_and_failed_responses_are_told_and_stay_out_of_the_counts():
    generations = [generation(n, "S" * (n + 1) + "N") for n in range(5)]
    reports = [judged(one, "S" * (n + 1) + "N") for n, one in enumerate(generations)]
    lost = Failure(stage="verify", error="ParseError", message="no verdict in it")
    first = reports[0].facts[0]
    reports[0] = msgspec.structs.replace(
        reports[0], facts=(JudgedFact(fact=first.fact, failure=lost), *reports[0].facts[1:])
    )
    reports[1] = Report(
        generation=msgspec.structs.replace(generations[1], facts=None),
        failure=Failure(stage="decompose", error="ModelError", message="gone"),
    )
    [evaluator] = agree([("run", reports)], [("run", generations)], resamples=20).evaluators
    found = {one.what: one for one in evaluator.responses}
    assert {one.left_out == {"decompose:ModelError": 1} for one in found.values()} == {True}
    assert {one.unjudged for one in found.values()} == {1}
    assert (found["facts"].run, found["facts"].people) == (17 / 4, 17 / 4)
    assert (found["supported"].run, found["supported"].people) == (12 / 4, 13 / 4)


def test_answers_of_several_systems_to_one_prompt_are_resampled_together():
    """Copies of the same responses under other systems' names make no interval narrower."""
    generations = [generation(n, "S" * (1 + n * 7 % 5) + "N" * (n % 3)) for n in range(30)]
    reports = [judged(one, "S" * (1 + n * 3 % 5) + "N" * (n % 3)) for n, one in enumerate(generations)]

    def under(system):
        named = [msgspec.structs.replace(one, system=system) for one in generations]
        pairs = zip(reports, named, strict=True)
        ours = [msgspec.structs.replace(r, generation=msgspec.structs.replace(g, facts=None)) for r, g in pairs]
        return (system, ours), (system, named)

    runs, labels = zip(*map(under, "abc"), strict=True)
    [evaluator] = agree(runs, labels, resamples=500).evaluators
    one, pooled = named(evaluator.responses, "a", "supported"), named(evaluator.responses, "all", "supported")
    assert (one.pearson.n, pooled.pearson.n) == (30, 90)
    assert pooled.pearson.value == pytest.approx(one.pearson.value)
    assert (pooled.pearson.low, pooled.pearson.high) == pytest.approx((one.pearson.low, one.pearson.high))
