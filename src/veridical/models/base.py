"""The seam to language models: a request, a reply, and the protocol that every backend and every wrapper fulfils."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

from ..types import Struct


class Message(Struct, frozen=True, kw_only=True):
    role: str
    """"system", "user" or "assistant"."""
    content: str


class ChatRequest(Struct, frozen=True, kw_only=True):
    """One call. Everything in it can change the reply, so everything in it is in the cache key."""

    messages: tuple[Message, ...]
    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    json_schema: dict[str, Any] | None = None
    """Ask for JSON of this schema where the server can; the reply is parsed as usual either way."""
    top_logprobs: int | None = None
    """Ask for log-probabilities with this many alternatives a token (None = do not ask)."""
    labels: tuple[str, ...] = ()
    """Compare these answers by the logits of the first token of each, and generate nothing. The reply's text is the
    likeliest of them, its only token has all of them as alternatives. Backends that cannot raise `ModelError`."""
    sample: int = 0
    """Number of the sample when the same request is sent several times on purpose."""


class TokenLogprob(Struct, frozen=True, kw_only=True):
    """One generated token; `top` are the alternatives at its place, most likely first, the token itself among them."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class ChatReply(Struct, frozen=True, kw_only=True):
    """A complete reply. Backends raise instead of returning an empty, cut or filtered one (see `errors.py`)."""

    text: str
    finish_reason: str = "stop"
    """As the server says: "stop", "length", ... "length" only where the caller's own max_tokens cut the text."""
    logprobs: tuple[TokenLogprob, ...] | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """US dollars, 0 where no price is known."""
    model: str = ""
    """The model name that the server reports."""


class LanguageModel(Protocol):
    """Chat with a model. `name` ("provider/model") and `identity` go into every signature and cache key."""

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str:
        """Everything beside the request that can change the reply: name and base URL, or file hash."""
        ...

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply. Raises `ModelError` for this call alone, `FatalError` where no further call can succeed."""
        ...

    async def close(self) -> None: ...


@dataclasses.dataclass
class Wrapper:
    """Base of what is put around a model: it goes by the model's name, and closing it closes the model."""

    inner: LanguageModel

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> str:
        return self.inner.identity

    async def close(self) -> None:
        """Close the inner model."""
        await self.inner.close()
