"""Options that several commands share, and the one place where they become models, knowledge and a method."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..estimate import Named
from ..methods import METHODS, Method, Parts, method
from ..models.base import LanguageModel
from ..models.cache import CallStore
from ..models.factory import open_model
from ..models.metered import Budget
from ..models.probe import adaptations, gives_logprobs
from ..text.abstention import rule
from . import show

EMBEDDED = "embedded"
GRACE = 5.0
"""Seconds that a stopped run waits for replies that are already being paid for."""


def _config(ctx: Any, path: Path | None) -> Path | None:
    """Take defaults of all options from a TOML file: every option by its long name, dashes or underscores."""
    if path is None:
        return None
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path}: {error}") from None
    names = {option.lstrip("-").replace("-", "_"): param.name for param in ctx.command.params for option in param.opts}
    given = {key.replace("-", "_"): value for key, value in values.items()}
    if unknown := sorted(set(given) - set(names)):
        raise UsageError(f"--config {path}: no option named {', '.join(unknown)}")
    ctx.default_map = {**(ctx.default_map or {}), **{names[key]: value for key, value in given.items()}}
    return path


Config = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file with options by name.", is_eager=True, callback=_config),
]
MethodName = Annotated[
    str | None,
    typer.Option("--method", help=f"{', '.join(METHODS)} (default: embedded, or factscore with --judge)."),
]
Judge = Annotated[str | None, typer.Option("--judge", help="Model that judges: provider/name.")]
DecomposerName = Annotated[
    str | None, typer.Option("--decomposer", help="Model that splits into facts, or 'embedded' (default: the judge).")
]
Knowledge = Annotated[
    str | None,
    typer.Option("--knowledge", help="Knowledge source to judge against (default: each input's own reference)."),
]
Facts = Annotated[
    str,
    typer.Option(
        "--facts", help="extracted; given: those in the input; given-model: a model's facts in FActScore files."
    ),
]
Abstain = Annotated[str, typer.Option("--abstain", help="Abstention rule: standard, generic, perplexity, never.")]
Sentences = Annotated[
    str, typer.Option("--sentences", help="Sentence ends: standard, or published (those of FActScore's own splitter).")
]
K = Annotated[int, typer.Option("-k", min=1, help="Passages a judge sees for each fact.")]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, help="Most model calls at once.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0, help="Stop before spending more, in US dollars.")]
Read = Annotated[
    str, typer.Option("--read", help="How verdicts are read: logprobs, text, or auto (asks the judge once).")
]
Choices = Annotated[
    str,
    typer.Option("--choices", help="What a judge may say: two (supported or not), or three (contradicted told apart)."),
]
Shape = Annotated[str, typer.Option("--shape", help="What the LLM decomposer writes: list, or json with a schema.")]
Demonstrations = Annotated[
    str, typer.Option("--demonstrations", help="Examples for the LLM decomposer: biographies or general.")
]
Cache = Annotated[
    Path | None,
    typer.Option("--cache", help="File that keeps replies of models; may be shared (score: in the run folder)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to stdout.")]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The options that decide how generations are judged."""

    method: str | None = None
    judge: str | None = None
    decomposer: str | None = None
    knowledge: str | None = None
    facts: str = "extracted"
    abstain: str = "standard"
    k: int = 5
    concurrency: int = 16
    read: str = "auto"
    demonstrations: str = "biographies"
    sentences: str = "standard"
    choices: str = "two"
    shape: str = "list"

    def __post_init__(self) -> None:
        _one_of("--sentences", self.sentences, ("standard", "published"))
        _one_of("--facts", self.facts, ("extracted", "given", "given-model"))
        _one_of("--read", self.read, ("auto", "logprobs", "text"))
        _one_of("--demonstrations", self.demonstrations, ("biographies", "general"))
        _one_of("--choices", self.choices, ("two", "three"))
        _one_of("--shape", self.shape, ("list", "json"))
        rule(self.abstain)
        if self.read == "logprobs" and not self.judge:
            raise UsageError("--read logprobs is for a --judge")
        if self.choices == "three" and self.read == "logprobs":
            raise UsageError("--choices three is read from the text: --read text")

    @property
    def recipe(self) -> str:
        return self.method or ("factscore" if self.judge else EMBEDDED)


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


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{option} {value}: must be one of {', '.join(allowed)}")
