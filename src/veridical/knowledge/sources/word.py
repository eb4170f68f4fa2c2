"""Word files: headings become sections, rows of tables sentences of their own. Run only in a process of its own.

What was inserted with changes tracked is read, what was deleted is not. Text boxes are read; headers, footers, notes
and comments are not.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from ...errors import SearchError
from ..documents import Section

UNPACKED = 400 << 20
"""Bytes that a file may unpack to, pictures and all: it is held in memory."""
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_UNREAD = frozenset({_FALLBACK, *(f"{_W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "instrText", "tbl"))})
_BREAKS = {f"{_W}tab": " ", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_HEADING = re.compile(r"heading \d", re.IGNORECASE)
_BLANKS = re.compile(r"[^\S\n]+")


def read(body: bytes) -> tuple[str, list[Section]]:
    """Title ("" for none) and sections. Raises `SearchError` for what is no Word file or unpacks to too much."""
    _check(body)
    import docx

    try:
        document = docx.Document(io.BytesIO(body))
        names = {style.style_id: style.name or "" for style in document.styles}
        told = document.core_properties.title or ""
    except MemoryError:
        raise
    except Exception as error:  # a parser of broken files, fed by strangers
        raise SearchError(f"the Word file is broken ({type(error).__name__})") from error
    title, parts = "", [("", [])]
    for style, text in _blocks(document.element.body, names):
        if style.lower() == "title" and not title:
            title = text.replace("\n", " ")
        elif _HEADING.match(style):
            parts.append((text.replace("\n", " "), []))
        else:
            parts[-1][1].append(text)
    return title or told.strip(), [Section(heading=heading, text="\n\n".join(texts)) for heading, texts in parts]


def _check(body: bytes) -> None:
    if body.startswith(b"\xd0\xcf\x11\xe0"):
        raise SearchError("an encrypted Word file, or one of before 2007 (.doc): save it as .docx")
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            size = sum(part.file_size for part in archive.infolist())
            held = "word/document.xml" in archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise SearchError("the Word file is broken or no Word file") from error
    if size > UNPACKED:
        raise SearchError(f"it unpacks to more than {UNPACKED >> 20} MB")
    if not held:
        raise SearchError("a zip archive, but no Word file")


def _blocks(parent: Any, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Style and text of all that stands one below the other."""
    for child in parent:
        if child.tag == f"{_W}p":
            if text := _text(child):
                style = names.get(_value(child, "pStyle"), "")
                listed = child.find(f"{_W}pPr/{_W}numPr") is not None and not _HEADING.match(style)
                yield style, f"- {text}" if listed else text
        elif child.tag == f"{_W}tbl":
            yield from (("", row) for row in _rows(child))
        elif child.tag == f"{_W}sdt":
            yield from _blocks(child.find(f"{_W}sdtContent") or (), names)


def _value(paragraph: Any, name: str) -> str:
    found = paragraph.find(f"{_W}pPr/{_W}{name}")
    return "" if found is None else found.get(f"{_W}val", "")


def _text(element: Any) -> str:
    return _BLANKS.sub(" ", "".join(_pieces(element))).strip()


def _pieces(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag in _UNREAD:
            continue
        if child.tag == f"{_W}t":
            yield child.text or ""
        else:
            yield _BREAKS.get(child.tag, "")
            yield from _pieces(child)
            if child.tag == f"{_W}p":
                yield "\n"


def _rows(table: Any) -> Iterator[str]:
    """Each row as a sentence: with the names of the columns, where the first row gives them."""
    rows = [[_text(cell).replace("\n", " ") for cell in row.iter(f"{_W}tc")] for row in table.iterchildren(f"{_W}tr")]
    rows = [row for row in rows if any(row)]
    if not rows:
        return
    heads = rows[0] if len(rows) > 1 and len(rows[0]) > 1 and _names_columns(table) else []
    for row in rows[1:] if heads else rows:
        if heads:
            pairs = [
                f"{heads[n]}: {cell}" if n < len(heads) and heads[n] else cell for n, cell in enumerate(row) if cell
            ]
        elif len(row) == 2 and all(row):
            pairs = [f"{row[0]}: {row[1]}"]
        else:
            pairs = [cell for cell in row if cell]
        yield f"{'; '.join(pairs)}." if pairs[-1][-1:] not in ".!?" else "; ".join(pairs)


def _names_columns(table: Any) -> bool:
    if table.find(f"{_W}tr/{_W}trPr/{_W}tblHeader") is not None:
        return True
    look = table.find(f"{_W}tblPr/{_W}tblLook")
    if look is None:
        return False
    first = look.get(f"{_W}firstRow")
    return first in ("1", "true") if first is not None else bool(int(look.get(f"{_W}val", "0"), 16) & 0x20)
