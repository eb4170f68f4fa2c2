"""Sentence encoders, with a tiny one made on the spot and with the packaged one where it can be had."""

import json
import shutil
import socket
import sys

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")
import torch

from packaged import minilm
from tiny_encoder import edit, tiny_encoder
from veridical.errors import FatalError, ModelError, UsageError
from veridical.models import embedded
from veridical.models.encoders import STEncoder, open_encoder
from veridical.signature import sign

torch.set_num_threads(1)
TEXTS = ["Ana sold the mill.", "", "the river", "She was born in a mill of the long river.", "Ana sold the mill."]
LONG = "The mill of the river was sold. Ana Brandt was born in the mill by a long long river. "


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path / "home"))


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def test_vectors_are_those_of_the_library_in_the_order_of_the_texts(folder):
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(folder), device="cpu", local_files_only=True).encode(TEXTS)
    encoder = STEncoder(folder, device="cpu", batch=2)
    for found in (encoder.queries(TEXTS), encoder.passages(TEXTS)):
        assert found.dtype == np.float32
        assert found.shape == (5, 16)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert encoder.queries([]).shape == encoder.passages([]).shape == (0, 16)


def test_prompts_are_those_of_the_models_files(tmp_path):
    prompted = STEncoder(tiny_encoder(tmp_path, prompts={"query": "query: ", "passage": "passage: "}), device="cpu")
    plain = STEncoder(tiny_encoder(tmp_path / "plain"), device="cpu")
    np.testing.assert_allclose(prompted.queries(["the cat"]), plain.queries(["query: the cat"]), atol=1e-5)
    np.testing.assert_allclose(prompted.passages(["the cat"]), plain.queries(["passage: the cat"]), atol=1e-5)
    assert prompted.identity != plain.identity


def test_unit_length_only_where_the_model_says_so(tmp_path):
    folder = tiny_encoder(tmp_path, unit=False)
    edit(folder, "config_sentence_transformers.json", similarity_fn_name="dot")
    free = STEncoder(folder, device="cpu").passages(["the cat"])
    assert abs(np.linalg.norm(free) - 1) > 0.01
    edit(folder, "config_sentence_transformers.json", similarity_fn_name="cosine")
    unit = STEncoder(folder, device="cpu").passages(["the cat"])
    np.testing.assert_allclose(unit, free / np.linalg.norm(free), atol=1e-5)


@pytest.mark.parametrize("unit", [True, False])
def test_of_a_long_passage_nothing_is_cut_off(tmp_path, unit):
    """Its vector is the mean of those of pieces that fit; a plain encoder would not see the end."""
    encoder = STEncoder(tiny_encoder(tmp_path, unit=unit), device="cpu")
    if not unit:
        edit(encoder.path, "config_sentence_transformers.json", similarity_fn_name="dot")
        encoder = STEncoder(encoder.path, device="cpu")
    one, other, short = encoder.passages([LONG + "cat", LONG + "river", "the cat"])
    assert not np.allclose(one, other, atol=1e-3)
    np.testing.assert_allclose(short, encoder.queries(["the cat"])[0], atol=1e-5)
    cut = encoder.queries([LONG + "cat", LONG + "river"])
    np.testing.assert_allclose(cut[0], cut[1], atol=1e-5)

    pieces = encoder._pieces(LONG + "cat")
    assert "".join(pieces) == LONG + "cat"
    assert len(pieces) == 2
    mean = encoder.queries(pieces).mean(axis=0)
    np.testing.assert_allclose(one, mean / np.linalg.norm(mean) if unit else mean, atol=1e-5)


def test_text_that_is_no_valid_unicode_is_encoded_all_the_same(folder):
    encoder = STEncoder(folder, device="cpu")
    odd = ["half \ud800 a pair", "\x00", "\u200b", "中文", "😀" * 50]
    assert np.isfinite(encoder.passages(odd)).all()
    assert np.isfinite(encoder.queries(odd)).all()


