"""Wire formats of Tavily, Brave, Exa, SearXNG and MediaWiki: what is sent, and what is read of replies of any shape."""

import contextlib
import json
from typing import Any

import pytest

from search_replies import BRAVE, EXA, MEDIAWIKI, RESULTS, SEARXNG, TAVILY
from veridical.errors import SearchError, UsageError
from veridical.knowledge.web.base import WebRequest
from veridical.knowledge.web.fields import plain
from veridical.knowledge.web.providers import DIALECTS, PROVIDERS
from veridical.knowledge.web.query import fewer

KEY = "key-0123456789abcdef"
ASK = WebRequest(query="Marie Curie born", k=3)
DATED = WebRequest(query="q", before="2020-02-29")
OURS: dict[str, Any] = {name: DIALECTS[name] for name in ("tavily", "brave", "exa", "searxng", "mediawiki")}


def texts(name: str, payload: Any, request: WebRequest = ASK) -> list[str]:
    return [passage.text for passage in OURS[name].read(payload, request)]


# What is sent


def test_all_are_known_by_name():
    for name in OURS:
        assert DIALECTS[name].name == PROVIDERS[name].dialect == name
        assert DIALECTS[name].key_needed is bool(PROVIDERS[name].key)
    assert PROVIDERS["brave"].key == ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY")


@pytest.mark.parametrize("name", OURS)
def test_the_key_is_in_a_header_only(name):
    sent = OURS[name].exchange(ASK, "https://api.test/", KEY)
    assert sent.url.startswith("https://api.test/") and "//" not in sent.url.removeprefix("https://")
    assert any(KEY in value for value in sent.headers.values())
    assert KEY not in sent.url + json.dumps([sent.params, sent.body])
    bare = OURS[name].exchange(ASK, "https://api.test", None)
    assert not any(header.lower().startswith(("authorization", "x-")) for header in bare.headers)


def test_what_tavily_is_sent():
    request = WebRequest(query="q", k=50, before="2020-02-29", allow=("a.org",), block=("b.org",))
    sent = OURS["tavily"].exchange(request, "https://api.tavily.com", KEY)
    assert (sent.method, sent.url) == ("POST", "https://api.tavily.com/search")
    assert sent.headers == {"Authorization": f"Bearer {KEY}"}
    assert sent.body == {
        "query": "q",
        "max_results": 20,
        "search_depth": "basic",
        "include_answer": False,
        "include_domains": ["a.org"],
        "exclude_domains": ["b.org"],
        "end_date": "2020-02-29",
    }


def test_what_brave_is_sent():
    request = WebRequest(query="q", k=5, language="ja", country="jp", before="2020-02-29", allow=("a.org", "b.org"))
    sent = OURS["brave"].exchange(request, "https://api.search.brave.com", KEY)
    assert (sent.method, sent.url) == ("GET", "https://api.search.brave.com/res/v1/web/search")
    assert sent.headers == {"X-Subscription-Token": KEY}
    assert sent.params == {
        "q": "q (site:a.org OR site:b.org)",
        "count": "5",
        "country": "JP",
        "search_lang": "jp",
        "freshness": "1970-01-01to2020-02-29",
        "text_decorations": "false",
    }
    assert OURS["brave"].overhead(request) == len(" (site:a.org OR site:b.org)")
    unknown = OURS["brave"].exchange(WebRequest(query="q", language="eo", country="va"), "https://x.test", None)
    assert unknown.params["country"] == "ALL" and "search_lang" not in unknown.params


def test_q3_brave_takes_fifty_words_operators_included():
    many = " ".join(["the", "Curie"] * 40)
    for request in (WebRequest(query=many), WebRequest(query=many, allow=("a.org", "b.org"), block=("c.org",))):
        said = OURS["brave"].exchange(request, "https://x.test", None).params["q"]
        assert len(said.split()) == 50
        assert said.startswith("the Curie") and said.count("Curie") == 40
    assert fewer("a b", 3) == "a b"


def test_what_exa_is_sent():
    request = WebRequest(query="q", k=50, country="de", before="2020-02-29", allow=("a.org",), block=("b.org",))
    sent = OURS["exa"].exchange(request, "https://api.exa.ai", KEY)
    assert (sent.method, sent.url, sent.headers) == ("POST", "https://api.exa.ai/search", {"x-api-key": KEY})
    body = sent.body
    assert (body["numResults"], body["userLocation"], body["includeDomains"]) == (10, "DE", ["a.org"])
    assert body["endPublishedDate"] == "2020-02-29T23:59:59.999Z"
    assert body["contents"] == {"highlights": True, "text": {"maxCharacters": 1000}}
    assert "excludeDomains" not in body
    sent = OURS["exa"].exchange(WebRequest(query="q", block=("b.org",)), "https://api.exa.ai", KEY)
    assert sent.body["excludeDomains"] == ["b.org"]


