"""veridical's own format: the tables of its SQLite file, which any SQLite tool can open, and the hash of their content.

The fingerprint is the sum of the hashes of all pages and redirects, modulo 2^128: the same whatever the order in which
they came, and changed with each page without reading the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

VERSION = 2
"""Of the tables below and of the forms of titles in them."""
APPLICATION = 0x56524443
"""In the header of the file ("VRDC"), for `file` and for the check before a file is overwritten."""

TABLES = """
CREATE TABLE page (
    id INTEGER PRIMARY KEY AUTOINCREMENT,   -- never given twice
    title TEXT NOT NULL UNIQUE,      -- as the source spells it
    norm TEXT NOT NULL,              -- titles.normal
    bare TEXT NOT NULL,              -- titles.bare
    url TEXT,
    date TEXT,                       -- last changed or fetched, as the source says
    disambiguation INTEGER NOT NULL, -- 1: it only lists what its title may mean
    plain INTEGER NOT NULL,          -- 1: its markup could not be read as a whole
    hash BLOB NOT NULL               -- schema.page_hash
);
CREATE TABLE alias (                 -- further titles that a page brings with it
    page_id INTEGER NOT NULL REFERENCES page,
    title TEXT NOT NULL,
    norm TEXT NOT NULL,
    bare TEXT NOT NULL
);
CREATE TABLE redirect (              -- titles that lead to another title, which is followed when it is asked for
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL UNIQUE,
    norm TEXT NOT NULL,
    bare TEXT NOT NULL,
    target TEXT NOT NULL
);
CREATE TABLE choice (                -- what a disambiguation page lists
    page_id INTEGER NOT NULL REFERENCES page,
    ord INTEGER NOT NULL,
    title TEXT NOT NULL,
    PRIMARY KEY (page_id, ord)
) WITHOUT ROWID;
CREATE TABLE passage (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    page_id INTEGER NOT NULL REFERENCES page,
    ord INTEGER NOT NULL,            -- 0, 1, 2 … within the page
    section TEXT NOT NULL,           -- heading, or ''
    text TEXT NOT NULL
);
CREATE TABLE outbox (                -- changes that the search index has yet to follow
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    owner INTEGER NOT NULL           -- page.id, or -redirect.id
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
INDEXES = """
CREATE INDEX IF NOT EXISTS page_norm ON page (norm);
CREATE INDEX IF NOT EXISTS page_bare ON page (bare);
CREATE INDEX IF NOT EXISTS alias_page ON alias (page_id);
CREATE INDEX IF NOT EXISTS alias_title ON alias (title);
CREATE INDEX IF NOT EXISTS alias_norm ON alias (norm);
CREATE INDEX IF NOT EXISTS alias_bare ON alias (bare);
CREATE INDEX IF NOT EXISTS redirect_norm ON redirect (norm);
CREATE INDEX IF NOT EXISTS redirect_bare ON redirect (bare);
CREATE INDEX IF NOT EXISTS passage_page ON passage (page_id, ord);
"""

LANGUAGE = "en"
"""Of a knowledge source that does not say."""
_MODULUS = 1 << 128


def page_hash(
    title: str,
    url: str | None,
    passages: Sequence[tuple[str, str]],
    *,
    aliases: Sequence[str] = (),
    disambiguation: bool = False,
    choices: Sequence[str] = (),
) -> bytes:
    """16 bytes of all that a search can return of a page. `passages` are section and text. UnicodeEncodeError for half
    a surrogate pair."""
    content = title, url, sorted(aliases), disambiguation, list(choices), [list(passage) for passage in passages]
    return _digest(msgspec.json.encode(content))


def redirect_hash(title: str, target: str) -> bytes:
    return _digest(msgspec.json.encode((title, target)))


class Fingerprint:
    """The sum over a store's content."""

    def __init__(self, language: str, total: str | None = None) -> None:
        """`total` is the `str` of the one to go on from."""
        start = int.from_bytes(_digest(f"veridical {VERSION} {language}".encode()), "big")
        self._sum = start if total is None else int(total, 16)

    def __str__(self) -> str:
        """32 hexadecimal digits."""
        return f"{self._sum:032x}"

    def add(self, hash_: bytes) -> None:
        self._sum = (self._sum + int.from_bytes(hash_, "big")) % _MODULUS

    def remove(self, hash_: bytes) -> None:
        self._sum = (self._sum - int.from_bytes(hash_, "big")) % _MODULUS


def label(meta: dict[str, str]) -> str:
    """Name, snapshot and the first digits of the fingerprint, as they stand in results."""
    return "-".join(filter(None, (meta["name"], meta.get("snapshot")))) + f"@{meta['fingerprint'][:8]}"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
