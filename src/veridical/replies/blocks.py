"""Reading the one text that a model was asked to give in a fenced block: a rewritten statement, a search query.

SAFE's code takes the first block and drops its first line where that is one word, and with it a statement's subject.
Here only what plainly is one text is read; time is linear in the reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from ..errors import ParseError
from ..text.normal import fold, is_blank
from .markup import answer

_FENCE = re.compile(r"`{3,}|~{3,}")
_MARKER = re.compile(r"</?[a-z]{1,12}(?:-\d{1,3})?-[0-9a-f]{6,12}>")
"""As `prompts.fence` makes them."""
_ITEM = re.compile(r"(?:[-*+•]|\(?\d{1,3}[.)])\s")
_NAMES = frozenset(
    (
        "text",
        "txt",
        "plaintext",
        "plain",
        "markdown",
        "md",
        "json",
        "yaml",
        "html",
        "xml",
        "python",
        "bash",
        "sh",
        "sql",
    )
)
"""What stands on the line that opens a block, to name its language."""


def read_block(reply: str, *labels: str) -> str:
    """The text of the reply's fenced block, on one line; without any block, that of a line "{label}: …".

    `labels` ("statement") are taken off the text too, and are keys if the block holds a JSON object. What follows the
    fence on its line is the block's language if more lines follow and it is the name of one, or they begin anew with a
    capital ("Acorns" before "Acorns is a company."); alone it is the text. Wrapped lines are joined.

    Raises `ParseError` where there is no such text, where there are several that differ, for a list, for an opening
    word that may or may not belong to the text, and for a text that repeats the prompt's own markers.
    """
    said = answer(reply)
    pieces = _FENCE.split(said)
    blocks = pieces[1::2]
    if len(pieces) % 2 == 0 and len(_lines(blocks[-1].partition("\n")[2])) > 1:
        raise ParseError("a fenced block that is never closed", reply=reply)
    found = [_content(block, labels) for block in blocks if block.strip()]
    found = found if blocks else list(_labelled(said, labels))
    if not found or any(text is None or is_blank(text) for text in found):
        raise ParseError(f"no {labels[0] if labels else 'text'} in a fenced block", reply=reply)
    texts = {fold(text): text for text in found if text is not None}
    if len(texts) > 1:
        raise ParseError(f"{len(texts)} fenced blocks that differ", reply=reply)
    (text,) = texts.values()
    if _MARKER.search(text):
        raise ParseError("the reply repeats the prompt's own markers", reply=reply)
    return text


def _content(block: str, labels: Sequence[str]) -> str | None:
    """The text of a block; None if it is not one text beyond doubt."""
    head, _, rest = block.partition("\n")
    head, rest = head.strip(), rest.strip()
    if head and rest and len(head.split()) == 1 and head.isascii():
        if head.lower() not in _NAMES and head.lower() not in labels and not rest.lstrip("\"'*_").strip()[:1].isupper():
            return None
        head = ""
    if (value := _of_object(f"{head}\n{rest}", labels)) is not None:
        return _bare(value)
    lines = _lines(f"{head}\n{rest}")
    if len(lines) > 1 and any(map(_ITEM.match, lines)):
        return None
    text = " ".join(lines)
    label = _label(labels).match(text) if labels else None
    return _bare(text[label.end() :] if label else text)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _of_object(text: str, labels: Sequence[str]) -> str | None:
    """What a JSON object has under one of the labels."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    named = {key.casefold(): said for key, said in value.items()}
    said = next((named[label] for label in labels if label in named), None)
    return said if isinstance(said, str) else None


def _labelled(said: str, labels: Sequence[str]) -> Iterator[str | None]:
    """What stands behind a label, or on the line below it where nothing does."""
    if not labels:
        return
    label, waiting = _label(labels), False
    for line in said.splitlines():
        if found := label.match(line):
            waiting = not line[found.end() :].strip(" *_")
            if not waiting:
                yield _bare(line[found.end() :])
        elif waiting and line.strip():
            waiting = False
            yield _bare(line)


def _label(labels: Sequence[str]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, labels))
    return re.compile(
        r"[\s>*#_•-]{0,12}(?:(?:final|revised|rewritten|self-contained|search|next|new)\s){0,2}"
        rf"(?:{names})[*_]{{0,3}}\s?[:：][*_\s]{{0,6}}",
        re.IGNORECASE,
    )


def _bare(text: str) -> str:
    """On one line, without emphasis, code marks and quotation marks around the whole."""
    text = " ".join(text.split())
    for opening, closing in (("**", "**"), ("`", "`"), ('"', '"'), ("“", "”")):
        inner = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inner.strip() and opening not in inner:
            text = inner.strip()
    return text
