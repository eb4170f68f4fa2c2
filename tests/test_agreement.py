"""Coefficients of agreement against values that textbooks print, and where they are undefined."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.agreement import NO_PAIRS, ONE_KIND, Mark, alpha, cohen, fleiss, human_agreement
from veridical.errors import UsageError

FLEISS_1971_SHAPE = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""
"""Ten items, fourteen raters, five categories: the worked example of Wikipedia's "Fleiss' kappa" (0.210)."""
CODERS = (
    "* * * * * 3 4 1 2 1 1 3 3 * 3",
    "1 * 2 1 3 3 4 3 * * * * * * *",
    "* * 2 1 3 4 4 * 2 1 1 3 3 * 4",
)
"""The worked example of Wikipedia's "Krippendorff's alpha" (nominal: 0.691)."""


def marks(*rows):
    return [Mark(str(item), f"p{person}", label) for item, row in enumerate(rows) for person, label in enumerate(row)]


def named(found, name):
    return next(one for one in found.coefficients if one.name == name)


def test_cohen_of_a_worked_example():
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen(pairs) == pytest.approx(0.4)


def test_fleiss_of_a_worked_example():
    rows = [
        [str(c) for c, n in enumerate(map(int, line.split())) for _ in range(n)]
        for line in FLEISS_1971_SHAPE.split("\n")
        if line
    ]
    assert fleiss(rows) == pytest.approx(0.210, abs=5e-4)


def test_alpha_of_a_worked_example():
    columns = zip(*(line.split() for line in CODERS), strict=True)
    rows = [labels for column in columns if len(labels := [label for label in column if label != "*"]) > 1]
    assert alpha(rows) == pytest.approx(0.691, abs=5e-4)


def test_m2_labels_of_one_kind_leave_kappa_undefined_and_raw_agreement_at_1():
    found = human_agreement(marks(*[("supported", "supported")] * 5))
    assert named(found, "raw").value == 1.0
    for name in ("fleiss_kappa", "krippendorff_alpha", "cohen_kappa"):
        assert named(found, name).value is None
        assert named(found, name).note == ONE_KIND


def test_m2_an_annotator_without_labels_and_items_with_one():
    found = human_agreement([Mark("1", "a", "x"), Mark("2", "a", "y")])
    assert (found.items, found.doubly, found.annotators) == (2, 0, ("a",))
    assert {one.note for one in found.coefficients} == {NO_PAIRS}
    assert any("one label only" in note for note in found.notes)


def test_skew_is_said():
    found = human_agreement(marks(*[("s", "s")] * 19, ("s", "n")))
    assert named(found, "raw").value == pytest.approx(0.95)
    assert named(found, "cohen_kappa").value == pytest.approx(0.0)
    assert any("'s'" in note and "raw agreement" in note for note in found.notes)


def test_fleiss_leaves_out_items_with_fewer_labels_and_says_how_many():
    found = human_agreement([*marks(("s", "n", "s"), ("n", "n", "n")), Mark("9", "p0", "s"), Mark("9", "p1", "s")])
    assert "1 have fewer" in named(found, "fleiss_kappa").note
    assert named(found, "krippendorff_alpha").items == 3


def test_a_later_label_takes_the_place_of_the_earlier():
    found = human_agreement([Mark("1", "a", "s"), Mark("1", "b", "n"), Mark("1", "a", "n"), *marks(("q", "r"))[:0]])
    assert named(found, "raw").value == 1.0


def test_no_labels_are_refused():
    with pytest.raises(UsageError, match="no labels"):
        human_agreement([])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_coefficients_are_at_most_1_and_do_not_depend_on_order(pairs):
    for of in (cohen, fleiss, alpha):
        value = of(pairs)
        assert value is None or value <= 1 + 1e-12
        turned = of([(b, a) for a, b in reversed(pairs)])
        assert value == pytest.approx(turned) if value is not None else turned is None
    if cohen(pairs) is not None and all(a == b for a, b in pairs):
        assert cohen(pairs) == fleiss(pairs) == alpha(pairs) == 1


def test_intervals_hold_the_value_and_repeat():
    rows = [("s", "s"), ("s", "n"), ("n", "n"), ("n", "n"), ("s", "s"), ("s", "n"), ("n", "s"), ("n", "n")] * 5
    first, again = human_agreement(marks(*rows)), human_agreement(marks(*rows))
    assert first == again
    kappa = named(first, "cohen_kappa")
    assert kappa.low < kappa.value < kappa.high


def test_raw_has_an_interval_where_items_have_unlike_many_labels():
    rows = [("s", "s", "n"), ("s", "n"), ("n", "n"), ("s", "s", "s"), ("n", "s", "n", "n")] * 4
    raw = named(human_agreement(marks(*rows)), "raw")
    assert raw.value == pytest.approx((1 + 0 + 1 + 3 + 3) / (3 + 1 + 1 + 3 + 6))
    assert raw.low < raw.value < raw.high
