"""Is a sentence English? Enough to know whether to parse it."""

from __future__ import annotations

import re

_FUNCTION_WORDS = frozenset({
    "the", "of", "and", "in", "to", "a", "an", "is", "are", "was", "were", "be", "been", "for", "on", "with",
    "he", "she", "it", "they", "his", "her", "its", "their", "by", "at", "as", "from", "that", "this", "who",
    "which", "not", "or", "but", "has", "have", "had", "will", "can", "into", "also", "during", "after", "when",
    "where",
})  # fmt: skip
_FOREIGN = frozenset({
    "der", "die", "das", "und", "ist", "wurde", "ein", "eine", "nicht", "mit", "le", "la", "les", "des", "et", "est",
    "une", "un", "dans", "avec", "el", "los", "las", "que", "y", "en", "del", "fue", "es", "il", "di", "che", "della",
    "o", "e", "um", "uma", "foi", "het", "een", "van", "zijn", "och", "är", "på", "med",
})  # fmt: skip
"""Of German, French, Spanish, Italian, Portuguese, Dutch, Swedish. Names have some too ("de la Cruz")."""
_WORD = re.compile(r"[^\W\d_]{1,40}")
_LATIN_END = "\u0250"
"""Letters before it are Latin ones."""
LEAST = 0.12
"""Share of function words below which a text is not English: prose has 0.3 to 0.5, a list of names is judged by its
text."""
_SAMPLE = 4000
"""Code points of a text that are looked at."""


def is_english(sentence: str, text: str = "") -> bool:
    """By script, then by the share of function words in the sentence or, failing that, in the text around it."""
    words = _WORD.findall(sentence[:_SAMPLE])
    letters = "".join(words)
    if not letters or sum(c < _LATIN_END for c in letters) < 0.7 * len(letters):
        return False
    if _share(words) >= LEAST:
        return True
    foreign = any(word.lower() in _FOREIGN for word in words)
    return not foreign and _share(_WORD.findall(text[:_SAMPLE])) >= LEAST


def _share(words: list[str]) -> float:
    """Of English function words; 0 where those of other languages outnumber them."""
    ours = sum(word.lower() in _FUNCTION_WORDS for word in words)
    theirs = sum(word.lower() in _FOREIGN for word in words)
    return ours / len(words) if words and ours >= theirs else 0.0
