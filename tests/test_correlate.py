"""Counts and F1@K of responses against people's, on FActScore's labelled biographies and by hand."""

import msgspec
import pytest

from data import shared
from veridical.agree import agree
from veridical.gold import gold_reports
from veridical.inputs import read
from veridical.stats import pearson
from veridical.types import AtomicFact, Generation, GivenFact, JudgedFact, Label, Report, Verdict

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
    assert pooled.words.value == pytest.approx(0.694, abs=5e-4)
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
    assert named(evaluator.responses, "run", "facts").words.value == pytest.approx(1.0)
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
