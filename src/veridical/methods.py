"""The recipes by name: each chooses how evidence is gathered and how facts are judged, in about ten lines.

| name       | decomposer      | evidence         | judge                                                           |
|------------|-----------------|------------------|-----------------------------------------------------------------|
| embedded   | clauses, no LLM | the topic's page | features, no LLM                                                |
| factscore  | few-shot LLM    | the topic's page | LLM: True or False by the passages (FActScore, retrieve→LM)     |
| no-context | few-shot LLM    | none             | LLM: True or False from memory (FActScore)                      |
| self-check | few-shot LLM    | other answers    | LLM: do they say so too? (FActScore, SelfCheckGPT)              |
| qa         | few-shot LLM    | the topic's page | LLM answers a question made of the fact (FActScore, appendix B) |
| np         | clauses, no LLM | the topic's page | masked LM: nonparametric probability (FActScore)                |
| safe       | LLM, revised    | several searches | LLM: by what was found (SAFE); irrelevant facts set aside       |
| cascade    | of either judge | the topic's page | a cheap judge where it is sure, a costly one elsewhere          |

Names joined with "+" are an ensemble: "factscore+np" is FActScore's retrieve→LM + NP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from .calibrated import Calibrated, suited
from .cascade import Cascade
from .decompose import Decomposer
from .ensemble import Ensemble, Member, gives_probability
from .errors import UsageError
from .frozen import FrozenEvidence, FrozenFacts, FrozenTriage
from .gather import Gatherer, NoEvidence
from .models.embedded import MODELS
from .nonparametric import NPVerifier
from .parts import Parts, Reading
from .pipeline import Method, Triage
from .questions import QAVerifier
from .safe import PublishedSAFE, Rate, Relevance, Revised, SearchLoop
from .selfcheck import Samples, SelfCheck
from .verify import NoContextVerifier, RetrieveVerifier, Verifier


class Estimator(NamedTuple):
    """How the truth of a fact is estimated."""

    gatherer: Gatherer
    verifier: Verifier
    llm: bool = True
    """A language model judges."""
    triage: Triage | None = None
    revise: Callable[[Decomposer], Decomposer] | None = None
    """Makes facts stand alone before they are judged."""


def embedded(parts: Parts) -> Estimator:
    """Offline: clauses, the topic's page, a light judge fitted on public data. Weak; says so."""
    from .verifiers.embedded import EmbeddedJudge

    return Estimator(parts.gathers(), EmbeddedJudge(), llm=False)


def factscore(parts: Parts) -> Estimator:
    """FActScore with retrieve→LM (section 4.1)."""
    judge = parts.asked("factscore")
    if parts.published:
        return Estimator(parts.gathers(), parts.published.verifier(judge, parts.reading))
    verifier = RetrieveVerifier(
        model=judge,
        mode=parts.reading,
        choices=parts.choices,
        published_sentences=parts.published_sentences,
        order=parts.order,
        facts_per_call=parts.facts_per_call,
    )
    return Estimator(parts.gathers(), verifier)


def no_context(parts: Parts) -> Estimator:
    """FActScore's no-context LM: the judge answers from memory."""
    judge = parts.asked("no-context")
    if parts.published:
        return Estimator(NoEvidence(), parts.published.no_context(judge, parts.reading))
    verifier = NoContextVerifier(
        model=judge,
        mode=parts.reading,
        choices=parts.choices,
        published_sentences=parts.published_sentences,
    )
    return Estimator(NoEvidence(), verifier)


def self_check(parts: Parts) -> Estimator:
    """FActScore's self-check LM: do other answers of the same model say so? Needs no knowledge source."""
    judge = parts.asked("self-check")
    return Estimator(
        Samples(model=parts.subject, n=parts.samples),
        SelfCheck(
            model=judge,
            mode=parts.reading,
            facts_per_call=parts.facts_per_call,
            published_sentences=parts.published_sentences,
        ),
    )


