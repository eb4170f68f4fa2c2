"""What an error reply means: for this call (`ModelError`), for now (`Retryable`) or for the run (`FatalError`)."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from ..errors import FatalError, ModelError
from .retry import Retryable, Trouble


class Unsupported(ModelError):
    """The server refuses one parameter of the request; without it (or under its other name) the call may succeed."""

    def __init__(self, message: str, *, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class Detail(msgspec.Struct, frozen=True):
    """What a server says of an error, whatever the shape it says it in."""

    message: str
    codes: frozenset[str] = frozenset()
    """Its code, type and status, lower-case."""
    parameter: str | None = None
    retry_after: float | None = None
    structured: bool = True
    """False where the body was no JSON that an API would send: a proxy's page, or a wrong address."""


_SPENT_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
_SPENT = ("credit balance", "insufficient balance", "insufficient credits", "not enough credits", "billing hard limit")
_KEY_CODES = {"invalid_api_key", "authentication_error", "api_key_invalid"}
_KEY = ("api key not valid", "invalid api key", "incorrect api key")
_REFUSED_CODES = {"content_filter", "content_policy_violation", "moderation", "content_moderation"}
_LENGTH_CODES = {"context_length_exceeded", "exceed_context_size_error"}
_LENGTH = ("context length", "context window", "context size", "prompt is too long", "too many tokens")
_PARAMETER = re.compile(
    r"\b(max_completion_tokens|max_tokens|temperature|response_format|guided_json|json_schema|top_logprobs|logprobs"
    r"|top_p|seed|stop)\b"
)
_UNSUPPORTED_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"}
_UNSUPPORTED = re.compile(
    r"not supported|unsupported|not support|unrecognized|unknown|unexpected|not permitted|not allowed|only the default"
    r"|extra inputs|extra fields",
    re.IGNORECASE,
)
_TOO_MANY = re.compile(r"less than|at most|maximum|between|too (?:large|many|high)|exceed", re.IGNORECASE)
_SYSTEM_ROLE = re.compile(r"system\b.{0,20}\b(?:role|message|prompt|instruction)|role.{0,20}\bsystem\b", re.IGNORECASE)
_SECRET = re.compile(r"\b(?:sk|key|gsk|xai|AIza)[-_]?[\w*.-]{12,}")
_LONGEST_WAIT = 1e9
"""Seconds: longer than anybody waits, and still a number that can be shown."""
_SAID = 500
"""Characters of a server's own words that go into a message."""


def fault(status: int, body: bytes, headers: Mapping[str, str], *, key: str | None = None) -> ModelError | FatalError:
    """The error that a reply with an HTTP error status stands for."""
    return judge(status, describe(body, headers), key=key)


def embedded(error: Any, headers: Mapping[str, str], *, key: str | None = None) -> ModelError | FatalError:
    """The error that came as an `error` member of a reply with status 200. Without a code of its own it may pass."""
    detail = _of_object(error, headers)
    numbers = [int(code) for code in detail.codes if code.isdecimal() and len(code) == 3]
    status = next((number for number in numbers if 400 <= number < 600), None)
    if status is None:
        status = 429 if any("rate_limit" in code or code == "resource_exhausted" for code in detail.codes) else 503
        if detail.codes & {"invalid_request_error", "bad_request", "badrequesterror", "invalid_argument"}:
            status = 400
    return judge(status, detail, key=key)


def judge(status: int, detail: Detail, *, key: str | None = None) -> ModelError | FatalError:
    """One error by its kind. Texts are looked at where codes do not tell: providers disagree on statuses."""
    said, low, codes = redact(f"HTTP {status}: {detail.message}", key), detail.message.lower(), detail.codes
    if status == 402 or codes & _SPENT_CODES or any(phrase in low for phrase in _SPENT):
        return FatalError(f"quota or credit is used up; the provider says: {said}")
    if codes & _REFUSED_CODES or (status == 403 and ("moderation" in low or "flagged" in low)):
        return ModelError(f"refused: {said}")
    if status in (401, 403) or codes & _KEY_CODES or any(phrase in low for phrase in _KEY):
        return FatalError(f"the API key is missing, wrong, or not allowed this; the provider says: {said}")
    if codes & _LENGTH_CODES or (status != 429 and any(phrase in low for phrase in _LENGTH)):
        return ModelError(f"the prompt is longer than the model's context: {said}")
    if status in (404, 405) or 300 <= status < 400 or "model_not_found" in codes:
        return _wrong_place(status, said, low, detail)
    if status in (408, 409, 425, 429) or status >= 500:
        kinds = {429: Trouble.RATE_LIMIT, 408: Trouble.TIMEOUT, 504: Trouble.TIMEOUT, 524: Trouble.TIMEOUT}
        return Retryable(said, trouble=kinds.get(status, Trouble.OVERLOAD), retry_after=detail.retry_after)
    parameter = _unsupported(detail)
    return ModelError(said) if parameter is None else Unsupported(said, parameter=parameter)


