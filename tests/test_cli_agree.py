"""`veridical agree` as users meet it."""

import json

import msgspec
import pytest

from data import shared
from test_agree import labels, run
from veridical import cli
from veridical.folder import RunInfo


def folder(path, reports, input="x.jsonl"):
    path.mkdir(parents=True)
    (path / "reports.jsonl").write_bytes(b"".join(msgspec.json.encode(report) + b"\n" for report in reports))
    info = RunInfo(signature="m", fields={}, input=input, input_sha256="")
    (path / "run.json").write_bytes(msgspec.json.encode(info))
    return str(path)


def file(path, generations):
    path.write_bytes(b"".join(msgspec.json.encode(generation) + b"\n" for generation in generations))
    return str(path)


def found(capsys, *arguments):
    assert cli.run(["agree", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_papers_numbers_from_its_three_files(capsys):
    paths = [str(path) for path in sorted(shared("factscore_labeled").glob("*GPT.jsonl"))]
    paths.append(str(shared("factscore_labeled") / "PerplexityAI.jsonl"))
    assert cli.run(["agree", *paths]) == 0
    text = capsys.readouterr().out
    for number in ("42.58", "58.28", "71.62", "71.44", "58.29", "30.90", "35.72", "44.97", "rule paper"):
        assert number in text
    out = found(capsys, *paths, "--rule", "irrelevant-out")
    assert [round(100 * human["score"]["value"], 2) for human in out["people"]] == [62.33, 47.39, 84.02]
    assert out["evaluators"] == []


def test_a_run_with_labels_in_a_file(tmp_path, capsys):
    gold = labels("SN", "SSN", "-")
    made = folder(tmp_path / "run", run(gold, "SN", "SNU", "-"), input="chat.jsonl")
    out = found(capsys, made, file(tmp_path / "chat.jsonl", gold))
    (evaluator,) = out["evaluators"]
    assert evaluator["gaps"][0]["system"] == "chat" and evaluator["gaps"][0]["n"] == 2
    assert evaluator["facts"][0]["coverage"] == 0.8
    assert evaluator["facts"][0]["figures"]["f1_micro"]["value"] == pytest.approx(2 / 3)
    assert out == found(capsys, made)  # the run carries its labels
    assert cli.run(["agree", made]) == 0
    text = capsys.readouterr().out
    assert "4 of 5" in text and "always not supported" in text and "unscored wrong / right" in text
    assert text.count("mistakes that cancel") == 1


def test_undefined_is_written_out(tmp_path, capsys):
    gold = labels("SS")
    assert cli.run(["agree", folder(tmp_path / "run", run(gold, "SS"))]) == 0
    assert "undefined" in capsys.readouterr().out
    out = found(capsys, str(tmp_path / "run"))
    assert out["evaluators"][0]["facts"][0]["figures"]["kappa"]["value"] is None


def test_two_systems_of_one_run_are_ranked(tmp_path, capsys):
    gold = {name: labels(facts, "SN", system=name) for name, facts in (("good", "SSSN"), ("poor", "SNNN"))}
    reports = [report for rows in gold.values() for report in run(rows, rows[0].text and "SSNN", "SN")]
    rows = [row for generations in gold.values() for row in generations]
    for n, report in enumerate(reports):
        reports[n] = msgspec.structs.replace(
            report, generation=msgspec.structs.replace(report.generation, id=f"{report.generation.system}{n}")
        )
    rows = [msgspec.structs.replace(row, id=f"{row.system}{n}") for n, row in enumerate(rows)]
    out = found(capsys, folder(tmp_path / "run", reports), file(tmp_path / "labels.jsonl", rows))
    ranking = out["evaluators"][0]["ranking"]
    assert (ranking["kept"], ranking["human"]) == (False, ["good", "poor"])
    assert [facts["system"] for facts in out["evaluators"][0]["facts"]] == ["good", "poor", "all"]


def test_labelled_sentences_name_their_own_rule(tmp_path, capsys):
    path = tmp_path / "bios.jsonl"
    row = {"gpt3_text": "A. B.", "wiki_bio_text": "C.", "annotation": ["accurate", "minor_inaccurate"]}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert cli.run(["agree", str(path)]) == 0
    text = capsys.readouterr().out
    assert "rule 'sentences'" in text and "75.00" in text and "minor inaccuracy 0.5" in text
    assert "facts of irrelevant sentences" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing"], "neither a run folder nor a file"),
        (["{tmp}"], "not a run folder"),
        (["{file}", "--rule", "mine"], "no counting rule 'mine'"),
        (["{bare}"], "no people's labels"),
    ],
)
def test_usage_errors_are_one_line(tmp_path, capsys, arguments, words):
    names = {
        "tmp": str(tmp_path),
        "file": file(tmp_path / "a.jsonl", labels("S")),
        "bare": file(tmp_path / "b.jsonl", labels("?")),
    }
    assert cli.run(["agree", *(argument.format(**names) for argument in arguments)]) == 2
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1
