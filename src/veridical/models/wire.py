"""The chat completion format on the wire: requests in a server's dialect, replies in every shape that servers give.

Reasoning (`reasoning_content`, `<think>…</think>`) is never part of an answer: no verdict may be read out of it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ..errors import ModelError
from ..types import Struct
from .base import ChatReply, ChatRequest, TokenLogprob
from .bill import Price, Reported, bill, failed, reported
from .faults import embedded
from .retry import Retryable, Trouble

_NO_LOGPROB = -9999.0
"""Stands for a log-probability of minus infinity (or null), which JSON cannot hold; vLLM's convention."""


class Dialect(Struct, frozen=True, kw_only=True):
    """What one server and model accept. A client adapts it when the server says otherwise."""

    chat_path: str = "/chat/completions"
    """Appended to the base URL."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    """False for models that refuse any temperature but their own."""
    top_p: bool = True
    seed: bool = True
    stop: bool = True
    """False: the reply is cut at the first stop text here instead of there."""
    system_role: bool = True
    """False: system text is put before the first user message."""
    json_schema: Literal["response_format", "guided_json"] | None = "response_format"
    """How JSON of a schema is asked for; None = not at all, the prompt alone must do."""
    max_top_logprobs: int = 20
    """Most alternatives a token that the server gives; 0 = log-probabilities are not asked for."""
    context_window: int | None = None
    """Tokens of prompt and answer together, where known."""
    price_in: float | None = None
    """US dollars per million prompt tokens."""
    price_out: float | None = None
    """US dollars per million completion tokens."""

    @property
    def price(self) -> Price:
        """Nothing where no price is known."""
        return Price(prompt=self.price_in or 0.0, completion=self.price_out or 0.0)


class Unusable(ModelError):
    """A reply arrived, has to be paid for, and is no answer. `spent` is the reply without its text."""

    def __init__(self, message: str, *, spent: ChatReply) -> None:
        super().__init__(message)
        self.spent = spent


class NoLabelLogits(ModelError):
    """The request's `labels` cannot be compared by this backend, whatever they are."""


class OutOfBudget(Unusable):
    """All of max_tokens went by without an answer; `reasoned` says whether reasoning used it up."""

    def __init__(self, message: str, *, spent: ChatReply, reasoned: bool) -> None:
        super().__init__(message, spent=spent)
        self.reasoned = reasoned


# Requests

_encoder = msgspec.json.Encoder()


