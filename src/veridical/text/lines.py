"""Lines of a text joined into blocks: paragraphs, list items, headings."""

from __future__ import annotations

import re
from typing import NamedTuple

from veridical.text.abbreviations import ORDINAL_CONTEXT
from veridical.text.boundaries import BLANK, BRAND, HARD_STOPS

_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
_NUMBER = r"\d{1,3}|[a-z]|[ivx]{2,5}"
_MARKER = re.compile(
    rf"[{BLANK}>]*(?:[-*+•‣◦▪●∙·–—]|\(?(?:{_NUMBER}|[A-Z])\)|(?:{_NUMBER})\.)(?=[{BLANK}]|\Z)[{BLANK}]*"
)
_GLUED = re.compile(rf"[{BLANK}>]*(?:[•‣▪●]|\d{{1,2}}\.(?=[A-Z][a-z]|\*\*))")
_INLINE = re.compile(rf"(?<![^{BLANK}])(\d{{1,2}})[.)][{BLANK}]+")
_HASH = re.compile(rf"[{BLANK}>]*#{{1,6}}[{BLANK}]")
_BOLD = re.compile(r"\*\*[^*_.!?]{1,80}\*\*:?|__[^*_.!?]{1,80}__:?")
_VISIBLE = re.compile(rf"[^{BLANK}]")
_WORD = re.compile(r"[^\W_]")
_TERMINAL = ".!?…" + HARD_STOPS
_CLOSERS = "\"'”’»)]」』）*_"
_HEADING_WORDS, _HEADING_LENGTH = 6, 60
_PRONOUNS = frozenset({"he", "she", "it", "they", "we", "i", "you", "this", "these", "there"})
"""A short line that begins with one of these is a clause, not a heading ("He won several awards, including:")."""
_WRAP_WIDTHS = range(50, 121)


class Block(NamedTuple):
    """`text[start:end]`, one line or several that belong together."""

    start: int
    body: int
    """Where the words begin, after a list marker."""
    end: int
    kind: str
    """As `Sentence.kind`."""


class _Line(NamedTuple):
    start: int
    body: int
    end: int
    gap: bool
    """A blank line stands before it."""
    plain: bool
    """Neither a list item, a Markdown heading nor a rule."""


def unmarked(unit: str) -> str:
    """The words of a unit without the list marker ("2.", "-") or heading marks ("##") before them and bold marks."""
    found = _MARKER.match(unit) or _GLUED.match(unit) or _HASH.match(unit)
    words = unit[found.end() :] if found else unit
    return (words if _WORD.search(words) else unit).replace("**", "")


def has_word(text: str, start: int, end: int) -> bool:
    """Whether a letter or digit stands in `text[start:end]`."""
    return _WORD.search(text, start, end) is not None


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space at its ends."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def blocks(text: str) -> list[Block]:
    """The blocks of `text` in order; all that is not white space lies in one, if anything in the text is visible."""
    lines = _lines(text)
    wrapped = _wrapped(text, lines)
    found: list[Block] = []
    at = 0
    while at < len(lines):
        first = at
        while at + 1 < len(lines) and _goes_on(text, lines, first, at, wrapped):
            at += 1
        line, end = lines[first], lines[at].end
        at += 1
        if line.body >= end and found and not line.plain and has_word(text, line.start, end):
            found[-1] = found[-1]._replace(end=end)  # the text was cut after "3.": never a unit of its own
            continue
        heading = _is_heading(text, lines, first) if at == first + 1 else False
        kind = "heading" if heading else "prose" if line.body == line.start else "item"
        found.append(Block(line.start, line.body, end, kind))
    return found


