"""The options that decide how generations are judged, the same for every command that judges.

`Setup` is their table: a field an option. `@judging` puts them on a command, which gets them as `setup`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ..calibrated import DOMAIN
from ..ensemble import RULES
from ..errors import UsageError
from ..methods import METHODS, WITHOUT_KNOWLEDGE
from ..nonparametric import THRESHOLD
from ..parts import STEPS
from ..published import DEFECTS, checked
from ..text.abstention import rule

EMBEDDED = "embedded"
ENCODER = "embedded/minilm"
WEB = "web:"
"""What the name of a web search begins with, as a knowledge source."""
OBEYED: dict[str, tuple[str, ...]] = {
    "choices": ("factscore", "no-context", "qa", "safe"),
    "k": ("embedded", "factscore", "qa", "safe"),
    "retrieval": ("embedded", "factscore", "qa"),
    "order": ("factscore", "qa"),
    "facts_per_call": ("factscore", "self-check"),
    "steps": ("safe",),
    "all_steps": ("safe",),
    "np_model": ("np",),
    "np_threshold": ("np",),
    "subject": ("self-check",),
    "samples": ("self-check",),
    "cheap": ("cascade",),
    "costly": ("cascade",),
    "confidence": ("cascade",),
    "audit": ("cascade",),
}
"""Options that some methods obey. For a method with none of these they are refused rather than ignored."""
COMPAT: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "factscore": (("factscore", "no-context"), ("choices", "facts_per_call", "order", "shape")),
    "safe": (("safe",), ("choices", "steps", "all_steps", "k", "pages", "allow_network", "as_of", "allow", "block")),
}
"""Value of --compat -> the methods that it is for, the first of which it stands for; the options that it fixes."""
ON_THE_WEB = ("pages", "allow_network", "as_of", "allow", "block", "language", "country")
FROZEN = ("knowledge", "k", "retrieval", "decomposer", "facts", "steps", "all_steps", *ON_THE_WEB)
"""Options that frozen facts and evidence leave nothing to do."""
FLAGS = {"k": "-k", "domain": "--domain-field", "allow": "--allow-domain", "block": "--block-domain"}


def _option(*names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, **more)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How generations are judged, as the command line says it. Raises UsageError for what does not fit together."""

    method: Annotated[
        str | None,
        _option(
            "--method",
            help=f"{', '.join(METHODS)}, or several joined with + (default: embedded, or factscore with --judge).",
        ),
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
    abstain: Annotated[
        str | None,
        _option("--abstain", help="standard (the default), generic (the default with --compat), perplexity, never."),
    ] = None
    evidence: Annotated[
        Path | None,
        _option("--evidence", help="Judge by frozen facts and evidence (made by `veridical freeze`), offline."),
    ] = None
    k: Annotated[
        int | None, _option("-k", min=1, help="Passages a judge sees for each fact (5), or a search finds (safe: 3).")
    ] = None
    concurrency: Annotated[int, _option("--concurrency", min=1, help="Most model calls at once.")] = 16
    read: Annotated[
        str, _option("--read", help="How verdicts are read: logits, logprobs, text, or auto (asks the judge once).")
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
    retrieval: Annotated[
        str, _option("--retrieval", help="How passages are ranked: bm25, dense (by an encoder), hybrid (both).")
    ] = "bm25"
    encoder: Annotated[
        str, _option("--encoder", help="Sentence encoder of dense and hybrid: embedded/minilm, or hf/NAME-OR-FOLDER.")
    ] = ENCODER
    order: Annotated[str, _option("--order", help="Where a judge sees the best passage: best_last or best_first.")] = (
        "best_last"
    )
    facts_per_call: Annotated[
        int, _option("--facts-per-call", min=1, help="Facts that share a call of the judge (read from text).")
    ] = 1
    compat: Annotated[
        str | None, _option("--compat", help="factscore or safe: choices and rules as the released code has them.")
    ] = None
    defect: Annotated[
        list[str] | None,
        _option("--defect", help=f"A mistake of the released code to repeat, with --compat: {', '.join(DEFECTS)}."),
    ] = None
    combine: Annotated[str, _option("--combine", help=f"Rule of a + method: {', '.join(RULES)}.")] = "all"
    steps: Annotated[int, _option("--steps", min=1, help="safe: most searches for a fact.")] = STEPS
    all_steps: Annotated[
        bool, _option("--all-steps/--early-stop", help="safe: search to the last step, or until the judge has enough.")
    ] = False
    pages: Annotated[
        bool, _option("--pages", help="Read the pages that a web search finds, instead of their snippets alone.")
    ] = False
    allow_network: Annotated[
        list[str] | None,
        _option(
            "--allow-network",
            help="pages: this network may be reached though it is not public, such as 10.20.0.0/16; may be repeated. "
            "Links in search results can then make this program read what lies in it.",
        ),
    ] = None
    as_of: Annotated[
        str | None, _option("--as-of", help="Web evidence from before the end of this day only: YYYY-MM-DD.")
    ] = None
    allow: Annotated[
        list[str] | None, _option("--allow-domain", help="Web evidence from this domain only; may be repeated.")
    ] = None
    block: Annotated[
        list[str] | None, _option("--block-domain", help="No web evidence from this domain; may be repeated.")
    ] = None
    language: Annotated[str, _option("--language", help="Language of a web search (ISO 639-1).")] = "en"
    country: Annotated[str, _option("--country", help="Country of a web search (ISO 3166-1).")] = "us"
    np_model: Annotated[
        str | None,
        _option("--np-model", help="Masked language model of np: hf/facebook/npm-single (published), hf/FOLDER, …"),
    ] = None
    np_threshold: Annotated[
        float, _option("--np-threshold", min=0, max=1, help="np: supported above this probability.")
    ] = THRESHOLD
    subject: Annotated[
        str | None, _option("--subject", help="self-check: the model under test, to draw samples that the input lacks.")
    ] = None
    samples: Annotated[int, _option("--samples", min=1, help="self-check: other answers to compare with.")] = 5
    cheap: Annotated[str, _option("--cheap", help="cascade: the method that is asked first.")] = EMBEDDED
    costly: Annotated[str, _option("--costly", help="cascade: the method for what the cheap one is not sure of.")] = (
        "factscore"
    )
    confidence: Annotated[
        float, _option("--confidence", min=0.5, max=1, help="cascade: how sure the cheap judge must be.")
    ] = 0.9
    calibration: Annotated[
        Path | None,
        _option("--calibration", help="Calibration of the judge's probabilities (cascade: of the cheap judge's)."),
    ] = None
    thresholds: Annotated[
        Path | None, _option("--thresholds", help="Where supported begins, by domain (meta --fit-calibration).")
    ] = None
    domain: Annotated[
        str, _option("--domain-field", help="thresholds: field of the metadata that names the domain.")
    ] = DOMAIN
    audit: Annotated[
        float,
        _option("--audit", min=0, max=1, help="cascade: share of the cheap answers that the costly judge checks."),
    ] = 0.05

    def __post_init__(self) -> None:
        _one_of("--sentences", self.sentences, ("standard", "published"))
        _one_of("--facts", self.facts, ("extracted", "given", "given-model"))
        _one_of("--read", self.read, ("auto", "logits", "logprobs", "text"))
        _one_of("--demonstrations", self.demonstrations, ("biographies", "general"))
        _one_of("--choices", self.choices, ("two", "three"))
        _one_of("--shape", self.shape, ("list", "json"))
        _one_of("--retrieval", self.retrieval, ("bm25", "dense", "hybrid"))
        _one_of("--order", self.order, ("best_last", "best_first"))
        _one_of("--combine", self.combine, RULES)
        if self.compat is not None:
            _one_of("--compat", self.compat, tuple(COMPAT))
        checked(self.defect or ())
        rule(self.abstain or "standard")
        self._together()

    def _together(self) -> None:
        """Refuse options that exclude each other or that nothing would obey."""
        by_probability = self.read in ("logits", "logprobs")
        if by_probability and not self.judge:
            raise UsageError(f"--read {self.read} is for a --judge")
        if by_probability and (self.choices == "three" or self.facts_per_call > 1):
            raise UsageError("--choices three and --facts-per-call are read from the text: --read text")
        if self.defect and self.compat != "factscore":
            raise UsageError("--defect repeats a mistake of the released code: it goes with --compat factscore")
        if self._changed("domain") and not self.thresholds:
            raise UsageError("--domain-field is for --thresholds")
        fitted = (self.calibration or self.thresholds) and "cascade" not in self.names
        if fitted and "+" in self.recipe and self.combine != "mean":  # else it is one judge's, on a scale of its own
            raise UsageError("--calibration and --thresholds are for one judge, or for --combine mean")
        if self._changed("encoder") and self.retrieval == "bm25":
            raise UsageError("--encoder is for --retrieval dense or hybrid")
        if self._changed("combine") and not any("+" in recipe for recipe in self._recipes):
            raise UsageError(f"--combine is for a method with +, not for {self.recipe}")
        if not self.on_the_web and (given := self._first(ON_THE_WEB)):
            raise UsageError(f"{_flag(given)} is for a search of the web: --knowledge web:PROVIDER")
        if self.allow_network and not self.pages:
            raise UsageError("--allow-network is for the pages that are read: --pages")
        if self.evidence and (given := self._first(FROZEN)):
            raise UsageError(f"--evidence brings its own facts and evidence: {_flag(given)} would do nothing")
        if self.names <= set(METHODS):  # else it is said where methods are made
            self._obeyed()
        if "safe" in self.names and not self.knowledge and not self.evidence:  # a reference would not do
            raise UsageError("method safe searches: give --knowledge web:PROVIDER or --knowledge KB")

    def _obeyed(self) -> None:
        """Refuse options of other methods, and those that --compat fixes."""
        for name, methods in OBEYED.items():
            if self._changed(name) and not self.names & set(methods):
                raise UsageError(f"{_flag(name)} is for a method with {' or '.join(methods)}, not for {self.recipe}")
        if self.compat is None:
            return
        methods, fixed = COMPAT[self.compat]
        if not self.names & set(methods):
            raise UsageError(f"--compat {self.compat} is for method {' or '.join(methods)}, not for {self.recipe}")
        if given := self._first(fixed):
            raise UsageError(f"--compat {self.compat} fixes {_flag(given)}: leave it out")

    def _first(self, names: tuple[str, ...]) -> str | None:
        """The first of these options that was given."""
        return next((name for name in names if self._changed(name)), None)

    def _changed(self, name: str) -> bool:
        return getattr(self, name) != type(self).__dataclass_fields__[name].default

    @property
    def recipe(self) -> str:
        if self.compat:
            return self.method or COMPAT[self.compat][0][0]
        return self.method or ("factscore" if self.judge else EMBEDDED)

    @property
    def on_the_web(self) -> bool:
        return self.knowledge is not None and self.knowledge.startswith(WEB)

    @property
    def names(self) -> frozenset[str]:
        """Every method that takes part."""
        return frozenset(name for recipe in self._recipes for name in recipe.split("+"))

    @property
    def _recipes(self) -> tuple[str, ...]:
        """The method's, and those that its cascade is made of."""
        inner = (self.cheap, self.costly) if "cascade" in self.recipe.split("+") else ()
        return (self.recipe, *inner)

    @property
    def needs_knowledge(self) -> bool:
        return self.evidence is None and not self.names - {"cascade"} <= WITHOUT_KNOWLEDGE


def _flag(name: str) -> str:
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


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
