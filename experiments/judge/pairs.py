"""The labelled pairs of the embedded judge: which files train it, with what share, and the sets that measure it.

Every pair is (claim, passages, label, cluster); a passage is (title, text).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

SHARES = {
    "factscore_atomic": 3.0,
    "factcheck_gpt_train": 3.0,
    "te_new_protocols": 2.0,
    "squad_dev_claims": 2.0,
    "minimal_edits": 1.0,
    "nq_claims": 1.0,
    "infotabs": 1.0,
    "feverous_dev": 1.0,
    "summedits_part": 0.7,
    "factor_news_expert": 0.7,
    "boolq_claims": 0.7,
    "fever_symmetric": 0.5,
    "check_covid": 0.5,
    "factcg_cg2c": 0.5,
    "strategyqa_facts": 0.3,
    "covidqa_claims": 0.3,
    "scifact_rte": 0.3,
    "vitaminc_part": 0.3,
    "pubmedqa_claims": 0.2,
    "cad_nli": 0.2,
    "creak_explanations": 0.2,
    "conjnli_dev": 0.2,
    "bump_task1": 0.2,
    "q2_wow": 0.2,
    "begin_dev": 0.2,
    "snli_devtest": 0.1,
    "med": 0.1,
    "breaking_nli": 0.1,
}
"""Training files and the share of the total weight that each has. Left out: non-commercial and research-only terms
(anli_dev, sick, quail_claims, dream_claims, msr_paraphrase_recast), no stated licence (bio_newpages_qa, ling_in_loop,
control, rte, aggrefact_cliff_goyal, cb, healthver_dev, quoref_claims, covidfact, monli), held out for measurement
(fm2_dev, wice_dev_chunks), poor by the data's own account (drop_recast_part, liar_plus, conjnli_adversarial), and
fragments of speech and letters far from encyclopaedic facts (mnli_part)."""
HELD_OUT = ("fm2_dev", "wice_dev_chunks")
UNFREE = ("NC", "none stated", "non-commercial", "research")
"""Words of a row's licence that bar it. "NC" bars the few edits of MultiNLI (OANC) as well, which are out of domain."""


class Pair(NamedTuple):
    claim: str
    passages: tuple[tuple[str, str], ...]
    label: str
    cluster: str
    source: str
    coarse: bool = False
    dev: bool = False
    topic: str = ""


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def train_file(name: str) -> Path:
    return DATA / "train_pairs" / f"{name}.jsonl.gz"


def training() -> Iterator[Pair]:
    """Rows whose terms allow derived weights and that share no document, claim or evidence with a measured set."""
    barred = {row["group"] for name in HELD_OUT for row in lines(train_file(name))}
    measured = [pair for pairs in measured_sets().values() for pair in pairs]
    barred_texts = {pair.claim for pair in measured} | {text for pair in measured for _, text in pair.passages}
    for name in SHARES:
        for row in lines(train_file(name)):
            parent = row.get("parent", "")
            if row["group"] in barred or any(word in row["licence"] for word in UNFREE):
                continue
            if parent.startswith(("fm2", "wice", "wikibio")) or not barred_texts.isdisjoint(
                (row["claim"], row["evidence"])
            ):
                continue
            dev = row["split"] == "dev" or hashlib.sha256(row["group"].encode()).digest()[0] < 26
            yield Pair(
                row["claim"], (("", row["evidence"]),), row["label"], row["group"], name, bool(row.get("coarse")), dev
            )


STANCES = {
    "completely-support": "supported",
    "refute": "contradicted",
    "irrelevant": "not_enough",
    "partially-support": "partial",
}


def factcheck_bench() -> Iterator[Pair]:
    """Factcheck-Bench stance pairs, development part; "partially-support" is left out."""
    for row in lines(DATA / "factcheck_gpt" / "subtask3_claim_evidence_stance.jsonl"):
        label = STANCES[row["stance"]]
        if hashlib.sha1(row["claim"].encode(), usedforsecurity=False).digest()[0] >= 0xC0 and label != "partial":
            yield Pair(row["claim"], (("", row["evidence"]),), label, row["claim"], "factcheck_bench")


def fool_me_twice(*, retrieved: bool) -> Iterator[Pair]:
    """Fool Me Twice dev with its gold sentences, or with gold and retrieved sentences; the page's title is known."""
    for row in lines(DATA / "fool_me_twice" / "dev.jsonl"):
        texts = [sentence["text"] for sentence in row["gold_evidence"]]
        if retrieved:
            texts += [s["text"] for s in row["retrieved_evidence"] if s["text"] not in texts]
        label = "supported" if row["label"] == "SUPPORTS" else "contradicted"
        title = row["wikipedia_page"]
        yield Pair(row["text"], tuple((title, text) for text in texts), label, title, "fool_me_twice")


def wice(*, chunks: bool) -> Iterator[Pair]:
    """WiCE dev, supported against partially or not; the whole cited page, or the oracle chunk."""
    path = DATA / "wice" / ("oracle_chunks/claim_dev.jsonl" if chunks else "dev.jsonl")
    for row in lines(path):
        label = "supported" if row["label"] == "supported" else "not_enough"
        yield Pair(row["claim"], (("", "\n".join(row["evidence"])),), label, row["claim"], "wice")


def wikibio() -> Iterator[Pair]:
    """Sentences of GPT-3 biographies against the Wikipedia text; accurate against minor or major inaccurate."""
    for i, row in enumerate(lines(DATA / "wikibio_gpt3" / "first120.jsonl")):
        for sentence, mark in zip(row["gpt3_sentences"], row["annotation"], strict=True):
            label = "supported" if mark == "accurate" else "not_enough"
            yield Pair(sentence, (("", row["wiki_bio_text"]),), label, str(i), "wikibio")


def measured_sets() -> dict[str, list[Pair]]:
    """Every set of the report, by the name it has there."""
    return {
        "Factcheck-Bench": list(factcheck_bench()),
        "FM2 gold": list(fool_me_twice(retrieved=False)),
        "FM2 gold + retrieved": list(fool_me_twice(retrieved=True)),
        "WiCE page": list(wice(chunks=False)),
        "WiCE oracle chunk": list(wice(chunks=True)),
        "WikiBio": list(wikibio()),
    }
