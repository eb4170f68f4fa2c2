"""Which ranking finds the evidence? BM25, dense (all-MiniLM-L6-v2) and hybrids, on evidence that people marked.

    veridical models fetch minilm
    nice -n 5 python experiments/retrieval/rankers.py ../shared/data

Prints Markdown. WiCE: claims against the passages of the cited page; right is a passage with a supporting sentence.
SQuAD (xquad_en, seal_squad): questions against the paragraphs of their page, and against those of all pages; right is
the question's own paragraph. Intervals are 95 %, bootstrap over pages. All samples are drawn with a fixed seed; half of
the pages (`development`) chose the default, the other half gives the table.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from veridical.knowledge import bm25
from veridical.knowledge.ranking import BM25, Dense, Hybrid, Ranker
from veridical.models.encoders import SentenceEncoder, open_encoder
from veridical.stats import bootstrap
from veridical.types import Passage, Query

WORDS = 120
PASSAGES = 30
"""Longer WiCE pages are left out: they take most of the time."""
WEIGHTS = (0.3, 0.5, 0.7)
DEEP = 100


@dataclass(frozen=True)
class Case:
    page: str
    query: str
    passages: list[Passage]
    right: frozenset[str]


def wice(data: Path) -> Iterator[Case]:
    for line in (data / "wice" / "dev.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        gold = {place for group in row["supporting_sentences"] for place in group}
        groups: list[list[int]] = [[]]
        count = 0
        for place, sentence in enumerate(row["evidence"]):
            size = len(sentence.split())
            if groups[-1] and count + size > WORDS:
                groups.append([])
                count = 0
            groups[-1].append(place)
            count += size
        right = frozenset(str(at) for at, group in enumerate(groups) if gold & set(group))
        if right and 2 <= len(groups) <= PASSAGES:
            texts = (" ".join(row["evidence"][place] for place in group) for group in groups)
            yield Case(row["evidence"][0], row["claim"], _passages("", texts), right)  # its first line is its title


def squad(data: Path, name: str) -> Iterator[tuple[str, list[str], list[tuple[str, int]]]]:
    """Title, paragraphs, questions with the place of their paragraph."""
    if name == "xquad_en":
        for article in json.loads((data / name / "xquad.en.json").read_text(encoding="utf-8"))["data"]:
            parts = article["paragraphs"]
            asked = [(qa["question"], at) for at, part in enumerate(parts) for qa in part["qas"]]
            yield article["title"], [part["context"] for part in parts], asked
        return
    pages: dict[str, list[dict]] = {}
    for row in json.loads((data / name / "squad_val.json").read_text(encoding="utf-8")):
        pages.setdefault(row["title"], []).append(row)
    for title, rows in pages.items():
        asked = [(row["questions"][0]["question"], at) for at, row in enumerate(rows)]
        yield title, [row["context"] for row in rows], asked


def by_page(data: Path, name: str, most: int) -> Iterator[Case]:
    for title, texts, asked in squad(data, name):
        passages = _passages(title, texts)
        for question, at in random.Random(0).sample(asked, min(most, len(asked))):
            yield Case(title, question, passages, frozenset([f"{title}{at}"]))


def everywhere(data: Path, name: str, most: int) -> Iterator[Case]:
    """The best 100 of all paragraphs by BM25, as a search of a whole collection gives them."""
    pages = list(squad(data, name))
    every = [passage for title, texts, _ in pages for passage in _passages(title, texts)]
    index = bm25.Index([f"{passage.title} {passage.text}" for passage in every])
    for title, _, asked in pages:
        for question, at in random.Random(0).sample(asked, min(most, len(asked))):
            found = [
                Passage(id=every[place].id, text=every[place].text, title=every[place].title, score=score)
                for place, score in index.rank(question, DEEP)
                if score
            ]
            yield Case(title, question, found, frozenset([f"{title}{at}"]))


def _passages(title: str, texts) -> list[Passage]:
    return [Passage(id=f"{title}{at}", text=text, title=title.replace("_", " ")) for at, text in enumerate(texts)]


class Once:
    """An encoder that keeps all it has encoded: the rankings compared need the same vectors."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.name, self.identity, self._encoder = encoder.name, encoder.identity, encoder
        self._kept: dict[tuple[str, str], np.ndarray] = {}

    def queries(self, texts):
        return self._all("queries", texts)

    def passages(self, texts):
        return self._all("passages", texts)

    def _all(self, kind, texts):
        new = [text for text in dict.fromkeys(texts) if (kind, text) not in self._kept]
        if new:
            vectors = getattr(self._encoder, kind)(new)
            self._kept |= {(kind, text): vector for text, vector in zip(new, vectors, strict=True)}
        return np.stack([self._kept[kind, text] for text in texts])


