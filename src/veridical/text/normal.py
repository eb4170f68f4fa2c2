"""Normal forms of texts, titles, tokens and numbers, so that the same thing compares equal however it is written."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_QUOTES = str.maketrans("’‘ʼ`´“”„«»", "'''''\"\"\"\"\"")
_BLANKS = re.compile(r"\s+")
_QUALIFIER = re.compile(r"(?<=\S)\s*[(（][^()（）]*[)）]\s*\Z")
_ACCENTS = re.compile("[\u0300-\u036f]")
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"})
_FINAL = " .!?…。！？؟۔।"
_CJK = re.compile("[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0dff\u0e31-\u0e4e\u0eb1-\u0ebc\u1000-\u109f"
)
"""Vowel signs and accents, which `\\w` leaves out of words."""
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)+|[\w{_MARKS}]+(?:'[\w{_MARKS}]+)?")


def _words(text: str) -> list[str]:
    return text.split()


ARTICLES = frozenset({"a", "an", "the"})

STOPWORDS = frozenset(
    _words("""
    a about above after again against all also although am among an and any are aren't as at be because been
    before being below between both but by can can't cannot could couldn't did didn't do does doesn't doing
    don't down during each either else even ever every few for from further had hadn't has hasn't have haven't
    having he her here hers herself him himself his how however i if in into is isn't it its itself just many
    may me might more most much must my myself neither no nor not of off on once one only or other our ours
    ourselves out over own per rather same shall she should shouldn't since so some still such than that the
    their theirs them themselves then there these they this those though through throughout thus to too under
    until up upon us very via was wasn't we were weren't what when where whether which while who whom whose why
    will with within without won't would wouldn't yet you your yours yourself yourselves
