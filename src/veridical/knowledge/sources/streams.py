"""The bytes of a dump, unpacked: all of it, or the part of it that a unit is for.

A page belongs to the unit in which it begins, so a file may be cut anywhere: reading goes on past the end of a unit
until its last page is complete. Plain XML is cut at any byte, bzip2 where one of its streams begins (Wikimedia's
multistream dumps have one for every hundred pages). gzip, xz, zstandard, and bzip2 of a single stream cannot be cut.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ...types import Struct
from . import packed
from .base import UNIT_BYTES, Unit, unit

GROUP_BYTES = UNIT_BYTES // 4
"""Of bzip2, which unpacks to four or five times as much."""
MAGIC = re.compile(rb"BZh[1-9]1AY&SY")
"""How a bzip2 stream begins: 80 bits that its content shows by chance once in 10^24 bytes."""
FARTHEST = 256 << 20
"""How far a further stream is looked for: a hundred pages are never as long."""
_READ = 1 << 16
_CHUNK = 1 << 20


class Edge(Struct, frozen=True, kw_only=True):
    """Here the part of the unit ends; what follows is only there to complete its last page."""


class Break(Struct, frozen=True, kw_only=True):
    """Here bytes are missing."""

    why: str
    detail: str


Stream = Iterator[bytes | Edge | Break]


def units(path: Path, kind: str) -> Iterator[Unit]:
    """The pieces of a dump, in order."""
    size = path.stat().st_size
    edges = {"": _evenly, ".bz2": stream_starts}.get(packed.packing(path), _uncut)
    start = 0
    for end in edges(path, size):
        yield unit(path, kind, start, end, size=end - start)
        start = end


def _evenly(path: Path, size: int) -> Iterator[int]:
    yield from range(UNIT_BYTES, size, UNIT_BYTES)
    yield size


def _uncut(path: Path, size: int) -> Iterator[int]:
    yield size


def stream_starts(path: Path, size: int) -> Iterator[int]:
    """Where units of about GROUP_BYTES end: streams are found by their first bytes, so an index is not needed."""
    with path.open("rb") as file:
        at = GROUP_BYTES
        while at < size and (found := next_stream(file, at)) is not None:
            yield found
            at = found + GROUP_BYTES
    yield size


def next_stream(file: IO[bytes], start: int) -> int | None:
    """Where the next bzip2 stream begins, from `start` on."""
    file.seek(start)
    held, at = b"", start
    while at - start < FARTHEST and (piece := file.read(_CHUNK)):
        held += piece
        if found := MAGIC.search(held):
            return at + found.start()
        kept = held[-9:]
        at, held = at + len(held) - len(kept), kept
    return None


def stream(piece: Unit) -> Stream:
    """The bytes of a unit, and then of what follows it; whoever reads them stops after `Edge` as soon as it can."""
    path = Path(piece.file)
    with path.open("rb") as file:
        match packed.packing(path):
            case "":
                yield from _plain(file, piece)
            case ".bz2":
                yield from _streams(file, piece)
            case _:
                yield from _archive(path)


def _plain(file: IO[bytes], piece: Unit) -> Stream:
    file.seek(piece.start)
    left = piece.end - piece.start
    while left and (data := file.read(min(left, _CHUNK))):
        left -= len(data)
        yield data
    if not (data := file.read(_READ)):
        return  # the file ends with the unit
    yield Edge()
    while data:
        yield data
        data = file.read(_READ)


def _archive(path: Path) -> Stream:
    try:
        with packed.opened(path) as file:
            while data := file.read(_CHUNK):
                yield data
    except Exception as error:
        if (why := packed.damage(error)) is None:
            raise
        name = packed.NAMES[packed.packing(path)]
        yield _damage("cut off" if why == "cut off" else why, path.stat().st_size, name)


def _streams(file: IO[bytes], piece: Unit) -> Stream:
    """bzip2, stream by stream; after a damaged one with the next that can be found."""
    begun, past, size = piece.start, False, Path(piece.file).stat().st_size
    while True:
        file.seek(begun)
        unpack, raw, fed = bz2.BZ2Decompressor(), b"", 0
        try:
            while not unpack.eof:
                if unpack.needs_input:
                    raw = file.read(_READ)
                    if not raw:
                        if fed:
                            yield _damage("cut off", begun + fed, "bzip2")
                        return
                    fed += len(raw)
                else:
                    raw = b""
                if data := unpack.decompress(raw, _CHUNK):
                    yield data
            begun += fed - len(unpack.unused_data)
        except OSError as error:
            if error.errno is not None:
                raise
            found = next_stream(file, begun + 1)
            if found is None and fed == len(raw) and not raw.startswith(b"BZh"):
                return  # padding behind the last stream
            yield _damage(str(error), begun + fed, "bzip2")
            if found is None:
                return
            begun = found
        if begun >= piece.end and not past and begun < size:
            past = True
            yield Edge()


def _damage(why: str, at: int, name: str) -> Break:
    if why == "cut off":
        return Break(why="cut off", detail=f"the {name} archive ends early, at byte {at:,}")
    return Break(why="damaged", detail=f"the {name} archive is damaged near byte {at:,}: {why}")
