"""veridical's own format, opened to be read. `schema.py` has its tables; `writer.py` and `bulk.py` write it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..errors import InputError, SearchError
from ..types import Passage
from . import schema
from .database import Database
from .derived import OnIndexing
from .places import index_folder, size
from .redirects import destination
from .shelf import Shelf
from .store import Info, Page
from .titles import bare, normal, qualifier, tidy

MOST_CANDIDATES = 50
"""Titles of one form that are looked at."""

_PAGE = "SELECT id, title, url, plain, disambiguation FROM page"
_PAGES = {form: f"{_PAGE} WHERE {form} = ? ORDER BY id LIMIT {MOST_CANDIDATES}" for form in ("title", "norm", "bare")}
_ALIASES = {
    form: f"SELECT title, page_id FROM alias WHERE {form} = ? ORDER BY page_id LIMIT {MOST_CANDIDATES}"  # noqa: S608
    for form in _PAGES
}
_REDIRECTS = {
    form: f"SELECT title, target FROM redirect WHERE {form} = ? ORDER BY id LIMIT {MOST_CANDIDATES}"  # noqa: S608
    for form in _PAGES
}
_PASSAGES = "SELECT ord, section, text FROM passage WHERE page_id = ? ORDER BY ord"
_THESE = """
SELECT passage.id, page.title, page.url, passage.ord, passage.text
FROM json_each(?) JOIN passage ON passage.id = json_each.value JOIN page ON page.id = passage.page_id
"""
_BEGINNING = "SELECT title FROM page WHERE norm >= ? AND norm < ? LIMIT 1000"


class NativeTables:
    """A file of this format, opened."""

    TABLES = frozenset({"page", "passage", "meta"})

    def __init__(self, database: Database, on_event: OnIndexing = None) -> None:
        """Raises InputError if the build was not finished, or made by another version, or holds no page."""
        self._database = database
        if missing := self.TABLES - database.tables:
            raise self._unusable(f"an unfinished knowledge source: no table {', '.join(sorted(missing))}")
        self._meta = meta = self._read()
        ((last,),) = database.rows("SELECT coalesce(max(id), 0) FROM page")
        if last == 0:
            raise self._unusable("a knowledge source without pages")
        if last < int(meta["pages"]):
            raise self._unusable(f"a damaged knowledge source: {last} of {meta['pages']} pages")
        language = meta.get("language", schema.LANGUAGE)
        self._shelf = Shelf(database, store=meta["store"], language=language, on_event=on_event)

    @property
    def name(self) -> str:
        """See `Store.name`."""
        return schema.label(self._meta)

    def refresh(self) -> None:
        """Another process has changed the file."""
        self._meta = self._read()

    def find(self, title: str) -> list[Page]:
        """See `Store.lookup`."""
        for form, key in (("title", title), ("title", tidy(title)), ("norm", normal(title)), ("bare", bare(title))):
            if not key:
                continue
            rows = self._database.rows(_PAGES[form], key)
            if form == "bare":
                rows = [row for row in rows if _may_be(title, row[1])]
            found = [self._page(row) for row in rows] or self._led_to(title, form, key)
            if form != "bare":  # one spelt so is meant rather than a list of what a name may mean
                found = [page for page in found if not page.disambiguation] or found
            if found:
                return found
        return []

    def passages(self, page: Page) -> tuple[list[Passage], list[str]]:
        rows = [row for row in self._database.rows(_PASSAGES, page.id) if row[2].strip()]
        return (
            [self._passage(page.title, page.url, place, text) for place, _, text in rows],
            [f"{section}\n{text}" for _, section, text in rows],
        )

    def everywhere(self, query: str, k: int) -> list[Passage]:
        try:
            query.encode()
        except UnicodeEncodeError as error:
            raise SearchError(f"half a surrogate pair cannot be looked up: {query[:80]!r}") from error
        asked = k
        while True:
            best = self._shelf.best(query, asked)
            these = self._database.rows(_THESE, json.dumps([id_ for id_, _ in best]))
            rows = {id_: (title, url, place, text) for id_, title, url, place, text in these}
            found = [self._passage(*rows[id_], score) for id_, score in best if id_ in rows]
            if len(found) >= k or len(best) < asked:
                return found[:k]
            asked = 2 * asked  # some have been deleted since

    def near(self, title: str) -> Sequence[str]:
        try:
            return self._shelf.near(title)
        except SearchError:  # a topic that is not found is told with or without suggestions
            start = normal(title)[:3]
            return [name for (name,) in self._database.rows(_BEGINNING, start, start + "\U0010ffff")]

    def info(self) -> Info:
        meta = self._meta
        told = {"schema", "name", "snapshot", "licence", "pages", "passages", "redirects", "store"}
        return Info(
            name=self.name,
            format="veridical",
            pages=int(meta["pages"]),
            passages=int(meta["passages"]),
            redirects=int(meta["redirects"]),
            bytes=self._database.path.stat().st_size,
            index_bytes=size(index_folder(self._database.path, meta["store"])),
            snapshot=meta.get("snapshot"),
            licence=meta.get("licence"),
            built={key: value for key, value in meta.items() if key not in told},
        )

    def _led_to(self, title: str, form: str, key: str) -> list[Page]:
        """Pages that have `title` as a further one."""
        ids = [id_ for fits, id_ in self._database.rows(_ALIASES[form], key) if form != "bare" or _may_be(title, fits)]
        for fits, target in self._database.rows(_REDIRECTS[form], key):
            if form != "bare" or _may_be(title, fits):
                ids.append(destination(target, self._database.rows))
        distinct = [id_ for id_ in dict.fromkeys(ids) if isinstance(id_, int)]
        return [self._page(row) for id_ in distinct for row in self._database.rows(f"{_PAGE} WHERE id = ?", id_)]

    def _page(self, row: tuple[int, str, str | None, int, int]) -> Page:
        id_, title, url, plain, disambiguation = row
        choices: tuple[str, ...] = ()
        if disambiguation:
            sql = "SELECT title FROM choice WHERE page_id = ? ORDER BY ord"
            choices = tuple(choice for (choice,) in self._database.rows(sql, id_))
        return Page(
            id=id_, title=title, url=url, plain=bool(plain), disambiguation=bool(disambiguation), choices=choices
        )

    def _passage(self, title: str, url: str | None, place: int, text: str, score: float | None = None) -> Passage:
        return Passage(id=f"{title}#{place}", text=text, title=title, url=url, source=self.name, score=score)

    def _read(self) -> dict[str, str]:
        meta: dict[str, str] = dict(self._database.rows("SELECT key, value FROM meta"))
        version = meta.get("schema")
        if version is None:
            raise self._unusable("an unfinished knowledge source: build it again")
        if version != str(schema.VERSION):
            raise self._unusable(f"made by another veridical (schema {version}, not {schema.VERSION}): build it again")
        if missing := {"name", "pages", "passages", "redirects", "fingerprint", "store"} - meta.keys():
            raise self._unusable(f"a damaged knowledge source: no {', '.join(sorted(missing))} in its table meta")
        return meta

    def _unusable(self, why: str) -> InputError:
        return InputError(why, file=str(self._database.path))


def _may_be(asked: str, title: str) -> bool:
    """Not if both say in brackets which one is meant and they differ: the painter is not the politician."""
    one, other = qualifier(asked), qualifier(title)
    return not one or not other or one == other
