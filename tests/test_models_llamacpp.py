import asyncio
import json
import math
import subprocess
import sys
import threading

import pytest

from packaged import smollm2
from veridical.errors import FatalError, ModelError, UsageError
from veridical.models import llamacpp
from veridical.models.base import ChatRequest, Message
from veridical.models.labels import label_probability
from veridical.models.llamacpp import LlamaCpp


def ask(text: str, **settings) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), **settings)


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
async def model():
    model = LlamaCpp(smollm2(), n_ctx=256, threads=1)
    yield model
    await model.close()


# Without the real model


def test_a_file_that_is_missing_or_no_gguf(tmp_path):
    with pytest.raises(UsageError, match=r"gone\.gguf: No such file"):
        LlamaCpp(tmp_path / "gone.gguf")
    (tmp_path / "page.gguf").write_text("<html>", encoding="utf-8")
    with pytest.raises(UsageError, match="not a GGUF file"):
        LlamaCpp(tmp_path / "page.gguf")
    (tmp_path / "empty.gguf").touch()
    with pytest.raises(UsageError, match="not a GGUF file"):
        LlamaCpp(tmp_path / "empty.gguf")
    with pytest.raises(UsageError, match="Is a directory"):
        LlamaCpp(tmp_path)


async def test_closing_waits_for_the_call_under_way_and_not_for_those_behind_it(tmp_path):
    pytest.importorskip("xllamacpp")
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    model, running, go_on, made = LlamaCpp(tmp_path / "m.gguf"), threading.Event(), threading.Event(), []

    def run(body):
        made.append(body)
        running.set()
        go_on.wait(10)
        return b"{}"

    model._run = run
    calls = [asyncio.create_task(model._said({"number": number})) for number in range(20)]
    await asyncio.to_thread(running.wait, 10)
    closing = asyncio.create_task(model.close())
    await asyncio.sleep(0.05)
    go_on.set()
    await closing
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert made == [{"number": 0}]
    assert outcomes[0] == b"{}"
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes[1:])


def test_without_the_extra_it_says_how_to_install_it(tmp_path, monkeypatch):
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageError, match=r"pip install 'veridical\[llamacpp\]'"):
        LlamaCpp(tmp_path / "m.gguf")


def test_the_identity_is_the_files_content(tmp_path):
    pytest.importorskip("xllamacpp")
    one, copy, other = (tmp_path / name / "m.gguf" for name in ("one", "copy", "other"))
    for path, content in ((one, b"GGUF a"), (copy, b"GGUF a"), (other, b"GGUF b")):
        path.parent.mkdir()
        path.write_bytes(content)
    assert LlamaCpp(one).identity == LlamaCpp(copy).identity != LlamaCpp(other).identity
    assert LlamaCpp(one).name.startswith("llamacpp/m@")
    assert LlamaCpp(one).name != LlamaCpp(other).name
    assert LlamaCpp(one, n_ctx=100).identity != LlamaCpp(one).identity
    with pytest.raises(UsageError):
        LlamaCpp(one, n_ctx=0)


async def test_a_file_that_cannot_be_loaded_stops_the_run(tmp_path):
    pytest.importorskip("xllamacpp")
    (tmp_path / "m.gguf").write_bytes(b"GGUF" + bytes(100))
    model = LlamaCpp(tmp_path / "m.gguf")
    with pytest.raises(FatalError, match="cannot load"):
        await model.chat(ask("q"))
    await model.close()


class Engine:
    """Stands in for the server inside: notes what it was given and says what it is told."""

    def __init__(self, said):
        self.said, self.bodies = said, []

    def handle_chat_completions(self, body):
        self.bodies.append(body)
        return self.said


async def test_the_request_in_llamacpps_words(tmp_path):
    pytest.importorskip("xllamacpp")
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    model = LlamaCpp(tmp_path / "m.gguf")
    model._server = Engine({"choices": [{"message": {"content": "True"}, "finish_reason": "stop"}], "model": "/a/path"})
    schema = {"type": "object"}
    settings = {"temperature": 0.5, "top_p": 0.9, "seed": 3, "sample": 2, "stop": ("\n",), "top_logprobs": 5}
    reply = await model.chat(ask("q", max_tokens=7, json_schema=schema, **settings))
    body = model._server.bodies[0]
    assert (body["max_tokens"], body["temperature"], body["top_p"], body["seed"]) == (7, 0.5, 0.9, 5)
    assert (body["stop"], body["logprobs"], body["top_logprobs"]) == (["\n"], True, 5)
    assert body["response_format"]["json_schema"]["schema"] == schema
    assert reply.model == model.name  # not the file's path
    await model.close()


