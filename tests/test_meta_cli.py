"""`veridical meta` from the command line: offline, with a model over HTTP, resumed, compared, calibrated."""

import json
from collections import Counter

import pytest

from loopback import chat, error, usage
from test_cli import Served
from veridical import cli
from veridical.calibrated import Thresholds
from veridical.calibration import Calibration
from veridical.cli import meta
from veridical.meta.sets.rows import pair


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
        assert cli.run(["meta", str(mine), *judge, "--against", str(tmp_path / "a"), "--json"]) == 1  # one unscored
        found = json.loads(capsys.readouterr().out)
        calls = len(server.requests)
        assert cli.run(["meta", str(mine), *judge]) == 1
        assert len(server.requests) == calls
    judged = found["sets"][0]
    assert judged["unjudged"] == {"verify:ParseError": 1}
    assert judged["balanced_accuracy"] == 1.0
    assert judged["balanced_accuracy_all"] < 1.0
    [pair] = found["paired"]
    assert pair["n"] == 23
    assert pair["first"] == 1.0
    shown, told = capsys.readouterr()
    assert "1 claims stayed without a verdict" in told
    assert "always not supported" in shown
    assert "AUC and calibration are undefined" in shown
    assert "without a verdict: verify:ParseError 1" in shown


def test_a_part_has_as_many_clusters_as_can_be_and_whole_pairs():
    claims = [
        pair(
            f"{cluster}-{number}",
            "A claim.",
            "supported",
            ["It."],
            cluster=str(cluster),
            pair=f"{cluster} {number // 2}",
        )
        for cluster in range(5)
        for number in range(8)
    ]
    kept = meta._some(claims, 20, 0)
    assert [claim.id for claim in claims if claim in kept] == [claim.id for claim in kept]
    clusters = Counter(claim.metadata["cluster"] for claim in kept)
    assert clusters == {str(cluster): 4 for cluster in range(5)}
    assert all(count == 2 for count in Counter(claim.metadata["pair"] for claim in kept).values())
    assert meta._some(claims, 20, 1) != kept


def test_a_part_is_the_same_again(mine, tmp_path, capsys):
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
    assert made.judge == "embedded/features-1"
    thresholds = Thresholds.load(tmp_path / "calibration.thresholds.json")
    assert thresholds.domains.keys() == {"mine", "mine/even", "mine/odd"}
    assert thresholds.of("odd") == thresholds.domains["mine/odd"]
    assert thresholds.of("elsewhere") == thresholds.of(None) == thresholds.overall


def test_halves_share_no_document_and_are_the_set(mine, tmp_path, capsys):
    counts = []
    for part in ("first", "second"):
        assert cli.run(["meta", str(mine), "--part", part, "--json", "--out", str(tmp_path / part)]) == 0
        counts.append(json.loads(capsys.readouterr().out)["sets"][0]["n"])
    assert sum(counts) == 24 and min(counts) > 0
    assert cli.run(["meta", str(mine), "--part", "third"]) == 2


def test_another_evaluator_s_verdicts(mine, tmp_path, capsys):
    pairs, theirs = tmp_path / "pairs.jsonl", tmp_path / "theirs.jsonl"
    assert cli.run(["meta", str(mine), "--pairs", str(pairs)]) == 0
    rows = [json.loads(line) for line in pairs.read_text(encoding="utf-8").splitlines()]
    assert rows[0].keys() == {"id", "claim", "evidence", "label", "cluster", "domain"}
    theirs.write_text("".join(json.dumps({"id": r["id"], "label": r["label"]}) + "\n" for r in rows), encoding="utf-8")
    assert cli.run(["meta", str(mine), "--out", str(tmp_path / "a")]) == 0
    capsys.readouterr()
    arguments = ["meta", str(mine), "--predictions", str(theirs), "--against", str(tmp_path / "a"), "--json"]
    assert cli.run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sets"][0]["balanced_accuracy"] == 1.0
    assert found["sets"][0]["pairs_per_s"] is None
    assert found["paired"][0]["only_second"] == 0
    assert cli.run(["meta", str(pairs), "--out", str(tmp_path / "c")]) == 0  # what was written is a set itself


