"""What becomes of every fault of a provider of web search: tried again, told of one fact, or the end of the run."""

import dataclasses
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import Answer
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
    redirect,
    refusal,
    reply,
    searching,
    slow,
    spent_after,
    too_many,
    wrong_key,
)
from veridical.errors import FatalError, SearchError
from veridical.folder import RunFolder, RunInfo
from veridical.gather import Retrieve
from veridical.knowledge.web.http import Answer as WireAnswer
from veridical.knowledge.web.http import PassingSearch, payload
from veridical.knowledge.web.serper import Serper
from veridical.models.cache import CallStore
from veridical.pipeline import Method
from veridical.run import run
from veridical.types import AtomicFact, Decomposition, Generation, Label, Query, Verdict

FACT = Query(text="Marie Curie was born in Warsaw in 1867.")
BUSY = Answer({"error": "Waiting for a server: maxlag"}, headers={"Retry-After": "0"})


@pytest.fixture
def store(tmp_path):
    opened = CallStore(tmp_path / "cache.sqlite")
    yield opened
    opened.close()


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


@pytest.mark.parametrize("fault", [BROKEN, GATEWAY, too_many(), EMPTY, NO_JSON, CUT, RESET, BUSY], ids=str)
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


@pytest.mark.parametrize("fault", [CUT, NO_JSON, BROKEN], ids=str)
async def test_a_server_that_says_anything_is_reachable(fault):
    async with searching(fault, attempts=2) as (_, searcher):
        with pytest.raises(SearchError, match="given up after 2 attempts"):
            await searcher.search(FACT, k=3)


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


@given(
    st.sampled_from([200, 204, 301, 400, 401, 403, 404, 413, 422, 429, 500, 503, 599]),
    st.binary(max_size=60)
    | st.builds(
        lambda said, name: json.dumps({name: said}).encode(),
        st.text(max_size=20) | st.sampled_from(["Not enough credits", f"bad {KEY}", "too long", "rate limit"]),
        st.sampled_from(["message", "error", "organic", "detail"]),
    ),
    st.none() | st.text(max_size=20),
)
def test_f37_every_answer_is_a_reply_or_one_of_our_errors(status, body, retry_after):
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    try:
        payload(WireAnswer(status, headers, body), Serper(), key=KEY, variables=("SERPER_API_KEY",))
    except (SearchError, FatalError) as error:
        assert KEY not in str(error)
        assert len(str(error)) < 1000
        assert not isinstance(error, PassingSearch) or error.retry_after is None or error.retry_after >= 0
    else:
        assert 200 <= status < 300


# Q1, through a run


@dataclass(frozen=True)
class OneFact:
    name: str = "one fact"
    fingerprint = "a double"

    async def decompose(self, generation, sentences):
        return Decomposition(facts=(AtomicFact(id=f"{generation.id}/0.0", text=generation.text, sentence=0),))


@dataclass(frozen=True)
class AnyEvidence:
    """Supported if there is any evidence: what must not happen is that an error looks like no evidence."""

    name: str = "any evidence"
    fingerprint = "a double"

    async def verify(self, facts, generation):
        labels = [Label.SUPPORTED if found.passages else Label.NOT_ENOUGH_EVIDENCE for _, found in facts]
        return [Verdict(label=label, judge=self.name) for label in labels]


async def test_q1_a_run_stops_where_the_credit_ends_and_goes_on_later(tmp_path, store):
    generations = [Generation(id=str(n), text=f"Fact {n} is so.") for n in range(15)]
    folder = RunFolder(tmp_path / "run")
    async with searching(spent_after(10), store=store) as (server, searcher):
        method = Method(name="m", decomposer=OneFact(), gatherer=Retrieve(searcher, k=3), verifier=AnyEvidence())
        info = RunInfo(signature="m", fields=method.signature.fields, input="x", input_sha256="0")
        with folder.held():
            folder.start(method.signature, info)
        with pytest.raises(FatalError, match="Not enough credits"):
            await run(generations, method, folder, in_flight=1)
        assert [report.generation.id for report in folder.reports()] == [str(n) for n in range(10)]
        server.handler = about
        searcher = server.searcher(store=store)
        method = dataclasses.replace(method, gatherer=Retrieve(searcher, k=3))
        await run(generations, method, folder, done=folder.done(), in_flight=1)
        await searcher.close()
    reports = list(folder.reports())
    assert len(reports) == 15
    assert {fact.verdict.label for report in reports for fact in report.facts if fact.verdict} == {Label.SUPPORTED}
    assert all(report.usage.searches == 1 for report in reports)
    assert len(server.requests) == 16
