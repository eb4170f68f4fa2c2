"""K out of data, copies of a fact, and the published table as far as its means allow."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import report
from veridical.benchmarks.longfact_table import table
from veridical.errors import UsageError
from veridical.facts import assemble
from veridical.knowledge.given import Given
from veridical.methods import method
from veridical.metrics import f1_at_k, parse, recall_at_k
from veridical.models.scripted import Scripted
from veridical.parts import Parts
from veridical.pipeline import evaluate
from veridical.recall import from_data, k_of, relevant, resolved
from veridical.text.sentences import split
from veridical.types import Failure, Generation, JudgedFact, Report

TABLE_30 = {
    "GPT-4-Turbo": (93.6, 8.3, 6.1, 91.7, 99.0, 52.6, 95.6, 95.2, 95.0, 94.1, 66.4),
    "Gemini-Ultra": (83.4, 13.1, 7.6, 86.2, 98.3, 46.9, 92.3, 92.2, 91.7, 88.7, 60.3),
    "PaLM-2-L-IT-RLHF": (72.9, 8.7, 4.3, 89.1, 94.0, 41.0, 94.1, 93.4, 91.0, 84.6, 55.3),
    "Claude-3-Sonnet": (65.4, 8.4, 2.6, 88.5, 91.4, 36.7, 93.8, 92.9, 89.4, 81.3, 51.4),
    "Claude-3-Opus": (63.8, 8.1, 2.8, 88.5, 91.4, 35.9, 93.8, 92.5, 89.3, 80.6, 50.6),
    "GPT-4": (59.1, 7.0, 2.4, 89.4, 88.3, 33.2, 94.3, 92.7, 88.0, 77.7, 48.0),
    "Gemini-Pro": (66.6, 12.1, 5.5, 82.0, 88.5, 37.4, 89.0, 86.1, 83.7, 77.4, 50.4),
    "GPT-3.5-Turbo": (46.9, 4.5, 1.2, 90.8, 72.4, 26.4, 95.0, 89.5, 79.6, 68.2, 40.5),
    "Claude-Instant": (43.9, 8.1, 1.3, 84.4, 68.4, 24.6, 91.3, 83.2, 73.8, 63.2, 37.6),
    "Claude-3-Haiku": (39.8, 2.8, 1.3, 92.8, 62.0, 22.4, 96.0, 85.5, 73.5, 62.0, 35.8),
    "Claude-2.0": (38.5, 6.3, 1.3, 85.5, 60.0, 21.6, 92.0, 79.4, 68.7, 58.2, 34.0),
    "Claude-2.1": (38.3, 6.5, 1.9, 84.8, 59.8, 21.5, 91.0, 78.4, 67.9, 57.6, 33.7),
    "PaLM-2-L-IT": (13.2, 1.8, 0.1, 88.8, 20.6, 7.4, 93.5, 38.6, 31.1, 25.1, 13.2),
}
"""SAFE (arXiv 2403.18802), table 30: supported, not supported, irrelevant, precision, R@64, R@178, F1@1, @48, @64, @84,
@178; means over 250 prompts, in points from the precision on."""


ROUNDING = 0.05
"""Of a figure with one decimal."""


def harmonic(p, r):
    return 2 * p * r / (p + r)


@pytest.mark.parametrize(("system", "row"), TABLE_30.items())
def test_table_30_as_far_as_means_determine_it(system, row):
    """The columns are means over prompts of functions of each response, which means of other columns only bound.

    - R@178 is S/178 where no response has more than 178 supported facts, as 178 is the greatest number of relevant
      ones: exact to rounding.
    - R@64 is at most min(S/64, 1): recall is concave in S (Jensen).
    - F1@K is at most the harmonic mean of the mean precision and the mean recall@K, as that mean is concave in both.
      Recall at 48 and 84 stands in no column: it is at most 1, and at most that at 64.
    - F1@K never rises with K, and K * F1@K never falls.
    """
    supported, _, _, precision, recall_64, recall_178, *at = row
    off = ROUNDING + 100 * ROUNDING / 178
    assert recall_178 == pytest.approx(100 * supported / 178, abs=off)
    assert recall_64 <= min(100 * (supported + ROUNDING) / 64, 100) + ROUNDING
    most = {1: 100.0, 48: 100.0, 64: recall_64, 84: recall_64, 178: recall_178}
    for k, f1_at in zip(most, at, strict=True):
        assert f1_at <= harmonic(precision + ROUNDING, min(most[k] + ROUNDING, 100)) + ROUNDING
    for (k, above), (greater, below) in pairwise(zip(most, at, strict=True)):
        assert above >= below
        assert k * (above - ROUNDING) <= greater * (below + ROUNDING)


def test_table_30_means_do_not_give_f1():
    """How far the harmonic mean of the means lies above the mean of F1@K, in points: what whoever computes F1 from a
    system's averages would print too much."""
    gaps = {
        k: [harmonic(row[3], row[column]) - row[place] for row in TABLE_30.values()]
        for k, column, place in ((64, 4, 8), (178, 5, 10))
    }
    assert {k: (round(min(found), 1), round(max(found), 1)) for k, found in gaps.items()} == {
        64: (0.2, 2.3),
        178: (0.3, 1.0),
    }
    at_one = [harmonic(row[3], 100) - row[6] for row in TABLE_30.values()]
    assert (round(min(at_one), 1), round(max(at_one), 1)) == (0.1, 1.1)