""")
)
"""English function words."""


def fold(text: str) -> str:
    """Compatibility form (NFKC), case-folded, straight quotes, runs of white space as one blank, none at the ends.

    Characters without width are left out. `fold(fold(x)) == fold(x)`.
    """
    text = _UNSEEN.sub("", text)
    while (folded := unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())) != text:
        text = folded
    return _BLANKS.sub(" ", _UNSEEN.sub("", text).translate(_QUOTES)).strip()


def loose(title: str) -> str:
    """A title for a forgiving look-up: folded, no accents, no punctuation, no trailing "(painter)"; "_" is a blank."""
    text = fold(title.replace("_", " "))
    text = _QUALIFIER.sub("", text) or text
    text = _ACCENTS.sub("", unicodedata.normalize("NFD", text)).translate(_LETTERS).replace("'", "")
    text = unicodedata.normalize("NFC", text)
    kept = "".join(char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in text)
    return " ".join(kept.split()) or fold(title)


def tokens(text: str) -> list[str]:
    """Words in lower case, in order: no punctuation, no possessive "'s", "1,000" as "1000", CJK characters alone."""
    spaced = _CJK.sub(r" \g<0> ", fold(text).replace("_", " "))
    found: list[str] = []
    for word in _TOKEN.findall(spaced):
        if word[0].isdecimal() and ("," in word or "." in word):
            found.extend(_digits(word))
        else:
            found.append(word.removesuffix("'s"))
    return found


def content_key(text: str) -> str:
    """Equal for two wordings that differ in case, blanks, quotes, articles, final punctuation and the citation marks
    at the end only."""
    words = _uncited(fold(text)).split()
    return " ".join(word for word in words if word not in ARTICLES) or " ".join(words)


_MARK = re.compile(r" ?(?:\[\^?[1-9]\d{0,2}(?: ?[,;\u2013-] ?\d{1,3}){0,9}\]|\u3010[^\u3010\u3011]{1,48}\u3011)\Z")
_LONGEST_MARK = 96
_ELEMENT = re.compile(r"(?:\b[a-z]|_|[=(\[{,])\Z")
"""Before the index of an element: "a[1]", "= [1]"."""


def _uncited(text: str) -> str:
    """Without final punctuation and the marks [1], [2, 3], 【4】 at the end; the text itself if it is nothing else."""
    end = len(text)
    while end:
        while end and text[end - 1] in _FINAL:
            end -= 1
        mark = _MARK.search(text, max(0, end - _LONGEST_MARK), end) if end and text[end - 1] in "]\u3011" else None
        if not mark or _ELEMENT.search(text, max(0, mark.start() - 2), mark.start()):
            break
        end = mark.start()
    return text[:end] or text.rstrip(_FINAL)


# Numbers

_UNITS = _words("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty
""")
_TENS = _words("""twenty thirty forty fifty sixty seventy eighty ninety""")
_SMALL = {word: number for number, word in enumerate(_UNITS)} | {word: 10 * (at + 2) for at, word in enumerate(_TENS)}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12} | {
    (word[:-1] + "ieth" if word.endswith("y") else word + "th"): number
    for word, number in _SMALL.items()
    if word not in ("zero", "one", "two", "three", "five", "eight", "nine", "twelve")
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SCALES |= {f"{word}th": number for word, number in _SCALES.items()}
_NUMBER = re.compile(r"(?<![^\W_])\d+(?:[.,]\d+)*|[^\W\d_]+")
_GROUPS = re.compile(r"(?<=\d)[\u00a0\u202f\u2009'’](?=\d{3}(?!\d))")
_BETWEEN = re.compile(r"[\s-]*(?:and\s+)?")


def numbers(text: str) -> tuple[str, ...]:
    """The numbers of a text in order, each as a plain decimal string: "1,200", "twelve hundred" and "1200" are "1200".

    Reads digits of all scripts, thousands separators, decimals ("3.50" is "3.5"), English number words with scales
    ("3.5 million" is "3500000"), and ordinals as their value ("21st", "twenty-first"). Not roman numerals.
    """
    text = _GROUPS.sub("", "".join(str(int(char)) if char.isdecimal() else char for char in text)).lower()
    found: list[Decimal] = []
    run: list[str] = []  # number words that may make one number, and where the last of them ended
    ended = 0
    for match in _NUMBER.finditer(text):
        word = match[0]
        spelt = word in _SMALL or word in _ORDINALS or word in _SCALES
        if word == "and" and run:
            continue
        if run and not (spelt and _BETWEEN.fullmatch(text, ended, match.start())):
            found.extend(_spoken(run))
            run = []
        if spelt:
            run.append(word)
        elif word[0].isdecimal():
            *others, last = _digits(word)
            found.extend(map(Decimal, others))
            run = [last]
        ended = match.end()
    found.extend(_spoken(run))
    return tuple(map(_plain, found))


def _spoken(words: list[str]) -> list[Decimal]:
    """Values of a run of number words, or a numeral and scales: "two hundred five" is 205, "ten ninety" 10 and 90."""
    if len(words) == 1 and words[0][0].isdecimal():
        return [Decimal(words[0])]  # exact, however long
    values: list[Decimal] = []
    total = current = room = Decimal(0)  # a word may be added only if it is less than `room`
    begun = False
    for word in words:
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 100 and current >= scale:  # "hundred hundred" is no number
                values.append(total + current)
                total, begun = Decimal(0), False
            current, room = (current if begun else 1) * Decimal(scale), Decimal(scale)
            if scale > 100:
                total, current = total + current, Decimal(0)
        else:
            spelt = not word[0].isdecimal()
            value = Decimal(_SMALL.get(word, _ORDINALS.get(word, 0))) if spelt else Decimal(word)
            if begun and not (spelt and 0 < value < room):
                values.append(total + current)
                total = current = Decimal(0)
            current += value
            room = Decimal(10) if spelt and 20 <= value < 100 and value % 10 == 0 else Decimal(0)
        begun = True
    return [*values, total + current] if begun else values


def _digits(word: str) -> list[str]:
    """The numbers in digits with separators: one where they read as thousands or a decimal, else each part."""
    parts = re.split("[.,]", word)
    marks = {char for char in word if char in ".,"}
    grouped = all(len(part) == 3 for part in parts[1:]) and 0 < len(parts[0]) <= 3 and parts[0] != "0"
    if not marks:
        return [word]
    if len(marks) == 1 and grouped and (marks == {","} or len(parts) > 2):
        return ["".join(parts)]
    if len(parts) == 2:
        return [f"{parts[0]}.{parts[1]}"]
    if (
        len(marks) == 2
        and word.count(word.rstrip("0123456789")[-1]) == 1
        and all(len(part) == 3 for part in parts[1:-1])
    ):
        return ["".join(parts[:-1]) + "." + parts[-1]]
    return parts


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_FILLERS = re.compile("[\u115f\u1160\u3164\uffa0]")
"""Letters by category that show nothing."""
_PLACEHOLDERS = frozenset({"n/a", "na", "none", "null", "nil"})


def is_blank(text: str | None) -> bool:
    """Whether a text says nothing: no letter or digit in it, or a word that stands for nothing ("N/A")."""
    if not text or _PLACEHOLDERS.intersection((text.strip(" .").lower(),)):
        return True
    return not any(char.isalnum() for char in _FILLERS.sub("", text))
