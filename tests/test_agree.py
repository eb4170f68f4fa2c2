"""Runs against people's labels."""

import asyncio
import random

import pytest
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, f1_score

from data import shared
from veridical.agree import ALL, FIGURES, Counts, across, agree, error_rate, ranking
from veridical.agree.facts import counted
from veridical.agree.match import Row
from veridical.decompose import GivenFacts
from veridical.errors import UsageError
from veridical.inputs import read
from veridical.text.sentences import split
from veridical.types import (
    AtomicFact,
    Failure,
    Generation,
    GivenFact,
    JudgedFact,
    Label,
    Report,
    Sentence,
    SentenceFailure,
    Verdict,
)

SYSTEMS = ("InstructGPT", "ChatGPT", "PerplexityAI")
GOLD = {"S": "supported", "N": "not_supported", "I": "irrelevant", "?": None}
SAID = {"S": Label.SUPPORTED, "N": Label.CONTRADICTED, "I": Label.IRRELEVANT}
FAILED = Failure(stage="verify", error="ParseError", message="")


def labels(*letters, system=None, texts=None):
    """A labelled response each: a letter a fact, "-" for an abstention."""
    return [response(facts, n, system=system, text=(texts or {}).get(n)) for n, facts in enumerate(letters)]


def response(facts, n, *, system=None, text=None, **more):
    return Generation(
        id=str(n),
        text=f"answer {n}" if text is None else text,
        prompt=f"prompt {n}",
        system=system,
        abstained=True if facts == "-" else None,
        facts=None
        if facts == "-"
        else tuple(GivenFact(text=f"Fact {n} {k}.", label=GOLD[letter]) for k, letter in enumerate(facts)),
        **more,
    )


def judged(text, letter, id, gold=None, repeats=0):
    fact = AtomicFact(id=id, text=text, sentence=0, gold=gold, repeats=repeats)
    if letter == "U":
        return JudgedFact(fact=fact, failure=FAILED)
    return JudgedFact(fact=fact, verdict=Verdict(label=SAID[letter], judge="test"))


def run(generations, *letters, signature="m", gold=True):
    """Reports on the labelled facts with a verdict a letter; "-" abstains, "!" fails."""
    return [report(g, facts, signature, gold=gold) for g, facts in zip(generations, letters, strict=True)]


def report(generation, letters, signature="m", *, gold=True):
    if letters in ("-", "!"):
        failure = Failure(stage="decompose", error="ModelError", message="") if letters == "!" else None
        return Report(generation=generation, abstained=letters == "-", failure=failure, signature=signature)
    facts = [
        judged(fact.text, letter, f"{generation.id}/0.{k}", fact.label if gold else None)
        for k, (fact, letter) in enumerate(zip(generation.facts or (), letters, strict=True))
    ]
    return Report(generation=generation, facts=tuple(facts), signature=signature)


def only(found):
    (evaluator,) = found.evaluators
    return evaluator


@pytest.fixture(scope="module")
def biographies():
    folder = shared("factscore_labeled")
    return {name: list(read(str(folder / f"{name}.jsonl"))) for name in SYSTEMS}


def of(biographies):
    return list(biographies.items())


def points(values, digits=2):
    return {name: round(100 * value, digits) for name, value in values.items()}


# --- people ----------------------------------------------------------------------------------------------------------


def test_f11_f12_counts_of_the_labelled_files(biographies):
    people = {human.system: human for human in agree(labels=of(biographies)).people}
    assert [people[name].facts for name in SYSTEMS] == [4726, 5426, 5888]
    assert [people[name].score.abstained for name in SYSTEMS] == [1, 26, 17]
    assert sum(human.facts for human in people.values()) == 16_040
    assert sum(human.unique for human in people.values()) == 16_011
    totals = [
        sum(human.labels[label] for human in people.values()) for label in ("supported", "not_supported", "irrelevant")
    ]
    assert totals == [10_106, 4_419, 1_515]
    assert [people[name].irrelevant_sentences for name in SYSTEMS] == [10, 2, 220]
    inside = agree(labels=of(biographies), rule="irrelevant-in").people
    assert sum(human.score.scored for human in inside) == 496


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("paper", (42.58, 58.28, 71.62)),
        ("irrelevant-in", (42.81, 58.30, 80.38)),
        ("irrelevant-out", (47.39, 62.33, 84.02)),
    ],
)
def test_f13_human_factscore_by_rule(biographies, rule, values):
    found = agree(labels=of(biographies), rule=rule)
    assert points({human.system: human.score.value for human in found.people}) == dict(
        zip(SYSTEMS, values, strict=True)
    )
    for human in found.people:
        assert human.rule == rule and human.score.rule.startswith(found.rule_words)
        assert human.score.low < human.score.value < human.score.high < human.score.low + 0.1


