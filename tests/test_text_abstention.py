"""Abstention: the labelled data, refusals in eleven languages, and what only looks like one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from veridical.errors import UsageError
from veridical.text.abstention import EMPTY, NO_WORDS, RULES, rule, strip_citations

REFUSALS = {
    "en": [
        "I’m sorry, I can't help with that.",
        "As an AI language model, I cannot provide a biography of her.",
        "I apologize for the inconvenience. I could not find anything on him.",
        "I don't know who that is.",
        "Could you please clarify which Jones you mean?",
        "There are several people named Anna Jones. Could you please provide more context?",
        "There is no information available on Anna Brandt. However, Ana Brand was a painter.",
        "Anna Brandt is not mentioned in any of the provided search results.",
    ],
    "de": [
        "Es tut mir leid, aber ich kann dazu keine Informationen finden.",
        "Leider liegen keine Informationen zu Anna Brandt vor.",
    ],
    "fr": [
        "Je suis désolé, mais je n'ai trouvé aucune information sur elle.",
        "Il n'y a pas d'informations disponibles sur Anna Brandt.",
    ],
    "es": ["Lo siento, pero no tengo información sobre ella.", "No hay información disponible sobre Ana Brandt."],
    "it": ["Mi dispiace, ma non ho informazioni su di lei.", "Non ci sono informazioni disponibili su Anna Brandt."],
    "pt": ["Desculpe, mas não encontrei informações sobre ela.", "Não há informações disponíveis sobre Ana Brandt."],
    "nl": ["Het spijt me, maar ik heb geen informatie over haar.", "Er is geen informatie beschikbaar over haar."],
    "zh": ["抱歉，我无法找到关于她的信息。", "很抱歉。我没有找到相关资料。"],
    "ja": [
        "申し訳ありませんが、その人物に関する情報は見つかりませんでした。",
        "申し訳ございません。お答えできません。",
    ],
    "ar": ["عذرًا، لم أجد معلومات عن هذا الشخص.", "لا توجد معلومات متاحة عنها."],
    "ru": ["К сожалению, я не могу найти информацию об этом человеке.", "Извините. У меня нет информации."],
}
ANSWERS = [
    "He went on to provide more than 100 free meals.",
    "Anna Brandt is an actor. She sings. There is no information on her death.",
    "There is no information about his birth[1]. He is an actor.",
    "Suresh Raina is a cricketer. Sorry to Bother You is a film.",
    "I'm sorry for the confusion! Anna Brandt was a painter. She was born in Turin.",
    "Sure! Anna Brandt was a painter.",
    "There is no evidence that the mill was ever sold.",
    "There are several people named Jones. Bob Jones was a painter.",
    "Es gibt keine Informationen über ihre Geburt. Anna Brandt war Malerin.",
    "As an AI, I don't have access to current news. In 2021 the mill was sold to Keller.",
]


@pytest.mark.parametrize(
    ("name", "labelled", "standard", "generic", "perplexity"),
    [("ChatGPT", 26, 26, 26, 0), ("InstructGPT", 1, 1, 1, 1), ("PerplexityAI", 17, 15, 2, 11)],
)
def test_f21_labelled_abstentions(name, labelled, standard, generic, perplexity):
    wanted = {"standard": standard, "generic": generic, "perplexity_ai": perplexity, "never": 0}
    with (shared("factscore_labeled") / f"{name}.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    assert sum(row["annotations"] is None for row in rows) == labelled
    for key, count in wanted.items():
        hits = [row for row in rows if RULES[key].detect(row["output"], row["topic"]) is not None]
        assert [row["topic"] for row in hits if row["annotations"] is not None] == []
        assert len(hits) == count, key


@pytest.mark.parametrize("language", REFUSALS)
def test_refusals_by_language(language):
    missed = [text for text in REFUSALS[language] if RULES["standard"].detect(text) is None]
    assert missed == []


@pytest.mark.parametrize(
    "text",
    [
        "The indexed files list a heading for this policy but not its text [2].",
        "Die indexierten Dateien enthalten zwar eine Überschrift zu dieser Richtlinie, aber nicht deren Text [2].",
    ],
)
def test_n2_refusals_without_fixed_phrase_and_with_citation(text):
    assert RULES["standard"].detect(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_are_answers(text):
    assert RULES["standard"].detect(text) is None


def test_the_words_that_show_it():
    assert RULES["generic"].detect("Please provide more context.") == "provide more"
    assert RULES["perplexity_ai"].detect("There is no information on X[1].") == "There is no information"
    assert RULES["standard"].detect("I’m sorry, I can't help with that.") == "I'm sorry, I can't help"


@pytest.mark.parametrize("text", ["", "  \n", "\t"])
def test_empty_text_is_an_abstention(text):
    assert [RULES[name].detect(text) for name in RULES] == [EMPTY, EMPTY, EMPTY, None]


@pytest.mark.parametrize("text", ["😀😀😀", "...", "[1][2].", "———"])
def test_a_text_without_a_word_is_not_called_empty(text):
    assert RULES["standard"].detect(text) == NO_WORDS


def test_published_rules_to_the_letter():
    assert RULES["generic"].detect("I’m sorry, no.") is None  # a curly apostrophe escapes it
    assert RULES["generic"].detect("He went on to provide more than 100 meals.") == "provide more"
    assert RULES["perplexity_ai"].detect("He is an actor.\n\nThere is no information on his death.") is None


def test_unknown_rule_lists_the_names():
    with pytest.raises(UsageError, match="standard, generic, perplexity_ai, never"):
        rule("strict")
    assert rule("never").name == "never"


def test_strip_citations():
    assert (
        strip_citations("Born in Turin[1][12]. Died [3]. In [1990] or [a]") == "Born in Turin. Died. In [1990] or [a]"
    )


@given(st.text(max_size=120))
def test_any_text_is_decided(text):
    for name in RULES:
        shown = RULES[name].detect(text)
        assert shown is None or shown
