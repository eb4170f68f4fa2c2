"""Serper's wire format: what is sent, and what is read of replies of any shape."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_server import reply, result
from veridical.errors import SearchError, UsageError
from veridical.knowledge.web.base import WebRequest
from veridical.knowledge.web.serper import Serper
from veridical.types import Passage

SERPER = Serper()
ASK = WebRequest(query="Marie Curie born", k=3)
ADDRESS = "https://google.serper.dev"


def read(payload, request: WebRequest = ASK) -> list[Passage]:
    return SERPER.read(payload, request)


def texts(payload, request: WebRequest = ASK) -> list[str]:
    return [passage.text for passage in read(payload, request)]


# What is sent


def test_f36_a_request_as_serper_takes_it():
    sent = SERPER.exchange(ASK, ADDRESS, "key-1")
    assert (sent.method, sent.url, sent.headers) == ("POST", f"{ADDRESS}/search", {"X-API-KEY": "key-1"})
    assert sent.body == {"q": "Marie Curie born", "gl": "us", "hl": "en", "num": 3}
    assert SERPER.exchange(ASK, f"{ADDRESS}/", None).headers == {}


@pytest.mark.parametrize(
    ("allow", "block", "query"),
    [
        (("a.org",), (), "q site:a.org"),
        (("a.org", "b.org"), ("c.org",), "q (site:a.org OR site:b.org) -site:c.org"),
        ((), ("c.org", "d.org"), "q -site:c.org -site:d.org"),
    ],
)
def test_domains_are_operators_within_the_limit(allow, block, query):
    request = WebRequest(query="q", allow=allow, block=block)
    body = SERPER.exchange(request, ADDRESS, None).body
    assert body is not None and body["q"] == query
    assert SERPER.overhead(request) == len(query) - 1
    assert SERPER.overhead(WebRequest(query="q")) == 0


def test_domains_take_at_most_half_of_the_query():
    many = tuple(f"domain{number}.example" for number in range(100))
    small = Serper(max_query=200)
    assert 80 < small.overhead(WebRequest(query="q", block=many)) <= 101
    with pytest.raises(UsageError, match="100 allowed domains"):
        small.overhead(WebRequest(query="q", allow=many))


# What is read


def test_f36_answer_box_panel_and_results_in_this_order():
    payload = reply(
        answerBox={
            "title": "Marie Curie / Born",
            "answer": "November 7, 1867",
            "snippet": "Curie was born in Warsaw\non November 7, 1867",
            "snippetHighlighted": ["November 7, 1867", "in Warsaw, Poland"],
            "link": "https://a.test/curie",
            "date": "Jan 5, 2020",
        },
        knowledgeGraph={
            "title": "Marie Curie",
            "type": "Physicist",
            "description": "She did research on radioactivity.",
            "descriptionLink": "https://en.wikipedia.org/wiki/Marie_Curie",
            "attributes": {"Born": "November 7, 1867", "Spouse": "Pierre Curie"},
        },
        organic=[
            result(1, attributes={"Duration": "4:26", "Posted": "2 Mar 2021"}, date="Mar 2, 2021"),
            result(2),
        ],
        peopleAlsoAsk=[{"question": "Who was Pierre?", "snippet": "A physicist.", "link": "https://p.test"}],
    )
    box, panel, first, second = read(payload)
    assert box.text == ("November 7, 1867. Curie was born in Warsaw on November 7, 1867. in Warsaw, Poland.")
    assert (box.id, box.url, box.date) == ("https://a.test/curie#answer", "https://a.test/curie", "Jan 5, 2020")
    assert panel.text == (
        "Marie Curie: Physicist. She did research on radioactivity. "
        "Marie Curie Born: November 7, 1867. Marie Curie Spouse: Pierre Curie."
    )
    assert panel.id == "https://en.wikipedia.org/wiki/Marie_Curie#panel"
    assert (first.id, first.url, first.title) == ("https://site1.test/page", "https://site1.test/page", "Page 1")
    assert first.text == "Snippet 1 says so. Duration: 4:26. Posted: 2 Mar 2021."
    assert (first.date, second.date) == ("Mar 2, 2021", None)


@pytest.mark.parametrize("highlighted", [["Warsaw"], "Warsaw", None, [], [None, 3], {"a": 1}, 7])
def test_f36_highlighted_words_may_be_a_list_or_a_text_or_anything(highlighted):
    payload = reply(answerBox={"snippet": "Born in Warsaw", "snippetHighlighted": highlighted}, organic=[])
    (text,) = texts(payload)
    assert text.startswith("Born in Warsaw.")


@pytest.mark.parametrize(
    ("panel", "text"),
    [
        ({"type": "Actor"}, "Actor."),
        ({"title": None, "type": "Actor", "attributes": {"Born": 1970}}, "Actor. Born: 1970."),
        ({"title": "Ann Doe", "type": "Actor"}, "Ann Doe: Actor."),
        ({"title": "1867", "description": 1867}, "1867."),
        ({"title": 7, "type": ["Actor", "Singer"]}, "7: Actor, Singer."),
        (
            {"title": 10**400, "type": float("nan"), "description": True, "attributes": {"Born": 1970.5}},
            "Born: 1970.5.",
        ),
    ],
)
def test_f36_a_panel_without_a_title_has_no_none(panel, text):
    assert texts(reply(knowledgeGraph=panel, organic=[])) == [text]


def test_q2_only_an_answer_box():
    assert texts({"answerBox": {"answer": "1867"}}) == ["1867."]
    assert texts({"answerBox": {"snippet": "Born in 1867!"}}) == ["Born in 1867!"]
    assert texts({"answerBox": ["1867"]}) == texts({"answerBox": "1867"}) == ["1867."]


def test_q2_odd_entries_are_used_as_far_as_they_go():
    payload = {"organic": [{"title": "x"}, {"title": "y", "link": "http://e.test", "snippet": "It is so."}]}
    (found,) = read(payload)
    assert (found.text, found.url, found.title) == ("It is so.", "http://e.test", "y")
    odd = [None, 3, "text", [], {"snippet": "no link"}, {"link": "http://t.test", "title": "Only a title"}, {}]
    assert texts({"organic": odd}) == ["no link", "Only a title"]


@pytest.mark.parametrize("payload", [{}, {"organic": []}, {"organic": None}, {"searchParameters": {"q": "x"}}])
def test_q2_no_results_is_no_error(payload):
    assert read(payload) == []


@pytest.mark.parametrize("link", ["javascript:alert(1)", "ftp://x", "", None, 7, "http://a b"])
def test_links_that_are_no_pages_are_left_out(link):
    (found,) = read(reply(organic=[result(link=link)]))
    assert found.url is None
    assert found.id.startswith("serper:")


def test_ids_are_stable_and_pages_are_kept_once():
    payload = reply(organic=[result(1), result(1, snippet="again"), {"snippet": "x"}, {"snippet": "x"}, result(2)])
    found = read(payload)
    assert [passage.text for passage in found] == ["Snippet 1 says so.", "x", "Snippet 2 says so."]
    assert len({passage.id for passage in found}) == 3
    assert read(json.loads(json.dumps(payload))) == found
    one, other = read({"answerBox": {"answer": "1867"}}), read({"answerBox": {"answer": "1868"}})
    assert one[0].id != other[0].id, "answers to two queries of one fact are two passages"
    assert one[0].id.endswith("#answer")


def test_k_counts_results():
    payload = reply(answerBox={"answer": "a"}, organic=[result(n) for n in range(9)])
    assert len(read(payload)) == 4


def test_with_an_as_of_date_what_tells_of_today_is_left_out():
    payload = reply(
        answerBox={"answer": "Today's"}, knowledgeGraph={"title": "X", "type": "Actor"}, organic=[result(1)]
    )
    request = WebRequest(query="q", before="2020-02-29")
    assert texts(payload, request) == ["Snippet 1 says so."]
    payload["answerBox"]["date"] = "Jan 1, 2019"
    assert texts(payload, request) == ["Today's.", "Snippet 1 says so."]
    body = SERPER.exchange(request, ADDRESS, None).body
    assert body is not None and body["tbs"] == "cdr:1,cd_max:2/29/2020"


@pytest.mark.parametrize("payload", [None, [], [{}], "text", 3, {"a": 1}, {"message": "Not enough credits"}])
def test_q1_what_is_no_reply_is_an_error(payload):
    with pytest.raises(SearchError):
        read(payload)


@pytest.mark.parametrize(
    ("status", "payload", "complaint", "exhausted"),
    [
        (403, {"message": "Unauthorized.", "statusCode": 403}, "Unauthorized.", True),
        (400, {"message": "Not enough credits", "statusCode": 400}, "Not enough credits", True),
        (200, {"message": "Not enough credits"}, "Not enough credits", True),
        (429, {"message": "Rate limit"}, "Rate limit", False),
        (400, {"message": "Missing query parameter"}, "Missing query parameter", False),
        (500, {"error": {"message": "oops"}}, "oops", False),
        (500, "text", None, False),
        (200, {"organic": [], "message": "hello"}, None, False),
        (400, {"message": None}, None, False),
    ],
)
def test_q1_the_providers_words(status, payload, complaint, exhausted):
    assert SERPER.complaint(status, payload) == complaint
    assert SERPER.exhausted(status, payload) is exhausted


WORDS = st.text("abN xyz.\n\"'<\x00é中", max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
BOX = st.dictionaries(
    st.sampled_from(
        ["title", "answer", "snippet", "snippetHighlighted", "link", "date", "type", "description", "attributes"]
    ),
    VALUES | st.just("https://a.test/x"),
)
PAYLOADS = VALUES | st.fixed_dictionaries(
    {},
    optional={
        "organic": st.lists(BOX | VALUES, max_size=4) | VALUES,
        "answerBox": BOX | VALUES,
        "knowledgeGraph": BOX | VALUES,
        "message": VALUES,
        "searchParameters": VALUES,
    },
)


@settings(max_examples=300, deadline=None)
@given(PAYLOADS, st.integers(1, 5), st.sampled_from([None, "2020-01-01"]), st.sampled_from([200, 400, 403, 429, 500]))
def test_f36_no_payload_is_too_odd_and_no_none_is_read(payload, k, before, status):
    SERPER.complaint(status, payload)
    SERPER.exhausted(status, payload)
    request = WebRequest(query="q", k=k, before=before)
    try:
        found = read(payload, request)
    except SearchError:
        return
    assert len(found) <= k + 2
    assert len({passage.id for passage in found}) == len(found)
    for passage in found:
        assert passage.text.strip()
        assert "\n" not in passage.text
        for text in (passage.text, passage.title, passage.id):
            assert "None" not in text
            assert "nan" not in text
