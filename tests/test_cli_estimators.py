"""Estimators on the command line: the options that choose them, what they print, and what is refused."""

import asyncio
import json

import pytest

import search_server
from masked_models import tiny
from replying import reply
from test_cli import Served, items
from tiny_encoder import tiny_encoder
from veridical import cli
from veridical.cli.opening import opened
from veridical.cli.setup import Setup
from veridical.errors import UsageError
from veridical.models.base import ChatRequest, Message
from veridical.safe.dry import stand_in


def score(path, out, server, *more):
    judge = ["--judge", f"{server.url}#m", "--read", "text"] if server else []
    return cli.run(["score", str(path), "--out", str(out), "--json", *judge, *more])


def verdicts(out):
    lines = (out / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    return [fact["verdict"] for line in lines for fact in json.loads(line)["facts"]]


def fields(out):
    return json.loads((out / "run.json").read_text(encoding="utf-8"))["fields"]


def test_the_paper_s_ensemble_end_to_end(tmp_path, capsys):
    folder = tiny("roberta", tmp_path / "model")
    path, out = items(tmp_path / "items.jsonl", 3), tmp_path / "run"
    with Served(reply) as server:
        more = ["--method", "factscore+np", "--np-model", f"hf/{folder}", "--np-threshold", "0.01"]
        assert score(path, out, server, *more) == 0
    found = verdicts(out)
    assert {verdict["mode"] for verdict in found} == {"votes"}
    assert all(len(verdict["votes"]) == 2 for verdict in found)
    for verdict in found:  # np is asked only where the language model said supported
        lm, np = verdict["votes"]
        assert ("label" in np) == (lm["label"] == "supported")
    assert fields(out)["verifier.rule"] == "all"
    assert "0.01" in json.dumps(fields(out))


def test_a_cascade_says_what_it_saved_and_what_it_kept(tmp_path, capsys):
    path, out = items(tmp_path / "items.jsonl", 6), tmp_path / "run"
    with Served(reply) as server:
        more = ["--method", "cascade", "--confidence", "0.6", "--audit", "1"]
        assert score(path, out, server, *more) == 0
        saving = json.loads(capsys.readouterr().out)["cascade"]
        assert saving["cheap"] + saving["costly"] == saving["facts"] == len(verdicts(out))
        assert saving["audited"] == saving["cheap"] > 0
        assert 0 <= saving["agreement"] <= 1
        judge = ["--judge", f"{server.url}#m", "--read", "text", *more]
        assert cli.run(["score", str(path), "--out", str(out), *judge]) == 0
    assert "answered by embedded/features-1" in capsys.readouterr().out


def test_self_check_needs_samples_or_the_model_under_test(tmp_path, capsys):
    path = tmp_path / "items.jsonl"
    row = {"id": "1", "text": "The mill opened in 1890.", "prompt": "When did the mill open?"}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")

    def handler(request):
        if b"split sentences" in request.body:
            return "- The mill opened in 1890."
        return "True" if b"True or False" in request.body else "It opened in 1890."

    with Served(handler) as server:
        assert score(path, tmp_path / "a", server, "--method", "self-check") == 2
        assert "give samples with the input, or --subject MODEL" in capsys.readouterr().err
        subject = ["--subject", f"{server.url}#subject", "--samples", "3"]
        assert score(path, tmp_path / "b", server, "--method", "self-check", *subject) == 0
    [verdict] = verdicts(tmp_path / "b")
    assert verdict["label"] == "supported"
    assert [vote["judge"] for vote in verdict["votes"]] == ["sample/1", "sample/2", "sample/3"]


def test_the_released_pipeline_and_its_defect_by_name(tmp_path, capsys):
    path = items(tmp_path / "items.jsonl", 2)

    def handler(request):
        return "- The mill opened." if b"split sentences" in request.body else "I'm unsure."

    with Served(handler) as server:
        assert score(path, tmp_path / "a", server, "--compat", "factscore") == 1  # unreadable: unscored
        assert any("Input: The mill opened. True or False?" in body for body in map(str, server.bodies))
        defect = ["--compat", "factscore", "--defect", "answers"]
        assert score(path, tmp_path / "b", server, *defect) == 0
    assert {verdict["label"] for verdict in verdicts(tmp_path / "b")} == {"supported"}
    assert fields(tmp_path / "b")["verifier.defects"] == '["answers"]'
    assert fields(tmp_path / "b")["published_sentences"] is True


def test_safe_prints_its_own_metric_and_says_where_nothing_was_found(tmp_path, capsys):
    path, found = items(tmp_path / "items.jsonl", 2), [search_server.result()]

    def handler(request):
        if request.path == "/search":
            return search_server.reply(organic=found)
        asked = ChatRequest(messages=(Message(role="user", content=request.prompt),), max_tokens=99)
        return stand_in(asked) or "- The mill opened in 1890."

    def safe(out, server, *more):
        web = ["--knowledge", f"web:serper+{server.url.removesuffix('/v1')}", "--judge", f"{server.url}#m"]
        return cli.run(["score", str(path), "--out", str(tmp_path / out), *web, *more])

    with Served(handler) as server:
        assert safe("a", server, "--compat", "safe", "--json") == 0
        published = [one["name"] for one in json.loads(capsys.readouterr().out)["scores"]]
        assert published[0] == "f1@64" and len(published) == len(set(published))
        assert safe("b", server, "--method", "safe", "--json") == 0
        ours = [one["name"] for one in json.loads(capsys.readouterr().out)["scores"]]
        assert ours[0] == "f1@64" and "factscore(gamma=10)" in ours
        assert safe("b", server, "--method", "safe") == 0
        assert "nothing at all" not in capsys.readouterr().out
        found.clear()
        assert safe("c", server, "--method", "safe") == 0
    assert "nothing at all was found for" in capsys.readouterr().out


def _signature(**options):
    async def sign():
        async with opened(Setup(judge="openai/m", **options), dry=True) as made:
            return made.signature

    return asyncio.run(sign())


def test_the_printed_signature_of_safe_has_its_search_and_the_dry_run_s_has_pages():
    printed = str(_signature(method="safe", knowledge="web:searxng", as_of="2024-03-01", allow=["a.org"], country="de"))
    assert "|gatherer.steps:5|" in printed and "|gatherer.early_stop:True|" in printed
    assert "|gatherer.searcher:web:searxng http://127.0.0.1:8888 language=en country=de before=2024-03-01" in printed
    assert "allow=a.org" in printed
    pages = {"method": "safe", "knowledge": "web:searxng", "pages": True}
    signed = _signature(**pages)
    assert signed.fields["gatherer.searcher"] == "pages(web:searxng)" and "pages(web:searxng" in str(signed)
    assert "networks=10.2.0.0/16" in str(_signature(**pages, allow_network=["10.2.0.0/16"]))
    assert not any("batch" in name for name in signed.fields)  # SAFE's facts never share a call


def test_more_results_than_a_provider_gives_are_refused():
    with pytest.raises(UsageError, match="-k 21: web:searxng gives 20 results at once"):
        _signature(method="safe", knowledge="web:searxng", k=21)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"allow_network": ["10.0.0.0/8"]}, "--allow-network is for the pages that are read: --pages"),
        ({"allow_network": ["intranet"], "pages": True}, "no network"),
    ],
)
def test_a_network_is_opened_for_pages_only_and_by_its_addresses(options, words):
    with pytest.raises(UsageError, match=words):
        _signature(method="safe", knowledge="web:searxng", **options)


