"""What is read off a reply, and what is refused."""

import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import ParseError
from veridical.replies import (
    THREE_WAY,
    answer,
    read_json,
    read_list,
    read_score,
    read_verdict,
    read_verdicts,
)

MAYBE_VERDICTS = st.lists(
    st.sampled_from(
        [
            "true",
            "False",
            "not",
            "Verdict:",
            "supported",
            "[",
            "]",
            "\n",
            ".",
            "the statement is",
            "no",
            "**",
            "{",
            '"',
            "?",
        ]
    ),
    max_size=12,
).map(" ".join)
REPLIES = st.one_of(st.text(), MAYBE_VERDICTS)


# --- verdicts


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("True", "supported"),
        ("False", "not_supported"),
        ("True or False? False", "not_supported"),
        ("The statement is not true.", "not_supported"),
        ("This is untrue.", "not_supported"),
        ("No.", "not_supported"),
        ("It can be construed as such.", None),
        ("", None),
        ("I'm unsure.", None),
    ],
)
def test_f31_factscore_replies(reply, outcome):
    assert verdict(reply) == outcome


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("NOT SUPPORTED", "not_supported"),
        ("unsupported", "not_supported"),
        ("Incorrect", "not_supported"),
        ("Supported (with minor caveat)", "supported"),
        ("**False.**", "not_supported"),
    ],
)
def test_p2_whole_tokens_negative_first(reply, outcome):
    assert verdict(reply) == outcome


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("This could be read as SUPPORTED, yet the date differs. Verdict: NOT_SUPPORTED", "not_supported"),
        ("A clean match would be VERDICT: TRUE. ... VERDICT: MAYBE", None),
        ("Verdict: True\nVerdict: False", "not_supported"),
        ("Verdict: False. The statement is true only of 1950.", "not_supported"),
    ],
)
def test_p3_the_last_anchored_verdict(reply, outcome):
    assert verdict(reply) == outcome


@pytest.mark.parametrize(
    "reply", ["Final: Supported", "VERDICT: supported", "Final answer: Supported", '{"verdict": "true"}']
)
def test_p1_other_anchors_are_read(reply):
    assert verdict(reply) == "supported"


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("reasoning [1] says so. [Supported]", "supported"),
        ("[not supported]", "not_supported"),
        ("[Not-Supported]", "not_supported"),
        ("**[Not Supported]**", "not_supported"),
        ("[Supported] ... [Not Supported]", "not_supported"),
        ("[Supported] but I am torn: [Maybe]", None),
    ],
)
def test_f32_bracketed_verdicts(reply, outcome):
    assert verdict(reply) == outcome


def test_f32_another_menu():
    menu = {"relevant": ("foo",), "irrelevant": ("not foo",)}
    assert read_verdict("see [1]. Thus [Not Foo]", menu) == "irrelevant"
    assert read_verdict("[Foo]", menu) == "relevant"


@pytest.mark.parametrize(
    "reply",
    [
        "It is false that it is not true",
        "I do not think this is true.",
        "If it rained, the statement is true.",
        "No doubt this is true.",
        "No, the statement is true.",
        "Partially supported",
        "Mostly true",
        "Not entirely true",
        "True? Hard to say.",
        "Verdict: not sure",
        "The statement is true if he was born in 1950.",
        "True or False",
        "Truetype is a font format.",
        "<think>Verdict: True",
        '{"true": 0.2, "false": 0.8}',
        "Supported: no",
        "Correct answer: 1951",
        "The verdict is open.",
        "Neither true nor false.",
    ],
)
def test_what_settles_nothing_is_refused(reply):
    assert verdict(reply) is None


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("False. Actually true", "supported"),
        ("The passages say 1950, the statement 1951.\n\nFalse", "not_supported"),
        ("## Verdict\n**True**", "supported"),
        ("True, since he was born in 1950.", "supported"),
        ("Based on the passages, the statement is false.", "not_supported"),
        ("The claim isn't true.", "not_supported"),
        ("False. The correct answer is 1951.", "not_supported"),
        ("False: the passage says 1951.", "not_supported"),
        ("False, not true.", "not_supported"),
        ("Verdict: The statement is false.", "not_supported"),
        ("He was born in 1950, so the statement is true.", "supported"),
        ("Answer - True", "supported"),
        ("True\n\nExplanation: The passage gives the year as 1932.", "supported"),
        ('{"reason": "The year is wrong, not the place.", "verdict": "False"}', "not_supported"),
        ("<think>Verdict: True?</think>\nFalse", "not_supported"),
    ],
)
def test_reasoning_around_the_verdict(reply, outcome):
    assert verdict(reply) == outcome


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("Supported", "supported"),
        ("Contradicted.", "contradicted"),
        ("NOT_ENOUGH_EVIDENCE", "not_enough_evidence"),
        ("Supported, Contradicted, or Not enough evidence? Verdict: Contradicted", "contradicted"),
        ("Not supported", None),
        ("unsupported", None),
        ("The statement is not supported.", None),
    ],
)
def test_three_way_verdicts(reply, outcome):
    try:
        assert read_verdict(reply, THREE_WAY) == outcome
    except ParseError:
        assert outcome is None


