"""The client against a real server that misbehaves (cases E1 and E4; spec F37, F45, F47, F54)."""

import asyncio
import json
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from calling import ask, meet
from loopback import Answer, Loopback, Request, chat, error, usage
from veridical.errors import FatalError, ModelError, UsageError
from veridical.models.base import ChatReply
from veridical.models.limit import Limited
from veridical.models.openai_compatible import OpenAICompatible, normal_base_url
from veridical.models.retry import Retryable, Retrying, Trouble

# The plain way


async def test_a_call():
    met = await meet(chat("True") | usage(9, 1), ask("Is it so?"), api_key=" sk-key\n", headers={"X-Title": "facts"})
    assert met.reply == ChatReply(text="True", prompt_tokens=9, completion_tokens=1, model="loopback-1")
    (request,) = met.server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == "Bearer sk-key"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-title"] == "facts"


async def test_without_a_key_there_is_no_authorization():
    assert "authorization" not in (await meet("True")).server.requests[0].headers


@pytest.mark.parametrize(
    "fault",
    [
        Answer(chat("Łódź 🚒"), chunked=True),
        Answer(chat("Łódź 🚒"), gzip=True),
        Answer(chat("Łódź 🚒"), headers={"Content-Type": "text/html"}),
        Answer(chat("Łódź 🚒"), drip=0.0001),
        Answer(chat("Łódź 🚒"), close=True),
        Answer(chat("Łódź 🚒"), delay=0.01),
    ],
    ids=["chunked", "gzip", "wrong content type", "drip", "closes", "slow"],
)
async def test_odd_ways_to_send_a_good_reply(fault: Answer):
    met = await meet(fault)
    assert met.reply is not None
    assert met.reply.text == "Łódź 🚒"


async def test_connections_are_used_again():
    async with Loopback() as server:
        model = OpenAICompatible(server.url, "m")
        for _ in range(5):
            await model.chat(ask())
        await model.close()
    assert (len(server.requests), server.connections) == (5, 1)


async def test_the_limit_bounds_what_is_open_at_the_server():
    async with Loopback(Answer(chat(), delay=0.01)) as server:
        model = Limited(OpenAICompatible(server.url, "m"), limit=4)
        await asyncio.gather(*(model.chat(ask()) for _ in range(12)))
        await model.close()
    assert server.peak == 4


def test_one_client_serves_several_event_loops():
    async def port() -> int:
        async with Loopback() as server:
            return server.port

    async def once() -> str:
        async with Loopback(port=free):
            reply = await model.chat(ask())
            await model.close()
            return reply.text

    free = asyncio.run(port())
    model = OpenAICompatible(f"http://127.0.0.1:{free}", "m")
    assert [asyncio.run(once()) for _ in range(3)] == ["True"] * 3


async def test_a_server_that_comes_back_is_found_again():
    async with Loopback() as server:
        model = Retrying(OpenAICompatible(server.url, "m"), sleep=lambda _: asyncio.sleep(0))
        await model.chat(ask())
    with pytest.raises(ModelError, match="6 attempts"):
        await model.chat(ask())
    async with Loopback(port=server.port):
        assert (await model.chat(ask())).text == "True"
        await model.close()


async def test_it_can_be_used_again_after_close():
    async with Loopback() as server:
        model = OpenAICompatible(server.url, "m")
        await model.chat(ask())
        await model.close()
        assert (await model.chat(ask())).text == "True"
        await model.close()


# E1: retry policy


async def test_e1_spent_quota_stops_at_once():
    met = await meet(error(429, "You exceeded your current quota.", code="insufficient_quota"), retry=True)
    assert isinstance(met.error, FatalError)
    assert "You exceeded your current quota." in str(met.error)
    assert len(met.server.requests) == 1


async def test_e1_a_rate_limit_is_waited_for():
    waits = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    busy = error(429, "slow down", headers={"Retry-After": "2"})
    async with Loopback([busy, busy, "True"]) as server:
        model = Retrying(OpenAICompatible(server.url, "m"), sleep=sleep, jitter=lambda: 0.0)
        assert (await model.chat(ask())).text == "True"
        await model.close()
    assert waits == [2.0, 2.0]


