"""Answers that decline to answer. A rule gives the words that show it, or None where the text is an answer.

`Generic` and `Perplexity` are the two detectors of the FActScore code (arXiv 2305.14251), for comparison with published
numbers; `Standard` is ours and the default; `Never` takes every text as an answer, even an empty one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from veridical.errors import UsageError
from veridical.text.refusals import APOLOGY, ASPECTS, EMPTY_WORDS, NO_BIOGRAPHY, PRELUDES, REFUSALS
from veridical.text.sentences import split

EMPTY = "(empty text)"
NO_WORDS = "(no words in it)"
"""What the rules give for a text without a letter or digit."""

_CITATION = re.compile(r"[ \t\u00a0]?\[\d{1,3}\]")
_CURLY = str.maketrans("’‘ʼ`´“”", "'''''\"\"")
_APOLOGY_WORDS = 6
_REACH = 400
"""Characters of a sentence that are looked at."""


class Abstention(Protocol):
    """Decides whether a generation declines to answer."""

    @property
    def name(self) -> str: ...

    def detect(self, text: str, topic: str | None = None) -> str | None:
        """The words that show that `text` is no answer; None if it is one."""
        ...


@dataclass(frozen=True)
class Generic:
    """FActScore's rule "generic": begins with "I'm sorry" or contains "provide more", to the letter.

    An empty text counts too: the original arrives at that by way of zero facts.
    """

    name: str = "generic"

    def detect(self, text: str, topic: str | None = None) -> str | None:
        if not text.strip():
            return EMPTY
        if text.startswith("I'm sorry"):
            return "I'm sorry"
        return "provide more" if "provide more" in text else None


@dataclass(frozen=True)
class Perplexity:
    """FActScore's rule "perplexity_ai": the text, or its first paragraph, holds one of its stock phrases.

    Citation marks are removed first.
    """

    name: str = "perplexity_ai"

    def detect(self, text: str, topic: str | None = None) -> str | None:
        plain = strip_citations(text)
        if not plain.strip():
            return EMPTY
        if self.answered(plain):
            return None
        found = _STOCK.search(plain)
        return found[0] if found else EMPTY

    def answered(self, text: str) -> str:
        """The paragraphs before the first that is empty or holds a stock phrase: what the original paper annotated."""
        plain = strip_citations(text)
        if _STOCK.match(plain):
            return ""
        kept: list[str] = []
        for paragraph in plain.split("\n\n"):
            if not paragraph.strip() or _STOCK.search(paragraph):
                break
            kept.append(paragraph.strip())
        return "\n\n".join(kept)


_STOCK = re.compile(
    r"I could not find any information|The search results do not provide|There is no information|"
    r"There are no (?:provided )?search results|not provided in the search results|"
    r"is not mentioned in the provided search results|There seems to be a mistake in the question|"
    r"No(?:t)? sources found|Try a more general question",
    re.IGNORECASE,
)
"""The stock phrases of the published rule: part of its definition."""


@dataclass(frozen=True)
class Standard:
    """The default: refusals, counter-questions and no-information answers in eleven languages, and empty texts.

    The opening sentence decides (the next one, where the opening only greets or apologises), since an answer that
    ends in "There is no information on his death." is an answer. A sentence anywhere that says that there is no
    information for a biography counts as well. Citation marks do not matter. Languages: `refusals.REFUSALS`.
    """

    name: str = "standard"

    def detect(self, text: str, topic: str | None = None) -> str | None:
        plain = strip_citations(text).translate(_CURLY)
        if not any(map(str.isalnum, plain)):
            return NO_WORDS if plain.strip() else EMPTY
        if EMPTY_WORDS.fullmatch(plain.strip()):
            return plain.strip()
        sentences = [sentence.text[:_REACH] for sentence in split(plain)]
        for sentence in sentences[:3]:
            for refusal in REFUSALS.values():
                found = refusal.search(sentence)
                if found and (len(sentences) == 1 or not ASPECTS.search(sentence)):
                    return found[0].strip()
            if not PRELUDES.match(sentence):
                break
        if APOLOGY.search(plain) and len(plain.split()) <= _APOLOGY_WORDS and PRELUDES.match(plain):
            return plain.strip()
        later = (NO_BIOGRAPHY.search(sentence) for sentence in sentences[1:])
        return next((found[0] for found in later if found), None)


@dataclass(frozen=True)
class Never:
    """Takes every text as an answer."""

    name: str = "never"

    def detect(self, text: str, topic: str | None = None) -> str | None:
        return None


RULES: dict[str, Abstention] = {rule.name: rule for rule in (Standard(), Generic(), Perplexity(), Never())}


def rule(name: str) -> Abstention:
    """The rule of that name; UsageError names those there are."""
    if name not in RULES:
        raise UsageError(f"no abstention rule {name!r}; there are {', '.join(RULES)}")
    return RULES[name]


def strip_citations(text: str) -> str:
    """The text without marks such as "[1]" and the blank before them."""
    return _CITATION.sub("", text)
