"""What a run would ask of models, before anything is asked.

The method itself runs, with stand-ins for its models that count each prompt and answer what a model would: so the
prompts counted are the prompts sent. A reply of a decomposer is taken to hold as many facts as people found in such
text: one for each 5.4 words (16,040 facts in 549 biographies of FActScore's labelled data).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .errors import ModelError
from .methods import Method
from .models.base import ChatReply, ChatRequest, LanguageModel
from .models.providers import price_of
from .models.token_encoder import MaskedTokens, Skip, TokenVectors
from .pipeline import evaluate
from .safe.dry import stand_in
from .types import Generation, Passage, Query, Struct, Usage

WORDS_PER_FACT = 5.4
CHARACTERS_PER_TOKEN = 4.0
"""Of English prose with the tokenizers of today's models; other scripts need up to four times as many tokens."""


SNIPPET_WORDS = 30
"""Of a result of a web search."""


class Estimate(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Of a whole run; tokens and money are approximate, calls nearly exact but for the number of facts."""

    generations: int
    sampled: int
    """How many generations the figures were taken from."""
    facts: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars; None where a price is not known."""
    seconds: float
    """At the given latency and concurrency, without rate limits."""
    models: dict[str, Usage]
    searches: int = 0
    """Searches of the web."""


class Named:
    """A model of which only the name is known, as long as nothing is asked of it: no key is needed to estimate."""

    def __init__(self, name: str) -> None:
        self.name = self.identity = name

    async def chat(self, request: ChatRequest) -> ChatReply:
        raise RuntimeError(f"{self.name} was asked in a dry run")

    async def close(self) -> None:
        pass


class NamedEncoder:
    """A token encoder of which only the name is known: it costs no calls, so a dry run goes on without it."""

    dimension = 0

    def __init__(self, name: str) -> None:
        self.name = self.identity = name

    async def passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        raise ModelError(f"{self.name} is not loaded in a dry run")

    async def masked(self, texts: Sequence[str], skip: Skip, *, lead: str = "") -> list[MaskedTokens]:
        raise ModelError(f"{self.name} is not loaded in a dry run")

    async def close(self) -> None:
        pass


class NamedSearch:
    """A search of the web that is only counted: it finds `k` passages of a usual length, and costs nothing."""

    def __init__(self, inner: Any) -> None:
        self.name, self.identity, self.price = inner.name, inner.identity, inner.price
        self.searches = 0

    async def search(self, query: Query, *, k: int) -> list[Passage]:
        self.searches += 1
        text = "word " * SNIPPET_WORDS
        return [Passage(id=f"{self.name}/{self.searches}.{n}", text=f"{text}{query.text}") for n in range(k)]

    async def close(self) -> None:
        pass


class DryRun:
    """A stand-in for a model: counts what it is sent, answers what keeps the pipeline going."""

    def __init__(self, inner: LanguageModel, *, splits: bool) -> None:
        self.inner, self.splits = inner, splits
        self.usage = Usage()

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> str:
        return self.inner.identity

    async def chat(self, request: ChatRequest) -> ChatReply:
        prompt = sum(len(message.content) for message in request.messages)
        text = stand_in(request) or (_facts(request.messages[-1].content) if self.splits else _answer(request))
        self.usage += Usage(
            calls=1,
            prompt_tokens=round(prompt / CHARACTERS_PER_TOKEN),
            completion_tokens=max(1, round(len(text) / CHARACTERS_PER_TOKEN)),
        )
        return ChatReply(text=text)

    async def close(self) -> None:
        pass


_SENTENCE = re.compile(r"<sentence-[^>]*>(.*?)</sentence-", re.DOTALL)


def _facts(prompt: str) -> str:
    """As many dash-list facts as the prompt's last sentence would give: a window of its words each, none twice."""
    sentences = _SENTENCE.findall(prompt)
    words = sentences[-1].split() if sentences else []
    count = max(1, round(len(words) / WORDS_PER_FACT))
    starts = [round(n * len(words) / count) for n in range(count)]
    return "\n".join(f"- {' '.join(words[start : start + 8])} ({n})" for n, start in enumerate(starts))


_NUMBERED = re.compile(r"<statement-(\d+)-[0-9a-f]+>")
_STATEMENT = re.compile(r"<statement-[^>]*>(.*?)</statement-", re.DOTALL)


def _answer(request: ChatRequest) -> str:
    """A verdict; for the steps of QA prompting a question about the statement's longest word, and another answer."""
    asked = request.messages[0].content
    if '"Question:"' in asked:
        words = " ".join(_STATEMENT.findall(asked)[-1:]).split()
        return f"Question: What is it?\nAnswer: {max(words, key=len, default='it')}"
    if numbers := _NUMBERED.findall(asked):
        return "\n".join(f"{number}: True" for number in dict.fromkeys(numbers))
    return "Answer: something else" if '"Answer:"' in asked else "True"


def _dry(method: Method) -> tuple[Method, list[DryRun]]:
    """The method with a `DryRun` for each model it holds."""
    made: list[DryRun] = []

    def emptied(part: Any, *, splits: bool) -> Any:
        if hasattr(part, "chat"):
            made.append(DryRun(part, splits=splits))
            return made[-1]
        if isinstance(part, tuple):
            inner = tuple(emptied(one, splits=splits) for one in part)
            return inner if any(new is not old for new, old in zip(inner, part, strict=True)) else part
        if not dataclasses.is_dataclass(part) or isinstance(part, type):
            return part
        changes = {}
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            inner = emptied(value, splits=splits or field.name == "decomposer")
            if field.name == "mode" and value in ("logprobs", "logits"):
                inner = "text"  # a stand-in has no probabilities; the prompt is the same
            if inner is not value:
                changes[field.name] = inner
        return dataclasses.replace(part, **changes) if changes else part

    return emptied(method, splits=False), made


def _parts(part: Any) -> Iterator[Any]:
    """Everything that a method is made of."""
    yield part
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        for one in dataclasses.fields(part):
            yield from _parts(getattr(part, one.name))
    elif isinstance(part, tuple):
        for one in part:
            yield from _parts(one)


def _cost(name: str, usage: Usage) -> float | None:
    price = price_of(name)
    return None if price is None else price.of(usage.prompt_tokens, usage.completion_tokens)


def _together(stand_ins: list[DryRun], name: str) -> Usage:
    return sum((stand_in.usage for stand_in in stand_ins if stand_in.name == name), Usage())


def _scaled(usage: Usage, factor: float) -> Usage:
    return Usage(
        calls=round(usage.calls * factor),
        prompt_tokens=round(usage.prompt_tokens * factor),
        completion_tokens=round(usage.completion_tokens * factor),
    )


async def estimate(
    generations: Iterable[Generation],
    method: Method,
    *,
    total: int,
    latency: float = 1.0,
    concurrency: int = 16,
    limit: int = 50,
) -> Estimate:
    """Dry-run up to `limit` generations and scale to `total`. `latency` is in seconds a call."""
    dry, stand_ins = _dry(method)
    facts = sampled = 0
    for generation in generations:
        if sampled == limit:
            break
        report = await evaluate(generation, dry)
        facts += len(report.facts)
        sampled += 1
    factor = total / sampled if sampled else 0.0
    searcher = next((part for part in _parts(method) if isinstance(part, NamedSearch)), None)
    searches = round(searcher.searches * factor) if searcher else 0
    models = {name: _scaled(_together(stand_ins, name), factor) for name in dict.fromkeys(s.name for s in stand_ins)}
    usage = sum(models.values(), Usage())
    costs = [_cost(name, used) for name, used in models.items()]
    costs += [searches * searcher.price] if searcher else []
    return Estimate(
        generations=total,
        sampled=sampled,
        facts=round(facts * factor),
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        seconds=(usage.calls + searches) * latency / concurrency,
        models=models,
        searches=searches,
    )
