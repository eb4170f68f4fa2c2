import asyncio
import re
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tiny_llama
from packaged import smollm2
from veridical.errors import UsageError
from veridical.models import gguf_file, gguf_tokens, gguf_torch
from veridical.models.base import ChatRequest, Message
from veridical.models.hf import HF
from veridical.models.llamacpp import LlamaCpp

gguf = pytest.importorskip("gguf")
torch = pytest.importorskip("torch")
torch.set_num_threads(1)
TWO = ("True", "False")


def ask(text: str, **settings) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), **settings)


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path / "home"))


HEADS, HEADS_KV, WIDTH, LAYERS, INNER = 4, 2, 64, 2, 96


def weights(vocabulary: int, seed: int = 0, *, tied: bool = False, width: int = WIDTH) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    kv = width // HEADS * HEADS_KV
    shapes = {"token_embd": (vocabulary, width), "output_norm": (width,), "output": (vocabulary, width)}
    for n in range(LAYERS):
        shapes |= {f"blk.{n}.{one}_norm": (width,) for one in ("attn", "ffn")}
        shapes |= {f"blk.{n}.attn_q": (width, width), f"blk.{n}.attn_output": (width, width)}
        shapes |= {f"blk.{n}.attn_k": (kv, width), f"blk.{n}.attn_v": (kv, width)}
        shapes |= {f"blk.{n}.ffn_gate": (INNER, width), f"blk.{n}.ffn_up": (INNER, width)}
        shapes |= {f"blk.{n}.ffn_down": (width, INNER)}
    if tied:
        del shapes["output"]
    return {
        f"{name}.weight": (draw.normal(0, 0.3, shape) + (name.endswith("norm"))).astype(np.float32)
        for name, shape in shapes.items()
    }


def write(path, *, arch="llama", tensors=None, quantised=None, template=tiny_llama.TEMPLATE, more=(), without=()):
    """A GGUF file by the `gguf` package's own writer; `more` are calls of it, `without` tensors that are left out."""
    _, vocabulary, merges = tiny_llama.byte_level()
    writer = gguf.GGUFWriter(path, arch)
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS_KV)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(5000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(vocabulary))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(list(vocabulary))
    writer.add_token_types([3, 3, *[1] * (len(vocabulary) - 2)])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(0)
    writer.add_add_bos_token(False)
    if template:
        writer.add_chat_template(template)
    for name, *values in more:
        getattr(writer, name)(*values)
    for name, value in (weights(len(vocabulary)) if tensors is None else tensors).items():
        if name in without:
            continue
        if quantised and value.ndim == 2:
            writer.add_tensor(name, gguf.quants.quantize(value, quantised), raw_dtype=quantised)
        else:
            writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


async def both(path, text="the mill is in a town", **options):
    """The label log-probabilities of transformers and of llama.cpp."""
    pytest.importorskip("xllamacpp")
    ours, theirs = HF(str(path)), LlamaCpp(path, n_ctx=256, threads=1)
    try:
        replies = [await model.chat(ask(text, labels=TWO, **options)) for model in (ours, theirs)]
    finally:
        await asyncio.gather(ours.close(), theirs.close())
    return replies


# Weights


def test_a_written_file_round_trips(tmp_path):
    made = weights(len(tiny_llama.byte_level()[1]))
    file = gguf_file.read(write(tmp_path / "m.gguf"))
    assert file.fields["general.architecture"] == "llama"
    assert file.fields["llama.rope.freq_base"] == 5000.0
    assert file.fields["tokenizer.ggml.add_bos_token"] is False
    for name, value in made.items():
        assert np.array_equal(file.weights(name), value)
    model = gguf_torch.load_model(file)
    assert model.config.num_key_value_heads == HEADS_KV
    assert torch.equal(model.lm_head.weight, torch.from_numpy(made["output.weight"]))
    assert torch.equal(model.model.layers[1].mlp.up_proj.weight, torch.from_numpy(made["blk.1.ffn_up.weight"]))
    assert not any(parameter.is_meta for parameter in (*model.parameters(), *model.buffers()))
    assert all(parameter.dtype is torch.float32 for parameter in model.parameters())


def test_tied_embeddings_are_one_tensor(tmp_path):
    made = weights(len(tiny_llama.byte_level()[1]), tied=True)
    model = gguf_torch.load_model(gguf_file.read(write(tmp_path / "m.gguf", tensors=made)))
    assert model.lm_head.weight is model.model.embed_tokens.weight


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q4_1", "F16", "BF16"])
def test_quantised_weights_are_dequantised(tmp_path, kind):
    quantised = gguf.GGMLQuantizationType[kind]
    made = weights(len(tiny_llama.byte_level()[1]))
    file = gguf_file.read(write(tmp_path / "m.gguf", quantised=quantised))
    value = made["blk.0.ffn_up.weight"]
    expected = gguf.quants.dequantize(gguf.quants.quantize(value, quantised), quantised)
    assert np.array_equal(file.weights("blk.0.ffn_up.weight"), expected)
    gguf_torch.load_model(file)


