"""Labelled generations as reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from veridical.errors import UsageError
from veridical.gold import gold_reports
from veridical.inputs import read
from veridical.metrics import parse
from veridical.scores import score, scores
from veridical.tally import tally
from veridical.types import Generation, GivenFact, Label

FILES = ("InstructGPT", "ChatGPT", "PerplexityAI")


def labelled(name, rule="irrelevant-in"):
    return gold_reports(read(str(shared("factscore_labeled") / f"{name}.jsonl")), rule=rule)


def only(generation, **more):
    (report,) = gold_reports([generation], **more)
    return report


@pytest.mark.parametrize(
    ("rule", "metric", "values"),
    [
        ("paper", "factscore(gamma=0)", (0.4258, 0.5828, 0.7162)),
        ("irrelevant-in", "factscore(gamma=0)", (0.4281, 0.5830, 0.8038)),
        ("irrelevant-out", "factscore(gamma=0)", (0.4739, 0.6233, 0.8402)),
        ("irrelevant-in", "precision", (0.4739, 0.6233, 0.8402)),
        ("paper", "precision", (0.4739, 0.6233, 0.8402)),
        ("paper", "response_rate", (0.9945, 0.8579, 0.9071)),
        ("paper", "facts", (26.2, 34.6, 41.5)),
    ],
)
def test_f13_f56_the_papers_figures(rule, metric, values):
    """FActScore Table 1 says 42.5 / 58.3 / 71.5, responding 99.5 / 85.8 / 90.7."""
    found = [score(labelled(name, rule), parse(metric), resamples=1).value for name in FILES]
    assert found == pytest.approx(values, abs=0.06 if metric == "facts" else 0.0001)


def test_f11_labels_are_all_there():
    counts = [[tally(report) for report in labelled(name)] for name in FILES]
    totals = [
        (sum(c.supported for c in of), sum(c.not_supported for c in of), sum(c.irrelevant for c in of)) for of in counts
    ]
    assert totals == [(2100, 1971, 655), (3194, 1692, 540), (4812, 756, 320)]
    assert [sum(c.unjudged for c in of) for of in counts] == [0, 0, 0]


@pytest.mark.parametrize("name", FILES)
def test_every_annotated_sentence_has_its_place(name):
    for report in labelled(name, "paper"):
        text = report.generation.text
        assert all(
            sentence.text and text[sentence.start : sentence.end] == sentence.text for sentence in report.sentences
        )
        assert [s.start for s in report.sentences] == sorted(s.start for s in report.sentences)
        assert [s.index for s in report.sentences] == list(range(len(report.sentences)))
        places = [judged.fact.sentence for judged in report.facts]
        assert places == sorted(places)


def test_marks_within_a_sentence_do_not_hide_it():
    generation = Generation(
        id="g",
        text="She won[1][2]. He lost [3].",
        facts=(
            GivenFact(text="She won.", sentence="She won.", label="supported"),
            GivenFact(text="He lost.", sentence="He lost.", label="not_supported"),
        ),
    )
    report = only(generation)
    assert [sentence.text for sentence in report.sentences] == ["She won[1][2].", "He lost [3]."]
    assert [judged.verdict.label for judged in report.facts] == [Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE]
    assert [judged.fact.id for judged in report.facts] == ["g/0.0", "g/1.0"]


def test_irrelevant_sentences_stand_at_their_place():
    generation = Generation(
        id="g",
        text="One. Two. Three.",
        facts=(
            GivenFact(text="a", sentence="One.", label="supported"),
            GivenFact(text="c", sentence="Three.", label="irrelevant"),
        ),
        metadata={"irrelevant_sentences": [{"text": "Two.", "facts": ["b", "bb"]}]},
    )
    assert [judged.fact.text for judged in only(generation).facts] == ["a", "c"]
    report = only(generation, rule="paper")
    assert [judged.fact.text for judged in report.facts] == ["a", "b", "bb", "c"]
    assert [judged.verdict.label for judged in report.facts][1:] == [Label.IRRELEVANT] * 3


def test_facts_that_name_no_sentence_go_to_the_likeliest():
    facts = (
        GivenFact(text="Ann was born in 1950.", label="supported"),
        GivenFact(text="Ann won.", label="contradicted"),
    )
    report = only(Generation(id="g", text="Ann won a prize. She was born in 1950.", facts=facts))
    assert [(judged.fact.text, judged.fact.sentence) for judged in report.facts] == [
        ("Ann won.", 0),
        ("Ann was born in 1950.", 1),
    ]


def test_what_has_no_label_is_unscored_and_counted():
    generations = [
        Generation(id="1", text="x", facts=(GivenFact(text="a", label="supported"), GivenFact(text="b"))),
        Generation(id="2", text="x"),
        Generation(id="3", text="x", facts=()),
        Generation(id="4", text="x", abstained=True),
    ]
    (found,) = scores(gold_reports(generations), [parse("factscore(gamma=0)")])
    assert (found.value, found.scored, found.abstained, found.no_claims) == (1.0, 1, 1, 1)
    assert (found.unscored, found.unjudged) == ({"gold:NoLabel": 1}, {"gold:NoLabel": 1})


def test_the_rule_is_named():
    generation = Generation(id="g", text="x", facts=())
    assert only(generation).signature != only(generation, rule="paper").signature
    with pytest.raises(UsageError, match="paper, irrelevant-in"):
        gold_reports([generation], rule="a")


@given(st.lists(st.sampled_from(["One.", "Two[1].", "Nowhere.", "[1]", ""]), max_size=5), st.text(max_size=30))
def test_any_sentence_gets_a_place_in_the_text(sentences, text):
    facts = tuple(GivenFact(text="a", sentence=sentence, label="supported") for sentence in sentences)
    report = only(Generation(id="g", text=f"One. Two[1]. {text}", facts=facts))
    whole = report.generation.text
    assert len(report.facts) == len(sentences)
    assert all(whole[s.start : s.end] == s.text for s in report.sentences)
