"""The LongFact benchmark in one go, over HTTP: answers, verdicts, table, ranking; stopped and gone on with."""

import asyncio
import json
import random
import re
import signal
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import Loopback, chat, error, usage
from search_server import KEY, about
from test_cli import Served
from veridical import cli
from veridical.cli.bench import folder_of
from veridical.models.base import ChatRequest, Message
from veridical.safe.dry import stand_in

BRIDGES = 12


@pytest.fixture
def world(tmp_path):
    """Prompts, and a knowledge source in which some bridges were finished when the models say."""
    prompts = tmp_path / "prompts.jsonl"
    lines = [{"id": f"p{n}", "prompt": f"Tell me about bridge {n}."} for n in range(BRIDGES)]
    prompts.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    pages = tmp_path / "pages.jsonl"
    rows = [{"title": f"Bridge {n}", "text": f"Bridge {n} was finished in {1800 + n}."} for n in range(BRIDGES)]
    pages.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert cli.run(["knowledge", "build", str(pages), "--out", str(tmp_path / "kb.sqlite")]) == 0
    return tmp_path


def answering(request):
    """Model "good" knows the year, "bad" is a century off; the judge compares years."""
    body = request.json
    asked = body["messages"][-1]["content"]
    if body["model"] == "judge":
        statement = asked.rsplit("<statement", 1)[1]
        year = next(word.strip(".") for word in statement.split() if word.strip(".").isdigit() and len(word) > 3)
        said = "True" if year in asked.partition("\n<evidence")[2].partition("</evidence")[0] else "False"
    else:
        number = int(asked.split("bridge ")[1].split(".")[0])
        year = 1800 + number + (0 if body["model"] == "good" else 100)
        said = f"Bridge {number} was finished in {year}."
    return chat(said) | usage(len(asked) // 3)


def command(server, world, *more):
    models = f"{server.url}#good,{server.url}#bad"
    return [
        "bench", "longfact", "--models", models, "--prompts", str(world / "prompts.jsonl"),
        "--out", str(world / "bench"),
        "--method", "factscore", "--judge", f"{server.url}#judge", "--decomposer", "embedded", "--read", "text",
        "--knowledge", str(world / "kb.sqlite"), "--ks", "median,4", *more,
    ]  # fmt: skip


def test_the_table_ranks_the_better_model_first_and_nothing_is_asked_twice(world, capsys):
    with Served(answering) as server:
        capsys.readouterr()
        assert cli.run(command(server, world, "--json")) == 0
        first = json.loads(capsys.readouterr().out)
        calls = len(server.requests)
        assert cli.run(command(server, world, "--json")) == 0
        assert json.loads(capsys.readouterr().out) == first
        assert len(server.requests) == calls
    rows = first["table"]["rows"]
    assert [row["system"].rpartition("#")[2] for row in rows] == ["good", "bad"]
    assert rows[0]["scores"]["precision"]["value"] > rows[1]["scores"]["precision"]["value"]
    assert rows[0]["scores"]["f1@4"]["n"] == BRIDGES
    assert [choice["rule"] for choice in first["table"]["k"]] == ["median"]
    [pair] = first["ranking"]["differences"]
    assert pair["value"] > 0
    assert pair["p"] < 0.01
    assert cli.run(["bench", "longfact", "--runs", ",".join(first["runs"]), "--ks", "median,4"]) == 0
    shown = capsys.readouterr().out
    assert "F1@4" in shown
    assert "K = " in shown
    assert "common prompts" in shown


def test_safe_on_the_web_with_calls_and_searches_of_each_response(world, capsys, monkeypatch):
    """One server plays both models, the judge and the search."""

    def handler(request):
        if request.path.startswith("/search"):
            return about(request)
        body = request.json
        if body["model"] != "judge":
            return answering(request)
        asked = body["messages"][-1]["content"]
        said = stand_in(ChatRequest(messages=(Message(role="user", content=asked),)))
        return chat(said) | usage(len(asked) // 3)

    monkeypatch.setenv("SERPER_API_KEY", KEY)
    with Served(handler) as server:
        place = server.url.removesuffix("/v1")
        line = [
            "bench", "longfact", "--models", f"{server.url}#good,{server.url}#bad", "--first", "2", "--ks", "max",
            "--prompts", str(world / "prompts.jsonl"), "--out", str(world / "safe"), "--method", "safe",
            "--judge", f"{server.url}#judge", "--read", "text", "--knowledge", f"web:serper+{place}",
            "--decomposer", "embedded", "--steps", "2",
        ]  # fmt: skip
        capsys.readouterr()
        assert cli.run(line) == 0
        shown = capsys.readouterr().out
        assert cli.run([*line, "--json"]) == 0
        rows = _by_model(capsys.readouterr().out)
        searches = [request for request in server.requests if request.path.startswith("/search")]
    for row in rows.values():
        assert row["responses"] == 2
        assert row["scores"]["f1@1"]["value"] == 1.0
        assert row["per_response"]["searches"] == 2
        assert row["per_response"]["calls"] == 5  # revise, relevance, two queries, the verdict
        assert row["per_response"]["answer_tokens"] == 1
    assert len(searches) == 8
    for words in ("not supported", "F1@1", "K = 1: max of the relevant facts over 4 responses of 2 runs", "searches"):
        assert words in shown


def test_c2_failed_prompts_are_in_the_table_and_are_asked_again(world, capsys):
    def handler(request):
        body = request.json
        if body["model"] == "bad" and "bridge 3." in body["messages"][-1]["content"]:
            return error(400, "no bridges", code="content_filter")
        return answering(request)

    with Served(handler) as server:
        capsys.readouterr()
        assert cli.run(command(server, world)) == 1
        shown = capsys.readouterr()
        assert "failed prompts 1" in shown.out
        assert "1 prompts failed; the same command asks for the failed prompts again" in shown.err
        server.handler = answering
        before = len(server.requests)
        assert cli.run(command(server, world, "--json")) == 0
        assert len(server.requests) == before + 2  # the answer that was lacking, and its verdict
        found = json.loads(capsys.readouterr().out)
    assert {row["responses"] for row in found["table"]["rows"]} == {BRIDGES}
    assert {one["failed"] for one in found["answers"].values()} == {0}


def test_a_model_that_fails_all_prompts_leaves_the_others_their_table(world, capsys):
    def handler(request):
        return error(400, "no bridges", code="content_filter") if request.json["model"] == "bad" else answering(request)

    with Served(handler) as server:
        capsys.readouterr()
        assert cli.run(command(server, world, "--json")) == 1
        shown = capsys.readouterr()
        found = json.loads(shown.out)
        [row] = found["table"]["rows"]
        assert row["system"].endswith("#good")
        assert list(found["without"]) == [f"{server.url}#bad"]
        assert f"all {BRIDGES} prompts failed, the first with" in found["without"][f"{server.url}#bad"]
        assert "12 prompts failed" in shown.err


def test_another_judge_is_refused_and_nothing_is_lost(world, capsys):
    """Also where answers have changed since: what the first judge said stays until it is asked to go."""
    with Served(answering) as server:
        assert cli.run(command(server, world)) == 0
        [reports] = (world / "bench").glob("*good/run/reports.jsonl")
        before = reports.read_bytes()
        other = [part.replace("#judge", "#other") for part in command(server, world)]
        assert cli.run(other) == 2
        [answers] = (world / "bench").glob("*good/answers.jsonl")
        answers.write_bytes(answers.read_bytes().replace(b'"finish_reason":"stop"', b'"finish_reason":"stop "', 1))
        assert cli.run(other) == 2
        assert "made otherwise" in capsys.readouterr().err
        assert reports.read_bytes() == before
        asked = len(server.requests)
        assert cli.run(command(server, world)) == 0
        assert len(server.requests) == asked  # judged anew out of the cache


@pytest.mark.slow
async def test_r2_r3_killed_anywhere_the_same_command_goes_on(world):
    """Kill -9 at a random call: what was paid for is asked no second time, and the table is the undisturbed one."""
    chance, asked = random.Random(3), []
    enough = asyncio.Event()
    until = 0

    def handler(request):
        asked.append(json.dumps(request.json["messages"]) + request.json["model"])
        if len(asked) >= until:
            enough.set()
        return answering(request)

    async with Loopback(handler) as server:
        for _ in range(2):
            enough.clear()
            until = len(asked) + chance.randrange(4, 16)
            process = await _started(command(server, world, "--json"))
            ended, stopped = asyncio.create_task(process.wait()), asyncio.create_task(enough.wait())
            await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
            assert not ended.done()
            process.send_signal(signal.SIGKILL)
            await ended
        until = 10**6
        process = await _started(command(server, world, "--json"))
        killed, said = await process.communicate()
        assert process.returncode == 0, said.decode()
        fresh = [
            str(world / "undisturbed") if part == str(world / "bench") else part for part in command(server, world)
        ]
        paid, asked[:] = list(asked), []
        process = await _started([*fresh, "--json"])
        undisturbed, _ = await process.communicate()
    assert _without_seconds(killed) == _without_seconds(undisturbed)
    assert json.loads(killed)["table"]["rows"][0]["responses"] == BRIDGES
    lost = 2 * 16  # at most what was in flight when it was killed
    assert len(paid) - len(set(paid)) <= lost
    assert set(paid) == set(asked)
    assert len(asked) == 4 * BRIDGES


def _without_seconds(shown):
    rows = json.loads(shown)["table"]["rows"]
    for row in rows:
        del row["per_response"]["seconds"]
    return rows


async def _started(arguments):
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "veridical", *arguments, stdout=pipe, stderr=pipe)


def test_abstentions_count_0_in_the_benchmark_unless_they_are_left_out(world, capsys):
    """F1@K is 0 where nothing is supported, so a model does not win by declining what it is not sure of."""

    def handler(request):
        body = request.json
        asked = body["messages"][-1]["content"]
        if body["model"] != "bad":
            return answering(request)
        answers = "bridge 0." in asked
        said = "Bridge 0 was finished in 1800." if answers else "I'm sorry, but I cannot help with that."
        return chat(said) | usage(len(asked) // 3)

    with Served(handler) as server:
        capsys.readouterr()
        assert cli.run(command(server, world, "--json")) == 0
        rows = _by_model(capsys.readouterr().out)
        assert cli.run(command(server, world, "--json", "--abstentions", "exclude")) == 0
        answers = _by_model(capsys.readouterr().out)
    bad = rows["bad"]["scores"]
    assert (bad["f1@4"]["abstained"], bad["f1@4"]["scored"]) == (BRIDGES - 1, BRIDGES)
    assert bad["f1@1"]["value"] == pytest.approx(1 / BRIDGES)
    assert (bad["precision"]["value"], bad["precision"]["scored"]) == (1.0, 1)
    assert bad["supported"]["value"] == pytest.approx(1 / BRIDGES)
    assert answers["bad"]["scores"]["f1@1"]["value"] == 1.0


def _by_model(shown):
    return {row["system"].rpartition("#")[2]: row for row in json.loads(shown)["table"]["rows"]}


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("openai/gpt-4o", "openai-gpt-4o"),
        ("http://me:secret@127.0.0.1:80/v1#m", "http-127.0.0.1-80-v1-m"),
        ("../..", "model"),
        ("C:\\models\\x.gguf", "C-models-x.gguf"),
        ('a/b\n*?<>|"c', "a-b-c"),
    ],
)
def test_folders_of_models(name, folder):
    assert folder_of(name) == folder


