"""Labels compared by llama.cpp's logits: its server gives no logits, but probabilities after a bias.

The first tokens of all labels are raised so far above the rest that one sampling step, whose token is thrown away,
lists all of them with their probabilities. Their numbers are found out beforehand in the same way, one label at a time,
since the server tells no tokens but those of replies (and adds up biases of a token that is named twice).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ModelError
from .base import ChatReply, ChatRequest, TokenLogprob

_ANCHOR = ":"
"""A label is tokenised behind it: at a text's start SentencePiece takes "True" for " True"."""
_RAISED = 100.0
"""Added to the logits of labels; of their differences five digits are kept."""
_NONE = 1e-30
"""Tokens less probable than this were not raised."""
_LEAST = 1e-45
"""Stands for a probability of zero; the smallest that fp32 can hold."""
Spelling = tuple[int, ...]
"""The first token of each label, in order."""


def lookups(labels: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Each spelling of each label, and the completion request whose reply shows its tokens."""
    texts = [space + label.strip() for space in ("", " ") for label in labels]
    bodies = [_raising([[_ANCHOR + text, _RAISED]], len(text.encode()) + 4) for text in texts]
    return [(text, {**body, "prompt": ".", "n_predict": 1}) for text, body in zip(texts, bodies, strict=True)]


def spellings(labels: Sequence[str], found: Mapping[str, bytes]) -> tuple[Spelling, ...]:
    """First tokens of the labels without and with a leading space, from the replies to `lookups`.

    Raises `ModelError` where in neither spelling every label has a first token of its own.
    """
    ways = [tuple(_first(space + label.strip(), found) for label in labels) for space in ("", " ")]
    usable = tuple(dict.fromkeys(way for way in ways if None not in way and len(set(way)) == len(way) > 1))
    if not usable:
        raise ModelError(f"the labels {', '.join(map(repr, labels))} begin with the same token: no logits differ")
    return usable  # pyright: ignore[reportReturnType]


def question(plain: dict[str, Any], ways: Sequence[Spelling]) -> dict[str, Any]:
    """The chat request that compares the labels; `plain` is it in the API's words, without the labels."""
    tokens = sorted({token for way in ways for token in way})
    body = _raising([[token, _RAISED] for token in tokens], len(tokens) + 4)
    return {**plain, **body, "max_tokens": 1, "chat_template_kwargs": {"enable_thinking": False}}


def compared(request: ChatRequest, said: bytes, ways: Sequence[Spelling], name: str) -> ChatReply:
    """The reply to a request with labels, each as likely as its spellings, "True" and " True", together.

    Raises `ModelError` where a label is not in what the server lists.
    """
    chances = {number: chance for number, (_, chance) in _listed(said).items()}
    if not all(token in chances for way in ways for token in way):
        raise ModelError(f"{name}: llama.cpp does not list all labels")
    found = [math.fsum(max(chances[token], _LEAST) for token in set(spelled)) for spelled in zip(*ways, strict=True)]
    values = [math.log(chance / math.fsum(found)) for chance in found]
    ranked = sorted(zip(request.labels, values, strict=True), key=lambda pair: -pair[1])
    token = TokenLogprob(token=ranked[0][0], logprob=ranked[0][1], top=tuple(ranked))
    tokens = int(json.loads(said).get("usage", {}).get("prompt_tokens", 0))
    return ChatReply(text=token.token, logprobs=(token,), prompt_tokens=tokens, model=name)


def _raising(bias: list[list[Any]], most: int) -> dict[str, Any]:
    return {
        "logit_bias": bias,
        "temperature": 1.0,
        "samplers": ["temperature"],
        "post_sampling_probs": True,
        "logprobs": True,
        "top_logprobs": most,
        "n_probs": most,
    }


def _first(text: str, found: Mapping[str, bytes]) -> int | None:
    """The number of the longest raised token with which the text begins."""
    begins = [
        (len(token), number)
        for number, (token, chance) in _listed(found[text]).items()
        if chance > _NONE and token.strip() and text.startswith(token)
    ]
    return max(begins)[1] if begins else None


def _listed(said: bytes) -> dict[int, tuple[str, float]]:
    """Text and probability of each listed token by its number."""
    try:
        listed = json.loads(said)["choices"][0]["logprobs"]["content"][0]["top_probs"]
        return {one["id"]: (one["token"], float(one["prob"])) for one in listed}
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelError("llama.cpp gives no probabilities of labels") from error
