"""What failed calls cost: every reply that reports usage is booked, whatever becomes of it, and the limit holds."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calling import Met, ask, meet
from loopback import Answer, Loopback, Request, chat, error, usage
from veridical.errors import BudgetSpent, FatalError, ModelError, VeridicalError
from veridical.models.base import ChatReply
from veridical.models.bill import Price, bill, reported
from veridical.models.limit import Limited
from veridical.models.metered import Budget, Paid
from veridical.models.openai_compatible import OpenAICompatible
from veridical.models.retry import Retryable, Retrying
from veridical.models.wire import Dialect

PRICED = Dialect(price_in=1.0, price_out=10.0)
PRICE = PRICED.price
BROKEN = {"message": {"role": "assistant", "content": "Tr"}}


def in_choice(**choice) -> dict:
    return {"choices": [BROKEN | choice]}


def bill_of(met: Met) -> Any:
    """What the error of a failed call carries."""
    assert isinstance(met.error, VeridicalError)
    return met.error.spent


# Reported usage


@pytest.mark.parametrize(
    "reply",
    [
        {"choices": []},
        {"choices": None},
        {"choices": "none"},
        {"choices": [], "model": 3},
        {"error": {"code": 429, "message": "busy"}},
        {"error": {"code": 402, "message": "top up"}},
        {"error": {"code": 400, "message": "Unsupported parameter: temperature", "param": "temperature"}},
        in_choice(error={"code": 502, "message": "upstream"}),
        in_choice(finish_reason="error"),
        chat(None, refusal="I cannot."),
        chat("Tr", finish_reason="content_filter"),
        chat(""),
        Answer({"error": {"message": "busy"}}, status=503),
        Answer({"error": {"message": "flagged"}}, status=400),
    ],
    ids=lambda reply: str(reply)[:60],
)
async def test_usage_is_booked_whatever_becomes_of_the_reply(reply):
    used = usage(30, 5)
    reply = Answer(reply.body | used, status=reply.status) if isinstance(reply, Answer) else reply | used
    budget = Budget()
    met = await meet(reply, dialect=PRICED)
    assert met.error is not None
    async with Loopback(reply) as server:
        with pytest.raises((ModelError, FatalError)):
            await Paid(OpenAICompatible(server.url, "m", dialect=PRICED), budget, PRICE).chat(ask())
    assert len(server.requests) == 1, "a refusal that was billed must not be repeated beneath the budget"
    assert (budget.calls, budget.prompt_tokens, budget.completion_tokens) == (1, 30, 5)
    assert budget.spent == pytest.approx(80e-6)


@pytest.mark.parametrize(
    "reply", [error(429, "busy"), error(500, "busy"), error(400, "bad"), {"error": {"code": 503, "message": "busy"}}]
)
async def test_an_error_without_usage_costs_nothing(reply):
    assert bill_of(await meet(reply, dialect=PRICED)) is None


async def test_a_refused_parameter_that_cost_nothing_is_still_adapted():
    refusal = {"error": {"code": 400, "message": "Unsupported parameter: temperature", "param": "temperature"}}
    met = await meet([refusal | usage(0, 0), chat() | usage(9, 1)], dialect=PRICED)
    assert met.reply is not None
    assert met.reply.cost == PRICE.of(9, 1)


async def test_both_tries_are_booked_when_the_second_fails():
    thinking = chat(None, finish_reason="length") | usage(9, 100)
    met = await meet([thinking, {"choices": []} | usage(9, 50)], ask(max_tokens=100), dialect=PRICED)
    assert isinstance(met.error, Retryable)
    assert bill_of(met).cost == pytest.approx(PRICE.of(18, 150))
    met = await meet([thinking, error(503, "busy")], ask(max_tokens=100), dialect=PRICED)
    assert bill_of(met).cost == PRICE.of(9, 100)


async def test_no_choices_half_the_time_stays_within_the_limit():
    """Found with a server that billed $2.12 at a limit of $0.30."""
    served = 0

    def half(_: Request) -> dict:
        nonlocal served
        served += 1
        return (chat() if served % 2 else {"choices": []}) | usage(30, 400)

    budget = Budget(max_cost=0.30)
    async with Loopback(half) as server:
        paid = Paid(OpenAICompatible(server.url, "m", dialect=PRICED), budget, PRICE)
        model = Retrying(Limited(paid), sleep=lambda _: asyncio.sleep(0))
        with pytest.raises(BudgetSpent):
            for number in range(1000):
                await model.chat(ask(f"Is {number} so?", max_tokens=400))
    assert budget.spent == pytest.approx(PRICE.of(30, 400) * served)
    assert 0.25 < budget.spent <= 0.30


# Unknown usage


@pytest.mark.parametrize(
    "fault",
    [
        Answer(chat() | usage(9), cut=40),
        Answer(chat() | usage(9), reset=True),
        Answer(chat() | usage(9), delay=5.0),
        Answer(b""),
        Answer("<html>busy</html>"),
        Answer(b'{"choices": [{"message"'),
        Answer(b"x" * (17 * 2**20)),
        {"choices": []},
        in_choice(finish_reason="error"),
        error(504, "upstream"),
        error(524, "a time-out occurred"),
    ],
    ids=["cut", "reset", "time-out", "empty", "HTML", "half", "huge", "no choices", "broken off", "504", "524"],
)
async def test_what_may_have_been_billed_costs_the_most_that_the_request_can(fault):
    met = await meet(fault, ask(max_tokens=50), dialect=PRICED, total_timeout=0.3)
    assert bill_of(met).cost == PRICE.most(ask(max_tokens=50)) > 0


async def test_without_a_price_it_costs_nothing():
    assert bill_of(await meet(Answer(b""))).cost == 0.0


async def test_what_was_never_sent_costs_nothing():
    async with Loopback() as server:
        url = server.url
    for client in (OpenAICompatible(url, "m", dialect=PRICED), OpenAICompatible("http://x.invalid", "m")):
        with pytest.raises(Retryable) as caught:
            await client.chat(ask())
        await client.close()
        assert caught.value.spent is None


# Usage that cannot be believed

ODD = [-5, -0.5, float("nan"), float("inf"), True, "x", "-3", "", [], {}, 10**400, 1e300, None]


@pytest.mark.parametrize("odd", ODD, ids=[str(value)[:10] for value in ODD])
@pytest.mark.parametrize("field", ["prompt_tokens", "completion_tokens", "cost"])
async def test_impossible_usage_is_unknown_and_the_answer_stands(field: str, odd):
    met = await meet(chat() | {"usage": {"prompt_tokens": 9, "completion_tokens": 1} | {field: odd}}, dialect=PRICED)
    assert met.reply is not None, met.error
    tokens = (met.reply.prompt_tokens, met.reply.completion_tokens)
    assert tokens == {"prompt_tokens": (0, 1), "completion_tokens": (9, 0), "cost": (9, 1)}[field]
    assert met.reply.cost == (PRICE.of(9, 1) if field == "cost" else PRICE.most(ask()))


@pytest.mark.parametrize("odd", ["x", 3, [], [1], True, {}, {"prompt_tokens_details": [1]}, None])
async def test_a_usage_of_another_shape_does_not_spoil_the_answer(odd):
    met = await meet(chat() | {"usage": odd})
    assert met.reply == ChatReply(text="True", model="loopback-1")


async def test_a_negative_cost_does_not_lower_what_is_spent():
    used = {"usage": {"prompt_tokens": 9, "completion_tokens": 1, "cost": -3}}
    met = await meet(chat() | used)
    assert met.reply is not None
    assert met.reply.cost == 0.0


async def test_usage_above_max_tokens_is_booked_as_reported():
    met = await meet(chat() | usage(9, 5000), ask(max_tokens=5), dialect=PRICED)
    assert met.reply is not None
    assert met.reply.cost == PRICE.of(9, 5000)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
FIELDS = st.sampled_from(
    ["prompt_tokens", "completion_tokens", "cost", "prompt_tokens_details", "cached_tokens", "reasoning_tokens"]
)


@given(st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELDS, inner), max_leaves=8))
def test_any_usage_gives_a_bill_that_is_a_sum_of_money(value):
    spent = bill(reported(value), ask(), PRICE)
    assert 0 <= spent.cost < float("inf")
    assert spent.prompt_tokens >= 0 and spent.completion_tokens >= 0
    if not reported(value).billed:
        assert spent.cost >= PRICE.most(ask())


def test_a_schema_is_part_of_the_prompt():
    schema = {"type": "object", "description": "a" * 1000}
    price = Price(prompt=1e6, completion=0.0)
    assert price.most(ask(json_schema=schema)) > price.most(ask()) + 1000
    assert price.worst(ask(json_schema=schema)) > price.worst(ask()) + 2000


# The limit holds


TOLD = {"good", "good too", "no choices", "error", "unsupported", "status", "in choice", "broken off", "filtered"}
TOLD |= {"thinking", "empty", "another shape"}
"""Moods in which the client hears of the usage."""


class Biller:
    """A server of every mood that keeps its own bill: what a provider would charge, told to the client or not.

    What it does not tell is the most it can be, so that nothing booked too high can hide what is booked too low.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.billed = 0.0
        self.moods: set[str] = set()

    def __call__(self, request: Request) -> Answer | dict:
        body = request.json
        prompt, completion = self.random.randint(8, 25), self.random.randint(1, body["max_tokens"])
        used = usage(prompt, completion)
        free = {
            "limit": error(429, "busy", headers={"Retry-After": "0"}),
            "down": error(500, "down"),
            "bad": error(400, "no"),
            "embedded": Answer({"error": {"code": 503, "message": "busy"}}),
        }
        paid = {
            "good": chat() | used,
            "good too": chat("It is so.") | used,
            "no usage": chat(),
            "odd usage": chat() | {"usage": self.random.choice(["x", {}, {"prompt_tokens": -5}, {"cost": -3}])},
            "no choices": {"choices": []} | used,
            "nothing": {"choices": []},
            "error": {"error": {"code": 502, "message": "upstream"}} | used,
            "unsupported": {"error": {"code": 400, "message": "temperature is not supported"}} | used,
            "status": Answer({"error": {"message": "down"}} | used, status=500),
            "gateway": error(504, "gateway"),
            "in choice": in_choice(error={"code": 502, "message": "upstream"}) | used,
            "broken off": in_choice(finish_reason=self.random.choice(["error", "abort", "cancelled"])) | used,
            "filtered": chat("Tr", finish_reason="content_filter") | used,
            "thinking": chat(None, finish_reason="length", reasoning_content="So…") | used,
            "empty": chat("") | used,
            "another shape": {"choices": "none"} | used,
            "cut": Answer(chat() | used, cut=self.random.randint(1, 100)),
            "reset": Answer(chat() | used, reset=True),
            "slow": Answer(chat() | used, delay=0.6),
            "blank": Answer(b""),
        }
        mood = self.random.choice([*free, *paid])
        self.moods.add(mood)
        if mood in TOLD:
            self.billed += PRICE.of(prompt, completion)
        elif mood in paid:
            self.billed += PRICE.most(ask(request.prompt, max_tokens=body["max_tokens"]))
        return free[mood] if mood in free else paid[mood]


