"""From reports to scores; F, C and N numbers are the checks of the reference studies."""

import json
import math
import tracemalloc
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports import report
from veridical.errors import UsageError
from veridical.metrics import Macro, parse
from veridical.scores import by, score, scores, unscored

FACTSCORE = parse("factscore(gamma=10)")
PLAIN = parse("factscore(gamma=0)")


def many(*facts, **more):
    return [report(letters, id=str(n), **more) for n, letters in enumerate(facts)]


def test_f3_mean_over_answers_with_and_without_the_penalty():
    made = many("S" * 20 + "N" * 20, "S", "-")
    found = scores(made, [FACTSCORE, PLAIN, parse("facts"), parse("response_rate")])
    assert [s.value for s in found] == pytest.approx([0.2500617, 0.75, 20.5, 2 / 3], abs=1e-7)
    assert (found[0].n, found[0].scored, found[0].abstained) == (3, 2, 1)
    assert (found[3].n, found[3].scored, found[3].abstained) == (3, 3, 1)


def test_f4_nothing_but_abstentions_and_empty_answers():
    found = score(many("-", "-"), FACTSCORE)
    assert (found.value, found.low, found.bounds, found.abstained, found.scored) == (None, None, None, 2, 0)
    assert json.loads(msgspec.json.encode(found))["value"] is None
    assert score(many("-", "-"), parse("response_rate")).value == 0
    claimless = score(many("", "S"), PLAIN)
    assert (claimless.value, claimless.no_claims, claimless.scored) == (1, 1, 1)
    assert score([], FACTSCORE).value is None


def test_f6_f1_is_averaged_not_computed_from_averages():
    assert score(many("S" * 128, "N" * 64), parse("f1@64")).value == pytest.approx(0.5)


def test_f13_rules_differ_in_what_irrelevant_facts_do():
    made = many("SSNI", "SNII")
    assert score(made, PLAIN).value == pytest.approx(0.375)
    assert score(made, parse("precision")).value == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_f56_response_rate_with_abstentions_marked_in_the_input():
    rate = score(many(*["S"] * 157, *["-"] * 26), parse("response_rate"))
    assert rate.value == pytest.approx(0.8579, abs=5e-5)


def test_c2_failures_leave_the_mean_but_not_the_report():
    made = [
        *many("S" * 9 + "N", "SSS" + "N" * 7),
        *(report("SS", id=f"late{n}", failed="ModelError") for n in range(3)),
    ]
    found = score(made, PLAIN)
    assert found.value == pytest.approx(0.6)
    assert (found.scored, found.n, found.unscored) == (2, 5, {"decompose:ModelError": 3})
    assert found.bounds == pytest.approx((1.2 / 5, 4.2 / 5))
    assert list(unscored(made, PLAIN)) == [(f"late{n}", "decompose:ModelError") for n in range(3)]


def test_c3_a_metric_that_gives_nan_is_counted_never_averaged():
    @dataclass(frozen=True)
    class Broken(Macro):
        name: str = "broken"
        rule: str = "broken"
        _word = "broken"

        def of(self, report):
            return float(report.generation.id)

        def bounds(self, report):
            return None

    found = score([report("S", id=value) for value in ("0.8", "nan", "0.6")], Broken())
    assert found.value == pytest.approx(0.7)
    assert (found.scored, found.n, found.unscored, found.bounds) == (2, 3, {"metric:nan": 1}, None)
    assert score([report("S", id="0.8")], Broken()).bounds == (0.8, 0.8)
    assert score([report("SU", id="0.8")], Broken()).bounds is None


def test_c4_both_ways_to_count_a_refusal():
    made = many("SS", "SN", "-")
    left_out, as_zero = (score(made, PLAIN, abstentions=rule) for rule in ("exclude", "zero"))
    assert (left_out.value, left_out.scored) == (0.75, 2)
    assert (as_zero.value, as_zero.scored, as_zero.abstained) == (0.5, 3, 1)
    assert "abstentions left out" in left_out.rule
    assert "abstentions count 0" in as_zero.rule
    assert score(made, parse("response_rate")).value == pytest.approx(2 / 3)
    assert as_zero.bounds == (0.5, 0.5)
    with pytest.raises(UsageError, match="exclude or zero"):
        score(made, PLAIN, abstentions="skip")


def test_n1_no_facts_is_undefined_not_perfect():
    for spelling in ("factscore", "precision", "f1@1", "recall@1"):
        found = score(many(""), parse(spelling))
        assert (found.value, found.no_claims, found.bounds) == (None, 1, None)


def test_partly_judged_answers_are_scored_counted_and_bounded():
    found = score(many("SSNU", "SU", "NN"), PLAIN)
    assert found.value == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert (found.facts, found.facts_judged, found.unjudged) == (8, 6, {"verify:ParseError": 2})
    assert found.bounds == pytest.approx(((0.5 + 0.5 + 0) / 3, (0.75 + 1 + 0) / 3))
    assert found.unscored == {}


def test_answers_without_any_verdict_are_unscored_by_reason():
    found = score(many("S", "UUU"), PLAIN)
    assert (found.value, found.unscored, found.bounds) == (1, {"verify:ParseError": 1}, (0.5, 1))
    assert (found.facts, found.facts_judged, found.unjudged) == (1, 1, {})


