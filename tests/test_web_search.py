"""Search of the web: what is asked, kept, paid and cached, and what becomes of every fault."""

import asyncio
import contextlib
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import Answer, Request
from search_server import (
    BROKEN,
    CUT,
    EMPTY,
    GATEWAY,
    HANGING,
    HTML,
    HUGE,
    KEY,
    NO_JSON,
    RESET,
    SearchServer,
    about,
    at_most,
    redirect,
    refusal,
    reply,
    result,
    slow,
    spent_after,
    too_many,
    wrong_key,
)
from veridical.errors import BudgetSpent, FatalError, InputError, SearchError, UsageError
from veridical.knowledge.web.base import WebRequest
from veridical.knowledge.web.kept import day, domain, keeps
from veridical.knowledge.web.providers import PROVIDERS, place, search_providers
from veridical.knowledge.web.query import one_line, shorten
from veridical.knowledge.web.search import WebSearcher, open_search
from veridical.models.cache import CallStore
from veridical.models.metered import Budget, measure
from veridical.signature import sign
from veridical.types import Passage, Query, Usage

HERE = {"SERPER_API_KEY": KEY, "HOME": "/nowhere"}
FACT = Query(text="Marie Curie was born in Warsaw in 1867.")


@contextlib.asynccontextmanager
async def searching(handler=None, **settings):
    """A server and its searcher."""
    async with SearchServer(handler) as server:
        searcher = server.searcher(**settings)
        yield server, searcher
        await searcher.close()


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


@given(st.text(), st.integers(1, 80))
def test_q3_no_query_is_longer_than_its_limit(text, limit):
    line = one_line(text)
    short = shorten(line, limit)
    assert len(short) <= limit
    assert bool(short) == bool(line)
    words = iter(line.split())
    whole = all(len(word) <= limit for word in line.split())
    assert not whole or all(word in words for word in short.split()), "whole words in their order"


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (100, "It was not in Paris that Curie got a Nobel Prize in 1903"),
        (45, "It not Paris Curie got Nobel Prize 1903"),
        (24, "Paris Curie Nobel 1903"),
        (5, "It"),
    ],
)
def test_q3_names_numbers_and_negations_stay_longest(limit, words):
    short = shorten("It was not in Paris that Curie got a Nobel Prize in 1903", limit)
    assert len(short) <= limit
    if limit > 24:
        assert "not" in short.split()
        assert "1903" in short.split()


# Q1, F37: faults


@pytest.mark.parametrize("status", [401, 403])
async def test_f37_a_wrong_key_stops_the_run_after_one_request_and_names_its_variable(status):
    async with searching(wrong_key(status)) as (server, searcher):
        for _ in range(3):
            with pytest.raises(FatalError, match=r"SERPER_API_KEY.*HTTP 40[13]: Unauthorized"):
                await searcher.search(FACT, k=3)
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [Answer(HTML, status=403), refusal(402, "Payment required"), Answer("", status=401)])
async def test_f37_a_refusal_in_any_words_stops_the_run(answer):
    async with searching(answer) as (server, searcher):
        with pytest.raises(FatalError, match="SERPER_API_KEY"):
            await searcher.search(FACT, k=3)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 429])
async def test_q1_spent_credit_stops_the_run_with_the_providers_words(status):
    async with searching(spent_after(10, status)) as (server, searcher):
        for number in range(10):
            assert await searcher.search(Query(text=f"fact {number}"), k=3)
        for number in range(10, 13):
            with pytest.raises(FatalError, match="Not enough credits"):
                await searcher.search(Query(text=f"fact {number}"), k=3)
    assert len(server.requests) == 11


async def test_q1_what_was_cached_is_found_even_without_credit(store):
    async with searching(spent_after(1), store=store) as (_, searcher):
        first = await searcher.search(FACT, k=3)
        with pytest.raises(FatalError):
            await searcher.search(Query(text="another"), k=3)
        assert await searcher.search(FACT, k=3) == first


@pytest.mark.parametrize("fault", [BROKEN, GATEWAY, too_many(), EMPTY, NO_JSON, CUT, RESET], ids=str)
async def test_f37_what_may_pass_is_tried_again(fault):
    async with searching([fault, fault, reply()]) as (server, searcher):
        assert len(await searcher.search(FACT, k=3)) == 1
    assert len(server.requests) == 3
    assert len(server.waits) == 2


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (BROKEN, "HTTP 500: Internal server error"),
        (GATEWAY, "HTTP 502: 502 Bad Gateway"),
        (too_many(), "HTTP 429: Too many requests"),
        (EMPTY, "no JSON: ''"),
        (NO_JSON, "no JSON: '<html>"),
        (CUT, "the reply was cut"),
    ],
    ids=str,
)
async def test_f37_attempts_are_bounded_and_the_last_error_is_told(fault, words):
    async with searching([reply(), fault], attempts=3) as (server, searcher):
        await searcher.search(Query(text="first"), k=3)
        with pytest.raises(SearchError, match=f"given up after 3 attempts.*{words}"):
            await searcher.search(FACT, k=3)
    assert len(server.requests) == 4


