"""Decomposition by an LLM (a double that answers by rule), facts given in the input, and what both share."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import shared
from script import cut, last_block
from veridical.decompose import GivenFacts, LLMDecomposer
from veridical.errors import FatalError, ModelError, StageError
from veridical.facts import NO_CLAIM, assemble
from veridical.models.cache import Cached, CallStore
from veridical.models.scripted import Scripted
from veridical.nonclaims import reason
from veridical.text.sentences import split
from veridical.types import Generation, GivenFact, Sentence


def generation(text, **fields):
    return Generation(id="g", text=text, **fields)


async def decompose(text, replies, *, decomposer=None, **fields):
    """Decompose with a model that answers by `replies`: sentence (as in the prompt) -> reply."""
    model = Scripted(replies if callable(replies) else lambda request: replies[last_block(request, "sentence")])
    made = (decomposer or LLMDecomposer)(model)
    found = await made.decompose(generation(text, **fields), split(text))
    return found, model


def texts(decomposition):
    return [fact.text for fact in decomposition.facts]


# --- the LLM decomposer


async def test_facts_are_tied_to_their_sentences_in_text_order():
    found, model = await decompose(
        "Ana was born in Turin. She sold the mill in 1932.",
        {
            "Ana was born in Turin.": "- Ana was born in Turin.",
            "She sold the mill in 1932.": "- Ana sold the mill.\n- Ana sold the mill in 1932.",
        },
    )
    assert [(fact.id, fact.sentence) for fact in found.facts] == [("g/0.0", 0), ("g/1.0", 1), ("g/1.1", 1)]
    assert len(model.seen) == 2


async def test_f22_names_that_begin_like_a_phrase_are_claims():
    text = (
        "Suresh Raina is an Indian cricketer. He was born in 1986. Please Please Me is the debut album by the Beatles."
    )
    found, _ = await decompose(text, lambda request: f"- {last_block(request, 'sentence')}")
    assert texts(found) == [sentence.text for sentence in split(text)]


async def test_s7_non_claims_are_skipped_with_a_reason_and_cost_nothing():
    found, model = await decompose(
        "Hi! Happy to help. The mill opened in 1890. Let me know if you need more.",
        {"The mill opened in 1890.": "- The mill opened in 1890."},
    )
    assert texts(found) == ["The mill opened in 1890."]
    assert [(skipped.sentence, skipped.reason) for skipped in found.skipped] == [
        (0, "a greeting"),
        (1, "an offer"),
        (3, "an offer"),
    ]
    assert len(model.seen) == 1


async def test_the_model_may_find_no_claim():
    """N1: nothing can be stated of it, so it is no evidence for or against anybody."""
    found, _ = await decompose("fish fish fish", {"fish fish fish": "NO CLAIMS"})
    assert (found.facts, [skipped.reason for skipped in found.skipped], found.failures) == ((), [NO_CLAIM], ())


async def test_f30_a_refusal_is_a_failure_of_its_sentence():
    refusal = "I'm sorry, but I can't help with that."
    found, model = await decompose(
        "Ana was born in Turin. She sold the mill.",
        lambda request: refusal if "sold" in last_block(request, "sentence") else "- Ana was born in Turin.",
    )
    assert texts(found) == ["Ana was born in Turin."]
    [failed] = found.failures
    assert (failed.sentence, failed.failure.error, failed.failure.reply) == (1, "ParseError", refusal)
    assert len(model.seen) == 3  # one re-ask, no more
    assert found.skipped == ()


async def test_an_unreadable_reply_is_asked_again_with_a_reminder():
    replies = iter(["He is from Turin.", "- Ana is from Turin."])
    found, model = await decompose("Ana is from Turin.", lambda request: next(replies))
    assert texts(found) == ["Ana is from Turin."]
    again = model.seen[1].messages
    assert again[:-2] == model.seen[0].messages
    assert [message.role for message in again[-2:]] == ["assistant", "user"]
    assert again[-2].content == "He is from Turin."


async def test_r5_an_unreadable_reply_does_not_stay_in_the_cache(tmp_path):
    store = CallStore(tmp_path / "calls.sqlite")
    readings = []
    for said in ("Who knows.", "- Ana is from Turin."):
        decomposer = LLMDecomposer(Cached(Scripted(said), store), retries=0)
        readings.append(await decomposer.decompose(generation("Ana is from Turin."), split("Ana is from Turin.")))
    store.close()
    assert [texts(found) for found in readings] == [[], ["Ana is from Turin."]]


async def test_p6_a_cut_reply_is_asked_again_with_twice_the_room():
    def reply(request):
        whole = "- Ana is from Turin.\n- Ana is a miller."
        return whole if request.max_tokens > 512 else cut(whole[:-8])

    found, model = await decompose("Ana, from Turin, is a miller.", reply)
    assert texts(found) == ["Ana is from Turin.", "Ana is a miller."]
    assert [request.max_tokens for request in model.seen] == [512, 1024]
    assert found.failures == ()


async def test_p6_what_stays_cut_keeps_its_complete_facts_and_says_so():
    found, _ = await decompose(
        "Ana, from Turin, is a miller.", lambda request: cut("- Ana is from Turin.\n- Ana is a mil")
    )
    assert texts(found) == ["Ana is from Turin."]
    [failed] = found.failures
    assert failed.failure.error == "ParseError"
    assert "cut after 1 complete" in failed.failure.message


async def test_a_model_error_fails_its_sentence_alone():
    def reply(request):
        if "mill" in last_block(request, "sentence"):
            raise ModelError("filtered")
        return "- Ana was born in Turin."

    found, _ = await decompose("Ana was born in Turin. She sold the mill.", reply)
    assert texts(found) == ["Ana was born in Turin."]
    assert [(failed.sentence, failed.failure.error) for failed in found.failures] == [(1, "ModelError")]


async def test_a_fatal_error_stops_everything():
    def reply(request):
        raise FatalError("quota spent")

    with pytest.raises(ExceptionGroup) as caught:
        await decompose("Ana was born in Turin.", reply)
    assert caught.group_contains(FatalError)


@pytest.mark.parametrize("reply", ['{"facts": ["A."]}', '```json\n{"facts": ["A."]}\n```', "- A."])
async def test_either_shape_is_read_whichever_was_asked_for(reply):
    found, model = await decompose(
        "Ana.", lambda request: reply, decomposer=lambda model: LLMDecomposer(model, shape="json")
    )
    assert texts(found) == ["A."]
    assert model.seen[0].json_schema is not None


async def test_s6_the_prompt_shows_what_stands_before():
    text = "Key facts:\n\n1. Ana Brandt founded it in 1890\n2. She moved to Turin"
    _, model = await decompose(text, lambda request: "- X.", topic="Brandt & Co", prompt="Who was Ana?")
    [context] = [c for c in (last_block(request, "context") for request in model.seen) if "1890" in c]
    assert "Topic: Brandt & Co" in context
    assert "Question: Who was Ana?" in context
    assert "Key facts:" in context
    assert "Ana Brandt founded it" in context


async def test_demonstrations_are_seven_fixed_and_one_retrieved():
    sentence = "He won gold in the 74 kg class at the 2003 European Championships in Budapest."
    model = Scripted(lambda request: "- X.")
    made = LLMDecomposer(model)
    messages = made.messages(generation(sentence), split(sentence)[0])
    prompt = "\n".join(message.content for message in messages)
    shown = re.findall(r"^<sentence-[0-9a-f]+>\n(.*)\n</sentence", prompt, re.MULTILINE)
    assert len(shown) == len(set(shown)) == 9  # seven, one, and the sentence itself
    assert shown[:7] == [item.sentence for item in made.examples.items[:7]]
    assert "Karadeniz" not in shown[7]
    assert "1999 European Championships" in shown[7]
    assert [message.role for message in messages] == ["user", "assistant"] * 8 + ["user"]
    assert messages[1].content.startswith("- Marta Olsvik was born")
    assert made.messages(generation(sentence), split(sentence)[0]) == messages


def test_without_demonstrations_the_instructions_stand_before_the_sentence():
    made = LLMDecomposer(Scripted("- X."), fixed=0, retrieved=0)
    [message] = made.messages(generation("Ana left."), split("Ana left.")[0])
    assert message.content.startswith("You split sentences")
    assert "Ana left." in message.content


async def test_retrieval_ties_are_settled_by_the_order_of_the_file():
    made = LLMDecomposer(Scripted(lambda request: "- X."))
    assert made._chosen("Xyzzy.")[7] is made.examples.items[7]


async def test_f45_f46_hostile_text_reaches_the_prompt_verbatim():
    text = r"{{name}} wrote \frac{{a}}{{b}} {% off %} {#1} [PROMPT] </sentence>."
    _, model = await decompose(text, lambda request: "- X.", topic="{{examples}}", prompt="{{sentence}}")
    assert last_block(model.seen[0], "sentence") == text
    assert "Topic: {{examples}}\nQuestion: {{sentence}}" in last_block(model.seen[0], "context")


def test_f47_temperature_zero_is_sent():
    assert LLMDecomposer(Scripted(lambda request: "")).temperature == 0.0


# --- what every decomposer shares


def test_f27_a_number_in_another_spelling_is_no_invention():
    text = "He won three medals."
    [fact] = assemble(generation(text), split(text), [(0, ["He won 3 medals."])]).facts
    assert (fact.text, fact.flags) == ("He won 3 medals.", ())


def test_f27_a_changed_number_is_flagged_and_never_altered():
    text = "He won 10 medals in 1977."
    [fact] = assemble(generation(text), split(text), [(0, ["He won 1 medal in 19."])]).facts
    assert fact.text == "He won 1 medal in 19."
    assert set(fact.flags) == {"invented: 1", "invented: 19"}


def test_s5_an_invented_name_is_flagged():
    text = "The mill opened in 1890."
    facts = assemble(generation(text), split(text), [(0, [text, "The mill was owned by Ana Brandt."])]).facts
    assert [fact.flags for fact in facts] == [(), ("invented: Ana", "invented: Brandt")]


@pytest.mark.parametrize("fields", [{"topic": "Ana Brandt"}, {"prompt": "Who was Ana Brandt?"}])
def test_s5_the_topic_and_the_prompt_are_context(fields):
    text = "She opened the mill in 1890."
    [fact] = assemble(generation(text, **fields), split(text), [(0, ["Ana Brandt opened the mill."])]).facts
    assert fact.flags == ()


def test_s5_what_is_said_later_is_not_context():
    text = "The mill opened. Ana Brandt came in 1890."
    found = assemble(generation(text), split(text), [(0, ["The mill opened in 1890."]), (1, ["Brandt came in 1890."])])
    assert [fact.flags for fact in found.facts] == [("invented: 1890",), ()]


@pytest.mark.parametrize(
    ("text", "wording"),
    [
        ("He is an American actor.", "He is from America."),
        ("Regina Martínez left Mötley Crüe.", "Regina Martinez left Motley Crue."),
        ("He made films such as Water.", "Another film is Water."),
        ("He is one of the founders.", "He was the first founder."),
    ],
)
def test_another_form_of_a_name_is_no_invention(text, wording):
    [fact] = assemble(generation(text), split(text), [(0, [wording])]).facts
    assert fact.flags == ()


def test_f28_a_founding_member_is_kept():
    text = "He was a founding member of X."
    wordings = ["He was a founding member.", "He was a founding member of X."]
    assert texts(assemble(generation(text), split(text), [(0, wordings)])) == wordings


def test_f28_a_bare_verb_is_merged_into_the_fuller_fact():
    text = "He was born in 1977."
    found = assemble(generation(text), split(text), [(0, ["He was born.", "He was born in 1977."])])
    assert [(fact.text, fact.repeats) for fact in found.facts] == [("He was born in 1977.", 1)]


def test_s8_duplicates_are_merged_over_the_whole_generation_and_counted():
    text = "Brandt was a person. Brandt was a human being. Brandt lived. Brandt was a person."
    found = assemble(generation(text), split(text), [(s.index, [s.text]) for s in split(text)])
    assert [(fact.text, fact.repeats) for fact in found.facts] == [
        ("Brandt was a person.", 1),
        ("Brandt was a human being.", 0),
        ("Brandt lived.", 0),
    ]


def test_f55_copies_of_one_sentence_are_one_fact():
    text = "Brandt sold the mill. " * 64
    wordings = [(sentence.index, ["the Brandt sold the mill", " Brandt  sold the MILL."]) for sentence in split(text)]
    [fact] = assemble(generation(text), split(text), wordings).facts
    assert fact.repeats == 127
    assert len(assemble(generation(text), split(text), wordings, merge=False).facts) == 128


def test_spans_are_where_the_words_stand():
    text = "Hello.\nAna Brandt is an American actor born on May 18, 1949, in Turin."
    sentence = split(text)[-1]
    wordings = ["Ana Brandt is an actor.", "Ana Brandt was born on May 18, 1949.", "It rains a lot."]
    found = assemble(generation(text, topic="Ana Brandt"), split(text), [(sentence.index, wordings)])
    assert [fact.span and text[slice(*fact.span)] for fact in found.facts] == ["actor", "born on May 18, 1949", None]


@settings(max_examples=50)
@given(st.text(max_size=60), st.lists(st.text(max_size=30), max_size=4))
def test_any_wordings_keep_the_contract(text, wordings):
    sentences = split(text)
    if not sentences:
        return
    place = sentences[-1]
    found = assemble(generation(text), sentences, [(place.index, wordings)])
    assert set(texts(found)) <= {wording.strip() for wording in wordings}
    assert len({fact.id for fact in found.facts}) == len(found.facts)
    assert len(found.facts) + sum(fact.repeats for fact in found.facts) == sum(bool(w.strip()) for w in wordings)
    assert bool(found.facts) != bool(found.skipped)
    for fact in found.facts:
        assert fact.span is None or place.start <= fact.span[0] < fact.span[1] <= place.end


# --- facts that came with the input


async def given_facts(text, facts, **options):
    given_generation = generation(text, facts=None if facts is None else tuple(facts))
    return await GivenFacts(**options).decompose(given_generation, split(text))


async def test_given_facts_go_to_the_sentence_they_name_or_share_most_with():
    found = await given_facts(
        "Ana was born in Turin. She sold the mill in 1932. She died.",
        [
            GivenFact(text="Ana died.", sentence="She died."),
            GivenFact(text="The mill was sold in 1932.", label="supported"),
            GivenFact(text="Ana is from Turin.", sentence="Ana was born in Turin", label="not_supported"),
        ],
    )
    assert [(fact.sentence, fact.text, fact.gold) for fact in found.facts] == [
        (0, "Ana is from Turin.", "not_supported"),
        (1, "The mill was sold in 1932.", "supported"),
        (2, "Ana died.", None),
    ]


async def test_an_empty_list_of_facts_claims_nothing():
    assert (await given_facts("Ana was born.", [])).facts == ()


async def test_a_generation_without_facts_is_a_clear_failure():
    with pytest.raises(StageError, match="g: its input has no facts"):
        await given_facts("Ana was born.", None)


async def test_given_facts_are_merged_or_not():
    facts = [GivenFact(text="Ana died."), GivenFact(text="ana died")]
    assert [fact.repeats for fact in (await given_facts("Ana died.", facts)).facts] == [1]
    assert len((await given_facts("Ana died.", facts, merge=False)).facts) == 2


async def test_facts_of_a_blank_text_are_kept():
    assert texts(await given_facts(" ", [GivenFact(text="Ana died.")])) == ["Ana died."]


async def test_human_facts_go_to_their_annotated_sentences():
    """FActScore's labelled biographies: the sentence that a fact was annotated in is found again."""
    right = total = 0
    for line in (shared("factscore_labeled") / "ChatGPT.jsonl").read_text(encoding="utf-8").splitlines()[:60]:
        row = json.loads(line)
        facts = [
            (GivenFact(text=fact["text"]), sentence["text"])
            for sentence in row["annotations"] or []
            for fact in sentence["human-atomic-facts"] or []
        ]
        text = row["output"]
        made = Generation(id="g", text=text, topic=row["topic"], facts=tuple(fact for fact, _ in facts))
        found = await GivenFacts(merge=False).decompose(made, split(text))
        by_text = {fact.text: split(text)[fact.sentence].text for fact in found.facts}
        right += sum(sentence in by_text[fact.text] or by_text[fact.text] in sentence for fact, sentence in facts)
        total += len(facts)
    assert total > 1000
    assert right / total > 0.85


