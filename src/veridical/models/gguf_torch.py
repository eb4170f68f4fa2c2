"""A GGUF file's weights as a transformers model in fp32, its vocabulary as a transformers tokenizer.

transformers reads GGUF too, in 78 seconds for a model of 135 million parameters; this takes 4. Of llama.cpp's
architectures only "llama" is read (dense Llama, Mistral, SmolLM, TinyLlama, ...); any other is an error.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .gguf_file import GGUF

_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTER = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_FACTORS = "rope_freqs.weight"
_WINDOW = "llama.context_length"


def check(file: GGUF) -> None:
    """Raises `UsageError` for what `load_model` cannot read, before anything is loaded."""
    architecture = file.need("general.architecture", str)
    if architecture != "llama":
        raise file.wrong(
            f"the architecture {architecture!r} cannot be read into torch (llama can); llamacpp/{file.path} runs it"
        )
    if file.fields.get("llama.expert_count"):
        raise file.wrong(f"a mixture of experts cannot be read into torch; llamacpp/{file.path} runs it")
    scaling = file.fields.get("llama.rope.scaling.type", "none")
    if scaling not in ("none", "linear"):
        raise file.wrong(f"rope scaling {scaling!r} cannot be read into torch; llamacpp/{file.path} runs it")
    heads, width = _positive(file, "attention.head_count"), _positive(file, "embedding_length")
    if file.fields.get("llama.rope.dimension_count", _head(file)) != _head(file):
        raise file.wrong("rope over a part of each head cannot be read into torch")
    if width % heads and "llama.attention.key_length" not in file.fields:
        raise file.wrong(f"{width} columns are not divisible by {heads} heads")


def window(file: GGUF) -> int:
    """Tokens that the model was made for."""
    return _positive(file, "context_length")


def load_model(file: GGUF) -> Any:
    """A `LlamaForCausalLM` on the CPU in fp32, in evaluation mode.

    Raises `UsageError`, naming the file, for another architecture or for tensors that are missing, unknown, of another
    shape or outside of the file.
    """
    check(file)
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    config = transformers.LlamaConfig(**_config(file))
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config)
    wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    state = {name: torch.from_numpy(value) for name, value in _state(file, wanted).items()}
    model.load_state_dict(state, strict=False, assign=True)
    model.tie_weights()
    rotary = type(model.model.rotary_emb)(config)  # its buffers are no weights, and are still on "meta"
    if _FACTORS in file.tensors:
        rotary.inv_freq = rotary.original_inv_freq = rotary.inv_freq / torch.from_numpy(file.weights(_FACTORS))
    model.model.rotary_emb = rotary
    return model.eval()


def _config(file: GGUF) -> dict[str, Any]:
    heads, rows = _positive(file, "attention.head_count"), file.tensors.get("token_embd.weight")
    if rows is None:
        raise file.wrong("tensor token_embd.weight is missing")
    settings = {
        "vocab_size": rows.shape[0],
        "hidden_size": _positive(file, "embedding_length"),
        "intermediate_size": _positive(file, "feed_forward_length"),
        "num_hidden_layers": _positive(file, "block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": _positive(file, "attention.head_count_kv", heads),
        "head_dim": _head(file),
        "max_position_embeddings": window(file),
        "rms_norm_eps": file.need("llama.attention.layer_norm_rms_epsilon", float),
        "rope_theta": file.fields.get("llama.rope.freq_base", 10000.0),
        "attention_bias": any(name.endswith("attn_q.bias") for name in file.tensors),
        "tie_word_embeddings": "output.weight" not in file.tensors,
    }
    if file.fields.get("llama.rope.scaling.type") == "linear":
        factor = file.need("llama.rope.scaling.factor", float)
        settings["rope_scaling"] = {"rope_type": "linear", "factor": factor}
    return settings


def _state(file: GGUF, wanted: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Weights by the names that transformers gives them, each of the shape that is wanted."""
    state: dict[str, np.ndarray] = {}
    heads = _positive(file, "attention.head_count")
    heads_kv = _positive(file, "attention.head_count_kv", heads)
    for name, tensor in file.tensors.items():
        if name == _FACTORS:
            continue
        target = _target(name)
        if target not in wanted:
            raise file.wrong(f"tensor {name} has no place in a llama")
        if tensor.shape != wanted[target]:
            raise file.wrong(f"tensor {name} is {tensor.shape}, not {wanted[target]}")
        value = file.weights(name)
        if ".attn_q." in name or ".attn_k." in name:
            value = _rotated(value, heads if ".attn_q." in name else heads_kv)
        state[target] = value
    if "lm_head.weight" not in state and "model.embed_tokens.weight" in state:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    if missing := sorted(wanted.keys() - state.keys()):
        raise file.wrong(f"{len(missing)} tensors are missing, the first is {missing[0]}")
    return state


def _target(name: str) -> str:
    if name in _OUTER:
        return _OUTER[name]
    block, _, rest = name.partition(".")
    number, _, rest = rest.partition(".")
    part, _, kind = rest.rpartition(".")
    return f"model.layers.{number}.{_LAYER.get(part, part)}.{kind}" if block == "blk" else name


def _rotated(value: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp rotates neighbouring pairs, transformers the two halves: the rows of each head change places."""
    return value.reshape(heads, -1, 2, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)


def _head(file: GGUF) -> int:
    heads = _positive(file, "attention.head_count")
    return _positive(file, "attention.key_length", _positive(file, "embedding_length") // heads or 1)


def _positive(file: GGUF, key: str, default: int | None = None) -> int:
    key = f"llama.{key}"
    value = default if default is not None and key not in file.fields else file.need(key, int)
    if value < 1:
        raise file.wrong(f"{key} is {value}")
    return value
