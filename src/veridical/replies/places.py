"""The places of a reply where a verdict may stand."""

from __future__ import annotations

import re

from .asides import Asides
from .markup import ANCHORS
from .reversals import clauses_oppose
from .wordings import SIGNS, Found, Wordings

_ANCHOR = re.compile(
    rf"\b(?P<content>(?:correct|right|actual) )?(?P<noun>{ANCHORS})s?\b"
    r"(?:\s?\([^()\n]{0,40}\))?"
    r"(?P<sign>\s?[:=]\s{0,9}|\s[–—-]\s|\sis\s?:?\s{0,9}(?:that\s)?|\s{0,4}\n\s{0,9})"
)
_BRACKETED = re.compile(r"\[([^\[\]\n]{0,60})\]")
_EXPLAINED = re.compile(r"\s(?:if|unless|otherwise|when|where|means?|is|was|would|could|and|for|only|in case)\b")
"""After brackets: the menu is explained, nothing is chosen."""
_DENIED = re.compile(r"\b(?:not|nor|neither|never|than|instead of|no)\s?[\"'(]?$")
_SUBJECT = (
    r"(?:(?:the|this|that)\s(?:\w{1,20}\s)?(?:statement|claim|fact|sentence|assertion|input)(?:\s[\"“][^\"“”\n]{0,300}[\"”])?"
    r"|this|that|it)\s?(?:is|'s):?\s"
    r"(?:therefore |thus |clearly |indeed |definitely |actually |fully |completely |entirely )?"
)
_GROUNDS = r"(?:based on|given|according to) [^,.\n]{0,80},\s"
_STATEMENT = re.compile(
    r"(?:(?:^|(?<=[.!?;\n]))\s{0,9}(?:(?:(?:yes|no|so|therefore|thus|hence|overall|in conclusion|i would say"
    rf"|i conclude that),?\s)|{_GROUNDS})?|,\s(?:so|therefore|thus|hence)\s){_SUBJECT}"
    r"|(?:^|(?<=[.!?\n]))\s{0,3}(?:so |therefore,? |thus,? |overall,? )?i(?: would| will|'ll)? (?:answer|say|choose"
    r"|(?:judge|label|rate|mark|classify) (?:it|this|(?:the|this) (?:statement|claim|fact))(?: as)?)\s?:?\s"
)
_REPEATED = re.compile(rf"[\[({{{SIGNS}]?\s?(?:(?:{_GROUNDS})?{_SUBJECT})?[\[(]?")
"""What may stand between an anchor and its verdict."""
_LEAD = re.compile(
    rf"(?:[\s{SIGNS}.:(–—•-]{{0,6}})(?:(?:so|therefore|thus|hence|overall|actually|in conclusion|i would say|i say)\b"
    r"[,:]?\s?)?"
)


def anchored(text: str, wordings: Wordings) -> list[Found]:
    """What stands at the anchors, in order; its outcome is None for something that is not on the menu.

    "The answer is 1951" and "the correct answer: 1951" are no verdicts off the menu but sentences; "Answer: 1951" and
    "the verdict is open" are.
    """
    found = [place for anchor in _ANCHOR.finditer(text) if (place := _at_anchor(text, anchor, wordings))]
    found += [place for bracket in _BRACKETED.finditer(text) if (place := _in_brackets(text, bracket, wordings))]
    return sorted(found, key=lambda place: place.at)


def _at_anchor(text: str, anchor: re.Match[str], wordings: Wordings) -> Found | None:
    between = _REPEATED.match(text, anchor.end())
    start = between.end() if between else anchor.end()
    settled = wordings.settled(text, start)
    if settled:
        return Found(anchor.start(), settled.end, settled.outcome)
    loose = anchor["sign"].strip(" :").startswith("is") and anchor["noun"] != "verdict"
    off_menu = not loose and not anchor["content"] and text[start : start + 20].strip()
    return Found(anchor.start(), start, None) if off_menu else None


def _in_brackets(text: str, bracket: re.Match[str], wordings: Wordings) -> Found | None:
    content = bracket[1].strip(" .:!")
    if content in wordings.outcomes:
        settled = wordings.settled(text, bracket.start(1) + bracket[1].index(content))
        qualified = wordings.qualified(text, bracket.end()) or _EXPLAINED.match(text, bracket.end())
        qualified = qualified or _DENIED.search(text, max(0, bracket.start() - 12), bracket.start())
        return Found(bracket.start(), bracket.end(), settled.outcome if settled and not qualified else None)
    closes = not any(character.isalnum() for character in text[bracket.end() : bracket.end() + 40])
    return Found(bracket.start(), bracket.end(), None) if closes and content and not content.isdigit() else None


def unanchored(text: str, wordings: Wordings, asides: Asides) -> Found | None:
    """The first of: the opening words, a sentence that only says it, the closing words."""
    closing = _closing(text, wordings, asides)
    if closing and text.startswith("actually", closing.at):  # corrects what was said before
        return closing
    starts = (statement.end() for statement in _STATEMENT.finditer(text) if statement.end() - 1 not in asides)
    stated = next((found for start in starts if (found := wordings.settled(text, start))), None)
    first = opening(text, wordings)
    return next((found for found in (first, stated) if found and found.at not in asides), closing)


def opening(text: str, wordings: Wordings) -> Found | None:
    return wordings.settled(text, _after_lead(text, 0))


def _closing(text: str, wordings: Wordings, asides: Asides) -> Found | None:
    """A last sentence that is nothing but the verdict; not if the rest says another, or is a question it answers."""
    start = max([end.end() for end in re.finditer(r"[.!?]\s|\n", text)], default=0)
    settled = wordings.settled(text, _after_lead(text, start))
    if not settled or settled.at in asides or text[settled.end :].strip(" .!()"):
        return None
    if text.startswith("actually", start):
        return Found(start, settled.end, settled.outcome)
    answers = text[settled.at : settled.end] in ("yes", "no") and "?" in text[:start]
    doubted = clauses_oppose(text, 0, start, settled, wordings) or (answers and wordings.denies(text[:start]))
    return None if doubted else settled


def _after_lead(text: str, start: int) -> int:
    lead = _LEAD.match(text, start)
    return lead.end() if lead else start
