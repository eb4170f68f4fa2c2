"""Reading which segments a model calls wrong: strictly, and as the released code does.

The answer is a list of numbers, so every number that is not meant as one would flag a segment, and every reply without
one would call all of them right. Strictly, what is no clear list is a `ParseError`; the released code (`compat`) takes
it for "all correct" (docs/felm.md lists what it does).
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import ParseError
from ..replies import answer, read_json
from .records import ERROR_TYPES

_MARKER = re.compile(r"\banswers?[ \t*_]{0,4}[:：][ \t*_]{0,4}", re.IGNORECASE)
_FOLLOW_ON = re.compile(
    r"^[ \t]*(?:below are (?:my|your) (?:in|out)puts|(?:question|segments|claims|inputs?)[ \t]*:"
    r"|</?[a-z]{1,12}(?:-[0-9]{1,4})?-[0-9a-f]{6,12}>)",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a model goes on with a question of its own making."""
_BLOCK = re.compile(r"^<[a-z]{1,12}(?:-[0-9]{1,4})?-[0-9a-f]{6,12}>[ \t]*$", re.MULTILINE)
"""Where a block of the prompt begins (`prompts.fence`): a model that repeats the prompt has not answered."""
_ALL_CORRECT = re.compile(
    r"[\W_]{0,8}(?:all[\s\\_]{0,3}correct|none|no[\s_](?:errors?|wrong (?:segments?|claims?)))[\W_]{0,8}", re.IGNORECASE
)
_NAMED = re.compile(
    r"(?:the[ \t]+)?(?:wrong[ \t]+)?(?:segments?|claims?|ids?)[ \t]*(?:ids?[ \t]*)?[:#]?[ \t]*", re.IGNORECASE
)
_ITEM = r"#?([0-9]{1,6})(?![0-9])(?:[ \t]*(?:-|–|—|to|through)[ \t]*#?([0-9]{1,6})(?![0-9]))?"
_FIRST = re.compile(_ITEM, re.IGNORECASE)
_NEXT = re.compile(rf"(?:[ \t]*(?:,|;|&|\band\b)[ \t]*){{1,2}}{_ITEM}|[ \t]+{_ITEM}", re.IGNORECASE)
_END = re.compile(r",?[ \t\])]*(?:$|[.!;:](?=\s|$)|[ \t]*[-–—(])")
_VERB = re.compile(r"[ \t]+(?:is|are|has|have|contains?)\b", re.IGNORECASE)
_NUMBERS = re.compile(r"[\s,;#\[\]()0-9.]+")
_TYPES = re.compile(r"^[ \t*_]{0,4}types?[ \t*_]{0,4}[:：](.*)$", re.IGNORECASE | re.MULTILINE)
_TYPED = re.compile(r"([0-9]{1,6})[ \t]*[:=(\-–]?[ \t]*(knowledge|reasoning|irrelevant|fooled)", re.IGNORECASE)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"thought": {"type": "string"}, "wrong": {"type": "array", "items": {"type": "integer"}}},
    "required": ["wrong"],
    "additionalProperties": False,
}


def read_ids(reply: str, n: int, *, cut: bool = False) -> frozenset[int]:
    """The numbers, from 1 to n, of what the reply calls wrong; empty where it says that all is correct.

    The last "Answer:" counts (before anything in which the model asks itself a further question); without one the
    reply must be nothing but the list. "ALL_CORRECT", "none" and the like count as the whole answer only. Numbers are
    read from the list at the answer's beginning ("2, 4-6 and 9"), which must end there or in a sentence break, so that
    "3 errors" or "2 of 5" is no list. Raises ParseError for anything else, for 0 or a number above n, and for an answer
    that was `cut` before it ended.
    """
    text = answer(reply)
    if started := _MARKER.search(text):
        beyond = _FOLLOW_ON.search(text, started.end())
        text = text[: beyond.start()] if beyond else text
    marks = list(_MARKER.finditer(text))
    if _BLOCK.search(text, 0, marks[-1].start() if marks else len(text)):
        raise ParseError("the reply repeats the prompt", reply=reply)
    said = text[marks[-1].end() :] if marks else text
    first, rest = _parted(said)
    if cut and (not rest.strip() or _only_numbers(rest)):
        raise ParseError("the answer was cut", reply=reply)
    if not marks and rest.strip() and not _only_numbers(rest):
        raise ParseError("no answer in the reply", reply=reply)
    if _ALL_CORRECT.fullmatch(first):
        if _only_numbers(rest):
            raise ParseError("says that all is correct and lists numbers", reply=reply)
        return frozenset()
    if first.strip("*_` \t") == "[]":
        return frozenset()
    ids = _listed(first, reply)
    if _only_numbers(rest):  # one number a line
        ids |= {int(number) for number in re.findall("[0-9]{1,6}", rest)}
    return _within(ids, n, reply)