def test_what_searxng_is_sent():
    sent = OURS["searxng"].exchange(WebRequest(query="q", language="de", block=("b.org",)), "http://h:8888", None)
    assert (sent.method, sent.url, sent.headers) == ("GET", "http://h:8888/search", {})
    assert sent.params == {"q": "q -site:b.org", "format": "json", "language": "de", "pageno": "1"}


@pytest.mark.parametrize(("language", "code"), [("en", "en"), ("pt-br", "pt-br"), ("zh-hant", "zh"), ("gsw", "gsw")])
def test_searxng_is_sent_no_language_that_it_refuses(language, code):
    sent = OURS["searxng"].exchange(WebRequest(query="q", language=language), "http://h", None)
    assert sent.params["language"] == code


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("so !!g it is", "so g it is"),
        ("it ends !!", "it ends"),
        ("!wp Curie :fr <500 ?x", "wp Curie fr 500 x"),
        ("Oh! At 3:15 a<b, why?", "Oh! At 3:15 a<b, why?"),
        ("at -40 degrees -!x --y", "at 40 degrees x y"),
    ],
)
def test_searxng_is_given_no_orders_by_a_text(query, said):
    request = WebRequest(query=query, block=("b.org",))
    assert OURS["searxng"].exchange(request, "http://h", None).params["q"].split() == [*said.split(), "-site:b.org"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("boils at -40 degrees", "boils at 40 degrees"),
        ("-Curie --Pierre (-Marie)", "Curie Pierre (Marie)"),
        ("Jean-Paul - 1914-1918 well-", "Jean-Paul - 1914-1918 well-"),
    ],
)
def test_a_minus_before_a_word_leaves_nothing_out(query, said):
    request = WebRequest(query=query)
    assert DIALECTS["serper"].exchange(request, "https://h", KEY).body["q"] == said
    assert OURS["brave"].exchange(request, "https://h", KEY).params["q"] == said
    sent = OURS["mediawiki"].exchange(request, "https://h", None).params
    assert sent["gsrsearch"] == sent["srsearch"] == said
    blocking = WebRequest(query=query, block=("b.org",))
    assert DIALECTS["serper"].exchange(blocking, "https://h", KEY).body["q"] == f"{said} -site:b.org"


@pytest.mark.parametrize(
    ("base_url", "language", "url"),
    [
        ("https://en.wikipedia.org", "en", "https://en.wikipedia.org/w/api.php"),
        ("https://en.wikipedia.org", "de", "https://de.wikipedia.org/w/api.php"),
        ("https://en.wikipedia.org", "pt-br", "https://pt.wikipedia.org/w/api.php"),
        ("https://en.wikipedia.org", "nb", "https://no.wikipedia.org/w/api.php"),
        ("https://fr.wikipedia.org", "en", "https://fr.wikipedia.org/w/api.php"),
        ("https://wiki.test/", "de", "https://wiki.test/w/api.php"),
    ],
)
def test_what_mediawiki_is_sent(base_url, language, url):
    sent = OURS["mediawiki"].exchange(WebRequest(query="q", k=50, language=language), base_url, None)
    assert (sent.method, sent.url) == ("GET", url)
    assert sent.headers["User-Agent"].startswith("veridical/")
    assert (sent.params["gsrsearch"], sent.params["gsrlimit"], sent.params["formatversion"]) == ("q", "20", "2")


@pytest.mark.parametrize("name", ["tavily", "exa", "brave", "searxng"])
def test_more_domains_than_can_be_asked_for_are_refused(name):
    many = tuple(f"domain{number}.example" for number in range(1300))
    with pytest.raises(UsageError, match="1300 allowed domains"):
        OURS[name].overhead(WebRequest(query="q", allow=many))
    OURS[name].exchange(WebRequest(query="q", block=many), "https://x.test", None)


# What is read


def test_tavily_is_read_without_its_answer():
    first, second = OURS["tavily"].read(TAVILY, ASK)
    assert (first.id, first.title, first.text) == (
        "https://a.test/curie",
        "Marie Curie",
        "Born in Warsaw on 7 November 1867.",
    )
    assert (first.date, second.date) == (None, "2024-03-01")
    assert texts("tavily", {"query": "q", "answer": "A model says so.", "results": []}) == []


