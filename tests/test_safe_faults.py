"""A thousand facts through safe at concurrency 32 while one request in twenty goes wrong, over HTTP."""

import hashlib
from collections import Counter

import pytest

from loopback import Loopback, chat, error, usage
from search_server import SearchServer, about, query_of, refusal
from veridical.folder import RunFolder, RunInfo
from veridical.knowledge.web.search import open_search
from veridical.methods import method
from veridical.models.base import ChatRequest, Message
from veridical.models.cache import CallStore
from veridical.models.factory import open_model
from veridical.models.retry import Retries
from veridical.parts import Parts
from veridical.run import run
from veridical.safe.dry import stand_in
from veridical.types import Generation, GivenFact

GENERATIONS, FACTS = 100, 10
UNREADABLE = 20
"""Facts whose rating never says anything: numbers 0, 50, 100, …"""
UNSEARCHABLE = 20
"""Facts whose query the provider never takes: numbers 25, 75, 125, …"""


def text(number):
    return f"The bridge of town {number} was finished in {1000 + number}."


def generations():
    for place in range(GENERATIONS):
        facts = [text(place * FACTS + n) for n in range(FACTS)]
        given = tuple(GivenFact(text=fact) for fact in facts)
        yield Generation(id=f"g{place}", prompt="When were the bridges finished?", text=" ".join(facts), facts=given)


def number(words):
    return int(words.split("town ")[1].split(" ")[0])


def passing(seen, body):
    """Whether this request is one in twenty, and seen for the first time: it fails once and then passes."""
    key = hashlib.sha256(body).digest()
    seen[key] += 1
    return key[0] < 256 // 20 and seen[key] == 1


def outcome(fact):
    return fact.verdict.label if fact.verdict else f"{fact.failure.stage}:{fact.failure.error}"


@pytest.mark.slow
async def test_f33_a_thousand_facts_with_5_percent_faults_complete_and_no_call_is_repeated(tmp_path):
    asked, searched, answered = Counter(), Counter(), Counter()

    def model(request):
        if passing(asked, request.body):
            return error(503, "busy")
        messages = request.json["messages"]
        answered[hashlib.sha256(request.body).digest()] += 1
        said = stand_in(ChatRequest(messages=tuple(Message(role=m["role"], content=m["content"]) for m in messages)))
        first = messages[0]["content"]
        if said.endswith("[Supported]") and number(first.split("<statement")[1]) % 50 == 0:
            said = "It can be seen either way."
        return chat(said) | usage(sum(len(m["content"]) for m in messages) // 3)

    def web(request):
        if passing(searched, request.body):
            return refusal(500, "Internal server error")
        answered[hashlib.sha256(request.body).digest()] += 1
        if number(query_of(request)) % 50 == 25:
            return refusal(400, "Bad query")
        return about(request)

    async with Loopback(model) as server, SearchServer(web) as searching:
        store = CallStore(tmp_path / "calls.sqlite")
        judge = open_model(f"{server.url}#m", store=store, concurrency=32)
        judge.inner.inner.first_wait = 0.001
        searcher = open_search(searching.spec, environ=searching.environ, store=store, concurrency=32)
        searcher.retries = Retries(first_wait=0.001)
        made = method("safe", Parts(judge=judge, given_facts=True, searcher=searcher, steps=1))
        folder = RunFolder(tmp_path / "run")
        info = RunInfo(
            signature=str(made.signature), fields=made.signature.fields, input="", input_sha256="",
            generations=GENERATIONS, metrics=(), settings={},
        )  # fmt: skip
        with folder.held():
            folder.start(made.signature, info, fresh=True)
            assert await run(generations(), made, folder, in_flight=32) == GENERATIONS
        await judge.close()
        await searcher.close()
        store.close()

    judged = [fact for report in folder.reports() for fact in report.facts]
    assert len(judged) == GENERATIONS * FACTS
    counts = Counter(
        fact.verdict.label if fact.verdict else f"{fact.failure.stage}:{fact.failure.error}" for fact in judged
    )
    assert counts == {
        "supported": GENERATIONS * FACTS - UNREADABLE - UNSEARCHABLE,
        "verify:ParseError": UNREADABLE,
        "gather:SearchError": UNSEARCHABLE,
    }
    failed = sum(count - 1 for seen in (asked, searched) for count in seen.values() if count > 1)
    assert failed > 0.03 * (len(asked) + len(searched))  # the faults did happen
    assert set(answered.values()) == {1}  # and what was answered was never asked again
    supported = next(fact for fact in judged if fact.verdict)
    assert supported.evidence.searches[0].source.startswith("web:serper@")
    assert all(passage.url and passage.retrieved for passage in supported.evidence.passages)
