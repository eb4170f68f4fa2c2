"""A search whose results are read."""

import pytest

from loopback import Answer
from page_server import BRIDGE, Site, fetcher, moved, page, pdf
from veridical.errors import FatalError, UsageError
from veridical.knowledge.web.pages import Pages
from veridical.types import Passage, Query

FILLER = "".join(f"<p>{'Nothing about it stands in this paragraph of the page. ' * 12}</p>" for _ in range(5))
LONG = BRIDGE.replace("<article>", f"<article>{FILLER}")
ASKED = Query(text="When was the bridge over the Orlen finished?")


class Results:
    """Finds the same for all queries."""

    name = "web:test"
    identity = "web:test language=en"
    closed = False

    def __init__(self, *passages, **settings):
        self.passages = list(passages)
        self.adaptations = ["a query was shortened"]
        self.__dict__.update(settings)

    async def search(self, query, *, k):
        return self.passages[:k]

    async def close(self):
        self.closed = True


def result(url, text="A snippet.", **more):
    return Passage(id=url, url=url, text=text, source="web:test", **more)


async def searched(pages, found, *, k=9, query=ASKED, inner=None, **settings):
    """What is made of the results that `found(site)` gives; the searcher that made it."""
    async with Site(pages) as site:
        own = Pages(Results(*found(site), **(inner or {})), fetcher(site), **settings)
        try:
            return await own.search(query, k=k), own
        finally:
            await own.close()


async def test_the_best_passages_of_pages_take_the_place_of_snippets():
    made, own = await searched(
        {"/bridge": page(LONG), "/report": page(pdf("The bridge was finished in 1862."), "application/pdf")},
        lambda site: [
            Passage(id="serper:1#answer", text="1862", source="web:test", url=site.at("/never")),
            result(site.at("/bridge"), "The bridge …", title="Bridge - Wiki", date="3 days ago"),
            result(site.at("/gone")),
            Passage(id="serper:2", text="No link.", source="web:test"),
            result(site.at("/report")),
        ],
        words=60,
    )
    assert [one.text for one in made][0::2] == ["1862", "A snippet.", "The bridge was finished in 1862."]
    best = made[1]
    assert "finished in 1862" in best.text
    assert len(best.text.split()) <= 60
    assert best.id.partition("#")[0] == best.url
    assert best.id.partition("#")[2].isdecimal()
    assert (best.title, best.date, best.source) == ("The bridge", "2021-05-04", "web:test")
    assert best.retrieved
    assert best.score and best.score > 0
    assert made[3].text == "No link."
    assert own.troubles == {"HTTP 404": 1}
    assert own.adaptations == ["a query was shortened", "1 page was found and not read: HTTP 404 (1)"]
    assert own.inner.closed


async def test_more_passages_of_a_page_and_each_page_once():
    made, own = await searched(
        {"/a": page(LONG), "/b": moved("/a")},
        lambda site: [result(site.at("/b")), result(site.at("/a"))],
        per_page=2,
        words=60,
    )
    assert len(made) == 2
    assert len({one.id for one in made}) == 2
    assert {one.url.rpartition("/")[2] for one in made} == {"a"}
    assert made[0].score >= made[1].score
    assert not own.troubles


async def test_a_page_without_a_word_of_the_query_is_cut_where_its_snippet_is():
    made, _ = await searched(
        {"/a": page(LONG)},
        lambda site: [result(site.at("/a"), "two hundred masons")],
        query=Query(text="Quelle?"),
        words=60,
    )
    assert "two hundred masons" in made[0].text


async def test_results_without_their_page_may_be_left_out():
    made, own = await searched(
        {}, lambda site: [result(site.at("/a")), result(site.at("/", host="10.0.0.1"))], snippets=False
    )
    assert made == []
    assert own.troubles == {"HTTP 404": 1, "not a public address": 1}
    assert own.adaptations[-1].startswith("2 pages were found and not read")


async def test_troubles_of_one_kind_are_counted_together_and_end_nothing():
    bad = {f"/{n}": Answer(b"", status=403) for n in range(3)} | {"/x": page(b"", "image/png"), "/y": page(reset=True)}
    links = [*bad, "/z"]
    made, own = await searched(
        bad, lambda site: [*(result(site.at(path)) for path in links), result("no link at all"), result("http://[x/")]
    )
    assert len(made) == len(links) + 2
    assert all(one.text == "A snippet." for one in made)
    assert own.troubles["HTTP 403"] == 3
    assert own.troubles.total() == len(made)


async def test_a_page_later_than_the_as_of_date_or_on_a_domain_not_wanted_is_left_out():
    def found(site):
        return [result(site.at("/bridge"))]

    pages = {"/bridge": page()}
    for inner, kept in (
        ({"before": "2021-05-03"}, 0), ({"before": "2021-05-04"}, 1), ({"before": None}, 1),
        ({"allow": ("example.org",)}, 0), ({"block": ("127.0.0.1",)}, 0), ({"block": ("example.org",)}, 1),
    ):  # fmt: skip
        made, own = await searched(pages, found, inner=inner)
        assert len(made) == kept
        assert own.troubles.total() == 1 - kept


async def test_trouble_of_the_search_itself_is_not_hidden():
    class Broken(Results):
        async def search(self, query, *, k):
            raise FatalError("the key is wrong")

    own = Pages(Broken(), fetcher())
    with pytest.raises(FatalError, match="key"):
        await own.search(ASKED, k=3)
    await own.close()
    assert own.inner.closed


def test_the_name_tells_what_it_is_made_of_and_the_identity_every_setting():
    own = Pages(Results(), fetcher())
    assert own.name == "pages(web:test)"
    assert own.identity.startswith("pages(web:test language=en) ")
    others = [
        Pages(Results(), fetcher(), words=80), Pages(Results(), fetcher(), per_page=2),
        Pages(Results(), fetcher(), snippets=False), Pages(Results(), fetcher(max_bytes=99)),
        Pages(Results(), fetcher(respect_robots=True)),
    ]  # fmt: skip
    assert len({one.identity for one in [own, *others]}) == 6
    for wrong in ({"words": 0}, {"per_page": 0}):
        with pytest.raises(UsageError):
            Pages(Results(), fetcher(), **wrong)
