"""Metrics of single reports; F and C numbers are the checks of the reference studies."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import report
from veridical.errors import UsageError
from veridical.metrics import SPELLINGS, f1_at_k, length_penalty, parse, recall_at_k

SHARES = [parse(s) for s in ("factscore", "factscore(gamma=0)", "precision", "precision(decided)", "f1@3", "recall@3")]
COUNTS = [parse(s) for s in ("facts", "supported", "not_supported", "contradicted", "irrelevant")]
letters = st.text(alphabet="SCNIU", max_size=30)


def value(spelling, facts, **more):
    return parse(spelling).of(report(facts, **more))


def test_f1_eight_of_ten_supported():
    assert value("factscore(gamma=10)", "S" * 8 + "N" * 2) == pytest.approx(0.8)
    assert value("factscore(gamma=0)", "S" * 8 + "N" * 2) == pytest.approx(0.8)


@pytest.mark.parametrize("n, wanted", [(1, 1.2341e-4), (5, 0.3678794), (9, 0.8948393), (10, 1), (11, 1)])
def test_f2_length_penalty(n, wanted):
    assert value("factscore(gamma=10)", "S" * n) == pytest.approx(wanted, rel=1e-5)
    assert value("factscore(gamma=0)", "S" * n) == 1
    assert length_penalty(n, 10) == pytest.approx(wanted, rel=1e-5)


def test_f4_answers_without_facts_are_undefined():
    for metric in SHARES + COUNTS:
        assert metric.of(report("")) is None
        assert metric.of(report("-")) is None


@pytest.mark.parametrize(
    "s, n, k, wanted",
    [
        (1, 0, 64, 0.0307692),
        (32, 0, 64, 2 / 3),
        (32, 32, 64, 0.5),
        (64, 0, 64, 1),
        (100, 0, 64, 1),
        (100, 0, 200, 2 / 3),
        (10, 8, 100, 0.1694915),
        (93, 8, 64, 0.9587629),
        (0, 5, 64, 0),
    ],
)
def test_f5_f1_at_k(s, n, k, wanted):
    assert f1_at_k(s, n, k) == pytest.approx(wanted, abs=1e-7)
    assert value(f"f1@{k}", "S" * s + "N" * n) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("s, n, k", [(1, 0, 0), (1, 0, -1), (-1, 0, 64), (1, -1, 64)])
def test_f5_impossible_counts_are_errors(s, n, k):
    with pytest.raises(ValueError):
        f1_at_k(s, n, k)


@pytest.mark.parametrize("k", [0, -1])
def test_f5_impossible_k_is_an_error(k):
    with pytest.raises(ValueError):
        recall_at_k(1, k)
    with pytest.raises(UsageError):
        parse(f"f1@{k}")


def test_f7_irrelevant_facts_do_not_count_in_f1():
    plain, padded = value("f1@100", "S" * 10 + "N" * 8), value("f1@100", "S" * 10 + "N" * 8 + "I" * 100)
    assert plain == padded == pytest.approx(0.1694915, abs=1e-7)


def test_f55_s8_copies_of_a_fact_count_once():
    assert value("f1@64", "S", repeats=63) == pytest.approx(2 / 65)
    assert value("f1@64(repeats)", "S", repeats=63) == 1
    assert value("factscore", "S", repeats=63) == pytest.approx(math.exp(-9))


def test_c1_precision_and_recall_have_their_own_denominators():
    assert value("precision", "SSSSN") == 0.8
    assert value("recall@8", "SSSSN") == 0.5
    assert value("f1@8", "SSSSN") == pytest.approx(2 * 0.8 * 0.5 / 1.3)


def test_c5_undecided_facts_are_neither_supported_nor_contradicted():
    facts = "SNNC"
    assert [value(w, facts) for w in ("supported", "not_enough_evidence", "contradicted")] == [1, 2, 1]
    assert value("precision", facts) == 0.25
    assert value("precision(decided)", facts) == 0.5


def test_irrelevant_facts_lower_factscore_but_not_precision():
    assert value("factscore(gamma=0)", "SSII") == 0.5
    assert value("precision", "SSII") == 1
    assert value("precision", "II") is None
    assert value("factscore(gamma=0)", "II") == 0


def test_unjudged_facts_are_left_out_of_the_value_and_bounded():
    metric = parse("factscore(gamma=0)")
    assert metric.of(report("SSNU")) == pytest.approx(2 / 3)
    assert metric.bounds(report("SSNU")) == (0.5, 0.75)
    assert parse("precision(decided)").bounds(report("SCNU")) == pytest.approx((1 / 3, 2 / 3))


def test_the_length_penalty_knows_the_length_of_a_partly_judged_response():
    assert value("factscore", "S" * 5 + "U" * 5) == 1
    assert parse("factscore").bounds(report("S" * 5 + "U" * 5)) == (0.5, 1)


@pytest.mark.parametrize("kind", [{"failed": "ModelError"}, {"broken": True}])
def test_a_report_with_a_failure_has_no_value_and_could_be_anything(kind):
    for metric in SHARES:
        assert metric.of(report("SS", **kind)) is None
        assert metric.bounds(report("SS", **kind)) == (0, 1)
    for metric in COUNTS:
        assert metric.of(report("SS", **kind)) is None
        assert metric.bounds(report("SS", **kind)) is None


def test_a_report_without_any_verdict_is_unscored_but_its_facts_are_known():
    assert parse("precision").of(report("UU")) is None
    assert parse("precision").bounds(report("UU")) == (0, 1)
    assert parse("facts").of(report("UU")) == 2


def test_response_rate_counts_failures_as_answers():
    rate = parse("response_rate")
    assert [rate.of(report(facts)) for facts in ("S", "", "-")] == [1, 1, 0]
    assert rate.of(report("", failed="ModelError")) == 1


@given(letters)
def test_values_lie_within_their_bounds(facts):
    made = report(facts)
    for metric in SHARES + COUNTS:
        found, bounds = metric.of(made), metric.bounds(made)
        if found is not None and bounds is not None:
            assert bounds[0] - 1e-12 <= found <= bounds[1] + 1e-12
        if metric in SHARES and found is not None:
            assert 0 <= found <= 1


@given(st.text(alphabet="SCNI", max_size=30))
def test_without_unjudged_facts_bounds_are_the_value(facts):
    for metric in SHARES + COUNTS:
        found = metric.of(report(facts))
        if found is not None:
            assert metric.bounds(report(facts)) == (found, found)


@given(letters, st.integers(0, 5))
def test_merged_copies_never_change_a_value(facts, repeats):
    for metric in SHARES + COUNTS:
        assert metric.of(report(facts, repeats=repeats)) == metric.of(report(facts))


@given(st.text(alphabet="SCNI", max_size=30))
def test_one_more_supported_fact_never_lowers_a_share(facts):
    for metric in SHARES:
        before, after = metric.of(report(facts)), metric.of(report(facts + "S"))
        assert before is None or after >= before - 1e-12


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_listed_spelling_is_read_as_it_is_printed(spelling):
    assert parse(spelling).name == spelling
    assert parse(spelling).rule


@pytest.mark.parametrize(
    "loose, name",
    [
        ("factscore", "factscore(gamma=10)"),
        ("FActScore( gamma = 0 )", "factscore(gamma=0)"),
        ("factscore(repeats,gamma=2.5)", "factscore(repeats,gamma=2.5)"),
        ("F1@178", "f1@178"),
        ("precision(decided,repeats)", "precision(repeats,decided)"),
        ("supported(repeats)", "supported(repeats)"),
    ],
)
def test_loose_spellings(loose, name):
    assert parse(loose).name == name


@given(st.floats(0, 1e6), st.booleans(), st.integers(1, 10**6))
def test_spellings_round_trip(gamma, repeats, k):
    for spelling in (f"factscore(gamma={gamma!r}{',repeats' if repeats else ''})", f"f1@{k}", f"recall@{k}(repeats)"):
        assert parse(parse(spelling).name) == parse(spelling)


@pytest.mark.parametrize(
    "wrong, named",
    [
        ("bleu", "factscore(gamma=10)"),
        ("", "factscore(gamma=10)"),
        ("f1", "f1@64"),
        ("f1@x", "no metric"),
        ("precision@3", "takes no K"),
        ("facts@3", "takes no K"),
        ("factscore(gamma)", "gamma=NUMBER"),
        ("factscore(gamma=-1)", "0 or more"),
        ("factscore(gamma=nan)", "0 or more"),
        ("factscore(gamma=inf)", "0 or more"),
        ("factscore(gamma=ten)", "not a number"),
        ("precision(gamma=3)", "decided"),
        ("precision(decided=1)", "decided"),
        ("f1@3(k=4)", "repeats"),
    ],
)
def test_unknown_spellings_name_what_there_is(wrong, named):
    with pytest.raises(UsageError, match=r".*" + named.replace("(", r"\(").replace(")", r"\)")):
        parse(wrong)


@given(st.text(max_size=40))
def test_any_text_is_a_metric_or_a_usage_error(spelling):
    with contextlib.suppress(UsageError):
        assert parse(parse(spelling).name) == parse(spelling)
