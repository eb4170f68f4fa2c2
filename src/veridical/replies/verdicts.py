"""Reading a verdict in words off a model's reply, or refusing to.

The published systems look for "true" or "supported" as a substring and book what they cannot read as one of the
verdicts (FActScore: as supported). Here a verdict is whole words, anchored, asserted by the judge itself, and nothing
after it speaks against it; anything else is a `ParseError`. The rules, with examples, are in `docs/reading_replies.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import ParseError
from .asides import Asides
from .markup import ANCHORS, answer
from .places import anchored, opening, unanchored
from .reversals import taken_back
from .structured import read_json
from .wordings import Found, Menu, Wordings

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
        *("not enough evidence", "not enough information", "not enough info", "insufficient evidence"),
        *("insufficient information", "no evidence", "unverifiable", "inconclusive", "cannot be determined"),
    ),
}
"""The three-way question. "Not supported" is off this menu: it does not say which of the other two is meant."""


def read_verdict(reply: str, menu: Menu = TRUE_FALSE) -> str:
    """The outcome, a key of `menu`, that the reply settles on.

    An object in JSON is read by its keys. In prose the verdict is looked for at an anchor ("Verdict: …", "[…]"), where
    the last one decides; else in the opening words, in a sentence that only says it ("The statement is not true."), and
    in the closing words. Whole words only, negative wordings before the positive ones they contain. What is cited,
    reported or hypothetical is no verdict. Raises `ParseError` when nothing is found, when an anchor is followed by
    something off the menu, and when anything after the verdict qualifies it or may say another.
    """
    wordings, said = Wordings(menu), answer(reply)
    outcomes = _in_object(said, wordings)
    outcome = _in_words(said, wordings) if outcomes is None else outcomes.pop() if len(outcomes) == 1 else None
    if outcome is None:
        raise ParseError("no verdict in the reply", reply=reply)
    return outcome


def _in_object(said: str, wordings: Wordings) -> set[str | None] | None:
    """What the keys of a reply in JSON say, None for an unreadable outcome; None if the reply is no object."""
    try:
        value = json.loads(said.strip().strip("`").removeprefix("json").strip())
    except (ValueError, RecursionError):
        return None
    return set(_of_keys(value, wordings)) if isinstance(value, dict) else None


_KEY = re.compile(rf"(?:final )?(?:{ANCHORS})")


def _of_keys(value: Mapping[str, Any], wordings: Wordings) -> Iterator[str | None]:
    """`{"verdict": "True"}`, `{"answer": true}`, and `{"supported": false}`, which is "not supported"."""
    pending = list(value.items())
    while pending:
        key, item = pending.pop()
        name = key.casefold().replace("_", " ").removeprefix("is ").strip()
        if isinstance(item, bool) and name in wordings.outcomes:
            yield wordings.outcomes.get(name if item else f"not {name}")
        elif _KEY.fullmatch(name):
            if isinstance(item, dict):
                pending.extend(item.items())
            else:
                yield (
                    _in_words(item, wordings) if isinstance(item, str) else wordings.outcomes.get(str(item).casefold())
                )


def _in_words(said: str, wordings: Wordings) -> str | None:
    text = wordings.plain(said)
    asides = Asides(text)
    found = anchored(text, wordings)
    asserted = [place for place in found if place.at not in asides]
    decided = asserted[-1] if asserted else unanchored(text, wordings, asides)
    if decided is None or decided.outcome is None:
        return None
    doubted = any(_another(text, place, decided, wordings) for place in found if place.at > decided.at)
    if doubted or _invented(text, asserted, decided, wordings) or taken_back(text, decided, wordings, asides):
        return None
    return decided.outcome


def _invented(text: str, asserted: list[Found], decided: Found, wordings: Wordings) -> bool:
    """Whether an earlier verdict may be the answer, and the last one that of an example invented after it."""
    first = opening(text, wordings)
    if asserted and first and first.outcome != decided.outcome:
        return True
    others = [place.end for place in asserted if place.outcome != decided.outcome]
    return bool(others and _NEXT.search(text, others[0], decided.at))


_NEXT = re.compile(r"\n(?:statement|input|question|claim|fact|passage)\b[^\n:]{0,20}:")
"""The beginning of a further example."""


def _another(text: str, later: Found, decided: Found, wordings: Wordings) -> bool:
    return wordings.opposes(text, later.end, decided) if later.outcome is None else later.outcome != decided.outcome


# --- several verdicts -----------------------------------------------------------------------------------------------

_NUMBERED = re.compile(
    r"\W{0,6}(?:(?:statement|fact|claim|no\.?)\s?)?#?(\d{1,4})\s?[.):\]=–—-]{1,3}(.*)", re.IGNORECASE
)


def read_verdicts(reply: str, ids: Sequence[str], menu: Menu = TRUE_FALSE, *, cut: bool = False) -> dict[str, str]:
    """Verdicts of several numbered statements, by number: from lines such as "2: False" or a JSON object by number.

    Only what could be read is in it: never by position, never assumed. A number with two different verdicts is not.
    `cut`: the reply was cut by max_tokens, so its last line is not complete.
    """
    text = answer(reply)
    try:
        pairs = list(read_json(text, lambda value: isinstance(value, dict)).value.items())
    except ParseError:
        lines = (text.rpartition("\n")[0] if cut else text).splitlines()
        pairs = [numbered.groups() for line in lines if (numbered := _NUMBERED.match(line))]
    found: dict[str, set[str | None]] = {}
    for number, wording in pairs:
        if number in ids:
            found.setdefault(number, set()).add(_or_none(wording, menu))
    certain = {number: outcomes.pop() for number, outcomes in found.items() if len(outcomes) == 1}
    return {number: outcome for number, outcome in certain.items() if outcome is not None}


def _or_none(wording: object, menu: Menu) -> str | None:
    try:
        return read_verdict(wording, menu) if isinstance(wording, str) else None
    except ParseError:
        return None
