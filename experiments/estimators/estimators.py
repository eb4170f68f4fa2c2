"""The estimators of the table: how each gathers and judges, with the parts they share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from veridical.gather import Gatherer, NoEvidence, Reference
from veridical.models.base import LanguageModel
from veridical.models.cache import CallStore
from veridical.models.factory import open_model
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


Made = tuple[Gatherer, Verifier]
PAGE = Reference(k=K, words=WORDS)

ESTIMATORS: dict[str, Callable[[Workbench], Made]] = {
    "embedded": lambda bench: (Reference(), EmbeddedJudge()),
    "retrieve, llama.cpp": lambda bench: (PAGE, RetrieveVerifier(bench.llama, mode="logprobs", context=False)),
    "no-context, llama.cpp": lambda bench: (
        NoEvidence(),
        NoContextVerifier(bench.llama, mode="logprobs", context=False),
    ),
}
