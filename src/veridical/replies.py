"""Reading what a model replied: JSON, a list, a verdict, a score.

A reply is never guessed at. What cannot be read as what was asked for is a `ParseError` that keeps the whole reply;
every reader takes time linear in its length. The rules, with examples, are in `docs/reading_replies.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import ParseError

Menu = Mapping[str, Sequence[str]]
"""What a verdict may be: outcome -> the lower-case wordings that mean it."""

TRUE_FALSE: Menu = {
    "supported": ("true", "correct", "accurate", "supported", "yes"),
    "not_supported": (
        *("false", "not true", "untrue", "wrong", "incorrect", "not correct", "inaccurate", "not accurate"),
        *("not supported", "unsupported", "refuted", "contradicted", "no"),
    ),
}
"""The two-way question (FActScore): a statement is supported or it is not."""

THREE_WAY: Menu = {
    "supported": ("supported", "true", "yes"),
    "contradicted": ("contradicted", "refuted", "false", "untrue", "incorrect"),
    "not_enough_evidence": (
        *("not enough evidence", "insufficient evidence", "no evidence", "not enough information"),
        *("insufficient information", "unverifiable", "cannot be determined"),
    ),
}
"""The three-way question. "Not supported" is off this menu: it does not say which of the other two is meant."""

_THOUGHT = "</think>"


def answer(reply: str) -> str:
    """The reply without the thinking that a reasoning model may put before it."""
    return reply.rpartition(_THOUGHT)[2]


# --- JSON ------------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"```[^\n`]{0,40}\n(.*?)```", re.DOTALL)
_RESTARTS = 5
"""How many opening brackets that are never closed are passed over; bounds the time."""


@dataclass(frozen=True)
class Json:
    value: Any
    path: str
    """How it was found: "strict", "fenced", "embedded" (in prose), or "repaired" (a trailing comma taken out)."""


def read_json(reply: str, accept: Callable[[Any], bool] = lambda value: isinstance(value, dict | list)) -> Json:
    """The first JSON value in the reply that `accept` takes; a trailing comma is forgiven.

    Tried in this order: the whole reply, fenced blocks, balanced objects, balanced arrays. Raises `ParseError` if there
    is none.
    """
    text = answer(reply)
    for path, candidate in _json_candidates(text):
        for repaired, source in ((path, candidate), ("repaired", _without_trailing_commas(candidate))):
            try:
                value = json.loads(source, parse_constant=_refuse_constant)
            except (ValueError, RecursionError):
                continue
            if accept(value):
                return Json(value, repaired)
    raise ParseError("no JSON of the expected shape in the reply", reply=reply)


def _json_candidates(text: str) -> Iterator[tuple[str, str]]:
    yield "strict", text.strip()
    for block in _FENCE.finditer(text):
        yield "fenced", block.group(1).strip()
    for opener in "{[":
        for span in _balanced(text, opener):
            yield "embedded", span


def _balanced(text: str, opener: str) -> Iterator[str]:
    """Outermost stretches from `opener` to the bracket that closes it, quoted strings skipped."""
    at, restarts = text.find(opener), 0
    while at >= 0 and restarts < _RESTARTS:
        end = _closing(text, at)
        if end is None:
            restarts += 1
            at = text.find(opener, at + 1)
        else:
            yield text[at:end]
            at = text.find(opener, end)


_BRACKET = re.compile(r'\\.|["{}\[\]]', re.DOTALL)


def _closing(text: str, start: int) -> int | None:
    """Just after the bracket that closes the one at `start`."""
    depth, quoted = 0, False
    for found in _BRACKET.finditer(text, start):
        mark = found.group()
        if mark == '"':
            quoted = not quoted
        elif not quoted and len(mark) == 1:
            depth += 1 if mark in "{[" else -1
            if depth == 0:
                return found.end()
    return None


def _without_trailing_commas(source: str) -> str:
    kept: list[str] = []
    quoted = escaped = False
    for character in source:
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "}]":
            while kept and kept[-1].isspace():
                kept.pop()
            if kept and kept[-1] == ",":
                kept.pop()
        kept.append(character)
    return "".join(kept)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# --- lists -----------------------------------------------------------------------------------------------------------

_ITEM = re.compile(r"\s{0,12}(?:[-*+•‣▪◦·–—]|\(?\d{1,3}[.)]|\(?[a-z][)])(?:\s+|$)(.*)", re.DOTALL)
_NOTHING = re.compile(
    r"\W{0,6}(?:none|n/a|no (?:atomic )?(?:facts|claims)(?: found)?"
    r"|(?:this|the) sentence (?:does not|doesn't) (?:contain|make) any (?:atomic )?(?:facts|claims))\W{0,6}$",
    re.IGNORECASE,
)
_KEYS = ("facts", "claims", "items")
_TEXT_KEYS = ("fact", "claim", "text", "statement")


@dataclass(frozen=True)
class Listing:
    items: tuple[str, ...]
    path: str
    """How it was found: "list", "nothing" (the reply says that there is none), or a path of `Json`."""
    truncated: bool = False
    """The reply breaks off in the middle; `items` are the complete ones."""


def read_list(reply: str, *, cut: bool = False) -> Listing:
    """The items of a list in JSON (`[…]`, `{"facts": […]}`, objects with a "fact") or with a marker on each line.

    Text before the first item is passed over; the list ends at the first line that is no item, so notes and invented
    further examples are not read. `cut`: the reply was cut by max_tokens, so its last line is not complete.
    Raises `ParseError` if there is no list and the reply does not say "none" either.
    """
    text = answer(reply)
    if _NOTHING.match(text.strip()):
        return Listing((), "nothing")
    marked = _marked_items(text.rpartition("\n")[0] if cut else text)
    try:
        found = read_json(text, lambda value: _strings(value) is not None)
    except ParseError:
        pass
    else:
        if marked is None or not isinstance(found.value, list):  # else: an array that some item of the list quotes
            return Listing(tuple(_strings(found.value) or ()), found.path)
    if (salvaged := _salvage(text)) is not None:
        return Listing(tuple(salvaged), "embedded", truncated=True)
    if marked is None and not cut:
        raise ParseError("no list in the reply", reply=reply)
    return Listing(tuple(marked or ()), "list", truncated=cut)


def _strings(value: Any) -> list[str] | None:
    """The texts of a JSON list of facts, None if the value is not one."""
    if isinstance(value, dict):
        value = next((value[key] for key in _KEYS if isinstance(value.get(key), list)), None)
    if not isinstance(value, list):
        return None
    texts = [_string(item) for item in value]
    return [text.strip() for text in texts if text and text.strip()] if None not in texts else None


def _string(item: Any) -> str | None:
    if isinstance(item, dict):
        item = next((item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str)), None)
    return item if isinstance(item, str) else None


def _salvage(text: str) -> list[str] | None:
    """Complete items of a JSON list that is never closed; None if the text holds no such list."""
    opening = re.search(r'"(?:facts|claims|items)"\s{0,20}:\s{0,20}\[|^\s{0,20}\[|```(?:json)?\s{0,20}\[', text)
    if not opening:
        return None
    decoder, at, items = json.JSONDecoder(parse_constant=_refuse_constant), opening.end(), []
    while True:
        while at < len(text) and (text[at].isspace() or text[at] == ","):
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return items
        if (item := _string(value)) is None:
            return items
        items.append(item.strip())


def _marked_items(text: str) -> list[str] | None:
    items: list[str] | None = None
    blank = False
    for line in text.splitlines():
        if not line.strip() or line.strip().startswith("```"):
            blank = True
        elif item := _ITEM.match(line):
            items = items or []
            if wording := _bare(item.group(1)):
                items.append(wording)
            blank = False
        elif items and not blank and _continues(items[-1], line):
            items[-1] = f"{items[-1]} {_bare(line)}"
        elif items is not None:
            break
    if items == [] or items is None:
        return None
    return [] if all(_NOTHING.match(item) for item in items) else items


def _continues(item: str, line: str) -> bool:
    """A wrapped line: the item has not ended and the line does not begin anew."""
    return item[-1] not in ".!?。" and not line.lstrip()[0].isupper() and not line.rstrip().endswith(":")


def _bare(text: str) -> str:
    """Without emphasis and quotation marks around the whole."""
    text = text.strip()
    for mark in ("**", "__", '"', "`"):
        if text.startswith(mark) and text.endswith(mark) and len(text) > 2 * len(mark) and text.count(mark) == 2:
            text = text[len(mark) : -len(mark)].strip()
    return text


# --- verdicts --------------------------------------------------------------------------------------------------------

_ANCHOR = re.compile(
    r"\b(?:verdict|answer|label|conclusion|judge?ment|decision|classification|rating|final|output|result)s?\b"
    r"(?:\s?\([^()\n]{0,40}\))?(?:\s?[:=]\s{0,9}|\s(?:is|would be)\s?:?\s{0,9}|\s{0,4}\n\s{0,9})"
)
_BRACKETED = re.compile(r"\[([^\[\]\n]{0,60})\]")
_STATEMENT = re.compile(
    r"(?:^|(?<=[.!?;\n]))\s{0,9}(?:(?:yes|no|so|therefore|thus|hence|overall|in conclusion"
    r"|(?:based on|given|according to) [^,.]{0,80}),?\s)?"
    r"(?:(?:the|this|that)\s(?:\w{1,20}\s)?(?:statement|claim|fact|sentence|assertion|input)|this|that|it)\s?(?:is|'s)\s"
    r"(?:therefore |thus |clearly |indeed |definitely |actually |fully |completely |entirely )?"
)
_LEAD = re.compile(r"(?:(?:so|therefore|thus|hence|overall|actually|in conclusion|i would say|i say)\b[,:]?\s?)?")
_AFTER = re.compile(r"\s{0,2}(?:\?|(?:that|if|only|unless|in part|or|when|except|for the most)\b)")
_MARKS = str.maketrans({**dict.fromkeys('*`"“”#>{}', None), "_": " ", "’": "'", "‑": "-"})


def read_verdict(reply: str, menu: Menu = TRUE_FALSE) -> str:
    """The outcome, a key of `menu`, that the reply settles on.

    Looked for in three places, and the last one of the first kind that occurs decides: after an anchor ("Verdict: …",
    "[…]"); as the opening or the closing words of the reply; in a sentence that only says it ("The statement is not
    true."). Whole words only, negative wordings before the positive ones they contain, "True or False?" passed over.
    Raises `ParseError` when nothing is found, when an anchor is followed by something off the menu, and when opening or
    closing words and sentence disagree.
    """
    text = _plain(answer(reply), menu)
    anchored = _anchored(text, menu)
    if anchored:
        decided = anchored[-1]
    else:
        outer, stated = _outer(text, menu), _stated(text, menu)
        decided = None if outer and stated and outer[-1] != stated[-1] else (outer or stated or [None])[-1]
    if decided is None:
        raise ParseError("no verdict in the reply", reply=reply)
    return decided


def _plain(text: str, menu: Menu) -> str:
    """Lower case without markup, "n't" spelt out, and without echoes of the question ("true or false")."""
    text = text.casefold().translate(_MARKS).replace("n't", " not")
    text = re.sub(r"\bnot-", "not ", text)
    forms = "|".join(re.escape(form) for form, _ in _forms(menu))
    return re.sub(rf"\b(?:{forms})(?:\s?(?:,|/|\||or|,\sor)\s?(?:{forms})){{1,4}}\b\??", "", text).strip()


def _forms(menu: Menu) -> list[tuple[str, str]]:
    """(wording, outcome), longest first, so that "not supported" is met before "supported" and "no"."""
    return sorted(((form, outcome) for outcome, forms in menu.items() for form in forms), key=lambda f: -len(f[0]))


def _on_menu(text: str, at: int, menu: Menu) -> str | None:
    """The outcome whose wording stands at `at` as whole words; None if it is only mentioned ("true if", "true?")."""
    for form, outcome in _forms(menu):
        end = at + len(form)
        if text.startswith(form, at) and not text[end : end + 1].isalnum() and not _AFTER.match(text, end):
            bare = form in ("yes", "no") and text[end : end + 2].strip()[:1].isalnum()
            return None if bare else outcome
    return None


def _anchored(text: str, menu: Menu) -> list[str | None]:
    """What stands at the anchors, in order; None for something that is not on the menu."""
    found: list[tuple[int, str | None]] = []
    for anchor in _ANCHOR.finditer(text):
        start = anchor.end() + (text[anchor.end() : anchor.end() + 1] in ("[", "("))
        if text[start:].strip():
            found.append((anchor.start(), _on_menu(text, start, menu)))
    for bracket in _BRACKETED.finditer(text):
        content = bracket.group(1).strip(" .:!")
        outcome = next((outcome for form, outcome in _forms(menu) if form == content), None)
        closes = not any(character.isalnum() for character in text[bracket.end() : bracket.end() + 40])
        if outcome or (closes and content and not content.isdigit()):
            found.append((bracket.start(), outcome))
    return [outcome for _, outcome in sorted(found, key=lambda item: item[0])]


def _outer(text: str, menu: Menu) -> list[str]:
    """Outcomes in the opening words and in the closing sentence, where that is nothing but the verdict."""
    found = [_on_menu(text, _LEAD.match(text).end(), menu)] if text else []  # pyright: ignore[reportOptionalMemberAccess]
    closing = re.split(r"(?<=[.!?:])\s|\n", text.rstrip())[-1].strip(" .!()")
    lead = _LEAD.match(closing)
    wording = closing[lead.end() :] if lead else closing
    found.append(next((outcome for form, outcome in _forms(menu) if form == wording), None))
    return [outcome for outcome in found if outcome]


def _stated(text: str, menu: Menu) -> list[str]:
    """Outcomes of sentences of the form "the statement is not true"."""
    found = [_on_menu(text, statement.end(), menu) for statement in _STATEMENT.finditer(text)]
    return [outcome for outcome in found if outcome]


# --- scores ----------------------------------------------------------------------------------------------------------

_SCORE = re.compile(
    r"\b(?:score|rating|grade|probability|confidence|answer)\b(?:\s?[:=]\s{0,9}|\s(?:is|of)\s:?\s{0,9})([^\s]{0,20})"
)
_NUMBER = re.compile(r"[(\[]?([-+]?\d{1,9}(?:\.\d{1,9})?)(?:\s?(?:/|out of)\s?(\d{1,9}))?[\])]?[.,;!]?$")


def read_score(reply: str, low: float, high: float) -> float:
    """The last number after "score:", "rating:" and the like, or the number that is the whole reply; in [low, high].

    Raises `ParseError` if there is none, if it lies outside, or if it is out of another maximum ("3/5" of 10).
    """
    text = answer(reply).casefold().translate(_MARKS).strip()
    anchored = _SCORE.findall(text)
    number = _NUMBER.match(anchored[-1] if anchored else text)
    if not number:
        raise ParseError("no score in the reply", reply=reply)
    value, maximum = float(number.group(1)), number.group(2)
    if not low <= value <= high or (maximum and float(maximum) != high):
        raise ParseError(f"score {number.group()} is not on the scale from {low:g} to {high:g}", reply=reply)
    return value
