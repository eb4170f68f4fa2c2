"""What in a reply may take back the verdict that it gives. Used only to refuse, never to decide."""

from __future__ import annotations

import re

from .asides import Asides
from .wordings import Found, Wordings

_RETRACTED = re.compile(
    r"\b(?:no,? wait|wait(?=\s?[,.!:–—]| no\b| -)|on second thoughts?|on reflection|scratch that|correction:|hold on\b"
    r"|let me (?:correct|rephrase|reconsider|re-?check|re-?evaluate|revise)\b"
    r"|i (?:was|am|stand) (?:wrong|mistaken|corrected)\b|i take (?:that|it) back"
    r"|i mean(?:t)?\b|i (?:retract|withdraw)\b|not (?:really|exactly|quite|entirely|strictly|necessarily)\b"
    r"|(?:statement|claim|it|this|that) is neither\b"
    r"|i ?(?:can ?not|could not|ca not|do not|(?:am|'m) (?:unable|not able) to) (?:tell|assess|judge"
    r"|determine|decide|say|know|be (?:sure|certain)|verify|confirm)\b"
    r"|i(?: am|'m) (?:not (?:\w{1,12} )?(?:sure|certain)|unsure|uncertain)\b)"
)
_UNAFFIRMED = re.compile(
    r"\bhowever\b|\b(?:does|do|did) not (?:mention|say|state|support|confirm|match|agree|specify|indicate|prove)\b"
    r"|\bcontradicts\b|\bno (?:mention|evidence|support|indication|proof)\b|\bnot (?:mentioned|stated|confirmed)\b"
    r"|\bnone of the\b|\bnowhere\b"
)
"""What nobody says of a statement that is true without a reserve."""
_CLAIMED = re.compile(
    r"(?:\b(?:is|are|was|were|as|it|this|that|statement|claim|remains|becomes|seems|say|answer)|(?<!would )\bbe|'s)\s"
    r"(?:(?:in fact|actually|really|clearly|therefore|thus|indeed|simply|partly|partially|also|now|still|just|fully"
    r"|definitely|completely|entirely|rather|a)\s){0,2}"
)
"""Words that say something of a subject: "the date is …"."""
_CLAUSE = re.compile(r"(?:[.!?;:,\n(–—→]|\s-{1,2}\s)\W{0,8}")
_CONNECTIVE = re.compile(
    r"(?:wait|actually|no|oh|but|however|so|therefore|thus|hence|instead|rather|or|and|hmm|well|sorry|then|now|overall|in"
    r" fact|otherwise|still|yet|perhaps|maybe|verdict|answer|yes)\b\W{1,4}"
)
_PREPOSITION = re.compile(r"\s(?:before|after|for|in|from|until|on|at|with|about|regarding|of|as)\b")


def taken_back(text: str, decided: Found, wordings: Wordings, asides: Asides) -> bool:
    """Whether anything after the verdict retracts it, or says another of the statement or of a part of it."""
    if _RETRACTED.search(text, decided.end) or clauses_oppose(text, decided.end, len(text), decided, wordings, asides):
        return True
    if decided.outcome and wordings.affirms(decided.outcome) and _UNAFFIRMED.search(text, decided.end):
        return True
    return any(
        wordings.opposes(text, claimed.end(), decided) and not asides.cited(claimed.start())
        for claimed in _CLAIMED.finditer(text, decided.end)
    )


def clauses_oppose(
    text: str, start: int, end: int, decided: Found, wordings: Wordings, asides: Asides | None = None
) -> bool:
    """Whether a clause between `start` and `end` begins with another verdict ("no. yes.")."""
    starts = ([0] if start == 0 else []) + [clause.end() for clause in _CLAUSE.finditer(text, start, end)]
    for at in starts:
        if asides and asides.cited(at):
            continue
        for _ in range(4):
            if _says_another(text, at, decided, wordings):
                return True
            connective = _CONNECTIVE.match(text, at, end)
            if not connective:
                break
            at = connective.end()
    return False


def _says_another(text: str, at: int, decided: Found, wordings: Wordings) -> bool:
    if not wordings.opposes(text, at, decided):
        return False
    end = wordings.end(text, at)
    parenthetic = text[max(0, at - 2) : at].strip()[-1:] in tuple(",;(–—-")
    return wordings.ended(text, end) or bool(parenthetic and _PREPOSITION.match(text, end))