class Labels:
    """Stands for the server: knows what tokens each label has, and their logits at the one prompt there is."""

    def __init__(self, tokens, probabilities, *, hidden=()):
        self.tokens, self.probabilities, self.hidden, self.lookups = tokens, probabilities, hidden, 0

    def handle_completions(self, body):
        self.lookups += 1
        [(text, _)] = body["logit_bias"]
        listed = [(number, name, 0.1) for number, name in self.tokens[text]] + [(99, "True", 1e-41)]
        return self.said(listed)

    def handle_chat_completions(self, body):
        assert (body["max_tokens"], body["temperature"], body["post_sampling_probs"]) == (1, 1.0, True)
        assert "top_p" not in body and "stop" not in body
        raised = [number for number, _ in body["logit_bias"]]
        assert len(raised) == len(set(raised))  # llama.cpp adds up
        return self.said([(n, str(n), self.probabilities[n]) for n in raised if n not in self.hidden])

    def said(self, listed):
        top = [{"id": number, "token": name, "prob": chance} for number, name, chance in listed]
        choice = {"message": {"content": "x"}, "logprobs": {"content": [{"top_probs": top}]}}
        return {"choices": [choice], "usage": {"prompt_tokens": 7}}


TOKENS = {
    ":True": [(1, ":"), (2, "True")],
    ": True": [(1, ":"), (3, " True")],
    ":False": [(1, ":"), (4, "F"), (5, "alse")],
    ": False": [(1, ":"), (6, " "), (7, " False")],
    ":Trust": [(1, ":"), (2, "True"), (8, "Tru"), (9, "st")],
    ": Trust": [(1, ":"), (3, " True"), (10, " Trust")],
    ":Trues": [(1, ":"), (2, "True"), (9, "s")],
    ": Trues": [(1, ":"), (3, " True"), (9, "s")],
}


async def labelled(tmp_path, labels, probabilities, **options):
    pytest.importorskip("xllamacpp")
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    model = LlamaCpp(tmp_path / "m.gguf")
    model._server = Labels(TOKENS, probabilities, **options)
    try:
        return [await model.chat(ask("q", labels=labels, stop=("x",), top_p=0.5)) for _ in range(2)][1], model
    finally:
        engine = model._server
        await model.close()
        model._server = engine


async def test_labels_are_compared_in_both_spellings_together(tmp_path):
    reply, model = await labelled(tmp_path, ("True", "False"), {2: 0.3, 4: 0.1, 3: 0.2, 7: 0.5})
    assert reply.text == "False"
    assert dict(reply.logprobs[0].top) == pytest.approx({"True": math.log(5 / 11), "False": math.log(6 / 11)})
    assert label_probability(reply, ("True",), ("False",)) == pytest.approx(5 / 11)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.model) == (7, 0, model.name)
    assert model._server.lookups == 4  # not once more for the second call
    reply, _ = await labelled(tmp_path, ("True", "False"), {2: 0.6, 4: 0.2, 3: 0.1, 7: 0.1})
    assert reply.text == "True"
    tie, _ = await labelled(tmp_path, ("True", "False"), {2: 0.5, 4: 0.5, 3: 0.0, 7: 0.0})
    assert tie.text == "True"  # the first of equals
    none, _ = await labelled(tmp_path, ("False", "True"), {2: 1.0, 4: 0.0, 3: 0.0, 7: 0.0})
    assert label_probability(none, ("True",), ("False",)) == pytest.approx(1.0)


async def test_a_label_that_llamacpp_does_not_list_is_an_error_not_a_zero(tmp_path):
    with pytest.raises(ModelError, match="does not list all labels"):
        await labelled(tmp_path, ("True", "False"), {2: 0.3, 4: 0.1, 3: 0.2, 7: 0.5}, hidden=(7,))
    with pytest.raises(ModelError, match="begin with the same token"):
        await labelled(tmp_path, ("True", "Trues"), {2: 1.0, 3: 1.0})
    with pytest.raises(ModelError, match="begin with the same token"):
        await labelled(tmp_path, ("True",), {2: 1.0, 3: 1.0})


