"""Measure and explain the factuality of long-form text written by language models.

    import veridical

    method = veridical.method("embedded", veridical.Parts())
    report = veridical.evaluate_sync(veridical.Generation(id="1", text=…, reference=…), method)
    score = veridical.score([report], veridical.parse("factscore(gamma=10)"))

Everything here is loaded when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AtomicFact": "types",
    "CallStore": "models.cache",
    "Evidence": "types",
    "Failure": "types",
    "Generation": "types",
    "JudgedFact": "types",
    "Label": "types",
    "Method": "pipeline",
    "Parts": "parts",
    "Passage": "types",
    "Report": "types",
    "RunFolder": "folder",
    "Score": "types",
    "Store": "knowledge.store",
    "Verdict": "types",
    "evaluate": "pipeline",
    "evaluate_sync": "pipeline",
    "method": "methods",
    "open_model": "models.factory",
    "parse": "metrics",
    "read": "inputs",
    "score": "scores",
}
"""Each public name and the module it lives in. None has the name of a module (`run.run`, `compare.compare` do)."""

if TYPE_CHECKING:
    from .folder import RunFolder
    from .inputs import read
    from .knowledge.store import Store
    from .methods import method
    from .metrics import parse
    from .models.cache import CallStore
    from .models.factory import open_model
    from .parts import Parts
    from .pipeline import Method, evaluate, evaluate_sync
    from .scores import score
    from .types import (
        AtomicFact,
        Evidence,
        Failure,
        Generation,
        JudgedFact,
        Label,
        Passage,
        Report,
        Score,
        Verdict,
    )

__all__ = [
    "AtomicFact",
    "CallStore",
    "Evidence",
    "Failure",
    "Generation",
    "JudgedFact",
    "Label",
    "Method",
    "Parts",
    "Passage",
    "Report",
    "RunFolder",
    "Score",
    "Store",
    "Verdict",
    "evaluate",
    "evaluate_sync",
    "method",
    "open_model",
    "parse",
    "read",
    "score",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value
