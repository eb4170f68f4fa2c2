"""Stems, and the closed lists of English words that the embedded judge knows by heart (lower case, no accents)."""

from __future__ import annotations


def _list(text: str) -> list[str]:
    return text.split()


FUNCTION = frozenset(
    _list("""
    a an the this that these those there here it its he him his she her hers they them their theirs i me my we us our
    you your who whom whose which what when where why how is are was were be been being am do does did doing done has
    have had having will would shall should can could may might must of in on at by for from to into onto with within
    without about as than then so if or and but nor yet also too very just such each other another any some own same
    both either while during through over under up down out off again further between among upon toward towards
    because since until although though however not no never none neither nobody nothing cannot only all every always
    mr mrs ms dr s t percent dollar euro pound
    """)
)


def stem(word: str) -> str:
    """A word without its commonest English endings; "married" and "marries" meet at "marri"."""
    if len(word) <= 3:
        return word
    for ending in ("ies", "ied", "ing", "ed", "es", "s", "ly", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            base = word[: len(word) - len(ending)]
            if ending in ("ies", "ied", "y"):
                return base + "i"
            return base[:-1] if ending in ("ing", "ed") and base[-1] == base[-2] and base[-1] not in "ls" else base
    return word


def _stems(text: str) -> frozenset[str]:
    return frozenset(word if word in FUNCTION else stem(word) for word in text.split())


NEGATIONS = _stems(
    """not no never none neither nor nobody nothing cannot without fail refuse deny lack unable unlikely decline
    reject"""
)
ABSOLUTES = _stems("only all every always never none sole solely entirely exclusively first last most least")
HEDGES = _stems(
    """may might could possibly perhaps allegedly rumored claimed suspected proposed planned intended attempted almost
    nearly"""
)
SIGNS = {"%": "percent", "$": "dollar", "€": "euro", "£": "pound"}
MULTIPLIERS = {stem("hundred"): 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}

_UNITS = _list("""two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty""")
_ORDINALS = _list("""second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""")
_TENS = _list("thirty forty fifty sixty seventy eighty ninety")
NUMBER_WORDS = (
    {word: str(i) for i, word in enumerate(_UNITS, 2)}
    | {word: str(i) for i, word in enumerate(_ORDINALS, 2)}
    | {word: str(10 * i) for i, word in enumerate(_TENS, 3)}
    | {"twice": "2", "zero": "0"}
)
_MONTHS = _list("january february march april may june july august september october november december")
MONTHS = (
    {name[:3]: i for i, name in enumerate(_MONTHS, 1)} | {name: i for i, name in enumerate(_MONTHS, 1)} | {"sept": 9}
)

_OPPOSITES = """
after before, more less, more fewer, most least, high low, higher lower, highest lowest, large small,
larger smaller, largest smallest, big small, bigger smaller, old young, older younger, oldest youngest, old new,
older newer, first last, early late, earlier later, long short, longer shorter, longest shortest,
increase decrease, increased decreased, rise fall, rose fell, increase reduce, gain lose, win lose, won lost,
win defeat, victory defeat, succeed fail, success failure, successful unsuccessful, accept reject,
accepted rejected, approve reject, agree disagree, allow ban, allow forbid, permit prohibit, open close,
opened closed, start end, begin end, began ended, start finish, arrive leave, enter leave, join leave,
joined left, north south, northern southern, east west, eastern western, left right, up down, above below,
over under, inside outside, male female, man woman, men women, boy girl, brother sister, father mother,
son daughter, husband wife, actor actress, king queen, uncle aunt, nephew niece, born died, birth death,
alive dead, live die, positive negative, good bad, better worse, best worst, strong weak, heavy light, hot cold,
warm cold, wet dry, rich poor, public private, major minor, majority minority, maximum minimum, many few,
all none, always never, often rarely, everyone nobody, everything nothing, both neither, with without,
same different, similar different, true false, correct wrong, possible impossible, able unable, legal illegal,
guilty innocent, convicted acquitted, marry divorce, married divorced, married unmarried, love hate,
like dislike, friend enemy, ally enemy, attack defend, buy sell, bought sold, hire fire, hired fired,
build destroy, create destroy, include exclude, included excluded, raise lower, expand shrink, improve worsen,
cause prevent, help hinder, support oppose, supported opposed, favor against, for against, import export,
easy difficult, easy hard, simple complex, fast slow, near far, ancient modern, domestic foreign, urban rural,
amateur professional, junior senior, upper lower, single double, solo group, living deceased, active inactive,
active retired, known unknown, popular unpopular, common rare, full empty, present absent, permanent temporary,
direct indirect, regular irregular, sweet bitter, black white, war peace, day night, summer winter,
morning evening, sunrise sunset, teacher student, parent child, prequel sequel, predecessor successor
"""
OPPOSITES: dict[str, frozenset[str]] = {}
"""A stem's opposites, both ways."""
for _pair in _OPPOSITES.split(","):
    _one, _other = (word if word in FUNCTION else stem(word) for word in _pair.split())
    OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}
    OPPOSITES[_other] = OPPOSITES.get(_other, frozenset()) | {_one}
