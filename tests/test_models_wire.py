"""Requests and replies on the wire: dialects, every reply shape, log-probabilities, sizes of prompts."""

import contextlib
import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import chat, usage
from veridical.errors import FatalError, ModelError
from veridical.models.base import ChatReply, ChatRequest, Message
from veridical.models.retry import Retryable
from veridical.models.wire import (
    Dialect,
    NoLabelLogits,
    OutOfBudget,
    Unusable,
    decode,
    encode,
    fewest_tokens,
    logprobs_of,
)


def ask(text: str = "Is it so?", **settings) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), **settings)


def sent(request: ChatRequest, **dialect) -> dict:
    return json.loads(encode(request, "m", Dialect(**dialect)))


def read(body, request: ChatRequest | None = None, **dialect) -> ChatReply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode(data, request or ask(), Dialect(**dialect), {})


# Requests


def test_a_plain_request():
    assert sent(ask("Hi", max_tokens=7)) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 7,
        "temperature": 0,
    }


def test_labels_cannot_be_asked_for_on_the_wire():
    with pytest.raises(NoLabelLogits, match="no logits of labels"):
        encode(ask(labels=("True", "False")), "m", Dialect())


def test_f47_temperature_zero_is_sent_as_zero():
    assert sent(ask())["temperature"] == 0


@pytest.mark.parametrize("text", ["{{name}}", "\\frac{{a}}{{b}}", "{% off %}", "{#1}", "\x00 \u2028 🚒", "  padded\n"])
def test_f45_the_prompt_is_sent_verbatim(text: str):
    assert sent(ask(text))["messages"][0]["content"] == text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_every_unicode_prompt_is_sent_verbatim(text: str):
    assert sent(ask(text))["messages"][0]["content"] == text


def test_a_lone_surrogate_fails_its_own_item():
    with pytest.raises(ModelError, match="surrogate"):
        encode(ask("a\ud83db"), "m", Dialect())


def test_every_setting_is_sent():
    body = sent(ask(top_p=0.9, seed=3, sample=2, stop=("\n",), top_logprobs=5, json_schema={"type": "object"}))
    assert body["top_p"] == 0.9
    assert body["seed"] == 5, "samples of a seeded request must differ"
    assert body["stop"] == ["\n"]
    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_a_dialect_leaves_out_and_renames():
    request = ask(top_p=0.9, seed=3, stop=("\n",), top_logprobs=5, json_schema={"type": "object"}, max_tokens=9)
    body = sent(
        request,
        max_tokens_field="max_completion_tokens",
        temperature=False,
        top_p=False,
        seed=False,
        stop=False,
        max_top_logprobs=0,
        json_schema="guided_json",
    )
    assert set(body) == {"model", "messages", "max_completion_tokens", "guided_json"}
    assert body["max_completion_tokens"] == 9


def test_alternatives_are_asked_for_up_to_what_the_server_gives():
    assert sent(ask(top_logprobs=20), max_top_logprobs=5)["top_logprobs"] == 5


def test_system_text_goes_into_the_user_message_where_there_is_no_system_role():
    messages = (Message(role="system", content="Judge."), Message(role="user", content="Is it so?"))
    body = sent(ChatRequest(messages=messages), system_role=False)
    assert body["messages"] == [{"role": "user", "content": "Judge.\n\nIs it so?"}]


# Replies


def test_a_plain_reply():
    reply = read(chat("True") | usage(10, 2), price_in=1.0, price_out=10.0)
    assert reply.text == "True"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.finish_reason) == (10, 2, "stop")
    assert reply.cost == pytest.approx(30e-6)
    assert reply.model == "loopback-1"


def test_a_price_that_the_server_names_counts():
    body = chat()
    body |= {"usage": {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.25}}
    assert read(body, price_in=1.0).cost == 0.25


def test_content_as_a_list_of_parts():
    parts = [{"type": "thinking", "thinking": "False"}, {"type": "text", "text": "Tr"}, {"type": "text", "text": "ue"}]
    assert read(chat(parts)).text == "True"


