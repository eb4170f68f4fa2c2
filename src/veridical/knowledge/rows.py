"""Pages as rows of the tables: written, replaced and deleted, with their counts and their fingerprint."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from .schema import LANGUAGE, Fingerprint, page_hash, redirect_hash
from .titles import bare, normal, tidy

if TYPE_CHECKING:
    from .prepare import Ready

COUNTS = ("pages", "passages", "redirects", "characters")
_OF_A_PAGE = ("passage", "alias", "choice")


class Rows:
    """One transaction after the other on a connection, whose begin and end are the caller's.

    `touched` holds what was changed since: page.id, or -redirect.id.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute
        self._many = connection.executemany
        self.load()

    def load(self) -> None:
        """Counts and fingerprint as the meta table has them, after a `rollback` too."""
        meta = dict(self._run("SELECT key, value FROM meta"))
        self.pages, self.passages, self.redirects, self.characters = (int(meta.get(key, 0)) for key in COUNTS)
        self.fingerprint = Fingerprint(meta.get("language", LANGUAGE), meta.get("fingerprint"))
        self.touched: list[int] = []

    def save(self) -> None:
        """Into the meta table."""
        counts = {key: str(getattr(self, key)) for key in COUNTS} | {"fingerprint": str(self.fingerprint)}
        self._many("INSERT OR REPLACE INTO meta VALUES (?, ?)", sorted(counts.items()))

    def add(self, page: Ready) -> str | None:
        """The reason why not, if it cannot be taken: "no text", "repeated title", …"""
        return self._refused(page) or (self._redirect(page) if page.target is not None else self._page(page, None))

    def replace(self, page: Ready) -> str | None:
        """Instead of what has its title, if anything has; the reason why not, and nothing is changed."""
        if reason := self._refused(page):
            return reason
        ids = [] if page.target is not None else self._run("SELECT id FROM page WHERE title = ?", (page.title,))
        kept = next((id_ for (id_,) in ids), None)  # a reader who has found the page goes on to its passages
        self.delete(page.title)
        return self._redirect(page) if page.target is not None else self._page(page, kept)

    def delete(self, title: str) -> bool:
        """Whether there was a page or redirect of exactly that title."""
        found = False
        for spelling in dict.fromkeys((title, tidy(title))):
            for id_, hash_ in self._run("SELECT id, hash FROM page WHERE title = ?", (spelling,)).fetchall():
                self._forget(id_, hash_)
                found = True
            for id_, target in self._run("SELECT id, target FROM redirect WHERE title = ?", (spelling,)).fetchall():
                self._run("DELETE FROM redirect WHERE id = ?", (id_,))
                self.redirects -= 1
                self.fingerprint.remove(redirect_hash(spelling, target))
                self.touched.append(-id_)
                found = True
        return found

    def _refused(self, page: Ready) -> str | None:
        if page.target is None and not page.passages and not page.disambiguation:
            return "no text"
        if page.target is not None and not (tidy(page.title) and tidy(page.target)):
            return "no title"
        try:
            _hash(page)
        except UnicodeEncodeError:
            return "half a surrogate pair"
        return None

    def _page(self, page: Ready, id_: int | None) -> str | None:
        hash_ = _hash(page)
        title = page.title
        row = (id_, title, normal(title), bare(title), page.url, page.date, page.disambiguation, page.plain, hash_)
        written = self._run("INSERT OR IGNORE INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        if written.rowcount == 0:
            return "repeated title"
        number = written.lastrowid
        assert number is not None
        aliases = [(number, alias, normal(alias), bare(alias)) for alias in _aliases(page)]
        self._many("INSERT INTO alias VALUES (?, ?, ?, ?)", aliases)
        if page.disambiguation:
            choices = [(number, place, choice) for place, choice in enumerate(page.choices)]
            self._many("INSERT INTO choice VALUES (?, ?, ?)", choices)
        passages = [(number, place, section, text) for place, (section, text) in enumerate(page.passages)]
        self._many("INSERT INTO passage (page_id, ord, section, text) VALUES (?, ?, ?, ?)", passages)
        self.pages += 1
        self.passages += len(passages)
        self.redirects += len(aliases)
        self.characters += sum(len(text) for _, text in page.passages)
        self.fingerprint.add(hash_)
        self.touched.append(number)
        return None

    def _redirect(self, page: Ready) -> str | None:
        title, target = tidy(page.title), tidy(page.target or "")
        sql = "INSERT OR IGNORE INTO redirect (title, norm, bare, target) VALUES (?, ?, ?, ?)"
        written = self._run(sql, (title, normal(title), bare(title), target))
        if written.rowcount == 0:
            return "repeated title"
        self.redirects += 1
        self.fingerprint.add(redirect_hash(title, target))
        self.touched.append(-(written.lastrowid or 0))
        return None

    def _forget(self, id_: int, hash_: bytes) -> None:
        sql = "SELECT count(*), coalesce(sum(length(text)), 0) FROM passage WHERE page_id = ?"
        ((passages, characters),) = self._run(sql, (id_,))
        ((aliases,),) = self._run("SELECT count(*) FROM alias WHERE page_id = ?", (id_,))
        for table in _OF_A_PAGE:
            self._run(f"DELETE FROM {table} WHERE page_id = ?", (id_,))  # noqa: S608
        self._run("DELETE FROM page WHERE id = ?", (id_,))
        self.pages -= 1
        self.passages -= passages
        self.characters -= characters
        self.redirects -= aliases
        self.fingerprint.remove(hash_)
        self.touched.append(id_)


def _aliases(page: Ready) -> list[str]:
    return sorted({tidy(alias) for alias in page.aliases} - {"", tidy(page.title)})


def _hash(page: Ready) -> bytes:
    if page.target is not None:
        return redirect_hash(tidy(page.title), tidy(page.target))
    return page_hash(
        page.title,
        page.url,
        page.passages,
        aliases=_aliases(page),
        disambiguation=page.disambiguation,
        choices=page.choices if page.disambiguation else (),
    )
