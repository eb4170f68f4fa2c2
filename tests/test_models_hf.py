import asyncio
import importlib.util
import math
import sys
import threading
from collections import Counter

import pytest

import tiny_llama
from veridical.errors import FatalError, ModelError, UsageError
from veridical.models import hf_weights
from veridical.models.base import ChatRequest, Message
from veridical.models.cache import CallStore
from veridical.models.factory import open_model
from veridical.models.hf import HF
from veridical.models.labels import label_probability
from veridical.models.probe import gives_logits, gives_logprobs

TWO = ("True", "False")


def ask(*texts: str, **settings) -> ChatRequest:
    return ChatRequest(messages=tuple(Message(role="user", content=text) for text in texts), **settings)


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_llama.save(tmp_path_factory.mktemp("tiny") / "tiny")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return tiny_llama.save(tmp_path_factory.mktemp("plain") / "plain", template=None)


@pytest.fixture
async def model(folder):
    model = HF(str(folder))
    yield model
    await model.close()


def true(reply) -> float:
    probability = label_probability(reply, ("True",), ("False",))
    assert probability is not None
    return probability


# Label logits


async def logits_by_hand(folder, text: str) -> dict[str, float]:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        row = transformers.AutoModelForCausalLM.from_pretrained(folder)(torch.tensor([ids])).logits[0, -1]
    vocabulary = tokenizer.get_vocab()
    return {token: row[place].item() for token, place in vocabulary.items()}


def both(logits, label: str) -> float:
    """Of the label's two spellings together."""
    return math.log(math.exp(logits[label]) + math.exp(logits[f"Ġ{label}"]))


@pytest.mark.parametrize("said", ["the statement", "water is a river?", "one\n\nword"])
async def test_a7_the_likelier_label_by_the_logits_of_its_first_token(folder, model, said):
    reply = await model.chat(ask(said, labels=TWO))
    logits = await logits_by_hand(folder, f"<|turn|>user\n{said}<|end|>\n<|turn|>assistant\n")
    [token] = reply.logprobs
    top = dict(token.top)
    assert list(top) == sorted(TWO, key=top.__getitem__, reverse=True)
    assert sum(map(math.exp, top.values())) == pytest.approx(1.0)
    assert top["True"] - top["False"] == pytest.approx(both(logits, "True") - both(logits, "False"), abs=1e-4)
    assert reply.text == token.token == next(iter(top))
    assert true(reply) == pytest.approx(math.exp(top["True"]))
    assert (reply.completion_tokens, reply.finish_reason, reply.cost) == (0, "stop", 0.0)
    assert reply.prompt_tokens > 5


async def test_a_label_is_as_likely_as_its_spellings_together(folder):
    """So nothing jumps where a model is of two minds about the space."""
    import torch

    engine = hf_weights.load(hf_weights.find(str(folder)), "cpu", "float32", None)
    ids = engine.tokenizer.get_vocab()
    job = engine.job(ask("q", labels=TWO))
    assert job.spellings == ((ids["True"], ids["False"]), (ids["ĠTrue"], ids["ĠFalse"]))
    row = torch.zeros(len(ids), dtype=torch.float64)
    row[ids["True"]], row[ids["False"]], row[ids["ĠTrue"]], row[ids["ĠFalse"]] = 1.0, 3.0, 2.0, -1.0
    odds = math.log((math.e + math.e**2) / (math.e**3 + math.e**-1))
    found = engine._compared(job, row)
    assert found[0] - found[1] == pytest.approx(odds)
    assert sum(map(math.exp, found)) == pytest.approx(1.0)


async def test_a_template_less_model_reads_the_texts_themselves(plain):
    model = HF(str(plain))
    reply = await model.chat(ask("water is a river\nVerdict:", labels=TWO))
    logits = await logits_by_hand(plain, "water is a river\nVerdict:")
    top = dict(reply.logprobs[0].top)
    assert top["True"] - top["False"] == pytest.approx(both(logits, "True") - both(logits, "False"), abs=1e-4)
    engine = model._engine
    assert engine.job(ask("water is", "a river")).prompt == engine.job(ask("water is\n\na river")).prompt
    await model.close()


async def test_labels_that_begin_alike_are_an_error_of_their_own(model):
    alike, well = await asyncio.gather(
        model.chat(ask("q", labels=("True", "True or"))), model.chat(ask("q", labels=TWO)), return_exceptions=True
    )
    assert isinstance(alike, ModelError) and "begin with the same token" in str(alike)
    assert well.text in TWO
    with pytest.raises(ModelError):
        await model.chat(ask("q", labels=("True",)))