def questions(parts: Parts) -> Estimator:
    """FActScore's QA prompting: a question is made of each fact, answered from the passages, and compared."""
    verifier = QAVerifier(
        model=parts.asked("qa"),
        mode=parts.reading,
        choices=parts.choices,
        published_sentences=parts.published_sentences,
        order=parts.order,
    )
    return Estimator(parts.gathers(), verifier)


def np(parts: Parts) -> Estimator:
    """FActScore's nonparametric probability: a masked language model finds each word of the fact in the passages."""
    if parts.encoder is None:
        raise UsageError(
            "method np needs a masked language model: --np-model hf/facebook/npm-single is the published one"
        )
    verifier = NPVerifier(encoder=parts.encoder, threshold=parts.np_threshold, k=parts.np_k)
    return Estimator(parts.gathers(parts.np_k, bm25=True), verifier, llm=False)


def safe(parts: Parts) -> Estimator:
    """SAFE: facts made to stand alone, irrelevant ones set aside, several searches for each of the others, rated."""
    judge = parts.asked("safe")
    if parts.frozen:  # what was searched for is found: only the last question is left
        preset = parts.published_safe
        rate = preset.verifier(judge, parts.reading) if preset else None
        return Estimator(NoEvidence(), rate or Rate(model=judge, mode=parts.reading, choices=parts.choices))
    searcher = parts.searched("safe")
    if preset := parts.published_safe:
        return Estimator(
            preset.gatherer(judge, searcher),
            preset.verifier(judge, parts.reading),
            triage=preset.triage(judge),
            revise=lambda inner: preset.revised(inner, judge),
        )
    return Estimator(
        SearchLoop(
            model=judge,
            searcher=searcher,
            steps=parts.steps,
            k=parts.k or PublishedSAFE.k,
            early_stop=not parts.all_steps,
        ),
        Rate(model=judge, mode=parts.reading, choices=parts.choices),
        triage=Relevance(model=judge),
        revise=lambda inner: Revised(inner=inner, model=judge),
    )


def cascade(parts: Parts) -> Estimator:
    """A cheap judge where it is sure, a costly one for the rest; says how many calls that saves."""
    if "cascade" in (*parts.cheap.split("+"), *parts.costly.split("+")):
        raise UsageError("a cascade is made of other methods: --cheap and --costly cannot be cascade")
    cheap, costly = _estimator(parts.cheap, parts), _estimator(parts.costly, parts)
    if not gives_probability(cheap.verifier):
        raise UsageError(
            f"{cheap.verifier.name} gives no probability, so a cascade cannot tell where it is sure: "
            "choose another --cheap, or --read logprobs"
        )
    if parts.calibration:
        suited(cheap.verifier, parts.calibration)
    gatherer, (first, second) = _shared([cheap, costly])
    verifier = Cascade(
        cheap=first,
        costly=second,
        confidence=parts.confidence,
        calibration=parts.calibration,
        audit=parts.audit,
        seed=parts.seed,
    )
    return _joined(gatherer, verifier, [cheap, costly])


METHODS: dict[str, Callable[[Parts], Estimator]] = {
    "embedded": embedded,
    "factscore": factscore,
    "no-context": no_context,
    "self-check": self_check,
    "qa": questions,
    "np": np,
    "safe": safe,
    "cascade": cascade,
}
FREE = frozenset({"embedded", "np"})
"""Judges that are no language models that generate: they cost no calls."""
WITHOUT_KNOWLEDGE = frozenset({"no-context", "self-check"})


def method(name: str, parts: Parts) -> Method:
    """The recipe of that name, filled with these parts; several names joined with "+" are an ensemble by `parts.rule`.

    Raises UsageError for an unknown name or a missing part.
    """
    estimator, published = _estimator(name, parts), parts.published
    preset = published or parts.published_safe
    if not estimator.llm and (parts.judge is not None or parts.choices != "two"):
        raise UsageError(f"method {name} asks no language model: --judge and --choices are for others")
    frozen = parts.frozen
    return Method(
        name=name,
        decomposer=FrozenFacts(frozen) if frozen else _decomposer(estimator, parts),
        gatherer=FrozenEvidence(frozen) if frozen else estimator.gatherer,
        verifier=_calibrated(name, estimator.verifier, parts),
        triage=FrozenTriage(frozen) if frozen else estimator.triage,
        abstention=parts.abstains(),
        published_sentences=preset.published_sentences if preset else parts.published_sentences,
        zero_facts_abstain=bool(published and published.zero_facts_abstain),
    )