def test_n1_blank_evidence_supports_nothing(tmp_path, capsys):
    path = tmp_path / "blank.jsonl"
    rows = [{"claim": f"The mill opened in 18{n}.", "evidence": ["", "  "], "label": n > 91} for n in range(90, 94)]
    path.write_text("".join(json.dumps(row | {"cluster": row["claim"]}) + "\n" for row in rows), encoding="utf-8")
    assert cli.run(["meta", str(path), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["sets"]
    assert (found["recall_supported"], found["recall_not_supported"]) == (0.0, 1.0)


def test_sets_of_what_is_worth_a_check_are_judged_by_the_decomposer(tmp_path, capsys):
    rows = [
        {"sentence": "The mill opened in 1890.", "checkworthy": "yes"},
        {"sentence": "Ana Brandt sold it to the town.", "checkworthy": "yes"},
        {"sentence": "Please let me know if you need more.", "checkworthy": "not_a_claim"},
        {"sentence": "Mills are the loveliest buildings of all.", "checkworthy": "opinion"},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "subtask1_sentence_checkworthiness.jsonl").write_text(text, encoding="utf-8")
    assert cli.run(["meta", f"factcheck-sentences:{tmp_path}", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["sets"]
    assert found["judge"].startswith("facts by clauses-")
    assert (found["recall_supported"], found["recall_not_supported"]) == (1.0, 0.5)
    assert found["error_types"] == {"not_a_claim": [1, 1.0], "opinion": [1, 0.0]}
    with Served(lambda request: chat("(none)" if "Mills are" in asked(request) else "- A fact.")) as server:
        judge = ["--judge", f"{server.url}#m", "--read", "text"]
        assert cli.run(["meta", f"factcheck-sentences:{tmp_path}", *judge, "--json"]) == 0
        assert len(server.requests) >= 3
    [found] = json.loads(capsys.readouterr().out)["sets"]
    assert (found["recall_supported"], found["recall_not_supported"]) == (1.0, 1.0)
    assert cli.run(["meta", f"factcheck-sentences:{tmp_path}"]) == 0
    assert "3 stance of a passage to a claim: factcheck-bench" in capsys.readouterr().out


def test_sets_that_the_embedded_judge_was_trained_on_are_told(tmp_path, capsys):
    held, rest = "Claim 2.", "Claim 0."  # by the first byte of their hash
    rows = [{"claim": claim, "evidence": text, "stance": stance} for claim in (held, rest)
            for text, stance in ((claim, "completely-support"), ("Snow is cold.", "irrelevant"))]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "subtask3_claim_evidence_stance.jsonl").write_text(text, encoding="utf-8")
    spec = f"factcheck-bench:{tmp_path}"
    assert cli.run(["meta", spec, "--by-domain", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["sets"]
    assert [(row["set"], row["n"], row["seen"]) for row in found] == [
        ("factcheck-bench", 4, True), ("factcheck-bench/held out", 2, False), ("factcheck-bench/rest", 2, True),
    ]  # fmt: skip
    assert cli.run(["meta", spec]) == 0
    assert "was trained on part of this set" in capsys.readouterr().out
    with Served(lambda request: chat("True")) as server:
        assert cli.run(["meta", spec, "--judge", f"{server.url}#m", "--read", "text", "--json"]) == 0
    assert not json.loads(capsys.readouterr().out)["sets"][0]["seen"]


def asked(request):
    return request.json["messages"][-1]["content"]


def test_r3_speed_counts_only_what_was_judged(mine, tmp_path, capsys):
    out = tmp_path / "a"
    assert cli.run(["meta", str(mine), "--out", str(out)]) == 0
    seconds, claims = json.loads((out / "mine" / "speed.json").read_text())
    assert (seconds > 0, claims) == (True, 24)
    lines = (out / "mine" / "reports.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (out / "mine" / "reports.jsonl").write_text("".join(lines[:20]), encoding="utf-8")
    assert cli.run(["meta", str(mine), "--out", str(out)]) == 0
    assert json.loads((out / "mine" / "speed.json").read_text())[1] == 28
    assert cli.run(["meta", str(mine), "--out", str(out)]) == 0
    assert json.loads((out / "mine" / "speed.json").read_text())[1] == 28


def test_r3_r4_a_key_that_is_revoked_stops_the_run_and_it_goes_on_in_order(mine, tmp_path, capsys):
    asked, good, out = [], [False], tmp_path / "a"

    def revoked(request):
        asked.append(request)
        return answering(request) if good[0] or len(asked) <= 12 else error(401, "key revoked")

    judge = ["--read", "text", "--concurrency", "2", "--out", str(out)]
    with Served(revoked) as server:
        url = f"{server.url}#m"
        assert cli.run(["meta", str(mine), "--judge", url, *judge]) == 3
        assert "goes on where it stopped" in capsys.readouterr().err
        before = len((out / "mine" / "reports.jsonl").read_bytes().splitlines())
        assert json.loads((out / "mine" / "speed.json").read_text())[1] == before < 24
        good[0], count = True, len(asked)
        assert cli.run(["meta", str(mine), "--judge", url, *judge]) == 1  # one reply that cannot be read
        assert len(asked) - count <= 24 - before + 2  # the unreadable reply is asked for again
    ids = [json.loads(line)["generation"]["id"] for line in (out / "mine" / "reports.jsonl").open(encoding="utf-8")]
    assert ids == [f"{n:07d}" for n in range(1, 25)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mine.jsonl", "mine.jsonl"], "same name"),
        (["none.jsonl"], "no such file"),
        (["mine.jsonl", "--calibration-kind", "cubic"], "isotonic, platt"),
        (["mine.jsonl", "bare.jsonl"], "has no evidence inside"),
        (["mine.jsonl", "bare.jsonl", "--pairs", "x"], "one set at a time"),
        (["mine.jsonl", "--predictions", "x", "--method", "embedded"], "would do nothing"),
        (["mine.jsonl", "--against", "nowhere"], "not a run folder"),
    ],
)
def test_what_does_not_fit_is_said(arguments, words, mine, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.jsonl").write_text('{"claim": "A is B.", "label": "true"}\n', encoding="utf-8")
    assert cli.run(["meta", *arguments]) == 2
    assert words in capsys.readouterr().err
