"""Sets of single claims with evidence."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from ...types import Generation
from .rows import (
    CONTRADICTED,
    NOT_ENOUGH,
    NOT_SUPPORTED,
    SUPPORTED,
    choice,
    files,
    json_lines,
    objects,
    pair,
    tabbed,
    text,
    texts,
)
from .table import table

_FEVER = {"supports": SUPPORTED, "refutes": CONTRADICTED, "not enough info": NOT_ENOUGH, "not_enough_info": NOT_ENOUGH}
_COUNTERFACTUAL = re.compile(r"(?<=.)000000[234]$")


def fool_me_twice(path: Path) -> Iterator[Generation]:
    """Fool Me Twice (Eisenschlos et al. 2021): each claim with its gold sentences; REFUTES is contradicted."""
    for line, row in json_lines(path):
        page = text(row, "wikipedia_page", path, line)
        yield pair(
            str(row.get("id") or line),
            text(row, "text", path, line),
            choice(row.get("label"), _FEVER, path, line, "label"),
            texts(row, "gold_evidence", path, line, "text"),
            cluster=page,
            topic=page,
            domain=row.get("category"),
        )


def fever_symmetric(path: Path) -> Iterator[Generation]:
    """FEVER Symmetric (Schuster et al. 2019): claims with evidence and their counterfactuals, four of a kind, which are
    a cluster: the later three have the id of the first with 0000002, 0000003 or 0000004 behind it."""
    for line, row in json_lines(path):
        yield pair(
            f"{row.get('id')}-{line}",
            text(row, "claim", path, line),
            choice(row.get("label"), _FEVER, path, line, "label"),
            [text(row, "evidence", path, line)],
            cluster=_COUNTERFACTUAL.sub("", str(row.get("id"))),
        )


def wice(path: Path) -> Iterator[Generation]:
    """WiCE (Kamoi et al. 2023): claims against the cited page, or oracle chunks of it. Partial support is none.
    Clustered by the article that makes the claim."""
    menu = {"supported": SUPPORTED, "partially_supported": NOT_SUPPORTED, "not_supported": NOT_SUPPORTED}
    for line, row in json_lines(path):
        claim = text(row, "claim", path, line)
        about = row.get("meta")
        article = about.get("claim_title") if isinstance(about, dict) else None
        yield pair(
            f"{line:05d}",
            claim,
            choice(row.get("label"), menu, path, line, "label"),
            ["\n".join(texts(row, "evidence", path, line))],
            cluster=article if isinstance(article, str) and article else claim,
        )


def climate_fever(path: Path) -> Iterator[Generation]:
    """CLIMATE-FEVER (Diggelmann et al. 2020): each claim with each of its five sentences, by the sentence's label."""
    for line, row in json_lines(path):
        claim = text(row, "claim", path, line)
        for number, one in enumerate(objects(row.get("evidences"), "evidences", path, line)):
            label = choice(one.get("evidence_label"), _FEVER, path, line, "evidence_label")
            yield pair(
                f"{row.get('claim_id', line)}/{number}",
                claim,
                label,
                [text(one, "evidence", path, line)],
                cluster=claim,
                topic=one.get("article") if isinstance(one.get("article"), str) else None,
            )


def healthver(path: Path) -> Iterator[Generation]:
    """HealthVer (Sarrouti et al. 2021): CSV of claim, evidence and label Supports, Refutes or Neutral."""
    menu = {"supports": SUPPORTED, "refutes": CONTRADICTED, "neutral": NOT_ENOUGH}
    for line, row in tabbed(path, delimiter=",", quoting=csv.QUOTE_MINIMAL):
        evidence = text(row, "evidence", path, line)
        yield pair(
            f"{line:06d}",
            text(row, "claim", path, line),
            choice(row.get("label"), menu, path, line, "label"),
            [evidence],
            cluster=evidence,
        )


def aggrefact(path: Path) -> Iterator[Generation]:
    """LLM-AggreFact (Tang et al. 2024): doc, claim, label 1 or 0, of eleven sets, which are the domains."""
    for file in files(path, "*.*"):
        yield from table(file)


__all__ = ["aggrefact", "climate_fever", "fever_symmetric", "fool_me_twice", "healthver", "wice"]