@given(st.text(max_size=300))
def test_a_folder_fits_any_file_system(name):
    made = folder_of(name)
    assert 0 < len(made.encode()) <= 120
    assert re.fullmatch(r"[A-Za-z0-9_.+-]+", made)
    assert made not in (".", "..")


def test_long_and_foreign_names_share_no_folder():
    names = ["模型一", "模型二", "m" * 200 + "a", "m" * 200 + "b"]
    assert len({folder_of(name) for name in names}) == len(names)


def test_a_wrong_key_stops_it_resumable(world, capsys):
    def handler(request):
        return error(401, "bad key") if request.json["model"] == "bad" else answering(request)

    with Served(handler) as server:
        assert cli.run(command(server, world)) == 3
        assert "the same command goes on" in capsys.readouterr().err
        server.handler = answering
        assert cli.run(command(server, world)) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--models", "a/b"], "needs --out"),
        ([], "give --models"),
        (["--models", "a/b", "--runs", "x"], "give --models"),
        (["--runs", "x", "--ks", "mean"], "--ks 'mean'"),
        (["--runs", "x"], "is not a run folder"),
        (["--runs", "x,x"], "one run twice"),
        (["--runs", "x", "--sample", "3"], "--sample has no effect"),
        (["--models", "openai/m,openai/m", "--out", "o"], "one twice"),
        (["--models", "openai/m,OpenAI/M", "--out", "o"], "share a folder"),
        (["--models", "openai/m", "--out", "o", "--first", "2", "--sample", "3"], "exclude each other"),
        (["--models", "openai/m", "--out", "o", "--abstentions", "half"], "exclude or zero"),
    ],
)
def test_what_does_not_fit_is_said(options, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["bench", "longfact", *options]) == 2
    assert words in capsys.readouterr().err
