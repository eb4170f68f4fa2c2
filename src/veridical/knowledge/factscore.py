"""FActScore's own knowledge source, such as its `enwiki-20230401.db`, read as it is.

One table, documents(title PRIMARY KEY, text): passages joined by a separator, with the marks of the tokenizer that
cut them left in. It has no redirects, and no index of its text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from ..errors import InputError, SearchError
from ..types import Passage
from .database import Database
from .store import Info, Page
from .titles import tidy

SEPARATOR = "####SPECIAL####SEPARATOR####"
MOST_TITLES = 5_000
"""Titles that begin like the one asked for, among which close ones are looked for."""
_SAMPLES = 64
"""Documents whose text goes into the fingerprint: reading all of 20 GB would take minutes."""


def passages(text: str) -> list[str]:
    """The passages of a document, in order, without the tokenizer's marks; no blank ones."""
    parts = (part.replace("<s>", "").replace("</s>", "").strip() for part in text.split(SEPARATOR))
    return [part for part in parts if part]


class FActScoreTables:
    """A file of this format, opened."""

    TABLES = frozenset({"documents"})

    def __init__(self, database: Database) -> None:
        """Raises InputError if the table has other columns or holds nothing."""
        self._database = database
        file = str(database.path)
        columns = {name for (name,) in database.rows("SELECT name FROM pragma_table_info('documents')")}
        if not {"title", "text"} <= columns:
            held = ", ".join(sorted(columns))
            raise InputError(f"expected columns title and text in table documents, found {held}", file=file)
        ((self._last,),) = database.rows("SELECT max(rowid) FROM documents")
        if self._last is None:
            raise InputError("a FActScore knowledge source without pages: its build was not finished", file=file)
        self.name = f"{database.path.stem}@{self._fingerprint()}"

    def documents(self) -> Iterator[tuple[str, list[str]]]:
        """Every title with its passages."""
        for title, text in self._database.stream("SELECT title, text FROM documents ORDER BY rowid"):
            yield title, passages(text)

    def find(self, title: str) -> list[Page]:
        """See `Store.lookup`. Without stored forms of the titles only likely spellings can be tried."""
        plain = tidy(title)
        capitals = " ".join(word[:1].upper() + word[1:] for word in plain.split(" "))
        for spelling in dict.fromkeys((title, plain, plain[:1].upper() + plain[1:], capitals)):
            if rows := self._database.rows("SELECT rowid, title FROM documents WHERE title = ?", spelling):
                return [Page(id=rows[0][0], title=rows[0][1])]
        return []

    def passages(self, page: Page) -> tuple[list[Passage], list[str]]:
        ((text,),) = self._database.rows("SELECT text FROM documents WHERE rowid = ?", page.id)
        texts = passages(text)
        return (
            [
                Passage(id=f"{page.title}#{place}", text=text, title=page.title, source=self.name)
                for place, text in enumerate(texts)
            ],
            texts,
        )

    def everywhere(self, query: str, k: int) -> list[Passage]:
        raise SearchError(
            f"{self._database.path}: FActScore's format has no index of its text, so a topic is needed; "
            "`veridical knowledge build` makes a knowledge source of it that can be searched as a whole"
        )

    def near(self, title: str) -> Sequence[str]:
        plain = tidy(title)
        start = (plain[:1].upper() + plain[1:])[:3]
        sql = "SELECT title FROM documents WHERE title >= ? AND title < ? LIMIT ?"
        return [name for (name,) in self._database.rows(sql, start, start + "\U0010ffff", MOST_TITLES)]

    def refresh(self) -> None:
        """Nothing of the file is kept."""

    def info(self) -> Info:
        ((pages,),) = self._database.rows("SELECT count(*) FROM documents")
        size = self._database.path.stat().st_size
        return Info(name=self.name, format="factscore", pages=pages, bytes=size)

    def _fingerprint(self) -> str:
        """Of the file's size, the number of its last document, and documents spread evenly over it."""
        digest = hashlib.blake2b(f"{self._database.path.stat().st_size} {self._last}".encode(), digest_size=4)
        for number in range(_SAMPLES):
            rowid = 1 + number * (self._last - 1) // (_SAMPLES - 1)
            for row in self._database.rows("SELECT title, text FROM documents WHERE rowid = ?", rowid):
                digest.update(repr(row).encode())
        return digest.hexdigest()
