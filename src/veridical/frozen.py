"""Frozen evidence: the facts of a run and what was found for each, in one file, for other judges to rate offline.

A web search gives other results tomorrow, so two judges that search for themselves are not judged by the same evidence.
`freeze` keeps what the first one saw; `FrozenFacts`, `FrozenTriage` and `FrozenEvidence` give it to the next, as parts
of a `Method`. The same run makes the same bytes, and so does a run by frozen evidence when it is frozen again.

The file is JSON lines: a head with the SHA-256 of all that follows, then one line a generation.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from .errors import InputError, SearchError, UsageError
from .failures import Known
from .types import (
    AtomicFact,
    Decomposition,
    Evidence,
    Failure,
    Generation,
    JudgedFact,
    Label,
    Report,
    Sentence,
    SentenceFailure,
    Skipped,
    Struct,
    Verdict,
)

FORMAT = "veridical evidence 1"
_HEAD = 4096
"""Bytes in which the first line ends, so that a file of something else is not read whole to see that it is."""


class Head(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The first line."""

    format: str
    generations: int
    facts: int
    passages: int
    sha256: str
    """Of all bytes after the first line."""


class FrozenFact(Struct, frozen=True, kw_only=True):
    """A fact and what was found for it."""

    fact: AtomicFact
    evidence: Evidence = Evidence()
    sha256: str = ""
    """Of the evidence: `evidence_sha256`."""
    irrelevant: Verdict | None = None
    """Where it was set aside before anything was looked up."""
    failure: Failure | None = None
    """Where nothing could be looked up: it stays unscored whoever judges."""


