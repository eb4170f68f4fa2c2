"""Labelled sets by name. Each loader says what its labels mean for a judge of (claim, evidence), and its licence.

Nothing of the data is in the package: a set is named with its path ("fm2:dev.jsonl"), or fetched (`veridical data`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import InputError, UsageError
from ...types import Generation
from . import claims, factcheck, texts
from .rows import Loader
from .table import table


@dataclass(frozen=True)
class LabelledSet:
    """A set and where it is."""

    name: str
    path: Path
    load: Loader
    about: str = ""
    licence: str = ""

    def __iter__(self) -> Iterator[Generation]:
        """One generation a labelled claim. Raises InputError, naming file and line, for what cannot be read."""
        empty = True
        for generation in self.load(self.path):
            empty = False
            yield generation
        if empty:
            raise InputError("no labelled claim in it", file=str(self.path))


@dataclass(frozen=True)
class _Known:
    load: Loader
    about: str
    licence: str


SETS: dict[str, _Known] = {
    "factcheck-bench": _Known(
        factcheck.stances, "stance of web passages to claims: complete support, refutation, irrelevant", "Apache-2.0"
    ),
    "factcheck-claims": _Known(factcheck.factuality, "claims true or false, without evidence", "Apache-2.0"),
    "factcheck-sentences": _Known(factcheck.sentences, "sentences that make a checkable claim, or none", "Apache-2.0"),
    "wikibio": _Known(texts.wikibio, "sentences of GPT-3 biographies against Wikipedia's text", "see its source"),
    "wice": _Known(claims.wice, "claims of Wikipedia against the cited page", "ODC-BY; text CC BY-SA"),
    "fm2": _Known(claims.fool_me_twice, "adversarial claims against gold sentences", "Apache-2.0"),
    "fever-symmetric": _Known(claims.fever_symmetric, "counterfactual claims and evidence", "CC BY-SA 3.0"),
    "summedits": _Known(texts.summedits, "edited summaries against their documents", "Apache-2.0"),
    "bump": _Known(texts.bump, "minimal pairs of a faithful and an unfaithful summary", "MIT; text CNN/DM"),
    "begin": _Known(texts.begin, "dialogue responses against the knowledge they rest on", "CC BY 4.0"),
    "felm": _Known(texts.felm, "segments of answers against the annotators' references", "CC BY-NC-SA 4.0"),
    "factool": _Known(texts.factool, "claims of answers true or false, without evidence", "Apache-2.0"),
    "climate-fever": _Known(claims.climate_fever, "climate claims against sentences of Wikipedia", "none stated"),
    "healthver": _Known(claims.healthver, "claims about COVID-19 against abstracts", "none stated"),
    "llm-aggrefact": _Known(claims.aggrefact, "eleven sets of claims and documents", "per set"),
    "refchecker": _Known(texts.refchecker, "triplets of answers, where a row brings its reference", "CC BY 4.0"),
}
"""Name -> how it is read."""


def labelled_set(spec: str) -> LabelledSet:
    """The set that "name:path" stands for, or a JSONL, CSV or Parquet file of {claim, evidence, label}.

    Raises UsageError for an unknown name and a path that is not there.
    """
    name, colon, where = spec.partition(":")
    if colon and name in SETS:
        known = SETS[name]
        return LabelledSet(name, _there(where), known.load, known.about, known.licence)
    path = Path(spec)
    if name in SETS and not path.exists():
        raise UsageError(f"{name} needs its path, as in {name}:FILE")
    if colon and not path.exists():
        raise UsageError(f"no labelled set {name!r}; there are {', '.join(SETS)}, and files of claim, evidence, label")
    return LabelledSet(path.stem, _there(spec), table)


def _there(path: str) -> Path:
    found = Path(path).expanduser()
    if not found.exists():
        raise UsageError(f"{path}: no such file or folder")
    return found


__all__ = ["SETS", "LabelledSet", "labelled_set"]