def _estimator(name: str, parts: Parts) -> Estimator:
    names = name.split("+")
    if unknown := [one for one in names if one not in METHODS]:
        known = ", ".join(METHODS)
        raise UsageError(f"no method {unknown[0]!r}; there are {known}, and ensembles such as factscore+np")
    estimators = [_by(METHODS[one](parts), parts) for one in names]
    if len(names) == 1:
        return estimators[0]
    gatherer, members = _shared(estimators)
    return _joined(gatherer, Ensemble(members=members, rule=parts.rule), estimators)


def _calibrated(name: str, verifier: Verifier, parts: Parts) -> Verifier:
    """With what was fitted for it; a cascade's calibration is that of its cheap judge."""
    if "cascade" in name.split("+"):
        if parts.thresholds:
            raise UsageError("thresholds are for one judge, and a cascade has two")
        return verifier
    if not parts.calibration and not parts.thresholds:
        return verifier
    return Calibrated(verifier, parts.calibration, parts.thresholds, parts.domain)


def _by(estimator: Estimator, parts: Parts) -> Estimator:
    """With frozen evidence in place of what it would gather itself."""
    if parts.frozen is None or isinstance(estimator.gatherer, NoEvidence):
        return estimator
    return estimator._replace(gatherer=FrozenEvidence(parts.frozen))


def _joined(gatherer: Gatherer, verifier: Verifier, estimators: list[Estimator]) -> Estimator:
    """Several estimators as one: what one of them does to facts before they are judged is done for all."""
    return Estimator(
        gatherer,
        verifier,
        llm=any(one.llm for one in estimators),
        triage=next((one.triage for one in estimators if one.triage), None),
        revise=next((one.revise for one in estimators if one.revise), None),
    )


def _decomposer(estimator: Estimator, parts: Parts) -> Decomposer:
    preset = parts.published_safe
    if preset and not (parts.given_facts or parts.embedded_decomposer):
        return preset.decomposer(parts.decomposer or parts.asked("safe"), parts.demonstrations)
    inner = parts.decomposes(with_llm=estimator.llm)
    return estimator.revise(inner) if estimator.revise else inner


def _shared(estimators: list[Estimator]) -> tuple[Gatherer, tuple[Verifier, ...]]:
    """The first gatherer that looks anything up serves all who want the same; the others gather for themselves."""
    gatherers = [one.gatherer for one in estimators]
    shared = next((one for one in gatherers if not isinstance(one, NoEvidence)), gatherers[0])
    members = [
        Member(one.verifier, None if one.gatherer == shared or isinstance(one.gatherer, NoEvidence) else one.gatherer)
        for one in estimators
    ]
    return shared, tuple(members)


def warning(made: Method) -> str | None:
    """What a user must know of the judges' quality before quoting their score, if they are known to be weak."""
    return " ".join(dict.fromkeys(_cautions(made.verifier))) or None


def _cautions(part: Verifier) -> Iterator[str]:
    inner: tuple[Verifier, ...] = ()
    if isinstance(part, Ensemble):
        inner = part.members
    elif isinstance(part, Cascade):
        inner = (part.cheap, part.costly)
    elif isinstance(part, Member | Calibrated):
        inner = (part.verifier,)
    for one in inner:
        yield from _cautions(one)
    if not inner:
        name = getattr(getattr(part, "model", None) or getattr(part, "encoder", None), "name", "")
        packaged = MODELS.get(name.partition("/")[2]) if name.startswith(("embedded/", "hf/")) else None
        words = getattr(part, "warning", None) or (packaged.note if packaged else None)
        if words:
            yield words


__all__ = ["METHODS", "Estimator", "Method", "Parts", "Reading", "Verifier", "method", "warning"]
