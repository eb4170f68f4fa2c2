"""Where the files that belong to a knowledge source lie: beside it, or in the user's cache where that cannot be
written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def index_folder(path: Path, store: str) -> Path:
    """Of the search indexes of the store with that id. A file that takes the place of another has another id."""
    return _beside(path, ".index") / store


def lock_file(path: Path) -> Path:
    """Held by who writes the knowledge source or its indexes."""
    return _beside(path, ".lock")


def cache_folder(store: str, fingerprint: str) -> Path:
    """Of indexes for which there is no place beside the file."""
    home = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return (Path(home) if home else Path.home() / ".cache") / "veridical" / "indexes" / f"{store}-{fingerprint}"


def clear_others(folder: Path, *, start: str = "") -> None:
    """Remove what earlier contents left beside `folder`, of names that begin so; open files stay readable (POSIX)."""
    for other in folder.parent.glob(f"{start}*"):
        if other != folder and other.is_dir():
            shutil.rmtree(other, ignore_errors=True)


def size(folder: Path) -> int:
    """Bytes of the files in it."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)
