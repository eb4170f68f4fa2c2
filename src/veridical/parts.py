"""What a user brings to a method: models, knowledge and settings. A recipe (`methods.py`) takes what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .calibrated import DOMAIN, Thresholds
from .calibration import Calibration
from .decompose import Decomposer, GivenFacts, LLMDecomposer
from .errors import UsageError
from .frozen import Frozen
from .gather import Gatherer, Reference, Retrieve
from .knowledge.base import Searcher
from .knowledge.ranking import Ranker
from .models.base import LanguageModel
from .models.token_encoder import TokenEncoder
from .nonparametric import THRESHOLD
from .published import Published
from .safe import PublishedSAFE
from .text.abstention import Abstention, Standard

Reading = Literal["logits", "logprobs", "text"]
K = 5
"""Passages of a retrieval, as published (FActScore, appendix B.1)."""
STEPS = 5
"""Most searches for a fact, as published (SAFE, section 4)."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Models, knowledge and settings of a method."""

    judge: LanguageModel | None = None
    decomposer: LanguageModel | None = None
    """None: the judge for recipes with an LLM, the clause splitter for those without."""
    embedded_decomposer: bool = False
    """Use the clause splitter in any recipe."""
    given_facts: bool = False
    demonstrations: str = "biographies"
    shape: str = "list"
    """What an LLM decomposer writes: "list" or "json"."""
    abstention: Abstention | None = None
    """None: the standard rule, or the published one with `published`."""
    published_sentences: bool = False
    """FActScore's own sentence ends, for comparison with its files."""

    searcher: Searcher | None = None
    """None: each generation's own `reference`."""
    frozen: Frozen | None = None
    """Facts and evidence of an earlier run, in place of a decomposer and a searcher."""
    ranker: Ranker | None = None
    """How passages are ranked; None: BM25, as the searcher does."""
    k: int | None = None
    """Passages of a retrieval or results of a search; None: as many as the recipe likes."""

    reading: Reading = "text"
    choices: str = "two"
    """"two": supported or not; "three": contradicted told from not enough evidence (read from text)."""
    order: str = "best_last"
    """In which order a judge sees the passages; "best_first" the other way round."""
    facts_per_call: int = 1

    steps: int = STEPS
    """Of safe: most searches for a fact."""
    all_steps: bool = False
    """Of safe: go on searching when the judge has enough."""

    published_safe: PublishedSAFE | None = None
    """SAFE as published, for recipe safe."""
    published: Published | None = None
    """FActScore as released, for recipes factscore and no-context."""

    encoder: TokenEncoder | None = None
    """Of np."""
    np_k: int = 3
    np_threshold: float = THRESHOLD

    subject: LanguageModel | None = None
    """Of self-check: the model under test, which draws the samples that the input does not bring."""
    samples: int = 5

    rule: str = "all"
    """Of several judges: "all", "any", "majority" or "mean"."""
    cheap: str = "embedded"
    """Of cascade: the estimator that is asked first."""
    costly: str = "factscore"
    """Of cascade: the estimator that answers what the cheap one is not sure of."""
    confidence: float = 0.9
    calibration: Calibration | None = None
    """Of the judge's probabilities; in a cascade, of the cheap judge's."""
    thresholds: Thresholds | None = None
    """Where the judge's supported begins, by domain; not in a cascade."""
    domain: str = DOMAIN
    """Field of the metadata that names a generation's domain."""
    audit: float = 0.0
    seed: int = 0
    """Of the audit."""

    def asked(self, recipe: str) -> LanguageModel:
        """The judge. Raises UsageError if there is none."""
        if self.judge is None:
            raise UsageError(f"method {recipe} needs a judge: --judge provider/model")
        return self.judge

    def searched(self, recipe: str) -> Searcher:
        """Where facts are searched for. Raises UsageError if there is nothing to search."""
        if self.searcher is None:
            raise UsageError(f"method {recipe} searches: give --knowledge web:PROVIDER or --knowledge KB")
        return self.searcher

    def abstains(self) -> Abstention:
        """The rule that tells an abstention."""
        preset = self.published or self.published_safe
        return self.abstention or (preset.abstention if preset else Standard())

    def decomposes(self, *, with_llm: bool) -> Decomposer:
        """How facts are found: as they are given, by an LLM, or by the clause splitter."""
        if self.given_facts:
            return GivenFacts()
        model = self.decomposer or (self.judge if with_llm and not self.embedded_decomposer else None)
        if model is None:
            from .clauses import ClauseDecomposer

            return ClauseDecomposer()
        if self.published:
            return self.published.decomposer(model, self.demonstrations)
        return LLMDecomposer(model=model, demonstrations=self.demonstrations, shape=self.shape)

    def gathers(self, k: int | None = None, *, bm25: bool = False) -> Gatherer:
        """One retrieval a fact, of `k` passages; `bm25`: ranked by BM25 whatever the ranker."""
        ranker = None if bm25 else self.ranker
        k = k or self.k or K
        return Retrieve(searcher=self.searcher, k=k, ranker=ranker) if self.searcher else Reference(k=k, ranker=ranker)