def test_the_legacy_text_field():
    assert read({"choices": [{"text": " True", "finish_reason": "stop"}]}).text == " True"


def test_unknown_fields_are_ignored():
    assert read(chat("True", audio=None, annotations=[]) | {"x": {"y": 1}, "service_tier": None}).text == "True"


def test_loose_types_are_read():
    body = chat() | {"usage": {"prompt_tokens": "12", "completion_tokens": 1.0}}
    assert read(body).prompt_tokens == 12


def test_text_cut_by_max_tokens_says_so():
    assert read(chat("The mill bur", finish_reason="length")).finish_reason == "length"


def test_a_missing_finish_reason_is_told_from_the_usage():
    assert read(chat("a b", finish_reason=None) | usage(5, 8), ask(max_tokens=8)).finish_reason == "length"
    assert read(chat("a b", finish_reason=None) | usage(5, 3), ask(max_tokens=8)).finish_reason == "stop"


def test_e2_null_content_is_no_answer_and_reasoning_is_never_read():
    with pytest.raises(OutOfBudget, match="budget") as caught:
        read(chat(None, finish_reason="length", reasoning_content="It is clearly True."))
    assert caught.value.reasoned
    assert "True" not in str(caught.value)


def test_e2_unfinished_reasoning_in_the_text_is_no_answer():
    with pytest.raises(OutOfBudget) as caught:
        read(chat("<think>It is True, for", finish_reason="length"))
    assert caught.value.reasoned


@pytest.mark.parametrize("text", ["<think>Maybe True?</think>\n\nFalse", "Maybe True?\n</think>\n\nFalse"])
def test_reasoning_in_the_text_is_cut_off_with_its_logprobs(text: str):
    content = [{"token": t, "logprob": -0.1, "top_logprobs": []} for t in (*text[: -len("False")], "False")]
    reply = read(chat(text, logprobs={"content": content}), ask(top_logprobs=5))
    assert reply.text == "False"
    assert reply.logprobs is not None
    assert [one.token for one in reply.logprobs] == ["False"]


def test_a_text_about_tags_is_left_alone():
    text = "Models write <think> and </think> around reasoning."
    assert read(chat(text)).text == text


@pytest.mark.parametrize("text", ["", None, " \n"])
def test_an_empty_reply_is_an_error(text: str | None):
    with pytest.raises(ModelError, match="empty"):
        read(chat(text))


def test_reasoning_without_an_answer_is_an_error():
    with pytest.raises(ModelError, match="empty"):
        read(chat(None, reasoning_content="It is True."))


def test_a_refusal_is_an_error():
    with pytest.raises(ModelError, match="refused: I cannot"):
        read(chat(None, refusal="I cannot do that."))


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY"])
def test_a_filtered_reply_is_an_error(reason: str):
    with pytest.raises(ModelError, match="refused"):
        read(chat("Tr", finish_reason=reason))


@pytest.mark.parametrize("reason", ["sensitive", "SPII", "ERROR_TOXIC"])
def test_other_names_of_a_filter(reason: str):
    with pytest.raises(Unusable, match="refused"):
        read(chat("Tr", finish_reason=reason))


@pytest.mark.parametrize(
    "reason",
    [
        "error",
        "ERROR",
        "failed",
        "cancelled",
        "canceled",
        "USER_CANCEL",
        "abort",
        "network_error",
        "insufficient_system_resource",
    ],
)
def test_an_answer_that_the_server_broke_off_is_none(reason: str):
    with pytest.raises(Retryable, match="broke off") as caught:
        read(chat("Tr", finish_reason=reason) | usage(9, 1), price_in=1.0)
    assert caught.value.spent.cost == pytest.approx(9e-6)


