"""Tables for people: what of a fact is shown beside its verdict."""

import io

import pytest
import rich.console

from veridical.cli import show
from veridical.types import AtomicFact, Evidence, Failure, Generation, JudgedFact, Label, Report, Verdict, Vote

FACT = AtomicFact(id="g/0.0", text="Ana sold the mill.", sentence=0)
S, N = Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE
DOWN = Failure(stage="verify", error="ModelError", message="down")


def shown(**judged):
    console = rich.console.Console(file=io.StringIO(), width=200)
    console.print(show.facts(Report(generation=Generation(id="g", text="x"), facts=(JudgedFact(fact=FACT, **judged),))))
    return " ".join(console.file.getvalue().split())


def verdict(*votes, **more):
    return Verdict(label=S, judge="both", votes=votes, **more)


@pytest.mark.parametrize(
    ("votes", "words"),
    [
        ((), ""),
        (
            (Vote(judge="small", label=S, probability=0.9), Vote(judge="large")),
            "small supported (0.90), large not asked",
        ),
        ((Vote(judge="a", label=N), Vote(judge="b", failure=DOWN)), "a not enough evidence, b failed"),
        (tuple(Vote(judge=f"s/{n}", label=S if n else N) for n in range(5)), "4 supported, 1 not enough evidence"),
    ],
)
def test_votes_are_shown_by_name_and_many_by_number(votes, words):
    text = shown(verdict=verdict(*votes, rationale="It says so."))
    assert "It says so." in text
    assert (f"votes: {words}" in text) if words else "votes" not in text


def test_what_a_failed_fact_has_is_shown_too():
    votes = (Vote(judge="small", label=S, probability=0.8), Vote(judge="large", failure=DOWN))
    text = shown(failure=Failure(stage="verify", error="ModelError", message="down", votes=votes))
    assert "unscored: ModelError" in text and "votes: small supported (0.80), large failed" in text


def test_what_was_left_out_is_named_once_and_counted():
    one, two = "sample/2: abstains (I'm sorry)", "sample/4: dropped (cut)"
    assert f"left out: {one}" in shown(verdict=verdict(), evidence=Evidence(skipped=(one,)))
    text = shown(verdict=verdict(), evidence=Evidence(skipped=(one, two)))
    assert f"left out: {one}; 1 more" in text and two not in text
    assert "[b]" in shown(verdict=verdict(), evidence=Evidence(skipped=("[b]x\x1b[0m",)))