@pytest.mark.parametrize("header", ["Retry-After", "Retry-After-Ms"])
async def test_e1_a_server_that_asks_for_centuries_is_given_up_at_once(header: str):
    met = await meet(error(429, "slow down", headers={header: "99999999999999"}), retry=True)
    assert isinstance(met.error, ModelError)
    assert "it asks for" in str(met.error)
    assert len(met.server.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
async def test_e1_overload_is_repeated(status: int):
    met = await meet([error(status, "busy"), Answer("<html>busy</html>", status=status), chat("True")], retry=True)
    assert met.reply is not None
    assert len(met.server.requests) == 3


async def test_e1_attempts_are_bounded_and_the_last_error_is_shown():
    met = await meet(error(503, "all engines busy"), retry=True)
    assert type(met.error) is ModelError
    assert "4 attempts" in str(met.error) and "all engines busy" in str(met.error)
    assert len(met.server.requests) == 4


@pytest.mark.parametrize(
    "fault",
    [
        Answer(reset=True),
        Answer(chat(), cut=20),
        Answer(chat(), cut=20, reset=True),
        Answer(chat(), cut=20, chunked=True),
        Answer(json.dumps(chat())[:40].encode()),
        Answer(b""),
        Answer("<html><h1>Welcome</h1></html>"),
    ],
    ids=["reset", "cut", "reset within", "cut chunks", "cut JSON", "empty body", "HTML page"],
)
async def test_e1_broken_transfers_are_repeated(fault: Answer):
    met = await meet([fault, chat("True")], retry=True)
    assert met.reply is not None
    assert len(met.server.requests) == 2


async def test_e1_a_broken_transfer_says_what_broke():
    assert (await meet(Answer(reset=True))).error.trouble is Trouble.CONNECTION  # type: ignore[union-attr]
    assert (await meet(Answer(chat(), cut=20))).error.trouble is Trouble.MALFORMED  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("fault", "limits"),
    [
        (Answer(chat(), delay=30.0), {"read_timeout": 0.05}),
        (Answer(chat(), delay=30.0), {"total_timeout": 0.05}),
        (Answer(chat(), drip=0.02), {"total_timeout": 0.1}),
    ],
    ids=["silent, read", "silent, total", "drip, total"],
)
async def test_e1_a_slow_server_times_out(fault: Answer, limits: dict):
    met = await meet(fault, **limits)
    assert isinstance(met.error, Retryable)
    assert met.error.trouble is Trouble.TIMEOUT


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 0.0, -1.0])
@pytest.mark.parametrize("field", ["connect_timeout", "read_timeout", "total_timeout"])
def test_time_outs_are_finite(field: str, seconds: float):
    with pytest.raises(UsageError, match=field):
        OpenAICompatible("http://h", "m", **{field: seconds})


async def test_e1_an_unreachable_server_stops_the_run():
    async with Loopback() as server:
        url = server.url  # nobody listens there afterwards
    model = Retrying(OpenAICompatible(url, "m"), attempts=3, sleep=lambda _: asyncio.sleep(0))
    with pytest.raises(FatalError, match="server unreachable"):
        await model.chat(ask())
    await model.close()


async def test_f54_a_wrong_key_stops_at_once_and_is_not_shown():
    met = await meet(lambda r: error(401, f"wrong key {r.headers['authorization']}"), retry=True, api_key="my-secret")
    assert isinstance(met.error, FatalError)
    assert "wrong key" in str(met.error)
    assert "my-secret" not in str(met.error) and "my-secret" not in repr(met.model)
    assert len(met.server.requests) == 1


async def test_f54_cancelling_ends_a_call_at_once():
    async with Loopback(Answer(chat(), delay=30.0)) as server:
        model = OpenAICompatible(server.url, "m")
        task = asyncio.create_task(model.chat(ask()))
        while not server.in_flight:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()


@pytest.fixture
def self_signed(tmp_path: Path) -> ssl.SSLContext:
    openssl = shutil.which("openssl") or pytest.skip("openssl is not installed; it makes the certificate of this test")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    making = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*making, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    return tls


async def test_a_certificate_that_is_not_trusted_stops_the_run(self_signed: ssl.SSLContext):
    async with Loopback(tls=self_signed) as server:
        model = OpenAICompatible(server.url, "m", api_key="my-secret")
        with pytest.raises(FatalError, match="not trusted"):
            await model.chat(ask())
        await model.close()
    assert server.requests == []


async def test_a_connection_that_is_never_made_is_a_failed_one():
    """TLS is begun with a server that knows none and waits for more."""
    async with Loopback() as server:
        model = OpenAICompatible(server.url.replace("http:", "https:"), "m", connect_timeout=0.1)
        with pytest.raises(Retryable) as caught:
            await model.chat(ask())
        await model.close()
    assert caught.value.trouble is Trouble.CONNECTION


async def test_an_unknown_model_stops_the_run():
    met = await meet(error(404, "The model `m` does not exist", code="model_not_found"), retry=True)
    assert isinstance(met.error, FatalError)
    assert len(met.server.requests) == 1


async def test_redirects_are_not_followed():
    async with Loopback() as other:
        away = Answer(b"", status=307, headers={"Location": f"{other.url}/chat/completions"})
        met = await meet(away, api_key="my-secret")
        assert isinstance(met.error, FatalError)
        assert other.requests == []


@pytest.mark.parametrize("gzip", [False, True])
async def test_a_huge_reply_is_not_read_to_its_end(gzip: bool):
    met = await meet(Answer(b" " * (17 * 2**20), gzip=gzip))
    assert type(met.error) is ModelError
    assert "larger than 16 MiB" in str(met.error)


# E4: each server has its own dialect