def test_table_1_of_the_paper(biographies):
    people = {human.system: human for human in agree(labels=of(biographies)).people}
    assert points({name: human.response_rate for name, human in people.items()}, 1) == dict(
        zip(SYSTEMS, (99.5, 85.8, 90.7), strict=True)
    )
    assert [round(people[name].facts_per_response, 1) for name in SYSTEMS] == [26.2, 34.6, 41.5]
    table = {"supported": (42.3, 50.0, 64.9), "not_supported": (43.2, 27.5, 11.1), "irrelevant": (14.0, 8.3, 14.8)}
    for label, row in table.items():
        for name, percent in zip(SYSTEMS, row, strict=True):
            assert 100 * people[name].shares[label] == pytest.approx(percent, abs=0.15)


def test_f14_trivial_judges_fact_by_fact(biographies):
    found = agree(labels=of(biographies)).trivial_facts

    def row(judge, figure):
        return [None if (v := found[name][judge][figure]) is None else round(100 * v, 2) for name in SYSTEMS]

    assert row("always not supported", "f1_micro") == [71.44, 58.29, 30.90]
    assert row("always supported", "f1_micro") == [0, 0, 0]
    assert row("always not supported", "macro_f1") == [35.72, 29.15, 15.45]
    assert row("always supported", "macro_f1") == [30.76, 37.05, 44.97]
    assert row("always supported", "precision") == [None] * 3
    for got, drawn in zip(row("random .5", "f1_micro"), (52.2, 45.0, 25.7), strict=True):
        assert got == pytest.approx(drawn, abs=1.2)  # the paper drew once, this is the expectation
    assert row("random .5", "balanced_accuracy") == [50.0] * 3


def test_table_3_trivial_judges_score_by_score(biographies):
    found = {trivial.name: trivial for trivial in agree(labels=of(biographies)).trivial_scores}
    table = {
        "always supported": (57.5, 41.7, 28.5),
        "always not supported": (42.5, 58.3, 71.5),
        "random .5": (7.5, 8.3, 21.5),
    }
    for name, row in table.items():
        for system, points_off in zip(SYSTEMS, row, strict=True):
            assert found[name].error_rates[system] == pytest.approx(points_off, abs=0.15)
        assert found[name].kept is False


def test_labels_of_sentences_count_a_half_for_a_minor_inaccuracy():
    marks = ["accurate", "minor_inaccurate", "major_inaccurate", "accurate"]
    one = Generation(id="1", text="a", metadata={"annotation": marks})
    (human,) = agree(labels=[("bios", [one])]).people
    assert (human.rule, human.score.value, human.facts, human.shares) == ("sentences", 0.625, 0, {})
    assert "minor inaccuracy 0.5" in human.score.rule


def test_wikibio_as_it_is_read():
    path = shared("wikibio_gpt3") / "first120.jsonl"
    rows = list(read(str(path)))
    people = [g.metadata["annotation"] for g in rows]
    value = sum(
        sum({"accurate": 1, "minor_inaccurate": 0.5, "major_inaccurate": 0}[x] for x in marks) / len(marks)
        for marks in people
    ) / len(people)
    found = agree(labels=[("first120", rows)])
    assert found.people[0].score.value == pytest.approx(value)
    reports = [Report(generation=g, facts=(judged("X.", "S", f"{g.id}/0.0"),), signature="m") for g in rows]
    evaluator = only(agree([("first120", reports)], [("first120", rows)]))
    assert evaluator.facts == () and evaluator.gaps[0].n == 120
    assert evaluator.gaps[0].error_rate == pytest.approx(100 * (1 - value))
    assert evaluator.gaps[0].pearson.value is None
    assert any("no facts" in note for note in evaluator.notes)