@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_f37_retry_after_is_waited_for(form):
    later = datetime.now(UTC) + timedelta(seconds=40)
    asked = "40" if form == "seconds" else format_datetime(later, usegmt=True)
    async with searching([too_many(asked), reply()]) as (server, searcher):
        assert await searcher.search(FACT, k=3)
    (wait,) = server.waits
    assert 20 < wait <= 40


async def test_f37_a_provider_that_asks_for_an_hour_is_not_waited_for():
    async with searching([reply(), too_many(3600)]) as (server, searcher):
        await searcher.search(Query(text="first"), k=3)
        with pytest.raises(SearchError, match="asks for 3600 s more"):
            await searcher.search(FACT, k=3)
    assert server.waits == []


async def test_f37_every_request_has_a_time_out():
    async with searching(HANGING, timeout=0.05, attempts=2) as (server, searcher):
        with pytest.raises(SearchError, match=r"2 attempts.*no answer in 0\.05 s"):
            await searcher.search(FACT, k=3)
    assert len(server.requests) == 2
    async with searching(slow(0.05)) as (_, searcher):
        assert await searcher.search(FACT, k=3)


async def test_an_outage_stops_the_run_instead_of_failing_its_facts():
    async with searching(BROKEN, attempts=1) as (_, searcher):
        searcher.retries.circuit = 3
        for _ in range(2):
            with pytest.raises(SearchError):
                await searcher.search(FACT, k=3)
        with pytest.raises(FatalError, match="the server answers no call"):
            await searcher.search(FACT, k=3)


async def test_a_server_that_is_not_there_is_told_at_once():
    async with SearchServer() as server:
        searcher = server.searcher(attempts=2)
    with pytest.raises(FatalError, match="server unreachable"):
        await searcher.search(FACT, k=3)
    await searcher.close()


async def test_redirects_are_not_followed():
    async with SearchServer() as other, searching(redirect(f"{other.url}/search")) as (server, searcher):
        with pytest.raises(FatalError, match="check the base URL"):
            await searcher.search(FACT, k=3)
        assert (len(server.requests), other.requests) == (1, [])


async def test_a_reply_without_end_is_not_read():
    async with searching(HUGE) as (server, searcher):
        with pytest.raises(SearchError, match="larger than 8 MiB"):
            await searcher.search(FACT, k=3)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refusal(422, "q must be a string"), "HTTP 422: q must be a string"),
        (refusal(404, "Not found"), "HTTP 404: Not found"),
        (Answer([1, 2]), "not a reply of serper: list"),
        (Answer({"a": 1}), "none of its members"),
        (Answer({"message": "Query not allowed"}), "Query not allowed"),
    ],
    ids=str,
)
async def test_other_errors_are_of_one_query(answer, words):
    async with searching([answer, reply()]) as (server, searcher):
        with pytest.raises(SearchError, match=words):
            await searcher.search(FACT, k=3)
        assert await searcher.search(FACT, k=3)
    assert len(server.requests) == 2


async def test_numbers_that_are_none_and_broken_surrogates_are_read():
    body = b'{"organic": [{"snippet": "a \\ud800 b", "position": NaN, "link": "http://e.test"}]}'
    async with searching(Answer(body)) as (_, searcher):
        (found,) = await searcher.search(FACT, k=3)
    assert found.text == "a � b"


@pytest.mark.parametrize("fault", [wrong_key(), BROKEN, refusal(422, f"bad {KEY}"), NO_JSON, RESET], ids=str)
async def test_the_key_is_in_no_message(fault):
    async with searching(fault, attempts=1) as (_, searcher):
        with pytest.raises((SearchError, FatalError)) as caught:
            await searcher.search(FACT, k=3)
        assert KEY not in f"{caught.value!r} {searcher!r} {searcher.identity}"


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


async def test_a_limit_to_the_cost_needs_a_price(tmp_path):
    path = tmp_path / "providers.toml"
    path.write_text('[search.mine]\ndialect = "serper"\nbase_url = "http://10.0.0.1/s"\n')
    environ = {"VERIDICAL_PROVIDERS": str(path)}
    assert open_search("mine+http://10.0.0.1", environ=environ).price == 0.0
    with pytest.raises(UsageError, match="price of a search by mine"):
        open_search("mine+http://10.0.0.1", budget=Budget(max_cost=1.0), environ=environ)


# Names and providers


def test_every_provider_of_the_table_opens():
    for name, provider in PROVIDERS.items():
        environ = {"HOME": "/nowhere"} | dict.fromkeys(provider.key, "key-1")
        searcher = open_search(f"web:{name}", environ=environ)
        assert isinstance(searcher, WebSearcher)
        assert (searcher.name, searcher.key is None) == (f"web:{name}", not provider.key)
        assert not provider.price_per_search or provider.prices_as_of


def test_the_signature_tells_what_moves_numbers_and_no_key():
    import dataclasses

    @dataclasses.dataclass
    class Part:
        searcher: WebSearcher
        name: str = "m"

    fields = sign(Part(open_search("serper", before="2023-04-01", block=["X.org"], environ=HERE))).fields
    assert fields["searcher"] == "web:serper"
    assert fields["searcher.identity"] == (
        "web:serper https://google.serper.dev language=en country=us before=2023-04-01 block=x.org"
    )