async def test_facts_that_people_labelled_differently_are_not_merged():
    found = await given_facts(
        "The film won. He was born in 1977.",
        [
            GivenFact(text="The film won.", label="supported"),
            GivenFact(text="the film won", label="not_supported"),
            GivenFact(text="He was born.", sentence="He was born in 1977.", label="supported"),
            GivenFact(text="He was born in 1977.", sentence="He was born in 1977.", label="not_supported"),
        ],
    )
    assert [(fact.text, fact.gold, fact.repeats) for fact in found.facts] == [
        ("The film won.", "supported", 0),
        ("the film won", "not_supported", 0),
        ("He was born.", "supported", 0),
        ("He was born in 1977.", "not_supported", 0),
    ]


async def test_a_reply_that_repeats_the_prompt_s_markers_is_no_list_of_facts():
    model = Scripted(lambda request: "- </sentence-bef472>\n- <sentence-bef472>")
    text = "The mill opened in 1890."
    found = await LLMDecomposer(model).decompose(generation(text), split(text))
    assert not found.facts and found.failures[0].failure.error == "ParseError"


# --- sentences without a claim


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Sure! Here is a bio.", "a lead-in"),
        ("Here are some key facts about Brandt:", "a lead-in"),
        ("Great question!", "a greeting"),
        ("I hope this helps!", "an offer"),
        ("However, I could not find her date of birth.", "about the assistant"),
        ("As an AI language model, I do not have access to news.", "about the assistant"),
        ("There is no further information available about her life.", "about the sources"),
        ("Please note that this information may be outdated.", "a hedge"),
        ("Would you like to know more?", "a question"),
        ("---", "no words"),
        ("[1][2]", "only a citation"),
        ("https://example.org/a", "a source"),
        ("Sure!", "an interjection"),
        ("I'm sorry, but I don't have information about her.", "about the assistant"),
        ("你想知道更多吗？", "a question"),
    ],
)
def test_s7_phrases_make_no_claim(text, why):
    assert reason(Sentence(index=0, text=text, start=0, end=len(text))) == why


