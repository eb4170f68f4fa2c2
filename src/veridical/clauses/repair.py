"""What the small parser often gets wrong, mended: only what the tree itself shows to be wrong."""

from __future__ import annotations

from dataclasses import dataclass

_INSIDE = ("compound", "nmod", "poss")


@dataclass(frozen=True)
class Draft:
    """A parse before it becomes a `Tree`; the lists are changed in place."""

    words: list[str]
    tags: list[str]
    deps: list[str]
    heads: list[int]

    def repair(self) -> None:
        for at in range(len(self.words)):
            self._examples(at)
            self._lives(at)
        for at in range(len(self.words)):
            self._compound(at)
            self._after_participle(at)
            self._apposition(at)

    def _lives(self, at: int) -> None:
        """ "has two children and lives in Oslo": the verb, read as a noun."""
        noun = self.heads[at]
        verb = self.heads[noun]
        bare = not any(child < at for child in self.kids(at))
        if self.words[at] == "lives" and self.deps[at] == "conj" and self.tags[verb] == "VBZ" and bare:
            self.tags[at] = "VBZ"
            self.move(at, verb)
            if at + 1 < len(self.words) and self.deps[at + 1] == "prep":
                self.move(at + 1, at)

    def move(self, at: int, head: int, dep: str | None = None) -> bool:
        """Hang a token elsewhere, unless that would make a circle."""
        above = head
        while above != at and self.heads[above] != above:
            above = self.heads[above]
        if above == at:
            return False
        self.heads[at] = head
        self.deps[at] = dep or self.deps[at]
        return True

    def kids(self, at: int) -> list[int]:
        return [index for index, head in enumerate(self.heads) if head == at and index != at]

    def _examples(self, at: int) -> None:
        """ "such as A", "including B" belong to the noun right before."""
        word = self.words[at].lower()
        of = self.heads[self.heads[at]]
        lists = word == "including" or (word == "as" and at > 0 and self.words[at - 1].lower() == "such")
        if self.deps[at] != "prep" or not lists:
            return
        if self.words[of].lower() == "of" and self.deps[self.heads[at]] == "pobj" and self._is_amount(self.heads[of]):
            self.move(at, self.heads[of])
        if self.tags[self.heads[at]].startswith("N"):
            return
        noun = next((index for index in range(at - 1, max(at - 4, -1), -1) if self.tags[index].startswith("N")), None)
        if noun is not None:
            self.move(at, noun)

    def _is_amount(self, at: int) -> bool:
        """ "a string of clubs, including A": A is a club, not a string."""
        if self.words[at].lower() in ("some", "many", "several"):
            return True
        return self.tags[at] == "NN" and any(self.words[child].lower() in ("a", "an") for child in self.kids(at))

    def _compound(self, at: int) -> None:
        head = self.heads[at]
        if self.deps[at] in ("compound", "nmod") and at < head and self.words[at + 1] == ",":
            self.coordinate(at, head)
        elif self.deps[at] == "cc" and self.deps[head] in ("compound", "amod", "nmod") and at + 1 < len(self.words):
            # "stage and film actress": both words hang on the noun; the second is joined to the first
            if self.heads[at + 1] == self.heads[head] and self.deps[at + 1] in ("compound", "amod", "nmod"):
                self.move(at + 1, head, "conj")
        elif self.deps[at] == "mark" and self.deps[head] == "advcl" and self.words[at].lower() == "that":
            self.deps[head] = "ccomp"

    def coordinate(self, first: int, second: int) -> None:
        """ "a model, a queen" read as one compound: the first takes the place of the second, which is joined to it."""
        above = self.heads[second]
        self.deps[first], self.heads[first] = self.deps[second], first if above == second else above
        self.deps[second], self.heads[second] = "conj", first
        for child in self.kids(second):
            if child < first:
                self.heads[child] = first

    def _after_participle(self, at: int) -> None:
        """What follows "born" in "an actress born in 1974, in Paris" belongs to it."""
        head = self.heads[at]
        if self.deps[at] == "prep" and at > head:
            clauses = [index for index in self.kids(head) if head < index < at and self.deps[index] in ("acl", "relcl")]
            if clauses:
                self.move(at, clauses[-1])

    def _apposition(self, at: int) -> None:
        dep = self.deps[at]
        if dep in ("appos", "nummod", "npadvmod") and self._is_year(at):
            self.move(at, next(index for index in range(at - 1, -1, -1) if self.words[index] != ","), "nummod")
        elif dep in ("npadvmod", "dobj", "attr") and self._is_place(at):
            self.move(at, at - 2, "appos")
        elif dep == "appos" and not self._to_nearer_name(at) and self._goes_on(at):
            self.deps[at] = "conj"

    def _is_year(self, at: int) -> bool:
        """ "1980" in "June 23rd, 1980"."""
        if not (self.words[at].isdigit() and len(self.words[at]) == 4):
            return False
        before = [word for word in self.words[max(at - 3, 0) : at] if word != ","]
        return len(before) > 1 and before[-1][:1].isdigit() and before[-2][:1].isupper()

    def _is_place(self, at: int) -> bool:
        """ "Connecticut" in "to Danbury, Connecticut", hung on the verb."""
        if at < 3 or self.words[at - 1] != "," or self.deps[at - 2] != "pobj":
            return False
        names = self.tags[at].startswith("NNP") and self.tags[at - 2].startswith("NNP")
        return names and not any(self.deps[child] in ("conj", "cc") for child in self.kids(at))

    def _to_nearer_name(self, at: int) -> bool:
        """An apposition belongs to the name right before its comma: "director of the Arts Centre, a charity"."""
        before = [child for child in self.kids(at) if child < at and self.deps[child] in ("det", "amod", *_INSIDE)]
        left = min([at, *before])
        if left < 2 or self.words[left - 1] != "," or not self.tags[left - 2].startswith("NNP"):
            return False
        noun = left - 2
        while self.deps[noun] in _INSIDE and noun < self.heads[noun] < left:
            noun = self.heads[noun]
        return noun != self.heads[at] and self.deps[noun] == "pobj" and self.move(at, noun)

    def _goes_on(self, at: int) -> bool:
        """An apposition that is joined by "and" to more, and does not begin with "a", goes on a list."""
        own = self.kids(at)
        left = min([at, *own])
        if left == 0 or not any(self.deps[child] == "conj" for child in own):
            return False
        return self.words[left].lower() not in ("a", "an") and self.words[left - 1] == ","
