"""The search loop: queries of a model, evidence of a searcher."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from script import cut, last_block
from search_server import SearchServer, refusal, reply, result
from veridical.errors import FatalError, ModelError, SearchError, UsageError
from veridical.knowledge.given import Given
from veridical.models.cache import Cached, CallStore
from veridical.models.scripted import Scripted
from veridical.safe.relevance import Relevance
from veridical.safe.steps import SearchLoop
from veridical.types import AtomicFact, Generation, Passage

GENERATION = Generation(id="g", text="Ana Brandt ran the mill.", prompt="Who was Ana Brandt?", topic="Ana Brandt")
FACT = AtomicFact(id="g/0.0", text="Ana Brandt ran the mill.", sentence=0)
DONE = "```\nNO FURTHER SEARCH\n```"


class Searches:
    """A searcher that finds what it is told to, and keeps what it was asked for."""

    name = "double"

    def __init__(self, *answers):
        self.answers, self.seen = answers, []

    async def search(self, query, *, k):
        self.seen.append((query.text, query.topic, k))
        answer = self.answers[min(len(self.seen), len(self.answers)) - 1] if self.answers else [page(len(self.seen))]
        if isinstance(answer, Exception):
            raise answer
        return answer


def page(number, text=None):
    return Passage(id=f"https://site{number}.test", text=text or f"Text {number}.", url=f"https://site{number}.test")


def query(text):
    return f"The year is missing.\n```\n{text}\n```"


def numbered():
    """A model that asks for something new each time."""
    count = iter(range(1, 1000))
    return lambda request: query(f"mill {next(count)}")


async def gathered(answer, searcher=None, **settings):
    model, searcher = Scripted(answer), searcher or Searches()
    loop = SearchLoop(model, searcher, **settings)
    return await loop.gather(FACT, GENERATION), model, searcher


# --- the steps


async def test_five_steps_of_three_results_each_in_view_of_what_was_found():
    evidence, model, searcher = await gathered(numbered())
    assert [(text, k) for text, _, k in searcher.seen] == [(f"mill {n}", 3) for n in range(1, 6)]
    assert all(topic is None for _, topic, _ in searcher.seen)
    assert evidence.queries == tuple(f"mill {n}" for n in range(1, 6))
    assert [passage.text for passage in evidence.passages] == [f"Text {n}." for n in range(1, 6)]
    assert len(model.seen) == 5
    assert last_block(model.seen[0], "statement") == FACT.text
    assert "<knowledge-" in model.seen[0].messages[0].content
    shown = last_block(model.seen[2], "knowledge")
    assert "Text 1." in shown and "https://site2.test" in shown
    assert last_block(model.seen[2], "searched") == "mill 1\nmill 2"


async def test_f39_each_search_tells_what_it_found_where():
    pages = [
        Passage(id="u1", text="A.", title="Mill", url="https://a.test", date="2024-01-01", source="web:x"),
        Passage(id="u2", text="B."),
    ]
    evidence, model, _ = await gathered([query("one"), query("two"), DONE], Searches(pages, [pages[1], page(3)]))
    assert evidence.passages == (*pages, page(3))
    assert [(search.query, search.source, search.passages) for search in evidence.searches] == [
        ("one", "double", ("u1", "u2")),
        ("two", "double", ("u2", "https://site3.test")),
    ]
    assert "Title: Mill\nSource: https://a.test\nDate: 2024-01-01\nA." in last_block(model.seen[1], "knowledge")


async def test_a_page_found_again_with_other_words_keeps_both():
    first, again, part = page(1, "It was sold in 1932."), page(1, "It was built in 1880."), page(1, "sold in 1932")
    evidence, _, _ = await gathered(
        [query("one"), query("two"), query("three"), DONE], Searches([first], [again], [part, again, first])
    )
    assert [(passage.id, passage.text) for passage in evidence.passages] == [
        (first.id, first.text),
        (f"{first.id}~2", again.text),
    ]
    assert evidence.passages[1].url == first.url
    assert [search.passages for search in evidence.searches] == [
        (first.id,), (f"{first.id}~2",), (first.id, f"{first.id}~2"),
    ]  # fmt: skip


async def test_blank_results_are_none():
    evidence, model, _ = await gathered([query("one"), query("two")], Searches([Passage(id="x", text=" ")]), steps=2)
    assert evidence.passages == ()
    assert "(nothing was found)" in last_block(model.seen[1], "searched")


# --- the end


async def test_f35_the_loop_ends_where_the_model_has_enough():
    evidence, model, searcher = await gathered([query("one"), DONE])
    assert len(searcher.seen) == 1
    assert len(model.seen) == 2
    assert evidence.skipped == ()
    assert "NO FURTHER SEARCH" not in model.seen[0].messages[0].content
    assert "NO FURTHER SEARCH" in model.seen[1].messages[0].content


@pytest.mark.parametrize(
    "said",
    [
        "NO FURTHER SEARCH",
        "No further search.",
        "```text\nno further search\n```",
        "**NO FURTHER SEARCH**",
        "The knowledge confirms it.\n\nNO FURTHER SEARCH",
        "It does.\n```\nNO FURTHER SEARCH: it is confirmed\n```",
        "Query: NO FURTHER SEARCH",
    ],
)
async def test_f35_shapes_of_enough(said):
    evidence, _, searcher = await gathered([query("one"), said])
    assert len(searcher.seen) == 1
    assert evidence.skipped == ()


async def test_a_query_in_a_block_is_one_whatever_is_said_around_it():
    said = "If this finds nothing: no further search.\n```\ntwo\n```\nNo further search after that."
    _, _, searcher = await gathered([query("one"), said, DONE])
    assert [text for text, _, _ in searcher.seen] == ["one", "two"]


async def test_enough_before_anything_was_found_is_from_memory():
    evidence, model, searcher = await gathered([DONE, DONE])
    assert [text for text, _, _ in searcher.seen] == [FACT.text]
    assert len(model.seen) == 2
    assert "step 1: no query could be read" in evidence.skipped[0]
    nothing, _, searcher = await gathered([query("one"), DONE, query("two"), DONE, DONE], Searches([]))
    assert [text for text, _, _ in searcher.seen] == ["one", "two"]
    assert "step 3" in nothing.skipped[0]


async def test_without_early_stop_it_is_neither_offered_nor_taken():
    evidence, model, searcher = await gathered([query("one"), DONE, query("two")], early_stop=False, steps=2)
    assert [text for text, _, _ in searcher.seen] == ["one", "two"]
    assert all("NO FURTHER SEARCH" not in request.messages[0].content for request in model.seen)
    assert evidence.skipped == ()


async def test_f35_the_same_query_five_times_is_one_search():
    evidence, model, searcher = await gathered(query("Ana Brandt mill"))
    assert len(searcher.seen) == 1
    assert len(model.seen) == 3  # asked, told, ended
    assert "searched for already" in model.seen[2].messages[-1].content
    assert evidence.queries == ("Ana Brandt mill",)
    assert "ended after 1 searches" in evidence.skipped[0]


async def test_f35_queries_are_the_same_up_to_case_and_punctuation():
    _, _, searcher = await gathered([query("Ana Brandt mill"), query('"ana brandt"  MILL?'), query("Ana Brandt, mill")])
    assert len(searcher.seen) == 1


async def test_a_model_that_is_told_of_the_repetition_may_go_on():
    evidence, model, searcher = await gathered([query("one"), query("One"), query("two"), query("two")])
    assert [text for text, _, _ in searcher.seen] == ["one", "two"]
    assert len(model.seen) == 4  # told once a loop
    assert "ended after 2 searches" in evidence.skipped[0]


async def test_f35_as_published_the_same_query_is_one_search_in_five_steps():
    evidence, model, searcher = await gathered(query("Ana Brandt mill"), repeats=True, early_stop=False)
    assert len(searcher.seen) == 1
    assert len(model.seen) == 5
    assert evidence.queries == ("Ana Brandt mill",) * 5
    assert [search.passages for search in evidence.searches] == [("https://site1.test",)] * 5
    assert len(evidence.passages) == 1
    assert all("<searched-" not in request.messages[0].content for request in model.seen)


# --- what cannot be read


async def test_f33_calls_a_step_are_bounded():
    for retries in (0, 1, 3):
        evidence, model, searcher = await gathered("no query here", retries=retries)
        assert len(model.seen) == 1 + retries
        assert [text for text, _, _ in searcher.seen] == [FACT.text]  # as a retrieval without a model
        assert evidence.skipped[0].endswith("the fact itself was searched for")
        assert evidence.passages


@given(retries=st.integers(0, 3), said=st.lists(st.sampled_from(["", query("a"), query("b"), DONE]), max_size=40))
def test_f33_calls_of_a_loop_are_bounded_whatever_is_said(retries, said):
    async def run():
        turns = iter(said)
        return await gathered(lambda _: next(turns, "hm"), retries=retries)

    evidence, model, searcher = asyncio.run(run())
    assert len(model.seen) <= 5 * (1 + retries)
    assert 1 <= len(searcher.seen) == len(evidence.searches) <= 5
    known = {passage.id for passage in evidence.passages}
    assert all(set(search.passages) <= known for search in evidence.searches)


async def test_a_later_step_that_cannot_be_read_ends_the_loop_with_what_is_known():
    evidence, _, searcher = await gathered([query("one"), "hm", "hm"])
    assert len(searcher.seen) == 1
    assert evidence.passages
    assert evidence.skipped == ("step 2: no query could be read (no query in a fenced block); the search ended there",)


async def test_a_cut_reply_is_asked_for_with_more_room():
    _, model, searcher = await gathered([cut("```\nAna"), query("Ana mill"), DONE])
    assert [text for text, _, _ in searcher.seen] == ["Ana mill"]
    assert model.seen[1].max_tokens == 2 * model.seen[0].max_tokens


async def test_a_call_that_fails_is_no_lack_of_evidence():
    with pytest.raises(ModelError):
        await gathered([query("one"), ModelError("busy")])


async def test_a_repeated_query_stays_in_the_cache(tmp_path):
    store = CallStore(tmp_path / "calls.sqlite")
    inner = Scripted(query("one"))
    for _ in range(2):
        await SearchLoop(Cached(inner, store), Searches()).gather(FACT, GENERATION)
    assert len(inner.seen) == 3  # all of the second run is answered from the cache
    store.close()


# --- searches that fail


async def test_one_search_that_fails_is_told_and_the_loop_goes_on():
    evidence, model, searcher = await gathered(
        [query("one"), query("two"), DONE], Searches(SearchError("bad gateway"), [page(2)])
    )
    assert len(searcher.seen) == 2
    failed, found = evidence.searches
    assert failed.failure is not None
    assert (failed.failure.stage, failed.failure.error, failed.passages) == ("search", "SearchError", ())
    assert found.failure is None
    assert "one (the search failed)" in last_block(model.seen[1], "searched")


async def test_q1_where_all_searches_fail_the_fact_is_unscored():
    with pytest.raises(SearchError, match=r"all 5 searches failed.*Not enough"):
        await gathered(numbered(), Searches(SearchError("Not enough")))
    with pytest.raises(SearchError, match="all 1 searches failed"):
        await gathered("hm", Searches(SearchError("Not enough")))


async def test_where_some_found_nothing_and_some_failed_there_is_no_evidence():
    evidence, _, _ = await gathered(numbered(), Searches([], SearchError("busy"), []))
    assert evidence.passages == ()
    assert len(evidence.searches) == 5


async def test_f38_all_succeeded_and_found_nothing():
    evidence, _, searcher = await gathered(numbered(), Searches([]))
    assert len(searcher.seen) == 5
    assert evidence.passages == ()


async def test_q1_what_stops_a_run_is_passed_on():
    with pytest.raises(FatalError):
        await gathered(numbered(), Searches([page(1)], FatalError("no credit")))


async def test_as_published_a_query_whose_search_failed_is_sent_again():
    evidence, _, searcher = await gathered(query("one"), Searches(SearchError("x"), [page(2)]), repeats=True, steps=3)
    assert len(searcher.seen) == 2
    assert [bool(search.failure) for search in evidence.searches] == [True, False, False]


# --- with real searchers


async def test_over_passages_given_by_hand():
    searcher = Given(
        {"Ana Brandt": ["Ana Brandt ran the mill from 1930.", "She was born in Turin."], "Oslo": ["A city."]}
    )
    evidence, _, _ = await gathered([query("who ran the mill"), DONE], searcher)
    assert [passage.text for passage in evidence.passages] == ["Ana Brandt ran the mill from 1930."]


async def test_f35_f39_over_the_web_a_query_is_paid_once_and_addresses_are_kept():
    async with SearchServer(reply(organic=[result(1, date="2024-03-01")])) as server:
        searcher = server.searcher()
        evidence, _, _ = await gathered(query("mill"), searcher, repeats=True, early_stop=False)
        await searcher.close()
    assert server.queries == ["mill"]
    (passage,) = evidence.passages
    assert (passage.url, passage.title, passage.source) == ("https://site1.test/page", "Page 1", searcher.name)
    assert passage.retrieved and passage.date
    assert [search.source for search in evidence.searches] == [searcher.name] * 5


async def test_q1_spent_credit_stops_the_run():
    async with SearchServer(refusal(403, "Not enough credits")) as server:
        searcher = server.searcher()
        with pytest.raises(FatalError, match="Not enough credits"):
            await gathered(query("mill"), searcher)
        await searcher.close()
    assert len(server.requests) == 1


# --- the rest


async def test_an_unreadable_relevance_is_told_in_the_evidence():
    async def fact():
        await Relevance(Scripted("hm")).triage(FACT, GENERATION)
        return await SearchLoop(Scripted([query("one"), DONE]), Searches()).gather(FACT, GENERATION)

    evidence = await asyncio.create_task(fact())
    assert evidence.skipped[0].startswith("relevance: no verdict in the reply; the fact was judged")
    other, _, _ = await gathered([query("one"), DONE])
    assert other.skipped == ()


@pytest.mark.parametrize("text", ["{{name}}", r"\frac{{a}}{{b}}", "{% off %}", "{#1}", "[PROMPT]", "[KNOWLEDGE]"])
async def test_f45_f46_hostile_text_goes_verbatim(text):
    model, searcher = Scripted([query(f"who is {text}"), DONE]), Searches([page(1, f"It says {text}.")])
    fact = AtomicFact(id="g/0.0", text=f"It is {text}.", sentence=0)
    await SearchLoop(model, searcher).gather(fact, GENERATION)
    assert searcher.seen[0][0] == f"who is {text}"
    assert last_block(model.seen[1], "statement") == fact.text
    assert f"It says {text}." in last_block(model.seen[1], "knowledge")
    assert last_block(model.seen[1], "searched") == f"who is {text}"


async def test_long_knowledge_is_kept_whole_and_shown_as_far_as_it_fits():
    pages = [page(1, "word " * 300), page(2, "word " * 300)]
    evidence, model, _ = await gathered([query("one"), DONE], Searches(pages), max_evidence_tokens=400)
    assert len(evidence.passages) == 2
    assert "site1" in last_block(model.seen[1], "knowledge")
    assert "site2" not in last_block(model.seen[1], "knowledge")


@pytest.mark.parametrize("settings", [{"steps": 0}, {"k": 0}, {"retries": -1}])
def test_settings_that_cannot_be(settings):
    with pytest.raises(UsageError):
        SearchLoop(Scripted(""), Searches(), **settings)
