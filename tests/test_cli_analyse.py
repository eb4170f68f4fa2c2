"""`veridical analyse` as users meet it."""

import json

import pytest

from data import shared
from reports import report
from veridical import cli
from veridical.folder import RunFolder, RunInfo
from veridical.signature import Signature


def folder(path, reports, generations=None, metrics=()):
    """A run folder that holds the reports."""
    run = RunFolder(path)
    info = RunInfo(
        signature="m", fields={}, input="x.jsonl", input_sha256="0", generations=generations, metrics=metrics
    )
    with run.held():
        run.start(Signature({}), info)
        with run.appending() as writer:
            for made in reports:
                writer.write(made)
    return str(path)


def answers(letters="SSSNN", n=30, **more):
    levels = ("rare", "freq")
    return [
        report(letters, id=str(i), prompt=str(i), level=levels[i % 2], views=10 ** (i % 4), **more) for i in range(n)
    ]


def labelled(name):
    return str(shared("factscore_labeled") / f"{name}.jsonl")


def asked(capsys, *arguments):
    assert cli.run(["analyse", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_runs_are_read_by_the_metric_they_were_scored_by(tmp_path, capsys):
    safe = [folder(tmp_path / name, answers(), metrics=("f1@64", "facts")) for name in "ab"]
    other = folder(tmp_path / "c", answers("SN"), metrics=("factscore(gamma=10)",))
    assert asked(capsys, *safe)["metric"] == "f1@64"
    assert asked(capsys, other)["metric"] == "factscore(gamma=0)"
    assert asked(capsys, *safe, other)["metric"] == "factscore(gamma=0)"
    assert cli.run(["analyse", safe[0], other, "--curve"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "scored by f1@64 and factscore(gamma=10); used here: factscore(gamma=0) (--metric chooses another)" in shown
    assert cli.run(["compare", *safe, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metric"] == "f1@64"
    assert cli.run(["compare", safe[0], other]) == 0
    assert "scored by f1@64 and factscore(gamma=10); used here" in " ".join(capsys.readouterr().out.split())


def test_the_curves_have_the_median_and_the_greatest_k_of_all_runs(tmp_path, capsys):
    runs = [folder(tmp_path / "a", answers("SSSNN", 20)), folder(tmp_path / "b", answers("SSN", 10))]
    found = asked(capsys, *runs, "--curve")
    assert [(choice["rule"], choice["k"]) for choice in found["k"]] == [("median", 5), ("max", 5)]
    assert all(5 in {point["k"] for point in run["curve"]["points"]} for run in found["runs"])
    empty = folder(tmp_path / "c", [report("-", id="0", prompt="0")])
    assert asked(capsys, empty, "--curve")["k"] == []


def test_all_that_the_data_allow(tmp_path, capsys):
    runs = [
        folder(tmp_path / "a", answers()),
        folder(tmp_path / "b", [*answers("SNNNN", 29), report("-", id="29", prompt="29")]),
    ]
    found = asked(capsys, *runs)
    first, second = found["runs"]
    assert (first["name"], second["name"]) == ("a", "b")
    assert first["overview"]["scores"][0]["value"] == 0.6
    assert [made["fields"] for made in first["groups"]] == [["level"], ["views"]]
    assert [group["levels"] for group in first["groups"][0]["groups"]] == [["rare"], ["freq"]]
    assert [made["field"] for made in first["rarity"]] == ["views", "level"]
    assert [part["share"]["value"] for part in first["positions"]["bins"]] == [1, 1, 1, 0, 0]
    assert second["positions"]["coverage"]["abstained"] == 1
    assert "citations" not in first and "citations of a" in found["left_out"]
    assert found["left_out"]["stability"] == "30 prompts are not more than the smallest subset"
    assert [system["name"] for system in found["ranking"]["systems"]] == ["a", "b"]


def test_only_what_was_asked_for(tmp_path, capsys):
    run = folder(tmp_path / "a", answers())
    found = asked(capsys, run, "--position", "2", "--by", "level,views", "--stability", "10", "--subsets", "7")
    (only,) = found["runs"]
    assert len(only["positions"]["bins"]) == 2 and only["rarity"] == [] and found["left_out"] == {}
    assert len(only["groups"][0]["groups"]) == 4
    assert found["stability"]["sizes"][0]["subsets"] == 7 and "ranking" not in found


def test_systems_of_one_run_are_told_apart(tmp_path, capsys):
    from msgspec.structs import replace

    reports = [
        replace(made, generation=replace(made.generation, system=system, id=f"{system}{made.generation.id}"))
        for system, letters in (("x", "SSSS"), ("y", "SSNN"))
        for made in answers(letters, 25)
    ]
    found = asked(capsys, folder(tmp_path / "a", reports), "--ranking", "--stability", "10")
    assert [run["name"] for run in found["runs"]] == ["a: x", "a: y"]
    assert found["ranking"]["n"] == 25
    assert found["stability"]["sizes"][0]["same_ranking"] == 1


def test_two_estimators(tmp_path, capsys):
    first = [
        folder(tmp_path / "1" / name, answers(letters))
        for name, letters in (("a", "SSSN"), ("b", "SNNN"), ("c", "NNNN"))
    ]
    second = [
        folder(tmp_path / "2" / name, answers(letters))
        for name, letters in (("p", "SSNN"), ("q", "SNNN"), ("r", "NNNN"))
    ]
    found = asked(capsys, *first, *(part for run in second for part in ("--against", run)))["estimators"]
    assert found["systems"] == [["a", 0.75, 0.5], ["b", 0.25, 0.25], ["c", 0.0, 0.0]]
    assert found["same_ranking"] and 0.9 < found["over_systems"]["pearson"]["value"] < 1
    assert cli.run(["analyse", *first, "--against", second[0]]) == 2
    assert "as many runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "values"),
    [("InstructGPT", (0.145, 0.303, 0.477, 0.698, 0.760)), ("PerplexityAI", (0.690, 0.795, 0.840, 0.891, 0.934))],
)
def test_a_labelled_file_works_like_a_run(name, values, capsys):
    (run,) = asked(capsys, labelled(name), "--by", "frequency", "--metric", "precision")["runs"]
    groups = run["groups"][0]["groups"]
    assert [group["scores"][0]["value"] for group in groups] == pytest.approx(values, abs=0.001)
    assert [group["levels"][0] for group in groups] == ["very rare", "rare", "medium", "freq", "very freq"]


def test_tables_for_people(tmp_path, capsys):
    runs = [folder(tmp_path / "a", answers()), folder(tmp_path / "b", answers("SNU"), generations=99)]
    assert cli.run(["analyse", *runs, "--stability", "10,50", "--citations", "--authors"]) == 0
    out = capsys.readouterr().out
    assert "10 prompts" in out and "no subset of 50 can be drawn out of 30 prompts" in out
    assert "unfinished: b reports 30 of 99 generations" in out and "same ranking" in out
    assert cli.run(["analyse", *runs, "--seed", "3"]) == 0
    out = capsys.readouterr().out
    for words in (
        "along the response",
        "by level",
        "by rarity: views",
        "ranking on 30 common prompts",
        "left out:",
        "too few",
    ):
        assert words in out
    assert "nan" not in out.lower() and "verify:ParseError 30" in out


def test_the_paper_s_tables(capsys):
    assert cli.run(["analyse", *map(labelled, ("InstructGPT", "ChatGPT", "PerplexityAI"))]) == 0
    out = capsys.readouterr().out
    assert "PerplexityAI: citations (1085 marks)" in out and "drawn evenly by frequency,region" in out
    assert "nan" not in out.lower()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--by", "colour"], "no generation has a field 'colour'"),
        (["--stability", "x"], "sizes such as 40,100,200"),
        (["--stability", "0"], "at least 1"),
        (["--rarity", "id"], "no generation has a field"),
        (["--unit", "word"], "unit"),
        (["--metric", "bleu"], "no metric"),
        (["--ranking", "--against", "nowhere"], "nowhere"),
    ],
)
def test_usage_errors(arguments, words, tmp_path, capsys):
    run = folder(tmp_path / "a", [report("S", id="", level="x")])
    assert cli.run(["analyse", run, "--position", "5", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_what_holds_nothing(tmp_path, capsys):
    path = tmp_path / "plain.jsonl"
    path.write_text('{"text": "no labels here"}\n', encoding="utf-8")
    assert cli.run(["analyse", str(path)]) == 2
    assert "labelled facts" in capsys.readouterr().err
    run = folder(tmp_path / "a", answers())
    assert cli.run(["analyse", run, run]) == 2
    assert "named twice" in capsys.readouterr().err
    assert cli.run(["analyse", run, "--rule", "x", labelled("ChatGPT")]) == 2
