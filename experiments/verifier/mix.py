"""The pairs a verifier is trained on: which files, how many rows of each, and the text that the encoder reads.

Only files whose licence lets the weights be given away are in `ROWS` (the licence of each stands in the data's own
README, and in docs/verifier.md); the others are left out. The number is the most rows taken from a file, chosen by
hash, so that a longer training sees all that a shorter one saw. `sha1(claim) >= 0xC0` of Factcheck-Bench is in no file.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from veridical.text.normal import STOPWORDS, tokens
from veridical.text.sentences import split

LABELS = ("supported", "contradicted", "not_enough")
ROWS: dict[str, int] = {
    "te_new_protocols": 16000,  # Wikipedia sentences, near-minimal edits: the best single source
    "squad_dev_claims": 8000,
    "factscore_atomic": 8000,
    "infotabs": 5000,
    "minimal_edits": 6000,
    "feverous_dev": 3000,
    "fm2_dev": 2400,
    "factcheck_gpt_train": 2000,
    "summedits_part": 2400,
    "boolq_claims": 2000,
    "mnli_part": 2500,
    "fever_symmetric": 1500,
    "check_covid": 1500,
    "nq_claims": 1500,
    "cad_nli": 1500,
    "wice_dev_chunks": 969,
    "factcg_cg2c": 1500,
    "factor_news_expert": 1500,
    "conjnli_adversarial": 1000,
    "strategyqa_facts": 1000,
    "begin_dev": 662,
    "snli_devtest": 800,
    "conjnli_dev": 620,
    "med": 600,
    "scifact_rte": 562,
    "q2_wow": 582,
    "covidqa_claims": 500,
    "vitaminc_part": 399,
    "liar_plus": 400,
    "creak_explanations": 800,
    "breaking_nli": 600,
    "bump_task1": 282,
    "pubmedqa_claims": 300,
}
NOT_GIVEN = re.compile(r"none stated|\bNC\b|non-commercial|\bresearch\b")
"""In a row's own licence: such rows of a file that mixes several are left out."""
WORDS = 120
"""Longest evidence a window may have; longer evidence is cut to the sentences that share most with the claim."""


class Pair(NamedTuple):
    """One training pair. `label` indexes LABELS; `coarse`: certainly not supported, which of the two is unknown."""

    source: str
    group: str
    claim: str
    evidence: str
    label: int
    coarse: bool


def read(folder: Path, part: str, rows: dict[str, int] = ROWS, extra: Path | None = None) -> Iterator[Pair]:
    """The pairs of one part, "train" or "dev", of all files in `rows`; of the development part all rows.

    `extra` is a file of further pairs for training, such as `swaps.py` makes.
    """
    files = {name: (folder / f"{name}.jsonl.gz", most) for name, most in rows.items()}
    if extra and part == "train":
        files["extra"] = extra, 1_000_000
    for name, (path, most) in files.items():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            found = [row for row in map(json.loads, file) if row["split"] == part and _given(row)]
        if part == "train":
            found = sorted(found, key=lambda row: hashlib.sha1(row["id"].encode()).digest())[:most]
        for row in found:
            yield Pair(
                source=name,
                group=row["group"],
                claim=row["claim"],
                evidence=window(row["claim"], row["evidence"]),
                label=LABELS.index(row["label"]),
                coarse=bool(row.get("coarse")) and row["label"] != "supported",
            )


def window(claim: str, evidence: str, words: int = WORDS) -> str:
    """The evidence if it is short, else its sentences that share most words with the claim, in their order."""
    if len(evidence.split()) <= words:
        return evidence
    wanted = set(tokens(claim)) - STOPWORDS
    sentences = [evidence[sentence.start : sentence.end] for sentence in split(evidence)]
    held = [set(tokens(sentence)) for sentence in sentences]
    counts = {word: sum(word in one for one in held) for word in wanted}
    worth = [sum(1 / counts[word] for word in wanted & one) for one in held]
    chosen: set[int] = set()
    size = 0
    for place in sorted(range(len(sentences)), key=lambda place: (-worth[place], place)):
        length = len(sentences[place].split())
        if not chosen or size + length <= words:
            chosen.add(place)
            size += length
    return " ".join(sentences[place] for place in sorted(chosen))


def _given(row: dict[str, Any]) -> bool:
    return not NOT_GIVEN.search(row["licence"])