def test_what_nobody_labelled_is_counted_apart():
    rows = [*labels("SN", "?S", "-"), Generation(id="x", text="x"), response("??", 9)]
    (human,) = agree(labels=[("a", rows)]).people
    assert (human.score.n, human.score.abstained, human.not_labelled, human.unlabelled) == (3, 1, 2, 1)
    assert human.score.value == 0.75
    with pytest.raises(UsageError, match="no people's labels"):
        agree(labels=[("a", [Generation(id="x", text="x"), *labels("-")])])


def test_an_answer_that_claims_nothing_has_no_score():
    (human,) = agree(labels=[("a", labels("", "S", "I"))], rule="irrelevant-out").people
    assert (human.score.value, human.score.scored, human.score.no_claims) == (1.0, 1, 2)


def test_an_unknown_rule_is_refused():
    with pytest.raises(UsageError, match="irrelevant-out"):
        agree(labels=[("a", labels("S"))], rule="strict")


# --- rankings and estimators -----------------------------------------------------------------------------------------

HUMAN = dict(zip(SYSTEMS, (0.425, 0.583, 0.715), strict=True))


def test_f15_error_rate_and_ranking():
    assert error_rate(0.411, 0.425) == pytest.approx(1.4)
    kept = ranking(HUMAN, dict(zip(SYSTEMS, (0.411, 0.587, 0.616), strict=True)))
    assert (kept.kept, kept.pairs_kept, kept.human) == (True, 3, ("PerplexityAI", "ChatGPT", "InstructGPT"))
    lost = ranking(HUMAN, dict(zip(SYSTEMS, (0.566, 0.754, 0.716), strict=True)))
    assert (lost.kept, lost.pairs_kept, lost.estimated) == (False, 2, ("ChatGPT", "PerplexityAI", "InstructGPT"))


def test_ties_in_rankings():
    assert ranking(HUMAN, dict.fromkeys(HUMAN, 0.5)).kept is False
    tied = ranking({"a": 0.5, "b": 0.5, "c": 0.7}, {"a": 0.1, "b": 0.9, "c": 0.95})
    assert (tied.kept, tied.pairs) == (True, 2)
    alone = ranking({"a": 0.5}, {"a": 0.4})
    assert (alone.kept, alone.pairs, alone.pearson) == (None, 0, None)


README = {  # FActScore's README (github.com/shmsw25/FActScore, f28272d): retrieval+ChatGPT, retrieval+LLAMA+NP
    "GPT-4": (73.1, 59.9),
    "ChatGPT": (71.6, 60.4),
    "Alpaca 65B": (55.6, 46.3),
    "InstructGPT": (52.8, 41.7),
    "Alpaca 13B": (47.7, 40.3),
    "Vicuna 13B": (46.6, 40.7),
    "Alpaca 7B": (39.7, 36.5),
    "Vicuna 7B": (38.9, 36.9),
    "MPT Chat 7B": (30.1, 27.9),
    "Oasst Pythia 12B": (25.1, 20.8),
    "Dolly 12B": (21.7, 17.1),
    "StableLM 7B": (17.3, 16.3),
}


def test_f16_two_estimators_over_the_systems_of_the_readme():
    a, b = ({name: pair[side] for name, pair in README.items()} for side in (0, 1))
    assert across(a, b) == pytest.approx(0.9915, abs=5e-5)
    assert across({"a": 1, "b": 2}, {"a": 1, "b": 2}) is None


# --- fact by fact ----------------------------------------------------------------------------------------------------


def test_f17_agreement_of_safe_with_the_annotators():
    letters = "S" * 11_528 + "N" * (16_011 - 11_528)
    gold = labels("S" * 16_011)
    (facts,) = only(agree([("a", run(gold, letters))], [("a", gold)])).facts
    assert (facts.scored, round(100 * facts.agreement.value, 1)) == (16_011, 72.0)


def test_agreement_is_of_three_labels_and_f1_of_two():
    gold = labels("SNI", "INS")
    (facts,) = only(agree([("a", run(gold, "SIN", "INN"))], [("a", gold)])).facts
    assert facts.agreement.value == 0.5
    assert facts.figures["accuracy"].value == pytest.approx(5 / 6)
    assert facts.confusion["irrelevant"] == {"supported": 0, "not_supported": 1, "irrelevant": 1, "unscored": 0}
    assert facts.confusion["not_supported"]["irrelevant"] == 1


