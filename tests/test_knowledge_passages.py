import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.knowledge.passages import cut, cut_like_factscore, size

TEXT = (
    "The mill opened in 1890. It burned in 1902.\n\n"
    "A new one was built by Ana Brandt, whose family ran it until 1950. It then closed. It is a museum now.\n\n"
    "Nobody lives there."
)


def test_f40_600_words_pack_as_256_256_90_tokens():
    words = [f"w{number}" for number in range(600)]
    passages = cut_like_factscore([" ".join(words)])
    assert [len(passage.split()) for passage in passages] == [255, 256, 89]  # and the two marks of begin and end
    assert " ".join(passages).split() == words


def test_f40_sections_are_packed_together():
    assert cut_like_factscore(["a b c", "d e", " "], limit=4) == ["a b c", "d e"]
    assert cut_like_factscore(["a b c", "d e"], limit=6) == ["a b c", "d e"]
    assert cut_like_factscore(["a b c", "d e"], limit=7) == ["a b c d", "e"]
    assert cut_like_factscore(["", "  "]) == []


def test_a_text_within_the_limit_is_one_passage():
    assert cut(TEXT) == [TEXT]


def test_paragraphs_are_kept_whole_while_they_fit():
    assert cut(TEXT, limit=23) == TEXT.split("\n\n")


def test_a_long_paragraph_is_cut_between_sentences():
    assert cut(TEXT, limit=15)[1:] == [
        "A new one was built by Ana Brandt, whose family ran it until 1950.",
        "It then closed. It is a museum now.\n\nNobody lives there.",
    ]


def test_single_line_ends_part_paragraphs_but_wrapped_lines_do_not():
    assert cut("One is here.\nTwo is there.\nThree is gone.", limit=6) == [
        "One is here.\nTwo is there.",
        "Three is gone.",
    ]
    assert cut("One is\nhere.\nTwo is\nthere.", limit=3) == ["One is\nhere.", "Two is\nthere."]


def test_an_overlong_sentence_is_cut_between_words():
    assert cut("a b c d e f g", limit=3) == ["a b c", "d e f", "g"]


def test_a_run_without_blanks_is_cut_too():
    assert max(map(len, cut("x" * 10_000, limit=4))) <= 4 * 48
    assert "".join(cut("x" * 10_000, limit=4)) == "x" * 10_000


def test_scripts_without_blanks_count_characters():
    assert size("張三是中國作家。") == 8
    assert cut("張三是中國作家。他生於1950年。", limit=8) == ["張三是中國作家。", "他生於1950年。"]


def test_a_limit_below_one_is_refused():
    for function in (cut, lambda text, limit: cut_like_factscore([text], limit=limit)):
        with pytest.raises(ValueError, match="at least 1 word"):
            function("a", limit=0)


@given(st.text(alphabet=st.sampled_from("ab .!\n\t張é\u200b-1"), max_size=200), st.integers(1, 12))
def test_passages_hold_to_the_limit_and_lose_nothing(text, limit):
    passages = cut(text, limit=limit)
    assert all(1 <= size(passage) <= limit and passage == passage.strip() for passage in passages)
    assert "".join("".join(passages).split()) == "".join(text.split())
    place = 0
    for passage in passages:
        place = text.index(passage, place) + len(passage)