def test_irrelevant_facts_beside_unjudged_ones_are_unscored_not_claimless():
    found = score(many("IIU"), parse("precision"))
    assert (found.unscored, found.no_claims, found.bounds) == ({"verify:ParseError": 1}, 0, (0, 1))
    assert score(many("II"), parse("precision")).no_claims == 1


def test_undecomposed_sentences_leave_the_answer_unscored():
    found = score([report("SS", broken=True), report("S", id="b")], PLAIN)
    assert (found.value, found.unscored, found.bounds) == (1, {"decompose:ParseError": 1}, (0.5, 1))


def test_counts_have_no_upper_limit_where_an_answer_failed():
    assert score([*many("SS"), report(id="x", failed="ModelError")], parse("supported")).bounds is None


def test_the_interval_resamples_prompts():
    made = [
        report("S" * (n % 7) + "N" * 5, id=f"{n}.{copy}", topic=f"topic {n}") for n in range(40) for copy in range(6)
    ]
    alone = [report("S" * (n % 7) + "N" * 5, id=str(n)) for n in range(40)]
    clustered, single = score(made, PLAIN), score(alone, PLAIN)
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high), abs=1e-12)
    assert clustered.low < clustered.value < clustered.high


def test_one_instruction_for_many_topics_is_many_prompts():
    made = [report("S" * n + "N", id=str(n), prompt="Tell me a bio.", topic=str(n)) for n in range(30)]
    assert score(made, PLAIN).low is not None


def test_many_answers_to_one_prompt_have_no_interval_and_say_why():
    found = score(many("SN", "S", "N", prompt="the same"), PLAIN)
    assert found.low is None and "all are answers to one prompt" in found.rule


def test_small_samples_say_so():
    assert score(many("SN"), PLAIN).low is None
    few = score(many("SN", "S", "N"), PLAIN)
    assert few.low is not None and "only 3 prompts" in few.rule
    assert score(many("S", "S", "S"), PLAIN).low is None
    assert "too narrow" not in score(many(*["SN", "S"] * 10), PLAIN).rule


def test_many_metrics_in_one_pass_equal_each_alone_and_stream():
    made = many("SSN", "SU", "-", "", "SSSC")
    metrics = [parse(s) for s in ("factscore", "precision", "f1@2", "facts")]
    assert scores(iter(made), metrics) == [score(iter(made), metric) for metric in metrics]
    assert scores(made, metrics, seed=1) == scores(made, metrics, seed=1)


def test_signatures_come_from_the_reports_unless_given():
    made = [report("S", signature="a"), report("S", id="b", signature="b"), report("S", id="c", signature="")]
    assert score(made, PLAIN).signature == "a | b"
    assert score(made, PLAIN, signature="run").signature == "run"


def test_a_metric_of_ones_own_combination():
    @dataclass(frozen=True)
    class Median:
        name: str = "median"
        rule: str = "median of precisions"

        def of(self, report):
            return parse("precision").of(report)

        def bounds(self, report):
            return parse("precision").bounds(report)

        def combine(self, values):
            return sorted(values)[len(values) // 2]

    found = score(many("S", "N", "SN", "SSN", "N"), Median(), resamples=200)
    assert found.value == 0.5
    assert found.low <= 0.5 <= found.high
    assert "mean" not in found.rule


def test_groups_by_a_field():
    made = [
        report("S", id="a", frequency="rare"),
        report("N", id="b", frequency="rare"),
        report("S", id="c", frequency="often"),
        report("-", id="d", frequency="often"),
        report("N", id="e"),
    ]
    groups = by(made, "frequency", [PLAIN])
    assert {name: (found[0].value, found[0].n) for name, found in groups.items()} == {
        "": (0, 1),
        "often": (1, 2),
        "rare": (0.5, 2),
    }
    assert list(by(many("S", topic="X"), "topic", [PLAIN])) == ["X"]


@given(
    st.lists(st.sampled_from(["-", "", "failed", "broken"]) | st.text(alphabet="SCNIU", max_size=8), max_size=12),
    st.sampled_from(["factscore", "precision", "precision(decided)", "f1@3", "facts", "supported", "response_rate"]),
    st.sampled_from(["exclude", "zero"]),
)
@settings(deadline=None, max_examples=150)
def test_every_generation_is_somewhere_and_nothing_is_nan(kinds, spelling, abstentions):
    made = [
        report(id=str(n), failed="E")
        if kind == "failed"
        else report("S", id=str(n), broken=True)
        if kind == "broken"
        else report(kind, id=str(n))
        for n, kind in enumerate(kinds)
    ]
    found = score(made, parse(spelling), abstentions=abstentions, resamples=50)
    zeroed = found.abstained if abstentions == "zero" or spelling == "response_rate" else 0
    assert found.n == found.scored - zeroed + found.abstained + found.no_claims + sum(found.unscored.values())
    assert found.facts == found.facts_judged + sum(found.unjudged.values())
    numbers = [found.value, found.low, found.high, *(found.bounds or ())]
    assert all(number is None or math.isfinite(number) for number in numbers)
    assert (found.value is None) == (found.scored == 0)
    if found.bounds:
        assert found.bounds[0] <= found.bounds[1]
    assert json.loads(msgspec.json.encode(found), parse_constant=pytest.fail)


def test_memory_is_a_few_numbers_a_generation():
    made = report("SSN" * 10)
    tracemalloc.start()
    scores((made for _ in range(2000)), [PLAIN, FACTSCORE], resamples=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000 * 400
