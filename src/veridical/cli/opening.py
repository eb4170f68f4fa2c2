"""From the options to a method: models and knowledge opened, put together, and closed again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ..calibrated import Calibrated, Thresholds
from ..calibration import Calibration
from ..errors import UsageError
from ..estimate import Named, NamedEncoder, NamedSearch
from ..frozen import Frozen
from ..knowledge.ranking import Dense, Hybrid, Ranker
from ..knowledge.store import Store
from ..methods import Method, method
from ..models.base import LanguageModel
from ..models.cache import CallStore
from ..models.encoders import open_encoder
from ..models.factory import open_model
from ..models.metered import Budget
from ..models.probe import adaptations, gives_logits, gives_logprobs
from ..models.token_encoder import TokenEncoder, open_token_encoder
from ..parts import K, Parts, Reading
from ..published import Published, checked
from ..safe import PublishedSAFE
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
        subject = await model(setup.subject)
        searcher = _searcher(setup, store, budget, dry=dry)
        if isinstance(searcher, Store):
            stack.callback(searcher.close)
        elif searcher:
            stack.push_async_callback(searcher.close)
        encoder = _encoder(setup, dry=dry)
        if encoder:
            stack.push_async_callback(encoder.close)
        stack.push_async_callback(_drained, budget, store)  # runs first, while the models are open
        published = _published(setup)
        parts = Parts(
            judge=judge,
            decomposer=decomposer,
            embedded_decomposer=setup.decomposer == EMBEDDED,
            given_facts=setup.facts != "extracted",
            searcher=searcher,
            frozen=Frozen(setup.evidence) if setup.evidence else None,
            ranker=None if dry else _ranker(setup),
            k=setup.k,
            steps=setup.steps,
            all_steps=setup.all_steps,
            choices=setup.choices,
            order=setup.order,
            facts_per_call=setup.facts_per_call,
            demonstrations=setup.demonstrations,
            shape=setup.shape,
            abstention=rule(setup.abstain) if setup.abstain else None,
            published_sentences=setup.sentences == "published",
            published=published,
            published_safe=PublishedSAFE() if setup.compat == "safe" else None,
            encoder=encoder,
            np_threshold=setup.np_threshold,
            subject=subject,
            samples=setup.samples,
            rule="majority" if dry and setup.combine == "mean" else setup.combine,  # the same calls
            cheap=setup.cheap,
            costly=setup.costly,
            confidence=setup.confidence,
            calibration=Calibration.load(setup.calibration) if setup.calibration else None,
            thresholds=Thresholds.load(setup.thresholds) if setup.thresholds else None,
            domain=setup.domain,
            audit=setup.audit,
        )
        wanted = _wanted(setup)
        hoped: Reading = "text" if judge is None or wanted == "text" else "logprobs"
        guess = replace(
            parts, reading=hoped, calibration=_unsigned(parts.calibration), thresholds=_unsigned(parts.thresholds)
        )
        made = method(setup.recipe, guess)  # says what is missing before a judge is asked
        if dry and isinstance(made.verifier, Calibrated):
            made = replace(made, verifier=made.verifier.verifier)  # it changes no call, and stand-ins answer in text
        yield made if dry else method(setup.recipe, replace(parts, reading=await _reading(wanted, judge)))
        for name, part in [*models.items(), *([(searcher.name, searcher)] if setup.on_the_web else [])]:
            for words in adaptations(part):
                show.err().print(f"note: {name}: {words}", markup=False)


def _unsigned(fit: Any) -> Any:
    """It for any judge: how the judge will be read, which is part of what it was fitted for, is not known yet."""
    return None if fit is None else msgspec.structs.replace(fit, judge="", recipe={})


def _published(setup: Setup) -> Published | None:
    if setup.compat != "factscore":
        return None
    return Published(defects=checked(setup.defect or ()), k=setup.k or K)


def _wanted(setup: Setup) -> str:
    """What is asked for in the text cannot be read from the probability of one word."""
    return "text" if setup.choices == "three" or setup.facts_per_call > 1 else setup.read


def _ranker(setup: Setup) -> Ranker | None:
    if setup.retrieval == "bm25":
        return None
    encoder = open_encoder(setup.encoder)
    return Dense(encoder) if setup.retrieval == "dense" else Hybrid(encoder)


def _encoder(setup: Setup, *, dry: bool) -> TokenEncoder | None:
    if "np" not in setup.names or setup.np_model is None:
        return None
    return NamedEncoder(setup.np_model) if dry else open_token_encoder(setup.np_model)


async def _drained(budget: Budget, store: CallStore | None) -> None:
    """No further call begins; replies that are being paid for may arrive."""
    budget.stop()
    if store:
        await store.drain(GRACE)


async def _reading(wanted: str, judge: LanguageModel | None) -> Reading:
    """How all verdicts of the run are read: no score mixes two ways."""
    if judge is None or wanted == "text":
        return "text"
    if wanted in ("auto", "logits") and await gives_logits(judge):
        return "logits"
    if wanted == "logits":
        raise UsageError(
            f"{judge.name} gives no logits; models on hf/ and llamacpp/ do: --read logprobs or --read text"
        )
    given = await gives_logprobs(judge)
    if wanted == "logprobs" and not given:
        raise UsageError(f"{judge.name} gives no log-probabilities of True and False: --read text or --read auto")
    return "logprobs" if given else "text"


def _searcher(setup: Setup, store: CallStore | None, budget: Budget, *, dry: bool) -> Any:
    """The knowledge source or web search that facts are looked up in, with an async `close` if it is on the web."""
    if setup.knowledge is None:
        return None
    if not setup.on_the_web:
        return Store.open(Path(setup.knowledge))
    from ..knowledge.web.search import open_search  # HTTP, which a local source does without

    found = open_search(
        setup.knowledge,
        store=store,
        budget=budget,
        concurrency=setup.concurrency,
        language=setup.language,
        country=setup.country,
        before=setup.as_of,
        allow=setup.allow or (),
        block=setup.block or (),
        answers_on_top=setup.compat == "safe",
        dry=dry,
    )
    if setup.k and setup.k > found.dialect.max_k:
        raise UsageError(f"-k {setup.k}: {found.name} gives {found.dialect.max_k} results at once")
    if setup.pages:
        from ..knowledge.web.fetch import Fetcher
        from ..knowledge.web.pages import Pages

        networks = tuple(setup.allow_network or ())
        found = Pages(found, Fetcher(store, networks=networks, concurrency=setup.concurrency))
    return NamedSearch(found) if dry else found
