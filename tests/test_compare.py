"""Runs side by side on their common prompts."""

import random

import pytest

from reports import report
from veridical.compare import compare
from veridical.errors import UsageError
from veridical.metrics import parse

PLAIN = parse("factscore(gamma=0)")


def run(*facts, start=0, **more):
    return [report(letters, id=str(n), prompt=f"prompt {n}", **more) for n, letters in enumerate(facts, start)]


def shares(n, share, seed=0, **more):
    draw = random.Random(seed)
    return run(*("".join("S" if draw.random() < share else "N" for _ in range(20)) for _ in range(n)), **more)


def test_c2_only_prompts_that_all_runs_scored_count():
    a = [*run("SS", "SN", "SS", "-"), report("S", id="4", prompt="prompt 4", failed="ModelError")]
    b = run("SN", "NN", "", "S", "S", "S")
    found = compare([("a", a), ("b", b)], PLAIN)
    assert found.n == 2
    assert found.left_out == {
        "abstained in a": 1,
        "decompose:ModelError in a": 1,
        "missing in a": 1,
        "no claims in b": 1,
    }
    assert {system.name: (system.value, system.prompts) for system in found.systems} == {"a": (0.75, 5), "b": (0.25, 6)}
    difference = found.differences[0]
    assert (difference.first, difference.second, difference.value) == ("a", "b", 0.5)
    assert (difference.wins, difference.ties, difference.losses) == (2, 0, 0)


def test_r4_order_does_not_matter():
    a, b = shares(30, 0.7), shares(30, 0.5, seed=1)
    straight = compare([("a", a), ("b", b)], PLAIN)
    assert compare([("a", a), ("b", b[::-1])], PLAIN) == straight


def test_a_clear_difference_is_seen_and_ranked():
    found = compare([("weak", shares(40, 0.3)), ("strong", shares(40, 0.8, seed=1))], PLAIN)
    assert [(s.name, s.rank) for s in found.systems] == [("strong", 1), ("weak", 2)]
    difference = found.differences[0]
    assert difference.low > 0.3 and difference.p == difference.p_holm < 0.001


def test_systems_that_cannot_be_told_apart_share_a_rank():
    runs = [("a", shares(40, 0.6)), ("b", shares(40, 0.6, seed=1)), ("c", shares(40, 0.1, seed=2))]
    found = compare(runs, PLAIN)
    assert {s.name: s.rank for s in found.systems} == {"a": 1, "b": 1, "c": 3}
    assert len(found.differences) == 3
    assert all(d.p <= d.p_holm for d in found.differences)


def test_pairing_sees_what_the_two_intervals_hide():
    hard = ["S" * (n % 20) + "N" * (20 - n % 20) for n in range(40)]
    better = [f"{facts}S" for facts in hard]
    found = compare([("a", run(*hard)), ("b", run(*better))], PLAIN)
    first, second = found.systems
    assert second.high > first.low
    assert found.differences[0].low > 0


def test_equal_runs_tie():
    found = compare([("a", shares(20, 0.5)), ("b", shares(20, 0.5))], PLAIN)
    assert [s.rank for s in found.systems] == [1, 1]
    assert (found.differences[0].value, found.differences[0].p, found.differences[0].ties) == (0, 1, 20)
    assert found.differences[0].low is None


def test_several_answers_to_a_prompt_are_averaged_first():
    a = [report(letters, id=f"0.{n}", prompt="prompt 0") for n, letters in enumerate(("S", "N", "N", "N"))]
    found = compare([("a", [*a, *run("S", start=1)]), ("b", run("S", "S"))], PLAIN)
    assert found.n == 2
    assert {s.name: s.value for s in found.systems} == {"a": 0.625, "b": 1}


def test_a_prompt_with_one_failed_answer_of_several_is_left_out():
    a = [report("S", id="x", prompt="prompt 0"), report("", id="y", prompt="prompt 0", failed="ModelError")]
    found = compare([("a", [*a, *run("S", start=1)]), ("b", run("S", "S"))], PLAIN)
    assert (found.n, found.left_out) == (1, {"decompose:ModelError in a": 1})


def test_abstentions_can_count_zero():
    runs = [("a", run("S", "-")), ("b", run("S", "S"))]
    assert compare(runs, PLAIN).n == 1
    found = compare(runs, PLAIN, abstentions="zero")
    assert {s.name: s.value for s in found.systems} == {"a": 0.5, "b": 1}


def test_other_prompts_are_an_error_that_says_how_to_match_by_id():
    a = [report("S", id="1", prompt="one")]
    b = [report("N", id="1", prompt="One, please")]
    with pytest.raises(UsageError, match=r"no scored prompt in common.*missing in b: 1.*match='id'"):
        compare([("a", a), ("b", b)], PLAIN)
    assert compare([("a", a), ("b", b)], PLAIN, match="id").n == 1


@pytest.mark.parametrize("names", [[], ["a"], ["a", "a"]])
def test_too_few_or_equally_named_runs(names):
    with pytest.raises(UsageError, match="two runs or more"):
        compare([(name, run("S")) for name in names], PLAIN)


def test_other_judges_and_few_prompts_are_noted():
    found = compare([("a", run("S", "N")), ("b", run("S", "S", signature="other"))], PLAIN)
    assert any("different methods" in note for note in found.notes)
    assert any("only 2 common prompts" in note for note in found.notes)
    assert compare([("a", shares(30, 0.5)), ("b", shares(30, 0.4))], PLAIN).notes == ()
