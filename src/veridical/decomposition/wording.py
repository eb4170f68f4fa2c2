"""How facts are worded: what is made up, what cannot stand alone, what is said twice, what was not split at all."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from ..clauses.language import is_english
from ..clauses.model import LOCK, load
from ..text.normal import fold
from .labelled import Response
from .match import STOP_WORDS, words

PRONOUNS = frozenset({
    "he", "she", "it", "they", "him", "her", "them", "his", "hers", "its", "their", "theirs", "this", "that", "these",
    "those", "i", "we", "you", "who",
})  # fmt: skip
PARSED = 2000
"""Most facts that are parsed to look for a subject: a share is then known to two points."""
_LONGEST = 1000
"""Code points of a fact that are parsed."""
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})


def invented(fact: str, response: Response) -> list[str]:
    """Content words and numbers of a fact that stand nowhere in the response or its topic.

    The "s" of a genitive is none: "Ada Stow's work" for "her work" makes nothing up.
    """
    known = {*words(response.generation.text), *words(response.topic)}
    return [word for word in words(fact) if word not in known and word not in STOP_WORDS and word != "s"]


def leads_with_pronoun(fact: str) -> bool:
    return bool(first := words(fact)[:1]) and first[0] in PRONOUNS


def without_subject(facts: Iterable[str], *, most: int = PARSED, seed: int = 0) -> float | None:
    """Share of the facts in which the parser of the embedded decomposer finds no subject but "who" and the like.

    Of more than `most` distinct facts, so many drawn at random. None without any, or if they are not English. People's
    own facts have .006, pieces between commas .58: below .01 it says little but that the parser errs.
    """
    known = sorted({fact for fact in facts if fact.strip()})
    drawn = random.Random(seed).sample(known, most) if len(known) > most else known
    if not drawn or not is_english(" ".join(drawn[:50]), ""):
        return None
    parser = load()
    with LOCK:
        found = [_has_subject(doc) for doc in parser.pipe((fact[:_LONGEST] for fact in drawn), batch_size=256)]
    return 1 - sum(found) / len(found)


def _has_subject(doc: Iterable) -> bool:
    return any(token.dep_ in _SUBJECTS and not token.tag_.startswith("W") for token in doc)


def duplicates(facts: Sequence[str]) -> int:
    """Facts that an earlier one says in the same words, but for case and spaces."""
    return len(facts) - len({fold(fact) for fact in facts})


def is_whole(facts: Sequence[str], sentence: str) -> bool:
    """The sentence itself is its only fact, word for word."""
    return len(facts) == 1 and words(facts[0]) == words(sentence)
