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
    "der", "die", "das", "den", "dem", "und", "ist", "wurde", "ein", "eine", "einen", "nicht", "mit", "er", "sie", "im",
    "von", "zu", "auf", "für", "als", "auch", "sich", "bei",
    "le", "la", "les", "des", "et", "est", "une", "un", "dans", "avec", "du", "au", "aux", "pour", "qui", "elle",
    "sont", "el", "los", "las", "que", "y", "en", "del", "fue", "es", "una", "con", "por", "para", "su", "como",
    "il", "di", "che", "della", "è", "gli", "dei", "nel", "sono", "si",
    "o", "e", "um", "uma", "foi", "os", "da", "na", "em", "com",
    "het", "een", "van", "zijn", "de", "op", "voor", "werd", "och", "är", "på", "med", "av", "som",
    "w", "z", "jest", "się", "był", "była",
})  # fmt: skip
"""Of German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Polish. Names have some too ("de la Cruz")."""
_WORD = re.compile(r"[^\W\d_]{1,40}")
_LATIN_END = "\u0250"
"""Letters before it are Latin ones."""
LEAST = 0.12
"""Share of function words below which a text is not English: prose has 0.3 to 0.5, a list of names is judged by its
text."""
_SAMPLE = 4000
"""Code points of a text that are looked at."""


def is_english(sentence: str, text: str = "") -> bool:
    """By script, then by the share of function words in the sentence or, failing that, in the text around it.

    In a text with more function words of other languages than of English no sentence is English: a short one may have
    only words that both share ("in", "was").
    """
    words = _WORD.findall(sentence[:_SAMPLE])
    letters = "".join(words)
    if not letters or sum(c < _LATIN_END for c in letters) < 0.7 * len(letters):
        return False
    ours, theirs = _counts(_WORD.findall(text[:_SAMPLE]))
    if theirs > ours:
        return False
    if _share(words) >= LEAST:
        return True
    foreign = any(word.lower() in _FOREIGN for word in words)
    return not foreign and _share(_WORD.findall(text[:_SAMPLE])) >= LEAST


def _counts(words: list[str]) -> tuple[int, int]:
    """Function words of English and of other languages; in capitals those of others stand in names ("La Haba")."""
    ours = sum(word.lower() in _FUNCTION_WORDS for word in words)
    theirs = sum(word in _FOREIGN or (not at and word.lower() in _FOREIGN) for at, word in enumerate(words))
    return ours, theirs


def _share(words: list[str]) -> float:
    """Of English function words; 0 where as many are of other languages, unless that is a name in English prose."""
    ours, theirs = _counts(words)
    return ours / len(words) if words and (ours > theirs or not theirs or ours == theirs > 1) else 0.0
