"""Is a fact a sentence? The last look at what was taken out of a tree; what is none is said with its whole clause."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .tree import Part, Tokens, Tree

_FINITE = ("VBD", "VBZ", "VBP", "MD")
_PUT = ("is", "are", "was", "were", "has", "have", "had")
_STARTS = ("DT", "PRP$", "NN", "NNS")
_OPENING = frozenset(["when", "while", "how", "why", "where", "that", "because", "although", "and", "but", "though"])
"""Words that tie a clause to another."""
_SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")


def is_sound(fact: Sequence[Part], tree: Tree) -> bool:
    """Has a finite verb, and no two verbs or objects side by side that stood apart in the sentence."""
    tokens = [part for part in fact if not isinstance(part, str)]
    put = any(part.startswith(_PUT) for part in fact if isinstance(part, str))
    if not put and not any(_is_finite(tree, at) for part in tokens for at in part):
        return False
    return not any(_runs_on(tree, part) for part in tokens)


def _is_finite(tree: Tree, at: int) -> bool:
    tag, dep = tree.tags[at], tree.deps[at]
    if tag in ("VB", "VBN"):  # the tagger's word for some verbs in present or past tense
        return dep == "ROOT" or (tag == "VBN" and dep not in ("amod", "acl", "advcl"))
    return tag in _FINITE


def _runs_on(tree: Tree, part: Tokens) -> bool:
    """ "spoke loved pigeons", "initiated programs campaigns": an "and" or a comma was between them."""
    order = sorted(part)
    for one, two in pairwise(order):
        gap = range(one + 1, two)
        if not any(tree.deps[at] == "cc" or tree.words[at] == "," for at in gap):
            continue
        if _is_verb(tree, one) and tree.tags[two] in (*_FINITE[:3], "VBN") and tree.deps[two] not in ("aux", "auxpass"):
            return True
        listed = (
            tree.tags[one] == "NNS" and tree.words[two][:1].isupper()
        )  # "the films A": one of "the films A, B and C"
        apart = len(gap) > 2 or tree.tags[two] in ("DT", "PRP$")
        if not listed and apart and tree.tags[one].startswith("N") and tree.tags[two] in _STARTS:
            head = two
            while tree.heads[head] > head:
                head = tree.heads[head]
            if tree.tags[head].startswith(("N", "JJS")) and tree.deps[head] in ("dobj", "conj", "npadvmod", "attr"):
                return True
    return False


def _is_verb(tree: Tree, at: int) -> bool:
    return tree.tags[at] in (*_FINITE[:3], "VBN") and tree.deps[at] not in ("aux", "auxpass", "amod")


def clause_of(verb: int, tree: Tree) -> Tokens:
    """All of the nearest clause around a verb that has a subject of its own; of the sentence, if none has."""
    at = verb
    while tree.heads[at] != at and not any(not tree.tags[child].startswith("W") for child in tree.kids(at, *_SUBJECTS)):
        at = tree.heads[at]
    opening = [child for child in tree.children[at] if child < at and tree.low(child) in _OPENING]
    return tree.below(at, opening)
