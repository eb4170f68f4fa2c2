"""The last look at a fact in words: what no parse can excuse is mended or left out."""

from __future__ import annotations

import re

_TWICE = re.compile(r"\b(?:is|are|was|were) (is|are|was|were)\b")
_BROKEN = re.compile(
    r"""^\d{3,4}\ [a-z]+ed\b  # "1963 reached number one"
      | \b(?:is|are|was|were)\ (?:in|from|of)\ (?:née\b | [\d.,]+\ (?:ft|in|feet|m|km|cm|mi|miles|lb|kg)\b)
      | \b(?: of | the | a | an | and | or | with | by | which | its | his | her )\.$""",  # cut in the middle
    re.IGNORECASE | re.VERBOSE,
)


def mended(text: str) -> str:
    """Without a doubled verb: "was is a rapper"."""
    return _TWICE.sub(r"\1", text)


def is_broken(text: str) -> bool:
    """Whether the words of a fact cannot be a sentence. What it was taken from still has its other facts, or is one
    fact as a whole."""
    return _BROKEN.search(text) is not None
