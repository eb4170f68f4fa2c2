"""SAFE as a whole: its parts in the pipeline, the published preset, a real endpoint."""

import dataclasses
import re

from loopback import Loopback
from script import last_block
from search_server import SearchServer
from veridical.decompose import GivenFacts, LLMDecomposer
from veridical.errors import SearchError
from veridical.knowledge.given import Given
from veridical.metrics import parse
from veridical.models.base import ChatRequest, Message
from veridical.models.openai_compatible import OpenAICompatible
from veridical.models.scripted import Scripted
from veridical.pipeline import Method, evaluate
from veridical.prompts import Template
from veridical.safe import PublishedSAFE, Rate, Relevance, Revised, SearchLoop
from veridical.safe.dry import stand_in
from veridical.signature import sign
from veridical.types import Generation, GivenFact, Label

GENERATION = Generation(
    id="g",
    text="Ana Brandt ran the mill. She sold it in 1932. She sang at night. Oslo is a city. She flew to Mars.",
    prompt="Who was Ana Brandt?",
)
KNOWLEDGE = Given({"Ana Brandt": ["Ana Brandt ran the mill.", "Brandt sold the mill in 1931.", "Nobody flew to Mars."]})
REVISED = {
    "She sold it in 1932.": "Ana Brandt sold the mill in 1932.",
    "She sang at night.": "Ana Brandt sang at night.",
    "She flew to Mars.": "Ana Brandt flew to Mars.",
}


def openings(name):
    return Template.load(f"safe/{name}").text.partition("{{")[0]


def model(request):
    """Splits a sentence into itself, and does as SAFE's prompts ask."""
    asked = request.messages[0].content
    if "atomic facts" in asked:
        return f"- {last_block(request, 'sentence')}"
    fact = last_block(request, "statement")
    if asked.startswith(openings("revise")):
        return f"Pronouns.\n```\n{REVISED.get(fact, fact)}\n```"
    if asked.startswith(openings("relevance")):
        return "see [1]. Thus [Not Foo]" if "Oslo" in fact else "It is about her.\n[Lom]"
    if asked.startswith(openings("query")):
        if "sang" in fact:
            return "```\nzzz\n```"
        first = "<searched-" not in asked
        return f"```\n{fact}\n```" if first else "```\nNO FURTHER SEARCH\n```"
    if "Mars" in fact:
        return "I would rather not say."
    return "It says so.\n[Supported]" if "ran" in fact.split() else "It says 1931.\n[Not supported]"


def method(double, searcher=KNOWLEDGE, **settings):
    split = LLMDecomposer(model=double)
    return Method(
        name="safe",
        decomposer=Revised(split, double),
        triage=Relevance(double),
        gatherer=SearchLoop(double, searcher, **settings),
        verifier=Rate(double),
    )


async def test_f33_f38_f39_a_whole_evaluation_leaves_no_fact_uncounted():
    double = Scripted(model)
    report = await evaluate(GENERATION, method(double))
    assert report.failure is None
    facts = {judged.fact.text: judged for judged in report.facts}
    labels = {text: judged.verdict and judged.verdict.label for text, judged in facts.items()}
    assert labels == {
        "Ana Brandt ran the mill.": Label.SUPPORTED,
        "Ana Brandt sold the mill in 1932.": Label.NOT_ENOUGH_EVIDENCE,
        "Ana Brandt sang at night.": Label.NOT_ENOUGH_EVIDENCE,
        "Oslo is a city.": Label.IRRELEVANT,
        "Ana Brandt flew to Mars.": None,
    }
    sang, mars = facts["Ana Brandt sang at night."], facts["Ana Brandt flew to Mars."]
    assert sang.verdict and sang.verdict.mode == "no evidence"
    assert mars.failure and (mars.failure.stage, mars.failure.error) == ("verify", "ParseError")
    assert facts["Ana Brandt sold the mill in 1932."].fact.original == "She sold it in 1932."
    for judged in report.facts:
        known = {passage.id for passage in judged.evidence.passages}
        assert all(set(search.passages) <= known for search in judged.evidence.searches)
        assert all(quote.passage in known for quote in (judged.verdict.quotes if judged.verdict else ()))
    outcomes = [judged.verdict.label if judged.verdict else "unrated" for judged in report.facts]
    assert len(outcomes) == 5  # S + NS + IR + unrated = number of facts


async def test_f33_calls_of_a_fact_are_bounded_where_nothing_can_be_read():
    generation = Generation(id="g", text="Ana ran it.", prompt="Who?", facts=(GivenFact(text="Ana ran it."),))
    double = Scripted("hm")
    parts = dataclasses.replace(method(double), decomposer=Revised(GivenFacts(), double))
    report = await evaluate(generation, parts)
    (judged,) = report.facts
    assert judged.failure or judged.verdict
    assert len(double.seen) <= 2 * 4  # revise, relevance, one step, rate; each 1 + retries
    assert judged.fact.flags
    assert "relevance" in judged.evidence.skipped[0]


