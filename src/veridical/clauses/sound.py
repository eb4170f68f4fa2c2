"""Is a fact a sentence? The last look at what was taken out of a tree; what is none gets more of its clause."""

from __future__ import annotations

from itertools import pairwise

from .tree import Part, Tokens, Tree

Fact = tuple[Part, ...]

_FINITE = ("VBD", "VBZ", "VBP", "MD")
_PUT = ("is", "are", "was", "were", "has", "have", "had")
_STARTS = ("DT", "PRP$", "NN", "NNS")
_OPENING = frozenset(["when", "while", "how", "why", "where", "that", "because", "although", "and", "but", "though"])
"""Words that tie a clause to another."""
_SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")


def sound(fact: Fact, verb: int, tree: Tree) -> Fact:
    """The fact, if it has a finite verb; else the clause around `verb`.

    Two verbs or objects side by side that stood apart in the sentence get back what was between them.
    """
    put = any(part.startswith(_PUT) for part in fact if isinstance(part, str))
    if not put and not any(_is_finite(tree, at) for part in fact if not isinstance(part, str) for at in part):
        return (clause_of(verb, tree),)
    filled = [part if isinstance(part, str) else _filled(tree, part) for part in fact]
    return (clause_of(verb, tree),) if None in filled else tuple(part for part in filled if part is not None)


def _is_finite(tree: Tree, at: int) -> bool:
    tag, dep = tree.tags[at], tree.deps[at]
    if tag in ("VB", "VBN"):  # the tagger's word for some verbs in present or past tense
        return dep == "ROOT" or (tag == "VBN" and dep not in ("amod", "acl", "advcl"))
    return tag in _FINITE


def _filled(tree: Tree, part: Tokens) -> Tokens | None:
    """None where no more than "and" was between them: "in Europe and the deepest" is not enough."""
    order = sorted(part)
    for one, two in pairwise(order):
        if _runs_on(tree, one, two):
            if tree.tags[one].startswith("N") and two - one == 2:
                return None
            part |= frozenset(range(one + 1, two))
    return part


def _runs_on(tree: Tree, one: int, two: int) -> bool:
    """ "spoke loved pigeons", "initiated programs campaigns": an "and" or a comma was between them."""
    gap = range(one + 1, two)
    if not any(tree.deps[at] == "cc" or tree.words[at] == "," for at in gap):
        return False
    if _is_verb(tree, one) and _is_verb(tree, two, attributive=True):
        return True
    listed = tree.tags[one] == "NNS" and tree.words[two][:1].isupper()  # "the films A": one of "the films A, B and C"
    apart = len(gap) > 2 or tree.tags[two] in ("DT", "PRP$")
    if listed or not apart or not tree.tags[one].startswith("N") or tree.tags[two] not in _STARTS:
        return False
    head = two
    while tree.heads[head] > head:
        head = tree.heads[head]
    return tree.tags[head].startswith(("N", "JJS")) and tree.deps[head] in ("dobj", "conj", "npadvmod", "attr")


def _is_verb(tree: Tree, at: int, attributive: bool = False) -> bool:
    others = ("aux", "auxpass") if attributive else ("aux", "auxpass", "amod")
    return tree.tags[at] in (*_FINITE[:3], "VBN") and tree.deps[at] not in others


def clause_of(verb: int, tree: Tree) -> Tokens:
    """All of the nearest clause around a verb that has a subject of its own; of the sentence, if none has."""
    at = verb
    while tree.heads[at] != at and not any(not tree.tags[child].startswith("W") for child in tree.kids(at, *_SUBJECTS)):
        at = tree.heads[at]
    opening = [child for child in tree.children[at] if child < at and tree.low(child) in _OPENING]
    return tree.below(at, opening)
