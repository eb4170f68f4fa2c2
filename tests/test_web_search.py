"""Search of the web: what is asked, shortened, cached and paid."""

import asyncio
import dataclasses
from datetime import datetime
from typing import Any

import pytest

from loopback import Answer, Request
from search_server import (
    BROKEN,
    CUT,
    KEY,
    NO_JSON,
    SearchServer,
    about,
    at_most,
    refusal,
    reply,
    result,
    searching,
    slow,
)
from veridical.errors import BudgetSpent, FatalError, SearchError, UsageError
from veridical.knowledge.web.base import Exchange, WebRequest
from veridical.knowledge.web.search import WebSearcher, open_search
from veridical.models.cache import CallStore
from veridical.models.metered import Budget, measure
from veridical.types import Passage, Query, Usage

FACT = Query(text="Marie Curie was born in Warsaw in 1867.")
HERE = {"SERPER_API_KEY": KEY, "HOME": "/nowhere"}


@pytest.fixture
def store(tmp_path):
    opened = CallStore(tmp_path / "cache.sqlite")
    yield opened
    opened.close()


# What is asked and what comes back


async def test_f36_a_search_is_one_post_with_the_key_in_its_header():
    async with searching() as (server, searcher):
        found = await searcher.search(FACT, k=2)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/search")
    assert request.headers["x-api-key"] == KEY
    assert request.json == {"q": FACT.text, "gl": "us", "hl": "en", "num": 2}
    assert [passage.url for passage in found] == ["https://site1.test/page", "https://site2.test/page"]
    assert {passage.source for passage in found} == {searcher.name} == {f"web:serper@127.0.0.1:{server.port}"}
    assert datetime.fromisoformat(found[0].retrieved or "").tzinfo is not None


async def test_the_topic_is_not_asked_for_and_the_text_is_put_on_one_line():
    async with searching() as (server, searcher):
        await searcher.search(Query(text="  born\tin\n\u2028Warsaw\x00 \ud800 ", topic="Marie Curie"), k=1)
    assert server.queries == ["born in Warsaw �"]


async def test_k_is_at_most_what_the_provider_gives_at_once():
    async with searching(reply(organic=[result(n) for n in range(30)])) as (server, searcher):
        assert len(await searcher.search(FACT, k=1_000_000)) == 10
        assert await searcher.search(FACT, k=0) == []
        with pytest.raises(SearchError, match="empty"):
            await searcher.search(Query(text=" \n"), k=3)
    assert [request.json["num"] for request in server.requests] == [10]


async def test_f36_answers_count_among_the_k_or_come_on_top():
    payload = reply(
        answerBox={"answer": "1867"},
        knowledgeGraph={"title": "Marie Curie", "type": "Physicist"},
        organic=[result(1), result(2), result(3)],
    )
    async with searching(payload) as (_, searcher):
        assert len(await searcher.search(FACT, k=3)) == 3
    async with searching(payload, answers_on_top=True) as (_, searcher):
        found = await searcher.search(FACT, k=2)
    assert [passage.text for passage in found][:2] == ["1867.", "Marie Curie: Physicist."]
    assert [passage.title for passage in found][2:] == ["Page 1", "Page 2"]


async def test_language_country_date_and_domains_are_asked_for():
    domains = {"allow": ["lemonde.fr", "https://bbc.co.uk/"], "block": ["reddit.com"]}
    async with searching(language="FR", country="ca", before="2023-04-01", **domains) as (server, searcher):
        await searcher.search(FACT, k=3)
    (sent,) = server.bodies
    assert (sent["hl"], sent["gl"], sent["tbs"]) == ("fr", "ca", "cdr:1,cd_max:4/1/2023")
    assert sent["q"] == f"{FACT.text} (site:bbc.co.uk OR site:lemonde.fr) -site:reddit.com"


async def test_date_and_domains_are_seen_to_here_as_well():
    payload = reply(
        answerBox={"answer": "It is so today."},
        knowledgeGraph={"title": "X", "description": "As of today."},
        organic=[
            result(1, date="Apr 1, 2023"),
            result(2, date="Apr 2, 2023"),
            result(3, date="3 days ago"),
            result(4),
            result(5, link="https://old.reddit.com/r/x", date="2019"),
            result(6, link="https://notreddit.com/x", date="someday"),
        ],
    )
    async with searching(payload, before="2023-04-01", block=["reddit.com"]) as (_, searcher):
        found = await searcher.search(FACT, k=6)
    assert [passage.title for passage in found] == ["Page 1", "Page 4", "Page 6"]