FACTORS = np.linspace(1, 8, WIDTH // HEADS // 2, dtype=np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "extra"),
    [
        ((), {}),
        ((), {"rope_freqs.weight": FACTORS}),
        ((("add_rope_scaling_type", gguf.RopeScalingType.LINEAR), ("add_rope_scaling_factor", 4.0)), {}),
        ((), {f"blk.{n}.attn_{part}.bias": np.arange(size, dtype=np.float32) / 32
              for n in range(LAYERS) for part, size in (("q", 64), ("k", 32), ("v", 32), ("output", 64))}),
    ],
    ids=["plain", "factors", "linear", "bias"],
)  # fmt: skip
async def test_torch_and_llamacpp_agree_on_fp32_weights(tmp_path, more, extra):
    made = {**weights(len(tiny_llama.byte_level()[1])), **extra}
    ours, theirs = await both(write(tmp_path / "m.gguf", tensors=made, more=more), "the mill is in a town " * 5)
    assert ours.prompt_tokens == theirs.prompt_tokens
    assert dict(ours.logprobs[0].top) == pytest.approx(dict(theirs.logprobs[0].top), abs=0.03)  # it caches keys in fp16


@pytest.mark.slow
async def test_the_packaged_model_in_torch_and_in_llamacpp():
    """llama.cpp rounds activations to eight bits before it multiplies them with 4-bit weights, torch does not."""
    ours, theirs = await both(smollm2(), "Is the sky green? Answer True or False.")
    assert ours.prompt_tokens == theirs.prompt_tokens
    assert dict(ours.logprobs[0].top) == pytest.approx(dict(theirs.logprobs[0].top), abs=0.3)


# Tokens


def test_the_files_tokenizer_and_template(tmp_path):
    file = gguf_file.read(write(tmp_path / "m.gguf"))
    tokenizer = gguf_tokens.load_tokenizer(file)
    built, _, _ = tiny_llama.byte_level()
    for text in ("the statement is True", " a  b\n\n 12é 日", "Verdict: False"):
        assert tokenizer(text)["input_ids"] == built.encode(text).ids
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert tokenizer("<|end|>")["input_ids"] == [0]
    assert tokenizer.chat_template == tiny_llama.TEMPLATE
    assert gguf_tokens.ends(file) == {0}
    again = gguf_tokens.load_tokenizer(gguf_file.read(write(tmp_path / "n.gguf", more=[("add_eot_token_id", 1)])))
    assert again.eos_token == "<|end|>"


def test_a_beginning_of_text_token_is_added_where_the_file_says_so(tmp_path):
    path = write(tmp_path / "m.gguf")
    file = gguf_file.read(path)
    file.fields["tokenizer.ggml.add_bos_token"] = True
    assert gguf_tokens.load_tokenizer(file)("is")["input_ids"][0] == 0
    assert gguf_tokens.load_tokenizer(file)("is", add_special_tokens=False)["input_ids"][0] != 0