def strict(**refused: str):
    """A server that refuses parameters, in these words."""

    def handler(request: Request):
        for name, words in refused.items():
            if name in request.json:
                return error(400, words, code="unsupported_parameter", param=name)
        return "True"

    return handler


async def test_e4_a_refused_parameter_is_adapted_once_and_remembered():
    words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    async with Loopback(strict(max_tokens=words, temperature="Only the default (1) is supported.")) as server:
        model = OpenAICompatible(server.url, "m")
        for _ in range(3):
            assert (await model.chat(ask(max_tokens=7))).text == "True"
        await model.close()
    assert len(server.requests) == 2 + 3
    assert server.bodies[-1]["max_completion_tokens"] == 7
    assert "temperature" not in server.bodies[-1]
    assert len(model.adaptations) == 2
    assert words in model.adaptations[0]


async def test_e4_calls_under_way_together_adapt_once():
    async with Loopback(strict(max_tokens="Use 'max_completion_tokens' instead.")) as server:
        model = OpenAICompatible(server.url, "m")
        replies = await asyncio.gather(*(model.chat(ask()) for _ in range(20)))
        await model.close()
    assert all(reply.text == "True" for reply in replies)
    assert len(model.adaptations) == 1
    assert len(server.requests) <= 40


async def test_e4_a_server_that_refuses_both_names_is_not_asked_for_ever():
    met = await meet(strict(max_tokens="Unsupported.", max_completion_tokens="Unsupported."), retry=True)
    assert isinstance(met.error, ModelError)
    assert len(met.server.requests) == 2


@pytest.mark.parametrize("parameter", ["response_format", "logprobs", "seed", "top_p", "stop"])
async def test_e4_what_a_server_does_not_know_is_left_out(parameter: str):
    request = ask(json_schema={"type": "object"}, top_logprobs=3, seed=1, top_p=0.5, stop=("#",))
    met = await meet(strict(**{parameter: "Unknown parameter."}), request)
    assert met.reply is not None
    assert parameter not in met.server.bodies[1]
    assert len(met.model.adaptations) == 1


async def test_e4_a_bad_request_is_shown_at_once_with_the_server_s_words():
    met = await meet(error(400, "Messages must alternate."), retry=True)
    assert type(met.error) is ModelError
    assert "Messages must alternate." in str(met.error)
    assert len(met.server.requests) == 1


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/chat/completions/"])
async def test_e4_every_form_of_base_url_leads_to_the_same_place(path: str):
    async with Loopback() as server:
        model = OpenAICompatible(server.url.removesuffix("/v1") + path, "m")
        await model.chat(ask())
        await model.close()
    assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("https://openrouter.ai/api/v1/", "https://openrouter.ai/api/v1"),
        ("https://g.test/v1beta/openai", "https://g.test/v1beta/openai"),
        (" http://h:8000 ", "http://h:8000/v1"),
        ("https://a.test/openai/chat/completions?api-version=1", "https://a.test/openai?api-version=1"),
    ],
)
def test_e4_base_urls_are_normalised(given: str, normal: str):
    assert normal_base_url(given) == normal
    assert normal_base_url(normal) == normal


async def test_e4_a_query_in_the_base_url_is_kept():
    async with Loopback() as server:
        model = OpenAICompatible(f"{server.url}?api-version=1", "m")
        await model.chat(ask())
        await model.close()
    assert server.requests[0].path == "/v1/chat/completions?api-version=1"


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://h/v1", "file:///etc/passwd", "http://", "http://me:pw@h/v1", "http://h:x"]
)
def test_what_is_no_address_is_refused(url: str):
    with pytest.raises(UsageError):
        OpenAICompatible(url, "m")


@pytest.mark.parametrize("key", ["sk-a\nX-Evil: 1", "sk-ключ"])
def test_what_is_no_key_is_refused_and_not_shown(key: str):
    with pytest.raises(UsageError) as caught:
        OpenAICompatible("http://h", "m", api_key=key)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("text", ["{{name}}", "\\frac{{a}}{{b}}", "{% off %}", "{#1}"])
async def test_f45_texts_arrive_verbatim(text: str):
    assert (await meet("True", ask(text))).server.requests[0].prompt == text


async def test_f47_a_temperature_of_zero_arrives_as_zero():
    assert (await meet("True", ask(temperature=0))).server.bodies[0]["temperature"] == 0


async def test_its_identity_holds_the_address_and_not_the_key():
    model = OpenAICompatible("http://h:1/v1/", "m", name="vllm/m", api_key="my-secret")
    assert model.name == "vllm/m"
    assert model.identity == "vllm/m m http://h:1/v1"


def test_a_secret_in_the_address_is_not_in_the_identity():
    one, two = (OpenAICompatible(f"https://gate.test/v1?key={key}", "m") for key in ("sk-one", "sk-two"))
    assert "sk-one" not in one.identity and one.identity != two.identity
    assert OpenAICompatible("https://gate.test/v1", "m").identity == "m m https://gate.test/v1"