@dataclasses.dataclass(frozen=True)
class ByGet:
    """A provider that is asked by GET, needs no key and refuses some queries with 403."""

    name: str = "get"
    key_needed: bool = False
    max_query: int | None = 100
    max_k: int = 5

    def exchange(self, request: WebRequest, base_url: str, key: str | None) -> Exchange:
        params = {"q": request.query, "n": str(request.k)}
        return Exchange(method="GET", url=f"{base_url}/find", params=params, headers={"X-Who": "me"})

    def read(self, payload: Any, request: WebRequest) -> list[Passage]:
        return [Passage(id=text, text=text) for text in payload]

    def complaint(self, status: int, payload: Any) -> str | None:
        return payload.get("why") if isinstance(payload, dict) else None

    def exhausted(self, status: int, payload: Any) -> bool:
        return False


async def test_a_provider_may_be_asked_by_get():
    query = "Ünited & 1+1=2? #a %20 中文"
    async with SearchServer(Answer(["one", "two"])) as server:
        searcher = WebSearcher(name="web:get", dialect=ByGet(), base_url=server.url)
        found = await searcher.search(Query(text=query), k=9)
        server.handler = Answer({"why": "that is not to be looked for"}, status=403)
        with pytest.raises(SearchError, match="not to be looked for"):
            await searcher.search(Query(text="x"), k=1)
        server.handler = Answer("<h1>Forbidden</h1>", status=403)
        with pytest.raises(FatalError, match="HTTP 403: Forbidden"):
            await searcher.search(Query(text="x"), k=1)
        await searcher.close()
    assert [passage.text for passage in found] == ["one", "two"]
    first = server.requests[0]
    assert (first.method, server.queries[0], first.body) == ("GET", query, b"")
    assert first.path.endswith("&n=5")
    assert first.headers["x-who"] == "me"
    assert first.headers["user-agent"].startswith("veridical/")


async def test_many_blocked_domains_leave_room_for_the_query():
    blocked = [f"blocked-domain-{number}.example" for number in range(200)]
    async with searching(block=blocked, max_query=400) as (server, searcher):
        await searcher.search(Query(text="word " * 100), k=1)
    assert len(server.queries[0]) <= 400
    assert server.queries[0].count("word ") > 30
    with pytest.raises(UsageError, match="200 allowed domains are more than fit"):
        open_search("serper", allow=blocked, environ=HERE)


# Q3: the length of a query

LONG = (
    "Marie Curie, who had been born in Warsaw in 1867 and who was the first woman to win a Nobel Prize, "
    "is said to have worked with her husband Pierre in a shed, and it was there that they were able to isolate "
    "the element that is now known as radium, which they did after they had been treating tonnes of pitchblende "
    "for several years under conditions that were described by the chemist Wilhelm Ostwald, who came to visit in 1898, "
    "as something between a stable and a potato cellar, so that he would have thought it to be a practical joke "
    "if he had not seen the worktable with the chemical apparatus on it and spoken to them himself in Paris."
)


async def test_q3_a_long_query_is_shortened_to_the_known_limit_and_told_once():
    assert len(LONG) > 600
    async with searching(at_most(400), max_query=400) as (server, searcher):
        for _ in range(2):
            assert await searcher.search(Query(text=LONG), k=1)
    assert len(server.queries[0]) <= 400
    for word in ("Marie", "Curie,", "Warsaw", "1867", "Nobel", "Pierre", "Wilhelm", "Ostwald,", "1898,", "Paris."):
        assert word in server.queries[0].split()
    assert searcher.adaptations == [
        f"long queries are shortened, stop words first: {searcher.name} takes 400 characters at most"
    ]


async def test_q3_a_limit_that_was_not_known_is_found_and_kept():
    middling = "x" * 300
    async with searching(at_most(400)) as (server, searcher):
        assert await searcher.search(Query(text=LONG), k=1)
        assert await searcher.search(Query(text=LONG + " And more."), k=1)
        assert await searcher.search(Query(text=middling), k=1)
    sizes = [len(query) for query in server.queries]
    assert sizes[0] == len(LONG)
    assert 400 < sizes[1] <= 512
    assert sizes[2] <= 256, "what is sent in the end does not depend on what was asked before"
    assert sizes[3] <= 256
    assert sizes[4:] == [300]
    assert len(searcher.adaptations) == 1
    assert "shortened" in searcher.adaptations[0]


async def test_q3_a_refusal_that_was_not_of_the_length_spoils_no_other_query():
    def handler(request: Request):
        return refusal(400, "num exceeds the maximum") if "odd" in request.json["q"] else about(request)

    async with searching(handler) as (_, searcher):
        with pytest.raises(SearchError, match="num exceeds the maximum"):
            await searcher.search(Query(text="odd " * 100), k=1)
        assert await searcher.search(Query(text=LONG), k=1)
    assert searcher.adaptations == []


