"""Evidence for facts: one retrieval, or the reference that came with the text, ranked as the searcher does or anew."""

import asyncio
import dataclasses
import json

import numpy as np
import pytest

from script import last_block
from veridical.errors import SearchError, TopicNotFound
from veridical.gather import NoEvidence, Reference, Retrieve
from veridical.knowledge.build import build
from veridical.knowledge.given import Given
from veridical.knowledge.ranking import BM25, Dense, Hybrid
from veridical.knowledge.store import Store
from veridical.models.scripted import Scripted
from veridical.signature import sign
from veridical.types import AtomicFact, Evidence, Generation, Passage
from veridical.verify import RetrieveVerifier

GENERATION = Generation(id="g", text="Ana ran the mill. She sold it in 1932.", topic="Ana Brandt")
MILL = Passage(id="p1", title="Mill", text="The mill stood in Turin. Brandt sold the mill in 1932.", score=2.0)
RIVER = Passage(id="p2", title="River", text="The river is long.", score=1.0)


def fact(text, n=0):
    return AtomicFact(id=f"g/1.{n}", text=text, sentence=1)


class Shelf:
    """A searcher that keeps its queries."""

    name = "shelf"

    def __init__(self, passages):
        self.passages, self.asked = passages, []

    async def search(self, query, *, k):
        self.asked.append((query, k))
        return self.passages[:k]


async def test_retrieve_asks_for_topic_and_fact_on_the_topics_page():
    shelf = Shelf([MILL, RIVER])
    evidence = await Retrieve(shelf, k=1).gather(fact("Ana sold it."), GENERATION)
    assert evidence.passages == (MILL,)
    [(query, k)] = shelf.asked
    assert (query.text, query.topic, k) == ("Ana Brandt Ana sold it.", "Ana Brandt", 1)
    assert evidence.queries == (query.text,)


async def test_retrieve_asks_the_whole_collection_without_a_topic():
    shelf = Shelf([MILL])
    await Retrieve(shelf).gather(fact("Ana sold it."), Generation(id="g", text="Ana sold it."))
    [(query, _)] = shelf.asked
    assert (query.text, query.topic) == ("Ana sold it.", None)


async def test_n1_blank_passages_are_dropped():
    shelf = Shelf([Passage(id="a", text=""), Passage(id="b", text=" \n"), MILL])
    evidence = await Retrieve(shelf).gather(fact("Ana sold it."), GENERATION)
    assert evidence.passages == (MILL,)


async def test_no_evidence_is_empty():
    assert await NoEvidence().gather(fact("A."), GENERATION) == Evidence()


async def test_reference_passages_are_ranked_and_quote_the_reference():
    reference = "The river is long. " * 30 + "Brandt sold the mill in 1932. " + "The weather was mild. " * 30
    generation = Generation(id="g", text="Ana sold it.", reference=reference)
    evidence = await Reference(k=2, words=40).gather(fact("Brandt sold the mill."), generation)
    assert len(evidence.passages) == 2
    assert "Brandt sold the mill in 1932." in evidence.passages[0].text
    assert all(passage.text in reference and len(passage.text.split()) <= 40 for passage in evidence.passages)


async def test_no_reference_is_an_error_and_a_blank_one_no_evidence():
    with pytest.raises(SearchError, match="g has no reference"):
        await Reference().gather(fact("A."), GENERATION)
    blank = Generation(id="g", text="A.", reference=" \n ")
    assert (await Reference().gather(fact("A."), blank)).passages == ()


# --- another ranking


