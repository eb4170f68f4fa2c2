"""Calibration maps: against scikit-learn and scipy, and what must hold of every one."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.calibration import (
    Calibration,
    brier,
    cross_fit,
    expected_calibration_error,
    fit_isotonic,
    fit_platt,
)
from veridical.errors import InputError, UsageError

RNG = np.random.default_rng(7)
P = RNG.random(400).round(2)
Y = (RNG.random(400) < P**2).astype(int)
FITS = [fit_isotonic, fit_platt]
pairs = st.lists(
    st.tuples(st.one_of(st.sampled_from([0.0, 0.5, 1.0, 1e-300]), st.floats(0, 1)), st.integers(0, 1)),
    min_size=1,
    max_size=40,
)


def log_odds(p):
    held = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(held / (1 - held))


# --- isotonic


def test_isotonic_is_that_of_scikit_learn_between_its_ends():
    isotonic = pytest.importorskip("sklearn.isotonic")
    theirs = isotonic.IsotonicRegression(out_of_bounds="clip").fit(P, Y)
    at = np.linspace(0, 1, 1001)
    expected, found = theirs.predict(at), fit_isotonic(P, Y).map(at)
    inner = [value for _, value in fit_isotonic(P, Y).knots if value not in (found.min(), found.max())]
    same = (expected >= min(inner)) & (expected <= max(inner))
    assert same.sum() > 500
    assert np.abs(expected - found)[same].max() < 1e-6
    assert expected.min() == 0 < found.min()
    assert found.max() < 1


def test_isotonic_is_the_closest_rising_map():
    """Against scipy's own pooling of adjacent violators; no outermost block is pure here."""
    optimize = pytest.importorskip("scipy.optimize")
    y = np.array([1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0])
    p = np.linspace(0.05, 0.95, len(y))
    assert fit_isotonic(p, y).map(p) == pytest.approx(optimize.isotonic_regression(y.astype(float)).x, abs=1e-12)


@pytest.mark.parametrize(
    ("p", "y", "knots"),
    [
        ([0.5], [1], ((0.5, 2 / 3),)),
        ([0.2, 0.3, 0.9], [0, 0, 0], ((0.2, 1 / 5), (0.9, 1 / 5))),
        ([0.2, 0.8], [0, 1], ((0.2, 1 / 3), (0.8, 2 / 3))),
        ([0.2, 0.8], [1, 0], ((0.2, 0.5), (0.8, 0.5))),
        ([0.4, 0.4], [0, 1], ((0.4, 0.5),)),
        # one fact at 0 would be 1/3; its neighbours say 1/10, which is closer to 0
        ([0.1, *[0.5] * 10], [0, 1, *[0] * 9], ((0.1, 0.1), (0.5, 0.1))),
    ],
)
def test_isotonic_by_hand(p, y, knots):
    found = fit_isotonic(p, y).knots
    assert [x for x, _ in found] == [x for x, _ in knots]
    assert [v for _, v in found] == pytest.approx([v for _, v in knots])


# --- Platt


def test_platt_is_the_logistic_regression_of_smoothed_labels():
    optimize = pytest.importorskip("scipy.optimize")
    x, hits = log_odds(P), Y.sum()
    target = np.where(Y == 1, (hits + 1) / (hits + 2), 1 / (len(Y) - hits + 2))

    def loss(at):
        z = at[0] * x + at[1]
        return (np.logaddexp(0, z) - target * z).sum()

    def gradient(at):
        rest = 1 / (1 + np.exp(-(at[0] * x + at[1]))) - target
        return np.array([rest @ x, rest.sum()])

    theirs = optimize.minimize(loss, [1.0, 0.0], jac=gradient, tol=1e-12)
    ours = fit_platt(P, Y)
    assert [ours.slope, ours.offset] == pytest.approx(theirs.x, abs=1e-6)


def test_platt_is_that_of_scikit_learn():
    calibration = pytest.importorskip("sklearn.calibration")
    theirs = calibration._SigmoidCalibration().fit(log_odds(P), Y)
    ours = fit_platt(P, Y)
    assert [ours.slope, ours.offset] == pytest.approx([-theirs.a_, -theirs.b_], abs=1e-4)
    least = 1 / (len(Y) + 2)
    expected = np.clip(theirs.predict(log_odds(P)), least, 1 - least)
    assert ours.map(P) == pytest.approx(expected, abs=1e-4)


def test_labels_against_the_judge_make_a_flat_map():
    flat = fit_platt([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0])
    assert flat.slope == 0
    assert flat(0.1) == flat(0.9) == pytest.approx(0.5)


# --- every map


@pytest.mark.parametrize("fit", FITS)
@given(data=pairs, at=st.lists(st.floats(0, 1), min_size=2))
def test_never_falls_and_is_never_sure(fit, data, at):
    calibration = fit(*zip(*data, strict=True))
    values = calibration.map(sorted(at))
    assert (np.diff(values) >= -1e-12).all()
    assert ((values > 0) & (values < 1)).all()
    assert calibration(at[0]) in values


@pytest.mark.parametrize("fit", FITS)
@given(data=pairs)
def test_order_of_the_facts_does_not_matter(fit, data):
    there, back = fit(*zip(*data, strict=True)), fit(*zip(*reversed(data), strict=True))
    at = np.linspace(0, 1, 11)
    assert there.map(at) == pytest.approx(back.map(at), abs=1e-6)


