"""A tiny random Llama with a tokenizer of its own, made on the spot."""

from pathlib import Path

import pytest

WORDS = [
    "the",
    "statement",
    "is",
    "True",
    "or",
    "False",
    "and",
    "Verdict",
    "water",
    "mill",
    "river",
    "of",
    "a",
    "town",
    "in",
]
TEMPLATE = (
    "{% for message in messages %}<|turn|>{{ message['role'] }}\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
SPECIAL = ["<|end|>", "<|turn|>"]


def byte_level(words=WORDS):
    """A byte-level BPE tokenizer in which each word is a token, with a leading space and without."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: place for place, token in enumerate([*SPECIAL, *alphabet])}
    merges = []
    for word in words:
        for left, right in [(word[:end], word[end]) for end in range(1, len(word))] + [("Ġ", word)]:
            if left + right not in vocabulary:
                vocabulary[left + right] = len(vocabulary)
                merges.append((left, right))
    built = Tokenizer(models.BPE(vocabulary, merges))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    return built, vocabulary, merges


def save(folder: Path, *, template: str | None = TEMPLATE, seed: int = 0, window: int = 256, words=WORDS) -> Path:
    """A folder as `save_pretrained` writes it."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    built, vocabulary, _ = byte_level(words)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=built, eos_token="<|end|>", extra_special_tokens=["<|turn|>"]
    )
    tokenizer.chat_template = template
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=window,
        eos_token_id=0,
        bos_token_id=None,
        initializer_range=0.3,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