class Letters:
    """An encoder of letter counts: alike is what is spelled alike."""

    name = identity = "double/letters"

    def __init__(self):
        self.asked, self.seen = [], []

    def _vectors(self, texts):
        counts = np.array([[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)

    def queries(self, texts):
        self.asked.append(list(texts))
        return self._vectors(texts)

    def passages(self, texts):
        self.seen += texts
        return self._vectors(texts)


PAGE = ["The mill stood in Turin.", "zzz", "Its river is long.", "Brandt sold the mill.", "Trees grew there."]
PAGES = Given({"Ana Brandt": PAGE, "Other": ["zzz zz z", "A mill, too."]})


async def test_a_ranker_is_given_the_whole_page_and_says_the_order():
    shelf = Shelf([MILL, RIVER])
    evidence = await Retrieve(shelf, k=1, ranker=BM25()).gather(fact("Ana sold it."), GENERATION)
    [(_, most)] = shelf.asked
    assert most > 100_000
    assert evidence.passages == (MILL,)

    encoder = Letters()
    evidence = await Retrieve(PAGES, k=2, ranker=Dense(encoder)).gather(fact("zzzzzzzzzzzz"), GENERATION)
    assert evidence.passages[0].text == "zzz"  # no word of the query is in it: BM25 puts it among the last
    assert sorted(encoder.seen) == sorted(f"Ana Brandt {text}" for text in PAGE)  # as A6: title, blank, text
    assert encoder.asked == [["Ana Brandt zzzzzzzzzzzz"]] == [list(evidence.queries)]


async def test_without_a_topic_the_pool_of_the_whole_collection_is_ranked_again():
    shelf = Shelf([MILL, RIVER] * 100)
    generation = Generation(id="g", text="Ana sold it.")
    for pool, k, asked in ((30, 5, 30), (3, 5, 5)):
        shelf.asked.clear()
        evidence = await Retrieve(shelf, k=k, ranker=Dense(Letters(), pool=pool)).gather(fact("A mill."), generation)
        assert [most for _, most in shelf.asked] == [asked]
        assert len(evidence.passages) == k
    found = await Retrieve(PAGES, k=9, ranker=Dense(Letters())).gather(fact("the mill zzz"), generation)
    assert {passage.title for passage in found.passages} == {"Ana Brandt", "Other"}


async def test_the_facts_of_a_generation_are_encoded_in_few_batches():
    encoder = Letters()
    retrieve = Retrieve(PAGES, ranker=Hybrid(encoder))
    facts = [fact(f"fact {number}", number) for number in range(30)]
    found = await asyncio.gather(*(retrieve.gather(each, GENERATION) for each in facts))
    assert sorted(text for batch in encoder.asked for text in batch) == sorted(
        query for evidence in found for query in evidence.queries
    )
    assert len(encoder.asked) <= 3
    assert len(encoder.seen) == len(PAGE)


@pytest.mark.parametrize("ranker", [None, BM25(), Dense(Letters()), Hybrid(Letters())], ids=str)
async def test_f42_k_passages_each_time_and_those_of_the_rebuilt_source(tmp_path, ranker):
    source, kb = tmp_path / "pages.jsonl", tmp_path / "kb.sqlite"
    for words in ("mill", "bridge"):
        text = [{"heading": f"Part {n}", "text": f"The {words} number {n} was sold."} for n in range(5)]
        source.write_text(json.dumps({"title": "Ana Brandt", "text": text}) + "\n", encoding="utf-8")
        build([source], kb, name="mine")
        with Store.open(kb) as store:
            for k in (1, 3, 9):
                gatherer = Retrieve(store, k=k, ranker=ranker)
                evidence = await gatherer.gather(fact("Number 3 was sold."), GENERATION)
                assert len(evidence.passages) == min(k, 5)
                assert all(words in passage.text for passage in evidence.passages)
                assert "number 3" in evidence.passages[0].text


async def test_f43_the_whole_collection_is_searched_without_a_topic():
    generation = Generation(id="g", text="The mill stood in Turin.")
    for ranker in (None, BM25(), Hybrid(Letters())):
        evidence = await Retrieve(PAGES, k=3, ranker=ranker).gather(fact("The mill stood in Turin."), generation)
        assert evidence.passages[0].text == "The mill stood in Turin."
        assert "Other" in {passage.title for passage in evidence.passages}


async def test_bm25_by_name_is_the_order_of_the_searcher():
    about = fact("The river and the mill of Turin.")
    plain, named = [await Retrieve(PAGES, k=4, ranker=ranker).gather(about, GENERATION) for ranker in (None, BM25())]
    assert [passage.text for passage in plain.passages] == [PAGE[0], PAGE[3], PAGE[2], PAGE[1]]
    assert [passage.id for passage in named.passages] == [passage.id for passage in plain.passages]
    assert [passage.score for passage in named.passages] == pytest.approx(
        [passage.score for passage in plain.passages], abs=1e-6
    )


async def test_f44_the_best_of_another_ranking_is_shown_last_too():
    model = Scripted("True")
    evidence = await Retrieve(PAGES, k=2, ranker=Dense(Letters())).gather(fact("zzzzzzzzzzzz"), GENERATION)
    await RetrieveVerifier(model).verify([(fact("zzzzzzzzzzzz"), evidence)], GENERATION)
    shown = last_block(model.seen[0], "evidence")
    assert 0 <= shown.find(evidence.passages[1].text) < shown.find("zzz")


async def test_a_topic_without_a_page_is_not_found_with_a_ranker_either():
    with pytest.raises(TopicNotFound):
        await Retrieve(PAGES, ranker=Dense(Letters())).gather(fact("A."), Generation(id="g", text="A.", topic="Nobody"))


async def test_all_of_a_reference_is_ranked():
    reference = "The river is long. " * 30 + "zzz zzz zzz. " + "The weather was mild. " * 30
    generation = Generation(id="g", text="Ana sold it.", reference=reference, topic="Ana")
    encoder = Letters()
    evidence = await Reference(k=1, words=20, ranker=Dense(encoder)).gather(fact("zzzzzzzzzzzzzzz"), generation)
    [passage] = evidence.passages
    assert "zzz" in passage.text
    assert passage.title == "Ana"
    assert evidence.queries == ("Ana zzzzzzzzzzzzzzz",)
    assert len(encoder.seen) == 5  # those with the same words once
    blank = Generation(id="g", text="A.", reference=" \n ")
    assert (await Reference(ranker=Dense(encoder)).gather(fact("A."), blank)).passages == ()


@dataclasses.dataclass(frozen=True)
class Whole:
    gatherer: Retrieve
    name: str = "whole"


def test_the_ranker_is_signed():
    plain, ranked = sign(Retrieve(PAGES)).fields, sign(Retrieve(PAGES, ranker=Dense(Letters(), pool=50))).fields
    assert plain["ranker"] is None
    assert ranked["ranker"] == "dense(pool=50)"
    assert ranked["ranker.encoder"] == "double/letters"


def test_a_printed_signature_names_ranker_and_encoder():
    printed = str(sign(Whole(gatherer=Retrieve(PAGES, ranker=Dense(Letters(), pool=50)))))
    assert "|gatherer.ranker:dense(pool=50)|gatherer.ranker.encoder:double/letters|" in printed
    assert "ranker" not in str(sign(Whole(gatherer=Retrieve(PAGES))))
