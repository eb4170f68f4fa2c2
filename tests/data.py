"""Where the human-labelled sets lie beside the project, if they do."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared(name: str) -> Path:
    """Path of a labelled set (a file or folder), or skip the test."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"labelled set {name} is not beside the project (../shared/data)")
    return path
