"""A sentence encoder small enough for tests: random BERT weights, a vocabulary of words and letters."""

import json
import string
from pathlib import Path

WORDS = ["the", "a", "of", "in", "she", "was", "born", "sold", "mill", "river", "long", "ana", "brandt"]
WORDS += ["query", "passage", ":", "cat", "kitten"]


def tiny_encoder(folder: Path, *, window: int = 16, unit: bool = True, prompts: dict[str, str] | None = None) -> Path:
    """Writes it as sentence-transformers does; returns the folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(7)
    letters = [*string.ascii_lowercase, *string.digits, *(f"##{letter}" for letter in string.ascii_lowercase)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *(t for t in letters if t not in WORDS)]
    tokenizer = Tokenizer(WordPiece({token: at for at, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=64, **{f"{key}_token": token for key, token in names.items()}
    )
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder / "bert")
    fast.save_pretrained(folder / "bert")
    body = Transformer(str(folder / "bert"), max_seq_length=window)
    modules = [body, Pooling(16, pooling_mode="mean"), *([Normalize()] if unit else [])]
    made = SentenceTransformer(modules=modules, device="cpu", prompts=prompts)
    made.save(str(folder / "encoder"))
    return folder / "encoder"


def edit(folder: Path, name: str, **values) -> None:
    """Change settings in one of its JSON files."""
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")
