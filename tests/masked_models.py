"""Masked language models made on the spot: random weights, a vocabulary learned from a few sentences."""

from pathlib import Path

import pytest

WORDS = """
Ana Brandt ran the mill in Turin. She sold the mill in 1932 and bought a boat. The river Dora is long and cold.
Beethoven, born in Bonn in 1770, wrote nine symphonies. Turing was not in Turin. Miller's mills were milling flour.
Note: a fact.
"""


def tiny(kind: str, folder: Path, *, positions: int = 96, gain: float = 3.0) -> Path:
    """A "roberta" (byte pairs, <mask>, positions from 2 on) or "bert" (word pieces, [MASK], lower case) in the folder.

    `gain` multiplies the spread of the random weights, so that contexts differ enough to be seen.
    """
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.set_num_threads(1)
    torch.manual_seed(7)
    tokenizer = roberta_tokenizer() if kind == "roberta" else bert_tokenizer()
    sizes = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 48, "initializer_range": 0.02 * gain, "pad_token_id": tokenizer.pad_token_id,
    }  # fmt: skip
    if kind == "roberta":
        config = transformers.RobertaConfig(max_position_embeddings=positions + 2, type_vocab_size=1, **sizes)
        model = transformers.RobertaForMaskedLM(config)
    else:
        model = transformers.BertForMaskedLM(transformers.BertConfig(max_position_embeddings=positions, **sizes))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def roberta_tokenizer():
    import tokenizers
    import transformers

    raw = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    raw.train_from_iterator([WORDS] * 3, vocab_size=380, min_frequency=1, special_tokens=special, show_progress=False)
    raw.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    mask = tokenizers.AddedToken("<mask>", lstrip=True, special=True)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw._tokenizer, bos_token="<s>", eos_token="</s>", sep_token="</s>", cls_token="<s>",
        unk_token="<unk>", pad_token="<pad>", mask_token=mask,
    )  # fmt: skip


def bert_tokenizer():
    import tokenizers
    import transformers

    raw = tokenizers.BertWordPieceTokenizer(lowercase=True)
    raw.train_from_iterator([WORDS], vocab_size=150, min_frequency=1, show_progress=False)
    cls, sep = raw.token_to_id("[CLS]"), raw.token_to_id("[SEP]")
    raw.post_processor = tokenizers.processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw._tokenizer, unk_token="[UNK]", sep_token="[SEP]", cls_token="[CLS]", pad_token="[PAD]",
        mask_token="[MASK]",
    )  # fmt: skip
