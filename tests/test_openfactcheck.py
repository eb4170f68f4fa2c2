"""OpenFactCheck's three-column CSV by id, and FacTool's frozen results: what is unknown is never false."""

import csv
import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data import shared
from test_meta_measures import report
from veridical import cli
from veridical.errors import InputError
from veridical.meta import labelled_set, measures, predicted
from veridical.meta.openfactcheck import ids_of, verdicts, written
from veridical.types import Label


def claims(*labels):
    return [report(n, label, "s").generation for n, label in enumerate(labels)]


def put(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def said(reports):
    return ["?" if not one.facts[0].verdict else one.facts[0].verdict.label is Label.SUPPORTED for one in reports]


def test_rows_without_ids_stand_for_the_claims_of_the_whole_set(tmp_path):
    path = put(tmp_path / "checker.csv", "verification,time (ms),cost\nTrue,10,0.1\nFalse,30,0.2\n,20,0\n")
    every = claims("S", "N", "S")
    found = predicted(every, path)
    assert said(found) == [True, False, "?"]
    assert [(one.usage.seconds, one.usage.cost) for one in found] == [(0.01, 0.1), (0.03, 0.2), (0.02, 0.0)]
    assert said(predicted(every[1:2], path, ids=["0", "1", "2"])) == [False]  # a part of the set, the file of all of it
    with pytest.raises(InputError, match="3 rows without ids, but the set has 2 claims"):
        predicted(every[:2], path)


def test_ids_go_before_order(tmp_path):
    every = claims("S", "N", "S")
    inside = put(tmp_path / "a.csv", "id,verdict,time,cost\n2,True,1,0\n0,False,1,0\n")
    assert said(predicted(every, inside)) == [False, "?", True]
    assert predicted(every, inside)[0].usage.seconds == 1.0  # no unit: seconds
    beside = put(tmp_path / "b.csv", "verification,time (ms),cost\nTrue,1,0\nFalse,1,0\n")
    put(ids_of(beside), "2\n0\n")
    assert said(predicted(every, beside)) == [False, "?", True]
    put(ids_of(beside), "2\n0\n1\n")
    with pytest.raises(InputError, match=r"2 rows without ids, but there are 3 ids in b\.csv\.ids"):
        predicted(every, beside)
    put(ids_of(beside), "2\n2\n")
    with pytest.raises(InputError, match="2 is there twice"):
        predicted(every, beside)


@pytest.mark.parametrize("cell", ["", "NA", "unknown", "nan", "None"])
def test_p1_unknown_is_no_verdict_and_not_false(tmp_path, cell):
    path = put(tmp_path / "x.csv", f"verification,time (ms),cost\n{cell},1,0\nTrue,1,0\n")
    found = measures("x", predicted(claims("N", "S"), path))
    assert (found.coverage, found.unjudged) == (0.5, {"verify:Unknown": 1})


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("maybe,1,0", "x.csv:2: field 'verification'.*'maybe' is none of"),
        ("True,-1,0", "x.csv:2.*time.*from 0 on"),
        ("True,1,much", "x.csv:2.*cost.*from 0 on"),
        ("True,inf,0", "from 0 on"),
        ("True,1", "must have 3 cells"),
        ("True,1,2,3", "must have 3 cells"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, row, words):
    path = put(tmp_path / "x.csv", f"verification,time (ms),cost\n{row}\n")
    with pytest.raises(InputError, match=words):
        predicted(claims("S"), path)


def test_another_csv_is_not_taken_for_it(tmp_path):
    path = put(tmp_path / "x.csv", "id,label,probability\n0,true,.9\n")
    assert verdicts(path, ["0"]) is None
    assert said(predicted(claims("S"), path)) == [True]


ROWS = st.lists(
    st.tuples(st.text("ab/,\"' é\u2028", min_size=1, max_size=6), st.sampled_from("sn?")),
    min_size=1,
    max_size=8,
    unique_by=lambda row: row[0],
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(ROWS)
def test_what_is_written_is_read_again_by_id(tmp_path, rows):
    reports = [report(name, "S", one) for name, one in rows]
    path = tmp_path / "out.csv"
    n, empty = written(reports, path)
    assert (n, empty) == (len(rows), sum(one == "?" for _, one in rows))
    with path.open(encoding="utf-8", newline="") as file:
        assert all(len(row) == 3 for row in csv.reader(file))
    turned = [one.generation for one in reversed(reports)]
    again = predicted(turned, path)
    assert said(again) == list(reversed(said(reports)))
    assert [one.usage.cost for one in again] == [0.001] * len(rows)


def test_verdicts_of_a_run_are_written_and_read_on_the_command_line(tmp_path, capsys):
    rows = [{"id": n, "claim": f"Mill {n}.", "evidence": f"Mill {n}.", "label": n % 2 == 0} for n in range(6)]
    mine = put(tmp_path / "mine.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "ours.csv"
    assert cli.run(["meta", str(mine), "--openfactcheck", str(out), "--json"]) == 0
    first, told = capsys.readouterr()
    assert "6 verdicts" in told and "empty cell" not in told
    assert ids_of(out).read_text().split() == [str(n) for n in range(6)]
    assert cli.run(["meta", str(mine), "--predictions", str(out), "--json"]) == 0
    names = ("n", "coverage", "recall_supported", "recall_not_supported")
    again = json.loads(capsys.readouterr().out)["sets"][0]
    assert [again[name] for name in names] == [json.loads(first)["sets"][0][name] for name in names]
    assert cli.run(["meta", str(mine), str(tmp_path), "--openfactcheck", str(out)]) == 2


# --- FacTool's results


def result(**labels):
    """A response's claims; each label is (people's, FacTool's)."""
    info = {
        claim: {
            "claim": claim,
            "automatic_queries": ["Who?"],
            "evidence_list": [{"evidence_id": 0, "web_page_snippet_manual": f"{claim} is so.", "url": "None"}],
            "stances": [f"On {claim}."],
            "prior_label": gold,
            "label": label,
        }
        for claim, (gold, label) in labels.items()
    }
    row = {"claims_info": info, "source": "ours", "prompt": "Who?", "response": " ".join(labels), "start": 1, "end": 9}
    return json.dumps(row) + "\n"


def test_factool_s_results_are_a_set_and_verdicts(tmp_path, capsys):
    rows = result(Ada=(True, 1), Bea=(False, 0)), result(Cy=(True, -1)), result(Dee=(False, 2), Eve=(False, 1))
    path = put(tmp_path / "factool.jsonl", "".join(rows))
    own = list(labelled_set(f"openfactcheck:{path}"))
    assert [(one.id, one.reference, one.metadata["response"]) for one in own][:3] == [
        ("1/0", "Ada is so.", "1"), ("1/1", "Bea is so.", "1"), ("2/0", "Cy is so.", "2"),
    ]  # fmt: skip
    assert Counter(one.facts[0].label for one in own) == {"supported": 2, "not_supported": 3}
    assert said(predicted(own, path)) == [True, False, "?", False, True]
    assert predicted(own, path)[0].facts[0].verdict.rationale == "On Ada."
    assert cli.run(["meta", f"openfactcheck:{path}", "--predictions", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["sets"][0]["unjudged"] == {"verify:Unknown": 1}
    [whole] = found["responses"]
    assert (whole["n"], whole["factual"], whole["undecided"], whole["accuracy"]) == (3, 1, 1, 1.0)
    put(path, result(Ada=(True, 7)))
    with pytest.raises(InputError, match=r"factool\.jsonl:1.*label.*7 is none of"):
        predicted(own, path)


def test_claims_alone_and_na_is_left_out(tmp_path):
    rows = [{"claim": f"{claim}.", "claim_label": label} for claim, label in (("A", True), ("B", "NA"), ("C", False))]
    path = put(tmp_path / "check_claims.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    own = list(labelled_set(f"openfactcheck:{path}"))
    assert [(one.id, one.facts[0].label, one.reference) for one in own] == [
        ("1", "supported", None), ("3", "not_supported", None),
    ]  # fmt: skip


def test_the_published_replay_of_factool():
    """765 claims of FacTool-QA and FELM-wk: accuracy .614, F1 .699 and .463, balanced .618, with what FacTool did not
    know counted as false, as there; here it is without a verdict instead."""
    path = shared("openfactcheck/factool_chatgpt_results.jsonl")
    own = list(labelled_set(f"openfactcheck:{path}"))
    found = predicted(own, path)
    assert Counter(one.facts[0].label for one in own) == {"supported": 562, "not_supported": 203}
    assert Counter(said(found)) == {True: 419, False: 338, "?": 8}
    measured = measures("x", found)
    assert measured.unjudged == {"verify:Unknown": 8}
    pairs = [
        (one.facts[0].label == "supported", verdict is True) for one, verdict in zip(own, said(found), strict=True)
    ]
    cells = Counter(pairs)
    assert (cells[True, True] + cells[False, False]) / 765 == pytest.approx(0.614, abs=5e-4)
    wrong = cells[True, False] + cells[False, True]
    f1 = [2 * cells[side, side] / (2 * cells[side, side] + wrong) for side in (True, False)]
    assert f1 == pytest.approx([0.699, 0.463], abs=5e-4)
