"""Analyses of facts: along the response, with and without citations; overview of responses."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from reports import report
from veridical.analysis import citations, overview, positions
from veridical.analysis.citations import cited_sentences
from veridical.analysis.position import places
from veridical.analysis.shares import estimate, rule_of, slope
from veridical.errors import UsageError
from veridical.gold import gold_reports
from veridical.inputs import read
from veridical.metrics import parse
from veridical.scores import Policy
from veridical.text.abstention import strip_citations
from veridical.text.sentences import split
from veridical.types import Generation, GivenFact, Sentence

PLAIN = parse("factscore(gamma=0)")
LETTERS = {"S": "supported", "N": "not_supported", "I": "irrelevant", "U": None}


def labelled(name, rule="paper"):
    return gold_reports(read(str(shared("factscore_labeled") / f"{name}.jsonl")), rule=rule)


def cited(text, *facts, id="g"):
    """A report of the text; for each of its sentences the letters of its facts."""
    sentences = [sentence.text for sentence in split(text)]
    named = tuple(
        GivenFact(text=f"{n}{m}", sentence=strip_citations(sentence), label=LETTERS[letter])
        for n, (sentence, letters) in enumerate(zip(sentences, facts, strict=True))
        for m, letter in enumerate(letters)
    )
    (made,) = gold_reports([Generation(id=id, text=text, facts=named)])
    return made


# --- along the response ----------------------------------------------------------------------------------------------


def test_facts_are_binned_by_their_place():
    found = positions([report("SSSNN", id="a"), report("SNNNN", id="b")])
    assert [(b.share.hits, b.share.n) for b in found.bins] == [(2, 2), (1, 2), (1, 2), (0, 2), (0, 2)]
    assert (found.bins[0].start, found.bins[-1].end) == (0.0, 1.0)
    assert found.last_minus_first.value == -1.0
    assert found.slope.value < 0
    assert all(b.share.few for b in found.bins)


def test_a_lone_fact_stands_in_the_middle():
    assert [b.share.n for b in positions([report("S")]).bins] == [0, 0, 1, 0, 0]
    found = positions([report("S")])
    assert found.bins[0].share.value is None and found.slope.value is None


def test_irrelevant_and_unjudged_facts_keep_their_place():
    assert [(b.share.n, b.left_out) for b in positions([report("SIU")], bins=3).bins] == [(1, 0), (1, 0), (0, 1)]
    found = positions([report("SIU")], bins=3, rule="precision")
    assert [(b.share.n, b.left_out) for b in found.bins] == [(1, 0), (0, 1), (0, 1)]
    assert found.coverage.unjudged == {"verify:ParseError": 1}


def test_without_evidence_is_left_out_of_decided():
    found = positions([report("SCN")], bins=1, rule="decided")
    assert (found.bins[0].share.hits, found.bins[0].share.n, found.bins[0].left_out) == (1, 2, 1)


def test_facts_count_as_the_metric_counts():
    spellings = ("factscore", "precision", "precision(decided)", "f1@64", "recall@64", "facts")
    rules = [rule_of(parse(spelling)) for spelling in spellings]
    assert rules == ["factscore", "precision", "decided", "precision", "precision", "factscore"]


def test_who_is_not_looked_at_is_counted():
    reports = [report("SN"), report("-"), report(""), report("S", failed="ModelError"), report("S", broken=True)]
    found = positions(reports).coverage
    assert (found.n, found.scored, found.abstained, found.no_claims, found.facts) == (5, 1, 1, 1, 2)
    assert found.unscored == {"decompose:ModelError": 1, "decompose:ParseError": 1}
    assert b"NaN" not in msgspec.json.encode(positions(reports))


def test_nothing_to_look_at_is_none_everywhere():
    found = positions([])
    assert all(b.share.value is None and b.share.n == 0 for b in found.bins)
    assert found.slope.value is None and found.last_minus_first.value is None
    assert citations([]).cited.value is None
    assert overview([], PLAIN).words.value is None


@given(st.lists(st.text("SCNIU", max_size=9), max_size=6), st.integers(1, 7), st.sampled_from(["fact", "sentence"]))
def test_bins_partition_the_facts(letters, bins, unit):
    reports = [report(facts, id=str(n)) for n, facts in enumerate(letters)]
    for rule in ("factscore", "precision", "decided"):
        found = positions(reports, bins=bins, unit=unit, rule=rule, resamples=5)
        assert sum(b.share.n + b.left_out for b in found.bins) == found.coverage.facts == sum(map(len, letters))
        assert sum(b.share.hits for b in found.bins) == sum(facts.count("S") for facts in letters)


def test_by_the_sentence_of_the_fact():
    made = cited("One is. Two is. Three is.", "SS", "N", "N")
    assert places(made, "sentence") == [(0, 3), (0, 3), (1, 3), (2, 3)]
    assert [b.share.n for b in positions([made], bins=3, unit="sentence").bins] == [2, 1, 1]


def test_the_slope_is_least_squares():
    policy = Policy(resamples=50)
    points = [(0.1, 1.0), (0.4, 1.0), (0.6, 0.0), (0.9, 0.0), (0.9, 1.0)]
    import numpy as np

    rows = np.array([[1.0, x, y, x * x, x * y] for x, y in points])
    wanted = np.polyfit(*zip(*points, strict=True), 1)[0]
    assert estimate(rows, slope, policy).value == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["InstructGPT", "ChatGPT", "PerplexityAI"])
def test_later_facts_are_less_often_right(name):
    """FActScore, section 3.4: "across all LMs, the later part of the generation has significantly worse precision"."""
    for rule in ("factscore", "precision"):
        for unit in ("fact", "sentence"):
            found = positions(labelled(name), rule=rule, unit=unit)
            assert found.bins[0].share.value == max(b.share.value for b in found.bins)
            assert found.bins[-1].share.value == min(b.share.value for b in found.bins)
            assert found.slope.high < 0 and found.last_minus_first.high < 0


def test_wrong_settings():
    for settings in ({"bins": 0}, {"unit": "word"}, {"rule": "paper"}):
        with pytest.raises(UsageError):
            positions([], **settings)
    with pytest.raises(UsageError):
        citations([], rule="paper")


def test_the_same_seed_gives_the_same_interval():
    reports = [report("SSNN" if n % 3 else "SNSS", id=str(n)) for n in range(30)]
    assert positions(reports, seed=1) == positions(reports, seed=1)
    assert positions(reports, seed=1) != positions(reports, seed=2)


# --- citations -------------------------------------------------------------------------------------------------------


def test_support_with_and_without_marks():
    made = cited("Ann won it.[1][2] She lost that. She left[3]. She stays here.", "SN", "S", "I", "U")
    found = citations([made])
    assert found.marks == 3
    assert {name: (share.hits, share.n) for name, share in found.sentences.items()} == {
        "all": (2, 4),
        "supported": (0, 1),
        "unsupported": (1, 1),
        "irrelevant": (1, 1),
        "unjudged": (0, 1),
    }
    assert {name: (share.hits, share.n) for name, share in found.facts.items()} == {
        "supported": (1, 2),
        "not_enough_evidence": (1, 1),
        "irrelevant": (1, 1),
        "unjudged": (0, 1),
        "not_supported": (1, 1),
    }
    assert (found.cited.hits, found.cited.n, found.uncited.hits, found.uncited.n) == (1, 3, 1, 1)
    assert citations([made], rule="precision").cited.n == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann won.[1][2] She lost.", {0}),
        ("Ann won[1]. She lost.", {0}),
        ("Ann won. [1] She lost.", {0}),
        ("Ann won. She lost [2]", {1}),
        ("Ann won. She lost.", set()),
        ('"Ann won."[1] She lost.', {0}),
    ],
)
def test_a_mark_belongs_to_the_sentence_before_it(text, expected):
    from veridical.analysis.marks import marks

    assert cited_sentences(split(text), marks(text), text) == expected


def test_a_mark_in_a_part_that_no_sentence_covers_belongs_to_none():
    text = "Ann won. Unrelated words[1]. More."
    only = [Sentence(index=0, text="Ann won.", start=0, end=8)]
    assert cited_sentences(only, [(24, 27)], text) == set()
    assert cited_sentences(only, [(2, 3)], text) == {0}


def test_citations_of_perplexityai():
    """FActScore, section 3.4: citations have little correlation with precision. (The 36.0 and 37.6 % of supported and
    unsupported sentences "with citations" there are near to those *without* one in the released texts: 36.7, 38.9.)"""
    found = citations(labelled("PerplexityAI"))
    shares = {name: (share.hits, share.n) for name, share in found.sentences.items()}
    assert shares["supported"] == (614, 970)
    assert shares["unsupported"] == (250, 409)
    assert (found.facts["supported"].hits, found.facts["not_supported"].hits) == (3225, 485)
    assert found.difference.low < 0 < found.difference.high
    assert found.coverage.scored == 166
    assert citations(labelled("ChatGPT")).marks == 0


# --- overview --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sentences", "facts", "rate", "labels"),
    [
        ("InstructGPT", 6.2, 26.2, 0.995, (0.423, 0.432, 0.140, 0.005)),
        ("ChatGPT", 7.9, 34.6, 0.858, (0.500, 0.275, 0.083, 0.142)),
        ("PerplexityAI", 9.8, 41.5, 0.907, (0.649, 0.111, 0.148, 0.093)),
    ],
)
def test_the_papers_table_1(name, sentences, facts, rate, labels):
    """FActScore, Table 1 (its facts per response 26.3, 34.7, 40.8)."""
    found = overview(labelled(name), PLAIN)
    assert found.sentences.value == pytest.approx(sentences, abs=0.05)
    assert [round(score.value, 3) for score in found.scores][2] == rate
    assert found.scores[3].value == pytest.approx(facts, abs=0.05)
    kinds = ("supported", "not_enough_evidence", "irrelevant", "abstained")
    assert tuple(found.labels[kind] for kind in kinds) == pytest.approx(labels, abs=0.002)
    assert sum(found.labels.values()) == pytest.approx(1)


@pytest.mark.parametrize(("name", "words"), [("InstructGPT", 110.6), ("ChatGPT", 154.5), ("PerplexityAI", 151.0)])
def test_the_papers_words_are_those_of_relevant_sentences(name, words):
    answers = [made for made in labelled(name, "irrelevant-in") if not made.abstained]
    counts = [len(strip_citations(sentence.text).split()) for made in answers for sentence in made.sentences]
    assert sum(counts) / len(answers) == pytest.approx(words, abs=0.1)


def test_overview_of_answers_only():
    found = overview([report("SN"), report("-", id="2"), report("S", id="3", failed="ModelError")], PLAIN)
    assert (found.answers, found.words.value) == (1, 1.0)
    assert found.labels == {
        "supported": 0.25,
        "contradicted": 0.0,
        "not_enough_evidence": 0.25,
        "irrelevant": 0.0,
        "abstained": 0.5,
    }
    assert found.scores[0].unscored == {"decompose:ModelError": 1}
