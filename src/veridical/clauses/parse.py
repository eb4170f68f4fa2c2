"""From the text of a sentence to its `Tree`: what disturbs the parser is taken out before and put back after.

A quoted title becomes one token, a bracket becomes a note on the token before it, citation marks go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..text.lines import unmarked
from .model import LOCK, load
from .repair import Draft
from .tree import Tree
from .verbs import mend

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

LONGEST = 120
"""Tokens of a sentence that are parsed; its cost stays bounded, and no sane sentence is longer."""
WIDEST = 4000
"""Code points of a sentence that are split into tokens."""
MOST_CLAUSES = 8
"""Clauses between semicolons that are parsed apart."""
_CITATION = re.compile(r"\s?\[(?:\d{1,4}|citation needed)\]")
_BRACKET = re.compile(r"\s?[(]([^()]{1,200})[)]")
_TITLE = re.compile(r"[\"“]([\w'’#¡¿][^\"“”]{0,80}?)([,.]?)[\"”]|(?<!\w)['‘]([A-Z][^'‘’\n]{0,80}?)([,.]?)['’](?!\w)")
_DATED = re.compile(
    r"\b([A-Z0-9][\w'’:&.-]{0,30}(?: (?:[A-Z0-9][\w'’:&.-]{0,30}|of|the|and|in|for|a|to|with|on|vs)){0,10})"
    r"(?= ?[(](?:1\d|20)\d\d\b)"
)
"""A name or title before a year in brackets."""
_PIECE = re.compile("\x02(\\d+)\x03|[^\x02]+")


@dataclass(frozen=True)
class Prepared:
    """The words that the parser sees, those that are written, and what was in brackets after which."""

    shown: list[str]
    words: list[str]
    spaces: list[bool]
    notes: dict[int, str]
    uncut: list[str]
    """What was not even looked at."""


def prepare(text: str, nlp: Language) -> Prepared:
    text, *uncut = _portions(text)
    text = _CITATION.sub("", text.replace("\x02", " ").replace("\x03", " "))
    text = unmarked(re.sub(r"\s+", " ", text).strip())
    held: list[tuple[str, str]] = []

    def hold_title(found: re.Match[str]) -> str:
        title, mark = found.group(1) or found.group(3), found.group(2) or found.group(4) or ""
        if not (title[:1].isupper() or title[:1].isdigit() or title[:1] in "¡¿#") or len(title.split()) > 12:
            return found.group()
        held.append(("title", f'"{title}"'))
        return f"\x02{len(held) - 1}\x03{mark}"

    def hold_bracket(found: re.Match[str]) -> str:
        held.append(("note", found.group(1)))
        return f"\x02{len(held) - 1}\x03"

    def hold_dated(found: re.Match[str]) -> str:
        held.append(("title", found.group()))
        return f"\x02{len(held) - 1}\x03"

    text = _DATED.sub(hold_dated, text)
    text = _BRACKET.sub(hold_bracket, text)
    text = _TITLE.sub(hold_title, text)
    ready = Prepared([], [], [], {}, uncut)
    for piece in _PIECE.finditer(text):
        if piece.group(1) is None:
            _add_plain(ready, piece.group(), nlp)
            continue
        kind, content = held[int(piece.group(1))]
        content = _PIECE.sub(lambda inner: held[int(inner.group(1))][1] if inner.group(1) else inner.group(), content)
        if kind == "note":
            if ready.words:
                before = len(ready.words) - 1
                ready.notes[before] = f"{ready.notes[before]}; {content}" if before in ready.notes else content
            elif content:
                _add_plain(ready, content, nlp)
        else:
            ready.shown.append(_as_word(content))
            ready.words.append(content)
            ready.spaces.append(False)
    return ready


def _portions(text: str) -> list[str]:
    """The text in pieces of at most `WIDEST`, cut between words where there is a blank."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > WIDEST:
        blank = text.rfind(" ", start, start + WIDEST)
        end = blank if blank > start else start + WIDEST
        pieces.append(text[start:end].strip())
        start = end
    return [*pieces, text[start:].strip()]


def _add_plain(ready: Prepared, text: str, nlp: Language) -> None:
    if text.startswith(" "):
        if ready.spaces:
            ready.spaces[-1] = True
        text = text[1:]
    joins = False
    for token in nlp.make_doc(text):
        hyphen = token.text == "-" and ready.words and not ready.spaces[-1] and not token.whitespace_
        if hyphen or joins:
            ready.shown[-1] += token.text
            ready.words[-1] += token.text
            ready.spaces[-1] = bool(token.whitespace_)
        else:
            ready.shown.append(token.text)
            ready.words.append(token.text)
            ready.spaces.append(bool(token.whitespace_))
        joins = hyphen


def _as_word(title: str) -> str:
    """What the parser sees of a title: its last word, with a capital."""
    return re.findall(r"\w+", title)[-1].capitalize()


def parses(texts: Sequence[str]) -> list[list[Tree]]:
    """One tree a text, or one a clause where semicolons stand between whole clauses ("It is old; she sold it").

    The parser takes such clauses for parts of each other. A list with semicolons has no verbs in its parts; it stays
    one.
    """
    wanted = [[text, *_clauses(text)] for text in texts]
    found = iter(trees([piece for pieces in wanted for piece in pieces]))
    groups = [[next(found) for _ in pieces] for pieces in wanted]
    return [group[1:] if len(group) > 1 and all(map(_is_clause, group[1:])) else group[:1] for group in groups]


def _clauses(text: str) -> list[str]:
    """The text cut at its semicolons; [] where there is none or one stands within brackets or quotation marks."""
    parts = [part.strip() for part in text[:WIDEST].split(";")]
    whole = all(part.count("(") == part.count(")") and part.count('"') % 2 == 0 for part in parts)
    return parts if 1 < len(parts) <= MOST_CLAUSES and whole and all(parts) and len(text) <= WIDEST else []


def _is_clause(tree: Tree) -> bool:
    """Whether the root is a verb with a subject of its own."""
    roots = [at for at, dep in enumerate(tree.deps) if dep == "ROOT"]
    return any(tree.tags[at][:1] == "V" and tree.kids(at, "nsubj", "nsubjpass", "expl") for at in roots)


def trees(texts: Sequence[str]) -> list[Tree]:
    """Parse all in one batch. Thread-safe."""
    nlp = load()
    prepared = [prepare(text, nlp) for text in texts]
    with LOCK:
        docs = list(nlp.pipe(_docs(prepared, nlp), batch_size=64))
    return [_tree(ready, doc) for ready, doc in zip(prepared, docs, strict=True)]


def _docs(prepared: Sequence[Prepared], nlp: Language) -> Iterator[Doc]:
    from spacy.tokens import Doc

    for ready in prepared:
        yield Doc(nlp.vocab, words=ready.shown[:LONGEST], spaces=ready.spaces[:LONGEST])


def _tree(ready: Prepared, doc: Doc) -> Tree:
    size = len(doc)
    deps, heads = [token.dep_ for token in doc], [token.head.i for token in doc]
    tags = [token.tag_ for token in doc]
    draft = Draft(ready.words[:size], tags, deps, heads)
    draft.repair()
    mend(draft)
    rest = [_plain(ready, start) for start in range(size, len(ready.words), LONGEST)]
    return Tree(ready.words[:size], ready.spaces[:size], tags, deps, heads, ready.notes, [*rest, *ready.uncut])


def _plain(ready: Prepared, start: int) -> str:
    piece = range(start, min(start + LONGEST, len(ready.words)))
    return "".join(ready.words[i] + (" " if ready.spaces[i] else "") for i in piece).strip()
