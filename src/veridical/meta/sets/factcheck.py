"""Factcheck-Bench (Wang et al. 2023, arXiv 2311.09000), stage by stage.

Its six stages are check-worthiness of sentences and of claims, stance of passages, factuality of claims, revision of
claims and of responses. A judge of (claim, evidence) is measured on the stances; on the factuality of claims with
evidence of its own or from memory; what tells sentences that claim nothing is measured on the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...types import Generation
from .rows import CONTRADICTED, NOT_ENOUGH, NOT_SUPPORTED, SUPPORTED, choice, json_lines, pair, text

STANCES = {
    "completely-support": SUPPORTED,
    "refute": CONTRADICTED,
    "irrelevant": NOT_ENOUGH,
    "partially-support": None,
}


def stances(path: Path) -> Iterator[Generation]:
    """Stage 3: a claim and a web passage; partial support is left out. Clustered by claim."""
    for line, row in json_lines(_file(path, "subtask3_claim_evidence_stance.jsonl")):
        label = choice(row.get("stance"), STANCES, path, line, "stance")
        claim = text(row, "claim", path, line)
        if label:
            yield pair(f"{line:05d}", claim, label, [text(row, "evidence", path, line)], cluster=claim)


def factuality(path: Path) -> Iterator[Generation]:
    """Stage 4: claims true or false, without those for which the annotators found no evidence. No evidence inside."""
    menu = {"true": SUPPORTED, "false": CONTRADICTED, "not_enough_evidence": None}
    for line, row in json_lines(_file(path, "subtask4_claim_factuality.jsonl")):
        claim = text(row, "claim", path, line)
        if label := choice(row.get("label"), menu, path, line, "label"):
            yield pair(f"{line:05d}", claim, label, None, cluster=claim)


def sentences(path: Path) -> Iterator[Generation]:
    """Stage 1: "supported" stands for a sentence that makes a checkable claim."""
    menu = {"yes": SUPPORTED, "opinion": NOT_SUPPORTED, "not_a_claim": NOT_SUPPORTED, "other": NOT_SUPPORTED}
    for line, row in json_lines(_file(path, "subtask1_sentence_checkworthiness.jsonl")):
        said = text(row, "sentence", path, line)
        label = choice(row.get("checkworthy"), menu, path, line, "checkworthy")
        yield pair(f"{line:05d}", said, label or NOT_SUPPORTED, None, cluster=said)


def _file(path: Path, name: str) -> Path:
    return path / name if path.is_dir() else path