def _parted(said: str) -> tuple[str, str]:
    """The first line with a word, and what follows."""
    said = said.lstrip()
    first, _, rest = said.partition("\n")
    return first.strip(), rest


def _listed(line: str, reply: str) -> set[int]:
    text = re.sub(r"[^\S\n]+", " ", line)  # so that no pattern has a long run of blanks to try
    text = text.lstrip("*_`\"'[( \t")
    named = _NAMED.match(text)
    at = named.end() if named else 0
    ids: set[int] = set()
    found = _FIRST.match(text, at)
    while found:
        start, _, end = next((i, None, j) for i, j in _pairs(found) if i)
        if end and int(end) < int(start):
            raise ParseError(f"a range that runs backwards: {start}-{end}", reply=reply)
        if end and int(end) - int(start) > 10_000:
            raise ParseError(f"no number of a segment: {end}", reply=reply)
        ids.update(range(int(start), int(end or start) + 1))
        at = found.end()
        found = _NEXT.match(text, at)
    tail = text[at:].rstrip("*_`\"' \t")
    if not ids or not (_END.match(tail) or (named and _VERB.match(tail))):
        raise ParseError("the answer is no list of numbers", reply=reply)
    if tail[:1] in (".", ";") and _only_numbers(tail):
        raise ParseError("the answer is no clear list of numbers", reply=reply)
    return ids


def _only_numbers(text: str) -> bool:
    return bool(_NUMBERS.fullmatch(text)) and any(character.isdecimal() for character in text)


def _pairs(found: re.Match[str]) -> list[tuple[str | None, str | None]]:
    groups = found.groups()
    return list(zip(groups[::2], groups[1::2], strict=True))


def _within(ids: set[int] | frozenset[int], n: int, reply: str) -> frozenset[int]:
    if outside := sorted(number for number in ids if not 1 <= number <= n):
        raise ParseError(f"{outside[0]} is not one of the numbers 1 to {n}", reply=reply)
    return frozenset(ids)


def read_ids_json(reply: str, n: int) -> frozenset[int]:
    """As `read_ids`, of a reply in JSON with the numbers under "wrong" (`SCHEMA`)."""
    if _BLOCK.search(reply):
        raise ParseError("the reply repeats the prompt", reply=reply)
    value = read_json(reply, lambda value: isinstance(value, dict) and isinstance(value.get("wrong"), list)).value
    ids: list[Any] = value["wrong"]
    if any(not isinstance(one, int) or isinstance(one, bool) for one in ids):
        raise ParseError("numbers of segments are whole numbers", reply=reply)
    return _within(set(ids), n, reply)


def read_types(reply: str) -> dict[int, str]:
    """Number -> error type, out of the line "Types: 2 knowledge, 5 fooled"; empty where there is none. A number with
    two types has none."""
    lines = _TYPES.findall(answer(reply))
    found: dict[int, set[str]] = {}
    for number, word in _TYPED.findall(lines[-1] if lines else ""):
        found.setdefault(int(number), set()).add(word.lower())
    full = {name.partition("_")[0]: name for name in ERROR_TYPES}
    return {number: full[next(iter(words))] for number, words in found.items() if len(words) == 1}


# --- as released


def read_felm(reply: str, n: int) -> frozenset[int]:
    """What the released code makes of a reply (section "As released" of docs/felm.md); never raises."""
    if "ALL_CORRECT" in reply:
        return frozenset()
    _, _, said = reply.partition("Answer: ")
    return _any_number(said, n)


def read_vicuna(reply: str, n: int) -> frozenset[int]:
    """The same for its Vicuna branch: no anchor, and only the escaped form of the token for all correct."""
    return frozenset() if r"ALL\_CORRECT" in reply else _any_number(reply, n)


def _any_number(text: str, n: int) -> frozenset[int]:
    """0 is Python's index -1: the last segment."""
    numbers = (int(digits) for digits in re.findall(r"\d+", text) if len(digits) < 4000)
    return frozenset(number or n for number in numbers if number <= n)
