"""A masked language model of the Hugging Face hub or a folder, read from safetensors for use as an encoder."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import FatalError, UsageError
from .embedded import remembered_sha256

_HINT = "a model of transformers needs the hf extra: pip install 'veridical[hf]'"
_WEIGHTS = "*.safetensors"
_VOCABULARY = ("config.json", "tokenizer*.json", "special_tokens_map.json", "added_tokens.json")
_VOCABULARY += ("vocab.*", "merges.txt", "*.model")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_SIZES = ("hidden_size", "dim", "d_model", "n_embd")
_SPARE = ("pooler.", "embeddings.position_ids")
"""Weights that the vectors of tokens do not depend on, so that they may be missing."""


@dataclass(frozen=True)
class MaskedLM:
    """What is loaded of a folder."""

    tokenizer: Any
    model: Any
    mask: int
    pad: int
    begin: list[int]
    """What the tokenizer puts before a text."""
    end: list[int]
    special: frozenset[int]
    """Ids that stand for no text, the unknown token left out."""
    unknown: frozenset[int]
    """The id that stands for all text outside of the vocabulary, if there is one."""
    positions: int
    """Most tokens that the model takes."""

    def plain(self, text: str) -> list[int]:
        """Ids of the text, nothing added."""
        return self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]

    def spans(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids of the text, nothing added, and the characters that each stands for."""
        read = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return read["input_ids"], [tuple(span) for span in read["offset_mapping"]]


def check(folder: Path) -> dict[str, Any]:
    """The folder's configuration, after a look at whether it can be loaded. Raises `UsageError`."""
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"{_HINT} ({package} is missing)")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder}: no model of transformers (config.json: {error})") from error
    if not isinstance(config, dict) or not isinstance(dimension(config), int):
        raise UsageError(f"{folder}: config.json does not say how long the model's vectors are")
    if not any(folder.glob(_WEIGHTS)):
        raise UsageError(no_safetensors(str(folder)))
    return config


def dimension(config: dict[str, Any]) -> Any:
    """Length of a vector; None where the configuration does not say."""
    return next((config[key] for key in _SIZES if key in config), None)


def no_safetensors(place: str) -> str:
    """What to do about a model whose weights are pickled."""
    return (
        f"{place} has no weights in safetensors. Pickled ones (pytorch_model.bin) are not read, for they can run any "
        "code. Where you trust the file, convert it once: AutoModelForMaskedLM.from_pretrained(NAME)"
        ".save_pretrained(FOLDER), the same with AutoTokenizer, then use hf/FOLDER; or ask the hub's converter "
        "(https://huggingface.co/spaces/safetensors/convert) and use hf/ORG/NAME@refs/pr/N"
    )


def fingerprint(folder: Path) -> str:
    """SHA-256 over weights, configuration and vocabulary, by the files' names and hashes."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in (_WEIGHTS, *_VOCABULARY) for path in folder.glob(pattern)}):
        digest.update(f"{path.name} {remembered_sha256(path)}\n".encode())
    return digest.hexdigest()


def snapshot(name: str, revision: str = "") -> Path:
    """The folder of a model of the hub, fetched unless it is in the hub's cache; never its pickles.

    Raises `UsageError` for a name that is not there or not to be had, `FatalError` where the hub does not answer.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError
        from huggingface_hub.errors import LocalEntryNotFoundError, RevisionNotFoundError  # isort: skip
    except ImportError as error:
        raise UsageError(f"{_HINT} ({error})") from error
    wanted = [_WEIGHTS, "model.safetensors.index.json", *_VOCABULARY]
    with _quietly():
        try:
            folder = snapshot_download(name, revision=revision or None, allow_patterns=wanted)
        except (GatedRepoError, HFValidationError, RepositoryNotFoundError, RevisionNotFoundError) as error:
            raise UsageError(f"hf/{name}: {type(error).__name__}: {str(error)[:500]}") from error
        except LocalEntryNotFoundError as error:
            raise FatalError(f"hf/{name}: not in the hub's cache, and the hub does not answer: {error}") from error
        except Exception as error:  # whatever the HTTP library of the day raises
            raise FatalError(f"hf/{name}: cannot be fetched: {type(error).__name__}: {error}") from error
    if not any(Path(folder).glob(_WEIGHTS)):
        raise UsageError(no_safetensors(f"hf/{name}"))
    return Path(folder)


def load(folder: Path, device: str) -> MaskedLM:
    """Read a folder that `check` passed. Raises `UsageError` for a model that cannot mask, `FatalError` for weights
    that cannot be read or do not make up the whole model."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    with _quietly():
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            model, told = AutoModel.from_pretrained(
                folder,
                dtype=torch.float32,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
            model = model.to(device).eval()
        except Exception as error:  # of the many kinds that a damaged or foreign folder raises
            raise FatalError(f"cannot load {folder}: {type(error).__name__}: {str(error)[:500]}") from error
    if missing := sorted(key for key in told["missing_keys"] if not key.startswith(_SPARE)):
        raise FatalError(f"{folder} lacks weights, such as {missing[0]}; they would be random numbers")
    if getattr(model.config, "is_encoder_decoder", False):
        raise UsageError(f"{folder} is an encoder with a decoder; a masked language model is needed")
    return _described(folder, tokenizer, model)


def _described(folder: Path, tokenizer: Any, model: Any) -> MaskedLM:
    if tokenizer.mask_token_id is None or not tokenizer.is_fast:
        lacks = "mask token" if tokenizer.is_fast else "fast tokenizer, which knows the place of each token"
        raise UsageError(f"{folder} has no {lacks}; a masked language model such as facebook/npm-single is needed")
    read = tokenizer("a", return_special_tokens_mask=True)
    text = [place for place, added in enumerate(read["special_tokens_mask"]) if not added]
    others = {getattr(tokenizer, f"{kind}_token_id") for kind in ("bos", "eos", "sep", "cls", "pad", "mask")}
    unknown = {tokenizer.unk_token_id} - others - {None}
    return MaskedLM(
        tokenizer=tokenizer,
        model=model,
        mask=tokenizer.mask_token_id,
        pad=tokenizer.pad_token_id or 0,
        begin=read["input_ids"][: text[0]],
        end=read["input_ids"][text[-1] + 1 :],
        special=frozenset(tokenizer.all_special_ids) - unknown,
        unknown=frozenset(unknown),
        positions=_positions(tokenizer, model),
    )


def _positions(tokenizer: Any, model: Any) -> int:
    """Most tokens that the model takes: RoBERTa's table of positions begins behind the padding's."""
    most = [tokenizer.model_max_length]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            padding = getattr(module, "padding_idx", None)
            most.append(module.num_embeddings - (0 if padding is None else padding + 1))
    if len(most) == 1:
        most.append(getattr(model.config, "max_position_embeddings", None) or most[0])
    return min(most)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without progress bars and warnings on the terminal, which is the caller's."""
    try:
        from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
        from transformers.utils import logging
    except ImportError as error:
        raise UsageError(f"{_HINT} ({error})") from error
    level, bars, hub_bars = logging.get_verbosity(), logging.is_progress_bar_enabled(), not are_progress_bars_disabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
        if hub_bars:
            enable_progress_bars()
