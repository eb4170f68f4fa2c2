"""What an endpoint can do, found out by asking it: chat, JSON, label probabilities, seeds, context window."""

from __future__ import annotations

import json
import time

from ..errors import FatalError, ModelError, VeridicalError
from ..types import Struct
from .base import ChatReply, ChatRequest, LanguageModel, Message
from .retry import Retryable, Trouble
from .wire import NoLabelLogits, fewest_tokens

_ALTERNATIVES = 5
_TOKENS = 16
_SCHEMA_TOKENS = 64
_WORDS = (500, 1000, 2000, 4000, 8000, 16000, 32000)
"""Lengths of the prompts by which the window is felt for."""
_MARKER = "MARIGOLD-4417"
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


class ProbeResult(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What was found. None = not known, because an earlier question failed or the reply leaves it open."""

    model: str
    """Its name here."""
    reachable: bool = False
    """Something answered at the address, be it an error."""
    chat: bool = False
    """It answered a question."""
    latency: float | None = None
    """Seconds that the first answer took."""
    server_model: str = ""
    """The name by which the server calls it."""
    system_role: bool | None = None
    """It followed an instruction in a system message."""
    json_schema: bool | None = None
    """It kept to a JSON schema that the prompt did not mention."""
    logprobs: int | None = None
    """How many alternatives a token it gives; 0 = no label probabilities."""
    seed: bool | None = None
    """The same seed gave the same text twice at temperature 1."""
    prompt_tokens: bool | None = None
    """It reports the size of prompts, so that a cut prompt can be noticed."""
    longest_prompt: int | None = None
    """Words of the longest prompt sent that was read from its start."""
    cuts: bool | None = None
    """It cuts longer prompts and answers all the same."""
    notes: tuple[str, ...] = ()
    """What a user should know, in words."""


async def probe(model: LanguageModel, *, most_words: int = 8000) -> ProbeResult:
    """Ask a model about ten short questions and prompts of up to `most_words` words. Never raises for its faults.

    Give it a model without a cache. Costs about 1.6 * `most_words` prompt tokens and fewer than 200 others.
    """
    found = _Findings(model)
    if not await found.first():
        return found.result()
    await found.system()
    await found.schema()
    await found.probabilities()
    await found.repeats()
    await found.window(most_words)
    return found.result()


async def gives_logprobs(model: LanguageModel) -> bool:
    """Whether label probabilities can be read from this model's replies.

    Raises `FatalError` if it does not answer: a mode chosen by a passing fault would hold for a whole run.
    """
    try:
        reply = await model.chat(_ask("Is water wet? Answer True or False.", top_logprobs=_ALTERNATIVES))
    except ModelError as error:
        raise FatalError(f"{model.name} did not answer the first question: {error}") from error
    return _alternatives(reply) > 1


async def gives_logits(model: LanguageModel) -> bool:
    """Whether the model compares labels by their logits (`ChatRequest.labels`).

    Raises `FatalError` if it does not answer: a mode chosen by a passing fault would hold for a whole run.
    """
    try:
        reply = await model.chat(_ask("Is water wet? Answer True or False.", labels=("True", "False")))
    except NoLabelLogits:
        return False
    except ModelError as error:
        raise FatalError(f"{model.name} did not answer the first question: {error}") from error
    return reply.text in ("True", "False") and _alternatives(reply) > 1


class _Findings:
    """The answers so far; each method asks one thing."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.facts: dict[str, object] = {}
        self.notes: list[str] = []

    def result(self) -> ProbeResult:
        self.notes += [f"the server refused something: {words}" for words in adaptations(self.model)]
        return ProbeResult(model=self.model.name, notes=tuple(self.notes), **self.facts)  # pyright: ignore[reportArgumentType]

    async def first(self) -> bool:
        started = time.perf_counter()
        try:
            reply = await self.model.chat(_ask("What is the capital of France? Answer with its name only."))
        except VeridicalError as error:
            self.facts["reachable"] = not _unreachable(error)
            self.notes.append(f"no answer: {error}")
            return False
        self.facts |= {"reachable": True, "chat": True, "latency": time.perf_counter() - started}
        self.facts |= {"server_model": reply.model, "prompt_tokens": reply.prompt_tokens > 0}
        if not reply.prompt_tokens:
            self.notes.append("it does not report prompt sizes: a prompt that it cuts cannot be noticed")
        return True

    async def system(self) -> None:
        order = Message(role="system", content="Answer every question with the one word HERON and nothing else.")
        question = Message(role="user", content="Which animal barks?")
        reply = await self._try("a system message", ChatRequest(messages=(order, question), max_tokens=_TOKENS))
        if reply:
            self.facts["system_role"] = "heron" in reply.text.lower()
            if not self.facts["system_role"]:
                self.notes.append("it did not follow a system message (dropped by its template, or too weak a model)")

    async def schema(self) -> None:
        request = _ask("Describe the sea in a few words.", json_schema=_SCHEMA, max_tokens=_SCHEMA_TOKENS)
        reply = await self._try("a JSON schema", request)
        if reply:
            self.facts["json_schema"] = _fits(reply.text)
            if not self.facts["json_schema"]:
                self.notes.append("it does not enforce JSON schemas: replies are read as they come")

    async def probabilities(self) -> None:
        request = _ask("Is water wet? Answer True or False.", top_logprobs=_ALTERNATIVES)
        reply = await self._try("log-probabilities", request)
        if reply:
            count = _alternatives(reply)
            self.facts["logprobs"] = count if count > 1 else 0
            if count == 0:
                self.notes.append("it gives no log-probabilities: verdicts must be read from the text (--read text)")
            elif count == 1:
                self.notes.append(
                    "it gives log-probabilities without alternatives: label probabilities cannot be read (--read text)"
                )

    async def repeats(self) -> None:
        request = _ask("Name a random town.", temperature=1.0, seed=7)
        one = await self._try("a seed", request)
        two = await self._try("a seed", request) if one else None
        if one and two:
            self.facts["seed"] = one.text == two.text
            if not self.facts["seed"]:
                self.notes.append("the same seed gave two different texts: samples cannot be repeated but by the cache")

    async def window(self, most_words: int) -> None:
        """Longer and longer prompts with a word at their start, until one fails or is not seen whole."""
        before = 0
        for words in (length for length in _WORDS if length <= most_words):
            request = _long(words)
            try:
                reply = await self.model.chat(request)
            except VeridicalError as error:
                self.facts["cuts"] = "was cut" in str(error)
                self.notes.append(f"a prompt of {words} words: {error}")
                return
            sent = sum(fewest_tokens(message.content) for message in request.messages)
            short = bool(reply.prompt_tokens) and (reply.prompt_tokens < sent or reply.prompt_tokens < 1.5 * before)
            if short:
                self.facts["cuts"] = True
                self.notes.append(
                    f"it cuts prompts: of {words} words it saw {reply.prompt_tokens} tokens. Set its window larger, "
                    "and context_window in providers.toml to what it is"
                )
                return
            if not reply.prompt_tokens and _MARKER.lower() not in reply.text.lower():
                self.notes.append(f"it did not find the start of a prompt of {words} words: cut, or too weak a model")
                return
            self.facts["longest_prompt"] = words
            before = reply.prompt_tokens
        self.facts["cuts"] = False

    async def _try(self, what: str, request: ChatRequest) -> ChatReply | None:
        try:
            return await self.model.chat(request)
        except VeridicalError as error:
            self.notes.append(f"{what}: {error}")
            return None


def _ask(text: str, *, max_tokens: int = _TOKENS, **settings: object) -> ChatRequest:
    message = Message(role="user", content=text)
    return ChatRequest(messages=(message,), max_tokens=max_tokens, **settings)  # pyright: ignore[reportArgumentType]


def _long(words: int) -> ChatRequest:
    filler = "The grey boat went out again and came back late. " * (words // 10)
    return _ask(f"The code word is {_MARKER}. Keep it in mind.\n{filler}\nWhat is the code word? Answer with it only.")


def _alternatives(reply: ChatReply) -> int:
    """The most alternatives at any token; 1 where there are only the tokens themselves, 0 where there is nothing."""
    return max((max(1, len(token.top)) for token in reply.logprobs or ()), default=0)


def _fits(text: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and value.keys() == {"answer"} and value["answer"] in ("yes", "no")


def _unreachable(error: VeridicalError) -> bool:
    """Nothing was there to answer, as told by the client or, once it gave up, by the retries around it."""
    while error.__cause__ is not None and isinstance(error.__cause__, VeridicalError):
        error = error.__cause__
    return isinstance(error, Retryable) and error.trouble is Trouble.CONNECTION


def adaptations(model: LanguageModel) -> list[str]:
    """What the client inside the wrappers had to change."""
    inner: object = model
    while inner is not None and not hasattr(inner, "adaptations"):
        inner = getattr(inner, "inner", None)
    return list(getattr(inner, "adaptations", ()))
