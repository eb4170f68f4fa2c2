"""veridical's own format: a SQLite file that any SQLite tool can open. `build.py` writes it."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
from ..text.normal import STOPWORDS, tokens
from ..types import Passage
from .database import Database
from .store import Info, Page
from .titles import bare, normal, qualifier, tidy

VERSION = 1
"""Of the tables below and of the forms of titles and words in them."""
APPLICATION = 0x56524443
"""In the header of the file ("VRDC"), for `file` and for the check before a file is overwritten."""

SCHEMA = """
CREATE TABLE page (
    id INTEGER PRIMARY KEY,          -- 1, 2, 3 … without gaps
    title TEXT NOT NULL UNIQUE,      -- as the source spells it
    norm TEXT NOT NULL,              -- titles.normal
    bare TEXT NOT NULL,              -- titles.bare
    url TEXT
);
CREATE TABLE alias (                 -- redirects
    title TEXT NOT NULL,
    norm TEXT NOT NULL,
    bare TEXT NOT NULL,
    page_id INTEGER NOT NULL REFERENCES page
);
CREATE TABLE passage (
    id INTEGER PRIMARY KEY,
    page_id INTEGER NOT NULL REFERENCES page,
    ord INTEGER NOT NULL,            -- 0, 1, 2 … within the page
    section TEXT NOT NULL,           -- heading, or ''
    text TEXT NOT NULL
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE passage_fts USING fts5 (
    title, text, content = '', detail = full, tokenize = 'porter unicode61 remove_diacritics 2'
);
"""
INDEXES = """
CREATE INDEX page_norm ON page (norm);
CREATE INDEX page_bare ON page (bare);
CREATE INDEX alias_title ON alias (title);
CREATE INDEX alias_norm ON alias (norm);
CREATE INDEX alias_bare ON alias (bare);
CREATE INDEX passage_page ON passage (page_id, ord);
"""

MOST_WORDS = 64
"""Words of one query that are looked up in the whole collection; further ones are left out."""
MOST_TITLES = 200_000
"""Titles among which close ones are looked for; in larger collections only those that begin alike."""
TITLE_WEIGHT = 2.0
"""A word in the title counts as much as this many in the text (see docs/knowledge.md)."""

_FIND = {
    form: (
        f"SELECT title, id, title, url FROM page WHERE {form} = ? ORDER BY id LIMIT 10",  # noqa: S608
        "SELECT alias.title, page.id, page.title, page.url FROM alias JOIN page ON page.id = alias.page_id "  # noqa: S608
        f"WHERE alias.{form} = ? ORDER BY page.id LIMIT 10",
    )
    for form in ("title", "norm", "bare")
}
"""The title that fits, and its page."""
_PASSAGES = "SELECT ord, section, text FROM passage WHERE page_id = ? ORDER BY ord"
_EVERYWHERE = f"""
SELECT page.title, page.url, passage.ord, passage.text, best.score
FROM (
    SELECT rowid, -bm25(passage_fts, {TITLE_WEIGHT}, 1.0) AS score FROM passage_fts WHERE passage_fts MATCH ?
    ORDER BY score DESC, rowid LIMIT ?
) AS best JOIN passage ON passage.id = best.rowid JOIN page ON page.id = passage.page_id
ORDER BY best.score DESC, best.rowid
"""  # noqa: S608
_NEAR = "SELECT title FROM page WHERE norm >= ? AND norm < ? LIMIT ?"


def searchable(text: str) -> str:
    """Words as the index holds them: with "1,000" as "1000" and each CJK character alone, as in queries."""
    return " ".join(tokens(text))


class NativeTables:
    """A file of this format, opened."""

    TABLES = frozenset({"page", "passage", "meta"})

    def __init__(self, database: Database) -> None:
        """Raises InputError if the build was not finished, or made by another version, or holds no page."""
        self._database = database
        file = str(database.path)
        if missing := self.TABLES - database.tables:
            raise InputError(f"an unfinished knowledge source: no table {', '.join(sorted(missing))}", file=file)
        self._meta: dict[str, str] = dict(database.rows("SELECT key, value FROM meta"))
        version = self._meta.get("schema")
        if version is None:
            raise InputError("an unfinished knowledge source: build it again", file=file)
        if version != str(VERSION):
            raise InputError(f"made by another veridical (schema {version}, not {VERSION}): build it again", file=file)
        ((pages,),) = database.rows("SELECT coalesce(max(id), 0) FROM page")
        if pages == 0:
            raise InputError("a knowledge source without pages", file=file)
        if str(pages) != self._meta.get("pages"):
            raise InputError(f"a damaged knowledge source: {pages} of {self._meta.get('pages')} pages", file=file)
        label = "-".join(filter(None, (self._meta["name"], self._meta.get("snapshot"))))
        self.name = f"{label}@{self._meta['fingerprint'][:8]}"

    def find(self, title: str) -> list[Page]:
        """See `Store.lookup`."""
        for form, key in (("title", title), ("title", tidy(title)), ("norm", normal(title)), ("bare", bare(title))):
            for sql in _FIND[form]:
                fitting = self._database.rows(sql, key) if key else []
                pages = {
                    id_: Page(id=id_, title=name, url=url)
                    for fits, id_, name, url in fitting
                    if form != "bare" or _may_be(title, fits)
                }
                if pages:
                    return list(pages.values())
        return []

    def passages(self, page: Page) -> tuple[list[Passage], list[str]]:
        rows = [row for row in self._database.rows(_PASSAGES, page.id) if row[2].strip()]
        return (
            [self._passage(page.title, page.url, place, text) for place, _, text in rows],
            [f"{section}\n{text}" for _, section, text in rows],
        )

    def everywhere(self, query: str, k: int) -> list[Passage]:
        words = list(dict.fromkeys(tokens(query)))
        words = [word for word in words if word not in STOPWORDS] or words
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words[:MOST_WORDS])
        return [
            self._passage(title, url, place, text, score)
            for title, url, place, text, score in self._database.rows(_EVERYWHERE, match, k)
        ]

    def near(self, title: str) -> Sequence[str]:
        start = "" if int(self._meta["pages"]) <= MOST_TITLES else normal(title)[:3]
        rows = self._database.stream(_NEAR, start, start + "\U0010ffff", MOST_TITLES)
        return [name for (name,) in rows]

    def info(self) -> Info:
        meta = self._meta
        told = {"schema", "name", "snapshot", "licence", "pages", "passages", "redirects"}
        return Info(
            name=self.name,
            format="veridical",
            pages=int(meta["pages"]),
            passages=int(meta["passages"]),
            redirects=int(meta["redirects"]),
            bytes=self._database.path.stat().st_size,
            snapshot=meta.get("snapshot"),
            licence=meta.get("licence"),
            built={key: value for key, value in meta.items() if key not in told},
        )

    def _passage(self, title: str, url: str | None, place: int, text: str, score: float | None = None) -> Passage:
        return Passage(id=f"{title}#{place}", text=text, title=title, url=url, source=self.name, score=score)


def _may_be(asked: str, title: str) -> bool:
    """Not if both say in brackets which one is meant and they differ: the painter is not the politician."""
    one, other = qualifier(asked), qualifier(title)
    return not one or not other or one == other
