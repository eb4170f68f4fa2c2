"""From a parsed sentence to its facts: one for each clause, member of a coordination, and adjunct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .names import is_origin, titles
from .notes import notes
from .phrases import Aside, Phrases, cross, is_adjunct
from .sound import clause_of, sound
from .tree import Part, Tokens, Tree, copula
from .words import BE, HAVE, INTRANSITIVE, ONLY, OWNING, SAME_FORM

Fact = tuple[Part, ...]
Subject = tuple[Part, ...]

MOST = 64
"""Facts of one sentence."""
PAIRS = 4
"""Up to so many, each member of the core is said with each adjunct; beyond, all members with the first adjunct only."""
LONG, SHORT = 4, 3
"""A core with so many words longer than that is a claim without its only adjunct."""
_SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
_OBJECTS = ("dobj", "attr", "acomp", "oprd", "dative", "ccomp", "xcomp", "pobj", "pcomp")
_RELATIVE = ("WDT", "WP")
_DISCOURSE = frozenset({
    "also", "additionally", "furthermore", "moreover", "however", "therefore", "thus", "overall", "then", "later",
})  # fmt: skip
_TIGHT = frozenset({"for", "with", "by", "to", "into"})
"""Prepositions whose noun keeps what follows it: "known for roles in films" is not "known in films"."""
_CONDITIONS = frozenset(["if", "unless", "whether", "so", "lest"])


@dataclass
class Extraction:
    """One pass over one tree."""

    tree: Tree
    people: bool = False
    """The text is about people: two dates in brackets after a name are a life."""
    facts: list[Fact] = field(default_factory=list)
    phrases: Phrases = field(init=False)
    _read: set[int] = field(default_factory=set)
    """Verbs whose clause was read, and asides that were told."""
    _left_out: set[int] = field(default_factory=set)
    """Helpers that are put in another form."""
    _subjects: dict[int, Sequence[Subject]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.phrases = Phrases(self.tree)

    def run(self) -> list[Fact]:
        for root in self.tree.roots:
            if any(c.isalnum() for c in self.tree.words[root]):
                self._clause(root, [])
        first, last = notes(self.tree, self.phrases, people=self.people)
        return list(dict.fromkeys([*first, *self.facts, *last, *titles(self.tree)]))[:MOST]

    def _clause(self, verb: int, given: Sequence[Subject], *, aux: Tokens = frozenset(), gap: Part = "") -> None:
        """`given` are the subjects where the clause has none of its own; `gap` is what its relative pronoun means."""
        if verb in self._read:
            return
        self._read.add(verb)
        tree = self.tree
        own = self._own_subjects(verb)
        if tree.low(verb) in ("include", "included"):
            own = [self._whole(child) for child in own]
        subjects: list[Subject] = [(reading,) for child in own for reading in self.phrases.read(child)] or list(given)
        if not subjects and not tree.tags[verb].startswith(("V", "MD")):
            self._fragment(verb)
            return
        if tree.low(verb) == "born" and not tree.kids(verb, "aux", "auxpass"):  # "an actor born in 1942" was born
            subjects = [(one[0], copula(True, plural=one[-1] in ("are", "were"))) for one in subjects]
        self._subjects[verb] = subjects
        self._tell_origins(verb, subjects)
        group, objects, adjuncts = self._predicate(verb)
        if not objects and not adjuncts:
            objects = self._lent(verb)
        if aux and not tree.kids(verb, "aux", "auxpass"):
            group |= aux
        past = self._past(group)
        self._say(verb, subjects, group, objects, adjuncts, gap)
        self._tell_asides(past, subjects)
        self._joined(verb, subjects, group, objects, frozenset(tree.kids(verb, "aux", "auxpass")) or aux)
        for other in tree.kids(verb, "advcl", "parataxis"):
            self._adverbial(other, subjects, past)

    def _whole(self, node: int) -> int:
        """ "Some of her films include A": then her films do."""
        tree = self.tree
        of = [child for child in tree.kids(node, "prep") if tree.low(child) == "of"]
        if tree.low(node) not in ("some", "several", "many") or not of:
            return node
        return next(iter(tree.kids(of[0], "pobj")), node)

    def _own_subjects(self, verb: int) -> list[int]:
        return [child for child in self.tree.kids(verb, *_SUBJECTS) if self.tree.tags[child] not in _RELATIVE]

    def _predicate(self, verb: int) -> tuple[Tokens, list[list[Tokens]], list[int]]:
        """The verb with its helpers, the readings of each object, the nodes of the adjuncts."""
        tree = self.tree
        group: set[int] = {verb}
        objects: list[list[Tokens]] = []
        adjuncts: list[int] = []
        for child in tree.children[verb]:
            dep = tree.deps[child]
            if (
                dep in ("aux", "auxpass", "neg", "prt")
                or tree.low(child) == "and/or"
                or (
                    dep == "advmod"
                    and (tree.low(child) not in _DISCOURSE or tree.children[child])
                    and not tree.tags[child].startswith("W")
                )
            ):
                group |= tree.below(child)
            elif tree.tags[child] in _RELATIVE or (dep == "prep" and self._asks(child)):
                continue
            elif self._limits(child) or (dep == "conj" and tree.either(verb)):
                group |= tree.below(child) | set(tree.kids(verb, "cc"))  # the claim does not hold without it
            elif dep in _OBJECTS:
                objects.append(self.phrases.read(child, adjuncts))
            elif is_adjunct(tree, child) or dep in ("prep", "agent", "npadvmod"):
                adjuncts.append(child)
        return frozenset(group) - self._left_out, objects, adjuncts

    def _limits(self, node: int) -> bool:
        """A condition ("if …") or whose claim it is ("according to …")."""
        tree = self.tree
        if tree.deps[node] == "advcl":
            return any(tree.low(child) in _CONDITIONS for child in tree.kids(node, "mark"))
        return tree.deps[node] == "prep" and tree.low(node) == "according"

    def _asks(self, node: int) -> bool:
        """ "for which", "whose": belongs to a relative clause."""
        return any(self.tree.tags[child].startswith("W") for child in self.tree.children[node])

    def _lent(self, verb: int) -> list[list[Tokens]]:
        """The objects of the verb that is joined to this one: "wrote and directed the film"."""
        tree = self.tree
        other = next(iter(tree.kids(verb, "conj")), None)
        if other is None or not tree.kids(verb, "cc"):
            return []
        forms = {tree.tags[verb], tree.tags[other]}
        if not (forms <= SAME_FORM or (len(forms) == 1 and tree.tags[verb].startswith("V"))):
            return []
        alone = tree.low(verb) in INTRANSITIVE or any(at > verb for at in tree.kids(verb, "prt", "advmod"))
        if alone or tree.low(other) in OWNING or tree.kids(other, "mark", *_SUBJECTS):
            return []
        return self._predicate(other)[1]

    def _say(
        self,
        verb: int,
        subjects: Sequence[Subject],
        group: Tokens,
        objects: list[list[Tokens]],
        adjuncts: list[int],
        gap: Part,
    ) -> None:
        cores: list[Tokens] = [group]
        for alternatives in objects:
            cores = cross(cores, alternatives)
        extras = self._extras(adjuncts) or [frozenset[int]()]
        pairs = [(subject, core) for core in cores for subject in subjects or [()]]
        facts: list[Fact] = []
        if len(extras) == 1 and extras[0] and self._is_said_alone(group, cores[0]):
            facts += [self._fact(subject, core, frozenset(), verb, gap) for subject, core in pairs[:1]]
        for place, extra in enumerate(extras):
            said = pairs if place == 0 or len(pairs) * len(extras) <= PAIRS else pairs[:1]
            facts += [self._fact(subject, core, extra, verb, gap) for subject, core in said]
        self.facts += [sound(fact, verb, self.tree) for fact in facts]

    def _is_said_alone(self, group: Tokens, core: Tokens) -> bool:
        """Long enough, or a predicate noun, to be a claim without its only adjunct."""
        tree = self.tree
        nouns = [noun for verb in group for noun in tree.kids(verb, "attr")]
        if any(tree.low(child) in ONLY or tree.tags[child] == "JJS" for noun in nouns for child in tree.children[noun]):
            return False
        if nouns:
            return any(tree.low(at) in BE for at in group)
        return sum(len(self.tree.words[index]) > SHORT for index in core) >= LONG

    def _extras(self, adjuncts: Sequence[int]) -> list[Tokens]:
        """What can be said further of a clause, each by itself; "when …" only where there is nothing else."""
        tree = self.tree
        extras: list[Tokens] = []
        when: list[Tokens] = []
        queue = list(adjuncts)
        while queue:
            node = queue.pop(0)
            if tree.deps[node] == "advcl" and not self._stays(node):
                if any(tree.low(child) == "when" for child in tree.kids(node, "advmod", "mark")):
                    when.append(tree.below(node))
            elif tree.low(node) == "from" and queue and tree.low(queue[0]) in ("to", "until"):
                extras.append(tree.below(node) | tree.below(queue.pop(0)))
            elif tree.low(node) == "from" and any(tree.low(child) == "to" for child in tree.kids(node, "prep")):
                extras.append(tree.below(node))
            elif self._stands_alone(node):
                extras += self.phrases.read(node, queue)
            else:
                extras += self.phrases.read(node)
        return extras or when

    def _stands_alone(self, adjunct: int) -> bool:
        """Its noun is a name or has an article or possessive, so that it may go without what follows it.

        Not so "on loan from X", "in addition to Y".
        """
        tree = self.tree
        nouns = tree.kids(adjunct, "pobj")
        if tree.low(adjunct) in _TIGHT:
            return False
        return bool(nouns) and all(
            tree.tags[noun].startswith("NNP") or tree.tags[noun] == "CD" or tree.kids(noun, "det", "poss", "nummod")
            for noun in nouns
        )

    def _fact(self, subject: Subject, core: Tokens, extra: Tokens, verb: int, gap: Part) -> Fact:
        """Subject, then the predicate in text order; what stood before the subject goes last."""
        first = subject[0] if subject else ""
        before = min(first) if not isinstance(first, str) and first and max(first) < verb else 0
        fronted = frozenset(index for index in core | extra if index < before)
        if gap:
            return (*subject, core - fronted, gap, *([extra] if extra else []))
        if extra and not fronted and min(extra) < min(core):
            fronted = extra
        return (*subject, (core | extra) - fronted, *([fronted] if fronted else []))

    def _stays(self, adverbial: int) -> bool:
        """An adverbial clause that cannot be said by itself: a condition or a purpose."""
        tree = self.tree
        if self._limits(adverbial):
            return True
        return any(tree.low(child) == "to" for child in tree.kids(adverbial, "aux"))

    def _joined(
        self, verb: int, subjects: Sequence[Subject], group: Tokens, objects: list[list[Tokens]], helpers: Tokens
    ) -> None:
        """The clauses joined to this one; a noun joined to a verb is a further object of it."""
        tree = self.tree
        for other in () if tree.either(verb) else tree.kids(verb, "conj"):
            if subjects and self._is_gapped(verb, other):
                self._gapped(verb, other, group)
                continue
            noun = tree.tags[verb].startswith("V") and tree.tags[other].startswith("N")
            if noun and tree.kids(other, "poss") and tree.kids(verb, "dobj") and self._is_parallel(verb, other):
                self._read.add(other)  # "won the race in 1990 and his brother in 1994": won or was won?
                self.facts.append((clause_of(verb, tree),))
            elif noun and subjects and not self._own_subjects(other):
                self._read.add(other)
                adjuncts: list[int] = []
                self._say(verb, subjects, group, [self.phrases.read(other, adjuncts)], adjuncts, "")
            elif tree.tags[other] == "IN" and tree.kids(other, "pobj"):  # "for his plays and for his wit"
                self._read.add(other)
                for extra in self.phrases.read(other):
                    self._say(verb, subjects, group | extra, objects, [], "")
            else:
                shares = tree.tags[other] == tree.tags[verb] and tree.tags[other] in ("VBN", "VBG", "VB")
                if tree.tags[other] == "VBG":  # "having won the cup and scoring": has won, is scoring
                    had = copula(any(subject[-1] == "had" for subject in subjects))
                    subjects = [(*one[:-1], had) if one[-1] in HAVE else one for one in subjects]
                self._clause(other, subjects, aux=helpers if shares else frozenset())

    def _is_gapped(self, verb: int, other: int) -> bool:
        """ "His first book was published in 1950 and his second in 1956": a subject that has no verb of its own."""
        tree = self.tree
        named = tree.tags[other].startswith("N") or (tree.tags[other] == "JJ" and tree.kids(other, "det", "poss"))
        if not named or tree.kids(verb, "dobj", "attr", "acomp", "oprd") or self._own_subjects(other):
            return False
        return self._is_parallel(verb, other)

    def _is_parallel(self, verb: int, other: int) -> bool:
        tree = self.tree
        before = {tree.low(child) for child in tree.kids(verb, "prep") if child < other}
        return any(tree.low(child) in before for child in tree.kids(other, "prep"))

    def _gapped(self, verb: int, other: int, group: Tokens) -> None:
        tree = self.tree
        self._read.add(other)
        first = self._own_subjects(verb)
        name = tree.words[other][:1].isupper() or tree.tags[other] == "JJ"
        if not first or not (name or tree.tags[other] == tree.tags[first[0]]):  # "was" or "were" is not known
            self.facts.append((clause_of(verb, tree),))
            return
        words = frozenset({other}).union(*(tree.below(at) for at in tree.children[other] if at < other))
        noun = {first[0], *tree.kids(first[0], "compound")} if tree.tags[other] == "JJ" else set[int]()
        self.facts += [(words, frozenset(noun), group | extra) for extra in self._extras(tree.kids(other, "prep"))]

    def _adverbial(self, node: int, subjects: Sequence[Subject], past: bool) -> None:
        tree = self.tree
        if self._stays(node):
            return
        bare = not tree.kids(node, "aux", "auxpass", *_SUBJECTS) and tree.tags[node] in ("VBN", "VBG", "VBD", "JJ")
        having = [at for at in tree.kids(node, "aux") if tree.low(at) == "having"]
        if having and not self._own_subjects(node):
            self._left_out |= {*having}
            subjects = [(*subject, self._have(subject, past)) for subject in subjects]
        self._clause(node, [(*subject, copula(past)) for subject in subjects] if bare else subjects)

    def _have(self, subject: Subject, past: bool) -> str:
        """What "having won" is said with."""
        first = subject[0]
        tokens = frozenset[int]() if isinstance(first, str) else first
        plural = any(self.tree.tags[at] in ("NNS", "NNPS") or self.tree.low(at) == "they" for at in tokens)
        return "had" if past else "have" if plural else "has"

    def _tell_asides(self, past: bool, subjects: Sequence[Subject]) -> None:
        """What is said beside the clause of its phrases."""
        tree = self.tree
        while waiting := [aside for node, aside in self.phrases.asides.items() if node not in self._read]:
            aside = waiting[0]
            verb = copula(past, tree.tags[aside.about] in ("NNS", "NNPS"))
            about = subjects if subjects and self._is_loose(aside) else self._about(aside)
            if aside.kind == "appos":
                self._read.add(aside.node)
                self._apposition(aside, about, verb)
            elif aside.kind == "acl":
                self._clause(aside.node, [(*subject, verb) for subject in about])
            else:
                self._clause(aside.node, about, gap=self._gap(aside.node, about))

    def _is_loose(self, aside: Aside) -> bool:
        """A participle after a comma and a common noun is about the subject: "a figure in society, known for wit"."""
        tree = self.tree
        left = min(tree.below(aside.node))
        after_noun = tree.tags[aside.about] in ("NN", "NNS") and tree.deps[aside.about] == "pobj"
        return aside.kind == "acl" and after_noun and left > 0 and tree.words[left - 1] == ","

    def _about(self, aside: Aside) -> Sequence[Subject]:
        """What an aside is about. Of "a painter" in "X was a painter": about X."""
        at = aside.about
        while self.tree.deps[at] in ("conj", "appos") and self.tree.heads[at] != at:
            at = self.tree.heads[at]
        if self.tree.deps[at] == "attr" and self._subjects.get(self.tree.heads[at]):
            return self._subjects[self.tree.heads[at]]
        return [(self.phrases.single(aside.about) - self.tree.below(aside.node),)]

    def _apposition(self, aside: Aside, about: Sequence[Subject], verb: str) -> None:
        """ "X, a painter" is a painter; "Durban, South Africa" is in South Africa."""
        tree = self.tree
        place = all(tree.tags[at].startswith("NNP") for at in (aside.node, aside.about))
        place = place and not tree.kids(aside.node, "det", "poss")
        self._origins(aside.node, about, verb)
        adjuncts: list[int] = []
        for reading in self.phrases.read(aside.node, adjuncts):
            self.facts += [(*subject, "is in" if place else verb, reading) for subject in about]
        for extra in self._extras(adjuncts):
            self.facts += [(*subject, verb, extra) for subject in about]

    def _gap(self, verb: int, about: Sequence[Subject]) -> Part:
        """The antecedent where it is the object of the relative clause: "the film (that) he directed"."""
        tree = self.tree
        if not self._own_subjects(verb) or not about:
            return ""
        objects = tree.kids(verb, *_OBJECTS)
        asked = any(tree.tags[child] in _RELATIVE for child in objects)
        placed = any(tree.tags[child].startswith("W") or self._asks(child) for child in tree.children[verb])
        return about[0][0] if asked or not (objects or placed) else ""

    def _tell_origins(self, verb: int, subjects: Sequence[Subject]) -> None:
        """Not of what is denied, nor of what "would be": "not an American actor" says nothing of America."""
        helpers = self.tree.kids(verb, "aux")
        if not self.tree.kids(verb, "neg") and all(self.tree.tags[at] != "MD" for at in helpers):
            for noun in self.tree.kids(verb, "attr"):
                self._origins(noun, subjects, frozenset([verb, *helpers]))

    def _origins(self, noun: int, subjects: Sequence[Subject], verb: Part) -> None:
        """Of "an American actor", "is American" is a claim of its own."""
        tree = self.tree
        for at in [noun, *tree.kids(noun, "conj")]:
            for adjective in tree.kids(at, "amod", "compound", "nmod"):
                if is_origin(self.tree, adjective):
                    self.phrases.apart.add(adjective)
                    self.facts += [(*subject, verb, tree.below(adjective)) for subject in subjects]

    def _past(self, group: Tokens) -> bool:
        tags = {self.tree.tags[index] for index in group}
        return "VBD" in tags or ("VBN" in tags and not tags & {"VBZ", "VBP"})

    def _fragment(self, node: int) -> None:
        """A sentence without a verb."""
        self.facts += [(reading,) for reading in self.phrases.read(node)]
        self._tell_asides(False, [])


def extract(tree: Tree, *, people: bool = False) -> list[Fact]:
    """The facts of a sentence, no more than `MOST`; empty where there is nothing to say. See `Extraction.people`."""
    return Extraction(tree, people).run()
