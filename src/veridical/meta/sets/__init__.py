"""Labelled sets by name. Each loader says what its labels mean for a judge of (claim, evidence), and its licence.

Nothing of the data is in the package: a set is named with its path ("fm2:dev.jsonl"), or fetched (`veridical data`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import InputError, UsageError
from ...types import Generation
from . import answers, claims, factcheck, texts
from .openfactcheck import openfactcheck
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
    note: str = ""
    """More to be told with its figures."""
    worth: bool = False
    """The labels say what makes a claim, not what is supported: it is the method's decomposer that is measured."""
    seen: bool = False
    """The embedded judge was trained on part of it (docs/embedded_judge.md), so its figures there flatter it."""
    empty: Callable[[Path], int] | None = None
    """How many responses have no labelled claim, where the files tell."""

    def __iter__(self) -> Iterator[Generation]:
        """One generation a labelled claim. Raises InputError, naming file and line, for what cannot be read, and for
        an id that is there twice."""
        seen: set[str] = set()
        for generation in self.load(self.path):
            if generation.id in seen:
                raise InputError(f"two claims have the id {generation.id!r}", file=str(self.path), field="id")
            seen.add(generation.id)
            yield generation
        if not seen:
            raise InputError("no labelled claim in it", file=str(self.path))


@dataclass(frozen=True)
class _Known:
    load: Loader
    about: str
    licence: str
    note: str = ""
    worth: bool = False
    seen: bool = False
    empty: Callable[[Path], int] | None = None


SETS: dict[str, _Known] = {
    "factcheck-bench": _Known(
        factcheck.stances,
        "web passages: completely-support is supported, refute contradicted, irrelevant not enough; partial left out",
        "Apache-2.0",
        factcheck.STAGES,
        seen=True,
    ),
    "factcheck-claims": _Known(
        factcheck.with_evidence,
        "claims with enough evidence: true is supported, false contradicted, unknown not enough",
        "Apache-2.0",
        factcheck.STAGES,
        seen=True,
    ),
    "factcheck-truth": _Known(
        factcheck.factuality, "claims true or false, no evidence inside", "Apache-2.0", factcheck.STAGES
    ),
    "factcheck-sentences": _Known(
        factcheck.sentences, 'sentences: "supported" is a checkable claim', "Apache-2.0", factcheck.STAGES, worth=True
    ),
    "factcheck-checkworthy": _Known(
        factcheck.checkworthy, 'claims: "supported" is a claim of fact', "Apache-2.0", factcheck.STAGES, worth=True
    ),
    "wikibio": _Known(
        texts.wikibio,
        "sentences against Wikipedia: accurate is supported, minor and major inaccurate are not",
        "CC BY-SA 3.0 (the set's page), Apache-2.0 (the copy it was read from)",
    ),
    "wice": _Known(
        claims.wice,
        "claims of Wikipedia against the cited page: supported; partially and not supported are not",
        "ODC-BY; text CC BY-SA and Common Crawl terms",
    ),
    "fm2": _Known(
        claims.fool_me_twice, "claims against gold sentences: REFUTES is contradicted", "Apache-2.0; text CC BY-SA"
    ),
    "fever-symmetric": _Known(
        claims.fever_symmetric, "claims and their counterfactuals: REFUTES is contradicted", "CC BY-SA 3.0", seen=True
    ),
    "summedits": _Known(
        texts.summedits, "summaries against documents: 1 is supported, 0 is not", "Apache-2.0", seen=True
    ),
    "bump": _Known(
        texts.bump, "minimal pairs: the reference summary is supported, its edit is not", "MIT; text CNN/DM", seen=True
    ),
    "begin": _Known(
        texts.begin,
        "dialogue against knowledge: fully attributable is supported, not fully is not, generic left out",
        "CC BY 4.0; topicalchat CDLA-Sharing",
        seen=True,
    ),
    "felm": _Known(answers.felm, "segments with reference text: true is supported, false is not", "CC BY-NC-SA 4.0"),
    "factool": _Known(answers.factool, "claims true or false, no evidence inside", "Apache-2.0"),
    "factscore": _Known(
        answers.factscore,
        "facts of biographies: S is supported, NS is not, irrelevant left out; pages.jsonl or --knowledge needed",
        "MIT",
        seen=True,
    ),
    "lfqa": _Known(answers.lfqa, "sentences by three annotators: majority; partial is not supported", "none stated"),
    "bingcheck": _Known(
        answers.bingcheck, "claims of Bing Chat: refuted is contradicted, partial is not supported", "none stated"
    ),
    "climate-fever": _Known(
        claims.climate_fever, "climate claims against single sentences, by the sentence's label", "none stated"
    ),
    "healthver": _Known(
        claims.healthver, "claims against abstracts: Refutes is contradicted, Neutral not enough", "none stated"
    ),
    "llm-aggrefact": _Known(claims.aggrefact, "claims against documents: 1 is supported, 0 is not", "per set"),
    "refchecker": _Known(
        answers.refchecker,
        "triplets: Entailment, Neutral (not enough), Contradiction; a reference is to be added to each row",
        "CC BY 4.0",
        empty=answers.refchecker_empty,
    ),
    "openfactcheck": _Known(
        openfactcheck,
        "claims true or false: FacTool's results with frozen snippets, or the claims alone; undecided claims left out",
        "MIT by its README, no licence file; the FELM part CC BY-NC-SA 4.0",
    ),
}
"""Name -> how it is read."""


def labelled_set(spec: str) -> LabelledSet:
    """The set that "name:path" stands for, or a JSONL, CSV or Parquet file of {claim, evidence, label}.

    Raises UsageError for an unknown name and a path that is not there.
    """
    name, colon, where = spec.partition(":")
    if colon and name in SETS:
        known = SETS[name]
        return LabelledSet(
            name,
            _there(where),
            known.load,
            known.about,
            known.licence,
            known.note,
            known.worth,
            known.seen,
            known.empty,
        )
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