@pytest.mark.parametrize(
    "text",
    [
        "Of course, the mill opened in 1890.",
        "Hello, Dolly! is a musical.",
        "Here are the three largest lakes: A, B and C.",
        "Please note that Brandt was born in 1950.",
        "As an AI researcher, she published 40 papers.",
        "Let Me Know is a song.",
        "Feel Free was released in 1970.",
        'He wrote "Who Am I?"',
        "There is no bridge over the river.",
        "It is important to note that there are other people of that name.",
        "I Hope You Dance is an album.",
        "I do not have her date of birth, but Ana Brandt opened the mill in 1890.",
    ],
)
def test_s7_claims_that_look_like_phrases_stay(text):
    assert reason(Sentence(index=0, text=text, start=0, end=len(text))) is None


def test_s3_a_heading_makes_no_claim_but_its_items_do():
    sentences = split("Key facts:\n\n1. Founded in 1890\n2. Moved to Turin\n3. Closed in 1932")
    assert [reason(sentence, sentences) for sentence in sentences] == ["a heading", None, None, None]


def test_a_title_in_a_list_is_no_question():
    assert reason(Sentence(index=1, text="- Who Framed Roger Rabbit?", start=0, end=26, kind="item")) is None


def test_no_annotated_claim_is_taken_for_a_phrase():
    """Of all relevant sentences of FActScore's labelled biographies, none may be lost."""
    lost = []
    for system in ("ChatGPT", "InstructGPT", "PerplexityAI"):
        for line in (shared("factscore_labeled") / f"{system}.jsonl").read_text(encoding="utf-8").splitlines():
            for annotated in json.loads(line)["annotations"] or []:
                text = annotated["text"]
                if annotated["is-relevant"] and reason(Sentence(index=0, text=text, start=0, end=len(text))):
                    lost.append(text)
    assert lost == []


@given(st.text(), st.sampled_from(["prose", "item", "heading"]))
def test_any_sentence_is_looked_at_without_trouble(text, kind):
    found = reason(Sentence(index=0, text=text, start=0, end=len(text), kind=kind))
    assert found is None or found