def test_a_refused_reply_is_kept():
    with pytest.raises(ParseError) as caught:
        read_verdict("<think>well</think> I'm unsure.")
    assert caught.value.reply == "<think>well</think> I'm unsure."


@given(st.sampled_from(["True", "Supported"]), st.text(alphabet="abc .,\n", max_size=80))
def test_a_negation_never_reads_as_supported(word, prefix):
    assert verdict(f"{prefix} Verdict: not {word}") != "supported"
    assert verdict(f"{prefix}. The claim is not {word}.") != "supported"


# --- several verdicts


def test_p7_only_what_is_numbered_counts():
    assert read_verdicts("no. no. yes.", [str(n) for n in range(1, 11)]) == {}


@pytest.mark.parametrize(
    "reply",
    [
        "1: True\n2: False",
        "2. False\n1. True",
        "Statement 1 - True\nStatement 2 - Not supported",
        '{"1": "True", "2": "False"}',
        "Sure!\n**1:** True\n**2:** False\n3: True",
    ],
)
def test_verdicts_are_paired_by_number(reply):
    assert read_verdicts(reply, ["1", "2"]) == {"1": "supported", "2": "not_supported"}


@pytest.mark.parametrize(
    "reply", ["1: True\n2: maybe", "1: True\n2: True\n2: False", "1: True\n2: False\n2: hm", "1: True\n2: unreadable"]
)
def test_an_unreadable_or_twofold_verdict_is_left_out(reply):
    assert read_verdicts(reply, ["1", "2"]) == {"1": "supported"}


def test_the_last_line_of_a_cut_reply_is_not_read():
    assert read_verdicts("1: True\n2: True", ["1", "2"], cut=True) == {"1": "supported"}


# --- JSON


@pytest.mark.parametrize(
    ("reply", "path"),
    [
        ('{"facts": ["A."]}', "strict"),
        ('```json\n{"facts": ["A."]}\n```\nHope this helps!', "fenced"),
        ('See [1]: {"facts": ["A."]} as asked {', "embedded"),
        ('{"facts": ["A.",],}', "repaired"),
        ('{ Here: {"facts": ["A."]}', "embedded"),
    ],
)
def test_p5_json_and_the_path_to_it(reply, path):
    found = read_json(reply)
    assert (found.value, found.path) == ({"facts": ["A."]}, path)


@pytest.mark.parametrize("reply", ["", "{", "[" * 100_000, '{"a": NaN}', "no", '"text"', "{'a': 1}"])
def test_what_is_not_json_is_refused(reply):
    with pytest.raises(ParseError):
        read_json(reply)


def test_commas_and_brackets_in_strings_stay():
    assert read_json('x {"a": "1,}, \\" {", "b": [1, 2,],} y').value == {"a": '1,}, " {', "b": [1, 2]}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    ).filter(lambda value: isinstance(value, dict) and "</think>" not in str(value)),
    st.text(alphabet="ab .\n"),
)
def test_an_object_is_found_in_prose(value, prose):
    assert read_json(f"{prose}{json.dumps(value, ensure_ascii=False)}{prose}").value == value


# --- lists


@pytest.mark.parametrize(
    "reply",
    [
        "1. A.\n2. B.",
        "* A.\n* B.",
        "• A.\n• B.",
        "- A.\n- B.",
        "1) A.\n2) B.",
        "•A.\n•B.",
        "Fact 1: A.\nFact 2: B.",
        '["A.", "B."]',
        '{"facts": ["A.", "B."]}',
        '{"facts": [{"fact": "A."}, {"fact": "B."}]}',
        "Sure! Here are the facts:\n\n- A.\n\n- **B.**",
        "```\n- A.\n- B.\n```",
    ],
)
def test_f23_list_shapes(reply):
    assert read_list(reply).items == ("A.", "B.")


def test_f24_a_trailing_marker_is_no_item():
    assert read_list("- He is A.\n- ").items == ("He is A.",)


def test_f25_a_dash_within_a_line_does_not_split():
    assert read_list("- He played 1990- 1995 for X.").items == ("He played 1990- 1995 for X.",)


@pytest.mark.parametrize(
    "tail",
    [
        "\n\nNote: done",
        "\nNote: done",
        "\n\nSentence: She left.\nFacts:\n- She left.",
        "\n\n</sentence-0a1b2c>\n- She left.",
    ],
)
def test_f26_notes_and_invented_examples_are_not_read(tail):
    assert read_list("- He is A.\n- He is B." + tail).items == ("He is A.", "He is B.")


@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ('{"facts": ["A.", "B.", "The mill bur', ("A.", "B.")),
        ('[{"fact": "A."}, {"fact": "The mill bur', ("A.",)),
        ('```json\n{"facts": [\n "A.",\n "B."', ("A.", "B.")),
    ],
)
def test_p6_a_cut_list_keeps_its_complete_items(reply, items):
    found = read_list(reply)
    assert (found.items, found.truncated) == (items, True)


