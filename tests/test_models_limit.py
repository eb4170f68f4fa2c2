"""Adaptive concurrency: never above the window, first come first served, no slot lost."""

import asyncio
import dataclasses
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.errors import ModelError
from veridical.models.base import ChatReply, ChatRequest, Message
from veridical.models.limit import Limited
from veridical.models.retry import Retryable, Trouble

OK = ChatReply(text="True")


def ask(text: str = "x") -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),))


@dataclasses.dataclass
class Held:
    """Calls that stay open until the test ends them, in any order."""

    name: str = "held/m"
    identity: str = "held"
    open: deque[asyncio.Future[ChatReply]] = dataclasses.field(default_factory=deque)
    started: list[str] = dataclasses.field(default_factory=list)
    closed: bool = False

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.started.append(request.messages[0].content)
        call: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        self.open.append(call)
        return await call

    async def close(self) -> None:
        self.closed = True

    async def end(self, outcome: ChatReply | Exception = OK) -> None:
        """End the oldest open call that was not cancelled."""
        call = self.open.popleft()
        while call.cancelled():
            call = self.open.popleft()
        call.set_exception(outcome) if isinstance(outcome, Exception) else call.set_result(outcome)
        await settle()


async def settle() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


def congested(trouble: Trouble = Trouble.RATE_LIMIT) -> Retryable:
    return Retryable("busy", trouble=trouble)


async def start(model: Limited, count: int) -> list[asyncio.Task[ChatReply]]:
    tasks = [asyncio.create_task(model.chat(ask(str(number)))) for number in range(count)]
    await settle()
    return tasks


async def finish(held: Held, tasks: list[asyncio.Task[ChatReply]]) -> None:
    while not all(task.done() for task in tasks):
        await held.end()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_no_more_than_the_limit_at_once():
    held = Held()
    model = Limited(held, limit=3)
    tasks = await start(model, 10)
    assert len(held.open) == model.in_flight == model.current == 3
    await held.end()
    assert len(held.open) == 3
    await finish(held, tasks)
    assert model.in_flight == 0


async def test_first_come_first_served():
    held = Held()
    model = Limited(held, limit=2)
    await finish(held, await start(model, 9))
    assert held.started == [str(number) for number in range(9)]


async def test_a_newcomer_does_not_overtake_those_who_wait():
    held = Held()
    model = Limited(held, limit=1)
    tasks = await start(model, 2)
    held.open.popleft().set_result(OK)
    tasks.append(asyncio.create_task(model.chat(ask("newcomer"))))
    await settle()
    await finish(held, tasks)
    assert held.started == ["0", "1", "newcomer"]


async def test_the_window_grows_to_the_limit():
    held = Held()
    model = Limited(held, limit=20)
    assert model.current == 8
    tasks = await start(model, 100)
    await finish(held, tasks)
    assert model.current == 20


@pytest.mark.parametrize("trouble", [Trouble.RATE_LIMIT, Trouble.OVERLOAD, Trouble.TIMEOUT])
async def test_congestion_halves_the_window(trouble: Trouble):
    held = Held()
    model = Limited(held, limit=8)
    tasks = await start(model, 8)
    await held.end(congested(trouble))
    assert model.current == 4
    await finish(held, tasks)


async def test_a_burst_of_refusals_is_one_sign_of_congestion():
    held = Held()
    model = Limited(held, limit=8)
    tasks = await start(model, 8)
    for _ in range(8):
        await held.end(congested())
    assert model.current == 4
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_congestion_again_halves_again_down_to_one():
    held = Held()
    model = Limited(held, limit=8)
    for expected in (4, 2, 1, 1):
        tasks = await start(model, 1)
        await held.end(congested())
        await asyncio.gather(*tasks, return_exceptions=True)
        assert model.current == expected


async def test_after_congestion_the_window_grows_by_one_a_round():
    held = Held()
    model = Limited(held, limit=8)
    await asyncio.gather(*await start(model, 1), held.end(congested()), return_exceptions=True)
    assert model.current == 4
    await finish(held, await start(model, 4))
    assert model.current == 4
    await finish(held, await start(model, 1))
    assert model.current == 5


@pytest.mark.parametrize("error", [ModelError("no"), Retryable("x", trouble=Trouble.CONNECTION)])
async def test_other_trouble_leaves_the_window_alone(error: Exception):
    held = Held()
    model = Limited(held, limit=8)
    tasks = await start(model, 1)
    await held.end(error)
    with pytest.raises(type(error)):
        await tasks[0]
    assert (model.current, model.in_flight) == (8, 0)


async def test_cancelling_one_who_waits_takes_no_slot():
    held = Held()
    model = Limited(held, limit=1)
    tasks = await start(model, 3)
    tasks[1].cancel()
    await settle()
    await held.end()
    assert held.started == ["0", "2"]
    await finish(held, tasks)
    assert model.in_flight == 0


async def test_cancelling_one_who_was_just_given_a_slot_passes_it_on():
    held = Held()
    model = Limited(held, limit=1)
    tasks = await start(model, 3)
    held.open.popleft().set_result(OK)
    await asyncio.sleep(0)
    assert (model.in_flight, held.started) == (1, ["0"]), "the second has the slot and has not yet run"
    tasks[1].cancel()
    await settle()
    assert held.started == ["0", "2"]
    await finish(held, tasks)
    assert model.in_flight == 0


async def test_cancelling_one_who_waits_at_the_moment_a_slot_gets_free():
    held = Held()
    model = Limited(held, limit=1)
    tasks = await start(model, 3)
    held.open.popleft().set_result(OK)
    tasks[1].cancel()
    await settle()
    assert tasks[1].cancelled()
    assert held.started == ["0", "2"]
    await finish(held, tasks)
    assert model.in_flight == 0


async def test_cancelling_a_call_under_way_frees_its_slot():
    held = Held()
    model = Limited(held, limit=1)
    tasks = await start(model, 2)
    tasks[0].cancel()
    await settle()
    assert held.started == ["0", "1"]
    await finish(held, tasks)
    assert model.in_flight == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.lists(st.sampled_from(["start", "end", "refuse", "cancel"]), max_size=60))
def test_whatever_happens_no_slot_is_lost(limit: int, steps: list[str]):
    async def run() -> None:
        held = Held()
        model = Limited(held, limit=limit)
        tasks: list[asyncio.Task[ChatReply]] = []
        for number, step in enumerate(steps):
            alive = [call for call in held.open if not call.done()]
            if step == "start":
                tasks.append(asyncio.create_task(model.chat(ask(str(number)))))
            elif step == "cancel" and tasks:
                tasks[number % len(tasks)].cancel()
            elif alive and step in ("end", "refuse"):
                await held.end(OK if step == "end" else congested())
            if number % 3:
                await settle()
            assert 1 <= model.current <= limit
        await settle()
        await finish(held, tasks)
        assert model.in_flight == 0
        assert not model._waiting

    asyncio.run(run())


async def test_it_is_a_model_like_the_one_inside():
    held = Held()
    model = Limited(held, limit=1)
    assert (model.name, model.identity) == ("held/m", "held")
    await model.close()
    assert held.closed


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        Limited(Held(), limit=0)
