"""Build a knowledge source: pages in, one SQLite file out. The file appears when it is complete, or not at all."""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from .. import __version__
from ..errors import FatalError, UsageError
from ..types import Struct
from . import native
from .documents import Record
from .passages import LIMIT, cut, cut_like_factscore
from .sources import files, pages
from .titles import bare, normal, tidy

EVERY = 500
"""Pages between two events."""
EXAMPLES = 20
"""Of what was left out, named in the report."""


class Progress(Struct, frozen=True, kw_only=True):
    """How far a build has come."""

    file: str
    pages: int
    passages: int


class BuildReport(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What a build made, and what it left out."""

    name: str
    path: str
    pages: int
    passages: int
    redirects: int
    skipped: dict[str, int]
    """Pages left out, by reason."""
    examples: tuple[str, ...]
    """The first of them: where, and why."""
    characters: int
    """Of text, in passages."""
    bytes: int
    """Size of the file."""
    seconds: float


def build(
    sources: Sequence[str | Path],
    out: str | Path,
    *,
    name: str,
    snapshot: str | None = None,
    licence: str | None = None,
    limit: int = LIMIT,
    compat: Literal["factscore"] | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    on_event: Callable[[Progress], None] | None = None,
) -> BuildReport:
    """Read the pages of `sources` (see `sources.py`) into a new knowledge source `out`, in bounded memory.

    `limit` is in words a passage; `compat` packs passages as FActScore does. A title that comes again is left out and
    counted, as is a page without text. Raises InputError at the first page that cannot be used, unless `on_error` is
    "skip": then those are counted too; UsageError for impossible sources or an `out` that is something else;
    FatalError where the disk is full. Whatever is raised, `out` stays as it was.
    """
    started = time.monotonic()
    out = Path(out)
    if not name.strip():
        raise UsageError("a knowledge source needs a name")
    if limit < 1:
        raise UsageError(f"a passage must hold at least 1 word, not {limit}")
    inputs = [file for source in sources for file in files(Path(source))]
    _check_out(out, inputs)
    told = {
        "name": name,
        "snapshot": snapshot,
        "licence": licence,
        "sources": ", ".join(str(source) for source in sources),
        "limit": str(limit),
        "compat": compat,
        "veridical": __version__,
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.name}.{secrets.token_hex(4)}.partial")
    try:
        with _Writer(partial, limit, compat) as writer:
            for record in _usable(inputs, writer.skip, on_error):
                writer.add(record)
                if on_event and writer.pages % EVERY == 0:
                    on_event(Progress(file=record.file, pages=writer.pages, passages=writer.passages))
            if not writer.pages:
                raise UsageError(_nothing(sources, writer.skipped))
            writer.finish({key: value for key, value in told.items() if value is not None})
        _sync(partial)
        partial.replace(out)
        _sync(out.parent)
    except (sqlite3.Error, OSError) as error:
        raise FatalError(f"{out}: cannot be written: {error}") from error
    finally:
        partial.unlink(missing_ok=True)
    label = "-".join(filter(None, (name, snapshot)))
    return BuildReport(
        name=f"{label}@{writer.fingerprint[:8]}",
        path=str(out),
        pages=writer.pages,
        passages=writer.passages,
        redirects=writer.redirects,
        skipped=dict(writer.skipped),
        examples=tuple(writer.examples),
        characters=writer.characters,
        bytes=out.stat().st_size,
        seconds=time.monotonic() - started,
    )


def _usable(inputs: list[Path], skip: Callable[[str, str], None], on_error: str) -> Iterator[Record]:
    for file in inputs:
        for page in pages(file):
            if isinstance(page, Record):
                yield page
            elif on_error == "skip":
                skip(page.kind, str(page.error()))
            else:
                raise page.error()


class _Writer:
    """The new file. Crash safety is the caller's: it is not the knowledge source before it has been renamed."""

    def __init__(self, path: Path, limit: int, compat: str | None) -> None:
        self.pages = self.passages = self.redirects = self.characters = 0
        self.skipped: Counter[str] = Counter()
        self.examples: list[str] = []
        self.fingerprint = ""
        self._limit = limit
        self._compat = compat
        self._digest = hashlib.blake2b(f"{native.VERSION}".encode(), digest_size=16)
        self._database = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> _Writer:
        for pragma in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "cache_size = -65536",
            f"application_id = {native.APPLICATION}",
        ):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(native.SCHEMA)
        self._database.execute("BEGIN")
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def skip(self, reason: str, example: str) -> None:
        self.skipped[reason] += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)

    def add(self, record: Record) -> None:
        """One page with its redirects and passages, or a reason why not."""
        passages = self._passages(record)
        if not passages:
            self.skip("no text", f"{record.place}: {record.title!r} has no text")
        elif not self._insert(record, passages):
            self.skip("repeated title", f"{record.place}: {record.title!r} came before")

    def _passages(self, record: Record) -> list[tuple[str, str]]:
        """Section and text of each passage. Neighbouring sections without heading are one text."""
        clean = [(section.heading.strip(), _clean(section.text)) for section in record.sections]
        if record.cut:
            return [(heading, text) for heading, text in clean if text]
        if self._compat == "factscore":
            return [("", text) for text in cut_like_factscore([text for _, text in clean], limit=self._limit)]
        joined: list[tuple[str, str]] = []
        for heading, text in clean:
            if joined and not heading and not joined[-1][0]:
                joined[-1] = ("", f"{joined[-1][1]}\n\n{text}")
            else:
                joined.append((heading, text))
        return [(heading, passage) for heading, text in joined for passage in cut(text, limit=self._limit)]

    def _insert(self, record: Record, passages: list[tuple[str, str]]) -> bool:
        """False if the title is there already."""
        run = self._database.execute
        number, title = self.pages + 1, record.title
        row = (number, title, normal(title), bare(title), record.url)
        if run("INSERT OR IGNORE INTO page VALUES (?, ?, ?, ?, ?)", row).rowcount == 0:
            return False
        self.pages = number
        aliases = {tidy(alias) for alias in record.redirects} - {"", tidy(title)}
        rows = [(alias, normal(alias), bare(alias), number) for alias in sorted(aliases)]
        self._database.executemany("INSERT INTO alias VALUES (?, ?, ?, ?)", rows)
        self.redirects += len(rows)
        words = native.searchable(title)
        for place, (section, text) in enumerate(passages):
            self.passages += 1
            self.characters += len(text)
            run("INSERT INTO passage VALUES (?, ?, ?, ?, ?)", (self.passages, number, place, section, text))
            indexed = (self.passages, words, native.searchable(f"{section}\n{text}"))
            run("INSERT INTO passage_fts (rowid, title, text) VALUES (?, ?, ?)", indexed)
        self._digest.update(repr((title, record.url, sorted(aliases), passages)).encode())
        return True

    def finish(self, told: dict[str, str]) -> None:
        """Indexes, and last what makes it a knowledge source: the meta table."""
        self.fingerprint = self._digest.hexdigest()
        counts = {"pages": self.pages, "passages": self.passages, "redirects": self.redirects}
        meta = told | {key: str(count) for key, count in counts.items()}
        meta |= {"schema": str(native.VERSION), "fingerprint": self.fingerprint}
        self._database.execute("INSERT INTO passage_fts (passage_fts) VALUES ('optimize')")
        self._database.execute("COMMIT")
        self._database.executescript(native.INDEXES)
        self._database.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))


