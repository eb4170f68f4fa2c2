"""MediaWiki's XML dumps, such as enwiki-20230401-pages-articles-multistream.xml.bz2: their articles and redirects.

Those are the pages of namespace 0 as the `ns` element says, whatever colon a title has. A page that is broken is told
and left out, a file that is cut off is told where it breaks, and what stands before is kept.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from ...errors import InputError
from ...types import Struct
from ..documents import Record
from ..titles import tidy
from . import mediawiki, packed, streams
from .base import Bad, Kind, Pages, Passed, Unit, shown, unusable

LONGEST_PAGE = 32 << 20
"""Bytes of XML of one page; MediaWiki takes none of more than 2 MB."""
_BEGINNING = 1 << 20
_OPEN = re.compile(rb"<page[\s>]")
_CLOSE = b"</page>"
_END = b"</mediawiki>"
_NS = re.compile(rb"<ns>\s*(-?\d{1,9})\s*</ns>")
_ROOT = re.compile(rb"<([A-Za-z][\w:.-]*)")
_PROLOGUE = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml.*?\?>)?(?:\s|<!--.*?-->)*", re.DOTALL)
_OUTSIDE, _INSIDE, _SKIPPING = range(3)
_ENCODING = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([^\"']+)")


class Slice(Struct, frozen=True, kw_only=True):
    """The bytes of a page, or of the beginning of one that is too long, and where in the unpacked bytes of the unit."""

    data: bytes
    at: int
    complete: bool = True


class Tail(Struct, frozen=True, kw_only=True):
    """The file ends here; with the beginning of a page, if it ends within one."""

    at: int
    closed: bool
    page: bytes | None


# What it is


def units(path: Path) -> Iterator[Unit]:
    _check(path)
    yield from streams.units(path, "dump")


def _check(path: Path) -> None:
    """Raise InputError, saying what was found, for what is no dump of pages with text."""
    start = _beginning(path)
    if (root := root_of(start)) != "mediawiki":
        if root == "feed":
            raise unusable(path, "a dump of abstracts (<feed>), not of pages; take …-pages-articles…")
        kind = packed.found(start) if root in (None, "html", "HTML") else f"XML of <{root}>"
        raise unusable(path, f"expected a MediaWiki XML dump, found {kind}")
    if (said := _ENCODING.match(start)) and said[1].lower() not in (b"utf-8", b"utf8", b"us-ascii"):
        raise unusable(path, f"XML in {said[1].decode('ascii', 'replace')}, not UTF-8")
    site(path)
    if b"<logitem>" in start and not _OPEN.search(start):
        raise unusable(path, "a dump of log entries, not of pages; take …-pages-articles…")
    pages = [_parsed(one.data) for one in slices(iter((start,))) if isinstance(one, Slice)]
    known = [page for page in pages if page is not None]
    if known and all(page.stub for page in known):
        raise unusable(path, "a stub dump: its pages have no text, only what is known of them; take …-pages-articles…")


def root_of(start: bytes) -> str | None:
    """Name of the first element of what may be XML."""
    prologue = _PROLOGUE.match(start)
    at = prologue.end() if prologue else 0
    if start[at : at + 9].upper() == b"<!DOCTYPE":
        return None if start[at : at + 14].lower() == b"<!doctype html" else "!DOCTYPE"
    found = _ROOT.match(start, at)
    return found[1].decode() if found else None


def _parsed(data: bytes) -> mediawiki.Page | None:
    try:
        return mediawiki.page(data)
    except ValueError:
        return None


def _beginning(path: Path) -> bytes:
    """Up to 1 MB, unpacked; less where the file breaks before that."""
    start = packed.head(path, expected="a MediaWiki XML dump")
    try:
        with packed.opened(path) as file:
            start = file.read(len(start))
            while len(start) < _BEGINNING and (more := file.read(1 << 16)):
                start += more
    except Exception as error:
        if packed.damage(error) is None:
            raise
    return start


def site(path: Path) -> mediawiki.Site:
    """What the dump says of its wiki."""
    return _site(str(path), path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _site(file: str, changed: int) -> mediawiki.Site:
    try:
        return mediawiki.site(_beginning(Path(file)))
    except ValueError as error:
        raise unusable(file, f"no MediaWiki XML dump: {error}") from error


# Its pages


def slices(stream: streams.Stream) -> Iterator[Slice | streams.Break | Tail]:
    """Cut the bytes of a unit into the pages that begin in it, holding no more than one page and a chunk."""
    held, at, edge = bytearray(), 0, None
    state, searched, last, broken = _OUTSIDE, 0, b"", False
    for piece in stream:
        if isinstance(piece, streams.Edge):
            edge = at + len(held)
            if state == _SKIPPING or (state == _OUTSIDE and not _may_begin(held)):
                return
            continue
        if broken := isinstance(piece, streams.Break):
            yield piece
            at, state, last = at + len(held), _OUTSIDE, b""
            held.clear()
            continue
        held += piece
        last = (last + piece[-64:])[-64:]
        while True:
            if state == _OUTSIDE:
                begin = _OPEN.search(held)
                at += _drop(held, begin.start() if begin else len(held) - 5)
                if edge is not None and at >= edge:
                    return
                if not begin:
                    break
                state, searched = _INSIDE, 0
            if (end := held.find(_CLOSE, searched)) < 0:
                searched = max(0, len(held) - len(_CLOSE) + 1)
                if state == _INSIDE and len(held) > LONGEST_PAGE:
                    yield Slice(data=bytes(held), at=at, complete=False)
                    state = _SKIPPING
                if state == _SKIPPING:
                    if edge is not None:
                        return
                    at += _drop(held, searched)
                    searched = 0
                break
            end += len(_CLOSE)
            if state == _INSIDE:
                yield Slice(data=bytes(held[:end]), at=at)
            at += _drop(held, end)
            state = _OUTSIDE
    if not broken:
        size = at + len(held)
        closed = _END in last or (size < len(_END) and _END.endswith(last.strip()))  # the unit was cut amid the tag
        yield Tail(at=size, closed=closed, page=bytes(held) if state == _INSIDE else None)


def _drop(held: bytearray, count: int) -> int:
    count = max(0, count)
    del held[:count]
    return count


def _may_begin(held: bytearray) -> bool:
    """Whether the bytes end amid what may become the tag of a page."""
    return any(held.endswith(b"<page"[:count]) for count in range(1, 6))


def read(piece: Unit, language: str | None, passed: Passed) -> Pages:
    """The pages of a unit. Raises InputError where it is all of the dump and has no article."""
    path = Path(piece.file)
    wiki = site(path)
    language = language or wiki.language
    articles = 0
    for one in slices(streams.stream(piece)):
        if isinstance(one, streams.Break):
            yield Bad(reason=one.why, file=shown(path), detail=one.detail)
        elif isinstance(one, Tail):
            if why := _cut_off(one):
                yield Bad(reason="cut off", file=shown(path), detail=f"the file ends {why}, {_place(piece, one.at)}")
        elif (result := _result(one, piece, wiki, language, passed)) is not None:
            articles += isinstance(result, Record) and result.target is None
            yield result
            if not one.complete:
                yield Bad(
                    reason=f"a page of more than {LONGEST_PAGE >> 20} MB, of which the beginning is kept",
                    file=shown(path),
                    detail=_place(piece, one.at),
                )
    if not articles and (piece.start, piece.end) == (0, path.stat().st_size):
        raise nothing(path, passed)


def nothing(path: Path | str, passed: Passed) -> InputError:
    """The error of a dump without an article, saying what is in it: `passed` is what `read` counted over all units."""
    held = ", ".join(f"{count:,} of {what}" if what.startswith("namespace") else f"{count:,} {what}"
                     for what, count in passed.most_common(8))  # fmt: skip
    return unusable(path, f"a dump without an article; pages in it: {held or 'none'}")


def _result(one: Slice, piece: Unit, wiki: mediawiki.Site, language: str, passed: Passed) -> Record | Bad | None:
    """The page as a record, as what is wrong with it, or None for one that is passed over."""
    from ..wikitext import article, redirect_target  # it compiles much, which other kinds need not wait for

    if (said := _NS.search(one.data, 0, 4096)) and int(said[1]):
        passed[wiki.label(int(said[1]))] += 1
        return None
    name = shown(piece.file)
    try:
        page = mediawiki.page(one.data, complete=one.complete)
    except ValueError as error:
        return Bad(reason="a broken page", file=name, detail=f"{_title(one.data)}{_place(piece, one.at)}: {error}")
    if number := wiki.namespace(page.title) if page.ns is None else page.ns:
        passed[wiki.label(number)] += 1
        return None
    if not tidy(page.title):
        return Bad(reason="a page without title", file=name, detail=_place(piece, one.at))
    known = {
        "title": page.title,
        "id": page.id or None,
        "url": wiki.url(page.title),
        "date": page.timestamp,
        "file": name,
    }
    if target := page.redirect or redirect_target(page.text, language=language):
        passed["redirects"] += 1
        return Record(sections=(), target=target, **known)
    if page.model not in ("wikitext", "text"):
        passed[f"with content model {page.model[:40]}"] += 1
    elif not page.text.strip():
        passed["whose text was left out (a stub)" if page.stub else "without text"] += 1
    else:
        found = article(page.text, title=page.title, language=language)
        return Record(
            sections=found.sections,
            disambiguation=found.disambiguation,
            choices=found.choices,
            plain=found.plain,
            **known,
        )
    return None


def _cut_off(tail: Tail) -> str | None:
    if tail.page is not None:
        return f"within the page {_title(tail.page)}".rstrip(" ,")
    return None if tail.closed else "without </mediawiki>"


def _title(data: bytes) -> str:
    """Of a page that cannot be read, if it can be seen, and a comma."""
    found = re.search(rb"<title>([^<]{1,300})</title>", data[:2000])
    return f"{found[1].decode('utf-8', 'replace')!r}, " if found else ""


def _place(piece: Unit, at: int) -> str:
    if not packed.packing(Path(piece.file)):
        return f"at byte {piece.start + at:,}"
    return f"at byte {at:,} of what is unpacked from byte {piece.start:,} on"


KIND = Kind(units=units, read=read)
