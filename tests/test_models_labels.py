"""Label probabilities from log-probabilities (cases L1 to L3, P2)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.models.base import ChatReply, TokenLogprob
from veridical.models.labels import label_probability

TRUE, FALSE = ["True"], ["False"]
SUPPORTED, NOT = ["Supported"], ["Not Supported", "Contradicted"]


def token(text: str, /, **top: float) -> TokenLogprob:
    """A token with the probabilities of its alternatives; keywords spell a leading space as "_"."""
    pairs = [(name.replace("_", " "), math.log(p)) for name, p in top.items()]
    return TokenLogprob(token=text, logprob=-0.1, top=tuple(sorted(pairs, key=lambda pair: -pair[1])))


def reply(*tokens: TokenLogprob) -> ChatReply:
    return ChatReply(text="".join(one.token for one in tokens), logprobs=tokens)


def test_one_token_answer():
    assert label_probability(reply(token("True", **{"True": 0.6, "False": 0.2})), TRUE, FALSE) == pytest.approx(0.75)


def test_the_negative_answer_gives_the_probability_of_the_positive_one():
    assert label_probability(reply(token("False", **{"False": 0.6, "True": 0.2})), TRUE, FALSE) == pytest.approx(0.25)


def test_l2_the_last_label_token_counts_not_the_one_in_the_reasoning():
    words = ["The", " claim", " is", " True", " in", " part", ".", " Answer", ":", " False"]
    tokens = [token(word, **{word.replace(" ", "_"): 0.9, "_nothing": 0.1}) for word in words]
    tokens[3] = token(" True", _True=0.95, _False=0.05)
    tokens[-1] = token(" False", _False=0.8, _True=0.1, _Maybe=0.1)
    assert label_probability(reply(*tokens), TRUE, FALSE) == pytest.approx(0.1 / 0.9)


def test_l2_punctuation_after_the_label_does_not_matter():
    tokens = (
        token("**", **{"**": 0.9, "__": 0.1}),
        token("False", **{"False": 0.9, "True": 0.1}),
        token(".**\n", **{".": 1.0}),
    )
    assert label_probability(reply(*tokens), TRUE, FALSE) == pytest.approx(0.1)


def test_variants_of_a_label_are_summed():
    top = {"True": 0.3, "_True": 0.1, "TRUE": 0.05, "true": 0.05, "Tr": 0.1, "False": 0.2, "fal": 0.2}
    assert label_probability(reply(token("True", **top)), TRUE, FALSE) == pytest.approx(0.6)


@pytest.mark.parametrize("mark", ["Ġ", "▁"])
def test_space_markers_inside_tokens(mark: str):
    pairs = ((f"{mark}False", math.log(0.7)), (f"{mark}True", math.log(0.3)))
    tokens = (TokenLogprob(token=f"{mark}False", logprob=math.log(0.7), top=pairs),)
    assert label_probability(ChatReply(text="False", logprobs=tokens), TRUE, FALSE) == pytest.approx(0.3)


def test_a_single_letter_that_was_not_generated_counts_for_nobody():
    assert label_probability(
        reply(token("True", **{"True": 0.5, "F": 0.3, "False": 0.2})), TRUE, FALSE
    ) == pytest.approx(5 / 7)


def test_a_single_letter_that_was_generated_counts():
    tokens = token("T", **{"T": 0.75, "F": 0.05, "False": 0.25}), token("rue", rue=1.0)
    assert label_probability(reply(*tokens), TRUE, FALSE) == pytest.approx(0.75)


def test_labels_of_one_letter():
    assert label_probability(reply(token("A", A=0.6, B=0.2, C=0.2)), ["A"], ["B"]) == pytest.approx(0.75)


def test_p2_not_supported_is_not_supported():
    tokens = token("Not", Not=0.8, Supported=0.2), token(" supported", _supported=0.99, _true=0.01)
    assert label_probability(reply(*tokens), SUPPORTED, NOT) == pytest.approx(0.2)


@pytest.mark.parametrize("last", ["_SUPPORTED", "-supported", " Supported"])
def test_separators_inside_a_label(last: str):
    tokens = token("NOT", NOT=0.9, SU=0.1), token(last, **{last: 1.0})
    assert label_probability(reply(*tokens), SUPPORTED, NOT) == pytest.approx(0.1)


def test_a_label_split_into_pieces_is_read_at_its_first_piece():
    tokens = token("SU", SU=0.6, NOT=0.3, CONTR=0.1), token("PPORT", PPORT=1.0), token("ED", ED=1.0)
    assert label_probability(reply(*tokens), SUPPORTED, NOT) == pytest.approx(0.6)


def test_labels_that_begin_alike_are_read_where_they_part():
    tokens = (
        token("is", **{"is": 1.0}),
        token(" not", _not=0.7, _supported=0.3),
        token(" supported", _supported=1.0),
    )
    assert label_probability(reply(*tokens), ["is supported"], ["is not supported"]) == pytest.approx(0.3)


def test_where_no_token_decides_there_is_no_probability():
    tokens = token("supported", supported=0.9, other=0.1), token(" in part", **{"_in part": 1.0})
    assert label_probability(reply(*tokens), ["supported"], ["supported in part"]) is None


def test_a_label_inside_another_word_is_none():
    assert label_probability(reply(token("unsupported", unsupported=0.9, supported=0.1)), ["supported"], ["no"]) is None


def test_chinese_labels_need_no_spaces():
    tokens = token("答案是", 答案是=1.0), token("错误", 错误=0.8, 正确=0.2), token("。", **{"。": 1.0})
    assert label_probability(reply(*tokens), ["正确"], ["错误"]) == pytest.approx(0.2)


def test_l1_no_logprobs_no_probability():
    assert label_probability(ChatReply(text="True"), TRUE, FALSE) is None
    assert label_probability(ChatReply(text="True", logprobs=()), TRUE, FALSE) is None


def test_l3_a_token_without_alternatives_is_no_probability():
    """Its share of one side alone would always be 1: the hard label in disguise."""
    assert (
        label_probability(ChatReply(text="True", logprobs=(TokenLogprob(token="True", logprob=-0.1),)), TRUE, FALSE)
        is None
    )


def test_no_label_no_probability():
    assert label_probability(reply(token("Maybe", **{"Maybe": 0.9, "True": 0.1})), TRUE, FALSE) is None


def test_impossible_labels_do_not_divide_by_zero():
    top = (("True", -9999.0), ("False", -9999.0))
    assert (
        label_probability(
            ChatReply(text="True", logprobs=(TokenLogprob(token="True", logprob=-9999.0, top=top),)), TRUE, FALSE
        )
        is None
    )


def test_minus_infinity_is_probability_zero():
    top = (("True", -0.2), ("False", -math.inf))
    assert (
        label_probability(
            ChatReply(text="True", logprobs=(TokenLogprob(token="True", logprob=-0.2, top=top),)), TRUE, FALSE
        )
        == 1.0
    )


def test_a_top_list_without_the_chosen_token_still_counts_it():
    tokens = (TokenLogprob(token="True", logprob=math.log(0.5), top=(("False", math.log(0.25)),)),)
    assert label_probability(ChatReply(text="True", logprobs=tokens), TRUE, FALSE) == pytest.approx(2 / 3)


pieces = st.text(alphabet=" TrueFalsNot_▁Ġ真.*\n", max_size=6)
tops = st.lists(st.tuples(pieces, st.floats(-50, 0)), max_size=5)


@given(
    st.lists(st.builds(lambda t, top: TokenLogprob(token=t, logprob=-1.0, top=tuple(top)), pieces, tops), max_size=8)
)
def test_always_a_probability_or_none_and_sides_mirror(tokens: list[TokenLogprob]):
    one = label_probability(reply(*tokens), TRUE, [*FALSE, "Not True"])
    other = label_probability(reply(*tokens), [*FALSE, "Not True"], TRUE)
    if one is None:
        assert other is None
    else:
        assert 0.0 <= one <= 1.0
        assert other == pytest.approx(1.0 - one)
