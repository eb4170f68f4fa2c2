"""Factcheck-Bench (Wang et al. 2023, arXiv 2311.09000), stage by stage.

`path` is the folder of its files. Where the file of whole responses is there, clusters are responses; else claims. The
domains of stages 3 and 4 are the claims that nothing of ours was trained on, and the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ...types import Generation
from .rows import (
    CONTRADICTED,
    NOT_ENOUGH,
    NOT_SUPPORTED,
    SUPPORTED,
    Row,
    choice,
    json_lines,
    listed,
    objects,
    pair,
    text,
    texts,
)

WHOLE = "factcheck-GPT-benchmark.jsonl"
HELD_OUT, REST = "held out", "rest"
STAGES = """Factcheck-Bench has six stages:
1 sentences that are worth a check: factcheck-sentences, by the method's decomposer (none where it finds no fact)
2 claims that are worth a check: factcheck-checkworthy, the same
3 stance of a passage to a claim: factcheck-bench, by any judge
4 factuality of a claim: factcheck-claims (enough evidence), by any judge; factcheck-truth (all), from memory or search
5 and 6 revision of claims and of responses: no verdicts, so no judge is measured on them"""
_STANCES = {
    "completely-support": SUPPORTED,
    "refute": CONTRADICTED,
    "irrelevant": NOT_ENOUGH,
    "partially-support": None,
}


def stances(path: Path) -> Iterator[Generation]:
    """Stage 3: a claim and a web passage. Irrelevant is not enough evidence; partial support is left out."""
    responses = _responses(path)
    for line, row in json_lines(_file(path, "subtask3_claim_evidence_stance.jsonl")):
        label = choice(row.get("stance"), _STANCES, path, line, "stance")
        claim = text(row, "claim", path, line)
        if label:
            evidence = [text(row, "evidence", path, line)]
            cluster = responses.get(claim, claim)
            yield pair(f"{line:05d}", claim, label, evidence, cluster=cluster, domain=_part(claim))


def with_evidence(path: Path) -> Iterator[Generation]:
    """Stage 4: claims for which the annotators found the five web passages enough, with these. Unknown is not enough
    evidence. From the file of whole responses."""
    menu = {True: SUPPORTED, False: CONTRADICTED, "unknown": NOT_ENOUGH}
    file = _file(path, WHOLE)
    for line, row in json_lines(file):
        for place, sentence in enumerate(_sentences(row, file, line)):
            claims, labels = texts(sentence, "claims", file, line), _list(sentence, "claims_factuality_label")
            enough, passages = (
                _list(sentence, "if_automatic_evidence_enough_to_verify"),
                _list(sentence, "auto_evidence"),
            )
            for number, (claim, label, yes, found) in enumerate(zip(claims, labels, enough, passages, strict=False)):
                if yes == "yes":
                    meant = choice(label, menu, file, line, "claims_factuality_label")
                    yield pair(
                        f"{line}/{place}/{number}", claim, meant, listed(found), cluster=str(line), domain=_part(claim)
                    )


def factuality(path: Path) -> Iterator[Generation]:
    """Stage 4: all claims true or false, without those for which the annotators found no evidence; none inside."""
    menu = {"true": SUPPORTED, "false": CONTRADICTED, "not_enough_evidence": None}
    responses = _responses(path)
    for line, row in json_lines(_file(path, "subtask4_claim_factuality.jsonl")):
        claim = text(row, "claim", path, line)
        if label := choice(row.get("label"), menu, path, line, "label"):
            yield pair(f"{line:05d}", claim, label, None, cluster=responses.get(claim, claim), domain=_part(claim))


def sentences(path: Path) -> Iterator[Generation]:
    """Stage 1: "supported" stands for a sentence that makes a checkable claim."""
    menu = {"yes": SUPPORTED, "opinion": NOT_SUPPORTED, "not_a_claim": NOT_SUPPORTED, "other": NOT_SUPPORTED}
    return _worth(path, "subtask1_sentence_checkworthiness.jsonl", "sentence", menu)


def checkworthy(path: Path) -> Iterator[Generation]:
    """Stage 2: "supported" stands for a claim of fact."""
    menu = {"factual": SUPPORTED, "opinion": NOT_SUPPORTED, "not_a_claim": NOT_SUPPORTED}
    return _worth(path, "subtask2_claim_checkworthiness.jsonl", "claim", menu)


def _worth(path: Path, name: str, field: str, menu: dict[str, str]) -> Iterator[Generation]:
    responses, file = _responses(path), _file(path, name)
    for line, row in json_lines(file):
        said = text(row, field, file, line)
        kind = row.get("checkworthy")
        label = choice(kind, menu, file, line, "checkworthy")
        wrong = kind if label == NOT_SUPPORTED else None
        yield pair(f"{line:05d}", said, label, None, cluster=responses.get(said, said), error_type=wrong)


def _part(claim: str) -> str:
    """By a fixed split (docs/embedded_judge.md)."""
    return HELD_OUT if hashlib.sha1(claim.encode(), usedforsecurity=False).digest()[0] >= 0xC0 else REST


def _responses(path: Path) -> dict[str, str]:
    """Sentence or claim -> the response it is of."""
    file = (path if path.is_dir() else path.parent) / WHOLE
    found: dict[str, str] = {}
    for line, row in json_lines(file) if file.exists() else ():
        for sentence in _sentences(row, file, line):
            for said in (sentence.get("text"), sentence.get("decontext"), *_list(sentence, "claims")):
                if isinstance(said, str):
                    found.setdefault(said, str(line))
    return found


def _sentences(row: Row, path: Path, line: int) -> list[Row]:
    value = row.get("sentences")
    return objects(list(value.values()) if isinstance(value, dict) else value, "sentences", path, line)


def _list(row: Row, field: str) -> list[object]:
    value = row.get(field)
    return value if isinstance(value, list) else []


def _file(path: Path, name: str) -> Path:
    return path / name if path.is_dir() else path