class FrozenGeneration(Struct, frozen=True, kw_only=True):
    """One line: a generation as it was taken apart."""

    id: str
    text_sha256: str
    abstained: bool = False
    failure: Failure | None = None
    """Why it could not be taken apart at all."""
    sentences: int = 0
    facts: tuple[FrozenFact, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    failures: tuple[SentenceFailure, ...] = ()


def evidence_sha256(evidence: Evidence) -> str:
    """The same for the same evidence, whoever judges by it."""
    return hashlib.sha256(msgspec.json.encode(evidence)).hexdigest()


def freeze(reports: Iterable[Report], path: Path) -> Head:
    """Write the file; an earlier one stays whole until the new one is complete.

    Raises UsageError if it cannot be written, or if two reports are of generations with one id.
    """
    body, head = path.with_name(f"{path.name}.body"), path.with_name(f"{path.name}.partial")
    digest, seen, facts, passages = hashlib.sha256(), set[str](), 0, 0
    try:
        with body.open("wb") as file:
            for report in reports:
                frozen = _frozen(report)
                if frozen.id in seen:
                    raise UsageError(f"two reports are of a generation {frozen.id}")
                seen.add(frozen.id)
                line = msgspec.json.encode(frozen) + b"\n"
                digest.update(line)
                file.write(line)
                facts += len(frozen.facts)
                passages += sum(len(one.evidence.passages) for one in frozen.facts)
        made = Head(format=FORMAT, generations=len(seen), facts=facts, passages=passages, sha256=digest.hexdigest())
        with head.open("wb") as whole, body.open("rb") as file:
            whole.write(msgspec.json.encode(made) + b"\n")
            while piece := file.read(1 << 20):
                whole.write(piece)
        head.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        for left in (body, head):
            left.unlink(missing_ok=True)
    return made


def _frozen(report: Report) -> FrozenGeneration:
    return FrozenGeneration(
        id=report.generation.id,
        text_sha256=_sha256(report.generation),
        abstained=report.abstained,
        failure=report.failure,
        sentences=len(report.sentences),
        facts=tuple(map(_fact, report.facts)),
        skipped=report.skipped,
        failures=report.failures,
    )


def _fact(judged: JudgedFact) -> FrozenFact:
    aside = judged.verdict if judged.verdict and judged.verdict.label is Label.IRRELEVANT else None
    lost = judged.failure if judged.failure and judged.failure.stage in ("triage", "gather") else None
    return FrozenFact(
        fact=judged.fact,
        evidence=judged.evidence,
        sha256=evidence_sha256(judged.evidence),
        irrelevant=aside if not judged.evidence.passages else None,
        failure=lost,
    )


def _sha256(generation: Generation) -> str:
    return hashlib.sha256(generation.text.encode("utf-8", "surrogatepass")).hexdigest()


class Frozen:
    """A file of frozen evidence, checked against its hash when it is opened, then read where it is needed.

    Raises UsageError for a file that is not there or none of ours, InputError for one that is damaged.
    """

    name = "evidence"

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._places: dict[str, tuple[int, int, int]] = {}
        """Id -> offset, length and number of its line."""
        try:
            self.head = self._scan()
        except OSError as error:
            raise UsageError(f"{self.path}: {error.strerror or error}") from error
        self._record = functools.lru_cache(maxsize=64)(self._read)

    @property
    def fingerprint(self) -> str:
        """First 12 digits of the hash: what a signature holds."""
        return self.head.sha256[:12]

    def _scan(self) -> Head:
        digest, heads = hashlib.sha256(), msgspec.json.Decoder(_Id)
        with self.path.open("rb") as file:
            first = file.readline(_HEAD)
            head = self._head(first)
            offset = len(first)
            for number, line in enumerate(file, 2):
                digest.update(line)
                try:
                    name = heads.decode(line).id
                except msgspec.DecodeError as error:
                    raise InputError(str(error), file=str(self.path), line=number) from None
                if name in self._places:
                    raise InputError(f"generation {name} is there twice", file=str(self.path), line=number)
                self._places[name] = (offset, len(line), number)
                offset += len(line)
        if digest.hexdigest() != head.sha256:
            raise InputError(
                "not what was frozen: its hash differs from the one in its first line", file=str(self.path)
            )
        return head

    def _head(self, line: bytes) -> Head:
        try:
            head = msgspec.json.decode(line, type=Head)
        except msgspec.DecodeError:
            head = None
        if head is None or head.format != FORMAT:
            raise UsageError(f"{self.path} holds no frozen evidence; veridical freeze RUN --out FILE makes such a file")
        return head

    def _read(self, name: str) -> FrozenGeneration:
        offset, length, number = self._places[name]
        with self.path.open("rb") as file:
            file.seek(offset)
            line = file.read(length)
        try:
            return msgspec.json.decode(line, type=FrozenGeneration)
        except msgspec.DecodeError as error:
            raise InputError(str(error), file=str(self.path), line=number) from None

    def of(self, generation: Generation) -> FrozenGeneration:
        """What was frozen of a generation. Raises SearchError if it is not in the file, or had another text."""
        if generation.id not in self._places:
            raise SearchError(f"generation {generation.id} is not in {self.path.name}")
        found = self._record(generation.id)
        if found.text_sha256 != _sha256(generation):
            raise SearchError(f"generation {generation.id} had another text when it was frozen")
        return found

    def fact(self, fact: AtomicFact, generation: Generation) -> FrozenFact:
        """Raises SearchError for a fact that is not among those of the file."""
        found = next((one for one in self.of(generation).facts if one.fact.id == fact.id), None)
        if found is None:
            raise SearchError(f"fact {fact.id} is not in {self.path.name}")
        return found

    def __iter__(self) -> Iterator[FrozenGeneration]:
        return map(self._read, self._places)


class _Id(msgspec.Struct):
    id: str


@dataclass(frozen=True)
class FrozenFacts:
    """A `Decomposer`: the facts as they were."""

    frozen: Frozen

    @property
    def name(self) -> str:
        return "frozen"

    async def decompose(self, generation: Generation, sentences: Sequence[Sentence]) -> Decomposition:
        """See `Decomposer`. What could not be taken apart then fails now, too; what was taken for an abstention has no
        facts, whatever the rule is now."""
        found = self.frozen.of(generation)
        if found.abstained:
            return Decomposition()
        if found.failure:
            raise Known(found.failure)
        if found.sentences != len(sentences):
            raise SearchError(f"generation {generation.id} had {found.sentences} sentences when it was frozen")
        return Decomposition(
            facts=tuple(one.fact for one in found.facts), skipped=found.skipped, failures=found.failures
        )


@dataclass(frozen=True)
class FrozenTriage:
    """A `Triage`: what was set aside stays aside."""

    frozen: Frozen

    async def triage(self, fact: AtomicFact, generation: Generation) -> Verdict | None:
        """See `pipeline.Triage`."""
        found = self.frozen.fact(fact, generation)
        if found.failure and found.failure.stage == "triage":
            raise Known(found.failure)
        return found.irrelevant


@dataclass(frozen=True)
class FrozenEvidence:
    """A `Gatherer`: what was found then."""

    frozen: Frozen

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence:
        """See `Gatherer`."""
        found = self.frozen.fact(fact, generation)
        if found.failure:
            raise Known(found.failure)
        return found.evidence