async def test_the_most_calls_a_fact():
    generation = Generation(id="g", text="Ana ran it.", prompt="Who?", facts=(GivenFact(text="Ana ran it."),))
    double = Scripted(lambda request: stand_in(request) or "")
    parts = dataclasses.replace(method(double), decomposer=Revised(GivenFacts(), double))
    report = await evaluate(generation, parts)
    assert report.facts[0].verdict
    assert len(double.seen) == 1 + 1 + 5 + 1
    assert len(set(report.facts[0].evidence.queries)) == 5


async def test_where_no_search_succeeds_facts_are_unscored():
    class Down:
        name = "down"

        async def search(self, query, *, k):
            raise SearchError("bad gateway")

    report = await evaluate(GENERATION, method(Scripted(model), Down()))
    stages = [judged.failure.stage for judged in report.facts if judged.failure]
    assert stages == ["gather"] * 4  # the irrelevant one is none of them


def test_every_setting_is_signed():
    double = Scripted("", name="m")
    fields = sign(method(double)).fields
    assert fields["decomposer"] == "revised(llm(m), m)"
    assert fields["gatherer.steps"] == 5
    assert fields["gatherer.searcher"] == KNOWLEDGE.name
    for part in ("decomposer", "triage", "gatherer", "verifier"):
        assert str(fields[f"{part}.template"]).startswith("safe/")
    assert sign(method(double, early_stop=False)).digest != sign(method(double)).digest


# --- the preset


async def test_the_published_preset_always_searches_five_times_for_three_results():
    double = Scripted(model)
    preset = PublishedSAFE()
    seen = []

    class Searches:
        name = "double"

        async def search(self, query, *, k):
            seen.append((query.text, k))
            return await KNOWLEDGE.search(query, k=k)

    generation = Generation(id="g", text="Ana Brandt ran the mill.", prompt="Who was she?")
    published = Method(
        name="safe-published",
        decomposer=preset.decomposer(double),
        triage=preset.triage(double),
        gatherer=preset.gatherer(double, Searches()),
        verifier=preset.verifier(double),
        abstention=preset.abstention,
        published_sentences=preset.published_sentences,
    )
    report = await evaluate(generation, published)
    (judged,) = report.facts
    assert judged.verdict and judged.verdict.label is Label.SUPPORTED
    assert len(judged.evidence.queries) == 5
    assert seen == [("Ana Brandt ran the mill.", 3)]
    temperatures = {request.messages[0].content[:40]: request.temperature for request in double.seen}
    assert sorted(temperatures.values()) == [0.0, 0.1, 0.1, 0.1, 0.1]  # splitting at 0
    assert {request.max_tokens for request in double.seen} == {512}


def test_the_published_metric():
    assert PublishedSAFE().metric == "f1@64"
    assert parse(PublishedSAFE(at=178).metric).name == "f1@178"


def test_given_facts_can_be_rewritten_too():
    double = Scripted("", name="m")
    assert PublishedSAFE().revised(GivenFacts(), double).name == "revised(given, m)"


# --- a real endpoint


def over_http(request):
    """The same double behind HTTP."""
    messages = tuple(Message(role=one["role"], content=one["content"]) for one in request.json["messages"])
    return model(ChatRequest(messages=messages))


async def test_f45_f46_f47_over_http_hostile_text_and_temperature_zero_arrive():
    hostile = r"Ana Brandt ran {{name}} \frac{{a}}{{b}} {% off %} {#1} [PROMPT] [KNOWLEDGE] [RESPONSE]."
    generation = Generation(id="g", text=hostile, prompt=f"Who {hostile}?", facts=(GivenFact(text=hostile),))
    async with Loopback(over_http) as server, SearchServer() as web:
        client, searcher = OpenAICompatible(server.url, "m"), web.searcher()
        parts = dataclasses.replace(method(client, searcher), decomposer=Revised(GivenFacts(), client))
        report = await evaluate(generation, parts)
        await client.close()
        await searcher.close()
    (judged,) = report.facts
    assert judged.verdict and judged.verdict.label is Label.SUPPORTED
    assert judged.fact.text == hostile
    assert [body["temperature"] for body in server.bodies] == [0.0] * len(server.bodies)
    assert len(server.bodies) == 5  # revise, relevance, two steps, rate
    assert all(hostile in request.prompt for request in server.requests)
    assert web.queries == [hostile]
    assert judged.evidence.passages[0].url == "https://site1.test/page"


def test_prompts_begin_with_what_all_facts_share():
    for name in ("revise", "relevance", "rate", "rate_three", "rate_label", "query"):
        text = Template.load(f"safe/{name}").text
        assert text.index("{{") > 200
        slots = re.findall(r"\{\{(\w+)\}\}", text)
        if name != "query":
            assert slots[-1] == "statement"