async def test_no_more_at_once_than_the_limit():
    async with searching(slow(0.01), concurrency=3) as (server, searcher):
        await asyncio.gather(*(searcher.search(Query(text=f"q{n}"), k=1) for n in range(12)))
    assert (server.peak, len(server.requests)) == (3, 12)


# F35: the cache


async def test_f35_the_same_query_five_times_is_paid_once(store):
    budget = Budget(max_cost=1.0)
    async with searching(store=store, budget=budget) as (server, searcher):
        with measure() as meter:
            found = [await searcher.search(FACT, k=3) for _ in range(3)]
            found += await asyncio.gather(*(searcher.search(Query(text=f" {FACT.text}\n"), k=3) for _ in range(2)))
    assert len(server.requests) == 1
    assert all(one == found[0] for one in found)
    assert (budget.searches, budget.calls, budget.spent) == (1, 0, pytest.approx(0.001))
    assert meter.usage == Usage(searches=5, cost=pytest.approx(0.005)), "a report does not depend on cache luck"
    (row,) = store.stats()
    assert (row.kind, row.name, row.calls, row.cost) == ("search", searcher.name, 1, pytest.approx(0.001))


async def test_f35_identical_searches_under_way_are_one(store):
    async with searching(slow(0.02), store=store) as (server, searcher):
        await asyncio.gather(*(searcher.search(FACT, k=3) for _ in range(5)))
    assert len(server.requests) == 1


async def test_f35_a_reply_from_the_cache_keeps_its_time(store):
    async with searching(store=store) as (_, searcher):
        searcher.clock = lambda: "2026-01-01T00:00:00Z"
        first = await searcher.search(FACT, k=3)
        searcher.clock = lambda: "2026-06-01T00:00:00Z"
        assert await searcher.search(FACT, k=3) == first
    assert first[0].retrieved == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(("payload", "requests"), [(reply(organic=[]), 1), ({}, 2)])
async def test_f35_no_results_are_kept_if_the_provider_says_so(store, payload, requests):
    async with searching(payload, store=store) as (server, searcher):
        for _ in range(2):
            assert await searcher.search(FACT, k=3) == []
    assert len(server.requests) == requests


async def test_f35_errors_are_not_kept(store):
    async with searching([refusal(422, "no"), reply()], store=store) as (_, searcher):
        with pytest.raises(SearchError):
            await searcher.search(FACT, k=3)
        assert await searcher.search(FACT, k=3)


@pytest.mark.parametrize(
    "other",
    [{"language": "de"}, {"country": "de"}, {"before": "2020-01-01"}, {"allow": ["a.org"]}, {"block": ["b.org"]}],
)
async def test_f35_every_setting_is_another_search(store, other):
    async with SearchServer() as server:
        one, two = server.searcher(store=store), server.searcher(store=store, **other)
        for searcher in (one, two, one, two):
            await searcher.search(FACT, k=3)
            await searcher.close()
    assert len(server.requests) == 2
    assert one.identity != two.identity


# Money


async def test_the_budget_is_not_exceeded():
    budget = Budget(max_cost=0.0035)
    async with searching(slow(0.001), budget=budget) as (server, searcher):
        outcomes = await asyncio.gather(
            *(searcher.search(Query(text=f"q{n}"), k=1) for n in range(8)), return_exceptions=True
        )
    assert len(server.requests) == budget.searches == 3
    assert sum(isinstance(outcome, BudgetSpent) for outcome in outcomes) == 5


async def test_what_may_have_been_billed_is_booked():
    budget = Budget()
    faults = [NO_JSON, BROKEN, CUT, reply()]
    async with searching(faults, budget=budget) as (server, searcher):
        await searcher.search(FACT, k=3)
    assert len(server.requests) == 4
    assert budget.searches == 2, "a cut reply may have been billed, as the last one; errors are not"
    async with searching({"a": 1}, budget=budget) as (_, searcher):
        with pytest.raises(SearchError, match="none of its members"):
            await searcher.search(FACT, k=3)
    assert budget.searches == 3, "a reply that cannot be read was given all the same"


async def test_a_limit_to_the_cost_needs_a_price(tmp_path):
    path = tmp_path / "providers.toml"
    path.write_text('[search.mine]\ndialect = "serper"\nbase_url = "http://10.0.0.1/s"\n')
    environ = {"VERIDICAL_PROVIDERS": str(path)}
    assert open_search("mine+http://10.0.0.1", environ=environ).price == 0.0
    with pytest.raises(UsageError, match="price of a search by mine"):
        open_search("mine+http://10.0.0.1", budget=Budget(max_cost=1.0), environ=environ)
