"""Reading a GGUF file: its metadata and its weights as fp32 arrays (GGUF versions 2 and 3, little-endian).

The `gguf` package dequantises; its own reader is not used, since it takes four seconds for a vocabulary of 50,000 (ours
0.1) and fails on a damaged file with errors that do not say which file it was.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError

_HINT = "GGUF weights in torch need the hf extra: pip install 'veridical[hf]'"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_DIMENSIONS = 4
_DEEPEST = 4
"""Arrays inside arrays; real files have none."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """Where a tensor lies; `shape` is torch's order, rows first."""

    shape: tuple[int, ...]
    kind: int
    """ggml's number of the quantisation."""
    offset: int
    """Bytes behind the beginning of the data."""


@dataclasses.dataclass(frozen=True)
class GGUF:
    """A file's header. Made by `read`."""

    path: Path
    fields: dict[str, Any]
    tensors: dict[str, Tensor]
    _data: int
    """Byte at which the tensors' data begin."""

    def need(self, key: str, kind: type | tuple[type, ...]) -> Any:
        """A field's value. Raises `UsageError` where it is missing or of another type."""
        value = self.fields.get(key)
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise self.wrong(f"{key} is {'missing' if value is None else 'not what it should be'}")
        return value

    def weights(self, name: str) -> np.ndarray:
        """A tensor as fp32, in `Tensor.shape`. Raises `UsageError` if it lies outside the file or cannot be read."""
        tensor = self.tensors[name]
        constants, quants = _gguf()
        try:
            kind = constants.GGMLQuantizationType(tensor.kind)
            block, size = constants.GGML_QUANT_SIZES[kind]
        except (ValueError, KeyError) as error:
            raise self.wrong(f"tensor {name} has the unknown type {tensor.kind}") from error
        columns = tensor.shape[-1]
        if columns % block:
            raise self.wrong(f"tensor {name}: rows of {columns} are no whole blocks of {block}")
        rows, width = math.prod(tensor.shape[:-1]), columns // block * size
        try:
            raw = np.memmap(self.path, np.uint8, "r", self._data + tensor.offset, (rows, width))
            return np.require(quants.dequantize(raw, kind), np.float32, ["C", "W"]).reshape(tensor.shape)
        except NotImplementedError as error:
            raise self.wrong(f"tensor {name}: {kind.name} cannot be dequantised") from error
        except (OSError, ValueError, OverflowError) as error:
            raise self.wrong(f"tensor {name} lies outside of the file") from error

    def wrong(self, what: str) -> UsageError:
        """An error that names the file."""
        return UsageError(f"model file {self.path}: {what}")


def read(path: Path) -> GGUF:
    """The header of a file. Raises `UsageError`, naming the file, for one that cannot be read or is no whole GGUF."""
    try:
        with path.open("rb") as file:
            if (magic := file.read(4)) != b"GGUF":
                raise UsageError(f"model file {path}: not a GGUF file (it begins with {magic!r})")
        return _header(path, _Cursor(memoryview(np.memmap(path, np.uint8, "r"))))  # pyright: ignore[reportArgumentType]
    except UsageError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path that cannot be, text that is no UTF-8
        raise UsageError(f"model file {path}: {getattr(error, 'strerror', None) or error}") from error
    except (struct.error, OverflowError, MemoryError) as error:
        raise UsageError(f"model file {path}: damaged, its header ends too early") from error


class _Cursor:
    """A place in the file that moves on with what is read."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.place = 4

    def scalar(self, kind: str) -> Any:
        (value,) = struct.unpack_from(f"<{kind}", self.data, self.place)
        self.place += struct.calcsize(f"<{kind}")
        return value

    def raw(self, size: int) -> bytes:
        if size > len(self.data) - self.place:
            raise OverflowError
        self.place += size
        return self.data[self.place - size : self.place].tobytes()

    def text(self) -> str:
        return self.raw(self.scalar("Q")).decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY and depth < _DEEPEST:
            kind, count = self.scalar("I"), self.scalar("Q")
            if scalar := _SCALARS.get(kind):
                packed = self.raw(count * struct.calcsize(f"<{scalar}"))
                return list(struct.unpack(f"<{count}{scalar}", packed))
            if count > len(self.data):
                raise OverflowError
            return [self.value(kind, depth + 1) for _ in range(count)]
        if kind not in _SCALARS:
            raise ValueError(f"damaged, a field has the unknown type {kind}")
        return self.scalar(_SCALARS[kind])


def _header(path: Path, cursor: _Cursor) -> GGUF:
    version = cursor.scalar("I")
    if version not in (2, 3):
        raise ValueError(f"GGUF version {version} is not known (2 and 3 are)")
    tensors, fields = cursor.scalar("Q"), cursor.scalar("Q")
    known: dict[str, Any] = {}
    for _ in range(fields):
        key = cursor.text()
        known[key] = cursor.value(cursor.scalar("I"))
    places: dict[str, Tensor] = {}
    for _ in range(tensors):
        name, dimensions = cursor.text(), cursor.scalar("I")
        if not 1 <= dimensions <= _MOST_DIMENSIONS:
            raise ValueError(f"damaged, tensor {name!r} has {dimensions} dimensions")
        shape = tuple(cursor.scalar("Q") for _ in range(dimensions))[::-1]
        places[name] = Tensor(shape, cursor.scalar("I"), cursor.scalar("Q"))
    alignment = known.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError(f"damaged, an alignment of {alignment!r}")
    return GGUF(path, known, places, -(-cursor.place // alignment) * alignment)


def _gguf() -> tuple[Any, Any]:
    try:
        return importlib.import_module("gguf.constants"), importlib.import_module("gguf.quants")
    except ImportError as error:
        raise UsageError(f"{_HINT} ({error})") from error