@pytest.mark.parametrize(("seed", "cancelled"), [(1, 0.0), (2, 0.0), (3, 0.02)])
async def test_no_fault_makes_the_server_s_own_bill_exceed_the_limit(seed: int, cancelled: float):
    server, budget = Biller(seed), Budget(max_cost=1.5)
    request = ask(max_tokens=400)
    assert 64 * PRICE.worst(request) < 1.5, "all 64 at once must be possible"
    async with Loopback(server) as place:
        client = OpenAICompatible(place.url, "m", dialect=PRICED, total_timeout=0.3)
        paid = Paid(client, budget, PRICE)
        model = Retrying(paid, circuit=10**6, sleep=lambda _: asyncio.sleep(0))
        dice = random.Random(seed)

        async def worker() -> str:
            while True:
                call = asyncio.create_task(model.chat(request))
                if dice.random() < cancelled:
                    asyncio.get_running_loop().call_later(0.005, call.cancel)
                try:
                    await call
                except BudgetSpent as end:
                    return str(end)
                except (VeridicalError, asyncio.CancelledError):
                    continue

        ends = await asyncio.gather(*(worker() for _ in range(64)))
        await model.close()
    assert len(ends) == 64
    assert len(server.moods) == 24, "every fault has occurred"
    assert 0 < server.billed <= budget.spent + 1e-9
    assert budget.spent <= 1.5
    assert budget.spent > 1.5 - PRICE.worst(request)
