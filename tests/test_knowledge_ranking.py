"""Rankers, with an encoder double whose vectors are known, and with the packaged one where it can be had."""

import asyncio
import itertools
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packaged import minilm
from veridical.errors import ModelError, UsageError
from veridical.knowledge import bm25
from veridical.knowledge.ranking import BM25, Dense, Hybrid
from veridical.knowledge.vectors import Memory
from veridical.signature import sign
from veridical.text.normal import is_blank
from veridical.types import Passage, Query


class Known:
    """An encoder with the vectors of a table (others: by length); it records what it was asked."""

    name, identity = "double/known", "known"

    def __init__(self, table=None, *, wait=0.0):
        self.table, self.wait = table or {}, wait
        self.asked: list[tuple[str, list[str]]] = []
        self.threads: set[int] = set()

    def _vectors(self, kind, texts):
        self.asked.append((kind, list(texts)))
        self.threads.add(threading.get_ident())
        time.sleep(self.wait)
        return np.array([self.table.get(text, (len(text) % 7 - 3.0, 1.0)) for text in texts], np.float32)

    def queries(self, texts):
        return self._vectors("query", texts)

    def passages(self, texts):
        return self._vectors("passage", texts)


def shelf(*texts, title="", scores=None):
    scores = scores or [None] * len(texts)
    return [
        Passage(id=f"p{at}", text=text, title=title, score=score)
        for at, (text, score) in enumerate(zip(texts, scores, strict=True))
    ]


def ids(passages):
    return [passage.id for passage in passages]


# --- each ranking by hand


async def test_dense_is_the_inner_product_of_title_and_text_with_the_query():
    encoder = Known({"Ana sold it": (1, 2), "Ana one": (3, 0), "Ana two": (0, 4), "Ana three": (-1, 0)})
    found = await Dense(encoder).rank(Query(text="Ana sold it"), shelf("one", "two", "three", title="Ana"), 2)
    assert [(passage.id, passage.score) for passage in found] == [("p1", 8.0), ("p0", 3.0)]
    last = (await Dense(encoder).rank(Query(text="Ana sold it"), shelf("one", "two", "three", title="Ana"), 9))[-1]
    assert last.score == -1.0


async def test_bm25_keeps_the_scores_of_one_source_and_counts_several_anew():
    scored = shelf("the mill", "the river", "the mill and the river", scores=[0.1, 3.0, 2.0])
    found = await BM25().rank(Query(text="mill"), scored, 2)
    assert [(passage.id, passage.score) for passage in found] == [("p1", 3.0), ("p2", 2.0)]
    unscored = shelf("the river", "the mill", "nothing of it")
    mixed = [
        Passage(id="a", text="the river", source="one", score=9.0),
        Passage(id="b", text="the mill", source="two", score=1.0),
    ]
    for given_, expected in ((unscored, ["p1", "p0", "p2"]), (mixed, ["b", "a"])):
        found = await BM25().rank(Query(text="mill"), given_, 9)
        assert ids(found) == expected
        by_hand = bm25.rank("mill", [passage.text for passage in given_], 9)
        assert [passage.score for passage in found] == pytest.approx([score for _, score in by_hand], abs=1e-6)


ABC = {"q": (1, 0), "a": (0.9, 0), "b": (0.5, 0), "c": (0.7, 0)}


async def test_rrf_by_hand():
    """By words b, a; by vectors a, c, b. Each adds 1 / (60 + rank); c has no rank by words."""
    passages = shelf("a", "b", "c", scores=[1.0, 4.0, 0.0])
    found = await Hybrid(Known(ABC), fusion="rrf").rank(Query(text="q"), passages, 3)
    assert ids(found) == ["p0", "p1", "p2"]
    assert [passage.score for passage in found] == pytest.approx([1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62], abs=1e-9)
    vectors = await Hybrid(Known(ABC), fusion="rrf", weight=1).rank(Query(text="q"), passages, 3)
    assert [(passage.id, passage.score) for passage in vectors] == [
        ("p0", pytest.approx(2 / 61)), ("p2", pytest.approx(2 / 62)), ("p1", pytest.approx(2 / 63)),
    ]  # fmt: skip


