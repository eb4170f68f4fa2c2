"""What names and their adjectives say by themselves: "Scottish chemist", "actor Eric Winter"."""

from __future__ import annotations

from .tree import Part, Tree, copula

Fact = tuple[Part, ...]


def is_origin(tree: Tree, at: int) -> bool:
    """A capitalised adjective, also where the tagger takes it for a name."""
    word = tree.words[at]
    if not all(tree.words[index][:1].isupper() for index in tree.below(at)):
        return False
    title = tree.tags[tree.heads[at]].startswith("NNP") and not tree.kids(tree.heads[at], "det")
    if tree.tags[at] == "JJ" and tree.deps[at] == "amod":
        return not title  # "Lucasian Professor"
    common = tree.tags[tree.heads[at]] in ("NN", "NNS")
    return common and tree.tags[at] in ("JJ", "NNP") and (tree.tags[at] == "JJ" or word.endswith(("an", "ese", "ish")))


def titles(tree: Tree) -> list[Fact]:
    """ "actor Eric Winter": Eric Winter is an actor."""
    verb = copula("VBD" in tree.tags)
    found: list[Fact] = []
    for at, tag in enumerate(tree.tags):
        head = tree.heads[at]
        if tree.deps[at] != "compound" or tag != "NN" or not tree.tags[head].startswith("NNP"):
            continue
        if not tree.kids(head, "det", "poss") and tree.low(at) == tree.words[at]:
            names = [one for one in tree.kids(head, "compound") if one > at and tree.tags[one].startswith("NNP")]
            said = tree.below(at)
            article = " an" if tree.low(min(said))[0] in "aeio" else " a"
            known = any(tree.deps[one] in ("det", "poss") for one in said) or "-" in tree.words[at]
            found.append((frozenset([*names, head]), verb if known else verb + article, said))
    return found
