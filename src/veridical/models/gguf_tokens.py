"""A GGUF file's vocabulary as a transformers tokenizer: byte-level BPE ("gpt2") and SentencePiece BPE ("llama")."""

from __future__ import annotations

import importlib
from typing import Any

from .gguf_file import GGUF

_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6
_ENDS = ("<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "<end_of_turn>", "</s>")
"""Names of control tokens that end a turn in any model; files name only one of theirs."""
_TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_HEAD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_LLAMA3 = rf"{_HEAD}\p{{N}}{{1,3}}|{_TAIL}"
_QWEN2 = rf"{_HEAD}\p{{N}}|{_TAIL}"
_PLAIN = ("gpt-2", "mpt", "olmo", "jais", "phi-2")
_DIGITS = ("smollm", "starcoder", "refact", "command-r", "codeshell")
_REGEX = {"llama3": _LLAMA3, "llama-v3": _LLAMA3, "llama-bpe": _LLAMA3, "qwen2": _QWEN2}


def check(file: GGUF) -> None:
    """Raises `UsageError` for a vocabulary that `load_tokenizer` cannot read."""
    tokens, kinds = file.need("tokenizer.ggml.tokens", list), file.fields.get("tokenizer.ggml.token_type")
    model = file.need("tokenizer.ggml.model", str)
    if not tokens or not all(isinstance(token, str) for token in tokens):
        raise file.wrong("its tokens are not texts")
    if kinds is not None and (not isinstance(kinds, list) or len(kinds) != len(tokens)):
        raise file.wrong("tokens and their types do not pair up")
    if model == "gpt2":
        pre = file.need("tokenizer.ggml.pre", str)
        if pre not in (*_PLAIN, *_DIGITS, *_REGEX):
            raise file.wrong(f"the pre-tokenizer {pre!r} cannot be read into torch; llamacpp/{file.path} runs it")
        if not all(isinstance(merge, str) and " " in merge for merge in file.need("tokenizer.ggml.merges", list)):
            raise file.wrong("its merges are not pairs of texts")
    elif model == "llama":
        if len(file.need("tokenizer.ggml.scores", list)) != len(tokens):
            raise file.wrong("tokens and their scores do not pair up")
    else:
        raise file.wrong(f"the vocabulary {model!r} cannot be read into torch; llamacpp/{file.path} runs it")


def load_tokenizer(file: GGUF) -> Any:
    """A `PreTrainedTokenizerFast` with the file's chat template. Raises `UsageError` for other vocabularies."""
    check(file)
    tokenizers: Any = importlib.import_module("tokenizers")
    transformers: Any = importlib.import_module("transformers")
    model = file.fields["tokenizer.ggml.model"]
    try:
        built = _byte_level(file, tokenizers) if model == "gpt2" else _sentencepiece(file, tokenizers)
    except Exception as error:  # the library raises plain Exception
        raise file.wrong(f"its vocabulary cannot be read: {error}") from error
    kinds = file.fields.get("tokenizer.ggml.token_type") or []
    for token, kind in zip(file.fields["tokenizer.ggml.tokens"], kinds, strict=False):
        if kind in (_CONTROL, _USER):
            built.add_special_tokens([tokenizers.AddedToken(token, special=kind == _CONTROL, normalized=False)])
    roles = {role: _token(file, key) for role, key in _ROLES.items()}
    if file.fields.get("tokenizer.ggml.add_bos_token", model == "llama") and roles["bos_token"]:
        name, number = roles["bos_token"], file.fields["tokenizer.ggml.bos_token_id"]
        built.post_processor = tokenizers.processors.TemplateProcessing(
            single=f"{name} $A", special_tokens=[(name, number)]
        )
    named = {role: token for role, token in roles.items() if token}
    template = file.fields.get("tokenizer.chat_template")
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=built, clean_up_tokenization_spaces=False, **named)
    made.chat_template = template if isinstance(template, str) and template else None
    return made


def ends(file: GGUF) -> frozenset[int]:
    """Tokens at which a turn ends."""
    tokens = file.need("tokenizer.ggml.tokens", list)
    kinds = file.fields.get("tokenizer.ggml.token_type") or [_NORMAL] * len(tokens)
    named = {place for place, token in enumerate(tokens) if token in _ENDS and kinds[place] == _CONTROL}
    given = (file.fields.get(f"tokenizer.ggml.{key}_token_id") for key in ("eos", "eot", "eom"))
    return frozenset(named | {number for number in given if isinstance(number, int)})


_ROLES = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown"}


def _token(file: GGUF, role: str) -> str | None:
    number, tokens = file.fields.get(f"tokenizer.ggml.{role}_token_id"), file.fields["tokenizer.ggml.tokens"]
    return tokens[number] if isinstance(number, int) and 0 <= number < len(tokens) else None


def _vocabulary(file: GGUF) -> dict[str, int]:
    return {token: place for place, token in enumerate(file.fields["tokenizer.ggml.tokens"])}


def _byte_level(file: GGUF, tokenizers: Any) -> Any:
    pre, split = file.fields["tokenizer.ggml.pre"], tokenizers.pre_tokenizers
    merges = [tuple(merge.split(" ", 1)) for merge in file.fields["tokenizer.ggml.merges"]]
    whole = pre in _REGEX and _REGEX[pre] is _LLAMA3  # words of the vocabulary are tokens whatever the merges say
    built = tokenizers.Tokenizer(tokenizers.models.BPE(_vocabulary(file), merges, ignore_merges=whole))
    if pre in _REGEX:
        first = [split.Split(tokenizers.Regex(_REGEX[pre]), "isolated")]
    else:
        first = [split.Digits(individual_digits=True)] if pre in _DIGITS else []
    last = split.ByteLevel(add_prefix_space=False, use_regex=pre not in _REGEX)
    built.pre_tokenizer = split.Sequence([*first, last])
    built.decoder = tokenizers.decoders.ByteLevel()
    return built


def _sentencepiece(file: GGUF, tokenizers: Any) -> Any:
    """BPE whose merges are all pairs of tokens that make a token, the best score first."""
    scores, vocabulary = file.fields["tokenizer.ggml.scores"], _vocabulary(file)
    kinds = file.fields.get("tokenizer.ggml.token_type") or [_NORMAL] * len(scores)
    merges = [
        (-scores[place], len(token[:cut]), token[:cut], token[cut:])
        for token, place in vocabulary.items()
        if kinds[place] in (_NORMAL, _USER, _UNUSED)
        for cut in range(1, len(token))
        if token[:cut] in vocabulary and token[cut:] in vocabulary
    ]
    merges.sort(key=lambda merge: (merge[0], vocabulary[merge[2]], vocabulary[merge[3]]))
    pairs = [(left, right) for _, _, left, right in merges]
    unknown = _token(file, "unknown")
    fallback = any(kind == _BYTE for kind in kinds)
    built = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocabulary, pairs, unk_token=unknown, fuse_unk=True, byte_fallback=fallback)
    )
    space = file.fields.get("tokenizer.ggml.add_space_prefix", True)
    normal, decode = tokenizers.normalizers, tokenizers.decoders
    built.normalizer = normal.Sequence([*([normal.Prepend("▁")] if space else []), normal.Replace(" ", "▁")])
    parts = [decode.Replace("▁", " "), decode.ByteFallback(), decode.Fuse()]
    built.decoder = decode.Sequence([*parts, *([decode.Strip(" ", 1, 0)] if space else [])])
    return built
