"""The embedded decomposer, on sentences of our own, on anything at all, and on FActScore's labelled sentences."""

import hashlib
import importlib.util
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from data import shared
from veridical.clauses import ClauseDecomposer, model
from veridical.clauses.language import is_english
from veridical.decomposition import Told, labelled, measured
from veridical.errors import UsageError
from veridical.signature import sign
from veridical.types import Generation, Sentence

STOW = "Ada Stow"
DECOMPOSER = ClauseDecomposer()


def decompose(*texts: str, topic: str | None = STOW, kind: str = "prose", decomposer: ClauseDecomposer = DECOMPOSER):
    text, sentences = "", []
    for index, one in enumerate(texts):
        start = len(text)
        text += one + " "
        sentences.append(Sentence(index=index, text=one, start=start, end=start + len(one), kind=kind))
    return decomposer.decompose_sync(Generation(id="g", text=text, topic=topic), sentences)


def told(*texts: str, topic: str | None = STOW) -> list[str]:
    return [fact.text for fact in decompose(*texts, topic=topic).facts]


CASES = {
    "Ada Stow was a Scottish chemist and teacher.": [
        "Ada Stow was Scottish.",
        "Ada Stow was a chemist.",
        "Ada Stow was a teacher.",
    ],
    "She is an engineer, film director and poet.": [
        "Ada Stow is an engineer.",
        "Ada Stow is a film director.",
        "Ada Stow is a poet.",
    ],
    "She was born on March 31, 1942, in Leith, Scotland.": [
        "Ada Stow was born on March 31, 1942.",
        "Ada Stow was born in Leith.",
        "Leith is in Scotland.",
    ],
    "Ada Stow (born 31 March 1942) is a chemist.": ["Ada Stow was born 31 March 1942.", "Ada Stow is a chemist."],
    "Ada Stow (12 March 1901 – 4 May 1980) was a chemist, and she taught in Leith.": [
        "Ada Stow was born on 12 March 1901.",
        "Ada Stow died on 4 May 1980.",
        "Ada Stow was a chemist.",
        "Ada Stow taught in Leith.",
    ],
    "The Harbour War (1618–1621) was a conflict over herring.": [
        "The Harbour War was a conflict over herring.",
        "The Harbour War was from 1618–1621.",
    ],
    'She wrote and directed three plays, including "The Kelp Eaters" and "Salt and Iron."': [
        "Ada Stow wrote three plays.",
        'Ada Stow wrote "The Kelp Eaters".',
        'Ada Stow wrote "Salt and Iron".',
        "Ada Stow directed three plays.",
        'Ada Stow directed "The Kelp Eaters".',
        'Ada Stow directed "Salt and Iron".',
    ],
    "She acted in films such as Northern Light (1961) and The Long Ferry (1964).": [
        "Ada Stow acted in films.",
        "Ada Stow acted in Northern Light.",
        "Ada Stow acted in The Long Ferry.",
        "Northern Light was from 1961.",
        "The Long Ferry was from 1964.",
    ],
    "The lake covers 48.5 square kilometres and reaches a depth of 212 metres.": [
        "The lake covers 48.5 square kilometres.",
        "The lake reaches a depth of 212 metres.",
    ],
    "She married the painter Ivo Lund in 1951.": [
        "Ada Stow married the painter Ivo Lund in 1951.",
        "Ivo Lund was the painter.",
    ],
    "She did not win the prize.": ["Ada Stow did not win the prize."],
    "The mayor said that the bridge would close.": ["The mayor said that the bridge would close."],
    "From 1958 to 1963, she served as mayor of Leith.": [
        "Ada Stow served from 1958 to 1963.",
        "Ada Stow served as mayor of Leith.",
    ],
    "Born in Leith, she studied law.": ["Ada Stow studied law.", "Ada Stow was born in Leith."],
    "She resigned because the council refused the plan.": ["Ada Stow resigned.", "The council refused the plan."],
    "The museum, which opened in 1987, holds 4,200 paintings.": [
        "The museum holds 4,200 paintings.",
        "The museum opened in 1987.",
    ],
    "The film that she directed won two awards.": ["The film won two awards.", "Ada Stow directed the film."],
    "She worked with Jo Hall, Pia Berg, and Leo Marsh.": [
        "Ada Stow worked with Jo Hall.",
        "Ada Stow worked with Pia Berg.",
        "Ada Stow worked with Leo Marsh.",
    ],
    "In 2004, the town of Skell hosted the games and built a stadium.": [
        "The town of Skell hosted the games in 2004.",
        "The town of Skell built a stadium.",
    ],
    "The treaty was signed by France and Spain on 7 November 1659.": [
        "The treaty was signed by France.",
        "The treaty was signed by Spain.",
        "The treaty was signed on 7 November 1659.",
    ],
    "She was taken to China aboard the Heron.": [
        "Ada Stow was taken to China.",
        "Ada Stow was taken aboard the Heron.",
    ],
    "She has two children and lives in Oslo.": ["Ada Stow has two children.", "Ada Stow lives in Oslo."],
    "The village has both a school and a church.": ["The village has a school.", "The village has a church."],
    "Ada Stow, a well-known climber, reached the summit in 1999.": [
        "Ada Stow reached the summit in 1999.",
        "Ada Stow was a well-known climber.",
    ],
    "Water boils at 100 degrees Celsius at sea level.": [
        "Water boils at 100 degrees Celsius.",
        "Water boils at sea level.",
    ],
    "He was born in Leith or Oslo in 1990.": ["Ada Stow was born in Leith or Oslo.", "Ada Stow was born in 1990."],
    "If it rains, the race is cancelled.": ["The race is cancelled if it rains."],
    "According to critics, the film was dull and long.": [
        "The film was dull according to critics.",
        "The film was long according to critics.",
    ],
}


