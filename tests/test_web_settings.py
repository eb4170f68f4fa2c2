"""What a search is opened with: names, keys, providers, the lengths of queries, dates and domains."""

import dataclasses
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_server import KEY
from veridical.errors import InputError, UsageError
from veridical.knowledge.web.base import WebRequest
from veridical.knowledge.web.kept import day, domain, keeps
from veridical.knowledge.web.providers import PROVIDERS, place, search_providers
from veridical.knowledge.web.query import one_line, shorten
from veridical.knowledge.web.search import WebSearcher, open_search
from veridical.signature import sign
from veridical.types import Passage

HERE = {"SERPER_API_KEY": KEY, "HOME": "/nowhere"}

# Names and providers


def test_every_provider_of_the_table_opens():
    for name, provider in PROVIDERS.items():
        environ = {"HOME": "/nowhere"} | dict.fromkeys(provider.key, "key-1")
        searcher = open_search(f"web:{name}", environ=environ)
        assert isinstance(searcher, WebSearcher)
        assert (searcher.name, searcher.key is None) == (f"web:{name}", not provider.key)
        assert not provider.price_per_search or provider.prices_as_of


def test_the_signature_tells_what_moves_numbers_and_no_key():
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
        ("serper", {"language": "xx"}, "no language code"),
        ("serper", {"language": "jp"}, "no language code.*; jp is a country"),
        ("serper", {"language": "pt-xx"}, "no language code"),
        ("serper", {"country": "u"}, "no country code"),
        ("serper", {"country": "uk"}, "no country code.*, here gb"),
        ("serper", {"country": "en-us"}, "no country code"),
        ("serper", {"allow": ["en.wikipedia.org"], "block": ["wikipedia.org"]}, "both allowed and blocked"),
        ("serper", {"allow": ["a b"]}, "is no domain"),
        ("serper", {"timeout": 0}, "timeout"),
        ("serper", {"max_query": 3}, "at least 64"),
    ],
)
def test_what_cannot_be_opened_is_told(spec, settings, words):
    with pytest.raises(UsageError, match=words):
        open_search(spec, **{"environ": HERE} | settings)


def test_a_dry_search_needs_no_key():
    nobody = {"HOME": "/nowhere"}
    assert open_search("serper", dry=True, environ=nobody).identity == open_search("serper", environ=HERE).identity


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


# Queries


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
        (45, "It was not Paris Curie got Nobel Prize 1903"),
        (40, "It not Paris Curie got Nobel Prize 1903"),
        (24, "Paris Curie Nobel Prize"),
        (3, "Par"),
    ],
)
def test_q3_names_numbers_and_negations_stay_longest(limit, words):
    assert shorten("It was not in Paris that Curie got a Nobel Prize in 1903", limit) == words


@pytest.mark.parametrize("code", ["en", "PT-br", "zh-Hant", "sr-latn", "nb", "eo"])
def test_codes_of_languages(code):
    assert open_search("searxng", language=code).language == code.lower()


def test_a_domain_is_not_both_allowed_and_blocked():
    with pytest.raises(UsageError, match=r"wikipedia\.org is both allowed and blocked"):
        open_search("serper", allow=["wikipedia.org"], block=["wikipedia.org"], environ={"SERPER_API_KEY": "k"})