async def test_sum_by_hand():
    """Words 1, 4, 0 become ¼, 1, 0; vectors 0.9, 0.5, 0.7 become 1, 0, ½."""
    passages = shelf("a", "b", "c", scores=[1.0, 4.0, 0.0])
    found = await Hybrid(Known(ABC), fusion="sum", weight=0.4).rank(Query(text="q"), passages, 3)
    assert [(passage.id, passage.score) for passage in found] == [
        ("p1", pytest.approx(0.6)), ("p0", pytest.approx(0.6 * 0.25 + 0.4)), ("p2", pytest.approx(0.4 * 0.5)),
    ]  # fmt: skip


async def test_sum_of_passages_that_are_all_alike():
    same = dict.fromkeys("abc", (1, 0)) | {"q": (1, 0)}
    found = await Hybrid(Known(same), fusion="sum").rank(Query(text="q"), shelf("a", "b", "c", scores=[2.0] * 3), 3)
    assert [(passage.id, passage.score) for passage in found] == [("p0", 0.0), ("p1", 0.0), ("p2", 0.0)]


def every_ranker():
    return [BM25(), Dense(Known()), Hybrid(Known(), fusion="rrf"), Hybrid(Known(), fusion="sum", weight=0.3)]


TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(["", " \n", "N/A", "the mill", "half \ud800", "the mill"]))


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, max_size=8), TEXTS, st.integers(1, 9), st.booleans())
def test_any_ranking_is_the_front_of_a_permutation_of_what_is_not_blank(texts, query, k, scored):
    passages = shelf(*texts, scores=[float(at % 3) for at in range(len(texts))] if scored else None)
    filled = [passage for passage in passages if not is_blank(passage.text)]
    for ranker in every_ranker():
        found = asyncio.run(ranker.rank(Query(text=query), passages, k))
        assert len(found) == min(k, len(filled)) == len(set(ids(found)))
        assert {(passage.id, passage.text) for passage in found} <= {(passage.id, passage.text) for passage in filled}
        scores = [passage.score for passage in found]
        assert scores == sorted(scores, reverse=True)
        places = {passage.id: at for at, passage in enumerate(filled)}
        for one, other in itertools.pairwise(found):
            assert one.score > other.score or places[one.id] < places[other.id]
        assert asyncio.run(ranker.rank(Query(text=query), passages, k)) == found


@pytest.mark.parametrize("ranker", every_ranker(), ids=lambda ranker: ranker.name)
async def test_k_below_one_is_the_callers_mistake(ranker):
    with pytest.raises(ValueError, match="at least 1"):
        await ranker.rank(Query(text="q"), shelf("a"), 0)
    assert await ranker.rank(Query(text="q"), [], 3) == []


def test_settings_are_checked_and_signed():
    encoder = Known()
    for made in (lambda: Hybrid(encoder, fusion="max"), lambda: Hybrid(encoder, weight=1.5), lambda: Dense(encoder, 0)):
        with pytest.raises(UsageError):
            made()
    fields = sign(Hybrid(encoder, fusion="sum", weight=0.25, pool=7)).fields
    assert {key: fields[key] for key in ("encoder", "encoder.identity", "fusion", "weight", "pool")} == {
        "encoder": "double/known", "encoder.identity": "known", "fusion": "sum", "weight": 0.25, "pool": 7,
    }  # fmt: skip
    assert "pool=7" in Dense(encoder, pool=7).name  # what is ranked again without a topic


async def test_a_ranker_is_signed_alike_before_and_after_use():
    ranker = Dense(Known())
    before = sign(ranker).digest
    await ranker.rank(Query(text="q"), shelf("a", "b"), 1)
    assert sign(ranker).digest == before


# --- no double work


