"""How the embedded judge reads texts: places, stems, values, negation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.verifiers.reading import normal, read
from veridical.verifiers.words import OPPOSITES, stem


def numbers(text: str) -> set[str]:
    return {word.number for unit in read(text) for word in unit.words if word.number}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234 tiles", "1234 tiles"),
        ("twelve boats", "12 boats"),
        ("the fifth king", "the 5th king"),
        ("1.5 million people", "1,500,000 people"),
        ("on 3 March 1942", "March 3, 1942"),
        ("in Sept 1999", "in September 1999"),
        ("the 1990s", "1990"),
        ("١٩٨٧", "1987"),
    ],
)
def test_two_spellings_of_a_number_have_one_value(one: str, other: str) -> None:
    assert numbers(one) == numbers(other) != set()


def test_may_is_a_month_only_as_a_name() -> None:
    assert "month 5" in numbers("born on 2 May 1900")
    assert numbers("she may come") == set()


def test_a_number_too_long_for_a_float_keeps_its_digits() -> None:
    assert numbers("12345678901234567890 atoms") != numbers("12345678901234567891 atoms")


def test_a_code_is_no_arithmetic() -> None:
    assert numbers("logged at 27T10") == {"27t10"}


def test_characters_without_spaces_are_words() -> None:
    (unit,) = read("東京は首都です")
    assert unit.order == list("東京は首都です")


@pytest.mark.parametrize(
    ("one", "other"), [("moved", "moves"), ("cities", "city"), ("planned", "plan"), ("Émile", "emile")]
)
def test_inflected_forms_meet(one: str, other: str) -> None:
    assert read(one)[0].order == read(other)[0].order


def test_negation_reaches_three_words() -> None:
    (unit,) = read("She didn't marry him in that small and quiet town.")
    assert stem("marry") in unit.negated
    assert stem("town") in unit.plain
    assert stem("town") not in unit.negated


def test_opposites_go_both_ways_and_never_to_themselves() -> None:
    assert all(word in OPPOSITES[other] for word, others in OPPOSITES.items() for other in others)
    assert all(word not in others for word, others in OPPOSITES.items())


def test_blank_text_has_no_unit() -> None:
    assert read(" \n\u200b ") == read("— … !") == ()


@given(st.text())
def test_words_stand_where_they_say_in_order(text: str) -> None:
    end = 0
    for unit in read(text):
        assert 0 <= unit.start < unit.end <= len(text)
        for word in unit.words:
            assert end <= word.start < word.end <= len(text)
            assert unit.start <= word.start
            assert word.end <= unit.end
            assert word.stem
            end = word.end


def test_the_years_in_brackets_behind_a_name_are_those_of_birth_and_death():
    (lead, _) = read("Chinua Achebe (16 November 1930 – 21 March 2013) was a writer. He was born in Ogidi.")
    order = lead.order
    assert order.index(normal("born")[0]) < order.index("1930") < order.index(normal("died")[0]) < order.index("2013")
    for text in ("He was president (2010–2015) of it.", "The mill (built 1890) closed.", "Ana (born 1950) wrote."):
        assert normal("died")[0] not in read(text)[0].order
