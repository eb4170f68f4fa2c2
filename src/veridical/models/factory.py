"""The one place where a model's wrappers are put together."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import UsageError
from .base import LanguageModel
from .cache import Cached, CallStore
from .embedded import MODELS, locate, packaged
from .limit import Limited
from .llamacpp import LlamaCpp
from .metered import Budget, Counted, Paid, Price
from .providers import endpoint
from .retry import Retrying

_LATER = {"inspect": "models of Inspect AI"}


def open_model(
    spec: str,
    *,
    store: CallStore | None = None,
    budget: Budget | None = None,
    concurrency: int = 16,
    timeout: float = 300.0,
    attempts: int = 6,
    keep_cut: bool = False,
) -> LanguageModel:
    """The model that a name stands for, with everything around it.

    Names: "provider/model" (see `providers.py`), "http://host:port/v1#model", "llamacpp/PATH.gguf" and
    "embedded/smollm2" (or "llamacpp/smollm2") in this process, "llamacpp/NAME" for a llama.cpp server, "hf/…" for
    transformers in this process ("hf/ORG/NAME" on the hub, "hf/FOLDER", "hf/PATH.gguf", "hf/smollm2").

    From the outside in: `Counted` books each reply for the report, cached or not; `Cached` answers what was asked
    before and takes no slot for it; `Retrying` waits outside of any slot; `Limited` bounds calls at once; `Paid` books
    what is really spent and stops at the budget; then the client. Nothing is sent yet, but weights named by the hub and
    not in its cache are downloaded. `timeout` is in seconds for one request; with `keep_cut` replies that max_tokens
    cut are kept in the cache too. Raises `UsageError` for a name, key, file or price that is missing.
    """
    budget = budget or Budget()
    client = _local(spec)
    model: LanguageModel
    if client is not None:
        model = Paid(client, budget, Price(prompt=0.0, completion=0.0))  # it bounds its calls, nothing to retry
    else:
        model = Retrying(Limited(_remote(spec, budget, timeout, concurrency), limit=concurrency), attempts=attempts)
    return Counted(Cached(model, store, keep_cut=keep_cut) if store else model)


def _local(spec: str) -> LanguageModel | None:
    """The model in this process that a name stands for; None if it stands for a server."""
    provider, _, source = spec.partition("/")
    if provider == "hf":
        from .hf import HF  # it reads GGUF, which few runs do

        return HF(source)
    file = _local_file(spec)
    return None if file is None else LlamaCpp(file, name=spec if spec.startswith("embedded/") else "")


def _remote(spec: str, budget: Budget, timeout: float, concurrency: int) -> Paid:
    from .openai_compatible import OpenAICompatible  # its HTTP library takes longer to import than all the rest

    place = endpoint(spec)
    if budget.max_cost is not None and place.price is None and not place.bills:
        raise UsageError(
            f"the price of {place.name} is not known, so a limit to the cost cannot be kept; "
            "give it in providers.toml (see docs/models.md)"
        )
    client = OpenAICompatible(
        place.base_url,
        place.model,
        name=place.name,
        api_key=place.api_key,
        dialect=place.dialect,
        read_timeout=timeout,
        total_timeout=timeout,
        pool=max(256, concurrency),
    )
    return Paid(client, budget, place.price)


def _local_file(spec: str) -> Path | None:
    """The GGUF file that a name stands for; None if it stands for a server."""
    provider, _, name = spec.partition("/")
    if provider in _LATER:
        raise UsageError(f"{spec}: {_LATER[provider]} are not in this version")
    if provider == "llamacpp" and name.lower().endswith(".gguf"):
        return Path(os.path.expanduser(name))  # as it is where there is no such user  # noqa: PTH111
    if provider != "embedded" and not (provider == "llamacpp" and name in MODELS):
        return None
    if packaged(name).kind != "chat":
        raise UsageError(f"{spec} encodes sentences and cannot answer")
    path = locate(name)
    if path is None:
        raise UsageError(f"{spec} has not been fetched yet: veridical models fetch {name}")
    return path
