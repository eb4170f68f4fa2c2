"""Windows of long evidence: whole sentences, none too long, nothing lost, always the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.normal import tokens
from veridical.types import Passage
from veridical.verifiers.windows import Line, lines, size, sliding, windows

WORD = st.sampled_from(
    ["Varga", "moved", "to", "Vienna", "in", "1956", "the", "mural", "rain", "painter", "東京都", "x" * 90]
)
SENTENCE = st.lists(WORD, min_size=1, max_size=30).map(lambda words: " ".join(words).capitalize() + ".")
TEXT = st.lists(SENTENCE, max_size=12).map(" ".join)
ANYTHING = TEXT | st.text(max_size=400)


def cut(texts: list[str], words: int) -> list[Line]:
    passages = [Passage(id=str(number), text=text) for number, text in enumerate(texts)]
    return [line for number, passage in enumerate(passages) for line in lines(number, passage, words)]


@given(texts=st.lists(ANYTHING, max_size=4), words=st.integers(8, 60))
@settings(max_examples=150, deadline=None)
def test_lines_are_places_of_the_text_and_lose_no_word(texts: list[str], words: int) -> None:
    found = cut(texts, words)
    for line in found:
        assert texts[line.passage][line.start : line.end] == line.text
        assert 0 < line.size <= words
    for number, text in enumerate(texts):
        own = [line for line in found if line.passage == number]
        assert [(line.start, line.end) for line in own] == sorted((line.start, line.end) for line in own)
        covered = {at for line in own for at in range(line.start, line.end)}
        assert all(at in covered for at, char in enumerate(text) if char.isalnum())


@given(claim=ANYTHING, texts=st.lists(ANYTHING, max_size=4), words=st.integers(8, 60), most=st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_windows_are_short_few_ordered_and_repeatable(claim: str, texts: list[str], words: int, most: int) -> None:
    evidence = cut(texts, words)
    found = windows(claim, evidence, words=words, most=most)
    assert bool(found) == bool(evidence)
    assert len(found) <= most
    for window in found:
        assert 0 < window.size <= words
        places = [evidence.index(line) for line in window.lines]
        assert places == sorted(set(places))
    assert len(set(found)) == len(found)
    assert windows(claim, evidence, words=words, most=most) == found
    if evidence and sum(line.size for line in evidence) <= words:
        assert [window.lines for window in found] == [tuple(evidence)]


@given(texts=st.lists(ANYTHING, max_size=4), words=st.integers(8, 60))
@settings(max_examples=150, deadline=None)
def test_sliding_windows_cover_everything_within_one_passage_each(texts: list[str], words: int) -> None:
    evidence = cut(texts, words)
    found = sliding(evidence, words)
    assert {line for window in found for line in window.lines} == set(evidence)
    assert all(len({line.passage for line in window.lines}) == 1 for window in found)
    assert all(window.size <= words for window in found)


def test_first_window_gathers_the_sentences_that_share_most_wherever_they_stand() -> None:
    filler = "It rained in the city and nobody came to see it that year. " * 20
    text = f"Ilse Varga was a painter. {filler}She moved to Vienna in 1956. {filler}"
    first, *rest = windows("Ilse Varga moved to Vienna in 1956.", cut([text], 40), words=40, most=4)
    assert "Ilse Varga was a painter." in first.text
    assert "She moved to Vienna in 1956." in first.text
    assert len(rest) == 3
    assert any("She moved to Vienna in 1956." in window.text for window in rest)


def test_a_sentence_longer_than_a_window_is_cut_at_blanks() -> None:
    text = " ".join(f"word{number}" for number in range(100))
    pieces = cut([text], 30)
    assert [line.size for line in pieces] == [30, 30, 30, 10]
    assert tokens(" ".join(line.text for line in pieces)) == tokens(text)


def test_text_without_blanks_counts_by_its_length() -> None:
    assert size("東" * 120) == 10
    assert size("Varga moved to Vienna.") == 4
    assert all(line.size <= 8 for line in cut(["東京都" * 200], 8))
