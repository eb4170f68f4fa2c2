"""Reading numbers of segments: what is no clear list is an error, never "all correct"."""

import ast
import contextlib
import csv
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from veridical.errors import ParseError
from veridical.felm.counts import Confusion, values
from veridical.felm.parse import read_felm, read_ids, read_ids_json, read_types, read_vicuna

ERROR = "error"
GOLDEN = [
    ("Answer: 2", {2}, {2}),
    ("2", set(), {2}),
    ("Answer:2", set(), {2}),
    ("Answer: 0", {3}, ERROR),
    ("Answer: ALL_CORRECT", set(), set()),
    ("Thought: not ALL_CORRECT. Answer: 2", set(), {2}),
    ("Answer: 2\nIt means segment 2 of 3 contains errors.", {2, 3}, {2}),
    ("Answer: 2 (in 1990, 1 error)", {1, 2}, {2}),
]
"""(reply to a sample of three segments, as released, strictly)"""
STRICT = [
    ("**Answer:** 1, 3", {1, 3}),
    ("Answer: 1, 2, and 3.", {1, 2, 3}),
    ("ANSWER: 1-3", {1, 2, 3}),
    ("Answer: #1 and #3", {1, 3}),
    ("Answer: [1, 3]", {1, 3}),
    ("Answer: 1,2,", {1, 2}),
    ("Answer: 2 - the date is wrong", {2}),
    ("Answer: Segments 1 and 2 contain errors.", {1, 2}),
    ("Answer:\n1\n2\n", {1, 2}),
    ("Answer: none", set()),
    (r"Answer: ALL\_CORRECT", set()),
    ("ALL CORRECT.", set()),
    ("[]", set()),
    ("<think>Answer: 1</think>Answer: 2", {2}),
    ("Answer: 2\n\nBelow are my inputs:\nQuestion: x\nAnswer: 3", {2}),
    ("A first Answer: 1 would miss the date.\nAnswer: 2", {2}),
    ("Answer: 3 errors", ERROR),
    ("Answer: 2 of 3", ERROR),
    ("Answer: 4", ERROR),
    ("Answer: 1. 2. 3.", ERROR),
    ("Answer: 3-1", ERROR),
    ("Answer: ALL_CORRECT except 2", ERROR),
    ("Answer: none\n2", ERROR),
    ("Answer:", ERROR),
    ("Answer: 1990 was wrong", ERROR),
    ("An example:\n<segment-1-1ea644>\nIce floats.\n</segment-1-1ea644>\n\nAnswer: 1", ERROR),
    ("Thought: <segment-2-1ea644> has the wrong year.\nAnswer: 2", {2}),
    ("Answer: 99999999999999999999", ERROR),
    ("", ERROR),
    ("I think that 2 is wrong.", ERROR),
    ("All of them are ALL_CORRECT, I think", ERROR),
]


def strictly(reply, n=3):
    try:
        return set(read_ids(reply, n))
    except ParseError as error:
        assert error.reply == reply
        return ERROR


@pytest.mark.parametrize(("reply", "released", "strict"), GOLDEN)
def test_f3_f4_f5_p1_p4_golden_rows(reply, released, strict):
    assert set(read_felm(reply, 3)) == released
    assert strictly(reply) == strict


@pytest.mark.parametrize(("reply", "strict"), STRICT)
def test_p2_p3_p4_lists_and_what_is_none(reply, strict):
    assert strictly(reply) == strict


def test_p6_an_answer_that_was_cut_is_no_answer():
    for reply in ("Answer: 1, 2", "Answer: 1\n2", "Thought: the second"):
        with pytest.raises(ParseError):
            read_ids(reply, 3, cut=True)
    assert read_ids("Answer: 1, 2\nIt means that seg", 3, cut=True) == {1, 2}


@given(
    st.text(alphabet=st.sampled_from("Answer: 0123459,-.()[]\nALL_CORRECT and of\\*"), max_size=60), st.integers(1, 9)
)
def test_whatever_is_read_is_a_number_of_a_segment(reply, n):
    with contextlib.suppress(ParseError):
        assert all(1 <= number <= n for number in read_ids(reply, n))
    assert all(1 <= number <= n for number in read_felm(reply, n) | read_vicuna(reply, n))


@given(st.sets(st.integers(1, 40), min_size=1), st.sampled_from([", ", ",", " and ", " ", "; "]))
def test_lists_that_are_written_are_read(ids, separator):
    assert read_ids(f"Answer: {separator.join(map(str, sorted(ids)))}", 40) == ids


