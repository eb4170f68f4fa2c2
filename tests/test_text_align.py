"""Words found back in a text."""

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.align import find, find_all

TURIN = "Turin is far; Turin is old."
MILL = "The mill near the river was bought by Anna Brandt in 1890 for a small sum. It closed."


def test_u4_repeated_words_take_successive_places():
    assert find_all(["Turin", "Turin"], TURIN) == [(0, 5), (14, 19)]
    assert find_all(["Turin was old"], TURIN) == [None]
    assert find_all(["Turin", "Turin", "Turin"], TURIN)[2] is None


def test_u4_out_of_order_and_overlapping():
    assert find_all(["old", "Turin is", "is far; Turin"], TURIN) == [(23, 26), (0, 8), (6, 19)]


def test_u1_code_points():
    assert find("1977", "🚒🚒 The pump failed in 1977.") == (22, 26)


def test_taken_places_are_passed_over():
    assert find("Turin", TURIN, taken=[(0, 5)]) == (14, 19)
    assert find("Turin", TURIN, taken=[(3, 15)]) is None


def test_words_are_found_whole():
    assert find("art", "He started an art school.") == (14, 17)
    assert find("art", "He started.") is None
    assert find("生於", "他生於1950年") == (1, 3)


def test_normal_form():
    text = "“José”  sold\nthe\u200b MILL’s wheel; then José left."
    assert find(unicodedata.normalize("NFD", "josé"), text) == (1, 5)
    start, end = find("sold the mill's wheel", text) or (0, 0)
    assert text[start:end] == "sold\nthe\u200b MILL’s wheel"
    decomposed = unicodedata.normalize("NFD", "Here José lives")
    assert find("José", decomposed) == (5, 10)
    assert find("ﬁnal", "the final day") == (4, 9)


def test_quotes_around_the_needle():
    assert find('"Turin is old."', TURIN) == (14, 27)


def test_fuzzy_place_covers_whole_words():
    start, end = find("The mill near the rivr was bought by Anna Brandt", MILL) or (0, 0)
    assert MILL[start:end] == "The mill near the river was bought by Anna Brandt"


def test_fuzzy_never_changes_a_number_or_a_negation():
    assert find("bought by Anna Brandt in 1891 for a small sum", MILL) is None
    assert find("The mill near the river was not bought by Anna Brandt in 1890 for a small sum", MILL) is None


def test_nothing_to_find():
    assert find("", MILL) is None
    assert find(" “” ", MILL) is None
    assert find("Turin", "") is None
    assert find(MILL * 2, MILL) is None


WORDS = st.lists(st.sampled_from(["Turin", "mill", "1890", "é", "old", "他", "a"]), min_size=1, max_size=12)


@settings(deadline=None)
@given(WORDS, st.data())
def test_every_run_of_words_is_found(words, data):
    text = " ".join(words)
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    needle = " ".join(words[first : last + 1])
    span = find(needle, text)
    assert span is not None and text[span[0] : span[1]] == needle
    assert find(needle.upper(), text) is not None


@settings(deadline=None)
@given(st.lists(st.text(max_size=12), max_size=6), st.text(max_size=60))
def test_places_lie_in_the_text(needles, text):
    places = find_all(needles, text)
    assert len(places) == len(needles)
    for span in places:
        assert span is None or 0 <= span[0] < span[1] <= len(text)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_a_text_is_found_in_itself(text):
    if any(map(str.isalnum, text)):
        assert find(text, text) == (0, len(text))


def test_long_runs_of_letters_and_many_needles():
    assert find("a" * 5000, "a" * 100_000) is None
    places = find_all(["a"] * 30_000, "a " * 30_000)
    assert places[-1] == (59_998, 59_999)
