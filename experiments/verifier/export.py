"""A checkpoint of train.py as the folder that the package reads: ONNX, eight bits a weight, tokenizer, card.

    .venv/bin/python experiments/verifier/export.py runs/verifier/a/last/state.safetensors --out runs/verifier/a/reader

Converts to ONNX in 32 bits, quantises dynamically in each of the ways asked for (--ways), prints of each its size and
the share of decisions on development pairs that differ from those of 32 bits, and keeps --keep. Then the temperature
and the thresholds are found on documents that no table reports (calibrate.py) and written into card.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np
import onnx
import torch
from calibrate import calibrated, documents
from mix import LABELS, WORDS
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.torch import load_file
from train import LONGEST
from transformers import BertConfig, BertForSequenceClassification

from veridical.models.embedded import home
from veridical.verifiers.cross_encoder import Card, CrossEncoder, load

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
MOST_BYTES = 30_000_000
WAYS = ("int8", "channels", "uint8", "uint8-channels", "seven-bit-channels", "channels-fp32-embeddings")
"""channels: a scale for each column of a weight. int8: signed weights, whose products processors without VNNI cut at 16
bits, so that results hang on the machine; unsigned weights and seven-bit ones came out exact (README.md). Pooler and
classifier stay in 32 bits: the quantiser leaves Gemm alone."""


class Logits(torch.nn.Module):
    """The model with its inputs by place and its logits alone."""

    def __init__(self, model: BertForSequenceClassification) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits


def restored(checkpoint: Path, encoder: Path) -> BertForSequenceClassification:
    """The model of a checkpoint, without the optimizer's moments, ready to judge."""
    model = BertForSequenceClassification(BertConfig.from_pretrained(encoder, num_labels=len(LABELS)))
    model.load_state_dict({name: value for name, value in load_file(checkpoint).items() if "|" not in name})
    return model.eval()


def to_onnx(model: BertForSequenceClassification, path: Path) -> None:
    """float32, any number of pairs of any length, one file."""
    example = tuple(torch.ones((2, 16), dtype=torch.int64) for _ in INPUTS)
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        Logits(model).eval(),
        example,
        path,
        input_names=INPUTS,
        output_names=["logits"],
        dynamo=True,
        dynamic_shapes=(free, free, free),
        external_data=False,
        verbose=False,
    )
    made = onnx.load(path)
    for part in (made, made.graph, *made.graph.node, *made.graph.value_info, *made.graph.initializer):
        part.ClearField("metadata_props")  # which line of which file on this machine each operation came from
    onnx.save(made, path)


def quantise(source: Path, target: Path, way: str) -> None:
    """Weights in eight bits; activations are scaled at run time. `way` is one of WAYS, or "fp32" for a copy."""
    if way == "fp32":
        shutil.copyfile(source, target)
        return
    quantize_dynamic(
        source,
        target,
        op_types_to_quantize=["MatMul", *([] if "fp32-embeddings" in way else ["Gather"])],
        per_channel="channels" in way,
        reduce_range="seven-bit" in way,
        weight_type=QuantType.QUInt8 if "uint8" in way else QuantType.QInt8,
    )


def write_card(folder: Path, card: Card) -> None:
    text = json.dumps(msgspec.to_builtins(card), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "card.json").write_text(text + "\n", encoding="utf-8")


def reader_in(folder: Path) -> CrossEncoder:
    load.cache_clear()
    return load(folder, 1)


def compared(folders: dict[str, Path], pairs: list[tuple[str, str]]) -> None:
    """Prints of each way its size, its speed here, and how often it decides otherwise than 32 bits do."""
    print(
        "| way | MB | CPU ms a pair | other label | supported or not differs | largest, mean change of P(supported) |"
    )
    print("|" + "---|" * 6)
    exact: np.ndarray | None = None
    for way, folder in folders.items():
        reader = reader_in(folder)
        began = time.process_time()
        logs = reader.read(pairs)
        spent = time.process_time() - began
        exact = logs if exact is None else exact
        moved = np.abs(np.exp(logs[:, 0]) - np.exp(exact[:, 0]))
        other = (logs.argmax(1) != exact.argmax(1)).mean()
        sides = ((logs[:, 0] > np.log(0.5)) != (exact[:, 0] > np.log(0.5))).mean()
        size = (folder / "model.onnx").stat().st_size / 1e6
        print(
            f"| {way} | {size:.1f} | {1000 * spent / len(pairs):.1f} | {other:.3f} | {sides:.3f} "
            f"| {moved.max():.3f}, {moved.mean():.4f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="reader-1")
    parser.add_argument("--encoder", type=Path, default=home() / "models" / "minilm")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/train_pairs"))
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    parser.add_argument("--keep", default="uint8-channels", choices=("fp32", *WAYS))
    parser.add_argument("--compare", type=int, default=1000, help="development pairs on which the ways are compared")
    parser.add_argument("--calibrate", type=int, default=4000, help="pairs for temperature and thresholds; 0: none")
    given = parser.parse_args()
    torch.set_num_threads(1)
    ways = tuple(dict.fromkeys(("fp32", *given.ways, given.keep)))
    rows = documents(given.data)
    card = Card(name=given.name, longest=LONGEST, words=WORDS)
    with tempfile.TemporaryDirectory(dir=given.out.parent) as scratch:
        exact = Path(scratch) / "exact.onnx"
        to_onnx(restored(given.checkpoint, given.encoder), exact)
        folders = {way: Path(scratch) / way for way in ways}
        for way, folder in folders.items():
            folder.mkdir()
            quantise(exact, folder / "model.onnx", way)
            shutil.copyfile(given.encoder / "tokenizer.json", folder / "tokenizer.json")
            write_card(folder, card)
        compared(folders, [(row.evidence, row.claim) for row in rows[: given.compare]])
        kept = folders[given.keep]
        if given.calibrate:
            write_card(kept, calibrated(reader_in(kept), rows[: given.calibrate]))
        given.out.mkdir(parents=True, exist_ok=True)
        for path in kept.iterdir():
            shutil.copyfile(path, given.out / f".{path.name}")
            os.replace(given.out / f".{path.name}", given.out / path.name)  # noqa: PTH105
    reader = reader_in(given.out)
    total = sum((given.out / name).stat().st_size for name in ("model.onnx", "tokenizer.json", "card.json"))
    print(f"{given.out}: {given.keep}, {total / 1e6:.1f} MB, {reader.fingerprint}, {reader.card}")
    if total > MOST_BYTES:
        raise SystemExit(f"larger than {MOST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
