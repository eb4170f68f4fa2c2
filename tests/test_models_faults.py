"""What error replies mean, by status, code and words (cases E1, E3, E4, F36, F37, F54)."""

import email.utils
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import FatalError, ModelError
from veridical.models.faults import Unsupported, describe, embedded, fault
from veridical.models.retry import Retryable, Trouble


def meaning(status: int, error=None, *, body: bytes | None = None, key: str | None = None, **headers: str):
    data = json.dumps({"error": error}).encode() if body is None else body
    return fault(status, data, {name.replace("_", "-"): value for name, value in headers.items()}, key=key)


# For now


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 520, 529])
def test_passing_trouble_is_retryable(status: int):
    error = meaning(status, {"message": "busy"})
    assert isinstance(error, Retryable)
    assert "busy" in str(error)
    assert error.trouble.congestion


def test_a_rate_limit_of_tokens_is_not_taken_for_too_long_a_prompt():
    assert isinstance(meaning(429, {"message": "Too many tokens per minute for this context window."}), Retryable)


def test_a_rate_limit_is_told_from_overload():
    assert meaning(429, {"message": "slow down"}).trouble is Trouble.RATE_LIMIT
    assert meaning(529, {"message": "overloaded"}).trouble is Trouble.OVERLOAD


@pytest.mark.parametrize(
    ("value", "seconds"), [("2", 2.0), ("0", 0.0), ("1.5", 1.5), ("soon", None), ("-3", None), ("nan", None)]
)
def test_retry_after_in_seconds(value: str, seconds: float | None):
    assert meaning(429, {"message": "x"}, Retry_After=value).retry_after == seconds


@pytest.mark.parametrize("value", ["9999999999", "1" * 30, "9" * 400, "12345678901.5", "0" * 20 + "7777777777"])
def test_a_huge_retry_after_is_not_taken_for_none(value: str):
    found = meaning(429, {"message": "x"}, Retry_After=value)
    assert found.retry_after == 1e9


def test_retry_after_as_a_date():
    later = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert meaning(503, {"message": "x"}, Retry_After=later).retry_after == pytest.approx(30, abs=2)
    assert meaning(503, {"message": "x"}, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT").retry_after == 0.0


def test_retry_after_in_milliseconds():
    assert meaning(429, {"message": "x"}, Retry_After_Ms="250").retry_after == 0.25


def test_google_s_rate_limit_speaks_of_quota_and_is_none():
    """Its words are those of spent quota, its code and its delay are those of a rate limit."""
    error = {
        "code": 429,
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}],
    }
    found = fault(429, json.dumps([{"error": error}]).encode(), {})
    assert isinstance(found, Retryable)
    assert found.retry_after == 34.0


# For the whole run


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"code": "insufficient_quota", "message": "You exceeded your current quota."}),
        (429, {"code": None, "type": "insufficient_quota", "message": "You exceeded your current quota."}),
        (402, {"message": "This request requires more credits."}),
        (400, {"message": "Your credit balance is too low to access the API."}),
        (403, {"message": "Not enough credits"}),
    ],
)
def test_e1_spent_quota_stops_the_run_with_the_provider_s_words(status: int, error: dict):
    found = meaning(status, error)
    assert isinstance(found, FatalError)
    assert error["message"] in str(found)


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "Incorrect API key provided"), (403, "Country not supported"), (400, "API key not valid. Please pass one.")],
)
def test_f54_a_bad_key_stops_the_run(status: int, message: str):
    found = meaning(status, {"message": message})
    assert isinstance(found, FatalError)
    assert message in str(found)


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("wrong: my-odd-key!", "my-odd-key!"),
        ("wrong: sk-proj-abcdef***************wxyz", None),
        ("AIzaSyA1234567890abcdef", None),
    ],
)
def test_a_key_is_never_shown(message: str, key: str | None):
    found = str(meaning(401, {"message": message}, key=key))
    assert "[key]" in found
    assert "wxyz" not in found and "my-odd" not in found and "1234567890" not in found


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, {"code": "model_not_found", "message": "No access."}),
        (404, {"message": "The model `m` does not exist."}),
        (404, 'model "m" not found, try pulling it first'),
        (400, {"code": "model_not_found", "message": "Pick another."}),
    ],
)
def test_an_unknown_model_stops_the_run(status: int, error):
    assert isinstance(meaning(status, error), FatalError)


@pytest.mark.parametrize("status", [301, 308, 404, 405])
def test_a_wrong_address_stops_the_run(status: int):
    found = meaning(status, body=b"<html><body><h1>Nothing here</h1></body></html>")
    assert isinstance(found, FatalError)
    assert "base URL" in str(found) and "Nothing here" in str(found) and "<" not in str(found)


