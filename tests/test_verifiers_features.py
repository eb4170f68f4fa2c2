"""What the embedded judge measures, on pairs made by hand."""

import pytest

from veridical.verifiers.features import FEATURES, Match, Place, claim_of, compare
from veridical.verifiers.reading import read
from veridical.verifiers.words import stem

VARGA = (
    "Ilse Varga (born 14 May 1921 in Szeged; died 2 June 1987) was a Hungarian painter. "
    "She studied at the Academy of Fine Arts in Budapest and moved to Vienna in 1956. "
    "Her largest work, a mural of 1,234 tiles, hangs in the town hall of Graz. "
    "She never married."
)


def match(claim: str, evidence: str = VARGA, topic: str = "") -> Match:
    title = frozenset().union(*(unit.stems for unit in read(topic)))
    places = [Place(0, unit, title) for unit in read(evidence)]
    return compare(claim_of(read(claim), {}, 8.0, title), places)


def measured(claim: str, evidence: str = VARGA, topic: str = "") -> dict[str, float]:
    return dict(zip(FEATURES, match(claim, evidence, topic).values, strict=True))


def test_a_copied_sentence_is_wholly_covered() -> None:
    values = measured("Ilse Varga was a Hungarian painter.")
    assert values["cov_1"] == values["cov_3"] == values["cov_all"] == values["soft_3"] == 1
    assert values["missing_all"] == values["name_missing_3"] == values["number_missing_1"] == 0


def test_an_unrelated_claim_is_not_covered() -> None:
    values = measured("Bananas ripen quickly.")
    assert values["cov_all"] == values["bigrams_3"] == values["skipgrams_3"] == values["subsequence"] == 0
    assert values["missing_all"] == 2  # "Bananas" opens the claim and counts as its topic


def test_a_year_not_in_the_evidence_is_missing_and_has_a_rival() -> None:
    right, wrong = measured("Varga moved to Vienna in 1956."), measured("Varga moved to Vienna in 1958.")
    assert (right["year_missing_3"], right["number_missing_all"], right["number_rival"]) == (0, 0, 0)
    assert (wrong["year_missing_3"], wrong["number_missing_all"], wrong["number_rival"]) == (1, 1, 1)


def test_a_number_among_other_neighbours_has_less_context() -> None:
    assert measured("Varga moved to Vienna in 1956.")["number_context"] == 1
    assert measured("The mural has 1956 tiles.")["number_context"] < 0.5


def test_written_numbers_and_separators_agree() -> None:
    assert measured("Her mural has 1234 tiles.")["number_missing_all"] == 0
    assert measured("He owns twelve boats.", "There were 12 boats.")["number_missing_all"] == 0


def test_a_surname_alone_names_the_person() -> None:
    assert measured("The mural was made by Varga.")["name_missing_all"] == 0


def test_a_name_not_in_the_evidence_is_missing() -> None:
    values = measured("Ilse Varga was born in Prague.")
    assert (values["name_missing_all"], values["name_run_missing"], values["name_rival"]) == (1, 1, 1)


def test_topic_words_are_discounted() -> None:
    claim = "Ilse Varga played the violin."
    assert measured(claim)["cov_1"] == pytest.approx(0.5)
    assert measured(claim)["rest_1"] == 0


def test_a_title_holds_for_every_sentence_of_its_passage() -> None:
    assert measured("Ilse Varga never married.")["cov_1"] < 1
    assert measured("Ilse Varga never married.", topic="Ilse Varga")["cov_1"] == 1


def test_negation_on_one_side_is_seen() -> None:
    assert measured("Ilse Varga married.", topic="Ilse Varga")["negation_flipped"] == 1
    assert measured("Ilse Varga never married.", topic="Ilse Varga")["negation_flipped"] == 0


def test_opposites_are_seen_and_named() -> None:
    found = match("The bridge opened before the war.", "The bridge opened after the war.")
    assert found.opposite is not None
    assert [word.stem for word in found.opposite[:2]] == [stem("before"), stem("after")]
    assert match("The bridge opened after the war.", "The bridge opened after the war.").opposite is None


def test_a_quantifier_that_the_evidence_lacks_is_seen() -> None:
    assert measured("Only painters lived there.", "Painters lived there.")["absolute_missing"] == 1


def test_swapped_roles_turn_word_pairs() -> None:
    evidence = "In the final match Anna Berg defeated Clara Dahl."
    assert measured("Anna Berg defeated Clara Dahl.", evidence)["inversions"] == 0
    assert measured("Clara Dahl defeated Anna Berg.", evidence)["inversions"] > 0


def test_another_word_in_the_same_place_is_seen() -> None:
    assert measured("She was born in Paris.", "She was born in London.")["slots_left"] == 1


def test_the_window_joins_sentences_that_add_words() -> None:
    found = match("Ilse Varga moved to Vienna and made a mural in Graz.")
    assert len(found.window) == 3
    assert {word.stem for word in found.missing} == {stem("made")}


def test_a_derived_form_counts_in_part() -> None:
    values = measured("A painting hung there.", "The painter left.")
    assert 0 < values["soft_3"] < 1