def test_the_identity_is_of_the_files_wherever_they_lie(folder, copy):
    one, other = STEncoder(folder), STEncoder(copy, name="mine")
    assert one.identity == other.identity
    assert sign(other).fields[""] == "mine"
    assert one.name.startswith("hf/encoder@")
    edit(copy, "1_Pooling/config.json", pooling_mode="cls", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    assert STEncoder(copy).identity != one.identity
    (copy / "README.md").write_text("words", encoding="utf-8")
    assert STEncoder(copy).identity == STEncoder(copy).identity


def refusal(path) -> str:
    with pytest.raises(UsageError) as caught:
        STEncoder(path)
    return str(caught.value)


def test_folders_that_are_no_sentence_encoder_are_refused_before_anything_is_loaded(copy, tmp_path):
    assert "no such folder" in refusal(tmp_path / "nowhere")
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    assert "no weights" in refusal(copy)
    (copy / "modules.json").write_text("[", encoding="utf-8")
    assert "modules.json cannot be read" in refusal(copy)
    (copy / "modules.json").unlink()
    assert "no modules.json" in refusal(copy)


def test_code_and_pickles_of_a_folder_are_never_run(copy, tmp_path):
    modules = json.loads((copy / "modules.json").read_text(encoding="utf-8"))
    (copy / "own.py").write_text("raise SystemExit('run')", encoding="utf-8")
    for last, words in (
        ({"type": "own.Module", "path": ""}, "code of its own"),
        ({"type": "sentence_transformers.models.Dense", "path": "../outside"}, "outside"),
        ({"type": "sentence_transformers.models.Dense", "path": "2_Dense"}, "safetensors only, not 2_Dense"),
        ("text", "code of its own"),
    ):
        (copy / "2_Dense").mkdir(exist_ok=True)
        (copy / "2_Dense" / "pytorch_model.bin").write_bytes(b"a pickle")
        (copy / "modules.json").write_text(json.dumps([*modules, last]), encoding="utf-8")
        assert words in refusal(copy)
    assert "own" not in sys.modules


def test_made_for_distances_is_refused(copy):
    edit(copy, "config_sentence_transformers.json", similarity_fn_name="euclidean")
    assert "euclidean" in refusal(copy)


def test_damaged_weights_stop_the_run(copy):
    (copy / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(FatalError, match="cannot be loaded"):
        STEncoder(copy).queries(["a"])


def test_vectors_that_are_no_numbers_fail_for_these_texts_alone(folder, monkeypatch):
    encoder = STEncoder(folder, device="cpu")
    encoder.queries(["a"])
    monkeypatch.setattr(encoder._model, "encode_query", lambda texts, **_: np.full((len(texts), 16), np.nan))
    with pytest.raises(ModelError, match="finite"):
        encoder.queries(["a"])

    def full(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(encoder._model, "encode_document", full)
    with pytest.raises(ModelError, match="out of memory"):
        encoder.passages(["a"])


# --- names


def test_names_of_encoders(folder, monkeypatch, tmp_path):
    assert open_encoder(f"hf/{folder}").identity == STEncoder(folder).identity
    monkeypatch.chdir(folder.parent)
    assert open_encoder("hf/encoder").identity == STEncoder(folder).identity
    for spec, words in {
        "embedded/minilm": "veridical models fetch minilm",
        "embedded/smollm2": "no sentence encoder",
        "embedded/gpt5": "no packaged model",
        "openai/ada": "expected embedded/minilm",
        "hf/": "expected embedded/minilm",
        "minilm": "expected embedded/minilm",
        "hf/./nowhere": "no such folder",
        "hf//no/where": "no such folder",
    }.items():
        with pytest.raises(UsageError, match=words):
            open_encoder(spec)


@pytest.fixture
def hub(monkeypatch):
    """A double of the hub's client: the cache and the hub, each a folder or an error; what was asked of it."""
    import huggingface_hub

    places, asked = {}, []

    def download(repo_id, *, revision, allow_patterns, local_files_only=False):
        assert allow_patterns == ["*.json", "*.safetensors", "*.txt", "*.model"]
        asked.append((repo_id, revision, "cache" if local_files_only else "hub"))
        if asked[-1][2] not in places:
            raise OSError("offline")
        return str(places[asked[-1][2]])

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return places, asked


def test_a_hub_that_cannot_be_reached_is_said(hub):
    with pytest.raises(FatalError, match="hf/org/name: neither a folder here nor to be had from the hub: offline"):
        open_encoder("hf/org/name")


def test_what_the_cache_has_whole_is_not_asked_of_the_hub(hub, folder, copy):
    places, asked = hub
    places["cache"] = places["hub"] = folder
    encoder = open_encoder("hf/org/name@main")
    assert (encoder.name, encoder.identity) == ("hf/org/name@main", STEncoder(folder).identity)
    assert asked == [("org/name", "main", "cache")]
    (copy / "model.safetensors").unlink()
    places["cache"] = copy
    assert open_encoder("hf/org/name").identity == encoder.identity
    assert asked[1:] == [("org/name", None, "cache"), ("org/name", None, "hub")]


def test_without_the_library_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'veridical\[hf\]'"):
        STEncoder(folder)


# --- the packaged one


def test_minilm_is_near_to_a_paraphrase_and_needs_no_network(monkeypatch):
    place = minilm()
    monkeypatch.setattr(embedded, "_place", lambda model, into: place)

    def closed(*_):
        raise OSError("the network was asked for")

    monkeypatch.setattr(socket.socket, "connect", closed)
    encoder = open_encoder("embedded/minilm", device="cpu")
    assert encoder.name == "embedded/minilm"
    [query] = encoder.queries(["The physician passed away."])
    near = encoder.passages(["The doctor died.", "The physician passed the salt.", "Bread is baked."]) @ query
    assert query.shape == (384,)
    assert near.argmax() == 0
    assert abs(np.linalg.norm(query) - 1) < 1e-5