def _clean(text: str) -> str:
    """One normal form of Unicode, and no NUL, at which SQLite's own functions stop reading."""
    return unicodedata.normalize("NFC", text).replace("\x00", "").strip()


def _check_out(out: Path, inputs: list[Path]) -> None:
    """Raise UsageError rather than overwrite anything that is not a knowledge source."""
    if out.is_dir():
        raise UsageError(f"{out}: is a folder; name a file, such as {out / 'knowledge.db'}")
    if any(out.resolve() == file.resolve() for file in inputs):
        raise UsageError(f"{out}: is a source too and would be overwritten")
    if out.exists() and out.stat().st_size:
        with out.open("rb") as file:
            head = file.read(72)
        if not head.startswith(b"SQLite format 3\x00") or head[68:72] != native.APPLICATION.to_bytes(4, "big"):
            raise UsageError(f"{out}: exists and is not a knowledge source of veridical; it is left alone")


def _nothing(sources: Sequence[str | Path], skipped: Counter[str]) -> str:
    why = ", ".join(f"{reason} {count}" for reason, count in skipped.most_common()) or "no page in them"
    return f"no page could be taken from {', '.join(str(source) for source in sources) or 'no source'}: {why}"


def _sync(path: Path) -> None:
    """Make sure that it is on the disk."""
    if path.is_dir() and os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
