import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import BudgetSpent, FatalError, ModelError, UsageError
from veridical.models.base import ChatReply, ChatRequest, Message
from veridical.models.cache import Cached, CallStore
from veridical.models.metered import Budget, Counted, Paid, Price, measure
from veridical.models.retry import Retryable, Trouble
from veridical.models.scripted import Scripted
from veridical.models.wire import OutOfBudget, Unusable
from veridical.types import Usage


def ask(text: str = "q", **settings) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), **settings)


def costing(cost: float, **more) -> ChatReply:
    return ChatReply(text="True", prompt_tokens=10, completion_tokens=2, cost=cost, **more)


# What the work takes


async def test_usage_does_not_depend_on_the_cache(tmp_path):
    store, budget = CallStore(tmp_path / "c.sqlite"), Budget()
    client = Scripted(lambda _: costing(0.5))
    model = Counted(Cached(Paid(client, budget), store))
    usages = []
    for _ in range(2):
        with measure() as meter:
            await asyncio.gather(*(model.chat(ask(str(n % 3))) for n in range(6)))
        usages.append(meter.usage)
    assert usages[0] == usages[1] == Usage(calls=6, prompt_tokens=60, completion_tokens=12, cost=3.0)
    assert (budget.calls, budget.spent, budget.prompt_tokens, budget.completion_tokens) == (3, 1.5, 30, 6)
    store.close()


async def test_meters_do_not_see_each_other_and_outer_ones_see_all():
    model = Counted(Scripted(lambda _: costing(1.0), delay=0.001))

    async def generation(calls: int) -> int:
        with measure() as meter:
            await asyncio.gather(*(model.chat(ask(str(n))) for n in range(calls)))
        return meter.usage.calls

    with measure() as whole:
        assert await asyncio.gather(*(generation(n) for n in range(5))) == [0, 1, 2, 3, 4]
    assert whole.usage.calls == 10
    await model.chat(ask("outside"))
    assert whole.usage.calls == 10


async def test_failed_calls_are_not_counted_as_usage():
    model = Counted(Scripted([ModelError("busy"), costing(1.0)]))
    with measure() as meter:
        with pytest.raises(ModelError):
            await model.chat(ask())
        await model.chat(ask())
    assert meter.usage.calls == 1


async def test_a_rejection_reaches_the_cache_beneath(tmp_path):
    store = CallStore(tmp_path / "c.sqlite")
    client = Scripted(["maybe", "True"])
    model = Counted(Cached(client, store))
    await model.chat(ask())
    await model.reject(ask())
    assert (await model.chat(ask())).text == "True"
    await Counted(client).reject(ask())  # no cache: nothing to do
    store.close()


# What is paid


@given(
    st.text(max_size=40),
    st.integers(1, 3000),
    st.floats(0, 100),
    st.floats(0, 100),
    st.integers(0, 100),
    st.booleans(),
)
def test_the_worst_case_bounds_every_reply(text, max_tokens, price_in, price_out, reasoning, again):
    """A prompt of one token a byte, and the client's second try with a larger budget."""
    price = Price(prompt=price_in, completion=price_out)
    prompt = len(text.encode("utf-8", "replace")) + 8
    answer = max_tokens + max(4 * max_tokens, 1024) if again else max_tokens
    assert price.of(prompt * (2 if again else 1), answer) <= price.worst(ask(text, max_tokens=max_tokens)) * (1 + 1e-9)


async def test_the_budget_is_never_exceeded_and_is_used_up():
    budget = Budget(max_cost=1.0)
    price = Price(prompt=0.0, completion=10.0)
    request = ask(max_tokens=2000)
    assert price.worst(request) == pytest.approx(0.1)
    model = Paid(Scripted(lambda _: costing(0.035), delay=0.001), budget, price)
    outcomes = await asyncio.gather(*(model.chat(request) for _ in range(60)), return_exceptions=True)
    assert 0.9 < budget.spent <= 1.0
    assert sum(isinstance(outcome, ChatReply) for outcome in outcomes) == budget.calls == 26
    assert sum(isinstance(outcome, BudgetSpent) for outcome in outcomes) == 34
    with pytest.raises(BudgetSpent, match=r"\$0\.9100 of \$1\.0000"):
        await model.chat(request)


async def test_calls_wait_for_what_others_leave_over():
    budget = Budget(max_cost=0.15)
    client = Scripted(lambda _: costing(0.01), delay=0.002)
    model = Paid(client, budget, Price(prompt=0.0, completion=10.0))
    request = ask(max_tokens=2000)  # at worst 0.1: two at once would not fit
    tasks = [asyncio.create_task(model.chat(request)) for _ in range(5)]
    await asyncio.sleep(0)
    assert len(client.seen) == 1
    assert len(await asyncio.gather(*tasks)) == 5


