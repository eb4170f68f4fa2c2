"""From "provider/name" to a model: the one place where wrappers are put around a client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import UsageError
from .base import LanguageModel
from .cache import Cached, CallStore
from .limit import Limited
from .metered import Budget, Counted, Paid
from .openai_compatible import OpenAICompatible
from .providers import provider
from .retry import Retrying
from .wire import Dialect

LATER = ("hf", "inspect")


def open_model(
    spec: str,
    *,
    store: CallStore | None = None,
    budget: Budget | None = None,
    concurrency: int = 16,
    environment: Mapping[str, str] = os.environ,
) -> LanguageModel:
    """The model of that name, wrapped.

    A cache hit takes no slot; the slot is free between retries; only what reaches the client is paid for. Raises
    UsageError for an unknown provider, a missing key or a missing file.
    """
    client, dialect = _client(spec, environment, concurrency)
    inner: LanguageModel = Paid(client, budget or Budget(), dialect)
    inner = Retrying(Limited(inner, limit=concurrency))
    if store:
        inner = Cached(inner, store)
    return Counted(inner)


def _client(spec: str, environment: Mapping[str, str], concurrency: int) -> tuple[LanguageModel, Dialect]:
    if spec.startswith(("http://", "https://")):
        url, _, model = spec.partition("#")
        if not model:
            raise UsageError(f"{spec}: name the model after a #, as in http://127.0.0.1:8000/v1#my-model")
        key = environment.get("VERIDICAL_API_KEY") or None
        return OpenAICompatible(base_url=url, model=model, api_key=key, pool=concurrency + 1), Dialect()
    name, _, model = spec.partition("/")
    if not model:
        raise UsageError(f"{spec!r} is no model: write provider/name, such as openai/gpt-4o-mini")
    if name in ("llamacpp", "embedded"):
        return _local(model), Dialect(price_in=0.0, price_out=0.0)
    if name in LATER:
        raise UsageError(f"{name}/… is not in this version")
    found = provider(name, environment)
    dialect = found.dialect_of(model)
    client = OpenAICompatible(
        base_url=found.base_url,
        model=model,
        name=spec,
        api_key=found.api_key(environment, name=name),
        headers=found.headers,
        dialect=dialect,
        pool=concurrency + 1,
    )
    return client, dialect


def _local(model: str) -> LanguageModel:
    """A GGUF file, or the name of a model that `veridical models fetch` brought."""
    from .embedded import MODELS, locate
    from .llamacpp import LlamaCpp

    if model in MODELS:
        return LlamaCpp(locate(model), name=f"llamacpp/{model}")
    return LlamaCpp(Path(model))
