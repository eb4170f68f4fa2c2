"""A file of one's own: claim, evidence, label; JSONL, JSON, CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...inputs.files import records
from ...types import Generation
from .rows import CONTRADICTED, NOT_ENOUGH, NOT_SUPPORTED, SUPPORTED, Row, choice, pair

_WORDS = {
    SUPPORTED: ("supported", "supports", "support", "entailment", "entailed", "true", "1", "1.0", True),
    CONTRADICTED: ("contradicted", "refuted", "refutes", "contradiction"),
    NOT_ENOUGH: ("not_enough_evidence", "not enough evidence", "not enough info", "not_enough_info", "nei", "neutral"),
    NOT_SUPPORTED: ("not_supported", "not supported", "unsupported", "false", "0", "0.0", False),
}
LABELS: dict[Any, str] = {word: label for label, words in _WORDS.items() for word in words}
"""Labels as people write them, in lower case; True and False are also 1 and 0."""
_KNOWN = ("id", "cluster", "topic", "domain", "dataset", "error_type", "pair")
_CLAIM, _EVIDENCE = ("claim", "hypothesis", "fact", "statement"), ("evidence", "premise", "document", "doc", "context")


def table(path: Path) -> Iterator[Generation]:
    """Columns `claim`, `evidence` (a text, a list of texts, or none) and `label`; if known `id`, `cluster` (what is
    resampled together, such as the document), `domain`, `error_type`, `topic`, `pair` (what a minimal pair shares)."""
    for record in records(str(path), ("claim", "label")):
        if record.error:
            raise record.error
        row, line = record.value, record.line
        if not isinstance(row, dict):
            raise InputError("not an object", file=str(path), line=line)
        claim = next((row[name] for name in _CLAIM if isinstance(row.get(name), str) and row[name].strip()), None)
        if claim is None:
            raise InputError("must be a text", file=str(path), line=line, field="claim")
        if row.get("label") is None:
            raise InputError("there is none", file=str(path), line=line, field="label")
        label = choice(row["label"], LABELS, path, line, "label")
        evidence = _evidence(row, path, line)
        known = {
            name: _word(row, name) for name in ("id", "cluster", "topic", "domain", "dataset", "error_type", "pair")
        }
        yield pair(
            known["id"] or f"{line:07d}",
            claim,
            label,
            evidence,
            cluster=known["cluster"] or (evidence[0][:200] if evidence else claim),
            topic=known["topic"],
            domain=known["domain"] or known["dataset"],
            error_type=known["error_type"],
            pair=known["pair"],
        )


def _word(row: Row, field: str) -> str | None:
    value = row.get(field)
    return str(value) if isinstance(value, str | int) and str(value) else None


def _evidence(row: Row, path: Path, line: int) -> list[str] | None:
    name = next((name for name in _EVIDENCE if row.get(name) is not None), None)
    if name is None:
        return None
    value = row[name]
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InputError("must be a text or a list of texts", file=str(path), line=line, field=name)
    return found
