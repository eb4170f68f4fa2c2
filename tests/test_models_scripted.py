import asyncio

import pytest

from veridical.errors import ModelError, UsageError
from veridical.models.base import ChatReply, ChatRequest, Message
from veridical.models.scripted import Scripted


def ask(text: str) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),))


async def test_one_text_for_everything_and_what_was_asked():
    model = Scripted("True")
    reply = await model.chat(ask("is it so"))
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("True", 3, 1)
    assert model.seen == [ask("is it so")]
    assert (model.name, model.identity) == ("scripted", "scripted")
    await model.close()


async def test_a_function_of_the_request():
    model = Scripted(lambda request: ChatReply(text=request.messages[0].content.upper(), prompt_tokens=7))
    assert await model.chat(ask("why")) == ChatReply(text="WHY", prompt_tokens=7)


async def test_a_sequence_in_turn_with_its_errors_and_its_end():
    model = Scripted(["", ValueError("boom"), "last"])
    assert (await model.chat(ask("1"))).text == ""
    with pytest.raises(ValueError, match="boom"):
        await model.chat(ask("2"))
    assert (await model.chat(ask("3"))).text == "last"
    with pytest.raises(ModelError, match="at its end"):
        await model.chat(ask("4"))
    assert len(model.seen) == 4


async def test_a_mapping_by_words_in_the_last_message():
    model = Scripted({"Paris": "True", "Rome": ModelError("refused")}, name="test/map")
    assert (await model.chat(ask("Is Paris in France?"))).text == "True"
    with pytest.raises(ModelError, match="refused"):
        await model.chat(ask("Is Rome in Italy?"))
    with pytest.raises(ModelError, match="test/map: no answer to 'Is Oslo in Norway"):
        await model.chat(ask("Is Oslo in Norway?"))


async def test_delay_lets_others_run():
    model = Scripted("x", delay=0.01)
    tasks = [asyncio.create_task(model.chat(ask(str(n)))) for n in range(20)]
    await asyncio.sleep(0)
    assert len(model.seen) == 20
    assert not any(task.done() for task in tasks)
    assert {reply.text for reply in await asyncio.gather(*tasks)} == {"x"}
    with pytest.raises(UsageError):
        Scripted("x", delay=-1)
