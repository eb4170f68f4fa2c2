"""The client against a real server whose replies are no plain answers (cases E2, E3, E5, L1, L3, P6)."""

import pytest

from calling import ask, meet
from loopback import Loopback, Request, chat, error, usage
from veridical.errors import FatalError, ModelError
from veridical.models.labels import label_probability
from veridical.models.openai_compatible import OpenAICompatible
from veridical.models.wire import Dialect, Unusable

TOP = [{"token": "True", "logprob": -0.5}, {"token": "False", "logprob": -1.5}]
CONTENT = {"content": [{"token": "True", "logprob": -0.5, "bytes": None, "top_logprobs": TOP}]}
LEGACY = {
    "tokens": ["True"],
    "token_logprobs": [-0.5],
    "top_logprobs": [{"True": -0.5, "False": -1.5}],
    "text_offset": [0],
}


# E2: no answer within the budget


async def test_e2_null_content_is_asked_for_once_more_with_a_larger_budget():
    thinking = chat(None, finish_reason="length", reasoning_content="Surely True.") | usage(9, 100)
    prices = Dialect(price_in=1e6, price_out=2e6)
    met = await meet([thinking, chat("False") | usage(9, 300)], ask(max_tokens=500), dialect=prices)
    assert met.reply is not None
    assert met.reply.text == "False"
    assert [body["max_tokens"] for body in met.server.bodies] == [500, 2000]
    assert (met.reply.prompt_tokens, met.reply.completion_tokens) == (18, 400), "both requests were paid"
    assert met.reply.cost == 18 + 800


async def test_e2_then_it_is_no_answer():
    met = await meet(
        chat(None, finish_reason="length", reasoning_content="Surely True."), ask(max_tokens=1), retry=True
    )
    assert isinstance(met.error, ModelError)
    assert "no answer (budget)" in str(met.error)
    assert [body["max_tokens"] for body in met.server.bodies] == [1, 1024], "reasoning needs room"


async def test_e2_without_reasoning_the_larger_budget_is_modest():
    met = await meet([chat(" ", finish_reason="length"), "True"], ask(max_tokens=1))
    assert [body["max_tokens"] for body in met.server.bodies] == [1, 4]


async def test_e2_what_no_answer_cost_is_known():
    thinking = chat(None, finish_reason="length") | usage(9, 100)
    met = await meet(thinking, ask(max_tokens=100), dialect=Dialect(price_in=1e6, price_out=2e6))
    assert isinstance(met.error, Unusable)
    assert (met.error.spent.completion_tokens, met.error.spent.cost) == (200, 18 + 400)


async def test_empty_text_is_an_error():
    met = await meet(chat(""), retry=True)
    assert isinstance(met.error, ModelError)
    assert len(met.server.requests) == 1


# E3: an error inside a success


async def test_e3_a_busy_gateway_is_repeated():
    met = await meet([{"error": {"code": 429, "message": "busy"}, "choices": None}, chat("True")], retry=True)
    assert met.reply is not None
    assert len(met.server.requests) == 2


async def test_e3_spent_credit_inside_a_success_stops_the_run():
    met = await meet({"error": {"code": 402, "message": "Insufficient credits"}}, retry=True)
    assert isinstance(met.error, FatalError)


# E5: prompts cut by the server


async def test_e5_a_prompt_that_the_server_cut_fails_its_item():
    met = await meet(chat("True") | usage(2050), ask("The mill was built in 1890. " * 1300), retry=True)
    assert isinstance(met.error, ModelError)
    assert "cut by the server" in str(met.error)
    assert len(met.server.requests) == 1


async def test_e5_a_prompt_larger_than_the_window_is_not_sent():
    met = await meet("True", ask("mill " * 5000), dialect=Dialect(context_window=4096))
    assert isinstance(met.error, ModelError)
    assert "4096" in str(met.error)
    assert met.server.requests == []


async def test_e5_a_prompt_that_the_server_finds_too_long_fails_its_item():
    met = await meet(error(400, "too long", code="context_length_exceeded"), retry=True)
    assert isinstance(met.error, ModelError)
    assert len(met.server.requests) == 1


# L1, L3: log-probabilities


@pytest.mark.parametrize("logprobs", [CONTENT, LEGACY], ids=["chat shape", "legacy shape"])
async def test_l1_logprobs_in_either_shape_are_read(logprobs: dict):
    met = await meet(chat("True", logprobs=logprobs), ask(top_logprobs=2))
    assert met.reply is not None
    assert label_probability(met.reply, ["True"], ["False"]) == pytest.approx(1 / (1 + 2.718281828**-1))


@pytest.mark.parametrize("logprobs", [..., None], ids=["absent", "null"])
async def test_l1_missing_logprobs_are_seen_to_be_missing(logprobs):
    met = await meet(chat("True", logprobs=logprobs), ask(top_logprobs=2))
    assert met.reply is not None
    assert met.reply.logprobs is None
    assert label_probability(met.reply, ["True"], ["False"]) is None


async def test_l1_a_top_count_always_goes_with_the_wish():
    def handler(request: Request):
        both = request.json.get("logprobs") is True and request.json.get("top_logprobs") == 2
        return chat("True", logprobs=CONTENT) if both else error(400, "logprobs needs top_logprobs")

    met = await meet(handler, ask(top_logprobs=2))
    assert met.reply is not None
    assert met.reply.logprobs is not None


async def test_l1_fewer_alternatives_are_asked_for_where_the_server_gives_fewer():
    def handler(request: Request):
        few = request.json["top_logprobs"] <= 5
        return chat("True", logprobs=CONTENT) if few else error(400, "top_logprobs must be at most 5")

    met = await meet(handler, ask(top_logprobs=20))
    assert met.reply is not None
    assert met.reply.logprobs is not None
    assert len(met.model.adaptations) == 1


async def test_l3_each_reply_tells_whether_it_has_probabilities():
    """10 facts, logprobs missing on 4: no reply has an invented one."""

    def handler(request: Request):
        return chat("True", logprobs=CONTENT if int(request.prompt) >= 4 else None)

    async with Loopback(handler) as server:
        model = OpenAICompatible(server.url, "m")
        replies = [await model.chat(ask(str(number), top_logprobs=2)) for number in range(10)]
        await model.close()
    found = [label_probability(reply, ["True"], ["False"]) is not None for reply in replies]
    assert found == [False] * 4 + [True] * 6


# P6: cut output


async def test_p6_a_reply_cut_by_its_own_budget_says_so():
    met = await meet(chat('{"fact": "The mill bur', finish_reason="length"))
    assert met.reply is not None
    assert met.reply.finish_reason == "length"
