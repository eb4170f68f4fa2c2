"""The words by which a whole collection is searched: those of `text.normal.tokens`, stemmed in the store's language.

Texts and queries come to the index as words between blanks, so that "1,000" is 1000 and each character of Chinese and
Japanese stands alone on both sides, and no sign in a query means anything.
"""

from __future__ import annotations

import functools
import re

import tantivy

from ..text.normal import STOPWORDS, tokens

MOST_WORDS = 64
"""Words of one query that are looked up; further ones are left out."""
_LONGEST = 255
"""Bytes of a word; longer ones are not found."""

_STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "simple": "english",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""Language code, of a wiki too -> Snowball stemmer."""
_STOPPED = frozenset(
    {"danish", "dutch", "finnish", "french", "german", "hungarian", "italian", "norwegian", "portuguese", "russian",
     "spanish", "swedish"}
)  # fmt: skip
"""Languages whose function words tantivy knows."""

_OTHER = re.compile(r"\S*[^\x00-\x7f]\S*")
_KEPT = 32
"""Characters of a piece between blanks whose words are kept in memory: dashes and names come again."""
_ASCII = re.compile(r"[0-9]+(?:[.,][0-9]+)+|[a-z0-9]+(?:'[a-z0-9]+)?")


def words(text: str) -> list[str]:
    """As `text.normal.tokens`, which costs several times as much for text that is mostly ASCII."""
    if text.isascii():
        return _ascii(text)
    found: list[str] = []
    end = 0
    for other in _OTHER.finditer(text):
        found += _ascii(text[end : other.start()])
        found += _tokens(other[0]) if len(other[0]) <= _KEPT else tokens(other[0])
        end = other.end()
    return found + _ascii(text[end:])


@functools.lru_cache(maxsize=1 << 16)
def _tokens(chunk: str) -> tuple[str, ...]:
    return tuple(tokens(chunk))


def _ascii(text: str) -> list[str]:
    found: list[str] = []
    for word in _ASCII.findall(text.lower().replace("`", "'")):
        if word.isalnum():
            found.append(word)
        elif "'" in word:
            found.append(word.removesuffix("'s"))
        else:
            found += tokens(word)
    return found


class Language:
    """How the words of one language are brought to their stems."""

    def __init__(self, code: str) -> None:
        """`code` as in the store's meta table: "en", "de", "zh-yue" …; stems are cut for those of `_STEMMERS`."""
        self._name = _STEMMERS.get(code.lower(), _STEMMERS.get(code.lower().partition("-")[0]))
        fold, stem = tantivy.Filter.ascii_fold(), tantivy.Filter.stemmer(self._name) if self._name else None
        steps = (fold, stem) if self._name == "english" else (stem, fold)  # the others need their accents
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        for step in (tantivy.Filter.remove_long(_LONGEST), *steps):
            builder = builder.filter(step) if step else builder
        self.analyzer = builder.build()
        """For the index, of `words` joined by blanks."""

    def terms(self, query: str) -> list[str]:
        """The stems of a query, each once; without function words unless there are no others."""
        found = list(dict.fromkeys(words(query)))
        telling = self._telling(found) or found
        return list(dict.fromkeys(self.analyzer.analyze(" ".join(telling))))[:MOST_WORDS]

    def _telling(self, found: list[str]) -> list[str]:
        if self._name == "english":
            return [word for word in found if word not in STOPWORDS]
        if self._name in _STOPPED:
            return _stopper(self._name).analyze(" ".join(found))
        return found


@functools.cache
def _stopper(name: str) -> tantivy.TextAnalyzer:
    stop = tantivy.Filter.stopword(name)
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(stop).build()
