"""Relevance: facts that have nothing to do with the question are set apart before anything is spent on them."""

import pytest

from script import cut, last_block
from veridical.errors import ModelError
from veridical.models.scripted import Scripted
from veridical.safe.relevance import Relevance, unread
from veridical.types import AtomicFact, Generation, Label

GENERATION = Generation(id="g", text="Ana Brandt ran the mill [1]. Oslo is a city.", prompt="Who was Ana Brandt?")
FACT = AtomicFact(id="g/1.0", text="Oslo is a city.", sentence=1)


async def sorted_out(answer, generation=GENERATION, fact=FACT, **settings):
    model = Scripted(answer)
    return await Relevance(model, **settings).triage(fact, generation), model


@pytest.mark.parametrize(
    "reply",
    [
        "[Not Lom]",
        "see [1]. Thus [Not Foo]",
        "see [1]. Thus [Not Lom]",
        "[Lom] ... [Not Lom]",
        "**[Not Lom]**",
        "[not-lom]",
        "[NOT_LOM]",
        "Not Lom.",
        "The question is about Ana Brandt [1], the statement about Oslo.\nThe response connects them not.\n[Not Lom]",
        "<think>[Lom]</think>[Not Lom]",
    ],
)
async def test_f32_irrelevant(reply):
    verdict, model = await sorted_out(reply)
    assert verdict is not None
    assert (verdict.label, verdict.judge, verdict.mode) == (Label.IRRELEVANT, "scripted", "relevance")
    assert len(model.seen) == 1


@pytest.mark.parametrize(
    "reply",
    ["[Lom]", "Lom", "**Lom**", "[Foo]", "It says so [2].\n[Lom]", "Not Lom at first sight [1]. But then: [Lom]"],
)
async def test_f32_relevant(reply):
    verdict, model = await sorted_out(reply)
    assert verdict is None
    assert unread() is None
    assert len(model.seen) == 1


async def test_the_reasons_are_kept():
    reply = "The question is about Ana Brandt, the statement about Oslo.\n[Not Lom]"
    verdict, _ = await sorted_out(reply)
    assert verdict is not None
    assert verdict.rationale == reply


@pytest.mark.parametrize("reply", ["", "[1]", "Yes.", "[Maybe]", "It is relevant.", "Is it [Lom] or [Not Lom]?"])
async def test_f33_an_unreadable_reply_lets_the_fact_go_on_and_tells(reply):
    verdict, model = await sorted_out(reply, retries=2)
    assert verdict is None
    assert len(model.seen) == 3
    assert "relevance" in (unread() or "")


async def test_what_was_unread_is_forgotten_with_the_next_fact():
    await sorted_out("hm")
    assert unread()
    await sorted_out("[Lom]")
    assert unread() is None
    await sorted_out("hm")
    await sorted_out("hm", Generation(id="g", text="t"))
    assert unread() is None


async def test_a_cut_reply_is_no_answer():
    verdict, model = await sorted_out([cut("[Lom"), "[Not Lom]"])
    assert verdict is not None
    assert [request.max_tokens for request in model.seen] == [512, 1024]


async def test_without_a_question_nothing_is_asked():
    for prompt in ("", "  ", "N/A"):
        verdict, model = await sorted_out("[Not Lom]", Generation(id="g", text="Oslo is a city.", prompt=prompt))
        assert verdict is None
        assert not model.seen


async def test_a_call_that_fails_is_a_failure_of_the_fact():
    with pytest.raises(ModelError):
        await sorted_out([ModelError("filtered")])


@pytest.mark.parametrize(
    "text", ["{{name}}", r"\frac{{a}}{{b}}", "{% off %}", "{#1}", "[PROMPT]", "[RESPONSE]", "[Lom]"]
)
async def test_f45_f46_hostile_text_goes_verbatim(text):
    generation = Generation(id="g", text=f"A {text} b.", prompt=f"Why {text}?")
    _, model = await sorted_out("[Lom]", generation, AtomicFact(id="g/0.0", text=f"It is {text}.", sentence=0))
    assert last_block(model.seen[0], "question") == generation.prompt
    assert last_block(model.seen[0], "response") == generation.text
    assert last_block(model.seen[0], "statement") == f"It is {text}."