def test_p6_eight_of_nine_facts():
    eight = [{"fact": f"Fact {n}."} for n in range(8)]
    reply = json.dumps({"facts": eight})[:-2] + ', {"fact": "The mill bur'
    found = read_list(reply, cut=True)
    assert (found.items, found.truncated) == (tuple(f"Fact {n}." for n in range(8)), True)


def test_p6_an_object_without_its_key_is_refused():
    with pytest.raises(ParseError):
        read_list("{}")


def test_a_cut_list_of_lines_loses_its_last():
    assert read_list("- A.\n- B.\n- The mill bur", cut=True).items == ("A.", "B.")


@pytest.mark.parametrize(
    "reply", ["NO CLAIMS", "none.", '{"facts": []}', "[]", "- none", "This sentence does not contain any facts."]
)
def test_a_reply_that_says_none_is_an_empty_list(reply):
    found = read_list(reply)
    assert (found.items, found.truncated) == ((), False)


@pytest.mark.parametrize("reply", ["", "I'm sorry, but I can't help with that.", "He is A.", "-", "[1, 2]"])
def test_what_is_no_list_is_refused(reply):
    with pytest.raises(ParseError):
        read_list(reply)


def test_an_array_within_an_item_is_part_of_it():
    assert read_list('- Its value is ["a", "b"].\n- B.').items == ('Its value is ["a", "b"].', "B.")


def test_a_wrapped_line_belongs_to_its_item():
    assert read_list("- He worked for\n  the railway.\n- B.").items == ("He worked for the railway.", "B.")


FACTS = st.lists(
    st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1, max_size=30).map(lambda text: f"Fact {text}."),
    min_size=1,
)


@given(FACTS, st.sampled_from(["- {}", "* {}", "{n}. {}", "• {}", "{n}) {}"]))
def test_any_list_comes_back(facts, form):
    reply = "\n".join(form.replace("{n}", str(n + 1)).replace("{}", fact) for n, fact in enumerate(facts))
    assert list(read_list(reply).items) == facts
    assert list(read_list(json.dumps({"facts": facts})).items) == facts


# --- scores


def test_p4_the_anchored_number_within_the_scale():
    assert read_score("The source lists 1887 and 3 sites. Score: 2", 0, 3) == 2


@pytest.mark.parametrize(
    ("reply", "high"),
    [("I would say 45", 10), ("Score: 45", 10), ("There are 3 sites.", 3), ("3/5", 10), ("Score: high", 3), ("", 3)],
)
def test_p4_off_the_scale_or_unanchored_is_refused(reply, high):
    with pytest.raises(ParseError):
        read_score(reply, 0, high)


@pytest.mark.parametrize(
    "reply",
    ["Max score: 10", "Score: 5. A score of 10 means perfect.", "Score: 4 or 5", "Score: 4 to 5", "Score: 4 out of 5"],
)
def test_p4_another_number_in_prose_is_not_guessed_at(reply):
    with pytest.raises(ParseError):
        read_score(reply, 0, 10)


@pytest.mark.parametrize(
    "reply", ["score: 5\nMax score: 10", "Score: 5 (maximum score: 10)", "Previous score: 3. Score: 5"]
)
def test_p4_the_scale_is_not_the_score(reply):
    assert read_score(reply, 0, 10) == 5


@pytest.mark.parametrize("reply", ["4", "4/5", "Rating: 4 out of 5", "Score: 2\nScore: **4.0**.", "score is 4"])
def test_score_shapes(reply):
    assert read_score(reply, 0, 5) == 4


# --- all of them


READERS = {
    "verdict": read_verdict,
    "verdicts": lambda reply: read_verdicts(reply, ["1"]),
    "json": read_json,
    "list": read_list,
    "cut list": lambda reply: read_list(reply, cut=True),
    "score": lambda reply: read_score(reply, 0, 1),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@given(reply=REPLIES)
def test_nothing_but_a_parse_error_is_ever_raised(reader, reply):
    try:
        reader(reply)
    except ParseError as error:
        assert error.reply or not answer(reply)


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "[",
        '{"a":',
        '"',
        "- ",
        "true or ",
        "verdict: ",
        '["a",',
        "the claim is ",
        " ",
        "\n",
        "```\n",
        "[a]",
        "\\",
        "says ",
        "if ",
        "true. ",
        "“",
        "'a",
    ],
)
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_long_repetitive_replies_end(reader, unit):
    """A quadratic reader would need minutes here."""
    with contextlib.suppress(ParseError):
        reader(unit * (60_000 // len(unit)))


def verdict(reply):
    try:
        return read_verdict(reply)
    except ParseError:
        return None


def test_the_table_in_the_docs_is_true():
    page = (Path(__file__).parents[1] / "docs" / "reading_replies.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (supported|not supported|refused) \|$", page, re.MULTILINE)
    assert len(rows) > 10
    for reply, outcome in rows:
        expected = None if outcome == "refused" else outcome.replace(" ", "_")
        assert verdict("" if reply == "(nothing)" else reply) == expected, reply
