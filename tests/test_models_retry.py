"""Retries: what is repeated, how often, how long, and when the run must stop."""

import dataclasses

import pytest

from veridical.errors import FatalError, ModelError
from veridical.models.base import ChatReply, ChatRequest, Message
from veridical.models.retry import Retryable, Retrying, Trouble

ASK = ChatRequest(messages=(Message(role="user", content="Is it so?"),))
OK = ChatReply(text="True")


def busy(trouble: Trouble = Trouble.OVERLOAD, after: float | None = None) -> Retryable:
    return Retryable("HTTP 503: busy", trouble=trouble, retry_after=after)


@dataclasses.dataclass
class Script:
    """Answers in turn, the last one for ever."""

    turns: list[ChatReply | Exception]
    name: str = "script/m"
    identity: str = "script"
    calls: int = 0
    closed: bool = False

    async def chat(self, request: ChatRequest) -> ChatReply:
        turn = self.turns[min(self.calls, len(self.turns) - 1)]
        self.calls += 1
        if isinstance(turn, Exception):
            raise turn
        return turn

    async def close(self) -> None:
        self.closed = True


def retrying(*turns: ChatReply | Exception, jitter: float = 1.0, **settings) -> tuple[Retrying, Script, list[float]]:
    """The wrapper with a clock of its own: the waits are noted, not slept."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    script = Script(list(turns))
    return Retrying(script, sleep=sleep, jitter=lambda: jitter, **settings), script, waits


async def test_a_good_reply_passes():
    model, script, waits = retrying(OK)
    assert await model.chat(ASK) is OK
    assert (script.calls, waits) == (1, [])


async def test_passing_trouble_is_repeated():
    model, script, waits = retrying(busy(), busy(), OK)
    assert await model.chat(ASK) is OK
    assert script.calls == 3
    assert (model.retries, model.waited) == (2, sum(waits))


async def test_waits_double_up_to_the_longest():
    model, _, waits = retrying(busy(), attempts=6, first_wait=1.0, longest_wait=5.0)
    with pytest.raises(ModelError):
        await model.chat(ASK)
    assert waits == [1.0, 2.0, 4.0, 5.0, 5.0]


async def test_jitter_is_full():
    model, _, waits = retrying(busy(), OK, jitter=0.25, first_wait=8.0)
    await model.chat(ASK)
    assert waits == [2.0]


async def test_e1_retry_after_is_respected():
    model, _, waits = retrying(busy(after=2.0), busy(after=2.0), OK, jitter=0.0)
    assert await model.chat(ASK) is OK
    assert waits == [2.0, 2.0]


async def test_e1_attempts_are_bounded_and_shown():
    model, script, _ = retrying(busy(), attempts=4)
    with pytest.raises(ModelError, match=r"script/m: given up after 4 attempts over 7 s.*HTTP 503: busy") as caught:
        await model.chat(ASK)
    assert script.calls == 4
    assert not isinstance(caught.value, Retryable), "nobody further out may repeat it again"


async def test_an_error_may_allow_fewer_attempts_than_the_policy():
    few = Retryable("nobody knows", trouble=Trouble.OVERLOAD, tries=2)
    model, script, waits = retrying(few, attempts=5)
    with pytest.raises(ModelError, match="given up after 2 attempts"):
        await model.chat(ASK)
    assert (script.calls, len(waits)) == (2, 1)


async def test_e1_the_whole_wait_is_bounded():
    model, script, waits = retrying(busy(), attempts=100, max_wait=10.0, longest_wait=4.0)
    with pytest.raises(ModelError):
        await model.chat(ASK)
    assert waits == [1.0, 2.0, 4.0]
    assert script.calls == 4


async def test_e1_a_server_that_asks_for_an_hour_is_not_waited_for():
    model, script, waits = retrying(busy(after=3600.0), max_wait=60.0)
    with pytest.raises(ModelError, match="asks for 3600 s more"):
        await model.chat(ASK)
    assert (script.calls, waits) == (1, [])


@pytest.mark.parametrize("error", [ModelError("HTTP 400: no"), FatalError("quota is used up")])
async def test_other_errors_pass_at_once(error: Exception):
    model, script, waits = retrying(error)
    with pytest.raises(type(error)) as caught:
        await model.chat(ASK)
    assert caught.value is error
    assert (script.calls, waits) == (1, [])


async def test_a_server_that_never_answered_is_unreachable():
    model, script, _ = retrying(busy(Trouble.CONNECTION), attempts=3)
    with pytest.raises(FatalError, match="server unreachable"):
        await model.chat(ASK)
    assert script.calls == 3


@pytest.mark.parametrize("trouble", list(Trouble))
async def test_an_outage_stops_the_run_instead_of_failing_its_items(trouble: Trouble):
    model, _, _ = retrying(OK, busy(trouble), attempts=2, circuit=3)
    await model.chat(ASK)
    for _ in range(2):
        with pytest.raises(ModelError):
            await model.chat(ASK)
    with pytest.raises(FatalError):
        await model.chat(ASK)


@pytest.mark.parametrize("answer", [OK, ModelError("HTTP 400: no")])
async def test_any_answer_between_shows_that_the_server_is_there(answer: ChatReply | ModelError):
    model, script, _ = retrying(attempts=1, circuit=2)
    script.turns = [OK] + [busy(), answer] * 5
    for turn in script.turns:
        if isinstance(turn, Exception):
            with pytest.raises(ModelError):
                await model.chat(ASK)
        else:
            assert await model.chat(ASK) is OK


async def test_it_is_a_model_like_the_one_inside():
    model, script, _ = retrying(OK)
    assert (model.name, model.identity) == ("script/m", "script")
    await model.close()
    assert script.closed
