"""Published data sets as data: what each is, where its files are, and the bytes that they must be; fetching them.

The table is `datasets.toml`. Every address names a commit, and every file is checked by size and SHA-256, so that what
arrives is what the numbers were made with, or nothing. Nothing of a set is shipped: its licence is its authors'.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import shutil
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from .errors import FatalError, UsageError, leaf
from .models.embedded import home, sha256
from .types import Struct

_AT_ONCE = 6
_ATTEMPTS = 3
"""Tries a file; each goes on where the last one was cut."""
_SECONDS = 60.0
"""Longest silence of a server."""
_CHUNK = 1 << 16


class Remote(Struct, frozen=True, kw_only=True):
    """One file of a set."""

    path: str
    """In the set's folder, with "/"."""
    source: str
    """At the source, below its base."""
    size: int
    """Bytes."""
    sha256: str = ""
    sha1: str = ""
    """Where the source tells no other hash."""


class Dataset(Struct, frozen=True, kw_only=True):
    """A published set."""

    name: str
    what: str
    licence: str
    base: str
    """Address of its files, with the commit, ending in "/"."""
    files: tuple[Remote, ...]

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(file.size for file in self.files)


class Listed(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A set as `data list` shows it."""

    name: str
    what: str
    licence: str
    source: str
    files: int
    size: int
    path: str | None
    """Where it is; None = not fetched."""


@functools.cache
def datasets() -> dict[str, Dataset]:
    """Every known set by name."""
    table: dict[str, Any] = tomllib.loads(files("veridical").joinpath("datasets.toml").read_text(encoding="utf-8"))
    return {
        name: Dataset(
            name=name,
            what=row["what"],
            licence=row["licence"],
            base=row["base"],
            files=tuple(_remote(line) for line in row["files"].splitlines() if line),
        )
        for name, row in table.items()
    }


def dataset(name: str) -> Dataset:
    """Raises UsageError for a name that is not in the table."""
    if name not in datasets():
        raise UsageError(f"no data set {name!r}; there is: {', '.join(datasets())}")
    return datasets()[name]


def locate(name: str) -> Path | None:
    """The folder of a set if it has been fetched to its usual place, whole as far as sizes tell, else None."""
    found, place = dataset(name), _place(name)
    return place if all(_sized(place / file.path, file) for file in found.files) else None


def listing() -> list[Listed]:
    """Every set and where it is."""
    return [
        Listed(
            name=one.name,
            what=one.what,
            licence=one.licence,
            source=one.base,
            files=len(one.files),
            size=one.size,
            path=str(path) if (path := locate(one.name)) else None,
        )
        for one in datasets().values()
    ]


async def fetch(
    name: str | Dataset,
    *,
    into: Path | None = None,
    base: str | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Path:
    """Bring the files of a set into a folder (the data folder's if None) and return it; what is intact stays.

    `base` is another address of the same files. Each file is streamed into `FILE.partial`, which a further call goes on
    with, and gets its name when size and hash are right. `progress` is told how many of the files are there. Raises
    UsageError for an unknown name, FatalError where a file cannot be had, is not the expected one, or not be written.
    """
    import aiohttp  # takes longer to import than all the rest

    found = name if isinstance(name, Dataset) else dataset(name)
    folder = into or _place(found.name)
    missing = [file for file in found.files if not _intact(folder / file.path, file)]
    _check_room(folder, missing)
    done = len(found.files) - len(missing)
    progress(done, len(found.files))
    slots = asyncio.Semaphore(_AT_ONCE)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_SECONDS, sock_read=_SECONDS)

    async def one(file: Remote) -> None:
        nonlocal done
        async with slots:
            await _download(session, (base or found.base).rstrip("/") + "/" + quote(file.source), folder, file)
        done += 1
        progress(done, len(found.files))

    async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session:
        try:
            async with asyncio.TaskGroup() as group:
                for file in missing:
                    group.create_task(one(file))
        except BaseExceptionGroup as errors:
            raise leaf(errors) from None
    return folder


def _check_room(folder: Path, missing: Sequence[Remote]) -> None:
    """Raise FatalError before anything is fetched that has no room on the disk."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    partial = (folder / f"{file.path}.partial" for file in missing)
    needed = sum(file.size for file in missing) - sum(path.stat().st_size for path in partial if path.is_file())
    if needed > (free := shutil.disk_usage(there).free):
        raise FatalError(f"{folder}: {needed / 1e9:,.1f} GB are needed, and {free / 1e9:,.1f} GB are free there")


# --- one file


async def _download(session: Any, url: str, folder: Path, file: Remote) -> None:
    import aiohttp

    target = folder / file.path
    partial = target.with_name(f"{target.name}.partial")
    trouble = ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            await asyncio.sleep(0.2 * 2**attempt)
        try:
            trouble = await _attempt(session, url, partial, file)
        except aiohttp.ClientConnectorError as error:
            raise FatalError(
                f"{url}: the server cannot be reached ({error.os_error or error}); fetching needs the network, "
                "or a copy of the files elsewhere: --mirror"
            ) from error
        except aiohttp.InvalidURL as error:
            raise UsageError(f"{url}: no address") from error
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            trouble = str(error) or type(error).__name__
        if not trouble:
            break
    else:
        raise FatalError(f"{url}: given up after {_ATTEMPTS} tries: {trouble}")
    _finish(partial, target, url, file)


async def _attempt(session: Any, url: str, partial: Path, file: Remote) -> str:
    """Fill the partial file; returns what went wrong and may pass, in words."""
    start = _begin(partial, file)
    if start == file.size:
        return ""
    headers = {"Range": f"bytes={start}-"} if start else {}
    headers["Accept-Encoding"] = "identity"  # so that a range is one of the file's bytes
    async with session.get(url, headers=headers) as response:
        if response.status in (408, 425, 429) or response.status >= 500:
            return f"HTTP {response.status}"
        if response.status not in (200, 206):
            raise FatalError(f"{url}: HTTP {response.status}; it is not there (any more): --mirror names another place")
        resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        if response.status == 206 and not resumed:
            _remove(partial)
            return "another part than was asked for"
        got = start if resumed else 0
        with _open(partial, "ab" if resumed else "wb") as out:
            async for chunk in response.content.iter_chunked(_CHUNK):
                got += len(chunk)
                if got > file.size:
                    break
                with _writing(partial):
                    out.write(chunk)
    if got > file.size:
        _remove(partial)
        raise FatalError(f"{url}: larger than the {file.size} bytes expected: another file than the known one")
    return "" if got == file.size else f"ended after {got} of {file.size} bytes"


def _begin(partial: Path, file: Remote) -> int:
    """Bytes that are there already."""
    with _writing(partial):
        partial.parent.mkdir(parents=True, exist_ok=True)
        size = partial.stat().st_size if partial.exists() else 0
    if size > file.size:
        _remove(partial)
        return 0
    return size


def _finish(partial: Path, target: Path, url: str, file: Remote) -> None:
    with _writing(target):
        kind, found, expected = _hashes(partial, file)
        if found == expected:
            partial.replace(target)
            return
    _remove(partial)
    raise FatalError(f"{url}: {kind} of the downloaded file is {found}, expected {expected}")


def _remove(partial: Path) -> None:
    with _writing(partial):
        partial.unlink(missing_ok=True)


def _open(partial: Path, mode: str) -> IO[bytes]:
    with _writing(partial):
        return partial.open(mode, buffering=0)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Trouble with the disk stops the command in one line."""
    try:
        yield
    except OSError as error:
        raise FatalError(f"cannot write to {path}: {error.strerror or error}") from error


# --- the table and the folder


def _remote(line: str) -> Remote:
    described, _, source = line.partition(" < ")
    size, digest, path = described.split(" ", 2)
    return Remote(path=path, source=source or path, size=int(size), sha256=digest)


def _place(name: str) -> Path:
    return home() / "data" / name


def _sized(path: Path, file: Remote) -> bool:
    return path.is_file() and path.stat().st_size == file.size


def _intact(path: Path, file: Remote) -> bool:
    if not _sized(path, file):
        return False
    _, found, expected = _hashes(path, file)
    return found == expected


def _hashes(path: Path, file: Remote) -> tuple[str, str, str]:
    """Which hash is known, that of the file, and the one that it must have."""
    if file.sha256:
        return "sha256", sha256(path), file.sha256
    with path.open("rb") as opened:
        return "sha1", hashlib.file_digest(opened, "sha1").hexdigest(), file.sha1


def remote(path: str, content: bytes) -> Remote:
    """The entry of a file with this content, for a set of one's own."""
    return Remote(path=path, source=path, size=len(content), sha256=hashlib.sha256(content).hexdigest())
