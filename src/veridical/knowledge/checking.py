"""Is a knowledge source whole? Its file, its counts, its fingerprint, and the indexes beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ..errors import InputError
from ..types import Struct
from .database import check as check_header
from .derived import Damaged, Tables
from .indexes import Passages
from .places import index_folder
from .schema import LANGUAGE, VERSION, Fingerprint, page_hash, redirect_hash
from .words import Language

_IDS = 10_000


class Findings(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What was looked at and what is wrong; nothing, for a whole one."""

    path: str
    pages: int
    passages: int
    wrong: tuple[str, ...]
    index: str
    """"current", "behind", "partial" or "useless": what the next search makes good."""


def check(path: str | Path) -> Findings:
    """Read all of it. Raises InputError for what is no knowledge source of this version at all."""
    path = Path(path)
    check_header(path)
    try:
        connection = sqlite3.connect(path.resolve().as_uri() + "?mode=ro", uri=True, isolation_level=None)
        connection.execute("BEGIN")
        meta: dict[str, str] = dict(connection.execute("SELECT key, value FROM meta"))
    except sqlite3.Error as error:
        raise InputError(f"no knowledge source: {error}", file=str(path)) from error
    try:
        if meta.get("schema") != str(VERSION):
            raise InputError(f"schema {meta.get('schema')}, not {VERSION}: build it again", file=str(path))
        wrong = list(_wrong(connection, meta))
        index = Passages(index_folder(path, meta["store"]), Language(meta.get("language", LANGUAGE)))
        standing = index.standing(Tables.read(connection))
        if standing == "current":
            wrong += _differing(connection, index)
        return Findings(
            path=str(path),
            pages=int(meta["pages"]),
            passages=int(meta["passages"]),
            wrong=tuple(wrong),
            index=standing,
        )
    finally:
        connection.close()


def _wrong(connection: sqlite3.Connection, meta: dict[str, str]) -> Iterator[str]:
    try:
        for (words,) in connection.execute("PRAGMA integrity_check(5)"):
            if words != "ok":
                yield f"SQLite: {words}"
        for what, sql in (
            ("pages", "SELECT count(*) FROM page"),
            ("passages", "SELECT count(*) FROM passage"),
            ("redirects", "SELECT (SELECT count(*) FROM alias) + (SELECT count(*) FROM redirect)"),
        ):
            ((counted,),) = connection.execute(sql)
            if str(counted) != meta[what]:
                yield f"{counted:,} {what}, and {int(meta[what]):,} are to be there"
        if (found := str(_fingerprint(connection, meta))) != meta["fingerprint"]:
            yield f"its content has the fingerprint {found[:8]}, and {meta['fingerprint'][:8]} is written in it"
    except sqlite3.Error as error:
        yield f"SQLite: {error}"


def _fingerprint(connection: sqlite3.Connection, meta: dict[str, str]) -> Fingerprint:
    """Of what is there, computed anew."""
    made = Fingerprint(meta.get("language", LANGUAGE))
    run = connection.execute
    for id_, title, url, disambiguation in run("SELECT id, title, url, disambiguation FROM page"):
        passages = run("SELECT section, text FROM passage WHERE page_id = ? ORDER BY ord", (id_,)).fetchall()
        aliases = [alias for (alias,) in run("SELECT title FROM alias WHERE page_id = ?", (id_,))]
        choices = [choice for (choice,) in run("SELECT title FROM choice WHERE page_id = ? ORDER BY ord", (id_,))]
        hash_ = page_hash(title, url, passages, aliases=aliases, disambiguation=bool(disambiguation), choices=choices)
        made.add(hash_)
    for title, target in run("SELECT title, target FROM redirect"):
        made.add(redirect_hash(title, target))
    return made


def _differing(connection: sqlite3.Connection, index: Passages) -> Iterator[str]:
    """Passages that only one of the two has."""
    sql = "SELECT passage.id FROM passage JOIN page ON page.id = page_id WHERE NOT disambiguation"
    stored = {id_ for (id_,) in connection.execute(sql)}
    indexed: set[int] = set()
    last = -1
    try:
        while some := index.ids(last, _IDS):
            indexed.update(some)
            last = some[-1]
    except Damaged as error:
        yield f"the search index: {error}"
        return
    if stored != indexed:
        lacks, gone = len(stored - indexed), len(indexed - stored)
        yield f"the search index lacks {lacks:,} passages and has {gone:,} that are gone"
