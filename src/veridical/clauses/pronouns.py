"""What the pronouns of a text stand for: its topic, or the person who was named after it.

Rules, no model: a third-person pronoun means the topic if it is of the kind by which the text speaks of the topic (he,
she, it), unless a person who is kin to somebody ("his father, John") or has a title was the subject since. One of
another kind means the person last named. What stays in doubt (they, "it" after another subject) is left as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .tree import Part, Tree

KINDS = {
    "he": "he", "him": "he", "his": "he", "she": "she", "her": "she", "hers": "she", "it": "it", "its": "it",
}  # fmt: skip
_KIN = frozenset({
    "father", "mother", "parent", "wife", "husband", "spouse", "partner", "son", "daughter", "child", "brother",
    "sister", "sibling", "uncle", "aunt", "cousin", "nephew", "niece", "grandfather", "grandmother", "grandson",
    "granddaughter", "widow", "widower", "fiancé", "fiancée", "girlfriend", "boyfriend",
})  # fmt: skip
_TITLES = frozenset(["mr.", "mrs.", "ms.", "miss", "dr.", "sir", "lady", "lord", "mr", "mrs", "ms", "dr"])
_SUBJECTS = ("nsubj", "nsubjpass")


@dataclass(frozen=True)
class Reference:
    """What a pronoun stands for. `possessive`: "his"."""

    name: str
    possessive: bool

    @property
    def text(self) -> str:
        return f"{self.name}'s" if self.possessive else self.name


@dataclass
class Resolver:
    """Goes through the sentences of one generation in order."""

    topic: str | None
    kind: str | None = None
    """How the text speaks of its topic: "he", "she" or "it"."""
    _person: str | None = field(default=None, init=False)
    """The person named last that is not the topic."""
    _between: bool = field(default=False, init=False)
    """That person was the last subject."""
    _other: bool = field(default=True, init=False)
    """The last subject was not the topic; so it is before the topic was named ("It rained.")."""

    @classmethod
    def of(cls, topic: str | None, trees: Sequence[Tree]) -> Resolver:
        """The topic is the given one, else the first subject of the text that is a name."""
        counts = Counter(KINDS[word] for tree in trees for word in map(str.lower, tree.words) if word in KINDS)
        persons = Counter({kind: count for kind, count in counts.items() if kind != "it"})
        kind = next(iter((persons or counts).most_common(1)), (None, 0))[0]
        return cls(topic.strip() or None if topic else _first_name(trees), kind)

    def references(self, tree: Tree) -> dict[int, Reference]:
        """By token, what each pronoun of the next sentence stands for."""
        found: dict[int, Reference] = {}
        for at, word in enumerate(tree.words):
            kind = KINDS.get(word.lower())
            if kind is None or tree.deps[at] == "expl":
                self._mention(tree, at)
                continue
            name = self._meant(kind, tree, at)
            if name:
                found[at] = Reference(name, tree.tags[at] == "PRP$")
        return found

    def _meant(self, kind: str, tree: Tree, at: int) -> str | None:
        if kind == "it":
            alone = self.kind == "it" and not self._other and tree.deps[at] in (*_SUBJECTS, "poss")
            return self.topic if alone else None
        if kind == self.kind:
            return self._person if self._between else self.topic
        return self._person

    def _mention(self, tree: Tree, at: int) -> None:
        """Take note of a phrase that may be meant by later pronouns."""
        if not tree.tags[at].startswith("N") or tree.deps[at] == "compound":
            return
        is_subject = tree.deps[at] in _SUBJECTS
        name = _name(tree, at)
        if name and self.topic and _same(name, self.topic):
            self._between, self._other = False, self._other and not is_subject
            return
        person = _person(tree, at)
        if person:
            self._person = person
            self._between = self._between or is_subject
        self._other = self._other or is_subject


def _first_name(trees: Iterable[Tree]) -> str | None:
    for tree in trees:
        for at, dep in enumerate(tree.deps):
            if dep in _SUBJECTS and tree.tags[at].startswith("NNP"):
                return _name(tree, at)
    return None


def _name(tree: Tree, at: int) -> str | None:
    """The proper name that ends here, without an article."""
    if not tree.tags[at].startswith("NNP"):
        return None
    tokens = [index for index in tree.kids(at, "compound", "nmod") if index < at and tree.tags[index].startswith("NNP")]
    return tree.write([*tokens, at])


def _person(tree: Tree, at: int) -> str | None:
    """The name of somebody who is surely a person: kin of somebody, or with a title."""
    name = _name(tree, at)
    if name and (name.split()[0].lower() in _TITLES or "who" in (tree.low(child) for child in _relatives(tree, at))):
        return name
    if tree.low(at) in _KIN and tree.kids(at, "poss"):
        return next((_name(tree, child) for child in tree.kids(at, "appos")), None)
    above = tree.heads[at]
    if name and tree.deps[at] == "attr":  # "His father was John Stow"
        return name if any(tree.low(child) in _KIN for child in tree.kids(above, *_SUBJECTS)) else None
    if name and tree.low(above) in _KIN and tree.deps[at] == "appos":
        return name
    return name if name and any(tree.low(child) in _KIN for child in tree.kids(at, "compound", "appos")) else None


def _relatives(tree: Tree, at: int) -> list[int]:
    return [child for verb in tree.kids(at, "relcl") for child in tree.children[verb]]


def _same(name: str, topic: str) -> bool:
    return bool(set(name.lower().split()) & set(topic.lower().split()))


def instead(fact: Sequence[Part], tree: Tree, references: dict[int, Reference], topic: str | None) -> dict[int, str]:
    """The words to put for the pronouns of one fact: the first of each name, unless the fact has named it before."""
    named: set[str] = set()
    words: dict[int, str] = {}
    for part in fact:
        for at in () if isinstance(part, str) else sorted(part):
            reference = references.get(at)
            if reference and reference.name not in named:
                words[at] = reference.text
                named.add(reference.name)
            elif topic and tree.words[at][:1].isupper() and _same(tree.words[at], topic):
                named.add(topic)
    return words
