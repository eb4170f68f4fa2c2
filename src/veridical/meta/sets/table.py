"""A file of one's own: claim, evidence, label; JSONL, JSON, CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...inputs.files import records
from ...types import Generation
from .rows import CONTRADICTED, NOT_ENOUGH, NOT_SUPPORTED, SUPPORTED, Row, choice, pair

LABELS: dict[Any, str | None] = {
    **dict.fromkeys(("supported", "supports", "support", "entailment", "entailed", "true", "1", True, 1), SUPPORTED),
    **dict.fromkeys(("contradicted", "refuted", "refutes", "contradiction"), CONTRADICTED),
    **dict.fromkeys(
        ("not_enough_evidence", "not enough evidence", "not enough info", "not_enough_info", "nei", "neutral"),
        NOT_ENOUGH,
    ),
    **dict.fromkeys(("not_supported", "not supported", "unsupported", "false", "0", False, 0), NOT_SUPPORTED),
}
"""Labels as people write them."""
_CLAIM, _EVIDENCE = ("claim", "hypothesis", "fact", "statement"), ("evidence", "premise", "document", "doc", "context")


def table(path: Path) -> Iterator[Generation]:
    """Columns `claim`, `evidence` (a text, a list of texts, or none) and `label`; if known `id`, `cluster` (what is
    resampled together, such as the document), `domain`, `error_type`, `topic`."""
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
        cluster = str(row.get("cluster") or (evidence[0][:200] if evidence else claim))
        yield pair(
            str(row.get("id") or f"{line:07d}"),
            claim,
            label or NOT_SUPPORTED,
            evidence,
            cluster=cluster,
            topic=row.get("topic") if isinstance(row.get("topic"), str) else None,
            domain=row.get("domain") or row.get("dataset"),
            error_type=row.get("error_type"),
        )


def _evidence(row: Row, path: Path, line: int) -> list[str] | None:
    name = next((name for name in _EVIDENCE if row.get(name) is not None), None)
    if name is None:
        return None
    value = row[name]
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InputError("must be a text or a list of texts", file=str(path), line=line, field=name)
    return found
