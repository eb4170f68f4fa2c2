"""What becomes of passages longer than an encoder's window: cut off, or encoded in pieces?

    nice -n 5 python experiments/retrieval/windows.py ../shared/data

Prints Markdown: every second claim of WiCE dev whose page has 3 to 8 passages of up to 256 words; right is a passage
with a supporting sentence.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

from veridical.knowledge import bm25
from veridical.models.embedded import locate
from veridical.models.encoders import STEncoder

WORDS = 256


def passages(sentences: list[str]) -> list[list[int]]:
    groups: list[list[int]] = [[]]
    count = 0
    for place, sentence in enumerate(sentences):
        size = len(sentence.split())
        if groups[-1] and count + size > WORDS:
            groups.append([])
            count = 0
        groups[-1].append(place)
        count += size
    return groups


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def scores(encoder: STEncoder, claim: str, texts: list[str]) -> dict[str, np.ndarray]:
    [query] = encoder.queries([claim])
    whole = [encoder._pieces(text) for text in texts]
    own = np.repeat(np.arange(len(texts)), [len(pieces) for pieces in whole])
    vectors = encoder.passages([piece for pieces in whole for piece in pieces])
    best = np.array([(vectors[own == at] @ query).max() for at in range(len(texts))])
    words = np.zeros(len(texts))
    for place, score in bm25.rank(claim, texts, len(texts)):
        words[place] = score
    return {
        "BM25": words,
        "dense, cut off at the window": encoder.queries(texts) @ query,
        "dense, mean of the pieces": encoder.passages(texts) @ query,
        "dense, the best piece": best,
    }


def main() -> None:
    torch.set_num_threads(1)
    folder = locate("minilm")
    if folder is None:
        sys.exit("veridical models fetch minilm")
    encoder = STEncoder(folder, device="cpu")
    inverse: dict[str, list[float]] = {}
    long = every = 0
    lines = Path(sys.argv[1], "wice", "dev.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines[::2]):
        gold = {place for group in row["supporting_sentences"] for place in group}
        groups = passages(row["evidence"])
        right = np.array([bool(gold & set(group)) for group in groups])
        if not right.any() or not 3 <= len(groups) <= 8:
            continue
        texts = [" ".join(row["evidence"][place] for place in group) for group in groups]
        every += len(texts)
        long += sum(len(encoder._pieces(text)) > 1 for text in texts)
        for name, found in scores(encoder, row["claim"], texts).items():
            order = np.argsort(-found, kind="stable")
            inverse.setdefault(name, []).append(1 / (1 + int(right[order].argmax())))
    print(f"{long} of {every} passages are longer than the window; {len(inverse['BM25'])} claims\n")
    print("| | first | MRR |\n|---|---|---|")
    for name, values in inverse.items():
        print(f"| {name} | {100 * np.mean(np.array(values) == 1):.1f} | {100 * np.mean(values):.1f} |")


if __name__ == "__main__":
    main()
