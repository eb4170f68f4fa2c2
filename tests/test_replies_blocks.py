"""One text out of a fenced block: a rewritten statement, a search query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import ParseError
from veridical.prompts import fence
from veridical.replies.blocks import read_block

ACORNS = "Acorns is a company."


def read(reply):
    return read_block(reply, "statement", "fact")


@pytest.mark.parametrize(
    "reply",
    [
        "```Acorns\n{}\n```",
        "```Acorns\n{}```",
        "```\n{}\n```",
        "```{}```",
        "```text\n{}\n```",
        "``` plaintext\n{}\n```",
        "```statement\n{}\n```",
        "The company is Acorns.\n\n```\n{}\n```\n",
        "```\n{}\n```\nThis now stands alone.",
        "````\n{}\n````",
        "~~~\n{}\n~~~",
        "```\r\n{}\r\n```",
        "```\n\n  {}  \n\n```",
        "```\nAcorns is\na company.\n```",
        "```\nAcorns\nis a company.\n```",
        "```\nStatement: {}\n```",
        "```\n**Rewritten statement:** {}\n```",
        '```json\n{{"statement": "{}"}}\n```',
        '```\n"{}"\n```',
        "```\n{}\n```\nOr, in the same words:\n```\n{}\n```",
        "Here it is:\n```\n{}",
        "<think>```\nNo.\n```</think>```\n{}\n```",
        "Statement: {}",
        "It is Acorns.\n\n**Statement:** {}",
        "Revised statement:\n{}",
        "- Fact: {}",
    ],
)
def test_f34_shapes_of_one_text(reply):
    assert read(reply.format(ACORNS, ACORNS)) == ACORNS


@pytest.mark.parametrize("reply", ["```\nAcorns\n```", "```Acorns```", "```Acorns\n```", "```text\nAcorns\n```"])
def test_f34_a_single_line_stays_whole_even_one_word(reply):
    assert read(reply) == "Acorns"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Acorns is a company.",
        "The statement can stand alone already.",
        "I cannot do that.",
        "```\n```",
        "```\nN/A\n```",
        "```\n...\n```",
        "Statement:",
        "Statement: ???",
        "```\nAcorns is a company.\n```\n```\nAcorns is a fruit.\n```",
        "Statement: Acorns is a company.\nStatement: Acorns is a fruit.",
        "```\n- Acorns is a company.\n- Acorns is in Irvine.\n```",
        "```\n1. Acorns is a company.\n2. Acorns is in Irvine.\n```",
        "```Acorns\nis a company.\n```",
        "```\nAcorns is a company.\n\nI have replaced the pronoun.",
        f"```\n{fence('statement', ACORNS)}\n```",
        "<think>```\nAcorns is a company.\n```",
    ],
)
def test_what_is_no_one_text_is_refused_whole(reply):
    with pytest.raises(ParseError) as caught:
        read(reply)
    assert caught.value.reply == reply


@pytest.mark.parametrize(
    "text", ["{{name}}", r"\frac{{a}}{{b}} is {% off %}", "{#1} rose", "[PROMPT] [KNOWLEDGE]", "[1]"]
)
def test_f45_f46_braces_and_brackets_stay(text):
    assert read(f"```\n{text}\n```") == text


noise = st.text(max_size=60) | st.text(alphabet="`~statement: \nA{}\"'*-1", max_size=80)


@given(noise)
def test_any_reply_is_a_text_on_one_line_or_a_parse_error(reply):
    try:
        text = read(reply)
    except ParseError as error:
        assert error.reply == reply
    else:
        assert any(map(str.isalnum, text))
        assert text == " ".join(text.split())


words = st.lists(st.from_regex(r"[A-Za-z0-9{}%\[\]]{1,8}", fullmatch=True), min_size=1, max_size=8).map(" ".join)


@given(words.filter(lambda text: any(map(str.isalnum, text)) and text.lower() not in ("na", "none", "null", "nil")))
def test_what_stands_alone_in_a_block_is_read_as_it_is(text):
    if not text.startswith("{"):  # an object is read by its keys
        assert read(f"Some reasons.\n```\n{text}\n```") == text


def test_time_is_linear_in_the_reply():
    for filler in ("`" * 200_000, "```" * 60_000, "statement" * 20_000, "statement: \n" * 20_000, "*" * 200_000):
        with pytest.raises(ParseError):
            read(filler + "\n")
