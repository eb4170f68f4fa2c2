"""What a file is by its first bytes, and the archives of one file: gzip, bzip2, xz, and zstandard where Python has it.

Everything is unpacked as a stream, so a small archive of something huge costs time and no memory.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ...errors import InputError, UsageError
from .base import shown, unusable

HEAD = 1 << 16
"""Bytes that are looked at."""
_MAGIC = {
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstandard archive",
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a rar archive",
    b"PAR1": "a Parquet file",
    b"SQLite format 3\x00": "a SQLite database",
    b"%PDF-": "a PDF",
    b"\xff\xfe": "text in UTF-16, not UTF-8",
    b"\xfe\xff": "text in UTF-16, not UTF-8",
    b"version https://git-lfs": "a Git LFS pointer, not the file itself",
}
_TEXTS = {b"<!doctype html": "an HTML page", b"<html": "an HTML page", b"<?xml": "an XML file"}


def _zstandard(path: Path, mode: str) -> Any:
    try:
        from compression import zstd  # pyright: ignore[reportMissingImports]  Python 3.14
    except ImportError:
        raise UsageError(
            f"{shown(path)}: zstandard can be read with Python 3.14 or later; unpack it first (unzstd)"
        ) from None
    return zstd.open(path, mode)


OPENERS: dict[str, Callable[[Path, str], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _zstandard,
}
NAMES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstandard"}
_STARTS = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ", ".zst": b"\x28\xb5\x2f\xfd"}


def packing(path: Path) -> str:
    """The end of the name that tells how it is packed; "" for a file that is not."""
    end = path.suffix.lower()
    return end if end in OPENERS else ""


def opened(path: Path) -> IO[bytes]:
    """The file, unpacked as it is read."""
    return OPENERS[end](path, "rb") if (end := packing(path)) else path.open("rb")


def damage(error: Exception) -> str | None:
    """What is wrong with an archive, if that is what an error in reading it says."""
    if isinstance(error, EOFError):
        return "cut off"
    if isinstance(error, gzip.BadGzipFile | zlib.error | lzma.LZMAError) or type(error).__name__ == "ZstdError":
        return str(error)
    if isinstance(error, OSError) and error.errno is None:  # as bz2 raises
        return str(error)
    return None


def found(head: bytes) -> str:
    """What a file that starts like this is, in words."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    for magic, kind in _TEXTS.items():
        if start[: len(magic)].lower() == magic:
            return kind
    try:
        return f"text that begins {start[:40].decode()!r}" if start else "nothing but blanks"
    except UnicodeDecodeError:
        return f"bytes that begin {head[:8].hex(' ')}"


def foreign(head: bytes) -> bool:
    """Whether it starts like a file of a certain kind, and not like text."""
    return any(head.startswith(magic) for magic in _MAGIC)


def head(path: Path, *, expected: str) -> bytes:
    """The first bytes, unpacked. InputError if the file is empty, not packed as its name says, or broken there."""
    with path.open("rb") as file:
        raw = file.read(HEAD)
    if not raw:
        raise unusable(path, "the file is empty")
    end = packing(path)
    if not end:
        return raw
    if not raw.startswith(_STARTS[end]):
        raise unusable(path, f"expected {expected} packed with {NAMES[end]}, found {found(raw)}")
    try:
        with opened(path) as file:
            return file.read1(HEAD) if hasattr(file, "read1") else file.read(HEAD)  # type: ignore[attr-defined]
    except Exception as error:
        if (why := damage(error)) is None:
            raise
        raise unusable(path, f"a damaged or cut off {NAMES[end]} archive ({why})") from error


def broken(path: Path, error: Exception) -> InputError | None:
    """The damage of an archive as an error that names it."""
    why = damage(error)
    name = NAMES.get(packing(path), "packed")
    return None if why is None else unusable(path, f"a damaged or cut off {name} archive ({why})")
