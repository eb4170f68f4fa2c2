"""Runs and a labelled part of them, from the files to the corrected score."""

import json
import shutil

import msgspec
import pytest

from veridical import cli
from veridical.correct import correct, drawn, items, plan
from veridical.errors import UsageError
from veridical.folder import RunFolder
from veridical.types import AtomicFact, Failure, Generation, GivenFact, JudgedFact, Label, Report, Verdict

LABELS = {"S": Label.SUPPORTED, "N": Label.NOT_ENOUGH_EVIDENCE}
WORDS = {"S": "supported", "N": "not_supported", "I": "irrelevant", "-": None}


def generation(number, labels="", system=None):
    facts = tuple(GivenFact(text=f"Fact {n} of {number}.", label=WORDS[one]) for n, one in enumerate(labels))
    text = " ".join(f"Fact {n} of {number}." for n in range(8))
    return Generation(id=str(number), prompt=f"Tell {number}.", text=text, facts=facts or None, system=system)


def report(number, letters, system=None):
    facts = []
    for n, letter in enumerate(letters):
        fact = AtomicFact(id=f"{number}/0.{n}", text=f"Fact {n} of {number}.", sentence=0)
        if letter == "?":
            facts.append(JudgedFact(fact=fact, failure=Failure(stage="verify", error="ParseError", message="")))
        else:
            facts.append(JudgedFact(fact=fact, verdict=Verdict(label=LABELS[letter], judge="j")))
    return Report(generation=generation(number, system=system), facts=tuple(facts))


def test_items_of_a_run_whose_facts_are_labelled():
    found = items("run", [report(1, "SSNN"), report(2, "SNNN")], [generation(1, "SNSN")], "paper").items
    labelled, other = found
    assert (labelled.judge, labelled.people, labelled.judge_there) == (0.5, 0.5, None)
    assert labelled.hits == (0.25, 0.5, 0.25, 0.5)
    assert (other.judge, other.people, other.hits) == (0.25, None, None)


def test_some_facts_of_an_answer_labelled():
    [found] = items("run", [report(1, "SSNN")], [generation(1, "S-N-")], "paper").items
    assert (found.judge, found.people, found.judge_there) == (0.5, 0.5, 0.5)
    assert found.hits == (0.5, 0.5, 0.5, 0.5)


def test_labels_of_other_facts_compare_scores_only():
    other = Generation(
        id="1", prompt="Tell 1.", text=generation(1).text,
        facts=(GivenFact(text="Something else.", label="supported"), GivenFact(text="And more.", label="irrelevant")),
    )  # fmt: skip
    [found] = items("run", [report(1, "SSSN")], [other], "paper").items
    assert (found.people, found.hits, found.judge_there) == (0.5, None, None)
    [without] = items("run", [report(1, "SSSN")], [other], "irrelevant-out").items
    assert without.people == 1.0


def test_what_stayed_unjudged_counts_as_not_supported_and_lost_answers_as_the_mean():
    lost = msgspec.structs.replace(report(3, ""), failure=Failure(stage="decompose", error="ParseError", message=""))
    side = items("run", [report(1, "S?"), report(2, "SSSS"), lost], [], "paper")
    assert [item.judge for item in side.items] == [0.5, 1.0, 0.75]
    assert any("1 answers without a score" in note for note in side.notes)


def test_abstentions_on_either_side_are_in_nothing():
    abstained = msgspec.structs.replace(generation(2), abstained=True)
    run = [report(1, "SN"), report(2, "SN"), msgspec.structs.replace(report(3, ""), abstained=True)]
    assert [item.judge for item in items("run", run, [abstained], "paper").items] == [0.5]


def test_two_systems_and_their_difference():
    run = [("runs", [report(n, "SSSN", "a") for n in range(6)] + [report(n, "SNNN", "b") for n in range(6)])]
    labels = [generation(n, "SSSN", "a") for n in range(5)] + [generation(n, "SSNN", "b") for n in range(5)]
    found = correct(run, labels)
    values = {one.system: {e.method: e.value for e in one.estimates} for one in found.systems}
    assert values["a"]["labels"] == 0.75
    assert values["b"]["labels"] == 0.5
    [pair] = found.differences
    assert pair == "a - b"
    assert {e.method: e.value for e in found.differences[pair]}["ppi"] == pytest.approx(0.25)


def test_too_few_labels_name_the_system():
    with pytest.raises(UsageError, match="run: 1 labelled generations of 2"):
        correct([("run", [report(1, "S"), report(2, "N")])], [generation(1, "S")])


