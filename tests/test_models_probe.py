import json

import pytest

from loopback import Answer, Loopback, Request, chat, error, usage
from packaged import smollm2
from veridical.errors import FatalError, ModelError
from veridical.models.base import ChatReply, TokenLogprob
from veridical.models.factory import open_model
from veridical.models.llamacpp import LlamaCpp
from veridical.models.openai_compatible import OpenAICompatible
from veridical.models.probe import gives_logits, gives_logprobs, probe
from veridical.models.scripted import Scripted

LOGPROBS = {
    "content": [
        {
            "token": "True",
            "logprob": -0.2,
            "top_logprobs": [{"token": t, "logprob": p} for t, p in (("True", -0.2), ("False", -1.9), ("No", -4.0))],
        }
    ]
}


class Server:
    """A capable model; what it lacks is named."""

    def __init__(self, *, without: tuple[str, ...] = (), window: int | None = None, cuts: bool = False) -> None:
        self.without, self.window, self.cuts, self.turn = without, window, cuts, 0

    def __call__(self, request: Request):
        body = request.json
        words = sum(len(message["content"].split()) for message in body["messages"])
        if self.window and words > self.window and not self.cuts:
            return error(400, f"maximum context length is {self.window} tokens", code="context_length_exceeded")
        seen = min(words, self.window or words)
        answer = chat(self.text(body), **({"logprobs": LOGPROBS} if self.likely(body) else {}))
        return answer if "usage" in self.without else answer | usage(seen)

    def likely(self, body) -> bool:
        return "top_logprobs" in body and "logprobs" not in self.without

    def text(self, body) -> str:
        self.turn += 1
        question = body["messages"][-1]["content"]
        if body["messages"][0]["role"] == "system" and "system" not in self.without:
            return "heron"
        if "response_format" in body and "schema" not in self.without:
            return json.dumps({"answer": "yes"})
        if "random" in question:
            return f"Town {self.turn}" if "seed" in self.without else "Town 7"
        lost = self.cuts and self.window and len(question.split()) > self.window
        return "MARIGOLD-4417" if "code word" in question and not lost else "True"


async def probed(handler, **settings):
    async with Loopback(handler) as server:
        model = OpenAICompatible(server.url, "m", name="test/m")
        result = await probe(model, **settings)
        await model.close()
    return result, server


def notes(result) -> str:
    return "\n".join(result.notes)


async def test_a_capable_endpoint():
    result, server = await probed(Server())
    assert (result.model, result.server_model) == ("test/m", "loopback-1")
    assert (result.reachable, result.chat, result.system_role, result.json_schema) == (True, True, True, True)
    assert (result.logprobs, result.seed, result.prompt_tokens) == (3, True, True)
    assert (result.longest_prompt, result.cuts, result.notes) == (8000, False, ())
    assert result.latency is not None and result.latency > 0
    assert len(server.requests) == 11


async def test_an_endpoint_that_has_nothing_but_chat():
    result, _ = await probed(Server(without=("system", "schema", "logprobs", "seed", "usage")), most_words=500)
    assert (result.chat, result.system_role, result.json_schema) == (True, False, False)
    assert (result.logprobs, result.seed, result.prompt_tokens) == (0, False, False)
    for words in ("system message", "JSON schemas", "no log-probabilities", "same seed", "prompt sizes"):
        assert words in notes(result)


@pytest.mark.parametrize("value", [None, {"content": None}, {}], ids=["null", "null content", "empty"])
async def test_l1_log_probabilities_that_are_not_there_are_seen_at_the_start(value):
    async with Loopback(chat("True", logprobs=value)) as server:
        model = OpenAICompatible(server.url, "m")
        assert await gives_logprobs(model) is False
        result = await probe(model, most_words=0)
        await model.close()
    assert result.logprobs == 0
    assert "read from the text (--read text)" in notes(result)


async def test_l1_both_shapes_of_log_probabilities_are_found():
    legacy = {"tokens": ["True"], "token_logprobs": [-0.2], "top_logprobs": [{"True": -0.2, "False": -1.9}]}
    for shape in (LOGPROBS, legacy):
        async with Loopback(chat("True", logprobs=shape)) as server:
            model = OpenAICompatible(server.url, "m")
            assert await gives_logprobs(model) is True
            await model.close()


async def test_l1_log_probabilities_without_alternatives_do_not_do():
    bare = {"content": [{"token": "True", "logprob": -0.2, "top_logprobs": []}]}
    result, _ = await probed(chat("True", logprobs=bare), most_words=0)
    assert result.logprobs == 0
    assert "without alternatives" in notes(result)