@pytest.mark.parametrize(
    "reason", ["stop", "STOP", "eos", "eos_token", "end_turn", "stop_sequence", "COMPLETE", "", None]
)
def test_every_name_of_a_natural_end_is_an_answer(reason: str | None):
    assert read(chat("True", finish_reason=reason)).text == "True"


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": None}])
def test_no_choices_may_pass(body: dict):
    with pytest.raises(Retryable, match="no choices"):
        read(body)


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"choices": [{"message"', b"<html>busy</html>", b"\xff\xfe", b"[" * 100_000]
)
def test_what_is_no_whole_json_may_pass(body: bytes):
    with pytest.raises(Retryable, match="no whole JSON"):
        read(body)


@pytest.mark.parametrize("body", [[], "ok", 3, {"choices": "none"}, {"choices": [3]}, chat({"a": 1})])
def test_json_of_another_shape_fails_its_own_item(body):
    with pytest.raises(ModelError, match="no chat completion"):
        read(body)


def test_e3_an_error_inside_a_success():
    with pytest.raises(Retryable, match="busy") as caught:
        read({"error": {"code": 429, "message": "busy"}, "choices": None})
    assert caught.value.trouble.congestion


def test_e3_an_error_inside_a_choice():
    body = chat("")
    body["choices"][0] |= {"error": {"code": 502, "message": "upstream"}, "finish_reason": "error"}
    with pytest.raises(Retryable, match="upstream"):
        read(body)


def test_e3_spent_quota_inside_a_success_stops_the_run():
    with pytest.raises(FatalError, match="top up"):
        read({"error": {"code": 402, "message": "top up"}})


def test_broken_surrogates_and_infinity_are_read():
    body = json.dumps(chat("ab\ud83d", logprobs={"content": [{"token": "a", "logprob": -math.inf}]})).encode()
    assert b"Infinity" in body
    reply = read(body, ask(top_logprobs=1))
    assert reply.text == "ab\ufffd"
    assert reply.logprobs is not None
    assert reply.logprobs[0].logprob == -9999.0


def test_stop_texts_are_kept_to_where_the_server_does_not_know_them():
    assert read(chat("one\ntwo##three"), ask(stop=("##", "\n")), stop=False).text == "one"


KEYS = ["choices", "message", "content", "error", "usage", "logprobs", "finish_reason", "prompt_tokens", "text", "x"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(ANY_JSON | ANY_JSON.map(lambda message: {"choices": [{"message": message}]}))
def test_any_json_is_read_or_refused_by_name(body):
    with contextlib.suppress(ModelError, FatalError):
        assert read(body).text.strip()


# E5: prompts cut by the server

ENGLISH = "The mill on the river Po was built in 1890, and it burned down twice before the war. " * 400
CHINESE = "该工厂成立于一八九〇年,位于都灵以北的山谷之中。后来,公司将总部迁往米兰。" * 300
CODE = "def area(width: float, height: float) -> float:\n    return width * height  # in square metres\n\n" * 200


@pytest.mark.parametrize(
    ("text", "genuine"),
    [  # tokens by o200k_base, the tightest of the common tokenizers
        pytest.param(ENGLISH, 8801, id="english"),
        pytest.param(CHINESE, 9900, id="chinese"),
        pytest.param(CODE, 4800, id="code"),
    ],
)
def test_e5_a_cut_prompt_is_noticed_and_a_whole_one_is_not(text: str, genuine: int):
    assert read(chat() | usage(genuine), ask(text)).prompt_tokens == genuine
    with pytest.raises(ModelError, match="cut by the server: it saw"):
        read(chat() | usage(2050), ask(text))


def test_e5_tokens_counted_apart_as_cached_count():
    body = chat() | {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 9000}}}
    assert read(body, ask(ENGLISH)).text == "True"


def test_e5_a_prompt_that_fills_the_window_was_cut():
    with pytest.raises(ModelError, match="whole window"):
        read(chat() | usage(4096), ask("short"), context_window=4096)


def test_e5_without_a_reported_size_nothing_is_concluded():
    assert read(chat(), ask(ENGLISH)).text == "True"


