"""The two indexes of a knowledge source: its passages by their words (BM25), its titles by their letters.

Passages: a word in the title counts as two in the text, since it stands twice in the indexed text; BM25 with k1 1.2 and
b 0.75, idf log(1 + (N - n + ½) / (n + ½)). Titles: trigrams of the bare form, bigrams too for short ones, so that a
slip anywhere leaves most of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import tantivy

from .derived import Derived, watched
from .titles import bare
from .words import Language, words

TITLE_WEIGHT = 2
"""A word in the title counts as much as this many in the text (see docs/knowledge.md)."""
DIGITS = 4
"""Of a score: beyond, sums of 32 bits depend on the order in which words were added."""
NEAR = 50
"""Titles that share most letters with one that was not found."""
_SHORT = 8
"""Letters of a title up to which pairs of letters count too."""
_MOST_GRAMS = 64
_MOST_TIES = 1 << 14


def searchable(text: str) -> str:
    """Words as the index takes them."""
    return " ".join(words(text))


class Passages(Derived):
    """All passages but those of disambiguation pages, which speak of several things of one name."""

    kind = "passages"

    def __init__(self, folder: Path, language: Language) -> None:
        super().__init__(folder, language.analyzer)
        self._language = language

    def _schema(self) -> tantivy.Schema:
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("id", indexed=True, fast=True)
        builder.add_integer_field("owner", indexed=True)
        builder.add_text_field("text", tokenizer_name="words", index_option="freq")
        return builder.build()

    def documents(self, connection: sqlite3.Connection, owner: int) -> Iterator[tantivy.Document]:
        sql = (
            "SELECT passage.id, section, text, title FROM page JOIN passage ON page_id = page.id "
            "WHERE page.id = ? AND NOT disambiguation"
        )
        for id_, section, text, title in connection.execute(sql, (owner,)):
            yield _document(id_, owner, _titled(title), section, text)

    def everything(self, connection: sqlite3.Connection, after: int) -> Iterator[tuple[int, tantivy.Document]]:
        sql = (
            "SELECT passage.id, page_id, section, text, title FROM passage CROSS JOIN page ON page.id = page_id "
            "WHERE passage.id > ? AND NOT disambiguation ORDER BY passage.id"
        )
        last, titled = None, ""
        for id_, owner, section, text, title in connection.execute(sql, (after,)):
            if owner != last:
                last, titled = owner, _titled(title)
            yield id_, _document(id_, owner, titled, section, text)

    def total(self, connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT value FROM meta WHERE key = 'passages'").fetchone()[0])

    def best(self, query: str, k: int) -> list[tuple[int, float]]:
        """Ids of the `k` best passages with their scores, best first, ties by id. Raises `Damaged`."""
        terms = self._language.terms(query)
        if not terms:
            return []
        with watched():
            searcher = self.opened().searcher()
            return _best(searcher, _any(self.schema, "text", terms), k)

    def ids(self, after: int, most: int) -> list[int]:
        """The next ids in the index, in order."""
        with watched():
            beyond = tantivy.Query.range_query(
                self.schema, "id", tantivy.FieldType.Integer, lower_bound=after, include_lower=False
            )
            hits = self.opened().searcher().search(beyond, most, False, "id", 0, tantivy.Order.Asc).hits
            return [int(id_) for id_, _ in hits]


class Titles(Derived):
    """Titles of pages, their aliases and redirects."""

    kind = "titles"

    def __init__(self, folder: Path) -> None:
        blank = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        super().__init__(folder, blank)

    def _schema(self) -> tantivy.Schema:
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("owner", indexed=True, fast=True)
        builder.add_bytes_field("title", stored=True)
        builder.add_text_field("grams", tokenizer_name="words", index_option="basic")
        return builder.build()

    def documents(self, connection: sqlite3.Connection, owner: int) -> Iterator[tantivy.Document]:
        if owner < 0:
            found = connection.execute("SELECT title FROM redirect WHERE id = ?", (-owner,))
        else:
            sql = "SELECT title FROM page WHERE id = ? UNION ALL SELECT title FROM alias WHERE page_id = ?"
            found = connection.execute(sql, (owner, owner))
        for (title,) in found:
            yield _spelt(owner, title)

    def everything(self, connection: sqlite3.Connection, after: int) -> Iterator[tuple[int, tantivy.Document]]:
        for sql in (
            "SELECT id, title FROM page",
            "SELECT page_id, title FROM alias",
            "SELECT -id, title FROM redirect",
        ):
            for owner, title in connection.execute(sql):
                yield 0, _spelt(owner, title)

    def total(self, connection: sqlite3.Connection) -> int:
        sql = "SELECT sum(value) FROM meta WHERE key IN ('pages', 'redirects')"
        return int(connection.execute(sql).fetchone()[0])

    def near(self, title: str) -> list[str]:
        """The titles that share most groups of letters with `title`. Raises `Damaged`."""
        letters = list(islice(dict.fromkeys(grams(title, short=_SHORT - 1)), _MOST_GRAMS))
        if not letters:
            return []
        with watched():
            searcher = self.opened().searcher()
            hits = searcher.search(_any(self.schema, "grams", letters), NEAR, count=False).hits
            titles = (bytes(searcher.doc(address)["title"][0]).decode() for _, address in hits)
            return list(dict.fromkeys(titles))

    def count(self) -> int:
        with watched():
            return self.opened().searcher().num_docs


def grams(title: str, *, short: int = _SHORT) -> list[str]:
    """Groups of three letters of the bare title, with marks for its begin and end; of two as well in short ones."""
    form = bare(title)
    padded = f"^{form}$"
    found = [padded[at : at + 3] for at in range(len(padded) - 2)]
    if len(form) <= short:
        found += [padded[at : at + 2] for at in range(len(padded) - 1)]
    return found if form else []


def _titled(title: str) -> str:
    return " ".join([searchable(title)] * TITLE_WEIGHT)


def _document(id_: int, owner: int, titled: str, section: str, text: str) -> tantivy.Document:
    document = tantivy.Document()
    document.add_integer("id", id_)
    document.add_integer("owner", owner)
    document.add_text("text", f"{titled} {searchable(section)} {searchable(text)}")
    return document


def _spelt(owner: int, title: str) -> tantivy.Document:
    document = tantivy.Document()
    document.add_integer("owner", owner)
    document.add_bytes("title", title.encode())
    document.add_text("grams", " ".join(grams(title)))
    return document


def _any(schema: tantivy.Schema, field: str, terms: Sequence[str]) -> tantivy.Query:
    option = "freq" if field == "text" else "basic"
    found = [tantivy.Query.term_query(schema, field, term, option) for term in terms]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in found])


def _best(searcher: tantivy.Searcher, query: tantivy.Query, k: int) -> list[tuple[int, float]]:
    """All that may be among the best `k` are read, since the index breaks ties by where a passage happens to lie."""
    limit = k + 16
    while True:
        hits = searcher.search(query, limit, count=False).hits
        scores = [round(float(score), DIGITS) for score, _ in hits]
        if len(hits) < limit or scores[-1] < scores[k - 1] or limit >= _MOST_TIES:
            break
        limit *= 4
    ids = searcher.fast_field_values("id", [address for _, address in hits])
    ranked = sorted(zip(scores, ids, strict=True), key=lambda hit: (-hit[0], hit[1]))
    return [(int(id_ or 0), score) for score, id_ in ranked[:k]]
