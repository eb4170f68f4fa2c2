"""The text of a page: HTML by trafilatura, PDF by pypdf, in bounds. No script is run and nothing is fetched.

Bytes come from strangers: whatever they are, the outcome is a text or a `SearchError`. HTML is read in a thread; PDF in
a process of its own with bounded time and memory, since a file of a few kilobytes can keep a PDF reader busy for hours.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import re
import sys
from typing import Any

import msgspec

from ...errors import SearchError, UsageError
from ...types import Struct

PDF_SECONDS = 20.0
HINT = "reading pages needs trafilatura and pypdf: pip install 'veridical[pages]'"
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_BLANKS = re.compile(r"[^\S\n]+")
HTML = frozenset({"text/html", "application/xhtml+xml"})
PLAIN = frozenset({"text/plain", "text/markdown"})
PDF = "application/pdf"


class Extracted(Struct, frozen=True, kw_only=True):
    """What a page says."""

    text: str
    title: str = ""
    date: str | None = None
    """When it was published or changed, if it says so (ISO date)."""


def available() -> None:
    """Raises UsageError where the libraries are not installed."""
    if any(importlib.util.find_spec(name) is None for name in ("trafilatura", "pypdf")):
        raise UsageError(HINT)


async def extract(body: bytes, content_type: str, url: str) -> Extracted:
    """The text of a page. `content_type` is the header ("text/html; charset=utf-8"); without one the bytes decide.

    Raises SearchError for another type and for what cannot be read or says nothing.
    """
    kind = content_type.partition(";")[0].strip().lower() or _sniffed(body)
    if body[:5] == b"%PDF-":
        kind = PDF
    if kind == PDF:
        found = await _pdf(body)
    elif kind in HTML:
        found = await asyncio.to_thread(_html, body, content_type, url)
    elif kind in PLAIN:
        found = Extracted(text=_decoded(body, content_type))
    else:
        raise SearchError(f"{kind or 'a page of unknown type'} is not read")
    text = "\n".join(_BLANKS.sub(" ", line).strip() for line in found.text.replace("\x00", "").splitlines()).strip()
    if not text:
        raise SearchError("the page has no text")
    return msgspec.structs.replace(found, text=text, title=_BLANKS.sub(" ", found.title).strip())


def _sniffed(body: bytes) -> str:
    start = body[:1024].lstrip().lower()
    return "text/html" if start.startswith((b"<!doctype html", b"<html")) or b"<head" in start else ""


def _decoded(body: bytes, content_type: str) -> str:
    """By the header, else as UTF-8, else as what the bytes look most like."""
    if named := _CHARSET.search(content_type):
        with contextlib.suppress(LookupError, UnicodeDecodeError):
            return body.decode(named[1])
    with contextlib.suppress(UnicodeDecodeError):
        return body.decode("utf-8-sig")
    from charset_normalizer import from_bytes

    best = from_bytes(body[: 1 << 18]).best()
    return body.decode(best.encoding if best else "latin-1", "replace")


def _html(body: bytes, content_type: str, url: str) -> Extracted:
    import trafilatura
    from trafilatura.settings import use_config

    declared = _CHARSET.search(content_type)
    source: Any = _decoded(body, content_type) if declared else body  # of bytes it reads the <meta>
    try:
        found = trafilatura.bare_extraction(
            source, url=url, include_comments=False, include_tables=True, favor_recall=True, with_metadata=True,
            config=use_config(),
        )  # fmt: skip
        said: dict[str, Any] = {} if found is None else found if isinstance(found, dict) else found.as_dict()
        text = said.get("text") or ""
        if not text:
            text = trafilatura.html2txt(source) or ""
    except Exception as error:  # a parser of broken pages, fed by strangers
        raise SearchError(f"the page cannot be read: {type(error).__name__}") from error
    return Extracted(text=text, title=said.get("title") or "", date=said.get("date") or None)


async def _pdf(body: bytes) -> Extracted:
    """Read in another process, which is killed where it takes too long."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "veridical.knowledge.web.pdf",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        out, _ = await asyncio.wait_for(process.communicate(body), PDF_SECONDS)
    except TimeoutError:
        raise SearchError(f"the PDF could not be read within {PDF_SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    try:
        return msgspec.json.decode(out, type=Extracted)
    except msgspec.DecodeError:
        raise SearchError("the PDF cannot be read: encrypted or broken") from None