def test_figures_are_those_of_scikit_learn():
    draw = random.Random(0)
    rows = [
        Row(draw.choice(["supported", "not_supported"]), draw.choice(["supported"] * 2 + ["irrelevant"]))
        for _ in range(300)
    ]
    gold, said = (
        [side != "supported" for side in sides] for sides in zip(*((r.gold, r.verdict) for r in rows), strict=True)
    )
    counts = counted(rows)
    assert FIGURES["f1_micro"](counts) == pytest.approx(f1_score(gold, said))
    assert FIGURES["macro_f1"](counts) == pytest.approx(f1_score(gold, said, average="macro"))
    assert FIGURES["balanced_accuracy"](counts) == pytest.approx(balanced_accuracy_score(gold, said))
    assert FIGURES["kappa"](counts) == pytest.approx(cohen_kappa_score(gold, said))


def test_m2_one_label_only_is_undefined_with_the_agreement_beside_it():
    gold = labels("SSSSS")
    (facts,) = only(agree([("a", run(gold, "SSSSS"))], [("a", gold)])).facts
    values = {name: figure.value for name, figure in facts.figures.items()}
    assert values == dict.fromkeys(FIGURES) | {"accuracy": 1.0}
    assert facts.agreement.value == 1.0
    assert facts.figures["accuracy"].low is None


def test_nothing_found_is_zero_not_undefined():
    counts = Counts(ns=3, ss=5)
    assert (FIGURES["f1_micro"](counts), FIGURES["precision"](counts), FIGURES["recall"](counts)) == (0.0, None, 0.0)
    assert all(of(Counts()) is None for of in FIGURES.values())


def test_unscored_facts_are_counted_and_bounded():
    gold = labels("SNNS", "NS")
    (facts,) = only(agree([("a", run(gold, "SNUU", "!"))], [("a", gold)])).facts
    assert (facts.facts, facts.scored, facts.coverage) == (6, 2, pytest.approx(1 / 3))
    assert facts.unscored == {"decompose:ModelError": 2, "verify:ParseError": 2}
    accuracy, f1 = facts.figures["accuracy"], facts.figures["f1_micro"]
    assert (accuracy.value, accuracy.if_wrong, accuracy.if_right) == (1.0, pytest.approx(2 / 6), 1.0)
    assert (f1.value, f1.if_wrong, f1.if_right) == (1.0, pytest.approx(2 / (2 + 2 + 2)), 1.0)
    assert facts.trivial["always not supported"]["accuracy"] == 0.5  # on the two facts with a verdict


def test_the_bootstrap_draws_prompts_and_keeps_the_systems_together():
    gold = {name: labels(*["SN" * 5] * 30, system=name) for name in "ab"}
    draw = random.Random(1)
    wrong = ["NS" * 5 if draw.random() < 0.3 else "SN" * 5 for _ in range(30)]
    one = [("r", [r for rows in gold.values() for r in run(rows, *wrong)])]
    a, b, pooled = only(agree(one, list(gold.items()))).facts
    assert (pooled.system, pooled.prompts, pooled.responses) == (ALL, 30, 60)
    assert pooled.figures["accuracy"] == a.figures["accuracy"] == b.figures["accuracy"]
    assert pooled.figures["accuracy"].high - pooled.figures["accuracy"].low > 0.2  # of responses all right or all wrong
    assert agree(one, list(gold.items())) == agree(one, list(gold.items()))
    other = agree(one, list(gold.items()), seed=1, resamples=99)
    assert only(other).facts[0].figures["f1_micro"] != a.figures["f1_micro"]


@pytest.fixture(scope="module")
def some(biographies):
    """All of one file, and of another the part with many irrelevant sentences."""
    return [("InstructGPT", biographies["InstructGPT"]), ("PerplexityAI", biographies["PerplexityAI"][:50])]


@pytest.fixture(scope="module")
def perfect(some):
    """Runs that judge the given facts as the people did, decomposed and merged as `--facts given` does."""
    return [(name, [truthful(generation) for generation in rows]) for name, rows in some]


def truthful(generation):
    if generation.abstained:
        return Report(generation=generation, abstained=True, signature="m")
    found = asyncio.run(GivenFacts().decompose(generation, split(generation.text)))
    letter = {"supported": "S", "not_supported": "N", "irrelevant": "I"}
    facts = [
        JudgedFact(fact=fact, verdict=Verdict(label=SAID[letter[fact.gold]], judge="test")) for fact in found.facts
    ]
    return Report(generation=generation, facts=tuple(facts), signature="m")