# For one call


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_a_bad_request_fails_its_own_item_with_the_server_s_words(status: int):
    found = meaning(status, {"message": "Image too odd."})
    assert type(found) is ModelError
    assert "Image too odd." in str(found)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "context_length_exceeded", "message": "Reduce the length of messages or max_tokens."}),
        (400, {"message": "This model's maximum context length is 8192 tokens. max_tokens not supported so large."}),
        (400, {"type": "exceed_context_size_error", "message": "the request exceeds the available context size"}),
        (500, {"message": "input is larger than the context window"}),
    ],
)
def test_too_long_a_prompt_fails_its_own_item(status: int, error: dict):
    found = meaning(status, error)
    assert type(found) is ModelError
    assert "longer than the model's context" in str(found)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "content_filter", "message": "Filtered."}),
        (403, {"message": "Your input was flagged", "metadata": {"reasons": ["violence"]}}),
    ],
)
def test_a_filtered_prompt_fails_its_own_item(status: int, error: dict):
    found = meaning(status, error)
    assert type(found) is ModelError
    assert "refused" in str(found)


@pytest.mark.parametrize(
    ("parameter", "error"),
    [
        (
            "max_tokens",
            {"code": "unsupported_parameter", "param": "max_tokens", "message": "Use 'max_completion_tokens'."},
        ),
        ("max_tokens", {"message": "'max_tokens' is not supported, use 'max_completion_tokens'"}),
        ("max_completion_tokens", {"message": "Unrecognized request argument supplied: max_completion_tokens"}),
        ("temperature", {"code": "unsupported_value", "param": "temperature", "message": "Only the default (1)."}),
        ("response_format", {"param": "response_format.type", "message": "Unknown value."}),
        ("seed", {"message": "Unknown parameter: 'seed'."}),
        ("logprobs", {"message": "logprobs is not supported by this model"}),
        ("top_logprobs", {"message": "top_logprobs must be less than or equal to 5"}),
        ("stop", {"message": "Unsupported parameter: 'stop'"}),
        ("system", {"message": "System role not supported"}),
    ],
)
def test_e4_a_refused_parameter_is_named(parameter: str, error: dict):
    found = meaning(400, error)
    assert isinstance(found, Unsupported)
    assert found.parameter == parameter


def test_e4_a_refused_parameter_in_fastapi_s_shape():
    detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]
    found = fault(422, json.dumps({"detail": detail}).encode(), {})
    assert isinstance(found, Unsupported)
    assert found.parameter == "seed"


@pytest.mark.parametrize(
    "error",
    [
        {"code": "invalid_value", "param": "max_tokens", "message": "max_tokens is too large: 99999."},
        {"param": "temperature", "message": "temperature must be between 0 and 2"},
        {"message": "The run was stopped, unexpected seeding."},
    ],
)
def test_a_bad_value_is_not_taken_for_a_refused_parameter(error: dict):
    assert type(meaning(400, error)) is ModelError


# Shapes


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "no"}}', "no"),
        (b'{"error": "no"}', "no"),
        (b'{"object": "error", "message": "no", "code": 400}', "no"),
        (b'{"detail": "no"}', "no"),
        (b'[{"error": {"message": "no"}}]', "no"),
        (b"no", "no"),
        (b"<html><style>x</style><p>no</p></html>", "x no"),
        (b"", "(empty reply)"),
    ],
)
def test_error_bodies_of_every_shape(body: bytes, message: str):
    assert describe(body, {}).message == message


def test_a_long_page_is_cut():
    assert len(str(meaning(500, body=b"x" * 1_000_000))) < 600


def test_e3_an_embedded_error_without_a_code_may_pass():
    assert isinstance(embedded({"message": "Provider returned error"}, {}), Retryable)
    assert isinstance(embedded("busy", {}), Retryable)


def test_e3_an_embedded_error_says_what_it_is():
    assert type(embedded({"code": "400", "message": "no"}, {})) is ModelError
    assert type(embedded({"type": "invalid_request_error", "message": "no"}, {})) is ModelError
    assert isinstance(embedded({"code": "insufficient_quota", "message": "no"}, {}), FatalError)
    assert embedded({"code": "rate_limit_exceeded", "message": "no"}, {}).trouble is Trouble.RATE_LIMIT


@given(st.integers(300, 599), st.binary(max_size=200), st.text(max_size=30))
def test_any_error_reply_has_a_meaning(status: int, body: bytes, wait: str):
    assert isinstance(fault(status, body, {"Retry-After": wait}), (ModelError, FatalError))


KEYS = ["error", "message", "code", "detail", "details", "param", "metadata", "raw", "loc"]
ANY_JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


@given(ANY_JSON)
def test_any_json_error_has_a_meaning(body):
    assert isinstance(fault(400, json.dumps(body).encode(), {}), (ModelError, FatalError))
    assert isinstance(embedded(body, {}), (ModelError, FatalError))
