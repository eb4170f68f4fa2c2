"""A second source: only what the first did not support is judged again, and both verdicts are kept."""

import asyncio
import json
import re
import threading

import pytest
from msgspec.structs import replace
from scipy import stats

from knowledge_files import store
from reports import report as by_hand
from search_server import SearchServer, about, refusal
from test_cli import Served
from veridical import cli
from veridical.errors import FatalError, SearchError
from veridical.folder import RunFolder
from veridical.knowledge.given import Given
from veridical.methods import method
from veridical.models.scripted import Scripted
from veridical.parts import Parts
from veridical.pipeline import evaluate
from veridical.recheck import recheck, recovered, signature
from veridical.types import Generation, GivenFact, Label, Vote

SOLD, ROUND, BORN = "Ana Brandt sold the mill in 1932.", "Oranges are round.", "Ana Brandt was born in Turin."
GENERATION = Generation(
    id="g",
    text=f"{SOLD} {ROUND} {BORN}",
    reference=f"{SOLD} The mill stood in Turin.",
    facts=tuple(GivenFact(text=text) for text in (SOLD, ROUND, BORN)),
)
WEB = Given({"web": [f"{BORN} So it is.", "Lemons are yellow."]}, label="web")


def judge(request):
    """True where the evidence has the statement, word for word."""
    asked = request.messages[0].content
    found = {name: text for _, name, text in re.findall(r"<(([a-z]+)-[0-9a-f]{6})>\n(.*?)\n</\1>", asked, re.DOTALL)}
    return "True" if found["statement"] in found["evidence"] else "False"


def by(model, **more):
    return method("factscore", Parts(judge=model, given_facts=True, **more))


async def first():
    return await evaluate(GENERATION, by(Scripted(judge, name="first")))


async def test_only_unsupported_facts_are_judged_again_and_both_votes_are_kept():
    report, model = await first(), Scripted(judge, name="second")
    assert [fact.verdict.label for fact in report.facts] == [Label.SUPPORTED, *[Label.NOT_ENOUGH_EVIDENCE] * 2]
    made = await recheck(report, by(model, searcher=WEB), sign="recheck:1")
    assert [fact.verdict.label for fact in made.facts] == [Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE, Label.SUPPORTED]
    assert len(model.seen) == 1  # nothing was found for the other one
    assert made.facts[0] == report.facts[0]
    votes = made.facts[2].verdict.votes
    assert [vote.label for vote in votes] == [Label.NOT_ENOUGH_EVIDENCE, Label.SUPPORTED]
    assert votes[1].judge == "second by web"
    assert made.facts[2].evidence.passages[0].source == "web"
    assert made.signature == "recheck:1"
    found = recovered([(report, made)])
    assert (found.again, found.supported, found.share) == (2, 1, 0.5)
    assert found.other == {"not_enough_evidence": 1}


class Broken:
    name = "broken"

    def __init__(self, error):
        self.error = error

    async def search(self, query, *, k):
        raise self.error


async def test_where_the_second_source_fails_the_first_verdict_stays():
    report = await first()
    made = await recheck(report, by(Scripted(judge), searcher=Broken(SearchError("down"))))
    assert [fact.verdict.label for fact in made.facts] == [fact.verdict.label for fact in report.facts]
    assert made.facts[2].verdict.votes[1].failure.message == "down"
    assert recovered([(report, made)]).other == {"unscored": 2}


async def test_trouble_of_the_run_stops_it():
    with pytest.raises(FatalError, match="no credit"):
        await recheck(await first(), by(Scripted(judge), searcher=Broken(FatalError("no credit"))))


async def test_the_unjudged_are_judged_on_request():
    unreadable = await evaluate(GENERATION, by(Scripted("Hmm.")))
    assert all(fact.failure for fact in unreadable.facts)
    second = by(Scripted(judge), searcher=WEB)
    same = await recheck(unreadable, second)
    assert same.facts == unreadable.facts
    made = await recheck(unreadable, second, unjudged=True)
    assert [bool(fact.verdict) for fact in made.facts] == [True, True, True]
    assert recovered([(unreadable, made)], unjudged=True).again == 3


async def test_chosen_labels_and_signatures():
    report, second = await first(), by(Scripted(judge), searcher=WEB)
    made = await recheck(report, second, labels=(Label.CONTRADICTED,))
    assert made.facts == report.facts
    one, other = (signature("a", second, labels, unjudged=False) for labels in ((Label.CONTRADICTED,), tuple(Label)))
    assert one.digest != other.digest
    assert one.fields["first"] == "a"
    assert one.fields["second.gatherer.searcher"] == WEB.name


def test_the_interval_stands_where_nothing_is_recovered_and_widens_where_answers_differ():
    def pair(id, n, recovered_):
        first = by_hand("N" * n, id=id)
        vote = Vote(judge="second", label=Label.SUPPORTED if recovered_ else Label.NOT_ENOUGH_EVIDENCE)
        facts = tuple(replace(one, verdict=replace(one.verdict, votes=(vote, vote))) for one in first.facts)
        return first, replace(first, facts=facts)

    none = recovered([pair("a", 30, False)])
    assert (none.supported, none.share, none.low) == (0, 0.0, 0.0)
    assert none.high == pytest.approx(stats.binomtest(0, 30).proportion_ci(0.95, method="wilson").high)
    alike = recovered([pair("a", 15, True), pair("b", 15, False)])
    plain = stats.binomtest(15, 30).proportion_ci(0.95, method="wilson")
    assert alike.share == 0.5
    assert alike.high - alike.low > 1.5 * (plain.high - plain.low)
    empty = recovered([])
    assert (empty.again, empty.share, empty.low, empty.high) == (0, None, None, None)


