"""FActScore as its code was released (arXiv 2305.14251, section 4.1 and appendix B.1; shmsw25/FActScore 0.2.0).

`Published` is the preset: the published shape of the prompt, passages, query, decomposition, sentence ends, abstention
rule and length penalty, for numbers that can be laid beside published ones. The wording of the prompts is ours. What is
a defect of the original is left out unless it is asked for by name (`DEFECTS`). docs/compat.md has the whole list.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from .decompose import LLMDecomposer
from .errors import UsageError
from .gather import Retrieve
from .knowledge.base import Searcher
from .metrics import FActScore
from .models.base import ChatReply, LanguageModel
from .replies.published import published_answer
from .text.abstention import Abstention, Generic
from .types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Report, Verdict
from .verify import Asked, NoContextVerifier, RetrieveVerifier

DEFECTS: dict[str, str] = {
    "answers": 'replies are read by substring, and what is no answer counts as supported ("No.", "I\'m unsure.")',
    "empty-answers": "a call that comes back without text counts as supported",
    "temperature": "0.7 in place of 0 for splitting and judging, so that no run can be repeated",
    "zero-facts-abstain": "an answer in which no fact was found, or whose facts could not be read, is an abstention",
    "repeats": "a fact that is said again is counted again",
}
"""Defects of the original that the preset reproduces where they are asked for: name and what it does."""

TEMPERATURE = 0.7
"""What the released code sends, for splitting and judging."""
MAX_TOKENS = 2048
"""Room for a judge's answer in the released code."""
_EMPTY = "empty reply"
"""How `models.wire` says that a call came back without text."""


def checked(defects: Iterable[str]) -> tuple[str, ...]:
    """These names of `DEFECTS`, each once, in the order of the table. Raises UsageError that lists them all."""
    wanted = [defects] if isinstance(defects, str) else list(defects)
    if unknown := [name for name in wanted if name not in DEFECTS]:
        raise UsageError(f"no published defect {unknown[0]!r}; there are {', '.join(DEFECTS)}")
    return tuple(name for name in DEFECTS if name in wanted)


def plain(text: str) -> str:
    """On one line: every run of white space, line ends of any kind included, is one blank."""
    return " ".join(text.split())


class _AsReleased:
    """What the two published verifiers share: settings that the published prompt fixes, and the reading of answers."""

    model: LanguageModel
    choices: str
    context: bool
    temperature: float
    defects: tuple[str, ...]

    def _settle(self) -> None:
        """Check the settings, and take over the published temperature where that defect is asked for."""
        object.__setattr__(self, "defects", checked(self.defects))
        if self.choices != "two" or self.context:
            raise UsageError("the published prompt has two answers and shows no sentence: choices two, context False")
        if "temperature" in self.defects:
            if self.temperature not in (0.0, TEMPERATURE):
                raise UsageError(f"temperature {self.temperature:g} is not the published one: leave one of the two out")
            object.__setattr__(self, "temperature", TEMPERATURE)

    def _released(self, reply: ChatReply) -> tuple[Label, None, str | None]:
        """The released code's reading: nothing is unreadable to it, not even a reply that was cut."""
        label = Label.SUPPORTED if published_answer(reply.text) else Label.NOT_ENOUGH_EVIDENCE
        return label, None, reply.text.strip() if len(reply.text.split()) > 4 else None

    def _filled(self, outcomes: list[Verdict | Failure]) -> list[Verdict | Failure]:
        """With "empty-answers", "supported" in place of each failure that is a call without text."""
        if "empty-answers" not in self.defects:
            return outcomes
        supported = Verdict(label=Label.SUPPORTED, judge=self.model.name, mode="empty reply")
        return [
            supported if isinstance(outcome, Failure) and _EMPTY in outcome.message else outcome for outcome in outcomes
        ]