@pytest.mark.parametrize("retrieval", ["dense", "hybrid"])
def test_retrieval_by_an_encoder_of_one_s_own(retrieval, tmp_path, capsys):
    folder = tiny_encoder(tmp_path / "encoder")
    path, out = items(tmp_path / "items.jsonl", 2), tmp_path / "run"
    assert score(path, out, None, "--retrieval", retrieval, "--encoder", f"hf/{folder}") == 0
    signature = json.loads((out / "run.json").read_text(encoding="utf-8"))["signature"]
    assert retrieval in signature


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--defect", "answers"], "--compat factscore"),
        (["--compat", "veriscore"], "must be one of factscore, safe"),
        (["--pages"], "is for a search of the web"),
        (["--allow-network", "10.0.0.0/8"], "is for a search of the web"),
        (["--metric", "f1@median"], "veridical metrics RUN --metric f1@median"),
        (["--steps", "2"], "is for a method with safe"),
        (["--method", "safe"], "give --knowledge web:PROVIDER or --knowledge KB\n"),
        (["--compat", "safe", "--steps", "2"], "--compat safe fixes --steps: leave it out"),
        (["--encoder", "hf/x"], "--retrieval dense"),
        (["--order", "best_first", "--method", "no-context"], "is for a method with factscore or qa"),
        (["--compat", "factscore", "--defect", "typos"], "no published defect 'typos'"),
        (["--compat", "factscore", "--order", "best_first"], "fixes"),
        (["--combine", "any"], "is for a method with +"),
        (["--method", "factscore+np", "--combine", "most"], "must be one of all, any, majority, mean"),
        (["--np-model", "hf/x"], "is for a method with np"),
        (["--subject", "openai/x"], "is for a method with self-check"),
        (["--retrieval", "sparse"], "must be one of bm25, dense, hybrid"),
        (["--facts-per-call", "3", "--read", "logprobs"], "--read text"),
        (["--method", "factscore+np", "--np-model", "hf/no/such/place"], "neither a folder nor"),
        (["--method", "cascade", "--calibration", "missing.json"], "missing.json"),
        (["--method", "factscore+no-context", "--combine", "mean", "--read", "text"], "needs probabilities"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_asked(options, words, tmp_path, capsys):
    path = items(tmp_path / "items.jsonl", 1)
    with Served(reply) as server:
        arguments = ["score", str(path), "--out", str(tmp_path / "run"), "--judge", f"{server.url}#m", *options]
        assert cli.run(arguments) in (1, 2)
        assert server.bodies == []
    assert words in capsys.readouterr().err


def test_logits_are_refused_where_a_server_cannot_give_them(tmp_path, capsys):
    path = items(tmp_path / "items.jsonl", 1)
    with Served(reply) as server:
        arguments = ["score", str(path), "--out", str(tmp_path / "run"), "--judge", f"{server.url}#m"]
        assert cli.run([*arguments, "--read", "logits"]) == 2
    assert "gives no logits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("method", "calls_a_fact"),
    [
        (["factscore"], 1),
        (["qa"], 3),
        (["factscore+np", "--np-model", "hf/a/b"], 1),
        (["factscore+no-context", "--combine", "mean"], 2),
        (["factscore", "--facts-per-call", "2"], 0.5),
    ],
)
def test_estimates_count_the_calls_of_each_estimator(method, calls_a_fact, tmp_path, capsys):
    path = tmp_path / "items.jsonl"
    rows = [
        {
            "id": str(n),
            "text": "Ada ran a mill.",
            "reference": "A mill.",
            "facts": ["Ada ran a mill.", "It was a mill."],
        }
        for n in range(4)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    arguments = ["estimate", str(path), "--judge", "openai/gpt-x", "--facts", "given", "--method", *method, "--json"]
    assert cli.run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 8 * calls_a_fact
