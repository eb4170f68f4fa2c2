"""Train the cross-encoder that judges a claim by its evidence; resumable at every checkpoint.

    .venv/bin/veridical models fetch minilm
    .venv/bin/python experiments/verifier/swaps.py --out runs/verifier/swaps.jsonl.gz
    .venv/bin/python experiments/verifier/train.py --out runs/verifier/b --pairs 60000 \\
        --extra runs/verifier/swaps.jsonl.gz

The encoder is all-MiniLM-L6-v2 with its word embeddings frozen and a new head of three classes. The learning rate
rises, stays, and falls to zero over the last fifth, so that a longer training may start from the checkpoint before the
fall (`stable/`) instead of from the beginning: give a larger --pairs. One epoch is as many pairs as the mix has;
further ones follow in another order.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from mix import LABELS, Pair, read
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tokenizers import Encoding, Tokenizer
from transformers import BertConfig, BertForSequenceClassification

from veridical.models.embedded import home

BATCH = 32
LONGEST = 224
"""Tokens of claim and evidence together; the evidence is cut."""
BUCKET = 64
"""Batches whose pairs are put in order of length before they are cut into batches."""
WARM, FALL = 0.02, 0.2
"""Shares of the training in which the rate rises and falls."""
KEEP = 50
"""Steps between two checkpoints."""


def start(folder: Path) -> BertForSequenceClassification:
    config = BertConfig.from_pretrained(folder, num_labels=len(LABELS))
    model = BertForSequenceClassification(config)
    weights = {
        f"bert.{name.removeprefix('bert.')}": value for name, value in load_file(folder / "model.safetensors").items()
    }
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert {name.split(".")[0] for name in missing} <= {"classifier"}, missing
    assert all("position_ids" in name for name in unexpected), unexpected
    return model


def tokenizer(folder: Path) -> Tokenizer:
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.no_padding()
    made.enable_truncation(LONGEST, strategy="only_first")
    return made


def order(pairs: int, seed: int, epochs: int) -> Iterator[int]:
    for epoch in range(epochs):
        places = list(range(pairs))
        random.Random(f"{seed} {epoch}").shuffle(places)
        yield from places


def batches(encoded: list[Encoding], places: list[int], seed: int) -> list[list[int]]:
    """Of like length, in random order within each bucket."""
    made: list[list[int]] = []
    for first in range(0, len(places), BATCH * BUCKET):
        bucket = sorted(places[first : first + BATCH * BUCKET], key=lambda place: len(encoded[place].ids))
        cut = [bucket[at : at + BATCH] for at in range(0, len(bucket), BATCH)]
        random.Random(f"{seed} {first}").shuffle(cut)
        made += cut
    return made


def tensors(encoded: list[Encoding], batch: list[int]) -> dict[str, torch.Tensor]:
    width = max(len(encoded[place].ids) for place in batch)
    arrays = {
        name: np.zeros((len(batch), width), np.int64) for name in ("input_ids", "token_type_ids", "attention_mask")
    }
    for row, place in enumerate(batch):
        one = encoded[place]
        size = len(one.ids)
        arrays["input_ids"][row, :size] = one.ids
        arrays["token_type_ids"][row, :size] = one.type_ids
        arrays["attention_mask"][row, :size] = 1
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def loss(logits: torch.Tensor, batch: list[Pair]) -> torch.Tensor:
    """Cross-entropy; of a coarse pair only that it is not supported."""
    likely = logits.log_softmax(-1)
    exact = likely.gather(1, torch.tensor([[pair.label] for pair in batch])).squeeze(1)
    rest = torch.logsumexp(likely[:, 1:], dim=1)
    return -torch.where(torch.tensor([pair.coarse for pair in batch]), rest, exact).mean()


def rate(step: int, steps: int, highest: float) -> float:
    warm, fall = int(steps * WARM) + 1, int(steps * FALL) + 1
    return highest * min(1.0, (step + 1) / warm, (steps - step) / fall)


class Training:
    """Weights, moments and how far it has come, on disk after every KEEP steps."""

    def __init__(self, out: Path, model: BertForSequenceClassification, seed: int) -> None:
        self.out, self.model, self.step = out, model, 0
        self.trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
        plain = [value for name, value in self.trained.items() if value.ndim < 2]
        heavy = [value for name, value in self.trained.items() if value.ndim >= 2]
        self.optimizer = torch.optim.AdamW(
            [{"params": heavy, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
        )
        self.seed = seed

    def save(self, name: str) -> None:
        """Whole or not at all: written beside, then renamed."""
        folder = self.out / name
        folder.mkdir(parents=True, exist_ok=True)
        moments = {
            f"{key}|{parameter}": state[key]
            for parameter, value in self.trained.items()
            if (state := self.optimizer.state.get(value))
            for key in ("exp_avg", "exp_avg_sq")
        }
        save_file(
            {**self.model.state_dict(), **moments}, folder / "new", {"step": str(self.step), "seed": str(self.seed)}
        )
        (folder / "new").replace(folder / "state.safetensors")

    def load(self, name: str) -> bool:
        path = self.out / name / "state.safetensors"
        if not path.exists():
            return False
        state = load_file(path)
        self.model.load_state_dict({key: value for key, value in state.items() if "|" not in key})
        self.step = step_of(path)
        for parameter, value in self.trained.items():
            self.optimizer.state[value] = {
                "step": torch.tensor(float(self.step)),
                "exp_avg": state[f"exp_avg|{parameter}"],
                "exp_avg_sq": state[f"exp_avg_sq|{parameter}"],
            }
        return True


def step_of(path: Path) -> int:
    with safe_open(path, "pt") as file:
        return int(file.metadata()["step"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/train_pairs"))
    parser.add_argument("--extra", type=Path, help="further pairs, such as swaps.py writes")
    parser.add_argument("--encoder", type=Path, default=home() / "models" / "minilm")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=60_000)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--train-embeddings", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    pairs = list(read(given.data, "train", extra=given.extra))
    reader = tokenizer(given.encoder)
    encoded = reader.encode_batch([(pair.evidence, pair.claim) for pair in pairs])
    places = list(order(len(pairs), given.seed, given.pairs // len(pairs) + 1))[: given.pairs]
    plan = batches(encoded, places, given.seed)
    model = start(given.encoder)
    if not given.train_embeddings:
        model.bert.embeddings.word_embeddings.weight.requires_grad = False
    training = Training(given.out, model, given.seed)
    falls = len(plan) - int(len(plan) * FALL)
    asked = json.dumps({"pairs": given.pairs, "seed": given.seed, "rate": given.rate, "rows": len(pairs)})
    note = given.out / "plan.json"
    same = note.exists() and note.read_text(encoding="utf-8") == asked
    training.load("last" if same else "stable")
    note.write_text(asked, encoding="utf-8")
    print(f"{len(pairs)} pairs, {len(plan)} steps, from step {training.step}", flush=True)
    model.train()
    began, seen, words, total = time.monotonic(), 0, 0, 0.0
    with (given.out / "log.jsonl").open("a", encoding="utf-8") as log:
        while training.step < len(plan):
            batch = plan[training.step]
            torch.manual_seed(given.seed * 1_000_003 + training.step)  # the same dropout after a resume
            inputs = tensors(encoded, batch)
            out = loss(model(**inputs).logits, [pairs[place] for place in batch])
            out.backward()
            torch.nn.utils.clip_grad_norm_(training.trained.values(), 1.0)
            for group in training.optimizer.param_groups:
                group["lr"] = rate(training.step, len(plan), given.rate)
            training.optimizer.step()
            training.optimizer.zero_grad(set_to_none=True)
            training.step += 1
            seen, words, total = (
                seen + len(batch),
                words + int(inputs["attention_mask"].sum()),
                total + out.item() * len(batch),
            )
            if training.step % KEEP == 0 or training.step == len(plan):
                seconds = time.monotonic() - began
                row = {"step": training.step, "loss": round(total / seen, 4), "pairs/s": round(seen / seconds, 2)}
                row |= {"tokens/s": round(words / seconds), "cpu": round(time.process_time())}
                log.write(json.dumps(row) + "\n")
                log.flush()
                print(row, flush=True)
                training.save("last")
                began, seen, words, total = time.monotonic(), 0, 0, 0.0
            if training.step == falls:
                training.save("stable")
    model.save_pretrained(given.out / "model", safe_serialization=True)
    (given.out / "done.json").write_text(json.dumps({"steps": len(plan), "pairs": len(places), "seed": given.seed}))


if __name__ == "__main__":
    main()
