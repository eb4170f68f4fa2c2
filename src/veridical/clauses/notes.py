"""What stood in brackets after a phrase: "(born 1942)", "(1862 – 1949)", "(CIM)"."""

from __future__ import annotations

import re

from .phrases import Phrases
from .tree import Part, Tree, copula

_DATE = r"((?:\w{1,20}\.? ){0,2}\d[\w, ]{0,30}?)"
_LIFE = re.compile(rf"{_DATE} ?(?:-|–|—|to) ?{_DATE}")
_INSIDE = ("compound", "nmod", "poss", "nummod", "punct")

Fact = tuple[Part, ...]


def notes(tree: Tree, phrases: Phrases, *, people: bool) -> tuple[list[Fact], list[Fact]]:
    """Facts of the notes: of a life, to be said first; and others.

    Where the text is about people, two dates after the name that is the subject are read as a life: the only place
    where words are put ("born", "died") that are not in the text. Other dates only say that something is "from" then.
    """
    lives: list[Fact] = []
    others: list[Fact] = []
    pieces = [(at, piece.strip()) for at, note in tree.notes.items() for piece in note.split(";") if piece.strip()]
    for at, note in pieces:
        if at >= len(tree.words):
            continue
        head = _host(tree, at)
        about = phrases.single(head) if tree.tags[head].startswith(("N", "CD", "PRP")) else frozenset({at})
        verb = copula("VBD" in tree.tags)
        life = _LIFE.fullmatch(note)
        if note.lower().startswith("born"):
            lives.append((about, "was", note))
        elif people and life and tree.deps[head] in ("nsubj", "nsubjpass") and _is_name(tree, head):
            born, died = (("in " if date.strip().isdigit() else "on ") + date for date in life.groups())
            lives += [(about, "was born", born), (about, "died", died)]
        elif note[:1].isdigit():
            others.append((about, verb, "from", note))
        else:
            others.append((about, verb, note))
    return lives, others


def _host(tree: Tree, at: int) -> int:
    """The noun that a note after this token is about."""
    while tree.deps[at] in _INSIDE and tree.heads[at] != at:
        at = tree.heads[at]
    while tree.deps[at] == "pobj" and tree.low(tree.heads[at]) == "of":  # "Keeper of the Flame (1942)"
        above = tree.heads[tree.heads[at]]
        if not tree.tags[above].startswith("NNP"):
            break
        at = above
    return at


def _is_name(tree: Tree, head: int) -> bool:
    """A name without an article: "the Boer War (1899–1902)" lives no life."""
    return tree.tags[head].startswith("NNP") and not tree.kids(head, "det", "poss")