@given(st.lists(st.tuples(st.integers(0, 178), st.integers(0, 60)), min_size=1, max_size=30))
def test_the_bounds_of_table_30_hold_for_any_responses(responses):
    """What the test above takes for granted, on responses of which each has a relevant fact."""
    rows = [(s, n) for s, n in responses if s + n] or [(1, 0)]
    p = sum(s / (s + n) for s, n in rows) / len(rows)
    for k in (1, 48, 64, 84, 178):
        r = sum(recall_at_k(s, k) for s, _ in rows) / len(rows)
        found = sum(f1_at_k(s, n, k) for s, n in rows) / len(rows)
        assert found <= (harmonic(p, r) if p + r else 0.0) + 1e-9
        assert r <= min(sum(s for s, _ in rows) / len(rows) / k, 1) + 1e-9
    assert r == pytest.approx(sum(s for s, _ in rows) / len(rows) / 178)


def test_table_30_ranks_by_f1_64_as_the_paper_does():
    order = sorted(TABLE_30, key=lambda system: -TABLE_30[system][8])
    assert order[:3] == ["GPT-4-Turbo", "Gemini-Ultra", "PaLM-2-L-IT-RLHF"]
    assert order[-1] == "PaLM-2-L-IT"
    by_precision = sorted(TABLE_30, key=lambda system: -TABLE_30[system][6])
    assert by_precision[0] == "Claude-3-Haiku"  # at K = 1 the one that says little wins


def test_f8_k_from_data():
    assert (k_of([10, 64, 100], "median"), k_of([10, 64, 100], "max")) == (64, 100)
    assert (k_of([10, 20], "median"), k_of([10, 20], "upper_median")) == (15, 20)
    assert k_of([10, 21], "median") == 16  # 15.5: halves are rounded up
    assert [k_of([1, 2, 3, 4], rule) for rule in ("p25", "p75")] == [1, 3]
    assert k_of([0, 0, 3], "median") == 1  # K is at least 1
    with pytest.raises(UsageError, match="no response has a relevant fact"):
        k_of([0, 0], "max")
    with pytest.raises(UsageError, match="one of median"):
        k_of([1], "mean")


def test_relevant_facts_of_a_response():
    assert relevant(report("SSNICU")) == 5  # two supported, one without evidence, one contradicted, one unjudged
    assert relevant(Report(generation=Generation(id="g", text="x"))) == 0
    assert relevant(Report(generation=Generation(id="g", text="x"), abstained=True)) is None
    lost = Failure(stage="decompose", error="ParseError", message="")
    assert relevant(Report(generation=Generation(id="g", text="x"), failure=lost)) is None


def test_spellings_are_resolved_over_all_runs_and_told():
    runs = [[report("S" * n) for n in (1, 3)], [report("S" * n) for n in (5, 7)]]
    names, choices = resolved(["f1@median", "precision", "recall@max(repeats)", "f1@8"], lambda: runs)
    assert names == ["f1@4", "precision", "recall@7(repeats)", "f1@8"]
    assert [parse(name).name for name in names] == names
    assert {choice.words for choice in choices} == {
        "K = 4: median of the relevant facts over 4 responses of 2 runs"
        " (of two middle values their mean, halves rounded up)",
        "K = 7: max of the relevant facts over 4 responses of 2 runs",
    }


