"""Token vectors of a masked language model: places, windows, what is kept, what is refused."""

import asyncio
import json
import shutil
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masked_models import bert_tokenizer, roberta_tokenizer, tiny
from veridical.errors import FatalError, ModelError, UsageError
from veridical.models import embedded, masked_lm
from veridical.models.token_encoder import HFTokenEncoder, TokenVectors, _Kept, open_token_encoder, windows

MILL = "Ana Brandt ran the mill in Turin."
RIVER = "The river Dora is long and cold."
LONG = " ".join([MILL, RIVER] * 20)


def everything(token, text, word):
    return False


@pytest.fixture(scope="module", params=["roberta", "bert"])
def folder(request, tmp_path_factory):
    return tiny(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return tiny("roberta", tmp_path_factory.mktemp("roberta"))


@pytest.fixture
def rows_seen(monkeypatch):
    """The rows that went through a model, batch by batch."""
    seen: list[list[list[int]]] = []
    forward = HFTokenEncoder._forward

    def watched(self, lm, rows, stopped):
        seen.append(list(rows))
        return forward(self, lm, rows, stopped)

    monkeypatch.setattr(HFTokenEncoder, "_forward", watched)
    return seen


# --- tokens and masks


async def test_tokens_of_a_passage_without_special_ones(folder):
    encoder = HFTokenEncoder(folder)
    lm = masked_lm.load(folder, "cpu")
    stray = f"{MILL} {lm.tokenizer.mask_token} {lm.tokenizer.sep_token} {RIVER} {lm.tokenizer.unk_token}"
    plain, mixed, none = await encoder.passages([f"{MILL} {RIVER}", stray, ""])
    assert plain.ids.tolist() == lm.plain(f"{MILL} {RIVER}")
    assert plain.vectors.shape == (len(plain.ids), encoder.dimension)
    assert (plain.ids.dtype, plain.vectors.dtype) == (np.int64, np.float32)
    assert set(mixed.ids).isdisjoint(lm.tokenizer.all_special_ids)
    assert none.vectors.shape == (0, encoder.dimension)


async def test_masks_behind_the_lead_only(folder):
    encoder = HFTokenEncoder(folder)
    tokenizer = masked_lm.load(folder, "cpu").tokenizer
    text = "Note: the mill"
    [got] = await encoder.masked([text], everything, lead="Fact: ")
    query = tokenizer("Fact: " + text)["input_ids"]
    colon = tokenizer(":", add_special_tokens=False)["input_ids"][0]
    assert got.ids.tolist() == query[query.index(colon) + 1 : -1]
    assert "".join(got.names).replace(" ", "") == "Note:themill"
    assert got.vectors.shape == (len(got.ids), encoder.dimension)
    assert len(np.unique(got.vectors, axis=0)) == len(got.ids)


async def test_what_is_told_of_each_token(folder):
    told = []
    await HFTokenEncoder(folder).masked(["Ana isn't in Turin-Bonn."], lambda *one: told.append(one), lead="Fact: ")
    pairs = {(text, word) for _, text, word in told}
    assert {word for _, word in pairs} >= {"Ana", "isn", "in", "."}
    assert all(text in word for text, word in pairs)
    assert not any(word == "Turin-Bonn" for _, word in pairs)
    assert {("in", "in")} <= pairs


async def test_special_tokens_in_a_fact_are_not_masked_and_unknown_ones_are(folder):
    tokenizer = masked_lm.load(folder, "cpu").tokenizer
    encoder = HFTokenEncoder(folder)
    for special in (tokenizer.mask_token, tokenizer.sep_token, tokenizer.pad_token, tokenizer.cls_token):
        [got] = await encoder.masked([special], everything, lead="Fact: ")
        assert tokenizer.convert_tokens_to_ids(special) not in got.ids
    [got] = await encoder.masked(["mill 龍"], everything, lead="Fact: ")
    if tokenizer.mask_token == "[MASK]":
        assert tokenizer.unk_token_id in got.ids
    assert got.names[-1] == "龍"
    assert await encoder.masked([], everything) == []
    assert await encoder.passages([]) == []


async def test_a_vector_at_the_mask_does_not_know_what_was_there(roberta):
    encoder = HFTokenEncoder(roberta)
    one, other = await encoder.masked(
        ["Ana sold it in 1932.", "Ana sold it in 1770."], lambda _, text, __: text != "1932"
    )
    hidden = await encoder.masked(
        ["Ana sold it in 1932.", "Ana sold it in 1770."], lambda _, text, __: text not in ("1932", "1770")
    )
    assert hidden[0].ids.tolist() != hidden[1].ids.tolist()
    assert hidden[0].vectors == pytest.approx(hidden[1].vectors, abs=1e-6)
    assert one.vectors == pytest.approx(hidden[0].vectors, abs=1e-6)
    assert other.names == ()


@pytest.mark.parametrize("batch_tokens", [1, 50, 10_000])
async def test_batches_change_nothing(folder, batch_tokens):
    texts = [MILL, RIVER, "Bonn", f"{MILL} {RIVER}"]
    whole, cut = HFTokenEncoder(folder), HFTokenEncoder(folder, batch_tokens=batch_tokens)
    for a, b in zip(await whole.passages(texts), [(await cut.passages([text]))[0] for text in texts], strict=True):
        assert a.ids.tolist() == b.ids.tolist()
        assert a.vectors == pytest.approx(b.vectors, abs=1e-5)
    for a, b in zip(await whole.masked(texts, everything), await cut.masked(texts, everything), strict=True):
        assert a.names == b.names
        assert a.vectors == pytest.approx(b.vectors, abs=1e-5)


async def test_decoding_and_encoding_again(folder):
    """Another vector where the tokens around the mask come out differently, the same elsewhere."""
    plain, again = HFTokenEncoder(folder), HFTokenEncoder(folder, reencode=True)
    whole, pieces = "Ana Brandt ran the mill in Turin.", "Turinese mills (1770)'s"
    differ = []
    for text in (whole, pieces):
        [a] = await plain.masked([text], everything, lead="Fact: ")
        [b] = await again.masked([text], everything, lead="Fact: ")
        assert a.ids.tolist() == b.ids.tolist()
        differ.append(not np.allclose(a.vectors, b.vectors, atol=1e-5))
    assert differ == [False, True]
    assert plain.identity != again.identity


# --- windows


@given(st.integers(0, 400), st.integers(1, 60), st.data())
def test_each_token_is_taken_once_with_enough_around_it(length, size, data):
    overlap = data.draw(st.integers(0, size // 2))
    cuts = windows(length, size, overlap)
    assert [n for cut in cuts for n in range(cut.first, cut.last)] == list(range(length))
    for cut in cuts:
        assert 0 <= cut.start <= cut.first <= cut.last <= cut.end <= length
        assert cut.end - cut.start == min(size, length)
        assert cut.start == 0 or cut.first - cut.start >= overlap // 2
        assert cut.end == length or cut.end - cut.last >= overlap // 2


async def test_a_long_passage_is_cut_and_no_token_lost(folder, rows_seen):
    encoder = HFTokenEncoder(folder, window=40, overlap=16)
    lm = masked_lm.load(folder, "cpu")
    [long] = await encoder.passages([LONG])
    assert long.ids.tolist() == lm.plain(LONG)
    assert np.isfinite(long.vectors).all()
    assert len(long.ids) > lm.positions
    [rows] = rows_seen
    assert {len(row) for row in rows} == {40}
    [start] = await encoder.passages([lm.tokenizer.decode(long.ids[:40])])
    assert long.vectors[:32] == pytest.approx(start.vectors[:32], abs=1e-5)


async def test_windows_with_begin_and_end(folder, rows_seen):
    encoder = HFTokenEncoder(folder, window=40, overlap=16, bare=False)
    lm = masked_lm.load(folder, "cpu")
    [long] = await encoder.passages([LONG])
    assert long.ids.tolist() == lm.plain(LONG)
    [rows] = rows_seen
    assert all(row[:1] == lm.begin and row[-1:] == lm.end and len(row) == 40 for row in rows)


async def test_no_more_than_the_model_takes(folder, rows_seen):
    """The table of positions holds 96 (RoBERTa's 98, of which 2 are the padding's)."""
    encoder = HFTokenEncoder(folder)
    await encoder.passages([LONG])
    [got] = await encoder.masked([LONG], lambda _, text, __: text != "Turin" and text != ".", lead="Fact: ")
    assert max(len(row) for rows in rows_seen for row in rows) == 96
    mask = masked_lm.load(folder, "cpu").mask
    assert all(row.count(mask) == 1 for row in rows_seen[-1])
    assert len(got.ids) >= 40
    assert np.isfinite(got.vectors).all()


# --- what is kept


async def test_a_page_is_encoded_once(folder, rows_seen):
    encoder = HFTokenEncoder(folder)
    first = await encoder.passages([MILL, RIVER, MILL])
    again = await asyncio.gather(*(encoder.passages([RIVER, MILL]) for _ in range(5)))
    assert [len(rows) for rows in rows_seen if rows] == [2]
    assert all(one[1] is first[0] for one in again)
    with pytest.raises(ValueError, match="read-only"):
        first[0].vectors[0] = 0


async def test_facts_that_ask_at_the_same_time_share_a_page(folder, rows_seen):
    encoder = HFTokenEncoder(folder)
    await asyncio.gather(*(encoder.passages([MILL]) for _ in range(8)))
    assert sum(len(rows) for rows in rows_seen) == 1


def entry(n):
    return TokenVectors(np.zeros(n, np.int64), np.zeros((n, 3), np.float32))  # 20 n bytes


def test_no_more_is_kept_than_allowed_and_the_least_used_goes_first():
    kept = _Kept(100)
    for name in "ab":
        kept.put(name, entry(2))
    assert kept.get("a") is not None
    kept.put("c", entry(2))
    assert [kept.get(name) is not None for name in "abc"] == [True, False, True]
    kept.put("d", entry(6))  # too large by itself
    assert [kept.get(name) for name in "abcd"] == [None] * 4
    kept.put("e", entry(5))
    assert kept.get("e") is not None


async def test_nothing_kept_still_answers(folder):
    encoder = HFTokenEncoder(folder, cache_bytes=0)
    one, two = await encoder.passages([MILL, RIVER])
    assert (len(one.ids) > 0, len(two.ids) > 0) == (True, True)


# --- running


async def test_a_cancelled_call_stops_before_its_next_batch(roberta):
    encoder = HFTokenEncoder(roberta, batch_tokens=1)
    await encoder.passages(["x"])
    lm = encoder._lm
    begun, go = threading.Event(), threading.Event()
    batches = []

    def slow(**inputs):
        batches.append(inputs)
        begun.set()
        go.wait(10)
        return lm.model(**inputs)

    encoder._lm = masked_lm.MaskedLM(**{**vars(lm), "model": slow})
    task = asyncio.create_task(encoder.masked([LONG], everything))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    await encoder.close()  # waits for the thread
    assert len(batches) == 1
    assert len((await encoder.passages([MILL]))[0].ids) > 0  # loads again


async def test_trouble_within_the_model_is_its_own_error(roberta):
    encoder = HFTokenEncoder(roberta)
    await encoder.passages(["x"])
    lm = encoder._lm

    def full(**inputs):
        raise RuntimeError("out of memory")

    encoder._lm = masked_lm.MaskedLM(**{**vars(lm), "model": full})
    with pytest.raises(ModelError, match="out of memory"):
        await encoder.masked([MILL], everything)
    encoder._lm = lm
    lm.model.embeddings.word_embeddings.weight.data[:] = float("nan")
    with pytest.raises(ModelError, match="not finite"):
        await encoder.passages([MILL])


def test_nothing_is_written_to_the_terminal(folder, capfd):
    asyncio.run(HFTokenEncoder(folder).passages([LONG]))
    assert capfd.readouterr() == ("", "")


# --- names and folders


def test_names(roberta, tmp_path, monkeypatch):
    opened = open_token_encoder(f"hf/{roberta}")
    assert opened.name == f"hf/{roberta.name}@{opened.identity.removeprefix('sha256:')[:8]}"
    monkeypatch.chdir(roberta.parent)
    assert open_token_encoder(f"hf/{roberta.name}").identity == opened.identity
    for wrong in ("roberta", "hf/", "hf/nothere", "hf/a/b/c", f"hf/{tmp_path}/none", "openai/gpt-4o", "embedded/"):
        with pytest.raises(UsageError):
            open_token_encoder(wrong)


def test_a_packaged_model(roberta, monkeypatch):
    monkeypatch.setitem(embedded.MODELS, "tiny", embedded.MODELS["smollm2"])
    monkeypatch.setattr("veridical.models.token_encoder.locate", lambda name: None)
    with pytest.raises(UsageError, match="veridical models fetch tiny"):
        open_token_encoder("embedded/tiny")
    monkeypatch.setattr("veridical.models.token_encoder.locate", lambda name: roberta)
    assert open_token_encoder("embedded/tiny").name == "embedded/tiny"


def test_the_hub(roberta, monkeypatch, tmp_path):
    asked = []

    def hub(name, *, revision, allow_patterns):
        asked.append((name, revision, allow_patterns))
        return str(roberta if name == "org/good" else tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", hub)
    opened = open_token_encoder("hf/org/good@refs/pr/3")
    assert opened.name == "hf/org/good@refs/pr/3"
    assert open_token_encoder("hf/org/good").identity == opened.identity
    assert [(name, revision) for name, revision, _ in asked] == [("org/good", "refs/pr/3"), ("org/good", None)]
    assert not any(pattern.endswith((".bin", ".py", ".pt")) or pattern == "*" for pattern in asked[0][2])
    with pytest.raises(UsageError, match=r"hf/org/pickled has no weights in safetensors.*save_pretrained"):
        open_token_encoder("hf/org/pickled")


def test_a_hub_that_does_not_answer(monkeypatch):
    from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError

    for error, expected in (
        (LocalEntryNotFoundError("offline"), FatalError),
        (RepositoryNotFoundError.__new__(RepositoryNotFoundError, "404"), UsageError),
        (ConnectionError("down"), FatalError),
    ):

        def hub(name, error=error, **options):
            raise error

        monkeypatch.setattr("huggingface_hub.snapshot_download", hub)
        with pytest.raises(expected, match="hf/org/name"):
            open_token_encoder("hf/org/name")


def test_f52_pickled_weights_are_refused_unread(roberta, tmp_path):
    for file in roberta.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"not even a pickle")
    with pytest.raises(UsageError, match="can run any code"):
        HFTokenEncoder(tmp_path)


def copied(folder, target, **changes):
    """The folder again with changes to config.json; None takes a key out."""
    target.mkdir()
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    config = json.loads((target / "config.json").read_text(encoding="utf-8")) | changes
    config = {key: value for key, value in config.items() if value is not None}
    (target / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return target


def test_a_folder_that_is_no_model(roberta, tmp_path):
    with pytest.raises(UsageError, match=r"config\.json"):
        HFTokenEncoder(tmp_path)
    with pytest.raises(UsageError, match="how long"):
        HFTokenEncoder(copied(roberta, tmp_path / "a", hidden_size=None))


async def test_weights_that_are_missing_or_spoilt_are_never_made_up(roberta, tmp_path):
    more = HFTokenEncoder(copied(roberta, tmp_path / "a", num_hidden_layers=3))
    with pytest.raises(FatalError, match="lacks weights"):
        await more.passages([MILL])
    spoilt = copied(roberta, tmp_path / "b")
    (spoilt / "model.safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(FatalError, match="cannot load"):
        await HFTokenEncoder(spoilt).passages([MILL])


async def test_a_models_own_code_is_not_run(roberta, tmp_path):
    other = copied(roberta, tmp_path / "a", model_type="mine", auto_map={"AutoConfig": "mine.C", "AutoModel": "mine.M"})
    (other / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    with pytest.raises(FatalError, match="cannot load"):
        await HFTokenEncoder(other).passages([MILL])
    assert not (tmp_path / "ran").exists()


async def test_a_model_without_a_mask(roberta, tmp_path):
    other = copied(roberta, tmp_path / "a")
    tokenizer = roberta_tokenizer()
    tokenizer.mask_token = None
    tokenizer.save_pretrained(other)
    with pytest.raises(UsageError, match="no mask token"):
        await HFTokenEncoder(other).passages([MILL])


def test_another_vocabulary_or_setting_is_another_identity(roberta, tmp_path):
    same, other = shutil.copytree(roberta, tmp_path / "a"), copied(roberta, tmp_path / "b")
    bert_tokenizer().save_pretrained(other)
    base = HFTokenEncoder(roberta).identity
    assert HFTokenEncoder(same).identity == base
    assert HFTokenEncoder(other).identity != base
    options = ({"window": 64}, {"overlap": 8}, {"bare": False}, {"reencode": True})
    assert len({base, *(HFTokenEncoder(roberta, **one).identity for one in options)}) == 5
    for wrong in ({"window": 0}, {"overlap": -1}, {"batch_tokens": 0}):
        with pytest.raises(UsageError):
            HFTokenEncoder(roberta, **wrong)


async def test_a_window_without_room(folder):
    with pytest.raises(UsageError, match="no room"):
        await HFTokenEncoder(folder, window=2).masked([MILL], everything)


def test_without_the_extra(roberta, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'veridical\[hf\]'"):
        HFTokenEncoder(roberta)
