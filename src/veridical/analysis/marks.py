"""Citation marks in a text: [1], [2][3], [1, 4], [2-5], 【3】, with a link behind them or not.

What looks alike and is none: marks at the start of a line (a list, or the reference list itself), years ([1932]) and
other numbers above 999, zero ([0, 1]), code and formulas, elements of arrays (a[1] = 3, x[2].y, f = [1, 2]).
"[citation needed]" is the opposite of a mark.
"""

from __future__ import annotations

import calendar
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence

Span = tuple[int, int]

GREATEST = 999
"""Larger numbers in brackets are years or figures."""
_NUMBERED = re.compile(
    r"\[\^?(?P<plain>\d{1,4}(?:[ \t]?[,;\u2013-][ \t]?\d{1,4}){0,9})\]"  # [1], [^1], [1, 2], [1-3]
    r"|\u3010(?P<wide>\d{1,4})(?:[:\u2020][^\n\u3010\u3011]{0,40})?\u3011"  # 【1】, 【4:0†source】
)
_DIGITS = re.compile(r"\d+")
_OPENING = " \t*-\u2022>#"
_BEFORE = 24
_ELEMENT = re.compile(r"\.[a-z_]\w*[(.\[]|[ \t]*(?:[+-]?=)|[ \t]+[*/+<>%][ \t]+[\w(]")
"""What follows an element of an array and no mark."""
_LISTED = re.compile(r"(?:=|\breturn)[ \t]*$|\\[A-Za-z]{1,20}$")
"""What stands before a list of numbers, and before the option of a TeX command."""
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,500}`|\$\$.{1,500}?\$\$|\\\[.{1,500}?\\\]", re.DOTALL)
_AUTHORS = re.compile(
    r"[(\[](?:[^()\[\]\n]{0,120}[ ;])??(?P<name>[A-Z\u00c0-\u00de][\w'\u2019-]{1,40})(?: et al\.?)?,? "
    r"(?:1[5-9]|20)\d\d[a-z]?(?:[,;][^()\[\]\n]{0,120})?[)\]]"
)
_DATES = frozenset([*calendar.month_name, *calendar.month_abbr, "Sept", "Spring", "Summer", "Autumn", "Fall", "Winter"])
_NO_NAMES = _DATES | {
    "Since",
    "In",
    "From",
    "Until",
    "Circa",
    "Born",
    "Died",
    "Early",
    "Mid",
    "Late",
    "About",
    "Before",
}


def marks(text: str, *, authors: bool = False) -> list[Span]:
    """Places of the citation marks in order, neighbours such as [1][2] apart.

    `authors` takes "(Smith, 2020)" and "(Smith et al. 2020; Lee 2021)" too. Off by default: "(Paris, 1932)" and
    "(Casablanca 1942)" look the same.
    """
    code = [match.span() for match in _CODE.finditer(text)]
    found = [span for span in _numbered(text) if not _within(span, code)]
    if authors:
        named = (match for match in _AUTHORS.finditer(text) if match["name"] not in _NO_NAMES)
        found += [match.span() for match in named if not _within(match.span(), code)]
    return sorted(found)


def _numbered(text: str) -> Iterator[Span]:
    row: list[re.Match[str]] = []
    for match in _NUMBERED.finditer(text):
        if row and match.start() != row[-1].end():
            yield from _cited(text, row)
            row = []
        row.append(match)
    yield from _cited(text, row)


def _cited(text: str, row: Sequence[re.Match[str]]) -> Iterator[Span]:
    """The marks of a row such as [1][2], which by its surroundings stands or falls together."""
    if not row or _opens_line(text, row[0].start()) or _ELEMENT.match(text, row[-1].end()):
        return
    if not _LISTED.search(text[max(0, row[0].start() - _BEFORE) : row[0].start()]):
        yield from (match.span() for match in row if _numbers_fit(match))


def _numbers_fit(match: re.Match[str]) -> bool:
    return all(0 < int(digits) <= GREATEST for digits in _DIGITS.findall(match["plain"] or match["wide"]))


def _opens_line(text: str, start: int) -> bool:
    """Whether only blanks and signs of a list stand before it on its line."""
    while start and text[start - 1] in _OPENING:
        start -= 1
    return start == 0 or text[start - 1] == "\n"


def _within(span: Span, blocks: list[Span]) -> bool:
    """Whether it starts in one of the blocks, which are in order."""
    place = bisect_right(blocks, (span[0], sys.maxsize)) - 1
    return place >= 0 and span[0] < blocks[place][1]