def markers(text: str, block: Block) -> list[tuple[int, int]]:
    """Places of the numbers of a list written within one line ("1. Born in 1950. 2. Died in 2000."), at least two."""
    found: list[tuple[int, int]] = []
    number = 0
    for match in _INLINE.finditer(text, block.start, block.end):
        value, before = int(match[1]), text[max(block.start, match.start() - 24) : match.start()].rstrip()
        opens = not before or before[-1] in _TERMINAL + ":："
        follows = opens or before[-1] in ";,)" or text[match.end() : match.end() + 1].isupper()
        if not found and opens and (value == 1 or not before):
            found, number = [match.span()], value
        elif found and value == number + 1 and follows and before.split()[-1].lower() not in ORDINAL_CONTEXT:
            found.append(match.span())
            number = value
    return found if len(found) > 1 else []


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    carried: int | None = None
    previous = 0
    for match in _LINE.finditer(text):
        start, end = trimmed(text, *match.span())
        if start >= end:
            continue
        if not _VISIBLE.search(text, start, end):  # marks without width only: kept with a neighbour
            if lines:
                lines[-1] = lines[-1]._replace(end=end)
            elif carried is None:
                carried = start
            continue
        gap = bool(lines) and _is_gap(text[previous:start])
        marker = _MARKER.match(text, start, end) or _GLUED.match(text, start, end)
        plain = not marker and not _HASH.match(text, start, end) and has_word(text, start, end)
        first = start if carried is None else carried
        lines.append(_Line(first, marker.end() if marker else first, end, gap, plain))
        carried, previous = None, match.end()
    return lines


def _is_gap(between: str) -> bool:
    return between.replace("\r\n", "\n").count("\n") + between.replace("\r\n", "\n").count("\r") > 1


def _goes_on(text: str, lines: list[_Line], first: int, at: int, wrapped: set[int]) -> bool:
    """Whether the line after `at` belongs to the block that began with the line `first`."""
    line, following = lines[at], lines[at + 1]
    if at == first and line.body >= line.end and has_word(text, line.start, line.end):
        return following.plain  # "1." on a line of its own
    if following.gap or not following.plain or not (line.plain or line.body > line.start):
        return False
    if at + 1 in wrapped:
        return True
    if text[line.start : line.end].rstrip(_CLOSERS)[-1:] in _TERMINAL + ":：":
        return False
    return text[following.start].islower() and not BRAND.match(text, following.start)


def _wrapped(text: str, lines: list[_Line]) -> set[int]:
    """Indexes of lines that were broken off from the one before at a fixed width: no first word would have fitted."""
    found: set[int] = set()
    start = 0
    while start < len(lines):
        stop = start + 1
        while stop < len(lines) and lines[stop].plain and not lines[stop].gap:
            stop += 1
        run = lines[start:stop]
        width = max(line.end - line.start for line in run)
        if len(run) > 2 and width in _WRAP_WIDTHS:
            words = [text[line.start : line.end].split(maxsplit=1)[0] for line in run[1:]]
            if all(line.end - line.start + 1 + len(word) > width for line, word in zip(run, words, strict=False)):
                found.update(range(start + 1, stop))
        start = stop
    return found


def _is_heading(text: str, lines: list[_Line], at: int) -> bool:
    """A Markdown heading, a line of bold, "Key facts:", a short line over a paragraph or list, or no words at all."""
    line = lines[at]
    if not has_word(text, line.start, line.end) or _HASH.match(text, line.start, line.end):
        return True
    if at + 1 == len(lines):
        return False
    body, following = text[line.body : line.end].strip(), lines[at + 1]
    if _BOLD.fullmatch(body) or is_label(body):
        return True
    over = text[following.start : following.end].rstrip(_CLOSERS)[-1:] in _TERMINAL or following.body > following.start
    alone = (at == 0 or line.gap) and line.plain and not body[0].islower()
    return alone and over and _is_short(body) and (body[0].isupper() or len(body) <= _HEADING_LENGTH // 5)


def is_label(body: str) -> bool:
    """Whether a line is a short one that ends with a colon: "Key facts:"."""
    return body.rstrip(_CLOSERS)[-1:] in ":：" and _is_short(body)


def _is_short(body: str) -> bool:
    words, bare = body.split(), body.rstrip(_CLOSERS)
    if not bare or len(words) > _HEADING_WORDS or len(body) > _HEADING_LENGTH or words[0].lower() in _PRONOUNS:
        return False
    return bare[-1] not in ".,;，、" and not any(stop in bare for stop in "!?…" + HARD_STOPS)
