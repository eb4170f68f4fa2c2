"""Intervals, tests and correlations, against scipy where it is installed and against values worked out by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.errors import UsageError
from veridical.stats import bca, bootstrap, holm, pearson, randomisation, ranks, spearman

numbers = st.lists(st.floats(0, 1), min_size=2, max_size=30)


def skewed(n, seed=1):
    return np.random.default_rng(seed).beta(8, 2, n)


def test_bca_as_scipy_computes_it():
    stats = pytest.importorskip("scipy.stats")
    for n in (25, 40, 200):  # below that, resamples equal the data but for rounding, which scipy does not allow for
        data = skewed(n)
        theirs = stats.bootstrap((data,), np.mean, n_resamples=999, method="BCa", rng=np.random.default_rng(0))
        jackknife = (data.sum() - data) / (n - 1)
        ours = bca(theirs.bootstrap_distribution, float(data.mean()), jackknife)
        assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=1e-8)


def test_percentile_ends_without_bias_and_skew():
    drawn = np.linspace(-1, 1, 2001)
    assert bca(drawn, 0.0, np.array([-1.0, 1.0])) == pytest.approx((-0.95, 0.95), abs=1e-9)


def test_interval_of_an_easy_sample_is_near_the_normal_one():
    data = np.random.default_rng(3).normal(0.5, 0.1, 400)
    low, high = bootstrap(data, resamples=4000)
    half = 1.96 * data.std(ddof=1) / 20
    assert (low, high) == pytest.approx((data.mean() - half, data.mean() + half), abs=0.0015)


def test_clusters_are_resampled_whole():
    values = np.repeat(skewed(30), 10)
    clusters = np.repeat(np.arange(30), 10)
    whole, torn = bootstrap(values, clusters), bootstrap(values)
    alone = bootstrap(skewed(30))
    assert whole == pytest.approx(alone, abs=1e-12)
    assert torn[1] - torn[0] < 0.5 * (whole[1] - whole[0])


def test_unequal_clusters_weigh_by_their_size():
    low, high = bootstrap([0.0] * 9 + [1.0], [0] * 9 + [1])
    assert (low, high) == (0, 1)
    assert bootstrap([0.2, 0.4, 0.6, 0.8], [5, -1, 5, -1]) is not None


def test_a_statistic_of_the_callers_own():
    data = skewed(40).tolist()
    assert bootstrap(data, statistic=lambda v: math.fsum(v) / len(v)) == pytest.approx(bootstrap(data), abs=1e-12)


@pytest.mark.parametrize("values, clusters", [([], None), ([0.5], None), ([0.1, 0.9], [3, 3]), ([1.0] * 9, None)])
def test_no_interval_where_nothing_varies(values, clusters):
    assert bootstrap(values, clusters) is None


def test_equal_up_to_rounding_is_equal():
    assert bootstrap([0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2]) is None


def test_seeds_are_explicit():
    data = skewed(25)
    assert bootstrap(data, seed=7) == bootstrap(data, seed=7)
    assert bootstrap(data, seed=7) != bootstrap(data, seed=8)


def test_many_items_are_drawn_in_portions():
    low, high = bootstrap(skewed(30_000), resamples=100)
    assert 0.79 < low < high < 0.81


@pytest.mark.parametrize("level, resamples", [(0, 10), (1, 10), (95, 10), (0.9, 0)])
def test_impossible_settings(level, resamples):
    with pytest.raises(UsageError):
        bootstrap([0, 1], level=level, resamples=resamples)


@given(numbers, st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_intervals_stay_within_the_data(values, seed):
    found = bootstrap(values, resamples=200, seed=seed)
    if found:
        assert min(values) - 1e-9 <= found[0] <= found[1] <= max(values) + 1e-9


@given(numbers, st.randoms())
@settings(deadline=None, max_examples=30)
def test_the_names_of_clusters_do_not_matter(values, random):
    clusters = [random.randrange(5) for _ in values]
    order = sorted(set(clusters))
    renamed = [10 * order.index(c) - 3 for c in clusters]
    assert bootstrap(values, clusters, resamples=100) == bootstrap(values, renamed, resamples=100)


@pytest.mark.slow
@pytest.mark.parametrize("a, b", [(8, 2), (2, 0.3)])
@pytest.mark.parametrize("n, least", [(5, 0.74), (10, 0.82), (20, 0.88), (50, 0.90), (200, 0.92)])
def test_coverage_is_what_the_docs_say(n, least, a, b):
    rng = np.random.default_rng(n)
    hits = 0
    for seed in range(400):
        low, high = bootstrap(rng.beta(a, b, n), resamples=400, seed=seed)
        hits += low <= a / (a + b) <= high
    assert least <= hits / 400 <= 0.975


@pytest.mark.slow
def test_coverage_needs_clusters():
    rng = np.random.default_rng(0)
    whole = torn = 0
    for seed in range(200):
        centres = rng.beta(8, 2, 60)
        values = np.clip(np.repeat(centres, 5) + rng.normal(0, 0.01, 300), 0, 1)
        low, high = bootstrap(values, np.repeat(np.arange(60), 5), resamples=400, seed=seed)
        whole += low <= 0.8 <= high
        low, high = bootstrap(values, resamples=400, seed=seed)
        torn += low <= 0.8 <= high
    assert whole / 200 > 0.9 > 0.75 > torn / 200


def test_randomisation_by_hand():
    assert randomisation([1, 1, 1]) == 0.25
    assert randomisation([1, 1, 1, 1, 1, 1]) == 2 / 64
    assert randomisation([1, -1]) == 1
    assert randomisation([0, 0, 0]) == 1
    assert randomisation([]) == 1


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
def test_randomisation_counts_every_pattern(differences):
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    wanted = sum(total >= abs(sum(differences)) for total in sums) / len(sums)
    assert randomisation(differences) == wanted
    assert randomisation([d * 0.1 for d in differences]) == wanted


def test_randomisation_as_scipy_computes_it():
    stats = pytest.importorskip("scipy.stats")
    data = np.random.default_rng(4).normal(0.3, 1, 12)
    theirs = stats.permutation_test((data,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert randomisation(data) == pytest.approx(theirs.pvalue, abs=1e-8)


def test_drawn_randomisation_is_near_the_exact_one_and_never_zero():
    data = np.random.default_rng(4).normal(0.3, 1, 14)
    exact = randomisation(data)
    drawn = randomisation(np.append(data, 0.0), resamples=20_000)
    assert drawn == pytest.approx(exact, abs=0.015)
    assert randomisation(np.ones(60), resamples=999) == 1 / 1000
    assert randomisation(np.ones(60), resamples=999, seed=1) == randomisation(np.ones(60), resamples=999, seed=1)


@pytest.mark.slow
def test_randomisation_rejects_as_often_as_it_says():
    rng = np.random.default_rng(0)
    rejected = sum(randomisation(rng.normal(0, 1, 10)) < 0.05 for _ in range(1000))
    assert 0.035 <= rejected / 1000 <= 0.065


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1, 1]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_never_lowers(ps):
    corrected = holm(ps)
    assert all(p <= c <= 1 for p, c in zip(ps, corrected, strict=True))
    for (p, c), (q, d) in itertools.combinations(zip(ps, corrected, strict=True), 2):
        assert (p - q) * (c - d) >= 0


A = [73.1, 71.6, 55.6, 52.8, 47.7, 46.6, 39.7, 38.9, 30.1, 25.1, 21.7, 17.3]
B = [59.9, 60.4, 46.3, 41.7, 40.3, 40.7, 36.5, 36.9, 27.9, 20.8, 17.1, 16.3]


def test_f16_the_two_published_estimators_correlate():
    found = pearson(A, B)
    assert found.value == pytest.approx(0.9915, abs=5e-5)
    assert found.low < found.value < found.high <= 1
    assert found.n == 12


def test_correlations_as_scipy_computes_them():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 9, 60), rng.integers(0, 9, 60) + rng.normal(0, 1, 60)
    assert pearson(x, y).value == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-8)
    assert spearman(x, y).value == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-8)
    assert ranks(x) == pytest.approx(stats.rankdata(x), abs=1e-12)


def test_ranks_by_hand():
    assert ranks([30, 10, 20, 10]).tolist() == [4, 1.5, 3, 1.5]


def test_m2_a_correlation_with_no_variation_is_undefined():
    for x, y in (([1, 1, 1], [1, 2, 3]), ([0.1 + 0.2, 0.3, 0.3], [0, 1, 2]), ([], []), ([1], [2])):
        assert pearson(x, y).value is None
    assert spearman([1, 1, 1], [1, 2, 3]).value is None


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=2, max_size=20))
@settings(deadline=None, max_examples=50)
def test_a_correlation_is_symmetric_and_in_range(pairs):
    x, y = zip(*pairs, strict=True)
    found = pearson(x, y, resamples=20)
    assert pearson(y, x, resamples=20).value == found.value
    if found.value is not None:
        assert -1 <= found.value <= 1
