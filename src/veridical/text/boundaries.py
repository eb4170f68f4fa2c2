"""Where sentences end inside running text. Everything here looks at a bounded window, so the whole is linear."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veridical.text.abbreviations import (
    ABBREVIATIONS,
    CAPITALISED,
    DOMAINS,
    LINKS,
    NUMBERED,
    ORDINAL_CONTEXT,
    PUNKT_INITIALS,
    STARTERS,
    TITLES,
)

BLANK = r"\s\u200b\u200e\u200f\u2060\ufeff"
"""Inside a character class: white space and marks without width that may stand where a blank does."""

HARD_STOPS = "。．｡！？؟۔।॥։።፧။"
"""Stops that need no blank after them and abbreviate nothing."""

_OPENERS = "([{\"'“‘«‹„‚「『（【《〈¿¡*_—–-"
_END = re.compile(
    rf"(?P<stop>[.!?…{HARD_STOPS}]+)"
    r"(?P<close>[\"'”’»›)\]}」』）】》〉*_⁰¹²³⁴-⁹]*)"
    rf"(?P<cite>(?:[{BLANK}]?\[[\d,;–-]{{1,20}}\])*)"
    rf"(?P<blank>[{BLANK}]*)"
)
_LAST_WORD = re.compile(r"[\w.'’&º*]*\Z")
_FIRST_WORD = re.compile(r"[\w'’]*")
BRAND = re.compile(r"[a-z]{1,4}[A-Z]|(?:al|el|an|ad|ar|as|at|l|d)[-'’][A-Z]")
"""Lower-case beginnings of names that may open a sentence: "iPhone", "eBay", "al-Biruni"."""
_LETTER = re.compile(r"(?<![\w.'’-])[^\W\d_]\Z")
_NUMBER_ALONE = re.compile(r"\d+\.(?:\s|\Z)")
_ROMAN = re.compile(r"(?:[IVXLC]{2,}|[VX])\b")
_NAME = re.compile(r"(?:[^\W\d_]{2,}|[IA])(?=[\s,'’])")
_DOTTED = re.compile(r"[^\W\d_]{1,3}(?:\.[^\W\d_]{1,3})+\.?")
_SAID = re.compile(r"[とて，、,]|.{0,2}[说說道问問喊叫答]")
_WINDOW = 32
"""Characters looked at on either side of a stop: longer than any abbreviation."""


def ends(text: str, start: int, end: int, *, published: bool = False) -> Iterator[int]:
    """Offsets in `text[start:end]` after which a new sentence begins, ascending, `end` not among them.

    `published` gives the ends in the annotated FActScore data, which are those of the Punkt splitter with the repair of
    the FActScore code: see `_published_end` for where they differ.
    """
    caseless = not any(map(str.isupper, text[start:end]))
    for match in _END.finditer(text, start, end):
        if match.end() == end:
            continue
        before = text[max(start, match.start() - _WINDOW) : match.start()]
        after = text[match.end() : min(end, match.end() + _WINDOW)]
        if published and (cut := _published_end(match, before, after)) is not None:
            if cut:
                yield cut
        elif _is_end(match, before, after, caseless):
            yield match.end()


def _published_end(match: re.Match[str], before: str, after: str) -> int | None:
    """Where the published annotation differs: the offset of its end, 0 for none, None where it does not differ.

    It breaks after "No." before a number, after "vs." and "J.O." before a capital or bracket, and between "!" and a
    quotation mark with a comma; it never breaks after one letter, nor after a curly quotation mark. A piece of one
    token is joined to the one before (`sentences`).
    """
    stop, close, word = match["stop"], match["close"], _last_word(before)
    if stop in "!?" and close in ('"', "'") and after.startswith(","):
        return match.end("stop")
    if stop != "." or not match["blank"]:
        return None
    if close and close[-1] in "”’":
        return 0
    if _LETTER.search(before):
        return 0
    if word.lower() == "no" and after[0].isdigit():
        return 0 if _NUMBER_ALONE.match(after) else match.end()
    joined = word == "vs" or bool(_DOTTED.fullmatch(word) and word.lower() not in PUNKT_INITIALS)
    broken = joined or _is_compound(before, word)
    return match.end() if broken and (after[0].isupper() or after[0] == "(") else None


def _is_end(match: re.Match[str], before: str, after: str, caseless: bool) -> bool:
    stop, close, blank = match["stop"], match["close"], match["blank"]
    if stop[-1] in HARD_STOPS:
        return _ends_hard(before, stop, close, after)
    head = after.lstrip(_OPENERS)
    if not head:
        return False
    if not head[0].isalnum():
        return bool(blank) and head[0] not in ".,;:!?…)]}%"
    if not blank:
        return _ends_glued(before, stop, close, head)
    if head[0].islower() and not caseless and not BRAND.match(head):
        return False
    first = _first_word(head)
    starts = first in STARTERS and (caseless or head[0].isupper()) and head[len(first) : len(first) + 1] != "."
    if stop.endswith(("…", "..")):
        return starts
    return stop[-1] != "." or _ends_stop(before, head, starts, caseless)


def _ends_hard(before: str, stop: str, close: str, after: str) -> bool:
    if stop == "．" and before[-1:].isdigit() and after[:1].isdigit():
        return False
    quoted = bool(close) and close[-1] in '」』”’"'
    return not (quoted and _SAID.match(after))


def _ends_glued(before: str, stop: str, close: str, head: str) -> bool:
    """A stop with no blank after it: "in 1950.He died", but not "example.com", "St.Louis", "U.S.A" or "3.5"."""
    if len(stop) > 1 and stop[-1] == ".":
        return False
    token = before.split()[-1] if before[-1:].strip() else ""
    word = _last_word(before)
    if not token or any(mark in token for mark in "/@_\\=") or (("." in word or ":" in token) and not close):
        return False
    if not head[0].isupper() and not head[0].islower() and head[0].isalpha():
        return word[-1:].isdigit() or not (word[-1:].isupper() or word[-1:].islower())
    name = _NAME.match(head)
    if not (name and head[0].isupper() and not name[0][1:2].isupper()) or name[0].lower() in DOMAINS:
        return False
    low = word.lower()
    if low in TITLES or low in NUMBERED or low in ABBREVIATIONS or low in CAPITALISED:
        return False
    return bool(close) or word.isdigit() or (len(word) > 1 and word[-2:].islower()) or before[-1:] in ')]"”’%'


def _ends_stop(before: str, head: str, starts: bool, caseless: bool) -> bool:
    """A full stop, a blank, and something that can start a sentence."""
    word = _last_word(before)
    low = word.lower()
    if len(word) == 1 and word.isalpha() and not _is_compound(before, word):
        return _ends_letter(before, word, head, starts)
    if low in LINKS or (low in TITLES and (word[0].isupper() or not word.isascii() or low in ("vs", "viz"))):
        return False
    if low in NUMBERED and (head[0].isdigit() or _ROMAN.match(head)):
        return False
    if _DOTTED.fullmatch(word) or low in ABBREVIATIONS or (low in CAPITALISED and (caseless or word[0].isupper())):
        return starts
    return not _is_ordinal(before, word, head)


def _ends_letter(before: str, word: str, head: str, starts: bool) -> bool:
    """An initial ("W. E. B. Du Bois"), a short form ("b. 1912", "1950 г."), or a one-letter word ("King Bela V.")."""
    previous = _word_before(before, word)
    if head[0].isdigit():
        return word in "IVX"
    if word in "гр" and previous.isdigit():
        return True
    return starts and bool(previous) and not previous.endswith(".")


def _is_compound(before: str, word: str) -> bool:
    """Whether `word` is the end of a compound that abbreviates nothing: "Jay-Z.", not "J.-C." """
    return before[: -len(word)][-1:] == "-" and before[: -len(word)][-2:-1].isalnum()


def _is_ordinal(before: str, word: str, head: str) -> bool:
    if not (word.isdigit() and len(word) <= 2):
        return False
    return _word_before(before, word).lower() in ORDINAL_CONTEXT or _first_word(head) in ORDINAL_CONTEXT


def _word_before(before: str, word: str) -> str:
    words = before[: -len(word)].split()
    return words[-1] if words else ""


def _first_word(head: str) -> str:
    match = _FIRST_WORD.match(head)
    return match[0].lower() if match else ""


def _last_word(before: str) -> str:
    match = _LAST_WORD.search(before)
    return match[0].strip(".'’&*") if match else ""
