"""The two labelled sets of the table, as generations whose facts carry people's labels.

- WikiBio: the first 60 biographies by GPT-3 (Manakul et al. 2023); facts are their sentences, supported if accurate,
  not supported if minor or major inaccurate; the evidence is the Wikipedia text that comes with each.
- Factcheck-Bench (Wang et al. 2024): stance pairs of a claim and a web passage, drawn with a seed from the part which
  nothing of ours was fitted on (experiments/judge); supported if the passage supports the claim completely, not
  supported if it refutes it or is irrelevant; partial support is left out.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

from veridical.types import Generation, GivenFact

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
STANCES = {"completely-support": "supported", "refute": "not_supported", "irrelevant": "not_supported"}


def wikibio(count: int = 60) -> list[Generation]:
    """`count` generations of about eight sentences each."""
    found = []
    for row in list(_lines(DATA / "wikibio_gpt3" / "first120.jsonl"))[:count]:
        labels = ["supported" if label == "accurate" else "not_supported" for label in row["annotation"]]
        sentences = [sentence.strip() for sentence in row["gpt3_sentences"]]
        facts = tuple(
            GivenFact(text=text, label=label, sentence=text) for text, label in zip(sentences, labels, strict=True)
        )
        topic = row["question"].removeprefix("This is a passage from Wikipedia about ").strip(" :.")
        found.append(
            Generation(
                id=str(row["wiki_bio_test_idx"]),
                text=row["gpt3_text"],
                prompt=f"Who is {topic}? Answer in one sentence of at most thirty words.",
                topic=topic,
                system="gpt-3",
                reference=row["wiki_bio_text"],
                facts=facts,
            )
        )
    return found


def factcheck_bench(count: int = 160, seed: int = 0) -> list[Generation]:
    """`count` pairs, each a generation of one claim with its own passage, half of them supported."""
    pairs = [
        (row["claim"], row["evidence"], STANCES[row["stance"]])
        for row in _lines(DATA / "factcheck_gpt" / "subtask3_claim_evidence_stance.jsonl")
        if row["stance"] in STANCES and row["evidence"].strip() and _held_out(row["claim"])
    ]
    rng = random.Random(seed)
    chosen = []
    for label in ("supported", "not_supported"):
        chosen += rng.sample([pair for pair in pairs if pair[2] == label], count // 2)
    return [
        Generation(
            id=f"fcb-{n}",
            text=claim,
            reference=evidence,
            facts=(GivenFact(text=claim, label=label),),
            metadata={"cluster": claim},
        )
        for n, (claim, evidence, label) in enumerate(chosen)
    ]


def _held_out(claim: str) -> bool:
    return hashlib.sha1(claim.encode(), usedforsecurity=False).digest()[0] >= 0xC0


def _lines(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


SETS = {"wikibio": wikibio, "factcheck-bench": factcheck_bench}