@pytest.mark.parametrize("fit", FITS)
@given(data=pairs)
def test_json_gives_the_same_map_back(fit, data, tmp_path_factory):
    calibration = fit(*zip(*data, strict=True), name="jüdge")
    path = tmp_path_factory.mktemp("c") / "map.json"
    calibration.save(path)
    assert Calibration.load(path) == calibration
    assert Calibration.load(path).fingerprint == calibration.fingerprint


@pytest.mark.parametrize("fit", FITS)
def test_on_the_facts_that_it_was_fitted_on_it_helps(fit):
    assert brier(fit(P, Y).map(P), Y) < brier(P, Y) - 0.02
    assert expected_calibration_error(fit(P, Y).map(P), Y) < expected_calibration_error(P, Y) / 2
    assert fit(P, Y).n == len(P)


def test_what_moves_a_number_moves_the_fingerprint():
    made = [fit_isotonic(P, Y), fit_platt(P, Y), fit_platt(P[1:], Y[1:]), fit_platt(P, Y, name="other")]
    assert len({calibration.fingerprint for calibration in made}) == len(made)


@pytest.mark.parametrize("bad", [[-0.1], [1.1], [float("nan")], [[0.5]]])
def test_only_probabilities_are_mapped(bad):
    for fit in FITS:
        with pytest.raises(UsageError):
            fit(P, Y).map(bad)


@pytest.mark.parametrize(("p", "y"), [([], []), ([0.5], [0, 1]), ([0.5], [2]), ([0.5], [0.5]), ([2.0], [1])])
def test_what_no_map_can_be_fitted_on_is_refused(p, y):
    for use in (*FITS, brier, expected_calibration_error):
        with pytest.raises(UsageError):
            use(p, y)


# --- files


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"kind": "magic"}, "kind", "isotonic or platt"),
        ({"slope": "1"}, "slope", "Expected"),
        ({"slope": -1.0}, "slope", "at least 0"),
        ({"slope": None}, "slope", "at least 0"),
        ({"offset": None}, "offset", "number"),
        ({"n": 0}, "n", "at least one fact"),
        ({"n": None}, "n", "Expected"),
        ({"extra": 1}, "extra", "unknown field"),
        ({"kind": "isotonic"}, "knots", "at least one"),
        ({"kind": "isotonic", "knots": [[0.5, 1.0]]}, "knots", "between 0 and 1"),
        ({"kind": "isotonic", "knots": [[0.5, 0.5], [0.4, 0.6]]}, "knots", "rise"),
        ({"kind": "isotonic", "knots": [[0.4, 0.6], [0.5, 0.5]]}, "knots", "rise"),
        ({"kind": "isotonic", "knots": [[0.4]]}, "knots", "length"),
    ],
)
def test_a_wrong_file_is_named_with_its_field(change, field, words, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"kind": "platt", "n": 4, "slope": 1.0, "offset": 0.0} | change))
    with pytest.raises(InputError, match=words) as caught:
        Calibration.load(path)
    assert caught.value.field == field
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"n": 3}'])
def test_what_is_no_map_is_refused_by_file(content, tmp_path):
    path = tmp_path / "map.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"map\.json"):
        Calibration.load(path)
    with pytest.raises(InputError, match="cannot be read"):
        Calibration.load(tmp_path / "none.json")


# --- measures


def test_measures_by_hand():
    p, y = [0.1, 0.15, 0.9, 0.95], [0, 1, 1, 1]
    assert brier(p, y) == pytest.approx((0.01 + 0.7225 + 0.01 + 0.0025) / 4)
    # bin [.1, .2): says .125, is .5; bin [.9, 1]: says .925, is 1
    assert expected_calibration_error(p, y) == pytest.approx((2 * 0.375 + 2 * 0.075) / 4)
    assert expected_calibration_error(p, y, bins=1) == pytest.approx(0.75 - 0.525)
    assert expected_calibration_error(p, y, bins=2, binning="mass") == pytest.approx((2 * 0.375 + 2 * 0.075) / 4)
    assert expected_calibration_error([1.0, 0.0], [1, 0]) == 0


def test_facts_of_one_probability_share_a_bin_of_equal_mass():
    p, y = [0.5] * 6 + [0.9] * 2, [1, 0] * 3 + [1, 1]
    assert expected_calibration_error(p, y, bins=4, binning="mass") == pytest.approx(2 * 0.1 / 8)
    assert expected_calibration_error(p[::-1], y[::-1], bins=4, binning="mass") == pytest.approx(2 * 0.1 / 8)


@pytest.mark.parametrize("settings", [{"bins": 0}, {"binning": "height"}])
def test_no_such_bins(settings):
    with pytest.raises(UsageError):
        expected_calibration_error(P, Y, **settings)


# --- cross-fitting


def test_cross_fit_never_shows_a_cluster_its_own_labels():
    clusters = [f"c{n % 8}" for n in range(len(P))]
    seen = []

    def fit(p, y):
        seen.append(len(y))
        return fit_platt(p, y)

    found = cross_fit(P, Y, clusters, fit=fit, folds=4)
    assert sorted(seen) == [300] * 4
    flipped = Y.copy()
    own = np.array(clusters) == "c3"
    flipped[own] = 1 - flipped[own]
    again = cross_fit(P, flipped, clusters, fit=fit_platt, folds=4)
    assert found[own] == pytest.approx(again[own])
    assert not np.allclose(found, again)


def test_cross_fit_needs_clusters_to_part():
    for clusters in (["a"] * len(P), ["a", "b"]):
        with pytest.raises(UsageError):
            cross_fit(P, Y, clusters)
