"""A parsed sentence as plain lists, and how a choice of its tokens is written out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Tokens = frozenset[int]
Part = Tokens | str
"""Tokens of the sentence, or a word put between them ("is")."""

_OPEN, _CLOSE = '“"‘«(', '”"’»)'
_EDGE = " \t\n,;:–—-"


@dataclass(frozen=True)
class Tree:
    """Dependency tree with ClearNLP's labels (nsubj, dobj, prep, …) and Penn tags; tokens are known by their index."""

    words: list[str]
    spaces: list[bool]
    """Whether white space follows the token."""
    tags: list[str]
    deps: list[str]
    heads: list[int]
    """A root is its own head."""
    notes: dict[int, str] = field(default_factory=dict)
    """What stood in brackets after a token."""
    rest: list[str] = field(default_factory=list)
    """Pieces of the sentence that were too much to parse."""
    children: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        children: list[list[int]] = [[] for _ in self.words]
        for index, head in enumerate(self.heads):
            if head != index:
                children[head].append(index)
        object.__setattr__(self, "children", children)

    @property
    def roots(self) -> list[int]:
        return [index for index, head in enumerate(self.heads) if head == index]

    def kids(self, index: int, *deps: str) -> list[int]:
        return [child for child in self.children[index] if self.deps[child] in deps]

    def below(self, index: int, without: Iterable[int] = ()) -> Tokens:
        """The token and all that hangs on it, but for the branches of `without`."""
        cut, found, todo = set(without), set(), [index]
        while todo:
            at = todo.pop()
            if at not in cut and at not in found:
                found.add(at)
                todo.extend(self.children[at])
        return frozenset(found)

    def either(self, index: int) -> bool:
        """The first of members joined by "or": no claim is made of one of them alone."""
        chain = [index]
        while self.kids(chain[-1], "conj"):
            chain.append(self.kids(chain[-1], "conj")[0])
        return any(self.low(child) in ("or", "nor", "and/or") for at in chain for child in self.kids(at, "cc"))

    def low(self, index: int) -> str:
        return self.words[index].lower()

    def write(self, tokens: Iterable[int], instead: Mapping[int, str] | None = None) -> str:
        """The tokens in the order of the sentence, with the marks that stand between two of them."""
        chosen = self._with_marks(sorted(set(tokens)))
        pieces: list[str] = []
        for place, index in enumerate(chosen):
            word = (instead or {}).get(index) or self._word(index, following=chosen[place + 1 : place + 2])
            pieces.append(word)
            following = chosen[place + 1] if place + 1 < len(chosen) else None
            if following is not None and (following != index + 1 or self.spaces[index]):
                pieces.append(" ")
        return _balanced("".join(pieces).strip(_EDGE))

    def _word(self, index: int, following: list[int]) -> str:
        """As written, but for the capital of a sentence's first word, and "a" or "an" before what now follows."""
        word = self.words[index]
        if word.lower() in ("a", "an") and self.tags[index] == "DT" and following and following[0] != index + 1:
            word = "an" if self.words[following[0]].lstrip('"')[:1].lower() in "aeio" else "a"
        if index == 0 and not self.tags[0].startswith("NNP") and word[:1].isupper() and word[1:].islower():
            word = word.lower()
        return word

    def _with_marks(self, chosen: list[int]) -> list[int]:
        """Add punctuation that stands alone between two chosen tokens: "March 31, 1942"."""
        full: list[int] = []
        for index in chosen:
            gap = range(full[-1] + 1, index) if full else ()
            if 0 < len(gap) <= 2 and all(not any(c.isalnum() for c in self.words[i]) for i in gap):
                full.extend(gap)
            full.append(index)
        return full


def copula(past: bool, plural: bool = False) -> str:
    """The form of "be" that is put between a phrase and what is said of it."""
    return ("were" if past else "are") if plural else ("was" if past else "is")


def _balanced(text: str) -> str:
    """Without a quotation mark or bracket whose partner was left out."""
    for opening, closing in zip(_OPEN, _CLOSE, strict=True):
        odd = text.count(opening) % 2 if opening == closing else text.count(opening) != text.count(closing)
        if odd and opening != "‘":
            for mark in (opening, closing):
                text = re.sub(rf"(?<=\w){re.escape(mark)}(?=\w)", " ", text).replace(mark, "")  # words stay apart
    return text.strip(_EDGE)


def written(parts: Iterable[Part], tree: Tree, instead: Mapping[int, str] | None = None) -> str:
    """A fact as a sentence: capital first, full stop last."""
    texts = (part if isinstance(part, str) else tree.write(part, instead) for part in parts)
    text = re.sub(r"\s+([,.;:]|['’](?:s|re|ve|ll|d|m)\b|n['’]t\b)", r"\1", " ".join(text for text in texts if text))
    text = text.strip(_EDGE).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}." if text else ""
