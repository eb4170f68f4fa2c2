"""The estimators of the table: how each gathers and judges, with the parts they share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veridical.cascade import Cascade
from veridical.ensemble import Ensemble, Member
from veridical.gather import Gatherer, NoEvidence, Reference
from veridical.knowledge.ranking import Dense, Hybrid
from veridical.models.base import LanguageModel
from veridical.models.cache import CallStore
from veridical.models.encoders import SentenceEncoder, open_encoder
from veridical.models.factory import open_model
from veridical.models.token_encoder import TokenEncoder, open_token_encoder
from veridical.nonparametric import NPVerifier
from veridical.published import Published
from veridical.questions import QAVerifier
from veridical.selfcheck import Samples, SelfCheck
from veridical.verifiers.embedded import EmbeddedJudge
from veridical.verify import NoContextVerifier, RetrieveVerifier, Verifier

K, WORDS = 1, 80
"""Short evidence, so that all estimators fit into an evening on two cores: the best passage of about 80 words."""


class Workbench:
    """Models opened once, with one cache for all."""

    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._store = CallStore(out / "calls.sqlite")
        self._models: dict[str, LanguageModel] = {}

    def model(self, spec: str) -> LanguageModel:
        if spec not in self._models:
            self._models[spec] = open_model(spec, store=self._store)
        return self._models[spec]

    @property
    def llama(self) -> LanguageModel:
        """SmolLM2-135M-Instruct on llama.cpp."""
        return self.model("embedded/smollm2")

    @property
    def torch(self) -> LanguageModel:
        """The same weights on transformers."""
        return self.model("hf/smollm2")

    async def close(self) -> None:
        for model in self._models.values():
            await model.close()
        self._store.close()

    @functools.cached_property
    def tokens(self) -> TokenEncoder:
        """all-MiniLM-L6-v2 as a masked language model without a head."""
        return open_token_encoder("embedded/minilm")

    @functools.cached_property
    def sentences(self) -> SentenceEncoder:
        """all-MiniLM-L6-v2 as a sentence encoder."""
        return open_encoder("embedded/minilm")


Made = tuple[Gatherer, Verifier]
PAGE = Reference(k=K, words=WORDS)


def retrieve(model: LanguageModel, **settings: Any) -> RetrieveVerifier:
    return RetrieveVerifier(model, **{"mode": "logits", "context": False, **settings})


def cascade(bench: Workbench) -> Cascade:
    """Asks about a fifth of the cheap answers as well: the agreement is printed under the table."""
    return Cascade(EmbeddedJudge(), retrieve(bench.torch), confidence=0.9, audit=0.2)


def self_check(bench: Workbench) -> Made:
    """Samples of SmolLM2, not of the model that wrote the text: the data set's samples of GPT-3 are not at hand."""
    return Samples(model=bench.torch, n=3, max_tokens=80), SelfCheck(bench.torch, mode="logits", context=False)


NP_K = Reference(k=3, words=WORDS)
ESTIMATORS: dict[str, Callable[[Workbench], Made]] = {
    "embedded": lambda bench: (Reference(), EmbeddedJudge()),
    "embedded, dense": lambda bench: (Reference(k=2, ranker=Dense(bench.sentences)), EmbeddedJudge()),
    "embedded, hybrid": lambda bench: (Reference(k=2, ranker=Hybrid(bench.sentences)), EmbeddedJudge()),
    "embedded, BM25": lambda bench: (Reference(k=2), EmbeddedJudge()),
    "np": lambda bench: (NP_K, NPVerifier(bench.tokens)),
    "embedded+np": lambda bench: (Reference(), Ensemble((EmbeddedJudge(), Member(NPVerifier(bench.tokens), NP_K)))),
    "retrieve, llama.cpp": lambda bench: (PAGE, retrieve(bench.llama, mode="logprobs")),
    "no-context, transformers": lambda bench: (
        NoEvidence(),
        NoContextVerifier(bench.torch, mode="logits", context=False),
    ),
    "retrieve, transformers": lambda bench: (PAGE, retrieve(bench.torch)),
    "retrieve, compat": lambda bench: (PAGE, Published().verifier(bench.torch, "logits")),
    "retrieve, text": lambda bench: (PAGE, retrieve(bench.torch, mode="text", max_tokens=16)),
    "retrieve, text, 5 facts a call": lambda bench: (
        PAGE,
        retrieve(bench.torch, mode="text", max_tokens=64, facts_per_call=5),
    ),
    "retrieve+np": lambda bench: (PAGE, Ensemble((retrieve(bench.torch), Member(NPVerifier(bench.tokens), NP_K)))),
    "embedded+retrieve": lambda bench: (Reference(), Ensemble((EmbeddedJudge(), Member(retrieve(bench.torch), PAGE)))),
    "cascade": lambda bench: (PAGE, cascade(bench)),
    "self-check": self_check,
    "qa": lambda bench: (PAGE, QAVerifier(bench.torch, mode="logits", context=False, max_tokens=48)),
}
