"""Logs of Inspect AI: a `.eval` file is a zip of JSON, one member a sample (inspect.aisi.org.uk/eval-logs.html)."""

from __future__ import annotations

import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from ..errors import InputError, UsageError

_LARGEST = 1 << 28
"""Bytes of one member when unpacked."""
_HEADS = ("header.json", "_journal/start.json", "start.json")
"""Where the log says what was run: once finished, while running, and in its first versions."""
_ZSTANDARD = 93
_SAMPLE = re.compile(r"samples/(.*)_epoch_(\d+)\.json")


def samples(stream: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    """The samples by epoch and id, each with the log's model and task in it as `_model` and `_task`."""
    try:
        with zipfile.ZipFile(stream) as archive:
            members = set(archive.namelist())
            head = next(
                (member for member in ("header.json", "_journal/start.json", "start.json") if member in members), None
            )
            if head is None:
                raise InputError("a zip file, but no log of Inspect AI: it has no header.json", file=name)
            about = _about(_member(archive, head, name))
            for member in sorted((member for member in members if _SAMPLE.fullmatch(member)), key=_order):
                yield _member(archive, member, name) | about
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(
            f"cannot be unpacked ({error}); `inspect log convert --to json` may help", file=name
        ) from error


def _about(log: dict[str, Any]) -> dict[str, Any]:
    told = log.get("eval")
    told = told if isinstance(told, dict) else {}
    return {"_model": told.get("model"), "_task": told.get("task")}


def unpacked(log: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same from a log in JSON, whose samples are objects."""
    about = _about(log)
    yield from (sample | about for sample in log["samples"])


def _order(member: str) -> tuple[int, bool, int, str]:
    id, epoch = _SAMPLE.fullmatch(member).groups()  # type: ignore[union-attr]
    number = id.isascii() and id.isdigit()
    return int(epoch), not number, int(id) if number else 0, id


def _member(archive: zipfile.ZipFile, member: str, name: str) -> dict[str, Any]:
    if archive.getinfo(member).file_size > _LARGEST:
        raise InputError(f"{member} is larger than {_LARGEST >> 20} MB", file=name)
    try:
        value = msgspec.json.decode(_bytes(archive, archive.getinfo(member), name))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{member} is not JSON ({error})", file=name) from None
    if not isinstance(value, dict):
        raise InputError(f"{member} is not a JSON object", file=name)
    return value


def _bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    """What is in a member. Inspect packs with Zstandard, which Python's zip reader knows from 3.14 on; before that its
    bytes are found by the local header (PKWARE APPNOTE, 4.3.7) and unpacked by pyarrow."""
    if member.compress_type != _ZSTANDARD or sys.version_info >= (3, 14):
        return archive.read(member)
    try:
        import pyarrow
    except ImportError:
        raise UsageError(f"{name}: reading its Zstandard needs pyarrow: pip install 'veridical[parquet]'") from None
    file = archive.fp
    if file is None:
        raise zipfile.BadZipFile("closed")
    file.seek(member.header_offset)
    header = file.read(30)
    if header[:4] != b"PK\x03\x04" or len(header) < 30:
        raise zipfile.BadZipFile(f"no header for {member.filename}")
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR)
    packed = file.read(member.compress_size)
    try:
        found = pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd").read(_LARGEST)
    except OSError as error:
        raise zipfile.BadZipFile(f"{member.filename}: {error}") from None
    if zlib.crc32(found) != member.CRC:
        raise zipfile.BadZipFile(f"{member.filename} has another checksum")
    return found


def text(content: Any) -> str | None:
    """The words of a message's content: a string, or parts of which some are text; None if neither."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(part for part in parts if isinstance(part, str))


def asked(value: Any) -> str | None:
    """The prompt of a sample: a string, or what the user says in a chat."""
    if not isinstance(value, list):
        return value if isinstance(value, str) else None
    said = [text(turn.get("content")) for turn in value if isinstance(turn, dict) and turn.get("role") == "user"]
    return "\n\n".join(words for words in said if words)


def answered(output: Any) -> str | None:
    """The model's answer: its first choice, else the completion; None where it gave none (an error leaves it blank)."""
    if not isinstance(output, dict):
        return None
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    found = text(message.get("content")) if isinstance(message, dict) else None
    return found if found is not None else text(output.get("completion")) or None