async def places(cases: list[Case], ranker: Ranker) -> list[float]:
    """Of each case 1 / the place of the first right passage, 0 if it is not among those given."""
    found = []
    for case in cases:
        ranked = await ranker.rank(Query(text=case.query), case.passages, max(len(case.passages), 1))
        at = next((at for at, passage in enumerate(ranked, 1) if passage.id in case.right), None)
        found.append(1 / at if at else 0.0)
    return found


def rankers(encoder: SentenceEncoder, weights=(0.5,)) -> dict[str, Ranker]:
    made: dict[str, Ranker] = {"BM25": BM25(), "dense": Dense(encoder)}
    for fusion in ("rrf", "sum"):
        for weight in weights:
            made[f"hybrid {fusion}, weight {weight}"] = Hybrid(encoder, fusion=fusion, weight=weight)
    return made


def row(name: str, inverse: list[float], pages: list[str]) -> str:
    values = np.array(inverse)
    numbers = {page: at for at, page in enumerate(dict.fromkeys(pages))}
    clusters = [numbers[page] for page in pages]
    cells = []
    for measure in (*(values >= 1 / k for k in (1, 3, 5)), values):
        low, high = bootstrap(measure.astype(float), clusters) or (measure.mean(), measure.mean())
        cells.append(f"{100 * measure.mean():.1f} ({100 * low:.1f} to {100 * high:.1f})")
    return f"| {name} | {' | '.join(cells)} |"


def seconds(cases: list[Case], ranker: Ranker) -> float:
    started = time.process_time()
    asyncio.run(places(cases, ranker))
    return time.process_time() - started


def main() -> None:
    torch.set_num_threads(1)
    data, encoder = Path(sys.argv[1]), open_encoder("embedded/minilm", device="cpu")
    sets = {
        f"WiCE, passages of the page ({WORDS} words)": list(wice(data)),
        "SQuAD (seal_squad), paragraphs of the page": list(by_page(data, "seal_squad", 12)),
        "SQuAD (xquad_en), paragraphs of the page": list(by_page(data, "xquad_en", 12)),
        "SQuAD (xquad_en), paragraphs of all pages": list(everywhere(data, "xquad_en", 12)),
    }
    made = rankers(Once(encoder), WEIGHTS)
    for title, cases in sets.items():
        development, kept = [], []
        for case in cases:
            (development if random.Random(case.page).random() < 0.5 else kept).append(case)
        pages = [case.page for case in kept]
        mean = np.mean([len(case.passages) for case in kept])
        print(f"\n{title}: {len(kept)} queries, {len(set(pages))} pages, {mean:.1f} candidates on average\n")
        print("| ranking | recall@1 | recall@3 | recall@5 | MRR | development MRR |\n|---|---|---|---|---|---|")
        for name, ranker in made.items():
            chosen = np.mean(asyncio.run(places(development, ranker)))
            print(f"{row(name, asyncio.run(places(kept, ranker)), pages)} {100 * chosen:.1f} |", flush=True)
    print("\n| 1,000 facts, 30 a page of 8 paragraphs | CPU seconds |\n|---|---|")
    page = sets["SQuAD (xquad_en), paragraphs of all pages"]
    texts = [passage for case in page for passage in case.passages]
    texts = list({passage.id: passage for passage in texts}.values())[:64]
    facts = [
        Case("", case.query, texts[8 * (at // 30) : 8 * (at // 30) + 8], frozenset())
        for at, case in enumerate(page[:240])
    ]
    fresh = rankers(encoder)
    for name, ranker in fresh.items():
        print(f"| {name} | {seconds(facts, ranker) * 1000 / len(facts):.1f} |", flush=True)


if __name__ == "__main__":
    main()