def test_brave_is_read_panel_results_questions():
    panel, first, second, asked = OURS["brave"].read(BRAVE, ASK)
    assert panel.id == "https://en.wikipedia.org/wiki/Marie_Curie#panel"
    assert panel.text == "Polish-French physicist. Marie Curie Born: 7 November 1867."
    assert (first.title, first.text) == (
        "Marie Curie",
        "Born in Warsaw & raised there. … She moved to Paris in 1891.",
    )
    assert (first.date, second.date) == ("2023-04-05T00:00:00", "3 days ago")
    assert (asked.url, asked.text) == ("https://f.test", "Where was she born? Warsaw.")
    assert texts("brave", BRAVE, WebRequest(query="q", k=1)) == [panel.text, first.text]
    assert texts("brave", BRAVE, DATED)[0] == first.text
    assert texts("brave", {"infobox": BRAVE["infobox"]["results"][0]}) == [panel.text]


def test_exa_is_read_by_its_highlights():
    first, second = OURS["exa"].read(EXA, ASK)
    assert (first.text, second.text) == ("Born in Warsaw. … She died in 1934.", "Only text.")
    assert first.date == "2023-11-16T01:36:32.547Z"


def test_searxng_is_read_answers_panel_results():
    one, other, panel, first, second = OURS["searxng"].read(SEARXNG, ASK)
    assert one.text == "7 November 1867" and one.id.startswith("searxng:") and one.id.endswith("#answer")
    assert (other.text, other.id) == ("Warsaw", "https://w.test#answer")
    assert panel.text == "Polish-French physicist. Marie Curie Born: 1867."
    assert panel.id == "https://en.wikipedia.org/wiki/Marie_Curie#panel"
    assert (first.text, first.date, second.date) == ("Born in Warsaw.", "2023-04-05T00:00:00", None)
    assert texts("searxng", SEARXNG, DATED) == [first.text, second.text]


def test_searxng_without_answering_engines_has_not_found_nothing():
    silent = {"query": "q", "results": [], "answers": [], "unresponsive_engines": [["google", "timeout"], ["bing"]]}
    with pytest.raises(SearchError, match="google: timeout; bing"):
        OURS["searxng"].read(silent, ASK)
    assert texts("searxng", silent | {"unresponsive_engines": []}) == []
    assert texts("searxng", silent | {"answers": ["1867"]}) == ["1867"]


def test_mediawiki_is_read_in_the_order_of_its_index():
    first, second = OURS["mediawiki"].read(MEDIAWIKI, ASK)
    assert first.text == "Marie Curie was a physicist. Born in Warsaw. … won the Davy Medal"
    assert (first.id, first.date) == ("https://en.wikipedia.org/wiki/Marie_Curie", "2026-11-01T00:00:00Z")
    assert (second.title, second.text) == ("Pierre Curie", 'husband of "Marie"')
    old = {"query": {"pages": {"7": MEDIAWIKI["query"]["pages"][1]}}}
    assert texts("mediawiki", old) == ["Marie Curie was a physicist. Born in Warsaw."]
    (bare,) = OURS["mediawiki"].read({"query": {"search": [{"title": "X", "snippet": "It is."}]}}, ASK)
    assert (bare.title, bare.text, bare.url) == ("X", "It is.", None)
    assert texts("mediawiki", {"batchcomplete": True}) == []


@pytest.mark.parametrize("name", OURS)
def test_q2_odd_entries_are_used_as_far_as_they_go(name):
    rows = [
        None, 3, "text", [], {}, {"title": "Only a title", "url": "https://t.test"}, {"said": None, "title": "x"},
        {"said": "no link"}, {"said": "It is so.", "url": "https://e.test", "title": None},
    ]  # fmt: skip
    bare, linked = OURS[name].read(RESULTS[name](rows), ASK)
    assert (bare.text, bare.url, bare.id.partition(":")[0]) == ("no link", None, name)
    assert (linked.text, linked.url, linked.title) == ("It is so.", "https://e.test", "")


@pytest.mark.parametrize("name", OURS)
def test_q2_a_page_is_kept_once_at_its_best_place(name):
    rows = [{"said": said, "url": f"https://{host}.test", "title": "t"} for said, host in ("1a", "2b", "3a", "4c")]
    assert texts(name, RESULTS[name](rows)) == ["1", "2", "4"]
    assert len(texts(name, RESULTS[name](rows), WebRequest(query="q", k=2))) == 2


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("payload", [None, [], [{}], "text", 3, {"a": 1}, {"error": "x", "detail": "x"}])
def test_q1_what_is_no_reply_is_an_error(name, payload):
    with pytest.raises(SearchError):
        OURS[name].read(payload, ASK)


