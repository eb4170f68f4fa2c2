"""The readings of a phrase: one for each member of its coordinations and lists.

"films, such as A and B" reads "films", "A" or "B"; "directing and producing films" reads "directing films" or
"producing films". What says something of a phrase by itself (an apposition, a relative or participial clause) is left
out of its readings and noted as an `Aside`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .tree import Tokens, Tree

MOST = 16
"""Readings of a combination; beyond, its members vary one coordination at a time."""
DEEPEST = 40
"""Levels of the tree that are looked into; what is deeper stays whole."""
_SILENT = ("cc", "conj", "preconj", "punct")
_BEFORE = frozenset({
    "det", "amod", "compound", "poss", "nummod", "nmod", "aux", "advmod", "predet", "quantmod", "case",
})  # fmt: skip
_CLOSED = frozenset({"between", "among", "amongst", "unless"})
"""Words after which "and" does not join claims: "between A and B"."""
_KIN = frozenset(["brothers", "sisters", "sons", "daughters", "children", "siblings"])
_PICKING = frozenset(["notably", "namely"])
_LOOSE = frozenset({"in", "at", "on", "during", "since", "until", "from", "for", "with", "as"})
"""Prepositions that say of the whole clause what they say of its noun, as a rule: "won the prize in 1990"."""


@dataclass(frozen=True)
class Aside:
    """`node` says something about the phrase headed by `about`."""

    node: int
    about: int
    kind: str
    """"appos", "relcl" or "acl"."""


@dataclass
class Phrases:
    """Readings of the phrases of one tree. `asides` gathers what was left out, each once, in the order met."""

    tree: Tree
    asides: dict[int, Aside] = field(default_factory=dict)
    apart: set[int] = field(default_factory=set)
    """Nodes that are said by themselves and left out of every reading."""
    _known: dict[tuple[int, Tokens], list[Tokens]] = field(default_factory=dict)

    def read(
        self, node: int, loose: list[int] | None = None, *, shared: Tokens = frozenset(), depth: int = 0
    ) -> list[Tokens]:
        """All readings, at least one. With `loose`, adjuncts are not read but put into that list.

        `shared` are words before the first member of a coordination that hold for this one too.
        """
        if depth > DEEPEST or self.tree.low(node) in _CLOSED or self.tree.either(node) or self._is_mixed(node):
            return [self.tree.below(node)]
        if loose is not None:
            return self._read(node, loose, shared, depth)
        if (node, shared) not in self._known:  # else nested coordinations would cost twice at each level
            self._known[node, shared] = self._read(node, None, shared, depth)
        return self._known[node, shared]

    def _is_mixed(self, node: int) -> bool:
        """Members of different kinds, which are not members of one list; or the names of kin."""
        tree = self.tree
        joined = tree.kids(node, "conj")
        if (
            tree.tags[node] == "VB" and tree.kids(node, "dobj") and tree.deps[node] == "advcl"
        ):  # a noun joined to a verb: its true partner is not known
            return any(tree.tags[at].startswith("N") for at in joined)
        if tree.low(node) in _KIN:  # "two brothers, Ivo and Jan"
            return any(tree.tags[at] == "NNP" for at in (*joined, *tree.kids(node, "appos")))
        return tree.deps[node] == "attr" and any(self._is_clause(at) for at in joined)

    def _is_clause(self, node: int) -> bool:
        """ "her father a doctor" in "her mother was a teacher and her father a doctor"."""
        tree = self.tree
        said = [at for at in tree.kids(node, "appos") if min(tree.below(at)) == node + 1]
        return bool(said) and bool(tree.kids(node, "poss"))

    def single(self, node: int) -> Tokens:
        """The phrase of this node alone, without what is coordinated with it: to be a subject."""
        return self._own(node, [], 0)[0][0]

    def _read(self, node: int, loose: list[int] | None, shared: Tokens, depth: int) -> list[Tokens]:
        readings, members = self._own(node, loose, depth)
        readings = [reading | shared for reading in readings]
        for other in self.tree.kids(node, "conj"):
            more = self.read(other, loose, shared=self._passed_on(node, other, shared), depth=depth + 1)
            readings = [*self._borrowed(node, other, readings, depth), *more]
        return [*readings, *members][: 4 * MOST]

    def _own(self, node: int, loose: list[int] | None, depth: int) -> tuple[list[Tokens], list[Tokens]]:
        """Readings without the node's own coordination; and the members of a list after it ("such as A and B")."""
        tree = self.tree
        readings: list[Tokens] = [frozenset({node})]
        members: list[Tokens] = []
        if any(is_list(tree, child) for child in tree.children[node]):
            loose = None  # "books on law, including A": nobody wrote A on law
        for child in tree.children[node]:
            if self._left_out(child, node):
                continue
            if self._names_members(child, node):
                members += self.read(child, depth=depth + 1)
            elif self._is_aside(child, node):
                self.asides.setdefault(child, Aside(child, node, tree.deps[child]))
                if self._is_name(child, node):
                    readings = cross(readings, [self.single(child)])
            elif is_list(tree, child):
                for member in tree.kids(child, "pobj", "pcomp"):
                    members += self.read(member, depth=depth + 1)
            elif loose is not None and self._can_leave(child, node):
                loose.append(child)
            elif row := self._row(node, child):
                if row[0] == child:
                    kinds = [tokens for one in row for tokens in self.read(one, loose, depth=depth + 1)]
                    readings = cross(readings, kinds)
            else:
                readings = cross(readings, self.read(child, loose, depth=depth + 1))
        return readings, members

    def _left_out(self, child: int, node: int) -> bool:
        tree = self.tree
        if tree.deps[child] in _SILENT or child in self.apart:
            return True
        if tree.deps[child] == "appos" and tree.tags[child] == "PRP":  # "she herself"
            return True
        if tree.low(child) in _PICKING:
            return True
        joined = (node, *tree.children[node])
        return tree.low(child) in ("both", "either") and any(tree.kids(one, "conj") for one in joined)

    def _names_members(self, child: int, node: int) -> bool:
        """ "two wars: A and B", "two wars, A and B": what is said of the wars holds for each."""
        tree = self.tree
        if tree.deps[child] != "appos" or tree.tags[node] not in ("NNS", "NNPS") or not tree.kids(child, "conj"):
            return False
        return tree.words[min(tree.below(child)) - 1] in (":", ",", "–", "—")

    def _is_aside(self, child: int, node: int) -> bool:
        tree, dep = self.tree, self.tree.deps[child]
        if dep == "appos":
            return child > node + 1 or not tree.kids(node, "nummod")  # "100 degrees Celsius"
        if dep == "acl":
            return tree.tags[child] in ("VBN", "VBG", "VBD") and not tree.kids(child, "aux", "mark")
        infinitive = any(tree.low(at) == "to" for at in tree.kids(child, "aux"))
        return dep == "relcl" and not infinitive  # "the first woman to climb it" is not the first woman

    def _is_name(self, child: int, node: int) -> bool:
        """An apposition without a comma is part of the name too: "her husband Eric Winter"."""
        tree = self.tree
        if tree.deps[child] != "appos" or tree.kids(child, "conj"):
            return False
        return "," not in tree.words[node + 1 : min(tree.below(child))]

    def _can_leave(self, child: int, node: int) -> bool:
        tree = self.tree
        if not is_adjunct(tree, child):
            return False
        return tree.deps[child] != "prep" or not tree.tags[node].startswith("N") or tree.low(child) in _LOOSE

    def _row(self, node: int, child: int) -> list[int]:
        """Adjectives with commas between, of which this is one: "exaggerated, over-the-top style"."""
        tree = self.tree
        row = tree.kids(node, "amod")
        commas = [two for two in row[1:] if "," in (tree.words[two - 1], tree.words[min(tree.below(two)) - 1])]
        return row if child in row and len(row) > 1 and len(commas) == len(row) - 1 else []

    def _passed_on(self, node: int, other: int, shared: Tokens) -> Tokens:
        """What stands before the first member holds for the next too: "his wife and children"."""
        tree = self.tree
        predicate = self._is_predicate(node)
        siblings = [child for child in tree.kids(node, "conj") if child != other]
        own = {tree.deps[child] for child in tree.children[other] if child < other} & _BEFORE
        if own:  # "an actor and film director": an actor, a film director
            articles = {at for at in (*tree.kids(node, "det"), *shared) if tree.deps[at] == "det"}
            needed = predicate and tree.tags[other] == "NN" and not own & {"det", "poss", "nummod"}
            return frozenset(articles) if needed else frozenset()
        if any(tree.kids(child, "amod", "compound", "det", "poss") for child in siblings):
            return frozenset()
        if (tree.deps[node] == "conj" or tree.kids(other, "conj")) and not predicate:  # longer lists: too often wrong
            return frozenset()
        if tree.tags[other].rstrip("S") != tree.tags[node].rstrip("S") and tree.tags[node].startswith("N"):
            return frozenset()
        if tree.tags[other][:2] != tree.tags[node][:2]:
            return frozenset()
        taken = [child for child in tree.children[node] if tree.deps[child] in _BEFORE and child < node]
        if tree.tags[node].startswith("NNP"):
            taken = [child for child in taken if tree.deps[child] == "poss"]
        elif predicate:
            taken = [child for child in taken if tree.deps[child] in ("poss", "det")]
        return shared | frozenset().union(*(self.read(child)[0] for child in taken))

    def _is_predicate(self, node: int) -> bool:
        """Of "an Indian film producer and writer" the writer need not write films."""
        tree = self.tree
        while tree.deps[node] == "conj" and tree.heads[node] < node:
            node = tree.heads[node]
        return tree.deps[node] in ("attr", "appos")

    def _borrowed(self, node: int, other: int, readings: list[Tokens], depth: int) -> list[Tokens]:
        """What follows the last member holds for one that has nothing of its own: "directing and producing films"."""
        tree = self.tree
        if any(child > node and tree.deps[child] not in _SILENT for child in tree.children[node]):
            return readings
        if not tree.kids(node, "cc"):
            return readings
        for child in tree.children[other]:
            if child > other and (tree.deps[child] in ("dobj", "pobj") or tree.low(child) == "of"):
                readings = cross(readings, self.read(child, depth=depth + 1))
        return readings


def cross(left: Sequence[Tokens], right: Sequence[Tokens]) -> list[Tokens]:
    """Each with each; where that is too many, each of one side with the first of the other."""
    if len(left) * len(right) <= MOST:
        return [a | b for a in left for b in right]
    return [*(left[0] | b for b in right), *(a | right[0] for a in left[1:])]


def is_adjunct(tree: Tree, node: int) -> bool:
    """A branch that can be said by itself: "in 1990", "with his wife"; not "of the city"."""
    dep = tree.deps[node]
    if dep in ("prep", "agent"):
        return tree.low(node) not in ("of", "than", "per")
    return dep in ("npadvmod", "advcl") and tree.heads[node] < node


def is_list(tree: Tree, node: int) -> bool:
    """A branch that lists examples: "such as A", "including B", "films like C"."""
    if tree.deps[node] != "prep":
        return False
    if tree.low(node) == "like":
        return tree.tags[tree.heads[node]] in ("NNS", "NNPS")
    return tree.low(node) == "including" or any(tree.low(child) == "such" for child in tree.children[node])
