"""Sentence encoders: texts as vectors whose inner product says how near their meanings are (the `hf` extra)."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import math
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import FatalError, ModelError, UsageError
from .embedded import locate, packaged, remembered_sha256

Vectors = NDArray[np.float32]

_HINT = "a sentence encoder needs the hf extra: pip install 'veridical[hf]'"
_USED = ("*.json", "*.safetensors", "*.txt", "*.model")
"""Files of an encoder that can change its vectors; the only ones that are brought from the hub."""
_SIMILARITIES = (None, "dot", "cosine")
_NO_WINDOW = 100_000
"""Tokenizers without a limit give a number beyond this one."""


class SentenceEncoder(Protocol):
    """Texts to vectors. `name` and `identity` go into every signature.

    Questions and passages may be encoded differently, as the encoder was trained. Both are called from several threads.
    """

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str:
        """Everything beside the texts that can change the vectors: the hash of the weights and of their settings."""
        ...

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32 (n, d). Raises `ModelError` for these texts alone, `FatalError` where no further call can succeed."""
        ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32 (n, d), to be multiplied with those of `queries`: a higher inner product is nearer."""
        ...


def open_encoder(spec: str, *, device: str | None = None) -> SentenceEncoder:
    """The encoder that a name stands for; it is loaded at the first call.

    Names: "embedded/minilm" (after `veridical models fetch minilm`), "hf/FOLDER" (`hf//abs/olute`, `hf/./relative`),
    "hf/ORG/NAME" or "hf/ORG/NAME@REVISION" of the Hugging Face hub, such as "hf/sentence-transformers/gtr-t5-large",
    which FActScore used. Only the hub's may use the network, here and once: from its cache on they are read from the
    disk. Raises `UsageError` for a name, folder or library that is missing, `FatalError` where the hub cannot be
    reached.
    """
    provider, _, name = spec.partition("/")
    if provider == "embedded":
        model = packaged(name)
        if model.kind != "encoder":
            raise UsageError(f"{spec} is no sentence encoder; there is: embedded/minilm")
        folder = locate(name)
        if folder is None:
            raise UsageError(f"{spec} has not been fetched yet: veridical models fetch {name}")
        return STEncoder(folder, name=spec, device=device)
    if provider != "hf" or not name:
        raise UsageError(f"no sentence encoder {spec!r}: expected embedded/minilm, hf/FOLDER or hf/ORG/NAME")
    folder = Path(os.path.expanduser(name))  # as it is where there is no such user  # noqa: PTH111
    if folder.is_dir() or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?(@[\w./-]+)?", name) or name.startswith("."):
        return STEncoder(folder, device=device)
    return STEncoder(_from_hub(name), name=spec, device=device)


@dataclasses.dataclass
class STEncoder:
    """A folder as sentence-transformers writes it (Reimers and Gurevych, EMNLP 2019): pooling, unit length and the
    prompts for questions and passages are as its own files say.

    Weights are read from safetensors only, computed in 32 bits, and no code of the folder is run. A passage longer than
    the encoder's window is not cut off: it is encoded in pieces of the same length, and its vector is their mean (of
    unit length where the encoder's are); of a question only the window is read.
    """

    path: Path
    name: str = ""
    """"hf/folder@hash" if empty."""
    device: str | None = None
    """"cuda", "mps", "cpu"; None = the first of these that there is."""
    batch: int = 32
    """Texts computed at a time, those of like length together."""
    _model: Any = dataclasses.field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Raises `UsageError` for a folder that is no sentence encoder, or one that would have to be trusted."""
        self.path = Path(self.path)
        if self.batch < 1:
            raise UsageError(f"batch must be at least 1, not {self.batch}")
        self._unit = _checked(self.path)
        _find_library()
        self._sha256 = _folder_sha256(self.path)
        self._lock = threading.Lock()  # one computation at a time: two would only slow each other down
        self.name = self.name or f"hf/{self.path.resolve().name}@{self._sha256[:8]}"

    @property
    def identity(self) -> str:
        """The files' hash: the same files at another place are the same encoder."""
        return f"sentence-transformers sha256:{self._sha256}"

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32 (n, d)."""
        with self._lock:
            return self._encoded([_sound(text) for text in texts], "encode_query")

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32 (n, d)."""
        with self._lock:
            self._loaded()
            pieces = [self._pieces(_sound(text)) for text in texts]
            vectors = self._encoded([piece for of_one in pieces for piece in of_one], "encode_document", self._prompt)
        if len(vectors) == len(texts):
            return vectors
        starts = np.cumsum([0, *(len(of_one) for of_one in pieces[:-1])])
        counts = np.array([[len(of_one)] for of_one in pieces], np.float32)
        means = (np.add.reduceat(vectors, starts) / counts).astype(np.float32)
        long = np.array([len(of_one) > 1 for of_one in pieces])
        if self._unit or np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3):
            means[long] /= np.maximum(np.linalg.norm(means[long], axis=1, keepdims=True), 1e-12)
        return means

    def _encoded(self, texts: list[str], how: str, prompt: str | None = None) -> Vectors:
        model = self._loaded()
        if not texts:
            return np.zeros((0, model.get_embedding_dimension() or 0), np.float32)
        try:
            found = getattr(model, how)(
                texts,
                prompt=prompt,
                batch_size=self.batch,
                show_progress_bar=False,
                normalize_embeddings=self._unit,
            )
        except (RuntimeError, ValueError, IndexError, TypeError) as error:  # out of memory, most likely
            raise ModelError(f"{self.name}: cannot encode {len(texts)} texts: {str(error)[:500]}") from error
        vectors = np.ascontiguousarray(found, dtype=np.float32)
        if vectors.shape[0] != len(texts) or not np.isfinite(vectors).all():
            raise ModelError(f"{self.name}: its vectors are not finite numbers")
        return vectors

    def _pieces(self, text: str) -> list[str]:
        """The text in as few pieces as fit the window, of about the same number of tokens."""
        model: Any = self._loaded()
        window, tokenizer = model.max_seq_length, getattr(model, "tokenizer", None)
        if tokenizer is None or not getattr(tokenizer, "is_fast", False) or not window or window > _NO_WINDOW:
            return [text]
        room = window - tokenizer.num_special_tokens_to_add() - self._prompt_tokens
        if room < 1 or len(text.encode()) <= room:  # a token has at least a byte
            return [text]
        spans = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
        if len(spans) <= room:
            return [text]
        size = math.ceil(len(spans) / math.ceil(len(spans) / room))
        starts = [0, *(spans[place][0] for place in range(size, len(spans), size))]
        cut = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
        return [piece for piece in cut if piece.strip()] or [text]

    def _loaded(self) -> Any:
        if self._model is None:
            self._model = self._load()
            prompts = self._model.prompts  # always has a "document", which hides a model's own "passage" if it is empty
            self._prompt = next(
                (prompts[name] for name in ("document", "passage", "corpus") if prompts.get(name)), None
            )
            tokenizer = getattr(self._model, "tokenizer", None)
            self._prompt_tokens = len(tokenizer.tokenize(self._prompt)) if self._prompt and tokenizer else 0
        return self._model

    def _load(self) -> Any:
        library, device = _library(), self.device or _device()
        try:
            with _quiet():
                model = library.SentenceTransformer(
                    str(self.path),
                    device=device,
                    local_files_only=True,
                    trust_remote_code=False,
                    model_kwargs={"use_safetensors": True},
                )
            return model.float().eval()
        except Exception as error:
            raise FatalError(f"{self.name}: cannot be loaded from {self.path} on {device}: {error}") from error