@pytest.mark.parametrize("name", OURS)
def test_q2_no_results_is_no_error(name):
    assert texts(name, {}) == texts(name, RESULTS[name]([])) == []


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<strong>Born</strong> in&nbsp;1867", "Born in 1867"),
        ("one<br/>two<p>three</p>", "one two three"),
        ("a < b and c > d", "a < b and c > d"),
        ("&lt;b&gt; is bold", "<b> is bold"),
        ("<!-- x -->y<!-- <b>z</b> --> <!-- not", "y <!-- not"),
        ("<!--" * 50_000, "<!--" * 50_000),
        ("<!--" * 50_000 + "-->y", "y"),
        ("&#" + "9" * 5000 + ";&#65;", "\ufffdA"),
        ("&#xD800;&#0;", "\ufffd\ufffd"),
        (1867, "1867"),
        ({"a": 1}, ""),
    ],
)
def test_html_is_read_as_text(html, text):
    assert plain(html) == text


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("name", [*OURS, "serper"])
@pytest.mark.parametrize("member", ["error", "message", "detail", "tag", "results", "unresponsive_engines", "answers"])
def test_q2_no_nesting_is_too_deep(name, member):
    dialect, deep = DIALECTS[name], nested(900)
    for payload in ({member: deep}, {member: [{"msg": deep, "code": deep}]}, {member: deep, "query": deep}):
        dialect.complaint(400, payload)
        dialect.exhausted(400, payload)
        with contextlib.suppress(SearchError):
            assert dialect.read(payload, ASK) == []


@pytest.mark.parametrize("name", OURS)
def test_q2_members_of_any_depth_are_read_as_far_as_they_go(name):
    rows = [{"said": nested(3), "url": "https://a.test", "title": nested(900)}, {"said": nested(900), "title": "x"}]
    assert texts(name, RESULTS[name](rows)) == ["deep"]


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("brave", {"web": {"results": [{"extra_snippets": [f"p{place:06}" for place in range(20_000)]}]}}),
        ("exa", {"results": [{"highlights": [f"p{place:06}" for place in range(20_000)]}]}),
    ],
)
def test_parts_without_end_are_read_as_far_as_a_hundred(name, payload):
    (said,) = texts(name, payload)
    assert said.startswith("p000000 … p000001") and "p000098" in said and "p000100" not in said


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("serper", {"searchParameters": {}, "organic": {"title": "Ada"}}),
        ("serper", {"searchParameters": {}, "organic": ["Ada"]}),
        ("tavily", {"results": "none"}),
        ("exa", {"results": {"0": {}}}),
        ("searxng", {"results": 3, "query": "q"}),
        ("brave", {"type": "search", "web": {"results": {"title": "Ada"}}}),
        ("mediawiki", {"query": {"search": {"title": "Ada"}}}),
    ],
)
def test_results_of_another_type_are_not_nothing_found(name, payload):
    with pytest.raises(SearchError, match="not a reply"):
        DIALECTS[name].read(payload, ASK)


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("serper", {"organic": [], "answerBox": True}),
        ("serper", {"organic": [], "answerBox": {"answer": {"text": "1862"}}}),
        ("serper", {"organic": [], "knowledgeGraph": ["Ada"]}),
        ("serper", {"organic": [{"snippet": {"text": "Ada"}}]}),
        ("tavily", {"results": [{"content": {"text": "Ada"}}]}),
        ("exa", {"results": [{"highlights": {"0": "Ada"}}, {"text": ""}]}),
        ("searxng", {"query": "q", "results": [], "answers": {"0": "1862"}}),
        ("searxng", {"query": "q", "results": [], "infoboxes": ["Ada"]}),
        ("searxng", {"query": "q", "results": [{"content": False}]}),
        ("brave", {"type": "search", "web": ["Ada"]}),
        ("brave", {"type": "search", "faq": {"results": "Ada"}}),
        ("brave", {"type": "search", "web": {"results": [{"description": {"text": "Ada"}}]}}),
        ("mediawiki", {"query": ["Ada"]}),
        ("mediawiki", {"query": {"pages": "Ada"}}),
        ("mediawiki", {"query": {"pages": [{"title": "Ada", "extract": {"text": "Ada"}}]}}),
    ],
)
def test_evidence_of_another_type_is_not_nothing_found(name, payload):
    with pytest.raises(SearchError, match="not a reply"):
        DIALECTS[name].read(payload, ASK)
