"""What in a claim can be swapped, and for what: numbers, dates, units, names, closed classes, roles, negation.

A spot is found by spaCy's tags, parse and names. What is put in its place is of the same kind and shape, so that a
swapped claim reads like any other.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spacy.tokens import Doc, Span, Token

from veridical.text.normal import STOPWORDS


def _words(text: str) -> list[str]:
    return text.split()


MONTHS = _words("January February March April May June July August September October November December")
NUMBER_WORDS = _words("two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty forty")
ORDINALS = _words("first second third fourth fifth sixth seventh eighth ninth tenth")
UNITS = [
    _words("kilometres miles metres feet"),
    _words("kilometers miles meters feet"),
    _words("km m cm mm"),
    _words("km mi ft"),
    _words("kilograms tonnes pounds tons grams"),
    _words("kg g lb"),
    _words("years months weeks days hours minutes seconds"),
    _words("year month week day hour minute second"),
    _words("decades centuries"),
    _words("million billion thousand"),
    _words("hectares acres"),
    _words("dollars euros pounds yen"),
    _words("litres gallons"),
    _words("episodes seasons"),
    _words("goals points sets"),
    _words("votes seats"),
]
VALUES = [
    _words("brother sister father mother son daughter uncle aunt cousin grandfather grandmother nephew niece"),
    _words("husband wife"),
    _words("actor singer painter poet novelist architect composer journalist politician lawyer physician photographer")
    + _words("engineer economist historian sculptor guitarist drummer pianist dancer chemist physicist biologist"),
    _words("president secretary treasurer chairman director founder captain coach manager"),
    _words("north south east west"),
    _words("northern southern eastern western central"),
    _words("red blue green yellow white black brown purple orange grey"),
    _words("football basketball baseball hockey cricket rugby tennis volleyball handball"),
    _words("comedy drama thriller horror documentary western musical"),
    _words("novel poem play album film song book magazine"),
    _words("church school hospital library museum theatre factory castle bridge"),
    _words("Catholic Protestant Orthodox Jewish Muslim Buddhist Hindu"),
    _words("gold silver bronze"),
    _words("spring summer autumn winter"),
    _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
    _words("river lake mountain valley island"),
    _words("village town city"),
    _words("largest smallest oldest youngest highest lowest longest shortest"),
    _words("before after"),
    _words("increased decreased"),
    _words("won lost"),
    _words("bachelor master doctoral"),
]
SYMMETRIC = frozenset(
    _words("""be become marry meet join divorce date accompany resemble equal border neighbor neighbour befriend know
    contact play face fight oppose rival involve include contain have feature share star co-star mean represent form
    partner collaborate cooperate compete match combine merge""")
)
"""Lemmas of verbs whose sides may change places, or where a change tells little."""
HEDGES = frozenset(_words("about over under around almost nearly approximately least most than up roughly some only"))
NEGATIVE = frozenset(_words("no not n't never none neither nor nobody nothing without cannot"))
QUANTIFIED = frozenset(_words("all every each any many few several some most only both always often"))
NAMES = {"PERSON", "GPE", "LOC", "ORG", "FAC", "WORK_OF_ART", "EVENT"}
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?")
_VOWEL = re.compile(r"[aeiouAEIOU]|8")
_LISTED = re.compile(r"[\s,;&/]*(?:and|or|to|–|-)?[\s,;&/]*")


class Spot(NamedTuple):
    """A piece of a claim that can be swapped. `type` is that of the pool from which a rival is drawn."""

    kind: str
    type: str
    text: str


def spots(doc: Doc) -> list[Spot]:
    """The different pieces, in order; a piece that stands twice in the claim is left out."""
    found = [*_dates(doc), *_numbers(doc), *_units(doc), *_values(doc), *_names(doc)]
    once = [spot for spot in dict.fromkeys(found) if occurrences(doc.text, spot.text) == 1]
    return sorted(once, key=lambda spot: doc.text.index(spot.text))


def occurrences(text: str, piece: str) -> int:
    return len(_whole(piece).findall(text))


def _whole(piece: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.,'’-]){re.escape(piece)}(?![\w’-]|[.,]\d|'[a-rt-z])")


def _dates(doc: Doc) -> Iterator[Spot]:
    for token in doc:
        if _YEAR.fullmatch(token.text) and not (token.i + 1 < len(doc) and _is_unit(doc[token.i + 1])):
            yield Spot("date", "year", token.text)
        elif token.text in MONTHS and (token.text not in ("May", "March") or token.tag_ in ("NNP", "NNPS")):
            yield Spot("date", "month", token.text)
            for near in (token.i - 1, token.i + 1):
                if 0 <= near < len(doc) and doc[near].text.isdecimal() and int(doc[near].text) <= 31:
                    yield Spot("date", "day", doc[near].text)


def _numbers(doc: Doc) -> Iterator[Spot]:
    for token in doc:
        before = doc[token.i - 1].lower_ if token.i else ""
        beside = {doc[i].text for i in (token.i - 1, token.i + 1) if 0 <= i < len(doc)}
        if before in HEDGES or beside & set(MONTHS) or token.ent_type_ in NAMES or token.ent_type_ == "DATE":
            continue
        if token.i and doc[token.i - 1].pos_ == "PROPN":  # a part of a name: "Apollo 11"
            continue
        if _DIGITS.fullmatch(token.text) and not _YEAR.fullmatch(token.text):
            yield Spot("number", "digits", token.text)
        elif token.text in NUMBER_WORDS:
            yield Spot("number", "word", token.text)
        elif token.text in ORDINALS and token.ent_type_ == "ORDINAL":
            yield Spot("number", "ordinal", token.text)


def _is_unit(token: Token) -> bool:
    return any(token.text in group for group in UNITS)


def _units(doc: Doc) -> Iterator[Spot]:
    for token in doc:
        if token.i and _is_unit(token) and (doc[token.i - 1].like_num or doc[token.i - 1].text in NUMBER_WORDS):
            yield Spot("unit", "", token.text)


def _values(doc: Doc) -> Iterator[Spot]:
    for token in doc:
        if token.ent_type_ == "NORP" and token.text[0].isupper() and token.ent_iob_ == "B" and len(token.text) > 3:
            whole = doc[token.i : token.i + 1]
            if token.i + 1 == len(doc) or doc[token.i + 1].ent_iob_ != "I":
                yield Spot("value", "NORP" + ("s" if token.tag_.endswith("S") else ""), whole.text)
        elif any(token.text in group for group in VALUES) and token.ent_type_ not in NAMES:
            yield Spot("value", "", token.text)


def _names(doc: Doc) -> Iterator[Spot]:
    for entity in doc.ents:
        text = name_of(entity)
        if entity.label_ in NAMES and len(text) > 3 and text[0].isupper() and text.lower() not in STOPWORDS:
            yield Spot("name", entity.label_, text)


def name_of(entity: Span) -> str:
    return re.sub(r"^(?:the|The|a|A|an|An)\s+|['’]s?$", "", entity.text).strip(" .,;:\"'")


def rivals(spot: Spot, evidence: str, peers: Iterable[str], rng: random.Random) -> list[str]:
    """What can stand in a spot's place, best first: what the evidence holds of the same kind, then others.

    `peers` are texts of spots of the same kind and type in other claims, those of the same document first.
    """
    inside: list[str] = []
    if spot.type == "year":
        inside = [match[0] for match in re.finditer(rf"\b(?:{_YEAR.pattern})\b", evidence)]
        outside = [str(int(spot.text) + rng.choice((-1, 1)) * rng.choice((1, 2, 3, 4, 5, 7, 10, 12, 20))) for _ in "ab"]
    elif spot.type == "month":
        inside = [month for month in MONTHS if occurrences(evidence, month)]
        outside = rng.sample(MONTHS, 3)
    elif spot.type == "day":
        outside = [str(rng.randint(1, 28)) for _ in range(3)]
    elif spot.type == "digits":
        same = [match[0] for match in re.finditer(rf"(?<![\w.,-])(?:{_DIGITS.pattern})(?![\w%-]|[.,]\d)", evidence)]
        inside = [number for number in same if len(number) == len(spot.text) and not _YEAR.fullmatch(number)]
        outside = [_other_digits(spot.text, rng) for _ in range(3)]
    elif spot.type in ("word", "ordinal"):
        group = NUMBER_WORDS if spot.type == "word" else ORDINALS
        inside = [word for word in group if occurrences(evidence, word)]
        outside = rng.sample(group, 4)
    elif not spot.type:
        groups = [group for group in (UNITS if spot.kind == "unit" else VALUES) if spot.text in group]
        group = [word for one in groups for word in one]
        inside = [word for word in group if occurrences(evidence, word)]
        outside = rng.sample(group, len(group))
    else:
        outside = list(peers)
        inside = [name for name in outside if occurrences(evidence, name)]
    inside = list(dict.fromkeys(inside))
    rng.shuffle(inside)
    mine = set(_words(spot.text.lower()))
    return [text for text in dict.fromkeys(inside + outside) if not mine & set(_words(text.lower()))]


def _other_digits(text: str, rng: random.Random) -> str:
    """As many digits, in the same places."""
    made = "".join(rng.choice("123456789") if char.isdecimal() else char for char in text)
    return made if abs(float(made.replace(",", "")) / max(float(text.replace(",", "")), 1e-9) - 1) > 0.05 else text


def swapped(text: str, old: str, new: str) -> str:
    """`old` and `new` change places wherever they stand; "a" and "an" follow."""
    marks = {old: "\0", new: "\1"}
    for piece, mark in marks.items():
        text = _whole(piece).sub(mark, text)
    for mark, piece in (("\0", new), ("\1", old)):
        article = "an" if _VOWEL.match(piece) else "a"
        text = re.sub(
            rf"\b([Aa])n? (?={mark})", lambda match, article=article: match[1] + article[1:] + " ", text
        ).replace(mark, piece)
    return text


def without(text: str, piece: str) -> str:
    return _whole(piece).sub(" ", text)


def listed(text: str, old: str, new: str) -> bool:
    """Whether the two stand beside each other, as members of a list or the ends of a span do."""
    places = [[(m.start(), m.end()) for m in _whole(piece).finditer(text)] for piece in (old, new)]
    return any(
        _LISTED.fullmatch(text, min(a[1], b[1]), max(a[0], b[0])) is not None for a in places[0] for b in places[1]
    )


def leftover(text: str, old: str) -> bool:
    """Whether a word of a name is still there, as a surname is where the full name was swapped."""
    return any(len(word) > 2 and word[0].isupper() and occurrences(text, word) for word in _words(old))


def roles(doc: Doc) -> tuple[str, str] | None:
    """Two names that a verb sets against each other; of one type where only a preposition links them."""
    for verb in doc:
        if verb.pos_ != "VERB" or verb.lemma_.lower() in SYMMETRIC:
            continue
        subject = _child(verb, "nsubj", "nsubjpass")
        for other in (_child(verb, "dobj"), *(_child(one, "pobj") for one in verb.children if one.dep_ in _LINKS)):
            if subject is None or other is None:
                continue
            if other.head.dep_ in ("prep", "dative") and subject.ent_type_ != other.ent_type_:
                continue
            one, two = _name_at(subject), _name_at(other)
            if one and two and not set(_words(one)) & set(_words(two)):
                return one, two
    return None


_LINKS = ("agent", "prep", "dative")


def _child(token: Token, *relations: str) -> Token | None:
    return next((child for child in token.children if child.dep_ in relations), None)


def _name_at(token: Token) -> str:
    if token.pos_ != "PROPN" or token.ent_type_ in ("DATE", "TIME", "CARDINAL"):
        return ""
    first = token.i
    while first and token.doc[first - 1].dep_ == "compound" and token.doc[first - 1].pos_ == "PROPN":
        first -= 1
    if first and token.doc[first - 1].lower_ == "the":
        first -= 1
    return token.doc[first : token.i + 1].text


def negated(doc: Doc, rng: random.Random) -> str | None:
    """The claim denied; None where it is denied already, is quantified, or its verb is not clear."""
    if any(token.lower_ in NEGATIVE | QUANTIFIED for token in doc):
        return None
    root = next((token for token in doc if token.dep_ == "ROOT"), None)
    if root is None or root.pos_ not in ("VERB", "AUX") or not any(c.dep_.startswith("nsubj") for c in root.children):
        return None
    helper = next((child for child in root.children if child.dep_ in ("aux", "auxpass") and child.i < root.i), None)
    text = doc.text
    if helper is not None or root.lemma_ == "be":
        after = helper if helper is not None else root
        if after.tag_ == "TO":
            return None
        end = after.idx + len(after.text)
        return f"{text[:end]} {'never' if rng.random() < 0.2 else 'not'}{text[end:]}"
    verb = {"VBD": "did", "VBZ": "does", "VBP": "do"}.get(root.tag_)
    if verb is None:
        return None
    end = root.idx + len(root.text)
    if rng.random() < 0.2:
        return f"{text[: root.idx]}never {text[root.idx :]}"
    denial = f"{verb}n't" if rng.random() < 0.2 else f"{verb} not"
    return f"{text[: root.idx]}{denial} {root.lemma_}{text[end:]}"