def test_rows_of_signs_and_spaces_are_not_overestimated():
    assert fewest_tokens("=" * 400 + "\n" + " " * 500 + "x") == 2


# L1: log-probabilities in every shape

CHOSEN = {"token": "True", "logprob": -0.25}
TOP = [{"token": "False", "logprob": -1.5}, {"token": "True", "logprob": -0.25}]


def only(value) -> tuple:
    tokens = logprobs_of(value)
    assert tokens is not None
    (token,) = tokens
    return token.token, token.logprob, token.top


def test_l1_absent():
    assert read(chat(), ask(top_logprobs=5)).logprobs is None


def test_l1_null():
    assert read(chat(logprobs=None), ask(top_logprobs=5)).logprobs is None


def test_l1_chat_shape():
    reply = read(chat(logprobs={"content": [CHOSEN | {"bytes": [84], "top_logprobs": TOP}]}), ask(top_logprobs=5))
    assert reply.logprobs is not None
    assert reply.logprobs[0].top == (("True", -0.25), ("False", -1.5))


def test_l1_legacy_shape_with_dicts():
    legacy = {"tokens": ["True"], "token_logprobs": [-0.25], "top_logprobs": [{"False": -1.5, "True": -0.25}]}
    reply = read(chat(logprobs=legacy | {"text_offset": [0]}), ask(top_logprobs=5))
    assert reply.logprobs is not None
    assert reply.logprobs[0].top == (("True", -0.25), ("False", -1.5))


def test_l1_legacy_shape_with_lists():
    assert only({"tokens": ["True"], "token_logprobs": [-0.25], "top_logprobs": [TOP]})[2][1] == ("False", -1.5)


def test_l1_chat_shape_with_a_dict_of_alternatives():
    assert only({"content": [CHOSEN | {"top_logprobs": {"True": -0.25, "False": -1.5}}]})[2][1] == ("False", -1.5)


def test_l1_no_alternatives():
    assert only({"content": [CHOSEN | {"top_logprobs": None}]}) == ("True", -0.25, ())
    assert only({"tokens": ["True"], "token_logprobs": [-0.25], "top_logprobs": None}) == ("True", -0.25, ())


def test_l1_alternatives_that_lack_the_chosen_token():
    assert only({"content": [CHOSEN | {"top_logprobs": TOP[:1]}]})[2] == (("True", -0.25), ("False", -1.5))


@pytest.mark.parametrize("odd", [None, -9999.0, -math.inf, math.nan, "x"])
def test_l1_impossible_logprobs(odd):
    top = only({"content": [CHOSEN | {"top_logprobs": [TOP[1], {"token": "False", "logprob": odd}]}]})[2]
    assert top == (("True", -0.25), ("False", -9999.0))


def test_l1_a_missing_own_logprob_is_taken_from_the_alternatives():
    assert only({"tokens": ["True"], "token_logprobs": [None], "top_logprobs": [TOP]})[1] == -0.25


def test_l1_legacy_lists_of_unequal_length():
    tokens = logprobs_of({"tokens": ["a", "b"], "token_logprobs": [-1.0], "top_logprobs": []})
    assert tokens is not None
    assert [one.logprob for one in tokens] == [-1.0, -9999.0]


@pytest.mark.parametrize(
    "value", [None, "x", [], {}, {"content": []}, {"content": None}, {"tokens": []}, {"content": [3]}]
)
def test_l1_unreadable_logprobs_are_none(value):
    assert logprobs_of(value) is None


def test_logprobs_that_nobody_asked_for_are_left_out():
    assert read(chat(logprobs={"content": [CHOSEN]})).logprobs is None


def test_logprobs_survive_json():
    reply = read(chat(logprobs={"content": [CHOSEN | {"logprob": None}]}), ask(top_logprobs=1))
    assert msgspec.json.decode(msgspec.json.encode(reply), type=ChatReply) == reply
