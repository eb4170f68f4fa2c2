"""F1@K over K, of one system and of several."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import report
from test_cli_analyse import folder
from veridical import cli
from veridical.analysis import curve, leaders
from veridical.analysis.curve import f1
from veridical.errors import UsageError
from veridical.metrics import f1_at_k, parse
from veridical.scores import score


def test_the_curve_by_hand():
    """Two responses: 2 S 0 N and 1 S 1 N."""
    found = curve([report("SS"), report("SN", id="h")])
    assert found.values[0] == pytest.approx((1 + f1_at_k(1, 1, 1)) / 2)
    assert found.values[1] == pytest.approx((1 + f1_at_k(1, 1, 2)) / 2)
    assert found.precision == pytest.approx(0.75)
    assert (found.most, len(found.values), found.responses) == (2, 4, 2)
    assert [point.k for point in found.points] == [1, 2, 4]
    assert found.points[1].recall == pytest.approx((1 + 0.5) / 2)


def test_the_curve_leaves_out_what_has_no_verdict_and_says_so():
    rows = [report(facts, id=facts) for facts in ("SU", "-", "U", "N", "")]
    found = curve(rows)
    assert (found.responses, found.abstained, found.no_claims, found.unjudged) == (2, 1, 1, 1)
    assert found.unscored == {"verify:ParseError": 1}
    assert found.values[0] == pytest.approx(0.5)
    assert curve([report("U")]) is None
    with pytest.raises(UsageError, match="at least 1"):
        curve(rows, ks=[0])


@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 400))
def test_many_at_once_are_as_one_by_one(supported, not_supported, k):
    together = f1(np.array([float(supported)]), np.array([float(not_supported)]), k)
    assert together[0] == pytest.approx(f1_at_k(supported, not_supported, k))


letters = st.text(alphabet="SCNIU-", max_size=12)


@given(st.lists(letters.filter(lambda text: "-" not in text or text == "-"), min_size=1, max_size=8))
def test_the_curve_is_the_metric_at_each_k(responses):
    """Also what is left out, and how often, is the same as in `scores`."""
    rows = [report(facts, id=str(n), prompt=str(n)) for n, facts in enumerate(responses)]
    found = curve(rows, resamples=50)
    first = score(rows, parse("f1@1"), resamples=50)
    assert (found is None) == (first.value is None)
    if found is None:
        return
    for k in range(1, len(found.values) + 1):
        assert found.values[k - 1] == pytest.approx(score(rows, parse(f"f1@{k}"), resamples=1).value)
    assert found.responses == first.scored
    assert (found.abstained, found.no_claims, found.unscored) == (first.abstained, first.no_claims, first.unscored)
    assert found.precision == pytest.approx(score(rows, parse("precision"), resamples=1).value)
    for point in found.points:
        assert point.recall == pytest.approx(score(rows, parse(f"recall@{point.k}"), resamples=1).value)
    assert list(found.values) == sorted(found.values, reverse=True)


def test_intervals_are_those_of_the_metric():
    rows = [report("S" * (n % 7) + "N" * (n % 3 + 1), id=str(n), prompt=str(n // 2)) for n in range(60)]
    [point] = curve(rows, ks=[4], seed=5).points
    wanted = score(rows, parse("f1@4"), seed=5)
    assert (point.low, point.high) == pytest.approx((wanted.low, wanted.high))


def systems():
    """One that says little and right, one that says much and half of it right, and one in between on other prompts."""
    careful = [report("SS", id=f"{n}", prompt=f"{n}") for n in range(6)]
    wordy = [report("S" * 10 + "N" * 10, id=f"{n}", prompt=f"{n}") for n in range(6)]
    return {"careful": careful, "wordy": wordy}


def test_the_leader_changes_with_k():
    found = leaders(list(systems().items()))
    assert (found.prompts, found.most, found.limit) == (6, 20, ("wordy",))
    assert [(span.first, span.last, span.systems) for span in found.spans] == [
        (1, 3, ("careful",)),
        (4, 4, ("careful", "wordy")),  # 2/3 each
        (5, 40, ("wordy",)),
    ]
    assert found.spans[0].lead == pytest.approx(min(f1_at_k(2, 0, k) - f1_at_k(10, 10, k) for k in (1, 2, 3)))
    assert found.spans[2].lead == pytest.approx(min(f1_at_k(10, 10, k) - f1_at_k(2, 0, k) for k in range(5, 41)))


def test_leaders_are_looked_for_on_common_prompts_only():
    rows = systems()
    rows["careful"].append(report("S" * 100, id="x", prompt="x"))
    rows["careful"].append(report("S" * 100, id="y", prompt="5"))  # a second answer: their mean counts
    rows["wordy"][0] = report("-", id="0", prompt="0")
    rows["wordy"][1] = report("S", id="1", prompt="1", failed="ParseError")
    found = leaders(list(rows.items()))
    assert found.prompts == 4
    at_one = [f1_at_k(2, 0, 1), f1_at_k(10, 10, 1)]
    assert found.spans[0].lead <= at_one[0] - at_one[1] + 1e-9
    assert leaders([("careful", rows["careful"])]) is None
    assert leaders([("a", [report("S", prompt="1")]), ("b", [report("S", prompt="2")])]) is None


def test_equal_systems_lead_together():
    found = leaders([("a", [report("SSN", prompt="1")]), ("b", [report("SSN", prompt="1")])])
    [span] = found.spans
    assert (span.first, span.last, span.systems, span.lead) == (1, 6, ("a", "b"), 0)
    assert found.limit == ("a", "b")


def test_analyse_shows_the_curve_and_who_leads(tmp_path, capsys):
    runs = [folder(tmp_path / name, rows) for name, rows in systems().items()]
    assert cli.run(["analyse", *runs, "--curve", "--metric", "f1@median", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metric"] == "f1@11"  # of 2 six times and 20 six times
    assert found["k"][0] == {"k": 11, "rule": "median", "runs": 2, "responses": 12}
    careful, wordy = (run["curve"] for run in found["runs"])
    assert (len(careful["values"]), len(wordy["values"])) == (4, 40)
    assert [span["systems"] for span in found["leaders"]["spans"]] == [["careful"], ["careful", "wordy"], ["wordy"]]
    assert cli.run(["analyse", *runs, "--curve", "--metric", "f1@max"]) == 0
    out = capsys.readouterr().out
    for words in ("K = 20: max of the relevant facts over 12 responses of 2 runs", "who wins depends on K", "recall@K"):
        assert words in out
    assert cli.run(["analyse", *runs, "--metric", "f1@mean"]) == 2
    assert "no metric" in capsys.readouterr().err


def test_f8_k_from_data_in_metrics_and_compare(tmp_path, capsys):
    """`metrics` takes K of one run, `compare` of all of them together."""
    runs = [folder(tmp_path / name, rows) for name, rows in systems().items()]
    assert cli.run(["metrics", runs[0], "--metric", "f1@median", "--metric", "f1@upper_median", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["scores"]] == ["f1@2"]
    assert [choice["rule"] for choice in found["k"]] == ["median", "upper_median"]
    assert cli.run(["compare", *runs, "--metric", "f1@upper_median"]) == 0
    out = capsys.readouterr().out
    assert "f1@20 on 6 common prompts" in out
    assert "K = 20: upper median of the relevant facts over 12 responses of 2 runs" in out
