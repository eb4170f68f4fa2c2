"""`veridical meta` from the command line: offline, with a model over HTTP, resumed, compared, calibrated."""

import json

import pytest

from loopback import chat, usage
from test_cli import Served
from veridical import cli
from veridical.calibration import Calibration


@pytest.fixture
def mine(tmp_path):
    rows = [
        {"claim": f"Mill {n} opened in {1800 + n}.", "label": "supported" if n % 2 else "contradicted",
         "evidence": f"Mill {n} opened in {1800 + n if n % 2 else 1850 + n}.", "domain": "odd" if n % 3 else "even"}
        for n in range(24)
    ]  # fmt: skip
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def answering(request):
    """True where the year of the statement stands in the evidence; once in a while nothing that can be read."""
    asked = request.json["messages"][0]["content"]
    year = asked.rsplit("<statement", 1)[1].split(" in ")[1][:4]
    said = "Hmm." if year == "1801" else str(year in asked.partition("\n<evidence")[2].partition("</evidence")[0])
    return chat(said) | usage(len(asked) // 3)


def test_offline_and_compared(mine, tmp_path, capsys):
    assert cli.run(["meta", str(mine), "--json", "--out", str(tmp_path / "a"), "--by-domain"]) == 0
    found = json.loads(capsys.readouterr().out)
    whole = found["sets"][0]
    assert {"n", "balanced_accuracy", "auc", "f1", "coverage", "pairs_per_s"} <= whole.keys()
    assert (whole["set"], whole["n"], whole["coverage"]) == ("mine", 24, 1.0)
    assert [row["set"] for row in found["sets"][1:]] == ["mine/even", "mine/odd"]
    with Served(answering) as server:
        judge = ["--judge", f"{server.url}#m", "--read", "text", "--out", str(tmp_path / "b")]
        assert cli.run(["meta", str(mine), *judge, "--against", str(tmp_path / "a"), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        calls = len(server.requests)
        assert cli.run(["meta", str(mine), *judge]) == 0
        assert len(server.requests) == calls
    judged = found["sets"][0]
    assert judged["unjudged"] == {"verify:ParseError": 1}
    assert judged["balanced_accuracy"] == 1.0
    assert judged["balanced_accuracy_all"] < 1.0
    [pair] = found["paired"]
    assert pair["n"] == 23
    assert pair["first"] == 1.0
    shown = capsys.readouterr().out
    assert "always not supported" in shown
    assert "without a verdict: verify:ParseError 1" in shown


def test_a_part_keeps_whole_clusters_and_is_the_same_again(mine, tmp_path, capsys):
    for name in "ab":
        assert (
            cli.run(["meta", str(mine), "--sample", "10", "--seed", "3", "--json", "--out", str(tmp_path / name)]) == 0
        )
    first, second = (json.loads(line)["sets"][0] for line in capsys.readouterr().out.splitlines())
    assert first["n"] == second["n"] == 10
    assert first["balanced_accuracy"] == second["balanced_accuracy"]


def test_a_calibration_is_fitted_and_used_by_a_cascade(mine, tmp_path, capsys):
    out = tmp_path / "calibration.json"
    assert cli.run(["meta", str(mine), "--fit-calibration", str(out), "--calibration-kind", "platt"]) == 0
    made = Calibration.load(out)
    assert made.n == 24
    assert made(0.9) >= made(0.1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mine.jsonl", "mine.jsonl"], "same name"),
        (["none.jsonl"], "no such file"),
        (["mine.jsonl", "--calibration-kind", "cubic"], "isotonic, platt"),
        (["bare.jsonl"], "has no evidence inside"),
    ],
)
def test_what_does_not_fit_is_said(arguments, words, mine, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.jsonl").write_text('{"claim": "A is B.", "label": "true"}\n', encoding="utf-8")
    assert cli.run(["meta", *arguments]) == 2
    assert words in capsys.readouterr().err
