"""The options that decide how generations are judged, the same for every command that judges.

`Setup` is their table: a field an option. `@judging` puts them on a command, which gets them as `setup`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from ..errors import UsageError
from ..methods import METHODS
from ..text.abstention import rule

EMBEDDED = "embedded"


def _option(*names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, **more)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How generations are judged, as the command line says it. Raises UsageError for what does not fit together."""

    method: Annotated[
        str | None,
        _option("--method", help=f"{', '.join(METHODS)} (default: embedded, or factscore with --judge)."),
    ] = None
    judge: Annotated[str | None, _option("--judge", help="Model that judges: provider/name.")] = None
    decomposer: Annotated[
        str | None,
        _option("--decomposer", help="Model that splits into facts, or 'embedded' (default: the judge)."),
    ] = None
    knowledge: Annotated[
        str | None,
        _option("--knowledge", help="Knowledge source to judge against (default: each input's own reference)."),
    ] = None
    facts: Annotated[
        str,
        _option(
            "--facts", help="extracted; given: those in the input; given-model: a model's facts in FActScore files."
        ),
    ] = "extracted"
    abstain: Annotated[str, _option("--abstain", help="Abstention rule: standard, generic, perplexity, never.")] = (
        "standard"
    )
    k: Annotated[int, _option("-k", min=1, help="Passages a judge sees for each fact.")] = 5
    concurrency: Annotated[int, _option("--concurrency", min=1, help="Most model calls at once.")] = 16
    read: Annotated[
        str, _option("--read", help="How verdicts are read: logprobs, text, or auto (asks the judge once).")
    ] = "auto"
    demonstrations: Annotated[
        str, _option("--demonstrations", help="Examples for the LLM decomposer: biographies or general.")
    ] = "biographies"
    choices: Annotated[
        str,
        _option("--choices", help="What a judge may say: two (supported or not), or three (contradicted told apart)."),
    ] = "two"
    shape: Annotated[str, _option("--shape", help="What the LLM decomposer writes: list, or json with a schema.")] = (
        "list"
    )
    sentences: Annotated[
        str,
        _option("--sentences", help="Sentence ends: standard, or published (those of FActScore's own splitter)."),
    ] = "standard"

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


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{option} {value}: must be one of {', '.join(allowed)}")


def judging(*, without: tuple[str, ...] = (), **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `Setup`, but for those `without`, and with its own `defaults` of some of either.

    The command takes a keyword `setup`; the option parser sees its other parameters and then those of `Setup`.
    """
    hints = get_type_hints(Setup, include_extras=True)
    fixed = {name: defaults[name] for name in without if name in defaults}
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(field.name, field.default),
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(Setup)
        if field.name not in without
    ]

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        kept = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own if one.name != "setup"]

        @functools.wraps(command)
        def parsed(**values: Any) -> None:
            setup = Setup(**fixed, **{one.name: values.pop(one.name) for one in shared})
            command(setup=setup, **values)

        signature = inspect.Signature([*kept, *shared])
        parsed.__signature__ = signature  # type: ignore[attr-defined]
        parsed.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
        return parsed

    return wrap
