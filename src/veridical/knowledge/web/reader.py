"""What a page says, from its bytes: HTML by trafilatura, PDF by pypdf, plain text. Nothing is fetched, no script run.

Run as a process of its own with bounded memory (`extract.Readers`): a file of a few kilobytes can keep a reader of PDF
or HTML busy for hours, and a process can be stopped. Frames on stdin and stdout are a length of 4 bytes and so much:
a `Job`, the bytes of the page, and back an `Outcome`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import struct
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any, BinaryIO

import msgspec

from ...errors import SearchError
from ...types import Struct
from .charset import decode

VERSION = "2"
"""Raised where the same bytes give another text, since texts are cached."""
HTML = frozenset({"text/html", "application/xhtml+xml"})
PLAIN = frozenset({"text/plain", "text/markdown"})
PDF = "application/pdf"
UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""Types that say nothing: the bytes decide."""
PAGES = 100
"""Most pages of a PDF that are read."""
CHARACTERS = 2_000_000
"""Most characters of a text that are kept."""
TAGS = 100_000
"""HTML with more than this is only stripped: trafilatura would need minutes."""
MEMORY = 3 << 29
"""Bytes that a reader may have: 1.5 GiB."""
_BLANKS = re.compile(r"[^\S\n]+")
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\u200b\u2060]")
_LONGEST_TITLE = 300


class Extracted(Struct, frozen=True, kw_only=True):
    """What a page says."""

    text: str
    title: str = ""
    date: str | None = None
    """When it was published, if it says so; of a PDF, when it was changed (ISO date)."""
    cut: bool = False
    """It says more, past the most pages or characters."""


class Job(Struct, frozen=True, kw_only=True):
    """What comes before the bytes of a page."""

    content_type: str
    url: str


class Outcome(Struct, frozen=True, kw_only=True):
    """What a reader answers."""

    found: Extracted | None = None
    trouble: str = ""


def kind_of(content_type: str) -> str:
    """The media type of a Content-Type header, lower-case; "" for none."""
    return content_type.partition(";")[0].strip().lower()


def readable(content_type: str) -> bool:
    """Whether pages of this type may be read; those that say nothing may, until their bytes are seen."""
    kind = kind_of(content_type)
    return kind in HTML or kind in PLAIN or kind == PDF or kind in UNKNOWN


def read(body: bytes, content_type: str, url: str, *, pages: int = PAGES, characters: int = CHARACTERS) -> Extracted:
    """The text of a page, in lines without runs of blanks. Raises `SearchError` for what cannot be read or is empty."""
    kind = kind_of(content_type)
    if body[:1024].lstrip()[:5] == b"%PDF-":
        found = _pdf(body, pages, characters)
    elif kind in HTML or (kind in UNKNOWN and _looks_like_html(body)):
        found = _html(decode(body, content_type, html=True), url)
    elif kind in PLAIN:
        found = Extracted(text=decode(body, content_type))
    elif kind == PDF:
        raise SearchError("the PDF is broken")
    else:
        raise SearchError(f"{kind or 'a page of unknown type'} is not read")
    text = "\n".join(_line(line) for line in found.text[:characters].splitlines()).strip()
    if not text:
        raise SearchError("the page has no text")
    return Extracted(
        text=text,
        title=_line(found.title.replace("\n", " "))[:_LONGEST_TITLE],
        date=found.date,
        cut=found.cut or len(found.text) > characters,
    )


