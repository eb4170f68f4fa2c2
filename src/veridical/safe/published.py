"""SAFE as it was published (arXiv 2403.18802, section 4 and appendix C; google-deepmind/long-form-factuality).

`PublishedSAFE` is the preset: the published shape and settings of each step, for numbers that can be laid beside
published ones. The wording of the prompts is ours. Defects of the original are left out; docs/safe.md has the list.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..decompose import Decomposer, LLMDecomposer
from ..knowledge.base import Searcher
from ..metrics import F1
from ..models.base import LanguageModel
from ..text.abstention import Abstention, Never
from .rate import Rate
from .relevance import Relevance
from .revise import Revised
from .steps import SearchLoop


@dataclass(frozen=True)
class PublishedSAFE:
    """The preset `compat = "safe"`: the parts of a method with the published choices, and its metric."""

    steps: int = 5
    k: int = 3
    """Results a search."""
    temperature: float = 0.1
    """Of all but splitting, which is at 0 in the paper."""
    max_tokens: int = 512
    retries: int = 1
    """Further calls for a reply that cannot be read. The original makes ten at each step, and begins each fact up
    to three times."""
    at: int = 64
    """K of F1@K: the median number of relevant facts in the paper. The released code has 100."""
    abstention: Abstention = Never()
    """SAFE has no rule for it."""
    published_sentences: bool = True
    """It splits with FActScore's code."""

    @property
    def metric(self) -> str:
        """As `metrics.parse` reads it."""
        return F1(k=self.at).name

    def decomposer(self, model: LanguageModel, demonstrations: str = "biographies") -> Revised:
        """FActScore's splitter with its biographies whatever the topic, then each fact rewritten."""
        split = LLMDecomposer(model=model, demonstrations=demonstrations, context=False, before=0, retries=self.retries)
        return self.revised(split, model)

    def revised(self, inner: Decomposer, model: LanguageModel) -> Revised:
        """The facts of another decomposer, such as `GivenFacts`, rewritten in view of the response alone."""
        return Revised(
            inner=inner,
            model=model,
            context=False,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            retries=self.retries,
        )

    def triage(self, model: LanguageModel) -> Relevance:
        """Of the rewritten fact."""
        return Relevance(model=model, max_tokens=self.max_tokens, temperature=self.temperature, retries=self.retries)

    def gatherer(self, model: LanguageModel, searcher: Searcher) -> SearchLoop:
        """Always `steps` searches, repeated queries included (which are paid once)."""
        return SearchLoop(
            model=model,
            searcher=searcher,
            steps=self.steps,
            k=self.k,
            early_stop=False,
            repeats=True,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            retries=self.retries,
        )

    def verifier(self, model: LanguageModel, mode: str = "text") -> Rate:
        """Supported or not supported, in brackets after the reasons."""
        return Rate(
            model=model, mode=mode, max_tokens=self.max_tokens, temperature=self.temperature, retries=self.retries
        )