def test_runs_are_not_read_where_no_k_is_wanted():
    names, choices = resolved(["f1@64", "factscore"], lambda: pytest.fail("read"))
    assert (names, choices) == (["f1@64", "factscore"], [])
    assert from_data("f1@ MEDIAN")
    assert not from_data("f1@64")


MILL = "Brandt sold the mill in 1900."
SAME = ["Brandt sold the mill in 1900!", "BRANDT SOLD THE MILL IN 1900.", "Brandt sold a mill in 1900 [1]."]
SAME += ["Brandt  sold the mill in 1900.[2][3]", "Brandt sold the mill in 1900[4]."]


def padded(copies=64):
    """One claim over and over, as it is and with another case, mark, article or citation."""
    lines = [([MILL] * 7 + SAME)[n % 12] for n in range(copies)]
    return Generation(id="g", prompt="Who was Brandt?", topic="Brandt", text="\n".join(lines)), lines


async def run_of(generation, **parts):
    """As `score --method factscore` would have it, with a judge that supports everything."""
    judge = Scripted("True")
    knowledge = Given({"Brandt": ["Brandt sold the mill in 1900."]})
    made = method("factscore", Parts(judge=judge, searcher=knowledge, **parts))
    return await evaluate(generation, made)


async def test_f55_s8_copies_through_the_clause_splitter_do_not_raise_f1():
    """64 copies of one true sentence are worth 2/65 at K = 64, however they are spelled."""
    generation, _ = padded()
    found = await run_of(generation, embedded_decomposer=True)
    assert len(found.facts) == 1
    assert parse("f1@64").of(found) == pytest.approx(2 / 65)
    assert parse("f1@64(repeats)").of(found) == 1.0
    assert (relevant(found), relevant(found, repeats=True)) == (1, 64)
    assert parse("facts").of(found) == 1


async def test_f55_s8_copies_out_of_a_language_model_do_not_raise_f1():
    """A model that copies the sentence with its marks makes no new facts either; unmerged ones count as often as SAFE's
    released code has it."""
    generation, lines = padded()
    replies = Scripted(lambda request: "- " + request.messages[-1].content.split("<sentence")[-1].split("\n")[1])
    found = await run_of(generation, decomposer=replies)
    assert len(found.facts) == 1, [fact.fact.text for fact in found.facts]
    assert parse("f1@64").of(found) == pytest.approx(2 / 65)
    assert parse("f1@64(repeats)").of(found) == 1.0
    sentences = split(generation.text)
    wordings = [(sentence.index, [sentence.text]) for sentence in sentences]
    apart = assemble(generation, sentences, wordings, merge=False)
    assert len(apart.facts) == len(lines)
    judged = [JudgedFact(fact=fact, verdict=found.facts[0].verdict) for fact in apart.facts]
    assert parse("f1@64").of(Report(generation=generation, facts=tuple(judged))) == 1.0


async def test_s8_different_claims_are_not_merged():
    text = "Brandt sold the mill in 1900. Brandt sold the mill in 1901. Brandt bought the mill in 1900."
    found = await run_of(Generation(id="g", topic="Brandt", text=text), embedded_decomposer=True)
    assert len(found.facts) == 3


def test_the_table_of_systems():
    wordy = [report("SSSSNN", id="a", prompt="1"), report("SSSN", id="b", prompt="2")]
    runs = {"wordy": wordy, "terse": [report("S", id="a", prompt="1"), report("S", id="b", prompt="2")]}
    made = table([(name, lambda rows=rows: rows) for name, rows in runs.items()], ["median", "max"], seed=1)
    counts = ("supported", "not_supported", "irrelevant", "precision")
    assert made.metrics == (*counts, "f1@1", "recall@3", "recall@6", "f1@3", "f1@6")
    assert [row.system for row in made.rows] == ["wordy", "terse"]
    terse = made.rows[1].scores
    assert terse["f1@1"].value == 1.0
    assert terse["f1@6"].value == pytest.approx(f1_at_k(1, 0, 6))
    assert [choice.k for choice in made.k] == [3, 6]
    assert made.rows[0].unjudged == 0
