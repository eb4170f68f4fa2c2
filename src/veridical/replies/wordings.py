"""The wordings of a menu, found in plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .markup import plain

Menu = Mapping[str, Sequence[str]]
"""What a verdict may be: outcome -> the lower-case wordings that mean it."""

_CHECKS, _CROSSES = "✅✔☑✓", "❌✗✘✖"
SIGNS = _CHECKS + _CROSSES
"""They mean true and false; beside a wording that means the other they make it unreadable."""

_EVIDENCE = (
    r"(?:(?:the|this|that|these|those|both|all|my|our)\s)?(?:(?!no\b|none\b|neither\b|few\b|another\b|other\b)\w{1,20}\s)?(?:passages?|texts?|evidence|sources?|documents?"
    r"|articles?|context|information|knowledge|references?|statements? in)\b"
)
_ENDED = re.compile(
    rf"\s?[{SIGNS}]|\s?<\||\s?</s>|\s?\[\d"
    r"|\s?(?:$|\n|[.:](?!\w)|[,;!)\]}|–—]|[\"'`](?!\w|\s\w)|-{1,2}\s"
    r"|\([^()\n]{0,200}\)(?=\s?(?:$|[\n.,;:!–—-])))"
    r"|\s(?:because\b|since\s(?!\d)|as\s(?!of\b|long\b|far\b|an?\b|if\b|though\b|well\b|per\b))"
    rf"|\s(?:(?:based|resting) (?:up)?on|according to|given|by|per|as per|in light of)\s{_EVIDENCE}"
)
"""What may follow a verdict: the end of the clause or of the line, a note, or the reason."""
_QUALIFIED = re.compile(
    r"[\s.,;:!–—()\]\"'-]{0,5}(?:however|but|wait|no wait|except|excluding|other than|with the exception|save for"
    r"|or|partly|partially|mostly|largely|not entirely)\b"
    r"|\s?[,;:–—(-]{1,2}\s?(?:though|although|albeit|yet|if|unless|only|when|while|provided|assuming|at least|at best"
    r"|in part|depending|otherwise|maybe|perhaps|possibly|probably|apart from|aside from"
    r"|not (?:in|for|by|at|on|quite|fully|entirely|before|after|until))\b"
    r"|\s?\?|\s?[.,;:!]{1,3}\s?\?"
    r"|(?<=\bno)\.\s?\d|(?<=correct)\s?:|(?<=accurate)\s?:|(?<=wrong)\s?:"  # "No. 5", "Correct: Turin"
    r"|\s?[:=]\s?(?:true|false|yes|no|not|null|none|\d)"
)
"""What takes a verdict back or makes it a mere mention: "true, but", "true?", or a key ("supported: false")."""
_MENTIONED = re.compile(r"\s(?:that|if|only|unless|in part|or|when|except|for the most)\b|\s?\?")
_BY_ANOTHER = re.compile(rf"\sby\s(?!{_EVIDENCE})")


@dataclass(frozen=True)
class Found:
    at: int
    end: int
    outcome: str | None
    """None for something that is not on the menu."""


class Wordings:
    """A menu made ready for reading: negative wordings are met before the positive ones that they contain."""

    def __init__(self, menu: Menu) -> None:
        self.outcomes = {form: outcome for outcome, forms in menu.items() for form in forms}
        self._denied = {f"not {form}": outcome for form, outcome in self.outcomes.items()}
        self._form = re.compile(rf"(?:{_either({**self._denied, **self.outcomes})})(?!\w)")
        self._word = re.compile(rf"\b{self._form.pattern}")
        form = rf"(?:{_either(self.outcomes)})"
        wrapped = rf"[\[(\"'“«„]{{0,2}}{form}[\])\"'”»“]{{0,2}}"
        self._echo = re.compile(
            rf"(?<!\w){wrapped}(?:\s?[,/|]\s?{wrapped}){{0,4}}(?:\s?,?\s(?:or|and|vs\.?|versus)\s|\s?[/|]\s?){wrapped}(?!\w)\??"
            rf"|\[{form}\](?:\n[-•\d.)(]{{0,4}}\s?\[{form}\]){{1,5}}"
        )
        self._quoted = re.compile(rf"[\"'`“„«»‹「『]({form})(?:[\"'`“”«»›」』]|[.!][\"'`“”«»›」』](?=\s?(?:$|\n)))")

    def plain(self, text: str) -> str:
        """`markup.plain` without echoes of the question ("true or false?"); `"true"` is unquoted."""
        text = self._quoted.sub(r"\1", plain(text))

        def without(echo: re.Match[str]) -> str:
            return "verdict" if re.match(r"\s?[:=]", echo.string[echo.end() : echo.end() + 2]) else ""

        return self._echo.sub(without, text).strip()

    def settled(self, text: str, at: int) -> Found | None:
        """The wording at `at` where it is a verdict: nothing after it qualifies it or makes it part of more."""
        form = self._form.match(text, at)
        if not form or form.group() not in self.outcomes or self.qualified(text, form.end()):
            return None
        outcome = self.outcomes[form.group()]
        signs = text[max(0, at - 3) : at].rpartition("\n")[2] + text[form.end() : form.end() + 3].partition("\n")[0]
        if any(self._of_sign(sign) != outcome for sign in signs if sign in SIGNS):
            return None
        return Found(at, form.end(), outcome) if self.ended(text, form.end()) else None

    def _of_sign(self, sign: str) -> str | None:
        return self.outcomes.get("true" if sign in _CHECKS else "false")

    def qualified(self, text: str, end: int) -> bool:
        return bool(_QUALIFIED.match(text, end))

    def ended(self, text: str, end: int) -> bool:
        return bool(_ENDED.match(text, end))

    def end(self, text: str, at: int) -> int:
        """The end of the wording at `at`; `at` itself if there is none."""
        form = self._form.match(text, at)
        return form.end() if form else at

    def opposes(self, text: str, at: int, decided: Found) -> bool:
        """Whether the words at `at` may say something other than what is decided."""
        form = self._form.match(text, at)
        if not form or _MENTIONED.match(text, form.end()) or _BY_ANOTHER.match(text, form.end()):
            return False
        word = form.group()
        if word in ("yes", "no") and text[form.end() : form.end() + 2].strip()[:1].isalnum():
            return False
        if word in self.outcomes:
            return self.outcomes[word] != decided.outcome
        return self._denied[word] == decided.outcome

    def affirms(self, outcome: str) -> bool:
        return outcome in (self.outcomes.get(form) for form in ("true", "yes", "supported"))

    def denies(self, question: str) -> bool:
        """Whether the question holds a wording that "yes" does not mean, so that "no" may affirm it."""
        words = (form.group() for form in self._word.finditer(question))
        return any(self.outcomes.get(word) != self.outcomes.get("yes") for word in words)


def _either(forms: Mapping[str, str]) -> str:
    return "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