async def test_facts_of_a_page_share_one_encoding_and_few_batches():
    encoder = Known(wait=0.02)
    page = shelf("one", "two", "three")
    ranker = Dense(encoder)
    for _ in range(2):
        queries = [Query(text=f"fact {number}") for number in range(30)]
        await asyncio.gather(*(ranker.rank(query, page, 2) for query in queries))
    passages = [text for kind, texts in encoder.asked if kind == "passage" for text in texts]
    assert sorted(passages) == ["one", "three", "two"]
    batches = [texts for kind, texts in encoder.asked if kind == "query"]
    assert sorted(text for texts in batches for text in texts) == sorted(f"fact {number}" for number in range(30))
    assert len(batches) <= 3
    assert threading.get_ident() not in encoder.threads  # the event loop is never blocked


async def test_what_is_asked_for_while_a_batch_runs_is_one_batch():
    running, go = threading.Event(), threading.Event()
    batches = []

    def encode(texts):
        batches.append(list(texts))
        running.set()
        go.wait(10)
        return np.ones((len(texts), 2), np.float32)

    memory = Memory(encode)
    first = asyncio.create_task(memory.of(["a", "b"]))
    await asyncio.to_thread(running.wait, 10)
    rest = [asyncio.create_task(memory.of([text, "a"])) for text in "cdc"]
    await asyncio.sleep(0)
    go.set()
    assert (await first).shape == (2, 2)
    assert [found.shape for found in await asyncio.gather(*rest)] == [(2, 2)] * 3
    assert batches == [["a", "b"], ["c", "d"]]


async def test_a_waiter_that_leaves_takes_nothing_from_the_others():
    go = threading.Event()

    def encode(texts):
        go.wait(10)
        return np.ones((len(texts), 2), np.float32)

    memory = Memory(encode)
    leaving, staying = (asyncio.create_task(memory.of(["a"])) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.sleep(0)
    go.set()
    assert (await staying).shape == (1, 2)
    assert leaving.cancelled()


async def test_memory_is_bounded_and_drops_what_is_unused_for_longest():
    asked = []

    def encode(texts):
        asked.extend(texts)
        return np.ones((len(texts), 4), np.float32)

    memory = Memory(encode, kept_bytes=2 * 16)
    for text in ("a", "b", "a", "c", "a", "b"):
        await memory.of([text])
    assert asked == ["a", "b", "c", "b"]
    nothing_kept = Memory(encode, kept_bytes=0)
    assert (await nothing_kept.of(["x", "y", "x"])).shape == (3, 4)
    assert (memory._bytes, nothing_kept._bytes) == (32, 0)


async def test_a_batch_that_fails_fails_for_those_who_asked_and_is_tried_again():
    failing = [True]

    def encode(texts):
        if failing[0]:
            raise ModelError("out of memory")
        return np.ones((len(texts), 2), np.float32)

    memory = Memory(encode)
    found = await asyncio.gather(memory.of(["a"]), memory.of(["a", "b"]), return_exceptions=True)
    assert [type(error) for error in found] == [ModelError, ModelError]
    failing[0] = False
    assert (await memory.of(["a", "b"])).shape == (2, 2)


def test_several_event_loops_one_after_the_other_and_one_that_was_stopped():
    memory = Memory(lambda texts: np.ones((len(texts), 2), np.float32))

    async def stopped():
        asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)
        await memory.of(["a", "b"])

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stopped())
    for _ in range(2):
        assert asyncio.run(memory.of(["a", "b", "c"])).shape == (3, 2)


# --- the packaged encoder


async def test_a_paraphrase_is_first_where_bm25_finds_no_word():
    folder = minilm()
    import torch

    from veridical.models.encoders import STEncoder

    torch.set_num_threads(1)
    encoder = STEncoder(folder, device="cpu")
    passages = shelf(
        "The committee met on Tuesday to discuss the new bridge.",
        "Her physician, a childhood friend, treated that illness until dawn.",
        "Wheat prices rose sharply.",
    )
    query = Query(text="Doctors cared for the sick woman all night.")
    assert {passage.score for passage in await BM25().rank(query, passages, 3)} == {0.0}
    for ranker in (Dense(encoder), Hybrid(encoder, fusion="rrf"), Hybrid(encoder, fusion="sum")):
        assert (await ranker.rank(query, passages, 1))[0].id == "p1"


def test_importing_the_rankers_does_not_import_torch():
    code = "import veridical.knowledge.ranking, veridical.gather, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
