"""Whole responses by their claims' verdicts: figures by hand, undecided ones, and those without a claim."""

import json

import pytest

from test_meta_measures import report
from veridical import cli
from veridical.meta import responses


def of(*answers):
    """Each answer is its claims' labels and verdicts, as in "Ss Nn"."""
    return [
        report(f"{number}.{place}", gold, said, cluster=str(number), response=str(number))
        for number, answer in enumerate(answers)
        for place, (gold, said) in enumerate(answer.split())
    ]


def test_figures_by_hand():
    found = responses("x", of("Ss Ss", "Ss Nn", "Ss Ns", "Ss Sn", "Nn Cc"), empty=2, resamples=200)
    assert (found.n, found.factual, found.undecided, found.empty, found.rated) == (5, 2, 0, 2, 5)
    assert found.accuracy == pytest.approx(3 / 5)  # the third is called factual and is not, the fourth the other way
    assert found.f1_factual == pytest.approx(1 / 2)
    assert found.f1_not_factual == pytest.approx(2 / 3)
    gold, said = [0, 0.5, 0.5, 0, 1], [0, 0.5, 0, 0.5, 1]
    mean = 0.4
    both = sum((a - mean) * (b - mean) for a, b in zip(gold, said, strict=True))
    assert found.pearson.value == pytest.approx(both / sum((a - mean) ** 2 for a in gold))
    assert found.pearson.n == found.spearman.n == 5


def test_n1_p1_no_verdict_makes_no_response_factual():
    found = responses("x", of("S? Ss", "N? Sn", "S? S?", "Ss Ss"), resamples=50)
    assert (found.undecided, found.rated, found.n) == (2, 1, 4)
    assert found.accuracy == 1.0  # of the two that are decided: one by its unsupported claim, one in full
    assert found.pearson.value is None


def test_m2_nothing_judged_is_undefined():
    found = responses("x", of("S?", "N?"))
    assert (found.undecided, found.accuracy, found.f1_factual, found.f1_not_factual) == (2, None, None, None)
    assert (found.intervals, found.pearson.value, found.spearman.value) == ({}, None, None)


def test_sets_without_responses_have_none():
    assert responses("x", [report(1, "S", "s")]) is None


def test_refchecker_s_responses_on_the_command_line_and_those_without_triplets(tmp_path, capsys):
    def kg(*labels):
        return [{"triplet": ["Ana", "was", f"{n}"], "human_label": label} for n, label in enumerate(labels)]

    rows = [
        {"id": "a", "m1_response": "…", "m1_kg": kg("Entailment", "Entailment"), "m2_kg": kg("Contradiction")},
        {"id": "b", "m1_kg": kg("Neutral", "Entailment"), "m2_kg": []},
        {"id": "c", "m1_kg": kg("Entailment"), "m2_kg": None},
    ]
    file, theirs = tmp_path / "nq.json", tmp_path / "theirs.jsonl"
    file.write_text(json.dumps(rows), encoding="utf-8")
    said = {"nq/a/m1_kg/0": "true", "nq/a/m1_kg/1": "true", "nq/a/m2_kg/0": "false", "nq/b/m1_kg/0": "true",
            "nq/b/m1_kg/1": "true"}  # fmt: skip
    theirs.write_text("".join(json.dumps({"id": k, "label": v}) + "\n" for k, v in said.items()), encoding="utf-8")
    arguments = ["meta", f"refchecker:{file}", "--predictions", str(theirs)]
    assert cli.run([*arguments, "--json", "--by-domain"]) == 1  # one triplet has no verdict
    whole, domain = json.loads(capsys.readouterr().out)["responses"]
    assert (whole["set"], whole["n"], whole["factual"], whole["undecided"], whole["empty"]) == (
        "refchecker",
        4,
        2,
        1,
        2,
    )
    assert whole["accuracy"] == pytest.approx(2 / 3)
    assert (domain["set"], domain["n"]) == ("refchecker/nq", 4)
    assert cli.run(arguments) == 1
    told = capsys.readouterr().out
    assert "of 4 responses 2 factual, 1 undecided" in told
    assert "2 more have no labelled claim and are not called factual" in told
    assert cli.run([*arguments, "--sample", "4", "--json"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["responses"] == []  # a sample of claims cuts responses