# What a folder is, before anything of it is loaded


def _checked(folder: Path) -> bool:
    """Whether its files ask for unit length beyond what its modules do. Raises `UsageError` unless it is an encoder."""
    if not folder.is_dir():
        raise UsageError(f"sentence encoder {folder}: there is no such folder")
    modules = _json(folder, "modules.json")
    if not isinstance(modules, list) or not modules:
        raise UsageError(f"sentence encoder {folder}: no modules.json says how its tokens become one vector")
    for module in modules:
        kind, place = (str(module.get(key, "")) for key in ("type", "path")) if isinstance(module, dict) else ("", "")
        if not kind.startswith("sentence_transformers."):
            raise UsageError(f"sentence encoder {folder}: its module {kind!r} is code of its own, which is not run")
        inside = folder / place
        if folder.resolve() not in (inside.resolve(), *inside.resolve().parents):
            raise UsageError(f"sentence encoder {folder}: its module {place!r} lies outside of it")
        for weights in inside.rglob("pytorch_model.bin") if place else ():
            if not weights.with_name("model.safetensors").is_file():
                raise UsageError(
                    f"sentence encoder {folder}: weights are read from safetensors only, not {place}/*.bin"
                )
    if not [*folder.rglob("*.safetensors")]:
        raise UsageError(f"sentence encoder {folder}: no weights (*.safetensors)")
    settings = _json(folder, "config_sentence_transformers.json")
    similarity = settings.get("similarity_fn_name") if isinstance(settings, dict) else None
    if similarity not in _SIMILARITIES:
        raise UsageError(f"sentence encoder {folder}: made for {similarity}, not for inner products")
    return similarity == "cosine"


def _json(folder: Path, name: str) -> Any:
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"sentence encoder {folder}: {name} cannot be read: {error}") from error


def _folder_sha256(folder: Path) -> str:
    """Of the names and hashes of all files that can change a vector."""
    found = sorted({path for pattern in _USED for path in folder.rglob(pattern)})
    lines = [f"{path.relative_to(folder).as_posix()} {remembered_sha256(path)}" for path in found]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _from_hub(name: str) -> Path:
    """The folder of the hub's cache; fetched if it is not there."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise UsageError(f"{_HINT} ({error})") from error
    repository, _, revision = name.partition("@")
    settings: dict[str, Any] = {
        "repo_id": repository, "revision": revision or None, "allow_patterns": list(_USED),
    }  # fmt: skip
    with contextlib.suppress(Exception):  # not there, or not whole: then from the hub
        folder = Path(snapshot_download(**settings, local_files_only=True))
        _checked(folder)
        return folder
    try:
        return Path(snapshot_download(**settings))
    except Exception as error:
        raise FatalError(f"hf/{name}: neither a folder here nor to be had from the hub: {str(error)[:300]}") from error


# The library


def _find_library() -> None:
    """Raises `UsageError`. Importing it takes seconds, which is left to the first call."""
    if importlib.util.find_spec("sentence_transformers") is None:
        raise UsageError(_HINT)


def _library() -> Any:
    try:
        import sentence_transformers
    except ImportError as error:
        raise UsageError(f"{_HINT} ({error})") from error
    if not hasattr(sentence_transformers.SentenceTransformer, "encode_query"):
        raise UsageError(f"{_HINT} (sentence-transformers {sentence_transformers.__version__} is older than 5)")
    return sentence_transformers


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the bar that loading weights draws on the terminal."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _sound(text: str) -> str:
    """Half a surrogate pair, which no tokenizer takes, as "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")
