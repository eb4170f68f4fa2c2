"""Figures of judges against labels: by hand, undefined where they are, and two judges paired."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import InputError, UsageError
from veridical.meta import measures, paired, predicted, trivial
from veridical.meta.figures import area, balanced, cross_fitted, grouped, mcc, table, threshold
from veridical.meta.sets.rows import pair
from veridical.types import AtomicFact, Failure, JudgedFact, Label, Report, Usage, Verdict

GOLD = {"S": "supported", "C": "contradicted", "N": "not_enough_evidence", "n": "not_supported"}
SAID = {"s": Label.SUPPORTED, "c": Label.CONTRADICTED, "n": Label.NOT_ENOUGH_EVIDENCE, "i": Label.IRRELEVANT}


def report(number, gold, said, probability=None, **about):
    about = {"cluster": str(number), **about}
    generation = pair(str(number), f"Claim {number}.", GOLD[gold], ["Claim 1 is here."], **about)
    fact = AtomicFact(id=f"{number}/0.0", text=generation.text, sentence=0, gold=GOLD[gold])
    usage = Usage(calls=2, cost=0.001)
    if said == "?":
        failure = Failure(stage="verify", error="ParseError", message="")
        return Report(generation=generation, facts=(JudgedFact(fact=fact, failure=failure),), usage=usage)
    verdict = Verdict(label=SAID[said], judge="j", probability=probability)
    return Report(generation=generation, facts=(JudgedFact(fact=fact, verdict=verdict),), usage=usage)


def run(*pairs):
    return [report(n, *one) for n, one in enumerate(pairs)]


def test_by_hand():
    found = measures("x", run(("S", "s"), ("S", "s"), ("S", "n"), ("C", "c"), ("N", "s"), ("S", "?")), speed=2.0)
    assert (found.n, found.supported, found.clusters) == (6, 4, 6)
    assert found.coverage == pytest.approx(5 / 6)
    assert found.unjudged == {"verify:ParseError": 1}
    assert found.accuracy == pytest.approx(3 / 5)
    assert found.recall_supported == pytest.approx(2 / 3)
    assert found.recall_not_supported == pytest.approx(1 / 2)
    assert found.balanced_accuracy == pytest.approx(7 / 12)
    assert found.balanced_accuracy_all == pytest.approx((2 / 4 + 1 / 2) / 2)  # the unjudged claim counts as wrong
    assert found.f1 == pytest.approx(2 * 1 / (2 * 1 + 1 + 1))
    assert found.f1_supported == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert found.confusion["supported"] == {"supported": 2, "not_enough_evidence": 1, "unjudged": 1}
    assert found.mcc == pytest.approx((2 * 1 - 1 * 1) / (3 * 2 * 3 * 2) ** 0.5)
    assert (found.auc, found.ece, found.bins, found.threshold) == (None, None, (), None)
    assert found.intervals["balanced_accuracy"] == (found.low, found.high)
    assert (found.calls, found.cost_per_1000, found.pairs_per_s) == (2.0, pytest.approx(1.0), 2.0)


def test_probabilities():
    rows = run(("S", "s", 0.9), ("S", "s", 0.6), ("N", "s", 0.6), ("N", "n", 0.1))
    found = measures("x", rows)
    assert found.auc == pytest.approx((4 - 0.5) / 4)
    assert found.brier == pytest.approx((0.01 + 0.16 + 0.36 + 0.01) / 4)
    assert sum(one.n for one in found.bins) == 4
    assert found.average_precision == pytest.approx((1 / 1 + 2 / 3) / 2)  # .1 first, then both at .6


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=2, max_size=30))
def test_area_is_the_share_of_pairs_in_the_right_order(rows):
    gold, score = np.array([g for g, _ in rows]), np.array([s for _, s in rows])
    positive, negative = score[gold], score[~gold]
    value = area(gold, score)
    if not len(positive) or not len(negative):
        assert value is None
        return
    wins = sum(float(a > b) + float(a == b) / 2 for a in positive for b in negative)
    assert value == pytest.approx(wins / (len(positive) * len(negative)))


def test_one_class_alone_leaves_figures_undefined():
    found = measures("x", run(("S", "s", 0.9), ("S", "n", 0.2)))
    assert (found.balanced_accuracy, found.recall_not_supported, found.auc) == (None, None, None)
    assert found.accuracy == 0.5
    assert (found.mcc, found.threshold, found.balanced_accuracy_tuned) == (None, None, None)
    empty = measures("x", run(("S", "?")))
    assert (empty.accuracy, empty.coverage, empty.balanced_accuracy_all) == (None, 0.0, None)


def test_intervals_resample_whole_clusters():
    """Forty copies of the same two claims in two clusters say no more than two."""
    rows = [report(f"{n}-{k}", "S" if n else "N", "s" if n else "n", cluster=str(n)) for n in (0, 1) for k in range(40)]
    many = [report(n, "S" if n % 2 else "N", "s" if n % 3 else "n") for n in range(80)]
    assert measures("x", rows).low in (None, 1.0)
    found = measures("x", many)
    assert found.low < found.balanced_accuracy < found.high
    assert found == measures("x", many)


def test_minimal_pairs():
    rows = [
        report("1a", "S", "s", 0.9, pair="1"), report("1b", "n", "n", 0.2, pair="1", error_type="number"),
        report("2a", "S", "s", 0.8, pair="2"), report("2b", "n", "s", 0.8, pair="2", error_type="name"),
        report("3a", "S", "?", pair="3"), report("3b", "n", "n", 0.1, pair="3", error_type="name"),
    ]  # fmt: skip
    found = measures("x", rows)
    assert (found.pairs, found.pairs_right, found.pairs_ordered) == (2, 0.5, 0.75)
    assert found.error_types == {"name": (2, 0.5), "number": (1, 1.0)}


def test_judges_that_read_nothing():
    found = {one.name: one for one in trivial(run(("S", "s"), ("N", "n"), ("N", "n"), ("N", "n")))}
    assert found["always supported"].balanced_accuracy == 0.5
    assert found["always not supported"].f1 == pytest.approx(6 / 7)
    assert found["a fair coin (expected)"].f1 == pytest.approx(0.75 / 1.25)
    assert found["share of words, best threshold (optimistic)"].balanced_accuracy >= 0.5


def test_paired_judges():
    gold = "SSSSNNNNSN"
    first = [report(n, one, "s" if one == "S" else "n") for n, one in enumerate(gold)]
    second = [report(n, one, "s") for n, one in enumerate(gold)]
    found = paired("x", first, second)
    assert (found.n, found.only_first, found.only_second) == (10, 5, 0)
    assert found.p == pytest.approx(2 / 2**5)
    assert (found.first, found.second, found.difference) == (1.0, 0.5, 0.5)
    assert found.low <= 0.5 <= found.high
    assert paired("x", first, first).p == 1.0
    lost = [report(n, one, "?") for n, one in enumerate(gold)]
    assert paired("x", first, lost).left_out == 10
    with pytest.raises(UsageError, match="no claim in common"):
        paired("x", first, [report("other", "S", "s")])


def test_c5_three_ways_are_kept_beside_the_two():
    found = measures("x", run(("S", "s"), ("N", "n"), ("N", "n"), ("C", "c"), ("C", "s"), ("N", "i")))
    assert found.confusion == {
        "supported": {"supported": 1},
        "not_enough_evidence": {"not_enough_evidence": 2, "irrelevant": 1},
        "contradicted": {"contradicted": 1, "supported": 1},
    }


def test_c2_c3_what_failed_is_in_no_mean_and_is_counted():
    found = measures("x", run(("S", "s", 0.9), ("N", "n", 0.3), ("S", "?"), ("N", "?"), ("N", "?")))
    assert (found.accuracy, found.coverage, found.unjudged) == (1.0, 0.4, {"verify:ParseError": 3})
    assert found.balanced_accuracy_all == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found.auc == 1.0
    assert "NaN" not in str(msgspec.json.encode(found))


def test_a_report_without_facts_is_unjudged_under_its_label():
    failed = Report(generation=report(1, "S", "s").generation, failure=Failure(stage="x", error="E", message=""))
    found = measures("x", [failed])
    assert (found.supported, found.confusion, found.unjudged) == (1, {"supported": {"unjudged": 1}}, {"x:E": 1})


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.2, 0.25, 0.7, 1.0])), min_size=1, max_size=25))
def test_no_threshold_is_better_than_the_best(rows):
    gold, score = np.array([g for g, _ in rows]), np.array([s for _, s in rows])
    at = threshold(gold, score)
    if at is None:
        assert gold.all() or not gold.any()
        return
    best = balanced(table(gold, score >= at))
    assert all(balanced(table(gold, score >= other)) <= best + 1e-9 for other in [*score, *np.linspace(-1, 2, 31)])


def test_a_threshold_that_knows_the_labels_flatters_and_the_cross_fitted_does_not():
    rng = np.random.default_rng(1)
    gold, score = rng.random(300) < 0.5, rng.random(300)
    groups = grouped([n // 3 for n in range(300)])
    tuned = balanced(table(gold, score >= threshold(gold, score)))
    assert tuned > 0.5
    assert cross_fitted(gold, score, groups) < tuned
    assert cross_fitted(gold, score, groups[:5]) is None
    assert mcc(table(gold, gold)) == pytest.approx(1.0)


def test_paired_runs_of_other_labels_are_refused():
    with pytest.raises(UsageError, match="the set was changed"):
        paired("x", [report(1, "S", "s")], [report(1, "N", "s")])


def test_verdicts_of_another_evaluator_are_paired_by_id(tmp_path):
    claims = [one.generation for one in run(("S", "s"), ("N", "n"), ("C", "c"), ("S", "s"))]
    path = tmp_path / "theirs.jsonl"
    path.write_text(
        '{"id": "1", "label": "REFUTED", "probability": 0.1}\n{"id": "0", "label": true, "probability": 0.9}\n'
        '{"id": "3", "label": null}\n',
        encoding="utf-8",
    )
    found = measures("x", predicted(claims, path))
    assert (found.n, found.coverage, found.judge) == (4, 0.5, "theirs")
    assert found.unjudged == {"verify:Missing": 1, "verify:NoLabel": 1}
    assert (found.accuracy, found.auc) == (1.0, 1.0)
    assert found.confusion["not_enough_evidence"] == {"contradicted": 1}
    for row, words in (
        ('{"id": "9", "label": true}', "'9' is not in the set"),
        ('{"id": "1", "label": "maybe"}', "'maybe' is none of"),
        ('{"id": "1", "label": true, "probability": 7}', "from 0 to 1"),
        ('{"label": true}', "must be the claim's id"),
        ('{"id": 1, "label": true}\n{"id": "1", "label": true}', "there twice"),
    ):
        path.write_text(row + "\n", encoding="utf-8")
        with pytest.raises(InputError, match=words):
            predicted(claims, path)