@pytest.mark.parametrize("sentence", CASES)
def test_a_sentence_becomes_its_facts(sentence):
    assert told(sentence) == CASES[sentence]


def test_pronouns_get_the_topics_name_and_the_wording_before_is_kept():
    facts = decompose("Ada Stow was a chemist.", "Her work won a prize, and she kept it.").facts
    assert [fact.text for fact in facts][1] == "Ada Stow's work won a prize."
    assert facts[1].original == "Her work won a prize."
    assert facts[0].original is None


def test_a_fact_that_names_its_topic_keeps_its_pronoun():
    assert told("Ada Stow began her career in Leith.") == ["Ada Stow began her career in Leith."]


def test_a_pronoun_after_another_person_means_that_person():
    facts = told("Ada Stow was a chemist.", "She was loved.", "Her father, John Stow, was a smith.", "He died in 1920.")
    assert facts[-1] == "John Stow died in 1920."
    assert "Ada Stow was loved." in facts


def test_without_a_topic_the_first_named_subject_is_meant():
    assert told("Ivo Lund was a painter.", "He moved to Oslo.", topic=None)[-1] == "Ivo Lund moved to Oslo."


def test_it_means_the_topic_only_once_that_was_named():
    lake = "Lake Orrin"
    assert told("It rained.", topic=lake) == ["It rained."]
    assert told("Lake Orrin is a lake.", "It covers two farms.", topic=lake)[-1] == "Lake Orrin covers two farms."


def test_they_is_left_as_it_is():
    assert told("They married in 1990.") == ["They married in 1990."]


def test_facts_are_tied_to_their_sentence_and_place():
    made = decompose("Ada Stow was a chemist.", "She lived in Leith.")
    last = made.facts[-1]
    assert (last.id, last.sentence) == ("g/1.0", 1)
    text = "Ada Stow was a chemist. She lived in Leith. "
    assert last.span is not None
    assert text[slice(*last.span)].endswith("lived in Leith")


def test_sentences_without_a_claim_are_skipped_with_a_reason():
    made = decompose("Sure!", "Ada Stow was a chemist.", "I hope this helps.")
    assert [skip.sentence for skip in made.skipped] == [0, 2]
    assert len(made.facts) == 1


@pytest.mark.parametrize(
    "sentence",
    ["它是一座城市。", "Наша улица была длинной.", "وُلدت في ليث.", "Er wurde in Leith geboren und lebte dort."],
)
def test_another_language_stays_whole_and_says_so(sentence):
    (fact,) = decompose(sentence).facts
    assert fact.text == sentence
    assert fact.flags == ("whole sentence: not parsed (not English)",)


def test_english_is_told_from_other_languages():
    assert is_english("Pedro de la Cruz was born in the town of Leith.")
    assert is_english("Actor, director, producer", "She was an actor in the town. Actor, director, producer")
    assert not is_english("Elle est une actrice et vit dans la ville.")
    assert not is_english("12 – 14")


def test_an_item_without_a_verb_is_said_of_the_topic():
    (fact,) = decompose("- Teacher of chemistry at the school", kind="item").facts
    assert fact.text == "Ada Stow: Teacher of chemistry at the school."


