"""The XML of MediaWiki's exports: what is said of the wiki, and one page.

Read with expat, one page at a time, so that what is broken in one spoils no other. Nothing that XML could refer to is
followed: a page has no DOCTYPE, so it can declare no entity, and only the five of XML itself are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlsplit
from xml.parsers import expat

from ...types import Struct

_CONTROL = bytes(n for n in range(32) if n not in (9, 10, 13))
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_REFERENCE = re.compile(rb"&#(x[0-9a-fA-F]{1,8}|[0-9]{1,9});")
_WIKIMEDIA = re.compile(r"(?:^|\.)(?:wikipedia|wiktionary|wikibooks|wikiquote|wikisource|wikiversity|wikivoyage)\.org$")
_LICENCE_4 = "20230607"
"""Day from which Wikimedia's terms of use name version 4.0 of the licence."""


class Site(Struct, frozen=True, kw_only=True):
    """What an export says of its wiki."""

    name: str = ""
    dbname: str = ""
    """"enwiki"."""
    base: str = ""
    """Address of the main page."""
    generator: str = ""
    """"MediaWiki 1.43.0"."""
    language: str = "en"
    namespaces: dict[str, int] = {}
    """Name to number, without the main one."""

    def namespace(self, title: str) -> int:
        """Of a page whose export, made before 2012, does not say it: one of the names declared before the colon."""
        return self.namespaces.get(title.partition(":")[0].replace("_", " "), 0) if ":" in title else 0

    def label(self, number: int) -> str:
        """A namespace in words."""
        name = next((name for name, known in self.namespaces.items() if known == number), "")
        return f"namespace {number} ({name})" if name else f"namespace {number}"

    def url(self, title: str) -> str | None:
        """The address of a page."""
        if not self.base.startswith(("http://", "https://")):
            return None
        at = self.base.find("title=")
        start = self.base[: at + 6] if at >= 0 else self.base[: self.base.rindex("/") + 1]
        return start + quote(title.replace(" ", "_"), safe="/:@!$*'(),;~")

    def licence(self, snapshot: str | None) -> str | None:
        """Of the texts of Wikimedia's wikis; None for others, which an export does not tell."""
        if not _WIKIMEDIA.search(urlsplit(self.base).hostname or ""):
            return None
        return "CC BY-SA 3.0" if snapshot and snapshot.replace("-", "") < _LICENCE_4 else "CC BY-SA 4.0"


class Page(Struct, frozen=True, kw_only=True):
    """A page as it stands in an export, with its last revision."""

    title: str = ""
    ns: int | None = None
    id: str = ""
    redirect: str | None = None
    """Title that it leads to, as the element says, without its section."""
    timestamp: str | None = None
    model: str = "wikitext"
    text: str = ""
    stub: bool = False
    """The text was left out of the export."""


class _Elements:
    """Text and attributes of elements, by their path from the root of what was fed."""

    def __init__(self, wanted: Mapping[str, Callable[[str, dict[str, str]], None]]) -> None:
        self._wanted = wanted
        self._path: list[tuple[str, dict[str, str]]] = []
        self._text: list[str] = []
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.buffer_size = 1 << 16
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text.append
        self.parser.StartDoctypeDeclHandler = _no_doctype

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append((name, attributes))
        self._text.clear()

    def _end(self, name: str) -> None:
        take = self._wanted.get("/".join(name for name, _ in self._path))
        if take:
            take("".join(self._text), self._path[-1][1])
        self._text.clear()
        self._path.pop()

    def close(self) -> None:
        """End what was left open, as a document that is cut off."""
        while self._path:
            self._end("")


def _no_doctype(*_: object) -> None:
    raise ValueError("it has a DOCTYPE, which no export has")


def site(head: bytes) -> Site:
    """From the beginning of an export, up to its first page. Raises ValueError for what is no XML."""
    told: dict[str, str] = {}
    names: dict[str, int] = {}

    def namespace(text: str, attributes: dict[str, str]) -> None:
        number = attributes.get("key", "")
        if text and number.lstrip("-").isdigit():
            names[text] = int(number)

    def keep(field: str) -> Callable[[str, dict[str, str]], None]:
        return lambda text, _: told.update({field: text.strip()})

    info = "mediawiki/siteinfo"
    fields = {"sitename": "name", "dbname": "dbname", "base": "base", "generator": "generator"}
    elements = _Elements(
        {f"{info}/{tag}": keep(field) for tag, field in fields.items()}
        | {
            f"{info}/namespaces/namespace": namespace,
            "mediawiki": lambda _, said: told.update(lang=said.get("xml:lang", "")),
        }
    )
    try:
        elements.parser.Parse(head.partition(b"<page>")[0], False)
    except expat.ExpatError as error:
        raise ValueError(f"broken XML: {error}") from error
    elements.close()
    language = told.pop("lang", "") or re.sub(r"wik[it].*$", "", told.get("dbname", "")).replace("_", "-") or "en"
    return Site(**told, language=language, namespaces=names)  # type: ignore[arg-type]


def page(data: bytes, *, complete: bool = True) -> Page:
    """The page in `<page>…</page>`, or in the beginning of it. Raises ValueError, saying why, for what is no XML."""
    try:
        return _page(data, complete)
    except expat.ExpatError as error:
        clean = _REFERENCE.sub(_allowed, _SURROGATE.sub("\ufffd".encode(), data.translate(None, _CONTROL)))
        if clean == data:
            raise ValueError(_said(data, error)) from error
    try:
        return _page(clean, complete)
    except expat.ExpatError as error:
        raise ValueError(_said(clean, error)) from error


def _said(data: bytes, error: expat.ExpatError) -> str:
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        if wrong.end < len(data):
            return f"not UTF-8 (byte {wrong.start} of the page)"
    return f"broken XML: {error}"


def _allowed(reference: re.Match[bytes]) -> bytes:
    """A reference to a character, or nothing for one that XML does not allow."""
    said = reference[1]
    number = int(said[1:], 16) if said[:1] == b"x" else int(said)
    allowed = (
        number in (9, 10, 13) or 0x20 <= number < 0xD800 or 0xE000 <= number < 0xFFFE or 0x10000 <= number < 0x110000
    )
    return reference[0] if allowed else b""


def _bare(title: str) -> str | None:
    """None for an export of before 2012, which has the element without the title."""
    return title.partition("#")[0].replace("_", " ").strip() or None


def _page(data: bytes, complete: bool) -> Page:
    told: dict[str, object] = {}

    def keep(field: str) -> Callable[[str, dict[str, str]], None]:
        return lambda text, _: told.update({field: text.strip()})

    def body(text: str, attributes: dict[str, str]) -> None:
        claimed = attributes.get("bytes", "")
        stub = not text and ("id" in attributes or claimed.isdigit()) and claimed != "0" and "deleted" not in attributes
        told.update(text=text, stub=stub)

    elements = _Elements(
        {
            "page/title": keep("title"),
            "page/id": keep("id"),
            "page/ns": lambda text, _: told.update(ns=int(text)) if text.strip().lstrip("-").isdigit() else None,
            "page/redirect": lambda text, said: told.update(redirect=_bare(said.get("title", ""))),
            "page/revision/timestamp": keep("timestamp"),
            "page/revision/model": keep("model"),
            "page/revision/text": body,
        }
    )
    elements.parser.Parse(data, complete)
    if not complete:
        elements.close()
    return Page(**told)  # type: ignore[arg-type]