@pytest.mark.parametrize(
    ("spec", "settings", "words"),
    [
        ("nobody", {}, "unknown provider of web search 'nobody'; known: .*serper"),
        ("serper", {"environ": {"HOME": "/nowhere"}}, "environment variable SERPER_API_KEY"),
        ("serper", {"environ": {"SERPER_API_KEY": "a\nb"}}, "characters that no key has"),
        ("serper+ftp://x", {}, "must start with http"),
        ("serper+http://me:pw@x", {}, "no user name"),
        ("serper", {"before": "yesterday"}, "is no date"),
        ("serper", {"language": "english"}, "no language code"),
        ("serper", {"country": "u"}, "no country code"),
        ("serper", {"allow": ["a b"]}, "is no domain"),
        ("serper", {"timeout": 0}, "timeout"),
        ("serper", {"max_query": 3}, "at least 64"),
    ],
)
def test_what_cannot_be_opened_is_told(spec, settings, words):
    with pytest.raises(UsageError, match=words):
        open_search(spec, **{"environ": HERE} | settings)


def test_a_key_is_not_needed_at_an_address_of_ones_own():
    assert place("serper+http://127.0.0.1:1", {"HOME": "/nowhere"}).key is None
    found = place("serper+http://127.0.0.1:1/", HERE)
    assert (found.name, found.base_url, found.key) == ("serper@127.0.0.1:1", "http://127.0.0.1:1", KEY)
    assert KEY not in repr(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("search = 1", "must be a table"),
        ("[search]\nserper = 1", "must be a table"),
        ("[search.x]\nbase_url = 'http://x'", "dialect 'x' is none of"),
        ("[search.serper]\ncolour = 'red'", "colour"),
        ("[search.serper]\nprice_per_search = -1", "0 or more"),
        ("[search.serper]\nbase_url = 'x'", "must start with http"),
    ],
)
def test_faults_in_the_users_file_are_named(tmp_path, text, words):
    path = tmp_path / "providers.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        search_providers({"VERIDICAL_PROVIDERS": str(path)})
    assert "providers.toml" in str(caught.value)


def test_the_users_file_changes_and_adds(tmp_path):
    path = tmp_path / "providers.toml"
    path.write_text(
        "[search.serper]\nprice_per_search = 0.0003\n"
        '[search.mine]\ndialect = "serper"\nbase_url = "https://mine.test"\nkey = ["MINE"]\n'
    )
    known = search_providers({"VERIDICAL_PROVIDERS": str(path)})
    assert (known["serper"].price_per_search, known["serper"].key) == (0.0003, ("SERPER_API_KEY",))
    assert known["mine"].base_url == "https://mine.test"


# Dates and domains


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-01", date(2024, 3, 1)),
        ("2024-03-01T10:00:00Z", date(2024, 3, 1)),
        ("2024-03", date(2024, 3, 1)),
        ("Mar 1, 2024", date(2024, 3, 1)),
        ("March 1st, 2024", date(2024, 3, 1)),
        ("Fri, 01 Mar 2024 10:00:00 GMT", date(2024, 3, 1)),
        ("1 March 2024", date(2024, 3, 1)),
        ("Sept 2024", date(2024, 9, 1)),
        ("2024", date(2024, 1, 1)),
        ("3 days ago", date(2026, 5, 29)),
        ("1 hour ago", date(2026, 5, 31)),
        ("a week ago", date(2026, 5, 25)),
        ("2 months ago", date(2026, 4, 1)),
        ("Yesterday", date(2026, 5, 31)),
        ("31 June 2024", None),
        ("Foo 1, 2024", None),
        ("last spring", None),
        ("", None),
    ],
)
def test_dates_as_providers_write_them(text, expected):
    assert day(text, "2026-06-01T00:30:00Z") == expected


@given(st.text(), st.text())
def test_no_date_is_too_odd(text, at):
    day(text, at)


@pytest.mark.parametrize(
    ("given_domain", "host", "kept"),
    [
        ("wikipedia.org", "en.wikipedia.org", True),
        ("https://en.wikipedia.org/wiki/X", "en.wikipedia.org", True),
        ("*.Wikipedia.org", "wikipedia.org", True),
        (".gov", "www.nasa.gov", True),
        ("pedia.org", "wikipedia.org", False),
        ("münchen.de", "www.xn--mnchen-3ya.de", True),
    ],
)
def test_domains_cover_their_subdomains(given_domain, host, kept):
    passage = Passage(id="1", text="t", url=f"https://{host}:443/x")
    assert keeps(passage, WebRequest(query="q", allow=(domain(given_domain),)), "") is kept
    assert keeps(passage, WebRequest(query="q", block=(domain(given_domain),)), "") is not kept


def test_with_allowed_domains_a_result_from_nowhere_is_left_out():
    nowhere = Passage(id="1", text="t")
    assert not keeps(nowhere, WebRequest(query="q", allow=("a.org",)), "")
    assert keeps(nowhere, WebRequest(query="q", block=("a.org",)), "")
