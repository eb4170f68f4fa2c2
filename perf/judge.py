"""Pairs per second and core of the trained judge: torch in 32 bits and ONNX in eight, side by side, and what changes.

    .venv/bin/python perf/judge.py runs/verifier/a/last/state.safetensors runs/verifier/a/reader

Each way runs in a process of its own, pinned to one core, so that memory is its own; the ways take turns, several
rounds at each length, and the table gives the middle round. Pairs are development pairs of just that many tokens:
evidence and claims of one document after another, cut. Rates are per CPU second and per second of the wall; where the
machine is shared only the former says much. The torch way goes in batches as well. Decisions are of ordinary
development pairs: label by the largest class, and supported or not at the card's threshold.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments" / "verifier"))
LENGTHS = (96, 128, 192)
BATCH = 16
Encoded = tuple[list[int], list[int]]
"""Ids and types."""


def torch_way(checkpoint: Path) -> Callable[[list[Encoded]], np.ndarray]:
    import torch
    from export import restored

    from veridical.models.embedded import home

    torch.set_num_threads(1)
    model = restored(checkpoint, home() / "models" / "minilm")

    def run(pairs: list[Encoded]) -> np.ndarray:
        width = max(len(ids) for ids, _ in pairs)
        table = np.zeros((3, len(pairs), width), np.int64)
        for row, (ids, types) in enumerate(pairs):
            table[0, row, : len(ids)], table[1, row, : len(ids)], table[2, row, : len(ids)] = ids, 1, types
        ids, mask, types = map(torch.from_numpy, table)
        with torch.inference_mode():
            return model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits.numpy()

    return run


def onnx_way(folder: Path) -> Callable[[list[Encoded]], np.ndarray]:
    from veridical.verifiers.cross_encoder import load

    session = load(folder, 1).session

    def run(pairs: list[Encoded]) -> np.ndarray:
        rows = []
        for ids, types in pairs:
            inputs = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types}
            rows.append(session.run(["logits"], {k: np.array([v], np.int64) for k, v in inputs.items()})[0][0])
        return np.array(rows)

    return run


def serve(pipe: Connection, way: str, path: Path) -> None:
    """A way in its own process: answers lists of pairs with logits, seconds, CPU seconds and peak memory (MiB)."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    began = time.perf_counter()
    run = (torch_way if way == "torch" else onnx_way)(path)
    pipe.send(time.perf_counter() - began)
    while (asked := pipe.recv()) is not None:
        pairs, batch = asked
        wall, cpu = time.perf_counter(), time.process_time()
        logits = np.concatenate([run(pairs[at : at + batch]) for at in range(0, len(pairs), batch)])
        spent = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
        pipe.send((logits, *spent, peak))


class Way:
    """One way and its process."""

    def __init__(self, name: str, way: str, path: Path, batch: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.name, self.batch = name, batch
        self.process = context.Process(target=serve, args=(other, way, path), daemon=True)
        self.process.start()
        self.warm: float = self.pipe.recv()

    def __call__(self, pairs: list[Encoded]) -> Any:
        self.pipe.send((pairs, self.batch))
        return self.pipe.recv()

    def stop(self) -> None:
        self.pipe.send(None)
        self.process.join()


def of_length(tokenizer: Any, rows: list[Any], length: int, count: int) -> list[Encoded]:
    """`count` pairs of exactly `length` tokens: evidence goes on into that of the next rows until it is long enough."""
    from tokenizers import Tokenizer

    cut = Tokenizer.from_str(tokenizer.to_str())
    cut.enable_truncation(length, strategy="only_first")
    made: list[Encoded] = []
    at = 0
    while len(made) < count:
        claim, evidence = " ".join(rows[at % len(rows)].claim.split()[:30]), ""
        while len(evidence.split()) < length:
            evidence += " " + rows[at % len(rows)].evidence
            at += 1
        one = cut.encode(evidence, claim)
        made.append((one.ids, one.type_ids))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("reader", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/train_pairs"))
    parser.add_argument("--pairs", type=int, default=64, help="of each length and round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--decisions", type=int, default=1000)
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    from calibrate import documents

    from veridical.verifiers.cross_encoder import load

    reader = load(given.reader, 1)
    rows = documents(given.data)
    ways = [
        Way("torch, 32 bits", "torch", given.checkpoint, 1),
        Way(f"torch, 32 bits, batches of {BATCH}", "torch", given.checkpoint, BATCH),
        Way("ONNX, 8 bits", "onnx", given.reader, 1),
    ]
    print("| tokens | way | pairs per CPU s (lowest, highest) | pairs per s | times torch | peak MiB |\n|" + "---|" * 6)
    for length in LENGTHS:
        pairs = of_length(reader.tokenizer, rows, length, given.pairs)
        spent: dict[str, list[tuple[float, float, float]]] = {way.name: [] for way in ways}
        for number in range(given.rounds + 1):
            for way in ways if number % 2 else ways[::-1]:
                _, wall, cpu, peak = way(pairs)
                if number:  # the first warms up
                    spent[way.name].append((len(pairs) / cpu, len(pairs) / wall, peak))
        for way in ways:
            cpu, wall, peak = (sorted(values) for values in zip(*spent[way.name], strict=True))
            ratios = [a[0] / b[0] for a, b in zip(spent[way.name], spent[ways[0].name], strict=True)]
            print(
                f"| {length} | {way.name} | {statistics.median(cpu):.1f} ({cpu[0]:.1f}, {cpu[-1]:.1f}) | "
                f"{statistics.median(wall):.1f} | {statistics.median(ratios):.2f} | {peak[-1]:.0f} |",
                flush=True,
            )
    encoded = reader.tokenizer.encode_batch([(row.evidence, row.claim) for row in rows[: given.decisions]])
    pairs = [(one.ids, one.type_ids) for one in encoded]
    logits = [way(pairs)[0] for way in (ways[0], ways[2])]
    scaled = [one.astype(float) / reader.card.temperature for one in logits]
    chances = [np.exp(one - np.logaddexp.reduce(one, axis=1, keepdims=True)) for one in scaled]
    other = (chances[0].argmax(1) != chances[1].argmax(1)).mean()
    sides = ((chances[0][:, 0] >= reader.card.threshold) != (chances[1][:, 0] >= reader.card.threshold)).mean()
    size = sum(path.stat().st_size for path in given.reader.iterdir() if path.is_file())
    print(
        json.dumps(
            {
                "decisions": len(pairs),
                "other label": round(float(other), 4),
                "other side of the threshold": round(float(sides), 4),
                "mean change of P(supported)": round(float(np.abs(chances[0][:, 0] - chances[1][:, 0]).mean()), 4),
                "MB": round(size / 1e6, 1),
                "seconds to load": {way.name: round(way.warm, 2) for way in ways},
            }
        )
    )
    for way in ways:
        way.stop()


if __name__ == "__main__":
    main()