def sentencepiece(path):
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    names += ["▁", "T", "r", "u", "e", "a", "l", "s", "F", "i", "t", "h", ":", "▁t", "▁th", "▁the", "▁T", "ru", "rue"]
    names += ["▁True", "▁F", "al", "se", "alse", "▁False", "▁a", "▁i", "▁is", "True"]
    scores = [0.0] * 259 + [-float(place) for place in range(len(names) - 259)]
    tensors = weights(len(names))
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in (
        ("context_length", 256), ("embedding_length", WIDTH), ("block_count", LAYERS), ("feed_forward_length", INNER),
        ("head_count", HEADS), ("head_count_kv", HEADS_KV), ("layer_norm_rms_eps", 1e-5), ("vocab_size", len(names)),
        ("rope_dimension_count", WIDTH // HEADS), ("tokenizer_model", "llama"), ("token_list", names),
        ("token_scores", scores), ("token_types", [2, 3, 3, *[6] * 256, *[1] * (len(names) - 259)]),
        ("bos_token_id", 1), ("eos_token_id", 2), ("unk_token_id", 0),
        ("chat_template", "{{ bos_token }}{% for m in messages %}[{{ m['content'] }}]{% endfor %}"),
    ):  # fmt: skip
        getattr(writer, f"add_{name}")(value)
    for name, value in tensors.items():
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_sentencepiece_vocabulary(tmp_path):
    file = gguf_file.read(sentencepiece(tmp_path / "m.gguf"))
    tokenizer = gguf_tokens.load_tokenizer(file)
    named = tokenizer.convert_ids_to_tokens(tokenizer("the True is é")["input_ids"])
    assert named == ["<s>", "▁the", "▁True", "▁is", "▁", "<0xC3>", "<0xA9>"]
    assert tokenizer.decode(tokenizer("the True is é")["input_ids"], skip_special_tokens=True) == "the True is é"
    assert gguf_tokens.ends(file) == {2}


async def test_tokens_of_replies_keep_their_leading_space(tmp_path):
    """So that the log-probabilities' tokens are the text, and "True" is found in them as a word."""
    model = HF(str(sentencepiece(tmp_path / "m.gguf")))
    await model.chat(ask("the", labels=TWO))
    engine = model._engine
    ids = engine.tokenizer.get_vocab()
    script = iter([ids["▁the"], ids["▁True"], ids["▁"], ids["F"], ids["alse"], ids["</s>"]])

    class Output(dict):
        __getattr__ = dict.__getitem__

    def forward(inputs):
        logits = torch.zeros(1, 1, len(ids))
        logits[0, 0, next(script)] = 9.0
        return Output(logits=logits, cache=None, past_key_values=None)

    engine._forward = forward
    reply = await model.chat(ask("q", max_tokens=9, top_logprobs=2))
    assert reply.text == "the True False"
    assert [token.token for token in reply.logprobs] == [" the", " True", " ", "F", "alse"]
    await model.close()


@pytest.mark.slow
async def test_a_sentencepiece_model_in_torch_and_in_llamacpp(tmp_path):
    for text in ("the True is", "a False: é  is it", "True"):
        ours, theirs = await both(sentencepiece(tmp_path / "m.gguf"), text)
        assert ours.prompt_tokens == theirs.prompt_tokens
        assert dict(ours.logprobs[0].top) == pytest.approx(
            dict(theirs.logprobs[0].top), abs=0.03
        )  # it caches keys in fp16


# What cannot be read


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"arch": "gemma3"}, "architecture 'gemma3' cannot be read into torch"),
        ({"more": [("add_expert_count", 8)]}, "mixture of experts"),
        ({"more": [("add_rope_scaling_type", gguf.RopeScalingType.YARN)]}, "rope scaling 'yarn'"),
        ({"without": ["blk.1.attn_k.weight"]}, "1 tensors are missing, the first is model.layers.1.self_attn.k_proj"),
        ({"without": ["token_embd.weight"]}, "token_embd.weight is missing"),
    ],
)
def test_files_that_are_no_plain_llama(tmp_path, options, words):
    path = write(tmp_path / "odd.gguf", **options)
    with pytest.raises(UsageError, match=rf"odd\.gguf: .*{re.escape(words)}"):
        gguf_torch.load_model(gguf_file.read(path))


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("blk.0.attn_sinks.weight", (4,), "has no place in a llama"),
        ("blk.0.ffn_up.weight", (INNER, 32), r"is \(96, 32\), not \(96, 64\)"),
    ],
)
def test_tensors_that_do_not_belong(tmp_path, name, shape, words):
    made = {**weights(len(tiny_llama.byte_level()[1])), name: np.zeros(shape, np.float32)}
    with pytest.raises(UsageError, match=rf"odd\.gguf: tensor {name} {words}"):
        gguf_torch.load_model(gguf_file.read(write(tmp_path / "odd.gguf", tensors=made)))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("tokenizer.ggml.pre", "never-heard", "pre-tokenizer 'never-heard'"),
        ("tokenizer.ggml.model", "t5", "vocabulary 't5'"),
        ("tokenizer.ggml.tokens", [], "tokens are not texts"),
        ("tokenizer.ggml.token_type", [1], "do not pair up"),
        ("tokenizer.ggml.merges", ["ab"], "merges"),
        ("tokenizer.ggml.merges", ["nobody knows"], "vocabulary cannot be read"),
        ("tokenizer.ggml.merges", None, "tokenizer.ggml.merges is missing"),
    ],
)
def test_vocabularies_that_cannot_be_read(tmp_path, key, value, words):
    file = gguf_file.read(write(tmp_path / "odd.gguf"))
    file.fields[key] = value
    with pytest.raises(UsageError, match=rf"odd\.gguf: .*{words}"):
        gguf_tokens.load_tokenizer(file)


def test_cut_files(tmp_path):
    whole = write(tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "cut.gguf"
    for length in (4, 10, 30, 500, 5000):
        path.write_bytes(whole[:length])
        with pytest.raises(UsageError, match=r"cut\.gguf: damaged"):
            gguf_file.read(path)
    path.write_bytes(whole[:-1000])  # the header is whole
    with pytest.raises(UsageError, match=r"cut\.gguf: tensor .* lies outside of the file"):
        gguf_torch.load_model(gguf_file.read(path))
    path.write_bytes(b"GGUF" + struct.pack("<I", 77) + bytes(100))
    with pytest.raises(UsageError, match="version 77"):
        gguf_file.read(path)
    with pytest.raises(UsageError, match=r"gone\.gguf: No such file"):
        gguf_file.read(tmp_path / "gone.gguf")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "whole.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(8)
    writer.add_token_list(["a", "b"])
    writer.add_tensor("token_embd.weight", np.ones((2, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(place=st.integers(4, 400), byte=st.integers(0, 255), many=st.integers(1, 8))
def test_any_damage_is_a_usage_error_or_harmless(small, place, byte, many):
    data = bytearray(small.read_bytes())
    data[place : place + many] = bytes([byte]) * len(data[place : place + many])
    path = small.with_name("damaged.gguf")
    path.write_bytes(data)
    try:
        file = gguf_file.read(path)
        for name in file.tensors:
            file.weights(name)
        gguf_torch.load_model(file)
    except UsageError as error:
        assert "damaged.gguf" in str(error)