def encode(request: ChatRequest, model: str, dialect: Dialect) -> bytes:
    """The request body. Texts go verbatim, a temperature of 0 goes as 0.

    Raises `ModelError` for lone surrogates, `NoLabelLogits` for labels: the API has no word for them.
    """
    if request.labels:
        raise NoLabelLogits(f"{model}: this API gives no logits of labels; read log-probabilities or the text instead")
    body: dict[str, Any] = {
        "model": model,
        "messages": request.messages if dialect.system_role else _without_system(request),
        dialect.max_tokens_field: request.max_tokens,
    }
    if dialect.temperature:
        body["temperature"] = request.temperature
    if request.top_p is not None and dialect.top_p:
        body["top_p"] = request.top_p
    if request.seed is not None and dialect.seed:
        body["seed"] = request.seed + request.sample  # one seed would make all samples the same
    if request.stop and dialect.stop:
        body["stop"] = request.stop
    if request.json_schema is not None:
        if dialect.json_schema == "response_format":
            schema = {"name": "answer", "strict": True, "schema": request.json_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif dialect.json_schema == "guided_json":
            body["guided_json"] = request.json_schema
    if request.top_logprobs is not None and dialect.max_top_logprobs:
        body["logprobs"] = True  # both: some servers refuse the one without the other
        body["top_logprobs"] = min(request.top_logprobs, dialect.max_top_logprobs)
    try:
        return _encoder.encode(body)
    except UnicodeEncodeError as error:
        raise ModelError(f"the prompt holds a lone surrogate and cannot be sent: {error.reason}") from error


def _without_system(request: ChatRequest) -> list[dict[str, str]]:
    system = [message.content for message in request.messages if message.role == "system"]
    rest = [{"role": m.role, "content": m.content} for m in request.messages if m.role != "system"]
    first = next((message for message in rest if message["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": "\n\n".join(system)}, *rest]
    first["content"] = "\n\n".join([*system, first["content"]])
    return rest


_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff]+")


def fewest_tokens(text: str) -> int:
    """A lower estimate of a text's tokens: what every common tokenizer exceeds on any genuine text.

    Tokens do not span white space, so each word is one at least; where words are not spaced (Chinese, Japanese, Thai)
    a token holds 1.5 to 2.5 characters on average, 3 are assumed.
    """
    words = len(text.split())
    if text.isascii():
        return words
    return words + (len(text) - len(_UNSPACED.sub("", text))) // 3


# Replies


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    text: str | None = None
    finish_reason: str | None = None
    logprobs: Any = None
    error: Any = None


class _Completion(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    model: str | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Completion)
_CUT_AT_LENGTH = {"length", "max_tokens", "max_output_tokens", "model_length"}
_FILTERED = {"content_filter", "safety", "image_safety", "prohibited_content", "recitation", "blocklist", "refusal"}
_FILTERED |= {"sensitive", "spii", "error_toxic"}
_BROKEN = re.compile(r"error|fail|cancel|abort|interrupt|time.?out|insufficient")
"""In a finish_reason: the server stopped writing before the model did."""


def decode(
    data: bytes, request: ChatRequest, dialect: Dialect, headers: Mapping[str, str], *, key: str | None = None
) -> ChatReply:
    """The reply in a body that came with status 200.

    Raises `Retryable` for a body that is cut or no completion and for an answer that the server broke off, what an
    embedded `error` stands for, `OutOfBudget` for no text within max_tokens, `Unusable` for a refusal, an empty text,
    or a prompt that the server has cut. Each but an embedded error without usage has `spent` something.
    """
    completion = _completion(data, request, dialect)
    if completion.error:
        raise failed(embedded(completion.error, headers, key=key), completion.usage, request, dialect.price)
    use = reported(completion.usage)
    spent = bill(use, request, dialect.price, model=completion.model or "")
    if not completion.choices:
        raise Retryable("the reply holds no choices", trouble=Trouble.MALFORMED, spent=spent)
    choice = completion.choices[0]
    if choice.error:
        error = embedded(choice.error, headers, key=key)
        error.spent = spent  # the model had begun
        raise error
    _check_prompt(request, use, dialect, spent)
    message = choice.message or _Message(content=choice.text)
    reason = (choice.finish_reason or "").lower()
    if message.refusal or reason in _FILTERED:
        raise Unusable(f"refused: {message.refusal or f'finish_reason {choice.finish_reason!r}'}", spent=spent)
    if _BROKEN.search(reason):
        said = f"the server broke off its answer: finish_reason {choice.finish_reason!r}"
        raise Retryable(said, trouble=Trouble.OVERLOAD, spent=spent)
    length = reason in _CUT_AT_LENGTH or (not reason and spent.completion_tokens >= request.max_tokens)
    text, skipped = _answer(_whole(_text(message.content)))
    if not text.strip():
        if length:
            raise OutOfBudget("no answer (budget)", spent=spent, reasoned=_reasoned(message, use) or skipped > 0)
        raise Unusable("empty reply", spent=spent)
    return msgspec.structs.replace(
        spent,
        text=text if dialect.stop else _stopped(text, request.stop),
        finish_reason="length" if length else choice.finish_reason or "stop",
        logprobs=_after(logprobs_of(choice.logprobs), skipped) if request.top_logprobs is not None else None,
    )


def _completion(data: bytes, request: ChatRequest, dialect: Dialect) -> _Completion:
    """Strict and fast first; then as Python reads JSON, which takes NaN, Infinity and broken surrogates."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        said = f"the reply is no whole JSON: {data[:80].decode('utf-8', 'replace')!r}"
        spent = bill(Reported(), request, dialect.price)
        raise Retryable(said, trouble=Trouble.MALFORMED, spent=spent) from error
    try:
        return msgspec.convert(value, _Completion, strict=False)
    except msgspec.ValidationError as error:
        spent = bill(reported(usage_in(value)), request, dialect.price)
        raise Unusable(f"the reply is no chat completion: {error}", spent=spent) from error


def usage_in(value: Any) -> Any:
    """The `usage` member of JSON that may be anything, a body in bytes too; None if there is none."""
    if isinstance(value, bytes):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
    return value.get("usage") if isinstance(value, dict) else None


def _check_prompt(request: ChatRequest, use: Reported, dialect: Dialect, spent: ChatReply) -> None:
    """Some servers cut long prompts from the front and answer all the same; the reported size gives them away."""
    if not use.prompt:
        return
    seen = use.prompt + use.cached  # some gateways count them apart
    expected = sum(fewest_tokens(message.content) for message in request.messages)
    if seen < 0.8 * expected:  # a margin for tokenizers whose tokens span words
        raise Unusable(f"the prompt was cut by the server: it saw {seen} tokens of at least {expected}", spent=spent)
    window = dialect.context_window
    if window is not None and use.prompt >= window:
        raise Unusable(f"the prompt was cut by the server: it fills the whole window of {window} tokens", spent=spent)


def _text(content: str | list[Any] | None) -> str:
    """Text of a message; of a list of parts those of type "text"."""
    if not isinstance(content, list):
        return content or ""
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    texts = [p.get("text") for p in parts if isinstance(p, dict) and p.get("type", "text") in ("text", "output_text")]
    return "".join(text for text in texts if isinstance(text, str))


def _whole(text: str) -> str:
    """Text without lone surrogates, which could not be written to any file."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _answer(text: str) -> tuple[str, int]:
    """The text behind its reasoning, and how many characters lie before it. Unfinished reasoning leaves no answer."""
    if "</think>" in text:
        head, _, tail = text.partition("</think>")
        if head.lstrip().startswith("<think>") or "<think>" not in head:  # some templates open it in the prompt
            answer = tail.lstrip()
            return answer, len(text) - len(answer)
    elif text.lstrip().startswith("<think>"):
        return "", len(text)
    return text, 0


def _reasoned(message: _Message, use: Reported) -> bool:
    return bool(message.reasoning_content or message.reasoning or use.reasoning)


def _stopped(text: str, stop: tuple[str, ...]) -> str:
    places = [place for place in (text.find(end) for end in stop if end) if place >= 0]
    return text[: min(places)] if places else text


# Log-probabilities


def logprobs_of(value: Any) -> tuple[TokenLogprob, ...] | None:
    """Log-probabilities in the chat shape ({"content": [...]}) or the legacy one ({"tokens": [...], ...}).

    None if there are none or they cannot be read. Each `top` holds the token itself and is sorted, most likely first.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("content"), list):
        tokens = [
            _token(one.get("token"), one.get("logprob"), one.get("top_logprobs")) for one in _dicts(value["content"])
        ]
    elif isinstance(value.get("tokens"), list):
        names = value["tokens"]
        own, tops = _padded(value.get("token_logprobs"), len(names)), _padded(value.get("top_logprobs"), len(names))
        tokens = [_token(*row) for row in zip(names, own, tops, strict=True)]
    else:
        return None
    return tuple(token for token in tokens if token is not None) or None


def _token(token: Any, logprob: Any, alternatives: Any) -> TokenLogprob | None:
    if not isinstance(token, str):
        return None
    if isinstance(alternatives, dict):
        pairs = list(alternatives.items())
    else:
        pairs = [(one.get("token"), one.get("logprob")) for one in _dicts(alternatives)]
    top = [(_whole(name), _logprob(value)) for name, value in pairs if isinstance(name, str)]
    token = _whole(token)
    own = next((value for name, value in top if name == token), None) if logprob is None else _logprob(logprob)
    own = _NO_LOGPROB if own is None else own
    if top and all(name != token for name, _ in top):
        top.append((token, own))
    return TokenLogprob(token=token, logprob=own, top=tuple(sorted(top, key=lambda pair: -pair[1])))


def _logprob(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        return _NO_LOGPROB
    return float(min(0.0, max(_NO_LOGPROB, value)))


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _padded(value: Any, length: int) -> list[Any]:
    known = value[:length] if isinstance(value, list) else []
    return [*known, *[None] * (length - len(known))]


def _after(tokens: tuple[TokenLogprob, ...] | None, skipped: int) -> tuple[TokenLogprob, ...] | None:
    """The tokens from character `skipped` on: those of the answer, not of its reasoning."""
    if tokens is None or skipped == 0:
        return tokens
    place = 0
    for index, token in enumerate(tokens):
        if place >= skipped:
            return tokens[index:]
        place += len(token.token)
    return None