async def test_l1_a_server_that_refuses_them_is_asked_without_and_told_of():
    def refusing(request: Request):
        if "logprobs" in request.json:
            return error(
                400, "logprobs is not supported with this model", code="unsupported_parameter", param="logprobs"
            )
        return "True"

    result, _ = await probed(refusing, most_words=0)
    assert result.logprobs == 0
    assert "the server refused something: without log-probabilities" in notes(result)


async def test_e5_a_server_that_cuts_prompts_silently():
    result, _ = await probed(Server(window=1500, cuts=True))
    assert (result.longest_prompt, result.cuts) == (1000, True)
    assert "a prompt of 2000 words" in notes(result)


async def test_e5_a_cut_that_the_reported_size_hides_at_first():
    """Two words a token: the reported size is above the fewest possible, yet it does not grow any more."""

    class Dense(Server):
        def __call__(self, request: Request):
            answer = super().__call__(request)
            answer["usage"]["prompt_tokens"] *= 2
            return answer

    result, _ = await probed(Dense(window=2100, cuts=True))
    assert (result.longest_prompt, result.cuts) == (2000, True)


async def test_e5_a_model_that_reports_fewer_tokens_than_any_tokenizer_makes():
    model = Scripted(lambda _: ChatReply(text="MARIGOLD-4417", prompt_tokens=300))
    result = await probe(model)
    assert (result.longest_prompt, result.cuts) == (None, True)
    assert "of 500 words it saw 300 tokens" in notes(result)


async def test_a_server_that_says_its_window():
    result, _ = await probed(Server(window=1500))
    assert (result.longest_prompt, result.cuts) == (1000, False)
    assert "maximum context length is 1500" in notes(result)


async def test_a_cut_that_no_size_tells_of_is_seen_by_the_lost_start():
    result, _ = await probed(Server(window=1500, cuts=True, without=("usage",)))
    assert (result.longest_prompt, result.cuts) == (1000, None)
    assert "did not find the start of a prompt of 2000 words" in notes(result)


async def test_a_bad_key_is_named():
    result, server = await probed(error(401, "Incorrect API key provided", code="invalid_api_key"))
    assert (result.reachable, result.chat, result.logprobs) == (True, False, None)
    assert "Incorrect API key provided" in notes(result)
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [Answer("<html>", status=404), Answer("no JSON"), error(500, "boom"), chat("")])
async def test_faults_of_any_kind_are_results(answer):
    result, _ = await probed(answer)
    assert (result.reachable, result.chat) == (True, False)
    assert result.notes


async def test_nobody_at_the_address():
    async with Loopback() as server:
        url = server.url
    for model in (OpenAICompatible(url, "m"), open_model(f"{url}#m", attempts=1)):
        result = await probe(model)
        assert (result.reachable, result.chat) == (False, False)
        assert "no answer" in notes(result)
        await model.close()


async def test_a_model_that_does_not_answer_gives_no_mode():
    async with Loopback(error(400, "bad request")) as server:
        model = OpenAICompatible(server.url, "m")
        with pytest.raises(FatalError, match="first question"):
            await gives_logprobs(model)
        await model.close()


@pytest.mark.slow
async def test_a_real_model(monkeypatch, tmp_path):
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path))
    model = LlamaCpp(smollm2(), n_ctx=512, threads=1)
    assert await gives_logprobs(model) is True
    result = await probe(model, most_words=500)
    await model.close()
    assert (result.chat, result.json_schema, result.seed, result.logprobs) == (True, True, True, 5)
    assert (result.longest_prompt, result.cuts) == (None, False)
    assert "context" in notes(result)


async def test_logits_of_labels_are_for_models_in_this_process():
    async with Loopback(chat("True", logprobs=LOGPROBS)) as server:
        model = OpenAICompatible(server.url, "m")
        assert await gives_logits(model) is False
        assert not server.requests  # it is known without asking
        await model.close()
    top = (("True", -0.1), ("False", -2.4))
    said = ChatReply(text="True", logprobs=(TokenLogprob(token="True", logprob=-0.1, top=top),))
    assert await gives_logits(Scripted(lambda request: said)) is True
    assert await gives_logits(Scripted("True")) is False
    with pytest.raises(FatalError, match="did not answer"):
        await gives_logits(Scripted(lambda request: ModelError("no")))