HOSTILE = {
    "very long": "She met " + ", ".join(f"Person{n} of the town" for n in range(3000)) + ".",
    "deep": "the dog of " * 2000 + "the town slept.",
    "nested lists": "She knew " + "the son of A and the aunt of B who saw " * 300 + "them.",
    "one word": "buffalo " * 5000,
    "brackets": "Ada (" * 3000 + "Stow" + ")" * 3000,
    "quotes": 'She said "' * 3000,
    "control": "She saw \x02 0\x03 and \x02" + "9" * 30 + "\x03 in the town.",
    "no letters": "… — !!! ???",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_gives_facts_or_a_reason(name):
    made = decompose(HOSTILE[name])
    assert made.facts or made.skipped
    assert not made.failures
    assert len(made.facts) < 400


def test_what_is_too_long_to_parse_stays_whole_and_is_not_lost():
    text = "She met " + ", ".join(f"the son of Person{n}" for n in range(200)) + "."
    made = decompose(text)
    whole = [fact.text for fact in made.facts if "whole sentence: not parsed (too long)" in fact.flags]
    assert "Person199" in " ".join(whole)


WORDS = re.compile(r"[^\W_]+")
OURS = {"is", "are", "was", "were", "in", "from", "on", "born", "died", "s", "a", "an"}
"""Words that may be put between those of the text."""

PIECES = [
    "she", "he", "it", "they", "was", "is", "born", "in", "and", "or", ",", ";", "who", "which", "that",
    "where", "Leith", "Oslo", "Ada", "Stow", "1990", "(1990)", "(born", "1942)", '"The', 'Sea"', "films",
    "such", "as", "including", "not", "if", "the", "a", "painter", "wrote", "directed", "with", "for", "of",
    "his", "her", "–", "-", "'", "’s",
]  # fmt: skip
fragments = st.sampled_from(PIECES)


@example(["0»A"], None)
@given(
    st.lists(st.one_of(st.lists(fragments, max_size=25).map(" ".join), st.text(max_size=60)), min_size=1, max_size=3),
    st.one_of(st.none(), st.just(STOW)),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_gives_facts_of_its_own_words(texts, topic):
    made = decompose(*texts, topic=topic, decomposer=ClauseDecomposer(merge=False))
    source = " ".join([*texts, topic or ""])
    known = {word.lower() for word in WORDS.findall(source)} | OURS
    joined = re.sub(r"\s+", "", source).lower()
    ids = [fact.id for fact in made.facts]
    assert len(set(ids)) == len(ids)
    assert {fact.sentence for fact in made.facts} | {skip.sentence for skip in made.skipped} == set(range(len(texts)))
    for fact in made.facts:
        new = [word for word in WORDS.findall(fact.text) if word.lower() not in known and word.lower() not in joined]
        assert new == []


async def test_threads_and_repeats_give_the_same_facts():
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: told(*list(CASES)[:6]), range(8)))
    assert all(result == results[0] for result in results)
    text = "Ada Stow was a chemist."
    sentence = Sentence(index=0, text=text, start=0, end=len(text))
    made = await DECOMPOSER.decompose(Generation(id="g", text=text), [sentence])
    assert [fact.text for fact in made.facts] == [text]


def test_the_signature_names_parser_model_and_rules():
    fields = sign(DECOMPOSER).fields
    assert "spacy-" in str(fields["version"]) or "spacy-" in DECOMPOSER.name
    assert "3.8.0" in DECOMPOSER.name
    assert DECOMPOSER.name.startswith("clauses-")


def test_the_installed_model_is_the_pinned_one():
    model.check(model.folder())


def test_a_changed_model_is_refused(tmp_path):
    for name in model.PINNED:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((model.folder() / name).read_bytes())
    model.check(tmp_path)
    (tmp_path / "parser/model").write_bytes(b"other")
    with pytest.raises(UsageError, match="parser/model"):
        model.check(tmp_path)
    (tmp_path / "parser/model").unlink()
    with pytest.raises(UsageError, match="lacks parser/model"):
        model.check(tmp_path)


def test_a_missing_model_is_a_usage_error_with_the_command(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == model.PACKAGE else found(name))
    with pytest.raises(UsageError, match="pip install"):
        ClauseDecomposer()


def test_importing_the_package_does_not_import_spacy():
    code = "import sys, veridical, veridical.clauses; sys.exit('spacy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_matched_facts_on_a_fixed_sample_of_labelled_responses():
    folder = shared("factscore_labeled")
    systems = ("InstructGPT", "ChatGPT", "PerplexityAI")
    rows = sorted(
        (one for system in systems for one in labelled(folder / f"{system}.jsonl")),
        key=lambda one: hashlib.sha1(f"{one.generation.system} {one.topic}".encode()).hexdigest(),
    )
    done = random.Random(7).sample(rows, 100)
    told = [Told.of(one, DECOMPOSER.decompose_sync(one.generation, one.sentences)) for one in done]
    match = measured("clauses", done, told).matched[0]
    assert (match.f1.value or 0) >= 0.72  # 0.733 when written; the whole set: experiments/decomposers/README.md
    assert (match.precision.value or 0) >= 0.76