@pytest.mark.parametrize("rule", ["paper", "irrelevant-in", "irrelevant-out"])
def test_a_judge_that_is_always_right_has_no_error_under_any_rule(some, perfect, rule):
    found = agree(perfect, some, rule=rule, resamples=200)
    evaluator, people = only(found), {human.system: human for human in found.people}
    for gap in evaluator.gaps:
        assert gap.error_rate == pytest.approx(0, abs=1e-9) and gap.n == people[gap.system].score.scored
        assert gap.human == pytest.approx(people[gap.system].score.value) and gap.pearson.value == pytest.approx(1)
    assert evaluator.ranking.kept
    pooled, merged = evaluator.facts[-1], sum(len(report.facts) for _, reports in perfect for report in reports)
    assert (pooled.system, pooled.facts) == (ALL, sum(human.facts for human in found.people))
    assert pooled.scored == pooled.facts > merged  # copies that were merged are found again
    assert pooled.figures["f1_micro"].value == pooled.agreement.value == 1.0


def test_labels_that_a_run_carries_are_enough(some, perfect):
    assert agree(perfect, resamples=50) == agree(perfect, some, resamples=50)


# --- matching --------------------------------------------------------------------------------------------------------


def test_responses_are_matched_by_text_and_prompt_and_the_others_counted():
    gold = labels("S", "N", "S", "-", "S")
    reports = run(gold, "S", "N", "S", "-", "S")
    other = Report(generation=response("S", 2, text="something else"), facts=reports[2].facts, signature="m")
    stranger = report(response("S", 77), "S")
    (gap,) = only(agree([("a", [*reports[:2], other, reports[3], stranger])], [("a", gold)])).gaps
    assert gap.n == 2
    assert gap.left_out == {
        "abstained for the people and in the run": 1,
        "another answer to the same prompt": 1,
        "no labels for it": 1,
        "not in the run": 1,
    }


def test_several_answers_to_one_prompt_keep_their_own_labels():
    gold = [
        Generation(id=f"{n}", text=f"take {n}", prompt="p", topic="T", facts=(GivenFact(text="F.", label=label),))
        for n, label in enumerate(["supported", "not_supported"])
    ]
    (facts,) = only(agree([("a", run(gold[::-1], "N", "S"))], [("a", gold)])).facts
    assert (facts.figures["accuracy"].value, facts.prompts) == (1.0, 1)
    assert facts.figures["accuracy"].low is None


def test_equal_texts_go_to_their_own_prompts():
    gold = labels("S", "N", texts={0: "I do not know.", 1: "I do not know."})
    (facts,) = only(agree([("a", run(gold, "S", "N")[::-1])], [("a", gold)])).facts
    assert facts.figures["accuracy"].value == 1.0


def test_abstentions_on_one_side_only():
    gold = labels("-", "SN", "S", "")
    reports = [
        Report(generation=gold[0], facts=(judged("X.", "S", "0/0.0"),), signature="m"),
        *run(gold[1:], "-", "S", ""),
    ]
    evaluator = only(agree([("a", reports)], [("a", gold)]))
    assert evaluator.gaps[0].left_out == {
        "abstained for the people, not in the run": 1,
        "abstained in the run": 1,
        "no claims for the people": 1,
    }
    assert evaluator.facts[0].unscored == {"abstained in the run": 2}


def test_facts_with_another_wording_are_not_compared():
    gold = labels("SN")
    (good,) = run(gold, "SN")
    bad = JudgedFact(
        fact=AtomicFact(id="0/0.1", text="Something else.", sentence=0, gold="not_supported"),
        verdict=good.facts[1].verdict,
    )
    changed = Report(generation=good.generation, facts=(good.facts[0], bad), signature="m")
    (facts,) = only(agree([("a", [changed])], [("a", gold)])).facts
    assert (facts.facts, facts.scored, facts.run_facts, facts.run_facts_found) == (2, 1, 2, 1)
    assert facts.unscored == {"not among the run's facts": 1}


