import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.knowledge.titles import bare, normal, qualifier, tidy


@pytest.mark.parametrize("title", ["José  Peña_(painter)", " José Peña\u00a0(painter) ", "José Peña (painter)"])
def test_tidy_forgives_blanks_underscores_and_composition(title):
    assert tidy(title) == tidy(unicodedata.normalize("NFD", title)) == "José Peña (painter)"


def test_normal_forgives_case_and_width():
    assert normal("ＡＮＡ　BELMONTE ２") == normal("Ana_Belmonte 2") == "ana belmonte 2"


def test_bare_forgives_accents_punctuation_and_brackets():
    assert bare("J. R. R. Tolkien") == bare("J.R.R. Tolkien") == "jrrtolkien"
    assert bare("Łódź") == "lodz"
    assert bare("Jose Pena") == bare("José Peña (painter)")


def test_bare_keeps_what_tells_titles_apart():
    assert len({bare(title) for title in ("C", "C++", "C#", "C*")}) == 4
    assert bare("!!!")


def test_qualifier():
    assert qualifier("Ana_Belmonte_(Painter)") == "painter"
    assert qualifier("Ana Belmonte") == qualifier("(Painter)") == ""


@given(st.text())
def test_forms_are_stable(title):
    assert tidy(tidy(title)) == tidy(title)
    assert normal(normal(title)) == normal(title)
