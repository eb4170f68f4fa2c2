"""The search loop: a model searches for a fact step by step, each query in view of what was found (SAFE, section 4).

As published: up to five steps of one query and three results each, everything found is kept. Ours: the wording; that
the model may say that it has enough; that a query is not sent twice; and that evidence keeps where it came from.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from ..asking import ask, prompt
from ..errors import ParseError, SearchError, UsageError
from ..failures import failure
from ..knowledge.base import Searcher
from ..models.base import ChatReply, ChatRequest, LanguageModel, Message
from ..prompts import Template, fence
from ..replies import answer
from ..replies.blocks import read_block
from ..showing import fitting
from ..text.normal import fold, is_blank, tokens
from ..types import AtomicFact, Evidence, Failure, Generation, Passage, Query, Search
from .relevance import unread

ENOUGH = "no further search"
"""What the model writes in place of a query to end the loop."""


@dataclass(frozen=True)
class SearchLoop:
    """Gathers in up to `steps` searches of `k` results; a step costs one call of the model and one search.

    The loop ends early where the model says that it has enough (`early_stop`; only once something was found), where it
    asks again for what was searched already (it is told so once; unless `repeats`), and where no query can be read. If
    that is the first one, the fact itself is searched for. All of this is told in `Evidence.skipped`.

    A search that fails is in `Evidence.searches` with its failure, and the loop goes on. Raises `SearchError` where all
    searches failed, `ModelError` where a call of the model did: such a fact is unscored, not short of evidence.
    """

    model: LanguageModel
    searcher: Searcher
    steps: int = 5
    k: int = 3
    early_stop: bool = True
    repeats: bool = False
    """Go on where the model repeats a query, as published. What it found is taken from the first time. The model is not
    shown its queries then, as published too."""
    max_tokens: int = 512
    temperature: float = 0.0
    retries: int = 1
    """Further calls in a step whose reply was cut, unreadable, or a query that was searched already."""
    max_evidence_tokens: int = 4000
    """Of what is shown to the model, as in `RetrieveVerifier`; all of it is kept."""
    template: Template = field(init=False)
    enough: Template = field(init=False)
    again: Template = field(init=False)
    repeated: Template = field(init=False)

    def __post_init__(self) -> None:
        if self.steps < 1 or self.k < 1 or self.retries < 0:
            raise UsageError(f"at least one step and one result: {self.steps}, {self.k}, retries {self.retries}")
        names = {"template": "query", "enough": "query_enough", "again": "query_again", "repeated": "query_repeated"}
        for part, name in names.items():
            object.__setattr__(self, part, Template.load(f"safe/{name}"))

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence:
        """See `Gatherer`. The topic of the generation is not used: searches are of the whole collection."""
        found = _Found()
        if note := unread():
            found.skipped.append(note)
        for step in range(1, self.steps + 1):
            try:
                query = await self._query(fact, found)
            except ParseError as error:
                await self._without(fact, found, f"step {step}: no query could be read ({error})")
                break
            if query is None:
                break
            await self._search(query, found)
        return found.evidence()

    def prompt(self, fact: AtomicFact, found: Evidence) -> str:
        """What the model is asked in the next step."""
        searched = [] if self.repeats else [_told(search) for search in found.searches]
        known = fitting(found.passages, self.max_evidence_tokens)
        return self.template.fill(
            statement=fence("statement", fact.text),
            knowledge=fence("knowledge", shown(known) if known else "(nothing has been found yet)"),
            searched=f"Searched already:\n{fence('searched', chr(10).join(searched))}\n" if searched else "",
            enough=self.enough.fill() if self._may_stop(found.passages) else "",
        )

    def _may_stop(self, passages: Sequence[Passage]) -> bool:
        """Not before something was found: what a model takes for settled then it takes from memory."""
        return self.early_stop and not all(is_blank(passage.text) for passage in passages)

    async def _query(self, fact: AtomicFact, found: _Found) -> str | None:
        """The query of the next step; None where the loop ends. At most 1 + `retries` calls."""
        evidence = found.so_far()
        request = prompt(self.prompt(fact, evidence), max_tokens=self.max_tokens, temperature=self.temperature)
        replies: list[ChatReply] = []
        read = functools.partial(_read, self._may_stop(evidence.passages), replies)
        query = await ask(self.model, request, read, reminder=self.again.fill(), retries=self.retries)
        if query is None or self.repeats or not found.has(query):
            return query
        if not found.told and len(replies) <= self.retries:
            found.told = True
            # Not by `ask`, which would take the reply out of the cache: it was readable, only of no use.
            left = self.retries - len(replies)
            request = _with(request, replies[-1], self.repeated.fill())
            query = await ask(self.model, request, read, reminder=self.again.fill(), retries=left)
            if query is None or not found.has(query):
                return query
        found.skipped.append(f"ended after {len(found.searches)} searches: the next query was one of them")
        return None

    async def _without(self, fact: AtomicFact, found: _Found, why: str) -> None:
        """Go on without the model: nothing was searched for yet, so the fact is."""
        if found.searches:
            found.skipped.append(f"{why}; the search ended there")
        else:
            found.skipped.append(f"{why}; the fact itself was searched for")
            await self._search(fact.text, found)

    async def _search(self, query: str, found: _Found) -> None:
        earlier = found.succeeded(query)
        passages: list[Passage] = []
        trouble: Failure | None = None
        if earlier is None:
            try:
                passages = await self.searcher.search(Query(text=query), k=self.k)
            except SearchError as error:
                trouble = failure("search", error)
        found.add(query, self.searcher.name, passages, trouble, earlier)


def shown(passages: Sequence[Passage]) -> str:
    """The passages in this order, each under its title, address and date as far as they are known."""
    return "\n\n".join(map(_shown, passages))


def _shown(passage: Passage) -> str:
    head = (("Title", passage.title), ("Source", passage.url), ("Date", passage.date))
    lines = [f"{name}: {' '.join(value.split())}" for name, value in head if value]
    return "\n".join([*lines, passage.text])


def _read(may_stop: bool, replies: list[ChatReply], reply: ChatReply) -> str | None:
    """The query, None for enough; keeps count of the replies."""
    replies.append(reply)
    if reply.finish_reason == "length":
        raise ParseError("the reply was cut before its end", reply=reply.text)
    text = _last_line(answer(reply.text))
    if not _ends(text):
        text = read_block(reply.text, "query")
    if not _ends(text):
        return text
    if not may_stop:
        raise ParseError("the reply ends a search that is not to end yet", reply=reply.text)
    return None


def _ends(text: str) -> bool:
    return f"{_key(text)} ".startswith(f"{_key(ENOUGH)} ")


def _last_line(said: str) -> str:
    """Of a reply without a block."""
    return "" if "```" in said else said.strip().rpartition("\n")[2]


def _with(request: ChatRequest, reply: ChatReply, said: str) -> ChatRequest:
    turns = (Message(role="assistant", content=reply.text), Message(role="user", content=said))
    return msgspec.structs.replace(request, messages=(*request.messages, *turns))


def _key(query: str) -> str:
    """Equal for queries that differ in case, blanks and punctuation only."""
    return " ".join(tokens(query)) or fold(query)


def _told(search: Search) -> str:
    if search.failure:
        return f"{search.query} (the search failed)"
    return search.query if search.passages else f"{search.query} (nothing was found)"


class _Found:
    """What one loop has found so far."""

    def __init__(self) -> None:
        self.passages: dict[str, Passage] = {}
        self.searches: list[Search] = []
        self.skipped: list[str] = []
        self.told = False
        """The model was told once that it repeats itself."""
        self._by_key: dict[str, Search] = {}

    def has(self, query: str) -> bool:
        return _key(query) in self._by_key

    def succeeded(self, query: str) -> Search | None:
        """The search for the same query, if there was one that did not fail."""
        search = self._by_key.get(_key(query))
        return None if search is None or search.failure else search

    def add(
        self, query: str, source: str, passages: Sequence[Passage], trouble: Failure | None, earlier: Search | None
    ) -> None:
        if earlier is not None:
            search = msgspec.structs.replace(earlier, query=query)
        else:
            ids = [self._kept(passage) for passage in passages if not is_blank(passage.text)]
            search = Search(query=query, source=source, passages=tuple(dict.fromkeys(ids)), failure=trouble)
        self._by_key[_key(query)] = search
        self.searches.append(search)

    def _kept(self, passage: Passage) -> str:
        """Its id. One page may be found twice with other words of it: these get an id of their own, "{id}~2"."""
        wanted, number = passage.id, 1
        while (there := self.passages.get(wanted)) is not None:
            if passage.text in there.text:
                return wanted
            number += 1
            wanted = f"{passage.id}~{number}"
        self.passages[wanted] = passage if wanted == passage.id else msgspec.structs.replace(passage, id=wanted)
        return wanted

    def so_far(self) -> Evidence:
        return Evidence(
            queries=tuple(search.query for search in self.searches),
            passages=tuple(self.passages.values()),
            skipped=tuple(self.skipped),
            searches=tuple(self.searches),
        )

    def evidence(self) -> Evidence:
        """Raises `SearchError` where there were searches and all of them failed."""
        failed = [search.failure for search in self.searches if search.failure]
        if failed and len(failed) == len(self.searches):
            raise SearchError(f"all {len(failed)} searches failed; the first: {failed[0].message}")
        return self.so_far()
