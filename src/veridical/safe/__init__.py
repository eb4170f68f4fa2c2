"""SAFE, the search-augmented evaluator (Wei et al. 2024, arXiv 2403.18802): facts are made to stand alone, sorted by
relevance, searched for step by step, and judged by what was found.

Parts of a `Method`, each usable without the others: `Revised` (a decomposer around another), `Relevance` (a triage),
`SearchLoop` (a gatherer), `Rate` (a verifier); `PublishedSAFE` is the preset with the published choices.
"""

from .published import PublishedSAFE
from .rate import Rate
from .relevance import Relevance
from .revise import Revised
from .steps import SearchLoop

__all__ = ["PublishedSAFE", "Rate", "Relevance", "Revised", "SearchLoop"]