async def test_three_labels(model):
    reply = await model.chat(ask("q", labels=("True", "False", "water")))
    assert {name for name, _ in reply.logprobs[0].top} == {"True", "False", "water"}


async def test_sentencepiece_labels_have_their_two_spellings(folder):
    """ "True" at a text's start is "▁True" there, though "True" follows a line break."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers

    names = ["<unk>", "▁", "T", "F", "a", ":", "\n", ".", "▁T", "▁F", "q"]
    vocabulary = {name: place for place, name in enumerate(names)}
    built = Tokenizer(models.BPE(vocabulary, [("▁", "T"), ("▁", "F")], unk_token="<unk>"))
    built.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    engine = hf_weights.load(hf_weights.find(str(folder)), "cpu", "float32", None)
    engine.tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=built, unk_token="<unk>")
    assert engine.job(ask("q", labels=("Ta", "Fa"))).spellings == ((2, 3), (8, 9))


# Batches


async def test_a_request_alone_and_in_a_batch_gives_the_same(folder):
    texts = ["a", "the mill is in a town " * 9, "water", "is the river of water? " * 3, "x" * 60]
    together, alone = HF(str(folder)), HF(str(folder), max_batch=1)
    sizes = Counter()
    batches = await asyncio.gather(*[together.chat(ask(text, labels=TWO)) for text in texts])
    watched = together._engine.compare
    together._engine.compare = lambda jobs: sizes.update([len(jobs)]) or watched(jobs)
    again = await asyncio.gather(*[together.chat(ask(text, labels=TWO)) for text in texts])
    assert max(sizes) > 1  # they did share a pass
    for text, one, two in zip(texts, batches, again, strict=True):
        single = await alone.chat(ask(text, labels=TWO))
        assert true(one) == pytest.approx(true(single), abs=1e-4)
        assert true(two) == pytest.approx(true(single), abs=1e-4)
    await together.close()
    await alone.close()


async def test_texts_alone_and_in_a_batch_are_the_same(folder):
    together, alone = HF(str(folder)), HF(str(folder), max_batch=1)
    requests = [
        ask("a mill", max_tokens=9, top_logprobs=4),
        ask("the mill is in a town " * 6, max_tokens=14, temperature=1.0, seed=3),
        ask("water", max_tokens=3, temperature=0.7, top_p=0.5, seed=3),
        ask("the river " * 3, max_tokens=20, temperature=1.0, seed=3, sample=1),
    ]
    batch = await asyncio.gather(*map(together.chat, requests))
    for request, reply in zip(requests, batch, strict=True):
        single = await alone.chat(request)
        assert (reply.text, reply.finish_reason) == (single.text, single.finish_reason)
        assert reply.completion_tokens <= request.max_tokens
    await together.close()
    await alone.close()


@pytest.mark.parametrize("kind", ["GPT2", "Mistral", "OPT", "Bloom"])
async def test_padding_does_not_matter_to_other_architectures(tmp_path, kind):
    """Learned positions, a sliding window shorter than the padding, positions with an offset, no positions at all."""
    import torch
    import transformers

    folder = tiny_llama.save(tmp_path / "m")
    size = transformers.AutoTokenizer.from_pretrained(folder).vocab_size
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 256}
    shape |= {"vocab_size": size + 2, "eos_token_id": 0, "bos_token_id": None, "pad_token_id": None}
    special = {
        "Mistral": {"sliding_window": 8, "intermediate_size": 48, "num_key_value_heads": 2},
        "OPT": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    }
    config = getattr(transformers, f"{kind}Config")(**shape, **special.get(kind, {}))
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    together, alone = HF(str(folder), window=256), HF(str(folder), window=256, max_batch=1)
    requests = [ask(text, labels=TWO) for text in ("a", "the mill is in a town " * 9, "water is " * 4)]
    requests += [ask(text, max_tokens=8, seed=2, temperature=1.0) for text in ("a", "the mill is in a town " * 9)]
    batch = await asyncio.gather(*map(together.chat, requests))
    for request, reply in zip(requests, batch, strict=True):
        single = await alone.chat(request)
        assert reply.text == single.text
        assert not request.labels or true(reply) == pytest.approx(true(single), abs=1e-4)
    await together.close()
    await alone.close()


async def test_batches_keep_their_bounds(folder):
    model = HF(str(folder), max_batch=3, max_batch_tokens=100)
    await model.chat(ask("a", labels=TWO))
    seen = []
    compare, generate = model._engine.compare, model._engine.generate
    model._engine.compare = lambda jobs: seen.append(jobs) or compare(jobs)
    model._engine.generate = lambda jobs: seen.append(jobs) or generate(jobs)
    requests = [ask("water " * (1 + n % 7), labels=TWO) for n in range(11)]
    requests += [ask("water " * n, max_tokens=5) for n in range(1, 8)] + [ask("water " * 99, labels=TWO)]
    replies = await asyncio.gather(*map(model.chat, requests), return_exceptions=True)
    assert sum(isinstance(reply, ModelError) for reply in replies) <= 7  # a random model may say nothing
    assert sum(map(len, seen)) == len(requests)
    for jobs in seen:
        assert len({bool(job.request.labels) for job in jobs}) == 1
        assert len(jobs) <= 3
        sizes = [len(job.prompt) + (0 if job.request.labels else 5) for job in jobs]
        assert len(jobs) == 1 or max(sizes) * len(jobs) <= 100
    await model.close()


async def test_out_of_memory_halves_the_batch_and_one_items_trouble_is_its_own(folder):
    model = HF(str(folder))
    await model.chat(ask("a", labels=TWO))
    compare = model._engine.compare
    seen = []

    def small(jobs):
        seen.append(len(jobs))
        if len(jobs) > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate")
        if any("bad" in job.request.messages[0].content for job in jobs):
            raise IndexError("index out of range in self")
        return compare(jobs)

    model._engine.compare = small
    texts = ["a", "bad", "c", "d", "e", "f"]
    replies = await asyncio.gather(*[model.chat(ask(text, labels=TWO)) for text in texts], return_exceptions=True)
    assert [isinstance(reply, ModelError) for reply in replies] == [text == "bad" for text in texts]
    assert "index out of range" in str(replies[1])
    assert max(seen) > 2
    assert model.max_batch_tokens < 8192  # later ones are smaller from the start
    await model.close()


async def test_a_cancelled_waiter_breaks_nobodys_batch(folder):
    model = HF(str(folder))
    calls = [asyncio.create_task(model.chat(ask(f"{n}", labels=TWO))) for n in range(6)]
    await asyncio.sleep(0)
    calls[0].cancel()
    await asyncio.sleep(0.01)
    calls[4].cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(outcome, asyncio.CancelledError) for outcome in outcomes] == [n in (0, 4) for n in range(6)]
    assert all(outcomes[n].text in TWO for n in (1, 2, 3, 5))
    await model.close()


def test_one_model_serves_several_event_loops(folder):
    model = HF(str(folder))
    first = asyncio.run(model.chat(ask("a", labels=TWO)))
    assert true(asyncio.run(model.chat(ask("a", labels=TWO)))) == pytest.approx(true(first), abs=1e-6)
    asyncio.run(model.close())


# Texts


async def test_the_window_is_checked_before_any_work(folder, monkeypatch):
    model = HF(str(folder), window=20)
    await model.chat(ask("a", labels=TWO))
    monkeypatch.setattr(model._engine, "_forward", lambda inputs: pytest.fail("it ran"))
    for settings in ({"labels": TWO}, {"max_tokens": 1}):
        with pytest.raises(ModelError, match=r"the prompt has \d+ tokens, the model's window is 20"):
            await model.chat(ask("water " * 40, **settings))
    await model.close()


async def test_an_answer_that_fills_the_window_is_no_answer(folder):
    model = HF(str(folder), window=30)
    with pytest.raises(ModelError, match="did not end within the model's window of 30"):
        await model.chat(ask("water", max_tokens=5000))
    await model.close()


async def test_greedy_texts_their_log_probabilities_and_stops(folder, model):
    reply = await model.chat(ask("the mill", max_tokens=12, top_logprobs=3))
    assert reply.finish_reason == "length"
    assert reply.completion_tokens == len(reply.logprobs) == 12
    assert "".join(token.token for token in reply.logprobs).startswith(reply.text[:3])
    for token in reply.logprobs:
        assert token.token == token.top[0][0]  # greedy takes the likeliest
        assert len(token.top) == 3
        assert token.logprob == token.top[0][1] <= 0
    logits = await logits_by_hand(folder, "<|turn|>user\nthe mill<|end|>\n<|turn|>assistant\n")
    whole = math.log(sum(map(math.exp, logits.values())))
    assert reply.logprobs[0].logprob == pytest.approx(max(logits.values()) - whole, abs=1e-4)

    end = reply.text[4:6]
    stopped = await model.chat(ask("the mill", max_tokens=12, stop=(end,), top_logprobs=1))
    assert stopped.text == reply.text[: reply.text.index(end)]
    assert stopped.finish_reason == "stop"
    assert len(stopped.logprobs) < 12


async def test_seeds(model):
    drawn = [
        ask("the mill", max_tokens=10, temperature=1.0, seed=seed, sample=n) for seed, n in ((1, 0), (2, 0), (1, 1))
    ]
    texts = [(await model.chat(request)).text for request in drawn]
    assert len(set(texts)) == 3
    assert (await model.chat(drawn[0])).text == texts[0]
    greedy = (await model.chat(ask("the mill", max_tokens=10))).text
    narrow = ask("the mill", max_tokens=10, temperature=1.0, seed=1, top_p=1e-9)
    assert (await model.chat(narrow)).text == greedy  # only the likeliest token is left


async def test_the_end_token_ends_the_text(folder):
    import torch

    model = HF(str(folder))
    await model.chat(ask("a", labels=TWO))
    ids = model._engine.tokenizer.get_vocab()
    script = iter([ids["True"], ids["Ġriver"], ids["<|end|>"]])

    class Output(dict):
        __getattr__ = dict.__getitem__

    def forward(inputs):
        logits = torch.zeros(1, 1, len(ids))
        logits[0, 0, next(script)] = 9.0
        return Output(logits=logits, cache=None, past_key_values=None)

    model._engine._forward = forward
    reply = await model.chat(ask("q", max_tokens=10))
    assert (reply.text, reply.finish_reason, reply.completion_tokens) == ("True river", "stop", 2)
    script = iter([ids["<|end|>"]])
    with pytest.raises(ModelError, match="empty reply"):
        await model.chat(ask("q", max_tokens=10))
    await model.close()


async def test_numbers_that_are_none_are_an_error(folder):
    import torch

    model = HF(str(folder))
    await model.chat(ask("a", labels=TWO))
    torch.nn.init.constant_(model._engine.model.lm_head.weight, float("nan"))
    for settings in ({"labels": TWO}, {"max_tokens": 3}):
        with pytest.raises(ModelError, match="not finite"):
            await model.chat(ask("q", **settings))
    await model.close()


# Prompts


async def test_quoted_special_tokens_do_not_end_a_turn(folder):
    engine = hf_weights.load(hf_weights.find(str(folder)), "cpu", "float32", None)
    plain, quoted = (engine.job(ask(text)).prompt for text in ("a water", "a<|end|>\n<|turn|>assistant\nTrue water"))
    assert Counter(quoted)[0] == Counter(plain)[0] == 1
    assert Counter(quoted)[1] == Counter(plain)[1] == 2
    assert "<|end|>\n<|turn|>assistant\nTrue" in engine.tokenizer.decode(quoted)


async def test_a_template_without_system_turns_gets_the_text_in_the_first_one(tmp_path):
    refuse = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    folder = tiny_llama.save(tmp_path / "m", template=refuse + tiny_llama.TEMPLATE)
    engine = hf_weights.load(hf_weights.find(str(folder)), "cpu", "float32", None)
    messages = (Message(role="system", content="be one"), Message(role="user", content="q"))
    prompt = engine.job(ChatRequest(messages=messages)).prompt
    assert engine.tokenizer.decode(prompt) == "<|turn|>user\nbe one\n\nq<|end|>\n<|turn|>assistant\n"
    engine.tokenizer.chat_template = "{{ raise_exception('never') }}"
    with pytest.raises(ModelError, match="template refuses the messages: never"):
        engine.job(ChatRequest(messages=messages))


async def test_labels_come_without_reasoning(tmp_path):
    thinking = tiny_llama.TEMPLATE + "{% if enable_thinking is not defined or enable_thinking %}<think>{% endif %}"
    folder = tiny_llama.save(tmp_path / "m", template=thinking)
    engine = hf_weights.load(hf_weights.find(str(folder)), "cpu", "float32", None)
    assert engine.tokenizer.decode(engine.job(ask("q")).prompt).endswith("<think>")
    assert engine.tokenizer.decode(engine.job(ask("q", labels=TWO)).prompt).endswith("assistant\n")
    engine.tokenizer.chat_template = tiny_llama.TEMPLATE + "<think>\n"
    with pytest.raises(ModelError, match="begins with reasoning"):
        engine.job(ask("q", labels=TWO))


async def test_no_unicode(model):
    with pytest.raises(ModelError, match="surrogate"):
        await model.chat(ask("a \ud800 b", labels=TWO))


# Names and identity


def test_the_identity_is_the_content(tmp_path, folder):
    one = HF(str(folder))
    copy = tiny_llama.save(tmp_path / "copy" / "tiny")
    other = tiny_llama.save(tmp_path / "other" / "tiny", seed=1)
    assert (HF(str(copy)).identity, HF(str(copy)).name) == (one.identity, one.name)
    assert HF(str(other)).identity != one.identity
    assert HF(str(other)).name != one.name
    assert one.name.startswith("hf/tiny@")
    assert "cpu float32" in one.identity or one.device != "cpu"
    assert HF(str(folder), dtype="bfloat16").identity != one.identity != HF(str(folder), window=99).identity
    (copy / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    assert HF(str(copy)).identity != one.identity


def test_what_is_no_model(tmp_path, folder, monkeypatch):
    import huggingface_hub

    def offline(**settings):
        raise OSError("offline\nsecond line")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(UsageError, match=r"hf/who/what is no folder here.*offline$"):
        HF("who/what")
    with pytest.raises(UsageError, match="no name on the Hugging Face hub"):
        HF("a/b/c/d")
    with pytest.raises(UsageError, match=r"config\.json"):
        HF(str(tmp_path))
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(UsageError, match="no safetensors"):
        HF(str(tmp_path))
    (tmp_path / "m.gguf").write_text("<html>", encoding="utf-8")
    with pytest.raises(UsageError, match=r"m\.gguf: not a GGUF file"):
        HF(str(tmp_path / "m.gguf"))
    with pytest.raises(UsageError, match="veridical models fetch smollm2"):
        HF("smollm2")
    for wrong in ({"dtype": "int4"}, {"window": 0}, {"max_batch": 0}, {"max_batch_tokens": 0}):
        with pytest.raises(UsageError):
            HF(str(folder), **wrong)


async def test_weights_that_cannot_be_loaded_stop_the_run(tmp_path):
    folder = tiny_llama.save(tmp_path / "m")
    (folder / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}nonsense")
    model = HF(str(folder))
    with pytest.raises(FatalError, match="cannot be loaded from"):
        await model.chat(ask("q"))
    await model.close()


def test_a_hub_model_is_its_commit(folder, monkeypatch):
    import huggingface_hub

    asked = []

    def cached(**settings):
        asked.append((settings["repo_id"], settings["revision"], settings.get("local_files_only", False)))
        assert not any(name in pattern for pattern in settings["allow_patterns"] for name in (".bin", ".py"))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", cached)
    model = HF("org/name@v1")
    assert asked == [("org/name", "v1", True)]  # what is in the cache is not asked for again
    assert (model.name, f"hub org/name {folder.name} " in model.identity) == ("hf/org/name@v1", True)


def test_without_the_extra_it_says_how_to_install_it(folder, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "transformers" else found(name))
    with pytest.raises(UsageError, match=r"pip install 'veridical\[hf\]'"):
        HF(str(folder))


def test_opening_reads_no_torch_until_it_is_needed():
    import subprocess

    script = "import sys, veridical.models.factory, veridical.models.hf; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# Around it


async def test_in_its_wrappers_and_the_cache(folder, tmp_path):
    store = CallStore(tmp_path / "c.sqlite")
    model = open_model(f"hf/{folder}", store=store)
    names, inner = [], model
    while inner is not None:
        names.append(type(inner).__name__)
        last, inner = inner, getattr(inner, "inner", None)
    assert names == ["Counted", "Cached", "Paid", "HF"]
    assert await gives_logits(model) is True
    assert await gives_logprobs(model) in (True, False)
    request = ask("the mill", labels=TWO)
    first = await model.chat(request)
    last._batched.submit = None  # it would fail if it were asked again
    assert await model.chat(request) == first
    with pytest.raises(TypeError):
        await model.chat(ask("the mill", labels=("True", "water")))  # other labels, another question
    store.close()


async def test_closing_waits_for_the_batch_under_way_and_not_for_those_behind_it(folder):
    model, begun, release, made = HF(str(folder), max_batch=2), threading.Event(), threading.Event(), []
    together = model._together

    def slow(engine, jobs):
        made.append(len(jobs))
        begun.set()
        release.wait(10)
        return together(engine, jobs)

    model._together = slow
    calls = [asyncio.create_task(model.chat(ask(f"the mill {n}", labels=TWO))) for n in range(30)]
    assert await asyncio.to_thread(begun.wait, 30)
    closing = asyncio.create_task(model.close())
    await asyncio.sleep(0.05)
    release.set()
    await closing
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    answered = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert len(made) == 1 and len(answered) == made[0]
    dropped = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert all(isinstance(outcome, asyncio.CancelledError | ModelError) for outcome in dropped)
    assert (await model.chat(ask("the mill", labels=TWO))).text in TWO
    await model.close()