def test_a_result_file_of_safe_is_rechecked(tmp_path, capsys):
    rows = ["Ana Brandt was born in Turin.", "Oranges are square.", "Lemons are yellow."]
    said = ["Not Supported", "Not Supported", "Supported"]
    statements = [
        {"sentence": row, "atomic_fact": row, "annotation": word} for row, word in zip(rows, said, strict=True)
    ]
    rated = {"num_claims": 3, "checked_statements": statements,
             "all_atomic_facts": [{"sentence": row, "atomic_facts": [row]} for row in rows]}  # fmt: skip
    prompt = {"prompt": "Tell me.", "side2_response": " ".join(rows), "side2_posthoc_eval_data": rated}
    path = tmp_path / "x-SAFE.json"
    path.write_text(json.dumps({"per_prompt_data": [prompt]}), encoding="utf-8")
    store(tmp_path, [{"title": "Ana Brandt", "text": "Ana Brandt was born in Turin."}]).close()
    command = ["recheck", str(path), "--out", str(tmp_path / "b"), "--knowledge", str(tmp_path / "kb.sqlite")]
    assert cli.run([*command, "--method", "embedded", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["recovered"]["again"], result["recovered"]["supported"]) == (2, 1)
    [report] = RunFolder(tmp_path / "b").reports()
    assert report.facts[0].verdict.votes[0].judge == "SAFE (file)"
    assert report.facts[2].verdict.judge == "SAFE (file)"
    assert RunFolder(tmp_path / "b").info().fields["first"] == "SAFE (file)"
    path.write_text(json.dumps({"per_prompt_data": [prompt | {"prompt": "Else?"}]}), encoding="utf-8")
    assert cli.run([*command, "--method", "embedded"]) == 2
    assert "x-SAFE.json with other content" in capsys.readouterr().err
    own = ["recheck", str(tmp_path / "b" / "reports.jsonl"), "--out", str(tmp_path / "b"), "--fresh", *command[4:]]
    assert cli.run(own) == 2
    assert (tmp_path / "b" / "reports.jsonl").exists()


@pytest.mark.parametrize(
    ("more", "method"),
    [([], "qa"), (["--method", "factscore"], "factscore"), (["--compat", "factscore"], "factscore")],
)
def test_without_a_method_it_is_the_first_run_s(more, method, tmp_path, capsys):
    items = tmp_path / "items.jsonl"
    row = {"id": "g", "text": "Ana Brandt was born in Turin.", "reference": "Nothing about her."}
    items.write_text(json.dumps(row), encoding="utf-8")
    store(tmp_path, [{"title": "Ana Brandt", "text": "Ana Brandt was born in Turin."}]).close()
    with Served(lambda request: "False" if "True" in request.prompt else "Turin") as server:
        judge = ["--judge", f"{server.url}#m", "--decomposer", "embedded", "--read", "text"]
        cli.run(["score", str(items), "--out", str(tmp_path / "a"), "--method", "qa", *judge])
        second = [
            "recheck",
            str(tmp_path / "a"),
            "--out",
            str(tmp_path / "b"),
            "--knowledge",
            str(tmp_path / "kb.sqlite"),
        ]
        cli.run([*second, *judge[:2], *judge[4:], "--unjudged", *more])
    said = capsys.readouterr().err
    assert RunFolder(tmp_path / "b").info().fields["second.name"] == method
    assert ("judged by method qa, as the first run was" in said) == (method == "qa")


def test_on_the_command_line_resumable_and_stopped_by_a_spent_credit(tmp_path, capsys, monkeypatch):
    items = tmp_path / "items.jsonl"
    rows = [
        {"id": f"g{n}", "text": f"Bridge {n} was finished in {1900 + n}.", "reference": "Nothing about bridges."}
        for n in range(8)
    ]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert cli.run(["score", str(items), "--out", str(tmp_path / "a")]) == 0
    capsys.readouterr()
    calls, limit = [], [3]

    def handler(request):
        calls.append(request)
        return about(request) if len(calls) <= limit[0] else refusal(403, "Not enough credits")

    ready, loop = threading.Event(), asyncio.new_event_loop()
    server = SearchServer(handler)

    def serve():
        asyncio.set_event_loop(loop)
        loop.run_until_complete(server.__aenter__())
        ready.set()
        loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    ready.wait(10)
    for name, value in server.environ.items():
        monkeypatch.setenv(name, value)
    command = ["recheck", str(tmp_path / "a"), "--out", str(tmp_path / "b"), "--knowledge", f"web:{server.spec}"]
    command += ["--method", "embedded", "--concurrency", "1"]
    try:
        assert cli.run(command) == 3
        assert "Not enough credits" in capsys.readouterr().err
        limit[0] = 10_000
        assert cli.run([*command, "--json"]) == 0
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
    result = json.loads(capsys.readouterr().out)
    again = sum(len(report.facts) for report in RunFolder(tmp_path / "a").reports())
    assert result["recovered"]["again"] == again
    assert result["before"]["value"] == 0
    assert result["after"]["value"] > 0
    assert cli.run(["recheck", str(tmp_path / "a"), "--out", str(tmp_path / "a"), "--knowledge", "x"]) == 2
    assert cli.run([*command, "--labels", "supported"]) == 2