def test_equal_wordings_are_matched_in_order():
    one = Generation(
        id="0",
        text="t",
        prompt="p",
        facts=(GivenFact(text="He won.", label="supported"), GivenFact(text="He won.", label="not_supported")),
    )
    facts = (judged("He won.", "S", "0/0.0"), judged("He won.", "N", "0/0.1"))
    found = only(agree([("a", [Report(generation=one, facts=facts, signature="m")])], [("a", [one])], match="given"))
    assert found.facts[0].figures["accuracy"].value == 1.0
    labelled = tuple(judged("He won.", s, f"0/0.{k}", GOLD[s]) for k, s in enumerate("NS"))
    found = only(agree([("a", [Report(generation=one, facts=labelled, signature="m")])], [("a", [one])]))
    assert found.facts[0].figures["accuracy"].value == 1.0


def test_a_run_with_facts_of_its_own_is_compared_by_score_only():
    gold = labels("SN", "SS")
    own = tuple(
        Report(
            generation=g,
            facts=(judged(f"the fact {g.id} 0", "S", f"{g.id}/0.0"), judged("Another.", "N", f"{g.id}/0.1")),
            signature="m",
        )
        for g in gold
    )
    evaluator = only(agree([("a", own)], [("a", gold)]))
    assert evaluator.facts == ()
    assert (evaluator.gaps[0].human, evaluator.gaps[0].estimated, evaluator.gaps[0].gap) == (0.75, 0.5, -25.0)
    assert evaluator.gaps[0].mark == "-"
    assert any("facts of its own (2 of its 4" in note for note in evaluator.notes)
    by_content = only(agree([("a", own)], [("a", gold)], match="content"))
    (facts,) = by_content.facts
    assert (facts.facts, facts.scored, facts.run_facts, facts.run_facts_found) == (4, 2, 4, 2)
    assert by_content.gaps == evaluator.gaps
    assert any("matched by content: 2 of the run's 4" in note for note in by_content.notes)
    with pytest.raises(UsageError, match="auto, given, content, segments"):
        agree([("a", own)], [("a", gold)], match="fuzzy")


def segments(*letters):
    """A labelled answer of segments, and reports' sentences for it."""
    texts = [f"Segment number {n} says a thing." for n in range(len(letters))]
    facts = [
        GivenFact(text=text, label=GOLD[letter], sentence=text) for text, letter in zip(texts, letters, strict=True)
    ]
    generation = Generation(id="0", text=" ".join(texts), prompt="p", facts=tuple(facts))
    starts = [generation.text.index(text) for text in texts]
    sentences = [
        Sentence(index=n, text=text, start=start, end=start + len(text))
        for n, (text, start) in enumerate(zip(texts, starts, strict=True))
    ]
    return generation, tuple(sentences)


def claims(*letters):
    """Claims of the run: a string of letters a sentence."""
    return tuple(
        JudgedFact(fact=AtomicFact(id=f"0/{n}.{k}", text=f"Claim {n} {k}.", sentence=n), failure=FAILED)
        if letter == "U"
        else JudgedFact(
            fact=AtomicFact(id=f"0/{n}.{k}", text=f"Claim {n} {k}.", sentence=n),
            verdict=Verdict(label=SAID[letter], judge="test"),
        )
        for n, row in enumerate(letters)
        for k, letter in enumerate(row)
    )


def test_m1_claims_are_rolled_up_to_the_segments_that_people_labelled():
    generation, sentences = segments("S", "N", "S")
    made = Report(generation=generation, sentences=sentences, facts=claims("SS", "N", ""), signature="m")
    evaluator = only(agree([("a", [made])], [("a", [generation])]))
    (facts,) = evaluator.facts
    assert (evaluator.compared, facts.facts, facts.scored, facts.assumed) == ("segments", 3, 3, 1)
    assert facts.figures["f1_micro"].value == facts.figures["balanced_accuracy"].value == 1.0
    assert (facts.run_facts, facts.run_facts_found) == (3, 3)
    assert evaluator.gaps[0].error_rate == 0
    assert any("claims nothing (1 of 3)" in note for note in evaluator.notes)


