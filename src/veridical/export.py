"""A run as a table: one row a fact, for data frames and SQL (`facts.parquet`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .errors import UsageError
from .types import JudgedFact, Report

BATCH = 1000
"""Reports held in memory at once."""
COLUMNS = {
    "generation": "string",
    "system": "string",
    "topic": "string",
    "prompt": "string",
    "fact_id": "string",
    "fact": "string",
    "sentence": "int32",
    "start": "int32",
    "end": "int32",
    "repeats": "int32",
    "flags": "string",
    "gold": "string",
    "label": "string",
    "probability": "float64",
    "raw": "float64",
    "raw_label": "string",
    "mode": "string",
    "judge": "string",
    "rationale": "string",
    "quote": "string",
    "source": "string",
    "url": "string",
    "failure": "string",
}
"""Name and Arrow type of each column; all may be null."""


def rows(reports: Iterable[Report]) -> Iterator[dict[str, Any]]:
    """One row a fact, in the order of the reports; keys are `COLUMNS`."""
    for report in reports:
        for judged in report.facts:
            yield _row(report, judged)


def write_parquet(reports: Iterable[Report], path: Path) -> int:
    """Write the table, whole or not at all; returns the number of rows. Raises UsageError without pyarrow."""
    pyarrow, parquet = arrow()
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    partial, count, table = path.with_suffix(".partial"), 0, rows(reports)
    try:
        with parquet.ParquetWriter(partial, schema) as writer:
            while batch := list(itertools.islice(table, BATCH)):
                writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
                count += len(batch)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count


def arrow() -> tuple[Any, Any]:
    """pyarrow and its parquet module. Raises UsageError where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("facts.parquet needs pyarrow; pip install 'veridical[parquet]'") from None
    return pyarrow, pyarrow.parquet


def _row(report: Report, judged: JudgedFact) -> dict[str, Any]:
    generation, fact, verdict, failure = report.generation, judged.fact, judged.verdict, judged.failure
    passages = {passage.id: passage for passage in judged.evidence.passages}
    quotes = [(passages[q.passage], q) for q in (verdict.quotes if verdict else ()) if q.passage in passages]
    first = quotes[0][0] if quotes else None
    return {
        "generation": generation.id,
        "system": generation.system,
        "topic": generation.topic,
        "prompt": generation.prompt,
        "fact_id": fact.id,
        "fact": fact.text,
        "sentence": fact.sentence,
        "start": fact.span[0] if fact.span else None,
        "end": fact.span[1] if fact.span else None,
        "repeats": fact.repeats,
        "flags": "; ".join(fact.flags) or None,
        "gold": fact.gold,
        "label": verdict.label.value if verdict else None,
        "probability": verdict.probability if verdict else None,
        "raw": verdict.raw if verdict else None,
        "raw_label": verdict.raw_label if verdict else None,
        "mode": verdict.mode if verdict else None,
        "judge": verdict.judge if verdict else None,
        "rationale": verdict.rationale if verdict else None,
        "quote": " … ".join(passage.text[q.start : q.end] for passage, q in quotes) or None,
        "source": f"{first.title} ({first.source})" if first else None,
        "url": first.url if first else None,
        "failure": f"{failure.stage}:{failure.error}: {failure.message}" if failure else None,
    }