async def test_a_cancelled_waiter_keeps_nothing_reserved():
    budget = Budget(max_cost=0.15)
    model = Paid(Scripted(lambda _: costing(0.01), delay=0.002), budget, Price(prompt=0.0, completion=10.0))
    request = ask(max_tokens=2000)
    tasks = [asyncio.create_task(model.chat(request)) for _ in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[2].cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(outcome, ChatReply) for outcome in outcomes] == [True, False, False, True]
    assert (budget.calls, budget.spent) == (2, 0.02)


async def test_a_call_that_is_cancelled_under_way_may_have_been_billed():
    budget = Budget(max_cost=0.15)
    model = Paid(Scripted(lambda _: costing(0.01), delay=0.002), budget, Price(prompt=0.0, completion=10.0))
    task = asyncio.create_task(model.chat(ask(max_tokens=2000)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert budget.spent == pytest.approx(0.1)
    with pytest.raises(BudgetSpent):
        await model.chat(ask(max_tokens=2000))


async def test_a_server_that_overshoots_max_tokens_is_reckoned_with_from_then_on():
    budget = Budget(max_cost=1.0)
    model = Paid(Scripted(lambda _: costing(0.4)), budget, Price(prompt=0.0, completion=10.0))
    request = ask(max_tokens=2000)  # at worst 0.1
    for _ in range(2):
        await model.chat(request)
    with pytest.raises(BudgetSpent, match=r"may cost \$0\.4000"):
        await model.chat(request)


async def test_an_overshoot_is_reckoned_with_by_those_who_waited_while_it_happened():
    budget, costs = Budget(max_cost=0.5), {2000: 0.3, 6000: 0.02}
    client = Scripted(lambda request: costing(costs[request.max_tokens]), delay=0.002)
    model = Paid(client, budget, Price(prompt=0.0, completion=10.0))
    calls = [model.chat(ask(max_tokens=most)) for most in (2000, 6000, 3000)]  # at worst 0.1, 0.3 and 0.15
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ChatReply, ChatReply, BudgetSpent]
    assert "may cost $0.3000; $0.3200 of $0.5000" in str(outcomes[2])


async def test_failed_calls_give_back_their_reservation():
    budget = Budget(max_cost=0.1)
    model = Paid(Scripted([ModelError("busy")] * 5 + [costing(0.05)]), budget, Price(prompt=0.0, completion=10.0))
    for _ in range(5):
        with pytest.raises(ModelError, match="busy"):
            await model.chat(ask(max_tokens=2000))
    await model.chat(ask(max_tokens=2000))
    assert (budget.calls, budget.spent) == (1, 0.05)


@pytest.mark.parametrize(
    "error",
    [
        OutOfBudget("no answer (budget)", spent=costing(0.2), reasoned=True),
        Unusable("refused: finish_reason 'content_filter'", spent=costing(0.2)),
        Retryable("the reply holds no choices", trouble=Trouble.MALFORMED, spent=costing(0.2)),
    ],
    ids=["all reasoning", "refused", "may pass"],
)
async def test_a_reply_that_is_no_answer_is_paid_for(error):
    budget = Budget()
    with pytest.raises(type(error)):
        await Paid(Scripted([error]), budget).chat(ask())
    assert (budget.calls, budget.spent) == (1, 0.2)


async def test_after_a_stop_no_call_begins_and_those_under_way_end():
    budget = Budget(max_cost=0.15)
    client = Scripted(lambda _: costing(0.01), delay=0.01)
    model = Paid(client, budget, Price(prompt=0.0, completion=10.0))
    request = ask(max_tokens=2000)
    under_way, waiting = (asyncio.create_task(model.chat(request)) for _ in range(2))
    await asyncio.sleep(0)
    budget.stop()
    for late in (waiting, model.chat(request)):
        with pytest.raises(FatalError, match="stopping"):
            await late
    assert not under_way.done()
    assert (await under_way).text == "True"
    assert (len(client.seen), budget.calls) == (1, 1)


async def test_without_a_price_the_dearest_call_so_far_is_assumed():
    budget = Budget(max_cost=1.0)
    costs = itertools.cycle([0.1, 0.3])
    model = Paid(Scripted(lambda _: costing(next(costs))), budget)
    with pytest.raises(BudgetSpent):
        for _ in range(100):
            await model.chat(ask())
    assert budget.spent == pytest.approx(0.8)


async def test_models_that_cost_nothing_run_on_no_money():
    model = Paid(Scripted("True"), Budget(max_cost=0.0), Price(prompt=0.0, completion=0.0))
    assert (await model.chat(ask())).text == "True"


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
def test_a_budget_is_a_sum_of_money(amount):
    with pytest.raises(UsageError):
        Budget(max_cost=amount)


async def test_the_wrappers_are_transparent():
    client = Scripted("True", name="a/b")
    model = Counted(Paid(client, Budget()))
    assert (model.name, model.identity) == ("a/b", client.identity)
    await model.close()