def test_m1_segments_with_unscored_irrelevant_and_missing_claims():
    generation, sentences = segments("S", "N", "N", "S", "I")
    broken = (SentenceFailure(sentence=3, failure=Failure(stage="decompose", error="ParseError", message="")),)
    made = Report(
        generation=generation,
        sentences=sentences,
        facts=claims("SU", "NU", "I", "S", "I"),
        failures=broken,
        signature="m",
    )
    (facts,) = only(agree([("a", [made])], [("a", [generation])])).facts
    assert facts.unscored == {"decompose:ParseError": 1, "verify:ParseError": 1}
    assert facts.confusion["not_supported"] == {"supported": 0, "not_supported": 1, "irrelevant": 1, "unscored": 0}
    assert facts.confusion["irrelevant"]["irrelevant"] == 1
    moved = Generation(id="0", text=generation.text, prompt="p", facts=(GivenFact(text="Gone!", label="supported"),))
    (facts,) = only(agree([("a", [made])], [("a", [moved])], match="segments")).facts
    assert facts.unscored == {"its place in the answer was not found": 1}


def test_a_claim_that_spans_segments_belongs_to_the_one_it_shares_most_with():
    generation, sentences = segments("S", "N")
    whole = Sentence(index=0, text=generation.text, start=0, end=len(generation.text))
    claim = AtomicFact(id="0/0.0", text="X.", sentence=0, span=(25, len(generation.text)))
    judged = JudgedFact(fact=claim, verdict=Verdict(label=Label.CONTRADICTED, judge="test"))
    made = Report(generation=generation, sentences=(whole,), facts=(judged,), signature="m")
    (facts,) = only(agree([("a", [made])], [("a", [generation])])).facts
    assert facts.figures["accuracy"].value == 1.0 and sentences[1].start > 25


# --- systems and runs ------------------------------------------------------------------------------------------------


def test_systems_are_matched_by_name_unless_there_is_but_one():
    gold = labels("S")
    assert only(agree([("folder", run(gold, "S"))], [("file", gold)])).gaps[0].system == "file"
    with pytest.raises(UsageError, match="labels are of a, b, the runs of c"):
        agree([("c", run(gold, "S"))], [("a", gold), ("b", gold)])
    named = labels("S", system="x")
    assert (
        only(agree([("folder", run(named, "S"))], [("file", [*named, *labels("N", system="y")])])).gaps[0].system == "x"
    )


def test_two_methods_on_one_system_stand_apart():
    gold = labels("SN", "SN")
    runs = [("a", run(gold, "SN", "SN", signature="good")), ("a", run(gold, "NS", "NS", signature="bad"))]
    found = {e.name: e.facts[0].figures["accuracy"].value for e in agree(runs, [("a", gold)]).evaluators}
    assert found == {"good": 1.0, "bad": 0.0}
    with pytest.raises(UsageError, match="two runs by one method"):
        agree([runs[0], ("a", run(gold, "SN", "SN", signature="good"))], [("a", gold)])


def test_one_method_may_have_a_signature_a_system():
    gold = {name: labels(facts, system=name) for name, facts in (("a", "SS"), ("b", "SN"))}
    runs = [(name, run(rows, "SN", signature=name)) for name, rows in gold.items()]
    evaluator = only(agree(runs, list(gold.items())))
    assert evaluator.name == "a | b" and evaluator.ranking.kept is False
    assert any("different methods" in note for note in evaluator.notes)


def test_a_gap_over_five_points_is_marked_and_its_interval_paired():
    gold = labels(*["SSNN"] * 25)
    reports = run(gold, *["SSSN" if n % 2 else "SSNN" for n in range(25)])
    (gap,) = only(agree([("a", reports)], [("a", gold)])).gaps
    assert gap.mark == "+" and gap.gap == gap.error_rate == pytest.approx(12.0)
    assert 5 < gap.low < 12 < gap.high < 20
    assert set(gap.trivial) == {"length", "facts"}
    assert gap.spearman.value is None  # people's scores do not vary


def test_bounds_of_an_estimate_with_unscored_facts():
    gold = labels("SSNN")
    (gap,) = only(agree([("a", run(gold, "SUNU"))], [("a", gold)])).gaps
    assert (gap.estimated, gap.estimated_bounds) == (0.5, (0.25, 0.75))
    (gap,) = only(agree([("a", run(gold, "UUUU"))], [("a", gold)])).gaps
    assert (gap.n, gap.left_out, gap.error_rate) == (0, {"verify:ParseError": 1}, None)


def test_the_warning_about_error_rates_is_given_once():
    gold = labels("SN")
    runs = [("a", run(gold, "SN", signature=s)) for s in ("x", "y")]
    found = agree(runs, [("a", gold)])
    assert len([note for note in found.notes if "cancel" in note]) == 1
