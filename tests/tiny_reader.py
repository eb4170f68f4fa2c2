"""Makes `reader/`, an encoder of claims and evidence small enough for tests: random weights, words and letters.

.venv/bin/python tests/tiny_reader.py    # needs the extras hf and dev
"""

import json
import string
from pathlib import Path

WORDS = [
    "the",
    "a",
    "of",
    "in",
    "she",
    "was",
    "born",
    "moved",
    "to",
    "painter",
    "varga",
    "ilse",
    "vienna",
    "paris",
    "not",
]


FOLDER = Path(__file__).with_name("reader")


def main(folder: Path = FOLDER) -> None:
    """Writes model.onnx, tokenizer.json and card.json."""
    import onnx
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertForSequenceClassification

    class Logits(torch.nn.Module):
        def __init__(self, model) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids, mask, types):
            return self.model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    letters = [*string.ascii_lowercase, *string.digits, *(f"##{c}" for c in string.ascii_lowercase + string.digits)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *(one for one in letters if one not in WORDS)]
    tokenizer = Tokenizer(WordPiece({token: at for at, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_labels=3,
        intermediate_size=32, max_position_embeddings=224, initializer_range=0.5,
    )  # fmt: skip
    model = Logits(BertForSequenceClassification(config)).eval()
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        model, tuple(torch.ones((2, 8), dtype=torch.int64) for _ in "abc"), folder / "exact.onnx",
        input_names=["input_ids", "attention_mask", "token_type_ids"], output_names=["logits"], dynamo=True,
        dynamic_shapes=(free, free, free), external_data=False, verbose=False,
    )  # fmt: skip
    quantize_dynamic(folder / "exact.onnx", folder / "model.onnx", weight_type=QuantType.QUInt8)
    (folder / "exact.onnx").unlink()
    made = onnx.load(folder / "model.onnx")
    for part in (made, made.graph, *made.graph.node, *made.graph.value_info, *made.graph.initializer):
        part.ClearField("metadata_props")  # where in which file each operation came from
    onnx.save(made, folder / "model.onnx")
    (folder / "card.json").write_text(json.dumps({"name": "tiny-1", "words": 40, "windows": 3}), encoding="utf-8")


if __name__ == "__main__":
    main()