# With it


@pytest.mark.slow
async def test_labels_have_the_log_probabilities_of_the_whole_list(model):
    """By the bias the same as from all alternatives of the token."""
    request = ask("Is the sky green? Answer True or False.", labels=("True", "False"))
    reply = await model.chat(request)
    whole = await model.chat(ask("Is the sky green? Answer True or False.", max_tokens=1, top_logprobs=20))
    top = dict(whole.logprobs[0].top)
    ours = dict(reply.logprobs[0].top)
    assert ours["True"] - ours["False"] == pytest.approx(top["True"] - top["False"], abs=1e-4)
    assert reply.prompt_tokens == whole.prompt_tokens
    assert await model.chat(request) == reply
    spoken = await model.chat(ask("q", labels=("not supported", "supported", "True")))
    assert len(spoken.logprobs[0].top) == 3


@pytest.mark.slow
async def test_probabilities_repeat_whatever_was_asked_before(model):
    intro = "Judge whether the statement is true. Think of facts only. " * 4

    def judge(n: int) -> ChatRequest:
        return ask(f"{intro}Statement: the number {n} is prime. True or False?", max_tokens=2, top_logprobs=10)

    await model.chat(judge(3))
    alone = await model.chat(judge(8))
    assert alone.logprobs
    assert alone.finish_reason in ("stop", "length")
    assert alone.prompt_tokens > 10
    assert len(alone.logprobs[0].top) == 10
    await model.chat(judge(12))
    await model.chat(ask("Is it?", max_tokens=2))
    assert (await model.chat(judge(8))).logprobs == alone.logprobs
    probability = label_probability(alone, ("True",), ("False",))
    assert probability is None or 0.0 <= probability <= 1.0
    assert any(name.strip() in ("True", "False") for name, _ in alone.logprobs[0].top)


@pytest.mark.slow
async def test_seed_stop_schema_and_window(model):
    seeded = ask("Name a town.", temperature=1.0, seed=7, max_tokens=12)
    first = await model.chat(seeded)
    assert (await model.chat(seeded)).text == first.text
    assert (await model.chat(ask("Name a town.", temperature=1.0, seed=7, sample=1, max_tokens=12))).text != first.text

    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    answer = json.loads((await model.chat(ask("Is the sea salty?", json_schema=schema, max_tokens=40))).text)
    assert answer["answer"] in ("yes", "no")
    with pytest.raises(ModelError, match="refuses the request"):
        await model.chat(ask("q", json_schema={"type": "nonsense"}))

    with pytest.raises(ModelError, match="context"):  # E5: before any answer
        await model.chat(ask("word " * 400, max_tokens=2))
    assert (await model.chat(ask("Say hello.", max_tokens=8))).text  # and the next one is well


@pytest.mark.slow
async def test_the_event_loop_runs_on_and_a_cancelled_call_blocks_nobody(model):
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    ticking = asyncio.create_task(tick())
    calls = [asyncio.create_task(model.chat(ask(f"Say {n}.", max_tokens=8))) for n in range(3)]
    await asyncio.sleep(0.05)
    calls[1].cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    ticking.cancel()
    assert ticks > 10
    assert isinstance(outcomes[1], asyncio.CancelledError)
    assert outcomes[0].text and outcomes[2].text


@pytest.mark.slow
def test_nothing_is_written_to_the_terminal_and_the_process_ends():
    script = (
        "import asyncio, sys\n"
        "from veridical.models.base import ChatRequest, Message\n"
        "from veridical.models.llamacpp import LlamaCpp\n"
        "async def main():\n"
        "    model = LlamaCpp(sys.argv[1], n_ctx=128, threads=1)\n"
        "    await model.chat(ChatRequest(messages=(Message(role='user', content='Hi'),), max_tokens=2))\n"
        "    await model.close()\n"
        "    await model.close()\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(smollm2())], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("load", "asked", "threads"),
    [(0.2, "", 8), (3.1, "", 5), (20.0, "", 1), (0.0, "2", 2), (7.0, "4", 1), (0.0, "many", 8), (0.0, "0", 1)],
)
def test_threads_default_to_the_processors_that_are_free(monkeypatch, load, asked, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert llamacpp._free_processors() == threads
