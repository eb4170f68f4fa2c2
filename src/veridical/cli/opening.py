"""From the options to a method: models and knowledge opened, put together, and closed again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..estimate import Named
from ..methods import Method, Parts, method
from ..models.base import LanguageModel
from ..models.cache import CallStore
from ..models.factory import open_model
from ..models.metered import Budget
from ..models.probe import adaptations, gives_logprobs
from ..text.abstention import rule
from . import show
from .setup import EMBEDDED, Setup

GRACE = 5.0
"""Seconds that a stopped run waits for replies that are already being paid for."""


@asynccontextmanager
async def opened(
    setup: Setup, *, store: CallStore | None = None, budget: Budget | None = None, dry: bool = False
) -> AsyncIterator[Method]:
    """Models and knowledge opened, put together as a method, and closed again. `dry`: models have names only."""
    budget = budget or Budget()
    models: dict[str, LanguageModel] = {}

    async def model(spec: str | None) -> LanguageModel | None:
        if spec is None or spec == EMBEDDED:
            return None
        if spec not in models:
            models[spec] = (
                Named(spec) if dry else open_model(spec, store=store, budget=budget, concurrency=setup.concurrency)
            )
            stack.push_async_callback(models[spec].close)
        return models[spec]

    async with AsyncExitStack() as stack:
        judge, decomposer = await model(setup.judge), await model(setup.decomposer)
        searcher = _searcher(setup.knowledge)
        if searcher:
            stack.callback(searcher.close)
        stack.push_async_callback(_drained, budget, store)  # runs first, while the models are open
        three = setup.choices == "three"
        parts = Parts(
            judge=judge,
            decomposer=decomposer,
            embedded_decomposer=setup.decomposer == EMBEDDED,
            given_facts=setup.facts != "extracted",
            searcher=searcher,
            k=setup.k,
            choices=setup.choices,
            demonstrations=setup.demonstrations,
            shape=setup.shape,
            abstention=rule(setup.abstain),
            published_sentences=setup.sentences == "published",
        )
        method(setup.recipe, parts)  # says what is missing before a judge is asked anything
        yield method(setup.recipe, replace(parts, reading=await _reading("text" if three else setup.read, judge)))
        for name, opened_model in models.items():
            for words in adaptations(opened_model):
                show.err().print(f"note: {name}: {words}", markup=False)


async def _drained(budget: Budget, store: CallStore | None) -> None:
    """No further call begins; replies that are being paid for may arrive."""
    budget.stop()
    if store:
        await store.drain(GRACE)


async def _reading(wanted: str, judge: LanguageModel | None) -> Any:
    """How all verdicts of the run are read, "logprobs" or "text": no score mixes the two."""
    if judge is None or wanted == "text":
        return "text"
    given = await gives_logprobs(judge)
    if wanted == "logprobs" and not given:
        raise UsageError(f"{judge.name} gives no log-probabilities of True and False: --read text or --read auto")
    return "logprobs" if given else "text"


def _searcher(spec: str | None) -> Any:
    if spec is None:
        return None
    if spec.startswith("web:"):
        raise UsageError("--knowledge web:… is not in this version; build a local one with `veridical knowledge build`")
    from ..knowledge.store import Store

    return Store.open(Path(spec))
