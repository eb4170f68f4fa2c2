"""Citation marks in a text."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from veridical.analysis.marks import marks
from veridical.inputs import read


def found(text, **more):
    return [text[start:end] for start, end in marks(text, **more)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She won in 1932.[1][2] She lost.", ["[1]", "[2]"]),
        ("She won in 1932[1][2]. She lost.", ["[1]", "[2]"]),
        ("She won [1], and lost [2, 3].", ["[1]", "[2, 3]"]),
        ("She won [1-3] or [4–6].", ["[1-3]", "[4–6]"]),
        ("She won[^1] it", ["[^1]"]),
        ("She won 【4:0†source】 it", ["【4:0†source】"]),
        ("She won[1](https://a.b/c).", ["[1]"]),
        ("**She won[1]** and lost", ["[1]"]),
        ("She won<sup>[1]</sup>", ["[1]"]),
        ("She won.[1]She lost.", ["[1]"]),
        ("She won [1932] and [12, 1990][3]", ["[3]"]),
    ],
)
def test_marks_are_found(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[1] Smith, A History.\n[2] Lee.",
        "- [1] first item",
        "  [3] third",
        "in [1932] he won",
        "numbers in [0, 1]",
        "then a[1] = 3 and a[1][2] += 4",
        "x[2].append(3)",
        "f = [1, 2, 3]",
        "`a[1]` and ```\nb a[2]\n```",
        r"$$x[1]$$ and \sqrt[3]{2}",
        "won[citation needed] and [sic] or [a]",
        "",
    ],
)
def test_what_looks_like_a_mark_and_is_none(text):
    assert found(text) == []


def test_authors_only_when_asked():
    text = "He won (Smith, 2020) and lost (born June 1990; Lee et al. 2021), see (May 1999) and (born 1973)."
    assert found(text) == []
    assert found(text, authors=True) == ["(Smith, 2020)", "(born June 1990; Lee et al. 2021)"]


def test_real_texts():
    """Of the 1,113 numbers in brackets of PerplexityAI's texts all are marks; the other systems have none."""
    folder = shared("factscore_labeled")
    counts = [
        sum(len(marks(g.text)) for g in read(str(folder / f"{name}.jsonl"))) for name in ("PerplexityAI", "ChatGPT")
    ]
    assert counts == [1113, 0]


@given(st.text(alphabet="[]1234567890,-= \n`$.\\ab(){}^【】†", max_size=60))
def test_marks_are_places_in_order(text):
    spans = marks(text, authors=True)
    assert spans == sorted(spans)
    assert all(text[start] in "[【(" and text[end - 1] in "]】)" for start, end in spans)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
