"""Search of the web: a `Searcher` with cache, retries, bounded concurrency and a budget around one provider."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime

import msgspec

from ...errors import FatalError, SearchError, UsageError
from ...models.cache import CallStore, Question
from ...models.limit import Slots
from ...models.metered import SEARCH, Budget, Paying, book, used
from ...models.retry import Retries
from ...types import Passage, Query
from . import codes
from .base import Dialect, WebReply, WebRequest
from .http import Client, TooLong, payload
from .kept import domain, keeps, within
from .providers import place
from .query import fewer, one_line, shorten

_LENGTHS = (1024, 512, 256, 128, 64)
"""What is tried in turn where the provider refuses a query for its length without a limit being known."""


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclasses.dataclass
class WebSearcher:
    """One provider of web search.

    From the outside in, as with models (`models/factory.py`): each search is booked for the report, cached or not; the
    cache answers what was asked before, and identical searches under way are one; `retries` waits outside of any slot;
    `slots` bounds requests at once; `paying` books what is really spent and stops at the budget; then the client.

    Cached are all well-formed replies, also those without a result: SAFE asks the same query up to five times (A14),
    which shall be paid once, and a run shall find again what it found. A reply that is an error, or an empty object, is
    not kept. What was found is kept as it came; as-of date and domains are seen to afterwards.
    """

    name: str
    """"web:serper"; "web:serper@host:port" at another address."""
    dialect: Dialect
    base_url: str
    key: str | None = dataclasses.field(default=None, repr=False)
    variables: tuple[str, ...] = ()
    """Environment variables that may hold the key, for messages."""
    price: float = 0.0
    """US dollars a search."""
    language: str = "en"
    country: str = "us"
    before: str | None = None
    """As-of date (ISO): nothing that was published later, as far as dates are known."""
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    max_query: int | None = None
    """Longest query in characters; None: as the dialect says."""
    answers_on_top: bool = False
    """A direct answer and a panel come beside the k results, as in SAFE, instead of being counted among them."""
    store: CallStore | None = dataclasses.field(default=None, repr=False)
    client: Client = dataclasses.field(default_factory=Client, repr=False)
    retries: Retries = dataclasses.field(default_factory=Retries, repr=False)
    slots: Slots = dataclasses.field(default_factory=Slots, repr=False)
    paying: Paying = dataclasses.field(default_factory=lambda: Paying(Budget()), repr=False)
    clock: Callable[[], str] = dataclasses.field(default=now, repr=False)
    adaptations: list[str] = dataclasses.field(default_factory=list, init=False)
    """How queries had to be changed, in words."""
    _refused: float = dataclasses.field(default=math.inf, init=False, repr=False)
    """Characters of the shortest query that the provider has refused for its length."""
    _over: str | None = dataclasses.field(default=None, init=False, repr=False)
    """Why no later search can succeed."""

    def __post_init__(self) -> None:
        if self.max_query is None:
            self.max_query = self.dialect.max_query
        elif self.max_query < _LENGTHS[-1]:
            raise UsageError(f"the longest query must be at least {_LENGTHS[-1]} characters, not {self.max_query}")
        elif "max_query" in getattr(self.dialect, "__dataclass_fields__", ()):
            self.dialect = dataclasses.replace(self.dialect, max_query=self.max_query)  # pyright: ignore
        if both := [one for one in self.allow if any(within(one, domain) for domain in self.block)]:
            raise UsageError(f"{', '.join(sorted(both))} is both allowed and blocked")
        self._overhead(self._request("", 1))  # domains that cannot be asked for are told before a run

    @property
    def identity(self) -> str:
        """Everything beside the query that can change what is found; never the key."""
        settings = (
            ("language", self.language), ("country", self.country), ("before", self.before),
            ("allow", ",".join(self.allow)), ("block", ",".join(self.block)), ("max_query", self.max_query),
            ("answers_on_top", self.answers_on_top or None),
        )  # fmt: skip
        told = [f"{name}={value}" for name, value in settings if value not in (None, "")]
        return " ".join([self._where, *told])

    @property
    def _where(self) -> str:
        return f"{self.name} {self.base_url}"

    async def search(self, query: Query, *, k: int) -> list[Passage]:
        """At most k passages (and no more than the provider gives at once), best first.

        Only `query.text` is asked for: the web has no page of the topic, which is to be named in the text. It is put on
        one line and, where it is too long, shortened (see `query.shorten`), which `adaptations` tells.
        Raises `SearchError` for this query alone, `FatalError` where no further search can succeed.
        """
        text = one_line(query.text)
        if not text:
            raise SearchError("the query is empty")
        if k < 1:
            return []
        if k > self.dialect.max_k:
            self._tell(f"{self.name} gives {self.dialect.max_k} results at once, not the {k} asked for")
        request = self._request(text, min(k, self.dialect.max_k))
        reply = await self._fitting(request)
        book(used(reply, SEARCH))
        found = [passage for passage in reply.passages if keeps(passage, request, reply.at)]
        if self.answers_on_top:
            k += sum(_is_answer(passage) for passage in found)
        return [msgspec.structs.replace(passage, source=self.name, retrieved=reply.at or None) for passage in found[:k]]

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()

    def _request(self, text: str, k: int) -> WebRequest:
        return WebRequest(
            query=text,
            k=k,
            language=self.language,
            country=self.country,
            before=self.before,
            allow=self.allow,
            block=self.block,
        )

    def _overhead(self, request: WebRequest) -> int:
        """Characters that the dialect adds to the query, if it tells (`overhead`)."""
        overhead = getattr(self.dialect, "overhead", None)
        return overhead(request) if overhead else 0

    async def _fitting(self, request: WebRequest) -> WebReply:
        """The reply to the longest form of the query that the provider takes.

        The forms are the same for a query whatever was asked before, so that the cache finds them again.
        """
        refusal: SearchError | None = None
        refused = math.inf
        for text in self._forms(request):
            if len(text) >= self._refused:
                continue
            try:
                reply = await self._cached(msgspec.structs.replace(request, query=text))
            except TooLong as error:
                refusal, refused = error, len(text)
                continue
            self._refused = min(self._refused, refused)  # only now it is known to have been the length
            if text != request.query:
                self._note()
            return reply
        raise refusal or SearchError(f"{self.name} takes no query of {self._refused:.0f} characters or more")

    def _forms(self, request: WebRequest) -> Sequence[str]:
        longest = request.query
        if self.max_query is not None:
            longest = shorten(longest, max(1, self.max_query - self._overhead(request)))
        words = getattr(self.dialect, "words", None)
        if words is not None:
            longest = fewer(longest, words(request))
        return (longest, *(shorten(longest, length) for length in _LENGTHS if length < len(longest)))

    def _note(self) -> None:
        limit = f"{self.max_query} characters at most" if math.isinf(self._refused) else "no longer ones"
        if most := getattr(self.dialect, "max_words", None):
            limit = f"{limit}, and {most} words"
        self._tell(f"long queries are shortened, stop words first: {self.name} takes {limit}")

    def _tell(self, words: str) -> None:
        if words not in self.adaptations:
            self.adaptations.append(words)

    async def _cached(self, request: WebRequest) -> WebReply:
        asked = _Asked(self, request)
        if self.store is None:
            return await asked.call()
        question = Question("search", self.name, self._where, request)
        return await self.store.get_or_call(question, asked.call, WebReply, complete=asked.complete)


@dataclasses.dataclass
class _Asked:
    """One search that the cache could not answer."""

    searcher: WebSearcher
    request: WebRequest
    blank: bool = False
    """The reply was an empty object: neither results nor the word that there are none."""

    async def call(self) -> WebReply:
        searcher = self.searcher
        pay = functools.partial(searcher.paying.pay, searcher.price, self._once, SEARCH)
        return await searcher.retries.run(functools.partial(searcher.slots.run, pay), searcher.name)

    def complete(self, reply: WebReply) -> bool:
        return not self.blank

    async def _once(self) -> WebReply:
        searcher = self.searcher
        if searcher._over is not None:
            raise FatalError(searcher._over)
        at = searcher.clock()
        exchange = searcher.dialect.exchange(self.request, searcher.base_url, searcher.key)
        answer = await searcher.client.send(exchange, searcher.key)
        try:
            said = payload(answer, searcher.dialect, key=searcher.key, variables=searcher.variables)
        except FatalError as error:
            searcher._over = f"{searcher.name}: {error}"
            raise FatalError(searcher._over) from error
        self.blank = not said
        try:
            found = searcher.dialect.read(said, self.request)
        except SearchError as error:
            error.spent = WebReply(cost=searcher.price)
            raise
        return WebReply(passages=tuple(found), at=at, cost=searcher.price)


def _is_answer(passage: Passage) -> bool:
    """Direct answers and panels have ids of this form; see `base.Dialect`."""
    return passage.id.endswith(("#answer", "#panel"))


def open_search(
    spec: str,
    *,
    store: CallStore | None = None,
    budget: Budget | None = None,
    concurrency: int = 8,
    timeout: float = 30.0,
    attempts: int = 5,
    language: str = "en",
    country: str = "us",
    before: str | None = None,
    allow: Sequence[str] = (),
    block: Sequence[str] = (),
    max_query: int | None = None,
    answers_on_top: bool = False,
    dry: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> WebSearcher:
    """The searcher that a name stands for: "serper", "serper+http://host:port", with or without "web:" before it.

    `language` and `country` are ISO codes, `before` is an ISO date, `allow` and `block` are domains, `timeout` is in
    seconds for one request, `max_query` in characters. Nothing is sent yet; with `dry`, for a signature or an estimate,
    nothing is meant to be, so no key is asked for. Raises `UsageError` for a name, key, price
    or setting that is missing or none.
    """
    found = place(spec, environ, keyless=dry)
    budget = budget or Budget()
    if budget.max_cost is not None and found.price is None:
        raise UsageError(
            f"the price of a search by {found.name} is not known, so a limit to the cost cannot be kept; "
            "give it in providers.toml (see docs/search.md)"
        )
    if not (math.isfinite(timeout) and timeout > 0):
        raise UsageError(f"timeout must be a finite number of seconds above 0, not {timeout}")
    price = found.price or 0.0
    return WebSearcher(
        name=f"web:{found.name}",
        dialect=found.dialect,
        base_url=found.base_url,
        key=found.key,
        variables=found.variables,
        price=price,
        language=codes.language(language),
        country=codes.country(country),
        before=None if before is None else _iso(before),
        allow=tuple(sorted({domain(one) for one in allow})),
        block=tuple(sorted({domain(one) for one in block})),
        max_query=max_query,
        answers_on_top=answers_on_top,
        store=store,
        client=Client(timeout=timeout, pool=max(64, concurrency), price=price),
        retries=Retries(attempts=attempts),
        slots=Slots(limit=concurrency),
        paying=Paying(budget),
    )


def _iso(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise UsageError(f"{text!r} is no date; use one like 2024-03-31") from error