def redact(text: str, key: str | None) -> str:
    """The text without the key, and without anything that looks like one."""
    if key and len(key) >= 4:
        text = text.replace(key, "[key]")
    return _SECRET.sub("[key]", text)


def describe(body: bytes, headers: Mapping[str, str]) -> Detail:
    """Read an error body: {"error": {…}}, {"error": "…"}, {"message": …}, {"detail": …}, [{…}], text, HTML."""
    text = body[:100_000].decode("utf-8", "replace")
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = None
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict) and value:
        return _of_object(value.get("error") or value, headers)
    plain = " ".join(re.sub(r"<[^<>]*>", " ", text).split()) or "(empty reply)"
    return Detail(plain[:_SAID], retry_after=_retry_after(headers), structured=False)


def _of_object(error: Any, headers: Mapping[str, str]) -> Detail:
    wait = _retry_after(headers)
    if not isinstance(error, dict):
        return Detail(str(error)[:_SAID], retry_after=wait)
    message = error.get("message") or error.get("detail") or error
    parameter = error.get("param")
    if isinstance(message, list):  # FastAPI: [{"loc": ["body", "seed"], "msg": …, "type": "extra_forbidden"}]
        first = message[0] if message and isinstance(message[0], dict) else {}
        location = first.get("loc")
        parameter = str(location[-1]) if isinstance(location, list) and location else parameter
        error = {**error, "type": first.get("type")}
    if not isinstance(message, str):
        message = msgspec.json.encode(message).decode()
    codes = frozenset(str(error[name]).lower() for name in ("code", "type", "status") if error.get(name) is not None)
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):  # OpenRouter: the words of the provider behind it
        message = f"{message} ({metadata['raw']})"
    delays = [_seconds(one.get("retryDelay")) for one in _dicts(error.get("details"))]  # Google: "34s"
    asked = next((delay for delay in delays if delay is not None), None)
    return Detail(
        message[:_SAID],
        codes=codes,
        parameter=parameter if isinstance(parameter, str) else None,
        retry_after=wait if wait is not None else asked,
    )


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds or as an HTTP date (RFC 9110, section 10.2.3), or OpenAI's Retry-After-Ms."""
    milliseconds = _seconds(headers.get("Retry-After-Ms"))
    if milliseconds is not None:
        return milliseconds / 1000.0
    value = headers.get("Retry-After")
    seconds = _seconds(value)
    if value is None or seconds is not None:
        return seconds
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(value: Any) -> float | None:
    """A finite number of seconds, 0 or more, as "2", "2.5" or "34s"; None for anything else."""
    if not isinstance(value, str) or not re.fullmatch(r"\d+(?:\.\d*)?s?", value.strip()):
        return None
    return min(float(value.strip().rstrip("s")), _LONGEST_WAIT)


def _wrong_place(status: int, said: str, low: str, detail: Detail) -> ModelError | FatalError:
    """404 and redirects: mostly no further call can succeed either."""
    missing = "not found" in low or "not exist" in low or "unknown" in low or "no such" in low
    if "model_not_found" in detail.codes or ("model" in low and missing):
        return FatalError(f"the server has no such model; it says: {said}")
    if status != 404 or not detail.structured:
        return FatalError(f"nothing answers chat at this address, check the base URL; the server says: {said}")
    return ModelError(said)


def _unsupported(detail: Detail) -> str | None:
    """The parameter that the server refuses as such, or the count of alternatives that is too large for it."""
    match = _PARAMETER.search(detail.parameter or "") or _PARAMETER.search(detail.message)
    named = match[1] if match else None
    if named == "top_logprobs" and _TOO_MANY.search(detail.message):
        return named
    if not (detail.codes & _UNSUPPORTED_CODES or _UNSUPPORTED.search(detail.message)):
        return None
    return named or ("system" if _SYSTEM_ROLE.search(detail.message) else None)
