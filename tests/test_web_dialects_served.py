"""Errors of Tavily, Brave, Exa, SearXNG and MediaWiki, replies of any shape, and searches from end to end."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopback import Answer
from search_replies import BRAVE, MEDIAWIKI, REPLIES, SEARXNG, TAVILY, brave_error, exa_error
from search_server import HTML, SearchServer
from veridical.errors import FatalError, SearchError
from veridical.knowledge.web.base import WebRequest
from veridical.knowledge.web.providers import DIALECTS, PROVIDERS
from veridical.types import Passage, Query

KEY = "key-0123456789abcdef"
ASK = WebRequest(query="Marie Curie born", k=5)
OURS: dict[str, Any] = {name: DIALECTS[name] for name in ("tavily", "brave", "exa", "searxng", "mediawiki")}


@pytest.mark.parametrize(
    ("name", "status", "payload", "complaint", "exhausted"),
    [
        ("tavily", 401, {"detail": {"error": "Unauthorized: bad key."}}, "Unauthorized: bad key.", True),
        ("tavily", 432, {"detail": {"error": "Exceeds your plan."}}, "Exceeds your plan.", True),
        ("tavily", 433, {"detail": "Exceeds."}, "Exceeds.", True),
        ("tavily", 429, {"detail": {"error": "excessive requests"}}, "excessive requests", False),
        ("tavily", 422, {"detail": [{"msg": "too long"}, {"msg": "x"}]}, "too long; x", False),
        ("tavily", 200, TAVILY, None, False),
        ("brave", 429, brave_error("RATE_LIMITED", 429, "Slow down"), "RATE_LIMITED: Slow down", False),
        ("brave", 429, brave_error("QUOTA_LIMITED", 429, "Used up"), "QUOTA_LIMITED: Used up", True),
        ("brave", 422, brave_error("SUBSCRIPTION_TOKEN_INVALID", 422, "Bad"), "SUBSCRIPTION_TOKEN_INVALID: Bad", True),
        ("brave", 422, brave_error("VALIDATION", 422, "Not valid", errors=[{"msg": "at most 400"}, 3]),
         "VALIDATION: Not valid; at most 400", False),
        ("brave", 500, {"error": "oops"}, "oops", False),
        ("brave", 200, BRAVE, None, False),
        ("exa", 402, exa_error("NO_MORE_CREDITS", "Top up"), "NO_MORE_CREDITS: Top up", True),
        ("exa", 401, exa_error("INVALID_API_KEY", "Bad"), "INVALID_API_KEY: Bad", True),
        ("exa", 400, {"error": "You have exceeded your credits limit."}, "You have exceeded your credits limit.", True),
        ("exa", 400, {"error": "bad query: film credits"}, "bad query: film credits", False),
        ("exa", 429, {"error": "You've exceeded your rate limit"}, "You've exceeded your rate limit", False),
        ("exa", 400, exa_error("INVALID_REQUEST", "x"), "INVALID_REQUEST: x", False),
        ("searxng", 400, {"error": "No query"}, "No query", False),
        ("searxng", 429, None, None, False),
        ("searxng", 200, SEARXNG, None, False),
        ("mediawiki", 200, {"error": {"code": "badquery", "info": "Not so"}}, "badquery: Not so", False),
        ("mediawiki", 200, {"error": {"code": "readapidenied", "info": "Log in"}}, "readapidenied: Log in", True),
        ("mediawiki", 200, {"errors": [{"code": "c", "html": "<b>no</b>"}]}, "c: no", False),
        ("mediawiki", 200, MEDIAWIKI, None, False),
    ],
)  # fmt: skip
def test_q1_the_providers_words(name, status, payload, complaint, exhausted):
    assert OURS[name].complaint(status, payload) == complaint
    assert OURS[name].exhausted(status, payload) is exhausted


WORDS = st.text("abN xyz.\n\"'<>&;/\x00é中", max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.just("https://a.test/x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
ENTRY = st.dictionaries(
    st.sampled_from(
        re.findall(
            r"\w+",
            "title url fullurl content description extra_snippets text highlights extract snippet index revisions "
            "timestamp publishedDate published_date age page_age answer question infobox urls id attributes long_desc "
            "label value code detail error info meta tag",
        )
    ),
    VALUES,
    max_size=5,
)
ENTRIES = st.lists(ENTRY | VALUES, max_size=3) | VALUES
GROUP = st.dictionaries(st.sampled_from(["results", "pages", "search", "description", "errors"]), ENTRIES) | ENTRIES
PAYLOADS = VALUES | st.dictionaries(
    st.sampled_from(
        re.findall(
            r"\w+",
            "results web infobox faq query answers infoboxes unresponsive_engines error errors detail message tag "
            "requestId batchcomplete answer",
        )
    ),
    GROUP | ENTRY,
    max_size=4,
)


def given_in(payload: Any) -> int:
    """Objects and texts in a payload: no more can be found in it."""
    if isinstance(payload, dict | list):
        inner = payload.values() if isinstance(payload, dict) else payload
        return isinstance(payload, dict) + sum(map(given_in, inner))
    return isinstance(payload, str | int | float)


@pytest.mark.parametrize("name", OURS)
@settings(max_examples=100, deadline=None)
@given(PAYLOADS, st.integers(1, 4), st.sampled_from([None, "2020-01-01"]), st.sampled_from([200, 400, 403, 429, 500]))
def test_q2_no_payload_is_too_odd_and_no_none_is_read(name, payload, k, before, status):
    dialect = OURS[name]
    said = dialect.complaint(status, payload)
    assert said is None or (said and "None" not in said)
    assert dialect.exhausted(status, payload) in (True, False)
    try:
        found = dialect.read(payload, WebRequest(query="q", k=k, before=before))
    except SearchError as error:
        assert "None" not in str(error).replace("NoneType", "")
        return
    assert len({passage.id for passage in found}) == len(found)
    assert sum("#" not in passage.id for passage in found) <= k
    assert len(found) <= given_in(payload)
    for passage in found:
        assert passage.text.strip() and "\n" not in passage.text
        for text in (passage.text, passage.title, passage.id, passage.date or ""):
            assert "None" not in text and "nan" not in text


# From end to end


class Server(SearchServer):
    """Speaks for one of the providers."""

    @property
    def environ(self) -> dict[str, str]:
        return dict.fromkeys(PROVIDERS[self.provider].key[-1:], KEY) | {"HOME": "/nowhere"}


async def search(name: str, handler: Any, **options: Any) -> tuple[Server, list[Passage] | Exception]:
    server = Server(handler, provider=name)
    async with server:
        searcher = server.searcher(**options)
        try:
            return server, await searcher.search(Query(text="Marie Curie born"), k=5)
        except (SearchError, FatalError) as error:
            return server, error
        finally:
            await searcher.close()


@pytest.mark.parametrize("name", OURS)
async def test_a_search_from_end_to_end(name):
    server, found = await search(name, REPLIES[name])
    assert isinstance(found, list)
    assert [passage.text for passage in found] == [passage.text for passage in OURS[name].read(REPLIES[name], ASK)][:5]
    assert all(passage.source.startswith(f"web:{name}@127.0.0.1") and passage.retrieved for passage in found)
    (request,) = server.requests
    assert server.queries == ["Marie Curie born"]
    assert KEY not in request.path
    assert any(KEY in value for value in request.headers.values()) is DIALECTS[name].key_needed
    assert request.headers["user-agent"].startswith("veridical/")


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("tavily", Answer({"detail": {"error": f"Unauthorized: {KEY}"}}, status=401), "TAVILY_API_KEY.*Unauthorized"),
        ("tavily", Answer({"detail": {"error": "exceeds your plan"}}, status=432), "exceeds your plan"),
        (
            "brave",
            Answer(brave_error("SUBSCRIPTION_TOKEN_INVALID", 422, "Bad"), status=422),
            "BRAVE_API_KEY.*TOKEN_INVALID",
        ),
        ("brave", Answer(brave_error("QUOTA_LIMITED", 429, "Quota"), status=429), "QUOTA_LIMITED"),
        ("exa", Answer(exa_error("NO_MORE_CREDITS", "Top up"), status=402), "EXA_API_KEY.*NO_MORE_CREDITS"),
        ("searxng", Answer(HTML, status=403), r"settings\.yml"),
        ("mediawiki", {"error": {"code": "readapidenied", "info": "You need read permission"}}, "read permission"),
    ],
)
async def test_q1_a_key_or_credit_error_stops_the_run(name, answer, said):
    server, error = await search(name, answer)
    assert isinstance(error, FatalError)
    assert len(server.requests) == 1
    assert KEY not in str(error)
    with pytest.raises(FatalError, match=said):
        raise error


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("tavily", Answer({"detail": {"error": "excessive requests"}}, status=429)),
        ("brave", Answer(brave_error("RATE_LIMITED", 429, "Request rate limit exceeded"), status=429)),
        ("exa", Answer({"error": "You've exceeded your rate limit"}, status=429)),
        ("searxng", {"results": [], "unresponsive_engines": [["google", "Suspended: too many requests"]]}),
        ("mediawiki", {"error": {"code": "ratelimited", "info": "You've exceeded your rate limit."}}),
        ("mediawiki", {"error": {"code": "maxlag", "info": "Waiting for a database server"}}),
    ],
)
async def test_q1_what_passes_is_tried_again(name, answer):
    server, found = await search(name, [answer, REPLIES[name]])
    assert isinstance(found, list) and found
    assert len(server.requests) == 2 and len(server.waits) == 1


async def test_engines_that_do_not_answer_are_asked_once_more_only():
    silent = {"results": [], "unresponsive_engines": [["google", "Suspended: too many requests"]]}
    server, error = await search("searxng", silent)
    assert isinstance(error, SearchError) and "given up after 2 attempts" in str(error)
    assert len(server.requests) == 2
    server, found = await search("searxng", silent | {"answers": ["1867"]})
    assert isinstance(found, list) and len(found) == 1 and len(server.requests) == 1


async def test_an_as_of_date_leaves_out_wiki_pages_edited_since():
    _, found = await search("mediawiki", MEDIAWIKI, before="2026-10-15")
    assert isinstance(found, list)
    assert [passage.title for passage in found] == ["Pierre Curie"]


async def test_q1_a_text_sends_searxng_nowhere_else():
    """As the server does it: a word with !! leads to another site, before any result."""

    def handler(request: Any) -> Any:
        orders = any(word.startswith("!!") for word in parse_qs(urlsplit(request.path).query)["q"][0].split())
        return Answer("", status=302, headers={"Location": "https://g.test"}) if orders else SEARXNG

    server = Server(handler, provider="searxng")
    async with server:
        searcher = server.searcher()
        assert await searcher.search(Query(text="He shouted !!g and left"), k=1)
        await searcher.close()
    assert server.queries == ["He shouted g and left"]


async def test_q3_words_left_out_for_brave_are_told():
    server = Server(REPLIES["brave"], provider="brave")
    async with server:
        searcher = server.searcher()
        await searcher.search(Query(text=" ".join(["Curie", "x"] * 40)), k=1)
        await searcher.close()
    assert len(server.queries[0].split()) == 50
    assert "50 words" in searcher.adaptations[0]