def test_long_replies_take_no_time():
    numbers = "1 " * 100_000
    for reply in (
        f"Answer: 1\n{numbers}x",
        f"Answer: 1. {numbers}x",
        f"Answer: {numbers}x",
        "Answer: 1" + " " * 100_000 + "x",
        "Answer: " + "1, " * 50_000,
        "Answer:" * 50_000,
        "1 " * 100_000,
        "Answer: " + "-" * 200_000,
    ):
        strictly(reply)


def test_json_answers():
    assert read_ids_json('Here: {"thought": "2 of 3", "wrong": [2, 3]}', 3) == {2, 3}
    assert read_ids_json('{"wrong": []}', 3) == frozenset()
    for reply in ('{"wrong": [0]}', '{"wrong": ["2"]}', '{"wrong": 2}', "2", '{"wrong": [true]}'):
        with pytest.raises(ParseError):
            read_ids_json(reply, 3)


def test_types_are_read_apart_from_the_answer():
    reply = "Answer: 2, 3\nTypes: 2 knowledge, 3: fooled, 4 odd"
    assert read_types(reply) == {2: "knowledge_error", 3: "fooled"}
    assert read_types("Answer: 2") == read_types("Types: 2 knowledge, 2 fooled") == {}


# --- a third party's run of Vicuna-7B, with its replies


def replay():
    csv.field_size_limit(sys.maxsize // 2**8)
    with shared("felm/replicate_vicuna7b/vicuna_7B_raw.csv").open(encoding="utf-8", newline="") as file:
        return [
            (one["dataset"], ast.literal_eval(one["label"]), one["gen"], ast.literal_eval(one["res"]))
            for one in csv.DictReader(file)
        ]


CODES = {(True, False): "TP", (False, True): "TN", (False, False): "FP", (True, True): "FN"}
"""(factual, flagged) -> the name that the released code has for it."""


def test_the_released_rules_reproduce_the_whole_replay():
    rows = replay()
    assert len(rows) == 835
    for _, labels, reply, codes in rows:
        flagged = read_vicuna(reply, len(labels))
        assert [CODES[label, place in flagged] for place, label in enumerate(labels, 1)] == codes


def figures(pairs):
    cells = {(True, True): "tp", (False, True): "fp", (True, False): "fn", (False, False): "tn"}
    counted = dict.fromkeys(cells.values(), 0)
    for wrong, flagged in pairs:
        counted[cells[wrong, flagged]] += 1
    return counted, {name: value and round(100 * value, 1) for name, value in values(Confusion(**counted))[0].items()}


@pytest.mark.parametrize(
    ("domain", "cells", "published"),
    [
        ("ALL", (527, 721, 2724, 186), (16.2, 73.9, 26.6, 47.4)),
        ("wk", (101, 89, 296, 46), (25.4, 68.7, 37.1, 45.9)),
        ("science", (96, 31, 551, 2), (14.8, 98.0, 25.8, 51.6)),
        ("math", (69, 161, 313, 56), (18.1, 55.2, 27.2, 44.6)),
        ("reasoning", (119, 147, 723, 27), (14.1, 81.5, 24.1, 49.2)),
        ("writing_rec", (142, 293, 841, 55), (14.4, 72.1, 24.1, 49.0)),
    ],
)
def test_every_cell_of_the_replay(domain, cells, published):
    pairs = [
        (not label, place in read_vicuna(reply, len(labels)))
        for name, labels, reply, _ in replay()
        if domain in ("ALL", name)
        for place, label in enumerate(labels, 1)
    ]
    counted, found = figures(pairs)
    assert (counted["tp"], counted["tn"], counted["fp"], counted["fn"]) == cells
    assert tuple(found[name] for name in ("precision", "recall", "f1", "balanced_accuracy")) == published


def test_response_level_and_first_line_of_the_replay():
    whole, first = [], []
    for _, labels, reply, _ in replay():
        whole.append((not all(labels), bool(read_vicuna(reply, len(labels)))))
        flagged = read_vicuna(reply.strip().split("\n")[0], len(labels))
        first += [(not label, place in flagged) for place, label in enumerate(labels, 1)]
    _, found = figures(whole)
    names = ("precision", "recall", "f1", "balanced_accuracy")
    assert tuple(found[name] for name in names) == (32.7, 85.8, 47.3, 49.5)
    assert tuple(figures(first)[1][name] for name in names) == (16.5, 75.0, 27.1, 48.3)
