"""The LongFact benchmark in one go, over HTTP: answers, verdicts, table, ranking; stopped and gone on with."""

import json

import pytest

from loopback import chat, error, usage
from test_cli import Served
from veridical import cli

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


def test_a_model_that_fails_some_prompts_is_in_the_table_with_the_rest(world, capsys):
    def handler(request):
        body = request.json
        if body["model"] == "bad" and "bridge 3." in body["messages"][-1]["content"]:
            return error(400, "no bridges", code="content_filter")
        return answering(request)

    with Served(handler) as server:
        capsys.readouterr()
        assert cli.run(command(server, world, "--json")) == 0
        rows = {row["system"].rpartition("#")[2]: row for row in json.loads(capsys.readouterr().out)["table"]["rows"]}
    assert (rows["good"]["responses"], rows["bad"]["responses"]) == (BRIDGES, BRIDGES - 1)


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
        (["--models", "openai/m,openai/m", "--out", "o"], "one twice"),
    ],
)
def test_what_does_not_fit_is_said(options, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["bench", "longfact", *options]) == 2
    assert words in capsys.readouterr().err
