"""Reading a verdict in words off a model's reply, or refusing to.

The published systems look for "true" or "supported" as a substring and book what they cannot read as one of the
verdicts (FActScore: as supported). Here a verdict is whole words, anchored, and the last of its kind; anything else is
a `ParseError`. The rules, with examples, are in `docs/reading_replies.md`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..errors import ParseError
from .markup import MARKS, answer
from .structured import read_json

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
        *("not enough evidence", "not enough information", "not enough info", "insufficient evidence"),
        *("insufficient information", "no evidence", "unverifiable", "inconclusive", "cannot be determined"),
    ),
}
"""The three-way question. "Not supported" is off this menu: it does not say which of the other two is meant."""

_ANCHOR = re.compile(
    r"\b(?:verdict|answer|label|conclusion|judge?ment|decision|classification|rating|final|output|result)s?\b"
    r"(?:\s?\([^()\n]{0,40}\))?"
    r"(?P<sign>\s?[:=]\s{0,9}|\s[–—-]\s|\s(?:is|would be)\s?:?\s{0,9}|\s{0,4}\n\s{0,9})"
)
_BRACKETED = re.compile(r"\[([^\[\]\n]{0,60})\]")
_SUBJECT = (
    r"(?:(?:the|this|that)\s(?:\w{1,20}\s)?(?:statement|claim|fact|sentence|assertion|input)|this|that|it)\s?(?:is|'s)\s"
    r"(?:therefore |thus |clearly |indeed |definitely |actually |fully |completely |entirely )?"
)
_STATEMENT = re.compile(
    r"(?:(?:^|(?<=[.!?;\n]))\s{0,9}(?:(?:yes|no|so|therefore|thus|hence|overall|in conclusion|i would say"
    r"|i conclude that|(?:based on|given|according to) [^,.]{0,80}),?\s)?|,\s(?:so|therefore|thus|hence)\s)" + _SUBJECT
)
_REPEATED = re.compile(_SUBJECT)
_LEAD = re.compile(r"(?:(?:so|therefore|thus|hence|overall|actually|in conclusion|i would say|i say)\b[,:]?\s?)?")
_AFTER = re.compile(
    r"\s{0,2}(?:\?|(?:that|if|only|unless|in part|or|when|except|for the most)\b"
    r"|[:=]\s?(?:true|false|yes|no|not|null|none|\d))"
)
"""What makes a wording a mere mention: "true if", "true?", or a key ("supported: false")."""


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
    text = text.casefold().translate(MARKS).replace("n't", " not")
    text = re.sub(r"\bnot-", "not ", text)
    forms = "|".join(re.escape(form) for form, _ in _forms(menu))
    return re.sub(
        rf"\b(?:{forms})(?:\s?[,/|]\s?(?:{forms})){{0,4}}(?:,?\sor\s|\s?[/|]\s?)(?:{forms})\b\??", "", text
    ).strip()


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
    """What stands at the anchors, in order; None for something that is not on the menu.

    "The answer is 1951" is no verdict off the menu but a sentence; "Answer: 1951" and "the verdict is open" are.
    """
    found: list[tuple[int, str | None]] = []
    for anchor in _ANCHOR.finditer(text):
        start = anchor.end() + (text[anchor.end() : anchor.end() + 1] in ("[", "("))
        repeated = _REPEATED.match(text, start)
        outcome = _on_menu(text, repeated.end() if repeated else start, menu)
        loose = anchor["sign"].strip(" :") in ("is", "would be") and not anchor.group().startswith("verdict")
        if outcome or (not loose and text[start:].strip()):
            found.append((anchor.start(), outcome))
    for bracket in _BRACKETED.finditer(text):
        content = bracket.group(1).strip(" .:!")
        outcome = next((outcome for form, outcome in _forms(menu) if form == content), None)
        closes = not any(character.isalnum() for character in text[bracket.end() : bracket.end() + 40])
        if outcome or (closes and content and not content.isdigit()):
            found.append((bracket.start(), outcome))
    return [outcome for _, outcome in sorted(found, key=lambda item: item[0])]


def _outer(text: str, menu: Menu) -> list[str]:
    """Outcomes in the opening words and in the closing sentence, where that is nothing but the verdict."""
    opening = _on_menu(text, _after_lead(text), menu)
    last = re.split(r"(?<=[.!?])\s|\n", text.rstrip())[-1].strip(" .!()")
    closing = next((outcome for form, outcome in _forms(menu) if form == last[_after_lead(last) :]), None)
    return [outcome for outcome in (opening, closing) if outcome]


def _after_lead(text: str) -> int:
    lead = _LEAD.match(text)
    return lead.end() if lead else 0


def _stated(text: str, menu: Menu) -> list[str]:
    """Outcomes of sentences of the form "the statement is not true"."""
    found = [_on_menu(text, statement.end(), menu) for statement in _STATEMENT.finditer(text)]
    return [outcome for outcome in found if outcome]


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