@dataclass(frozen=True)
class PublishedVerifier(_AsReleased, RetrieveVerifier):
    """Retrieve→LM with the prompt of the released code: the passages as Title/Text blocks, the best one last, a "." if
    they lack an end mark, "Input: {fact} True or False?", "Output:". No fences, no instructions beyond the first line.

    Everything that is filled in stands on one line of its own, so that no fact or passage can forge another line.
    Answers are read by `read_verdict`, and what cannot be read is a failure, unless `defects` has "answers" (modes of
    probability have no such defect). A fact without passages is not asked about.
    """

    context: bool = False
    max_tokens: int = MAX_TOKENS
    defects: tuple[str, ...] = ()
    """Names of `DEFECTS`."""

    _template = "published"

    def __post_init__(self) -> None:
        self._settle()
        super().__post_init__()
        if self.order != "best_last" or self.facts_per_call != 1:
            raise UsageError("the published prompt asks for one fact a call and shows the best passage last")

    @property
    def name(self) -> str:
        return f"published({self.model.name})"

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """See `Verifier`."""
        return self._filled(await super().verify(facts, generation))

    def prompt(self, fact: AtomicFact, passages: Sequence[Passage], generation: Generation) -> str:
        """What the model is asked about one fact; `passages` best first."""
        blocks = [
            f"Title: {plain(passage.title or generation.topic or '')}\nText: {plain(passage.text)}"
            for passage in reversed(passages)
        ]
        evidence = "\n\n".join(blocks)
        return self.template.fill(
            about=f" about {plain(generation.topic)}" if generation.topic else "",
            evidence=evidence if evidence.endswith(tuple(string.punctuation)) else f"{evidence}.",
            statement=plain(fact.text),
        ).strip()

    def _prompt(self, case: Asked) -> str:
        return self.prompt(case.fact, case.passages, case.generation)

    def _by_text(self, reply: ChatReply) -> tuple[Label, None, str | None]:
        return self._released(reply) if "answers" in self.defects else super()._by_text(reply)


@dataclass(frozen=True)
class PublishedNoContextVerifier(_AsReleased, NoContextVerifier):
    """The paper's no-context LM (section 4.1; not in the released code): the fact, "True or False?", nothing else."""

    context: bool = False
    max_tokens: int = MAX_TOKENS
    defects: tuple[str, ...] = ()
    """Names of `DEFECTS`."""

    _template = "published_closed"

    def __post_init__(self) -> None:
        self._settle()
        super().__post_init__()

    @property
    def name(self) -> str:
        return f"published-no-context({self.model.name})"

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """See `Verifier`."""
        return self._filled(await super().verify(facts, generation))

    def prompt(self, fact: AtomicFact, generation: Generation, sentences: Mapping[int, str]) -> str:
        """What the model is asked about one fact."""
        return self.template.fill(statement=plain(fact.text)).strip()

    def _by_text(self, reply: ChatReply) -> tuple[Label, None, str | None]:
        return self._released(reply) if "answers" in self.defects else super()._by_text(reply)


@dataclass(frozen=True)
class Published:
    """The preset `compat = "factscore"`: the parts of a method with the published choices, and its metric.

    `defects`: names of `DEFECTS`, none by default. Raises UsageError for others.
    """

    defects: tuple[str, ...] = ()
    k: int = 5
    """Passages that the judge sees."""
    gamma: float = 10.0
    """Of the length penalty, which is in the released code only; 0 is the paper's metric."""
    abstention: Abstention = Generic()
    """The released code has `Generic` and, for answers with citations, `Perplexity`; by default it uses neither."""
    published_sentences: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "defects", checked(self.defects))

    @property
    def temperature(self) -> float:
        return TEMPERATURE if "temperature" in self.defects else 0.0

    @property
    def zero_facts_abstain(self) -> bool:
        return "zero-facts-abstain" in self.defects

    @property
    def metric(self) -> str:
        """As `metrics.parse` reads it. Irrelevant facts count as not supported."""
        return FActScore(repeats="repeats" in self.defects, gamma=self.gamma).name

    def decomposer(self, model: LanguageModel, demonstrations: str = "biographies") -> LLMDecomposer:
        """One call a sentence, seven fixed demonstrations and one by BM25; no topic, question or text before it."""
        return LLMDecomposer(
            model=model, demonstrations=demonstrations, context=False, before=0, temperature=self.temperature
        )

    def gatherer(self, searcher: Searcher) -> Retrieve:
        """`k` passages of the topic's page for "topic fact"."""
        return Retrieve(searcher=searcher, k=self.k)

    def verifier(self, model: LanguageModel, mode: str = "text") -> PublishedVerifier:
        """Retrieve→LM. `mode`: "text" as for ChatGPT in the paper, or by probability as for Inst-LLAMA."""
        return PublishedVerifier(model=model, mode=mode, defects=self.defects)

    def no_context(self, model: LanguageModel, mode: str = "text") -> PublishedNoContextVerifier:
        """The no-context LM, which wants `gather.NoEvidence`."""
        return PublishedNoContextVerifier(model=model, mode=mode, defects=self.defects)


def zero_facts(report: Report) -> Report:
    """With an abstention in place of an answer without facts: the defect "zero-facts-abstain", on a finished report.

    The original ends there too if its splitter's reply held nothing that it could read; a call that failed does not.
    """
    unread = all(failed.failure.error == "ParseError" for failed in report.failures)
    if report.facts or report.abstained or report.failure or not unread:
        return report
    return msgspec.structs.replace(report, failures=(), abstained=True, abstention="no facts, as released")
