"""Verdicts of any other evaluator, from a file, and the claims of a set to give to one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InputError
from ..inputs.files import records
from ..types import AtomicFact, Failure, Generation, JudgedFact, Label, Report, Usage, Verdict
from .openfactcheck import Given, verdicts
from .sets.rows import CONTRADICTED, NOT_ENOUGH, NOT_SUPPORTED, SUPPORTED, choice
from .sets.table import LABELS

_MEANING: dict[Any, Label] = {
    word: {
        SUPPORTED: Label.SUPPORTED,
        CONTRADICTED: Label.CONTRADICTED,
        NOT_ENOUGH: Label.NOT_ENOUGH_EVIDENCE,
        NOT_SUPPORTED: Label.NOT_ENOUGH_EVIDENCE,
    }[meant]
    for word, meant in LABELS.items()
} | {"irrelevant": Label.IRRELEVANT}


def written(claims: Iterable[Generation], path: Path) -> int:
    """Write claims as JSON lines {id, claim, evidence, label, cluster, …}, which `table` reads; returns how many."""
    rows = list(claims)
    with path.open("wb") as file:
        for one in rows:
            label = one.facts[0].label if one.facts else None
            row = {"id": one.id, "claim": one.text, "evidence": one.reference, "label": label, "topic": one.topic}
            kept = {name: value for name, value in (row | one.metadata).items() if value is not None}
            file.write(msgspec.json.encode(kept) + b"\n")
    return len(rows)


def predicted(claims: Iterable[Generation], path: Path, *, ids: Sequence[str] | None = None) -> list[Report]:
    """Reports of verdicts in a file (JSONL, CSV, Parquet): `id`, `label` as in a labelled set, and if known
    `probability` of supported; or a file of OpenFactCheck's (`openfactcheck`). Paired by id. A claim that the file has
    not, or that has no label there, is without a verdict. `ids`: of the whole set, in its order, where `claims` are a
    part of it; the file may then be of the whole. Raises InputError for an id that is not in the set, or twice, and for
    what cannot be read."""
    own = list(claims)
    every = [claim.id for claim in own] if ids is None else ids
    found: dict[str, Given] = {}
    given = verdicts(path, every)
    for one in _given(path) if given is None else given:
        if one.id in found:
            raise InputError(f"{one.id} is there twice", file=str(path), line=one.line, field="id")
        found[one.id] = one
    known = set(every)
    if strange := next((one for one in found.values() if one.id not in known), None):
        raise InputError(f"{strange.id!r} is not in the set", file=str(path), line=strange.line, field="id")
    return [_report(claim, found.get(claim.id)) for claim in own]


def _given(path: Path) -> Iterator[Given]:
    for line, row in _rows(path):
        key = row.get("id")
        if not isinstance(key, str | int):
            raise InputError("must be the claim's id", file=str(path), line=line, field="id")
        yield Given(id=str(key), line=line, outcome=_outcome(row, path, line))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for record in records(str(path), ("id", "label")):
        if record.error:
            raise record.error
        if not isinstance(record.value, dict):
            raise InputError("not an object", file=str(path), line=record.line)
        yield record.line, record.value


def _outcome(row: dict[str, Any], path: Path, line: int) -> Verdict | Failure:
    if row.get("label") in (None, ""):
        return Failure(stage="verify", error="NoLabel", message="the file has no label for it")
    label = choice(row["label"], _MEANING, path, line, "label")
    return Verdict(label=label, judge=path.stem, probability=_probability(row.get("probability"), path, line))


def _probability(value: Any, path: Path, line: int) -> float | None:
    if value in (None, ""):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found <= 1:
        raise InputError("must be a number from 0 to 1", file=str(path), line=line, field="probability")
    return found


def _report(claim: Generation, given: Given | None) -> Report:
    label = claim.facts[0].label if claim.facts else None
    fact = AtomicFact(id=f"{claim.id}/0.0", text=claim.text, sentence=0, gold=label)
    said = given.outcome if given else Failure(stage="verify", error="Missing", message="the file has no verdict on it")
    usage = given.usage if given else Usage()
    if isinstance(said, Failure):
        return Report(generation=claim, facts=(JudgedFact(fact=fact, failure=said),), usage=usage)
    return Report(generation=claim, facts=(JudgedFact(fact=fact, verdict=said),), usage=usage)
