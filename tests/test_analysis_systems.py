"""Analyses of groups and systems: by field, rarity, stability, two estimators."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from data import shared
from reports import report
from veridical.analysis import correlate, estimators, groups, rarity, stability
from veridical.analysis.fields import ordered
from veridical.analysis.rarity import decade, decade_name
from veridical.analysis.stability import draw, kendall
from veridical.errors import UsageError
from veridical.gold import gold_reports
from veridical.inputs import read
from veridical.metrics import parse

PLAIN = parse("factscore(gamma=0)")
PRECISION = parse("precision")
LEVELS = ["very rare", "rare", "medium", "freq", "very freq"]


def labelled(name, rule="paper"):
    return gold_reports(read(str(shared("factscore_labeled") / f"{name}.jsonl")), rule=rule)


# --- by field --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("InstructGPT", (0.145, 0.303, 0.477, 0.698, 0.760)),
        ("ChatGPT", (0.302, 0.456, 0.594, 0.780, 0.824)),
        ("PerplexityAI", (0.690, 0.795, 0.840, 0.891, 0.934)),
    ],
)
def test_precision_by_frequency(name, values):
    """S/(S+NS), mean over responses; pooled over facts the first of InstructGPT would be 0.137."""
    for rule in ("paper", "irrelevant-in"):
        found = groups(labelled(name, rule), "frequency", [PRECISION], resamples=10)
        assert [group.levels[0] for group in found.groups] == LEVELS
        assert tuple(group.scores[0].value for group in found.groups) == pytest.approx(values, abs=0.001)


def test_fields_are_crossed_in_natural_order():
    found = groups(labelled("ChatGPT"), "frequency, region", [PLAIN, parse("response_rate")], resamples=10)
    assert found.fields == ("frequency", "region")
    assert len(found.groups) == 20 and all(group.few for group in found.groups)
    assert [group.levels[0] for group in found.groups[::4]] == LEVELS
    assert sum(group.scores[0].n for group in found.groups) == found.overall.scores[0].n == 183
    assert sum(group.scores[0].abstained for group in found.groups) == 26


def test_f56_the_unscored_are_counted_in_their_group():
    reports = [report("S", kind="a"), report("-", kind="a"), report("S", kind="b", failed="ModelError"), report("N")]
    found = groups(reports, "kind", [PLAIN])
    assert [group.levels[0] for group in found.groups] == ["a", "b", ""]
    a, b, none = (group.scores[0] for group in found.groups)
    assert (a.value, a.abstained, b.value, b.unscored, none.value) == (1.0, 1, None, {"decompose:ModelError": 1}, 0.0)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (
            ["freq", "rare", "very freq", "medium", "very rare", ""],
            ["very rare", "rare", "medium", "freq", "very freq", ""],
        ),
        (["Very_High", "low", "High"], ["low", "High", "Very_High"]),
        (["10", "9", "-1", "2.5"], ["-1", "2.5", "9", "10"]),
        (["v10", "v9", "V1"], ["V1", "v9", "v10"]),
        (["hard", "easy"], ["easy", "hard"]),
        (["rare", "steak"], ["rare", "steak"]),
        (["x²", "x3", "1e400"], ["1e400", "x3", "x²"]),
    ],
)
def test_natural_order(levels, expected):
    assert ordered(levels) == expected
    assert ordered(levels[::-1]) == expected


@given(st.lists(st.text(max_size=6)))
def test_any_levels_can_be_ordered(levels):
    assert sorted(ordered(levels)) == sorted(set(levels))


def test_a_field_that_nobody_has():
    with pytest.raises(UsageError, match="no generation has a field 'colour'; there are kind"):
        groups([report("S", kind="a")], "colour", [PLAIN])
    for fields in ("", "a,a", ","):
        with pytest.raises(UsageError):
            groups([report("S", a="a")], fields, [PLAIN])


# --- rarity ----------------------------------------------------------------------------------------------------------


def test_decades():
    names = [decade_name(decade(count)) for count in (0, 0.5, 1, 9.9, 10, 999, 1000, 1e6)]
    assert names[:6] == ["below 1", "below 1", "1 to 9", "1 to 9", "10 to 99", "100 to 999"]
    assert names[6:] == ["1,000 to 9,999", "1,000,000 to 9,999,999"]


def test_a_metric_against_a_count():
    reports = [report("S" * n + "N" * (8 - n), id=str(n), views=10**n) for n in range(1, 8)]
    found = rarity([*reports, report("-", id="x", views="5"), report("S", id="y")], "views", PLAIN)
    assert (found.kind, found.without, found.abstained) == ("number", 1, 1)
    assert found.spearman.value == pytest.approx(1) and found.spearman.n == 7
    assert found.slope.value == pytest.approx(1 / 8)
    assert [step.name for step in found.steps][:2] == ["1 to 9", "10 to 99"]
    assert found.steps[0].score.value is None and found.steps[0].score.abstained == 1


@pytest.mark.parametrize("name", ["InstructGPT", "ChatGPT", "PerplexityAI"])
def test_rarer_is_worse_for_all(name):
    """FActScore, section 3.4."""
    found = rarity(labelled(name), "frequency", PLAIN)
    assert found.kind == "level" and [step.name for step in found.steps] == LEVELS
    assert found.spearman.low > 0 and found.slope.low > 0


@pytest.mark.parametrize(
    ("values", "why"),
    [(["red", "blue"], "counts, or levels"), ([-1, 2], "counts or levels"), (["rare", 3], "counts, or levels")],
)
def test_what_is_no_rarity(values, why):
    with pytest.raises(UsageError, match=why):
        rarity([report("S", id=str(n), at=value) for n, value in enumerate(values)], "at", PLAIN)
    with pytest.raises(UsageError, match="no generation has a field"):
        rarity([report("S")], "at", PLAIN)


def test_several_answers_to_a_prompt_are_one_pair():
    reports = [report("SN" if n % 2 else "S", id=str(n), prompt=str(n // 2), views=n // 2) for n in range(8)]
    assert rarity(reports, "views", PLAIN).spearman.n == 4


# --- stability -------------------------------------------------------------------------------------------------------


def system(share, seed, n=60, **more):
    draw_ = random.Random(seed)
    return [
        report(
            "".join("S" if draw_.random() < share else "N" for _ in range(10)),
            id=str(i),
            prompt=str(i),
            kind="abc"[i % 3],
        )
        for i in range(n)
    ]


def test_far_systems_keep_their_ranking():
    runs = [("weak", system(0.2, 1)), ("strong", system(0.8, 2))]
    found = stability(runs, PLAIN, sizes=(9, 30, 60), subsets=40, category="kind")
    assert [full.system for full in found.full] == ["strong", "weak"]
    assert found.categories == {"a": 20, "b": 20, "c": 20} and found.too_large == (60,)
    assert all(size.same_ranking == size.kendall == 1.0 and size.ranked == 40 for size in found.sizes)
    few, many = found.sizes
    assert all(a.sd > b.sd > 0 for a, b in zip(few.systems, many.systems, strict=True))
    assert many.systems[0].mean == pytest.approx(found.full[0].value, abs=0.02)


def test_near_systems_do_not():
    found = stability([("a", system(0.5, 1)), ("b", system(0.5, 2))], PLAIN, sizes=(6,))
    assert 0.1 < found.sizes[0].same_ranking < 0.95
    assert found.sizes[0].kendall == pytest.approx(2 * found.sizes[0].same_ranking - 1, abs=0.2)


def test_seeds_reproduce():
    runs = [("a", system(0.5, 1)), ("b", system(0.5, 2))]
    assert stability(runs, PLAIN, sizes=(6,), seed=3) == stability(runs, PLAIN, sizes=(6,), seed=3)
    assert stability(runs, PLAIN, sizes=(6,), seed=3) != stability(runs, PLAIN, sizes=(6,), seed=4)


def test_a_system_without_a_score_in_a_subset_is_counted():
    mute = [report("S" if n == 0 else "-", id=str(n), prompt=str(n)) for n in range(60)]
    found = stability([("a", system(0.5, 1)), ("mute", mute)], PLAIN, sizes=(6,), subsets=50)
    assert (found.full[0].system, found.full[0].scored, found.full[0].unscored) == ("mute", 1, 59)
    assert found.sizes[0].ranked == found.sizes[0].systems[0].subsets < 50
    one = stability([("a", system(0.5, 1))], PLAIN, sizes=(6,))
    assert one.sizes[0].same_ranking is None and one.sizes[0].systems[0].sd > 0


def test_a_system_that_never_answers_is_none_and_last():
    silent = [report("-", id=str(n), prompt=str(n)) for n in range(60)]
    found = stability([("silent", silent), ("a", system(0.5, 1))], PLAIN, sizes=(6,))
    assert found.full[-1].value is None and found.sizes[0].systems[-1].mean is None
    assert found.sizes[0].same_ranking is None


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 60), st.integers(0, 5))
def test_subsets_are_even_over_categories(sizes, n, seed):
    starts = np.cumsum([0, *sizes])
    pools = {str(k): list(range(starts[k], starts[k + 1])) for k in range(len(sizes))}
    chosen = draw(pools, n, np.random.default_rng(seed))
    assert len(chosen) == len(set(chosen)) == min(n, sum(sizes))
    counts = {name: len(set(pool) & set(chosen)) for name, pool in pools.items()}
    unfilled = [count for name, count in counts.items() if count < len(pools[name])]
    assert not unfilled or max(counts.values()) - min(unfilled) <= 1


def test_all_categories_get_their_turn_at_the_rest():
    pools = {name: list(range(10 * n, 10 * n + 10)) for n, name in enumerate("abcd")}
    rng = np.random.default_rng(0)
    firsts = [sum(place < 10 for place in draw(pools, 5, rng)) for _ in range(200)]
    assert 20 < firsts.count(2) < 90


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9))
def test_kendall_is_tau_b(pairs):
    x, y = zip(*pairs, strict=True)
    wanted = kendalltau(x, y).statistic
    found = kendall(x, y)
    assert (found is None) == bool(np.isnan(wanted))
    assert found is None or found == pytest.approx(wanted)


def test_stability_of_the_paper_s_three_systems():
    """Appendix B.4: "preserving ranking … in most cases", the variance lower with more prompts."""
    runs = [(name, list(labelled(name))) for name in ("InstructGPT", "ChatGPT", "PerplexityAI")]
    found = stability(runs, PLAIN, category="frequency,region")
    assert found.prompts == 183 and len(found.categories) == 20 and found.too_large == (200,)
    assert next(iter(found.categories)).startswith("very rare")
    assert [full.system for full in found.full] == ["PerplexityAI", "ChatGPT", "InstructGPT"]
    forty, hundred = found.sizes
    assert forty.same_ranking >= 0.95 and hundred.same_ranking == 1.0
    assert all(a.sd > b.sd for a, b in zip(forty.systems, hundred.systems, strict=True))


@pytest.mark.parametrize("settings", [{"sizes": ()}, {"sizes": (0,)}, {"subsets": 0}, {"category": "colour"}])
def test_wrong_stability(settings):
    with pytest.raises(UsageError):
        stability([("a", system(0.5, 1))], PLAIN, **settings)
    with pytest.raises(UsageError):
        stability([("a", []), ("a", [])], PLAIN)


# --- two estimators --------------------------------------------------------------------------------------------------

README = {  # FActScore's README: retrieval+ChatGPT, retrieval+llama+npm, 500 entities
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


def test_f16_the_papers_two_estimators():
    found = correlate(*zip(*README.values(), strict=True))
    assert round(found.pearson.value, 4) == 0.9915
    assert found.pearson.low < 0.9915 < found.pearson.high
    assert found.spearman.value > 0.95 and found.kendall > 0.9


def test_f15_f16_over_systems_and_responses():
    first = [(name, system(share, seed)) for seed, (name, share) in enumerate((("a", 0.2), ("b", 0.5), ("c", 0.9)))]
    second = [(name, reports[:-1]) for name, reports in reversed(first)]
    found = estimators(first, [*second, ("d", system(0.1, 9))], PLAIN)
    assert [row[0] for row in found.systems] == ["c", "b", "a"] and found.same_ranking
    assert found.over_systems.pearson.value == pytest.approx(1)
    assert found.over_systems.pearson.low is None, "three systems have no interval"
    assert found.over_responses.pearson.n == 3 * 59 and found.over_responses.mean_difference == 0
    assert (found.left_out, found.one_sided) == ({"missing in the second": 3}, ("d",))
    with pytest.raises(UsageError, match="no response in common"):
        estimators(first[:1], first[1:], PLAIN)
    assert estimators(first[:2], first[:2], PLAIN).over_systems is None


def test_correlation_of_nothing():
    with pytest.raises(UsageError):
        correlate([], [])
    with pytest.raises(UsageError):
        correlate([1.0], [1.0, 2.0])
    assert correlate([1.0, 1.0], [1.0, 2.0]).pearson.value is None
