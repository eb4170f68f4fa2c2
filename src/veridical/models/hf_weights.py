"""Where a transformers model lies, what identifies it, how it is loaded: safetensors or GGUF, no code of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
import importlib.util
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import FatalError, UsageError
from . import gguf_file, gguf_tokens, gguf_torch
from .embedded import MODELS, locate, remembered_sha256
from .hf_run import Engine

_HINT = "transformers models need the hf extra: pip install 'veridical[hf]'"
_HUB = re.compile(r"[\w.-]+(?:/[\w.-]+)?(?:@[\w./-]+)?")
_FILES = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")
"""What of a repository is fetched and hashed: no pickles, no code."""


@dataclasses.dataclass(frozen=True)
class Weights:
    """A folder or a GGUF file, found and identified, not loaded."""

    path: Path
    name: str
    identity: str
    """Of the weights and the tokenizer; a file's place is no part of it."""


def find(source: str) -> Weights:
    """What stands behind "hf/": a packaged model's name, a GGUF file, a folder, or a name on the Hugging Face hub with
    an optional "@revision". A hub model that is not in the user's cache is downloaded.

    Raises `UsageError` for what is not there, is damaged, has no safetensors, or cannot be downloaded.
    """
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise UsageError(_HINT)
    if source in MODELS:
        if MODELS[source].kind != "chat":
            raise UsageError(f"hf/{source} encodes sentences and cannot answer")
        path = locate(source)
        if path is None:
            raise UsageError(f"hf/{source} has not been fetched yet: veridical models fetch {source}")
        return _gguf(path, f"hf/{source}")
    path = Path(os.path.expanduser(source))  # as it is where there is no such user  # noqa: PTH111
    if source.lower().endswith(".gguf"):
        return _gguf(path, "")
    try:
        if path.is_dir():
            return _folder(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"hf/{source}: {error}") from error
    if not _HUB.fullmatch(source):
        raise UsageError(f"hf/{source}: no such folder, and no name on the Hugging Face hub")
    return _hub(source)


def load(weights: Weights, device: str, dtype: str, window: int | None) -> Engine:
    """The model in memory. Raises `FatalError`, naming the file or folder, where it cannot be loaded."""
    try:
        if weights.path.is_dir():
            return _load_folder(weights.path, device, dtype, window)
        file = gguf_file.read(weights.path)
        model = gguf_torch.load_model(file).to(device=device, dtype=_torch_dtype(dtype))
        tokenizer = gguf_tokens.load_tokenizer(file)
        return Engine(model, tokenizer, gguf_tokens.ends(file), window or gguf_torch.window(file))
    except UsageError as error:
        raise FatalError(str(error)) from error
    except Exception as error:  # transformers raises of every kind
        raise FatalError(f"{weights.name}: cannot be loaded from {weights.path}: {str(error)[:500]}") from error


def best_device() -> str:
    """The accelerator that torch sees, else the CPU."""
    torch: Any = importlib.import_module("torch")
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def check_dtype(dtype: str) -> None:
    """Raises `UsageError` for what is no type of weights."""
    if dtype not in ("float32", "float16", "bfloat16", "auto"):
        raise UsageError(f"dtype must be float32, float16, bfloat16 or auto, not {dtype!r}")


def _gguf(path: Path, name: str) -> Weights:
    file = gguf_file.read(path)
    gguf_torch.check(file)
    gguf_tokens.check(file)
    digest = remembered_sha256(path)
    return Weights(path, name or f"hf/{path.stem}@{digest[:8]}", f"gguf sha256:{digest}")


def _folder(path: Path) -> Weights:
    if not (path / "config.json").is_file():
        raise UsageError(f"model folder {path}: no config.json in it")
    if not _complete(path):
        raise UsageError(f"model folder {path}: no safetensors in it, or not all of them; other weights are not read")
    files = sorted({file for pattern in _FILES for file in path.glob(pattern) if file.is_file()})
    listed = "\n".join(f"{file.name} {remembered_sha256(file)}" for file in files)
    digest = hashlib.sha256(listed.encode()).hexdigest()
    return Weights(path, f"hf/{path.resolve().name}@{digest[:8]}", f"folder sha256:{digest}")


def _hub(source: str) -> Weights:
    """The snapshot in the user's cache, else from the hub; the commit identifies it."""
    hub: Any = importlib.import_module("huggingface_hub")
    name, _, revision = source.partition("@")
    settings = {"repo_id": name, "revision": revision or None, "allow_patterns": list(_FILES)}
    folder = None
    with contextlib.suppress(Exception):  # not there, or only in part: then the hub's word counts
        folder = Path(hub.snapshot_download(**settings, local_files_only=True))
    if folder is None or not _complete(folder):
        try:
            folder = Path(hub.snapshot_download(**settings))
        except Exception as error:  # of the network, of the hub, of the name
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise UsageError(
                f"hf/{source} is no folder here, not in the hub's cache, and not to be had: {said[0]}"
            ) from error
    if not _complete(folder):
        raise UsageError(f"hf/{source}: no safetensors in it; other weights are not read")
    return Weights(folder, f"hf/{source}", f"hub {name} {folder.name}")


def _complete(folder: Path) -> bool:
    """There is a configuration, and every weight file that the index names or, without one, any."""
    index = folder / "model.safetensors.index.json"
    if not (folder / "config.json").is_file():
        return False
    if not index.is_file():
        return any(folder.glob("*.safetensors"))
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        return all((folder / name).is_file() for name in names)
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return False


def _load_folder(path: Path, device: str, dtype: str, window: int | None) -> Engine:
    transformers: Any = importlib.import_module("transformers")
    settings: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    kind = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    with _silent(transformers.utils.logging):
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **settings)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            path, use_safetensors=True, **{kind: _torch_dtype(dtype) or "auto"}, **settings
        )
    given = model.generation_config.eos_token_id
    listed = given if isinstance(given, list) else [given]
    ends = frozenset(token for token in [*listed, tokenizer.eos_token_id] if token is not None)
    if window is None:
        window = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if window is None:
        raise UsageError(f"model folder {path}: it does not say how long a prompt may be; give a window")
    return Engine(model.to(device).eval(), tokenizer, ends, window)


@contextlib.contextmanager
def _silent(logging: Any) -> Iterator[None]:
    """Without transformers' own progress bars, which would be written across ours."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _torch_dtype(dtype: str) -> Any:
    """None for "auto"."""
    return None if dtype == "auto" else getattr(importlib.import_module("torch"), dtype)
