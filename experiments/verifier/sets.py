"""The labelled sets on which a verifier is reported: only documents that no weights saw.

Of the training files their development rows (`split = dev`); Factcheck-Bench by its own rule; BUMP without the articles
that are in training; WikiBio, which is trained on by nobody. Evidence is given whole: cutting it is a scorer's matter.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


class Item(NamedTuple):
    """A claim, its evidence, whether it is supported, and the document that it is counted under."""

    claim: str
    evidence: str
    label: str
    cluster: str

    @property
    def supported(self) -> bool:
        return self.label == "supported"

    @property
    def key(self) -> str:
        return hashlib.sha1(f"{self.claim}\0{self.evidence}".encode()).hexdigest()


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def developed(name: str) -> list[Item]:
    """The development rows of a training file, "partially supported" as not supported."""
    rows = lines(DATA / "train_pairs" / f"{name}.jsonl.gz")
    return [Item(row["claim"], row["evidence"], row["label"], row["group"]) for row in rows if row["split"] == "dev"]


def factcheck_bench() -> list[Item]:
    """Stance pairs whose sha1(claim) begins with a byte of at least 0xC0, without "partially-support"."""
    labels = {"completely-support": "supported", "refute": "contradicted", "irrelevant": "not_enough"}
    return [
        Item(row["claim"], row["evidence"], labels[row["stance"]], row["claim"])
        for row in lines(DATA / "factcheck_gpt" / "subtask3_claim_evidence_stance.jsonl")
        if row["stance"] in labels and hashlib.sha1(row["claim"].encode()).digest()[0] >= 0xC0
    ]


def bump() -> list[Item]:
    """Summaries (supported) and the same with one error, of articles that are not in training. They come in pairs."""
    rows = json.loads((DATA / "bump" / "task1_dataset.json").read_text(encoding="utf-8"))
    article = {row["id"]: row["article_id"] for row in rows}
    trained = {article[int(row["id"].split("-")[1])] for row in lines(DATA / "train_pairs" / "bump_task1.jsonl.gz")}
    return [
        Item(row[f"{side}_summary"], row["article"], label, str(row["article_id"]))
        for row in rows
        if row["article_id"] not in trained
        for side, label in (("reference", "supported"), ("edited", "not_enough"))
    ]


def wikibio() -> list[Item]:
    """Sentences of GPT-3 biographies against the Wikipedia text: accurate against minor and major inaccurate."""
    return [
        Item(sentence, row["wiki_bio_text"], "supported" if mark == "accurate" else "not_enough", str(number))
        for number, row in enumerate(lines(DATA / "wikibio_gpt3" / "first120.jsonl"))
        for sentence, mark in zip(row["gpt3_sentences"], row["annotation"], strict=True)
    ]


def reported() -> dict[str, list[Item]]:
    """Every set of the table, by the name it has there. The first six are of kinds that are in training as well."""
    bench = factcheck_bench()
    return {
        "FM2": developed("fm2_dev"),
        "WiCE chunks": developed("wice_dev_chunks"),
        "SummEdits": developed("summedits_part"),
        "BEGIN": developed("begin_dev"),
        "FEVER-symmetric": developed("fever_symmetric"),
        "FEVEROUS": developed("feverous_dev"),
        "Wikipedia entailment": developed("te_new_protocols"),
        "Factcheck-Bench": bench,
        "Factcheck-Bench, refuted": [item for item in bench if item.label != "not_enough"],
        "BUMP": bump(),
        "WikiBio": wikibio(),
    }
