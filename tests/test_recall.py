"""K out of data, F1@K over K, and the published table as far as its means allow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import report
from veridical.analysis import curve
from veridical.analysis.curve import f1
from veridical.benchmarks.longfact_table import table
from veridical.errors import UsageError
from veridical.metrics import f1_at_k, parse, recall_at_k
from veridical.recall import from_data, k_of, relevant, resolved
from veridical.types import Failure, Generation, Report

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


@pytest.mark.parametrize(("system", "row"), TABLE_30.items())
def test_table_30_as_far_as_means_determine_it(system, row):
    """R@178 is S/178 where no response has more than 178 supported facts, which holds within rounding in every row.

    The other columns are means of functions of each response, which the means only bound: recall is concave in S, so
    its mean is at most that of the mean. At K = 1 recall is 1 for a response with any supported fact, so that F1@1 lies
    below 2P/(1 + P), and close to it.
    """
    supported, _, _, precision, recall_64, recall_178, *at = row
    assert recall_178 == pytest.approx(100 * supported / 178, abs=0.08)
    assert recall_64 <= 100 * recall_at_k(round(supported), 64) + 0.8
    f1_1 = at[0]
    p = precision / 100
    assert f1_1 <= 100 * 2 * p / (1 + p) + 0.06
    assert f1_1 >= 100 * 2 * p / (1 + p) - 1.5
    assert at == sorted(at, reverse=True)  # F1@K never rises with K
    harmonic = 2 * precision * recall_178 / (precision + recall_178)
    assert at[4] == pytest.approx(harmonic, abs=2.5)


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
        "K = 4: median of the relevant facts over 4 responses of 2 runs",
        "K = 7: max of the relevant facts over 4 responses of 2 runs",
    }


def test_runs_are_not_read_where_no_k_is_wanted():
    names, choices = resolved(["f1@64", "factscore"], lambda: pytest.fail("read"))
    assert (names, choices) == (["f1@64", "factscore"], [])
    assert from_data("f1@ MEDIAN")
    assert not from_data("f1@64")


def test_the_curve_by_hand():
    """Two responses: 2 S 0 N and 1 S 1 N."""
    found = curve([report("SS"), report("SN", id="h")])
    assert found.values[0] == pytest.approx((1 + f1_at_k(1, 1, 1)) / 2)
    assert found.values[1] == pytest.approx((1 + f1_at_k(1, 1, 2)) / 2)
    assert found.precision == pytest.approx(0.75)
    assert (found.most, len(found.values), found.responses) == (2, 4, 2)
    assert [point.k for point in found.points] == [1, 2, 4]
    assert found.points[1].recall == pytest.approx((1 + 0.5) / 2)


def test_the_curve_leaves_out_what_has_no_verdict_and_says_so():
    rows = [report("SU"), report("-", id="a"), report("U", id="b"), report("N", id="c")]
    found = curve(rows)
    assert (found.responses, found.abstained, found.no_claims, found.unjudged) == (2, 1, 1, 1)
    assert found.values[0] == pytest.approx(0.5)
    assert curve([report("U")]) is None
    with pytest.raises(UsageError, match="at least 1"):
        curve(rows, ks=[0])


@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 400))
def test_many_at_once_are_as_one_by_one(supported, not_supported, k):
    together = f1(np.array([float(supported)]), np.array([float(not_supported)]), k)
    assert together[0] == pytest.approx(f1_at_k(supported, not_supported, k))


def test_f55_padding_and_copies_do_not_raise_f1():
    """64 copies of one supported sentence: merged into one fact they are worth 2/65 at K = 64."""
    merged = report("S", repeats=63)
    assert parse("f1@64").of(merged) == pytest.approx(2 / 65)
    assert parse("f1@64(repeats)").of(merged) == 1.0
    assert relevant(merged) == 1
    assert relevant(merged, repeats=True) == 64


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