def test_a_plan_before_and_after_labels():
    run = [report(n, "S" * (n % 5) + "N" * (4 - n % 5)) for n in range(100)]
    before = plan(run, [], 0.05)
    assert not before.measured
    assert list(before.needed) == ["0.00", "0.50", "0.70", "0.80", "0.90"]
    counts = list(before.needed.values())
    assert counts == sorted(counts, reverse=True)
    after = plan(run, [generation(n, "S" * (n % 5) + "N" * (4 - n % 5)) for n in range(20)], 0.05)
    assert after.measured
    assert after.needed["1.00"] < after.needed["0.00"]


def test_what_is_drawn_is_random_seeded_and_has_the_run_s_facts():
    run = [report(n, "SN") for n in range(20)] + [msgspec.structs.replace(report(99, ""), abstained=True)]
    first = list(drawn(run, 5, seed=1))
    assert [one.id for one in first] == [one.id for one in drawn(run, 5, seed=1)]
    assert [one.id for one in first] != [one.id for one in drawn(run, 5, seed=2)]
    assert [fact.text for fact in first[0].facts] == [f"Fact {n} of {first[0].id}." for n in range(2)]
    with pytest.raises(UsageError, match="the run has 20"):
        list(drawn(run, 21))


def test_from_the_run_to_labels_and_back(tmp_path, capsys):
    rows = [
        {"id": str(n), "text": f"Mill {n} opened in {1800 + n}. It closed in {1900 + n}.", "prompt": f"Mill {n}?",
         "reference": f"Mill {n} opened in {1800 + n}. Mill {n} closed in {1900 + n + n % 3}."}
        for n in range(30)
    ]  # fmt: skip
    path, run = tmp_path / "items.jsonl", tmp_path / "run"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert cli.run(["score", str(path), "--out", str(run)]) == 0
    to_label = tmp_path / "to_label.jsonl"
    capsys.readouterr()
    assert cli.run(["correct", str(run), "--draw", "12", "--out", str(to_label), "--json"]) == 0
    drawn, said = capsys.readouterr()
    assert json.loads(drawn)["answers"] == 12 and "unfinished" not in said
    part = tmp_path / "part"
    shutil.copytree(run, part)
    reported = (run / "reports.jsonl").read_bytes().splitlines(keepends=True)
    (part / "reports.jsonl").write_bytes(b"".join(reported[:20]))
    assert cli.run(["correct", str(part), "--draw", "12", "--out", str(tmp_path / "part.jsonl")]) == 0
    assert "reports 20 of 30 generations" in capsys.readouterr().err
    assert cli.run(["freeze", str(part), "--out", str(tmp_path / "frozen.jsonl"), "--json"]) == 0
    assert "20 of 30 generations" in capsys.readouterr().err
    assert cli.run(["correct", str(run), "--draw", "12", "--out", str(to_label)]) == 2  # it may hold labels by now
    lines = [json.loads(line) for line in to_label.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 12
    for line in lines:
        right = int(line["id"]) % 3 == 0
        for fact in line["facts"]:
            fact["label"] = "supported" if "opened" in fact["text"] or right else "not_supported"
    to_label.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    capsys.readouterr()
    assert cli.run(["correct", str(run), str(to_label), "--json"]) == 0
    [system] = json.loads(capsys.readouterr().out)["systems"]
    found = {one["method"]: one for one in system["estimates"]}
    assert (found["ppi"]["n"], found["ppi"]["of"]) == (12, 30)
    truth = sum(1.0 if n % 3 == 0 else 0.5 for n in range(30)) / 30
    assert found["ppi"]["low"] <= truth <= found["ppi"]["high"]
    assert found["rogan-gladen"]["note"] or found["rogan-gladen"]["value"] is not None
    assert cli.run(["correct", str(run / "reports.jsonl"), str(to_label), "--json"]) == 0  # a result file is as good
    [same] = json.loads(capsys.readouterr().out)["systems"]
    assert same["estimates"] == system["estimates"]
    assert cli.run(["correct", str(run), str(to_label)]) == 0
    shown = capsys.readouterr().out
    assert "prediction-powered" in shown
    assert "rough: fewer than 15" in shown
    assert cli.run(["correct", str(run), "--plan", "5"]) == 0
    assert "answers to label" in capsys.readouterr().out
    assert len(list(RunFolder(run).reports())) == 30


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.jsonl"], "neither a run folder nor a file"),
        (["labels.jsonl"], "no run folder or result file"),
        (["run"], "give files with labels"),
        (["run", "--draw", "3"], "needs --out"),
        (["run", "run2", "--plan", "3"], "are for one run"),
    ],
)
def test_what_does_not_fit_is_said(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.jsonl").write_text("{}", encoding="utf-8")
    for name in ("run", "run2"):
        (tmp_path / name).mkdir()
    assert cli.run(["correct", *arguments]) == 2
    assert words in capsys.readouterr().err