def _line(text: str) -> str:
    """Without what is not seen, and without broken surrogates, which no file could hold."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _BLANKS.sub(" ", _UNSEEN.sub("", text)).strip()


# HTML


def _looks_like_html(body: bytes) -> bool:
    start = body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype html", b"<html")) or b"<head" in start or b"<body" in start


def _html(source: str, url: str) -> Extracted:
    said: dict[str, Any] = {}
    if source.count("<") <= TAGS:
        with contextlib.suppress(Exception):  # parsers of broken pages, fed by strangers: then it is stripped
            said = _main_text(source, url)
    text = said.get("text") or ""
    title = said.get("title") or ""
    if not text.strip():
        stripped = _Stripper()
        with contextlib.suppress(AssertionError):  # html.parser on markup it does not know
            stripped.feed(source)
            stripped.close()
        text, title = "".join(stripped.texts), title or "".join(stripped.title)
    return Extracted(text=text, title=title, date=said.get("date") or None)


def _main_text(source: str, url: str) -> dict[str, Any]:
    """Text, title and date as trafilatura finds them, dates only where the page states them."""
    import trafilatura

    found = trafilatura.bare_extraction(
        source, url=url, include_comments=False, include_tables=True, favor_recall=True, with_metadata=True,
        date_extraction_params={"extensive_search": False, "original_date": True},
    )  # fmt: skip
    return {} if found is None else found if isinstance(found, dict) else found.as_dict()


class _Stripper(HTMLParser):
    """The text between tags, without what no reader sees."""

    _UNREAD = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object"})
    _INLINE = frozenset(
        {"a", "abbr", "b", "bdi", "cite", "code", "data", "em", "font", "i", "kbd", "mark", "q", "s", "small", "span",
         "strong", "sub", "sup", "time", "u", "var"}
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.title: list[str] = []
        self._unread: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._UNREAD:
            self._unread.append(tag)
        self._in_title = tag == "title"
        if tag not in self._INLINE:
            self.texts.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self._INLINE:
            self.texts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unread:
            del self._unread[self._unread.index(tag) :]
        self._in_title = False
        if tag not in self._INLINE:
            self.texts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unread:
            self.texts.append(data.replace("\n", " "))


# PDF


def _pdf(body: bytes, pages: int, characters: int) -> Extracted:
    import pypdf
    from pypdf.errors import DependencyError, FileNotDecryptedError

    try:
        document = pypdf.PdfReader(io.BytesIO(body))
        if document.is_encrypted and not document.decrypt(""):  # most are only closed to editing
            raise SearchError("the PDF is encrypted")
        texts, size, cut = [], 0, False
        for place, page in enumerate(document.pages):
            if cut := place >= pages or size > characters:
                break
            texts.append(page.extract_text() or "")
            size += len(texts[-1])
    except (DependencyError, FileNotDecryptedError):
        raise SearchError("the PDF is encrypted") from None
    except SearchError:
        raise
    except Exception as error:  # a parser of broken files, fed by strangers
        raise SearchError("the PDF is broken") from error
    title, date = _about(document)
    return Extracted(text="\n\n".join(texts), title=title, date=date, cut=cut)


def _about(document: Any) -> tuple[str, str | None]:
    """Title and date as far as they can be read: they are free text."""
    title, date = "", None
    with contextlib.suppress(Exception):
        title = str(document.metadata.title or "")
    with contextlib.suppress(Exception):
        found = document.metadata.modification_date or document.metadata.creation_date
        date = found.date().isoformat() if found else None
    return title, date


# The process


def outcome(job: Job, body: bytes) -> Outcome:
    """As `read`, with every trouble as a value."""
    try:
        return Outcome(found=read(body, job.content_type, job.url))
    except SearchError as error:
        return Outcome(trouble=str(error))
    except MemoryError:
        return Outcome(trouble="the page needs too much memory")
    except Exception as error:
        return Outcome(trouble=f"the page cannot be read: {type(error).__name__}")


def answer(job: bytes, body: bytes) -> bytes:
    """What the process of `extract.Readers` answers."""
    return msgspec.json.encode(outcome(msgspec.json.decode(job, type=Job), body))


def main(seconds: int, answer: Callable[[bytes, bytes], bytes] = answer) -> None:
    """Answer jobs until stdin ends. A job that takes longer than `seconds` ends the process, parent or no parent."""
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes stdin
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    alarm = getattr(signal, "alarm", lambda _: None)  # not on Windows
    while (head := _frame(source)) is not None and (body := _frame(source)) is not None:
        alarm(seconds)
        answered = answer(head, body)
        alarm(0)
        target.write(framed(answered))
        target.flush()


def framed(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _frame(source: BinaryIO) -> bytes | None:
    head = source.read(4)
    return source.read(struct.unpack(">I", head)[0]) if len(head) == 4 else None


if __name__ == "__main__":
    main(int(sys.argv[1]))
