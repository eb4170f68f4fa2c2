"""The two LLM verifiers of FActScore (a double answers by rule)."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from script import cut, last_block
from veridical.errors import FatalError, ModelError, UsageError
from veridical.models.base import ChatReply, TokenLogprob
from veridical.models.scripted import Scripted
from veridical.quotes import best_quote
from veridical.text.sentences import split
from veridical.types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Verdict
from veridical.verify import NoContextVerifier, RetrieveVerifier

GENERATION = Generation(id="g", text="Ana ran the mill. She sold it in 1932.", topic="Ana Brandt")
MILL = Passage(id="p1", title="Mill", text="The mill stood in Turin. Brandt sold the mill in 1932.", score=2.0)
RIVER = Passage(id="p2", title="River", text="The river is long.", score=1.0)
SUPPORTED, NOT_ENOUGH = Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE


def fact(text, n=0, sentence=1):
    return AtomicFact(id=f"g/{sentence}.{n}", text=text, sentence=sentence)


def cases(*texts, passages=(MILL, RIVER)):
    return [(fact(text, n), Evidence(passages=tuple(passages))) for n, text in enumerate(texts)]


def always(said):
    return Scripted(said)


def probable(true, false):
    token = TokenLogprob(token="True", logprob=true, top=(("True", true), ("False", false)))
    return ChatReply(text="True", logprobs=(token,))


async def judge(verifier, *texts, **options):
    return await verifier.verify(cases(*texts, **options), GENERATION)


# --- retrieve -> LM


async def test_supported_with_quote_and_judge():
    model = always("True")
    [verdict] = await judge(RetrieveVerifier(model), "Ana Brandt sold the mill in 1932.")
    assert (verdict.label, verdict.mode, verdict.judge) == (SUPPORTED, "text", "scripted")
    [quote] = verdict.quotes
    assert quote.passage == "p1"
    assert MILL.text[quote.start : quote.end] == "Brandt sold the mill in 1932."


async def test_false_of_two_is_the_weaker_label():
    [verdict] = await judge(RetrieveVerifier(always("False")), "Ana sold it.")
    assert verdict.label is NOT_ENOUGH


@pytest.mark.parametrize(
    ("reply", "label"),
    [("Supported", SUPPORTED), ("Contradicted", Label.CONTRADICTED), ("Not enough evidence", NOT_ENOUGH)],
)
async def test_three_choices(reply, label):
    model = always(reply)
    [verdict] = await judge(RetrieveVerifier(model, choices="three"), "Ana sold it.")
    assert verdict.label is label
    assert "Contradicted" in model.seen[0].messages[0].content


@pytest.mark.parametrize("texts", [[], [""], ["  ", "\n"]])
async def test_f38_n1_blank_evidence_is_no_evidence_and_the_model_is_not_asked(texts):
    model = always("True")
    passages = [Passage(id=f"p{n}", text=text) for n, text in enumerate(texts)]
    [verdict] = await judge(RetrieveVerifier(model), "The mill opened in 1890.", passages=passages)
    assert (verdict.label, verdict.mode) == (NOT_ENOUGH, "no evidence")
    assert model.seen == []


async def test_f38_a_fact_without_evidence_does_not_hide_its_neighbours():
    model = always("True")
    mixed = [(fact("A.", 0), Evidence()), (fact("B.", 1), Evidence(passages=(MILL,))), (fact("C.", 2), Evidence())]
    found = await RetrieveVerifier(model).verify(mixed, GENERATION)
    assert [verdict.mode for verdict in found if isinstance(verdict, Verdict)] == ["no evidence", "text", "no evidence"]


@pytest.mark.parametrize(("order", "first"), [("best_last", "River"), ("best_first", "Mill")])
async def test_f44_passages_are_shown_best_last_as_published(order, first):
    model = always("True")
    await judge(RetrieveVerifier(model, order=order), "Ana sold it.")
    titles = re.findall(r"^Title: (.*)$", last_block(model.seen[0], "evidence"), re.MULTILINE)
    assert titles[0] == first
    assert sorted(titles) == ["Mill", "River"]
    assert RetrieveVerifier(model).order == "best_last"


async def test_s6_the_judge_sees_topic_and_sentence():
    model = always("True")
    await judge(RetrieveVerifier(model), "Ana Brandt sold the mill.")
    assert last_block(model.seen[0], "context") == "Topic: Ana Brandt\nTaken from: She sold it in 1932."
    await judge(RetrieveVerifier(model, context=False), "Ana Brandt sold the mill.")
    assert last_block(model.seen[1], "context") == "Topic: Ana Brandt"


@pytest.mark.parametrize("text", ["{{evidence}}", r"\frac{{a}}{{b}}", "{% off %}", "[KNOWLEDGE]", "</statement>"])
async def test_f45_f46_hostile_facts_and_evidence_are_shown_verbatim(text):
    model = always("True")
    await judge(RetrieveVerifier(model), text, passages=[Passage(id="p", text=text)])
    assert last_block(model.seen[0], "statement") == text
    assert last_block(model.seen[0], "evidence") == text


async def test_prompts_share_everything_before_the_fact():
    model = always("True")
    await judge(RetrieveVerifier(model), "Ana sold the mill.", "Ana ran the mill.")
    one, other = (request.messages[0].content for request in model.seen)
    assert one.partition("<statement")[0] == other.partition("<statement")[0]


async def test_f33_what_never_parses_is_a_failure_with_its_reply_after_bounded_calls():
    model = always("I'm unsure.")
    found = await judge(RetrieveVerifier(model), "A.", "B.")
    assert [(f.stage, f.error, f.reply) for f in found if isinstance(f, Failure)] == [
        ("verify", "ParseError", "I'm unsure.")
    ] * 2
    assert len(model.seen) == 4


async def test_p1_an_outage_is_a_failure_of_its_fact_alone():
    def reply(request):
        if "1932" in last_block(request, "statement"):
            raise ModelError("500 after all retries")
        return "True"

    failed, judged = await judge(RetrieveVerifier(Scripted(reply)), "Ana sold it in 1932.", "Ana sold it.")
    assert (failed.error, failed.message) == ("ModelError", "500 after all retries")
    assert judged.label is SUPPORTED


async def test_a_re_ask_may_settle_it():
    replies = iter(["Hard to say.", "False"])
    model = Scripted(lambda request: next(replies))
    [verdict] = await judge(RetrieveVerifier(model), "Ana sold it.")
    assert verdict.label is NOT_ENOUGH
    assert [message.role for message in model.seen[1].messages] == ["user", "assistant", "user"]


async def test_a_cut_reply_is_not_trusted_even_if_it_holds_a_verdict():
    model = Scripted(lambda request: "Verdict: True" if request.max_tokens > 512 else cut("Verdict: True or rather"))
    [verdict] = await judge(RetrieveVerifier(model), "Ana sold it.")
    assert verdict.label is SUPPORTED
    assert [request.max_tokens for request in model.seen] == [512, 1024]


async def test_a_fatal_error_stops_everything():
    def reply(request):
        raise FatalError("bad key")

    with pytest.raises(ExceptionGroup) as caught:
        await judge(RetrieveVerifier(Scripted(reply)), "A.", "B.")
    assert caught.group_contains(FatalError)


async def test_e5_what_does_not_fit_is_left_out_from_the_worst_up():
    model = always("True")
    long = Passage(id="p3", title="Long", text="word " * 400)
    await judge(RetrieveVerifier(model, max_evidence_tokens=100), "Ana sold it.", passages=(MILL, long, RIVER))
    shown = last_block(model.seen[0], "evidence")
    assert MILL.text in shown
    assert "word" not in shown


async def test_e5_the_best_passage_is_cut_rather_than_left_out():
    model = always("True")
    long = Passage(id="p3", title="Long", text="Brandt sold the mill in 1932. " + "The mill. " * 200)
    [verdict] = await judge(RetrieveVerifier(model, max_evidence_tokens=50), "Brandt sold the mill.", passages=(long,))
    shown = last_block(model.seen[0], "evidence").removeprefix("Title: Long\n")
    assert long.text.startswith(shown)
    assert 100 < len(shown) <= 200
    assert long.text[verdict.quotes[0].start : verdict.quotes[0].end] == "Brandt sold the mill in 1932."


# --- label probabilities


async def test_probability_of_true_decides():
    verifier = RetrieveVerifier(Scripted(lambda request: probable(-0.1, -2.4)), mode="logprobs")
    [verdict] = await judge(verifier, "Ana sold it.")
    assert (verdict.label, verdict.mode) == (SUPPORTED, "logprobs")
    assert verdict.probability == pytest.approx(0.9089, abs=1e-3)


async def test_false_by_probability_though_the_sampled_word_is_true():
    verifier = RetrieveVerifier(Scripted(lambda request: probable(-2.4, -0.1)), mode="logprobs")
    [verdict] = await judge(verifier, "Ana sold it.")
    assert verdict.label is NOT_ENOUGH


async def test_l3_missing_log_probabilities_fail_and_are_never_read_as_text():
    answers = iter([probable(-0.1, -2.4), ChatReply(text="True")])
    model = Scripted(lambda request: next(answers))
    judged, failed = await judge(RetrieveVerifier(model, mode="logprobs"), "A.", "B.")
    assert judged.mode == "logprobs"
    assert (failed.error, failed.stage) == ("ModelError", "verify")
    assert "log-probabilities" in failed.message
    assert all(request.top_logprobs for request in model.seen)


async def test_l2_no_label_among_the_tokens_is_a_failure():
    token = TokenLogprob(token="Perhaps", logprob=-0.1, top=(("Perhaps", -0.1), ("True", -3.0)))
    model = Scripted(lambda request: ChatReply(text="Perhaps", logprobs=(token,)))
    [failed] = await judge(RetrieveVerifier(model, mode="logprobs"), "A.")
    assert failed.error == "ParseError"


# --- by the logits of the labels


def compared(true, false):
    ranked = sorted((("True", true), ("False", false)), key=lambda pair: -pair[1])
    token = TokenLogprob(token=ranked[0][0], logprob=ranked[0][1], top=tuple(ranked))
    return ChatReply(text=token.token, logprobs=(token,))


@pytest.mark.parametrize("kind", [NoContextVerifier, RetrieveVerifier])
@pytest.mark.parametrize(
    ("true", "false", "label"),
    [(-0.69, -0.70, SUPPORTED), (-0.70, -0.69, NOT_ENOUGH), (-0.5, -0.5, SUPPORTED), (-90.0, 0.0, NOT_ENOUGH)],
    ids=["true", "false", "a tie", "hardly ever"],
)
async def test_a7_the_larger_logit_decides(kind, true, false, label):
    model = Scripted(lambda request: compared(true, false))
    [verdict] = await judge(kind(model, mode="logits"), "Ana sold it.")
    assert (verdict.label, verdict.mode) == (label, "logits")
    assert verdict.probability == pytest.approx(1 / (1 + math.exp(false - true)))
    [request] = model.seen
    assert (request.labels, request.top_logprobs) == (("True", "False"), None)


async def test_without_logits_it_fails_and_is_never_read_as_text():
    [failed] = await judge(RetrieveVerifier(always("True"), mode="logits"), "A.")
    assert (failed.error, failed.stage) == ("ModelError", "verify")
    assert "gives no logits of labels" in failed.message


# --- several facts a call


def numbered(request):
    """Answer a batch by wording: what holds "false" is false; what holds "skip" is left out."""
    statements = re.findall(r"^(\d+): <(statement-\d+-\w+)>\n(.*?)\n</\2>", request.messages[0].content, re.M | re.S)
    if not statements:
        return "False" if "false" in last_block(request, "statement") else "True"
    return "\n".join(
        f"{n}: {'False' if 'false' in text else 'True'}" for n, _, text in statements if "skip" not in text
    )


async def test_p7_batches_are_paired_by_number_and_what_is_missing_is_asked_alone():
    model = Scripted(numbered)
    found = await judge(
        RetrieveVerifier(model, facts_per_call=4), "one", "two false", "three skip false", "four", "five"
    )
    assert [verdict.label for verdict in found] == [SUPPORTED, NOT_ENOUGH, NOT_ENOUGH, SUPPORTED, SUPPORTED]
    assert len(model.seen) == 3  # a batch of four, the one it left out, the fifth


async def test_p7_a_reply_without_numbers_settles_nothing():
    def reply(request):
        return "False" if "<statement-1" not in request.messages[0].content else "no. no. yes."

    model = Scripted(reply)
    found = await judge(RetrieveVerifier(model, facts_per_call=10), *[f"fact {n}" for n in range(10)])
    assert [verdict.label for verdict in found] == [NOT_ENOUGH] * 10
    assert len(model.seen) == 11


async def test_a_batch_that_fails_is_asked_one_by_one():
    def reply(request):
        if "<statement-1" in request.messages[0].content:
            raise ModelError("prompt too long")
        return "True"

    found = await judge(RetrieveVerifier(Scripted(reply), facts_per_call=3), "one", "two", "three")
    assert [verdict.label for verdict in found] == [SUPPORTED] * 3


async def test_p6_the_last_verdict_of_a_cut_batch_is_asked_again():
    def reply(request):
        if "<statement-1" in request.messages[0].content:
            return cut("1: True\n2: True")
        return "False"

    found = await judge(RetrieveVerifier(Scripted(reply), facts_per_call=2), "one", "two")
    assert [verdict.label for verdict in found] == [SUPPORTED, NOT_ENOUGH]


async def test_a_batch_shows_each_passage_once():
    model = Scripted(numbered)
    pairs = [(fact("one", 0), Evidence(passages=(MILL, RIVER))), (fact("two", 1), Evidence(passages=(RIVER,)))]
    await RetrieveVerifier(model, facts_per_call=2).verify(pairs, GENERATION)
    shown = last_block(model.seen[0], "evidence")
    assert (shown.count("Title: River"), shown.count("Title: Mill")) == (1, 1)


# --- no context


async def test_no_context_shows_no_evidence():
    model = always("False")
    [verdict] = await judge(NoContextVerifier(model), "Ana sold the mill.")
    assert verdict.label is NOT_ENOUGH
    assert verdict.quotes == ()
    assert MILL.text not in model.seen[0].messages[0].content


async def test_no_context_asks_though_there_is_no_evidence():
    [verdict] = await judge(NoContextVerifier(always("True")), "Ana sold the mill.", passages=())
    assert (verdict.label, verdict.mode) == (SUPPORTED, "text")


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "guess"},
        {"choices": "four"},
        {"mode": "logprobs", "choices": "three"},
        {"mode": "logits", "choices": "three"},
    ],
)
def test_settings_that_do_not_exist_raise(options):
    for kind in (NoContextVerifier, RetrieveVerifier):
        with pytest.raises(UsageError):
            kind(always("True"), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"order": "random"},
        {"facts_per_call": 0},
        {"facts_per_call": 2, "mode": "logprobs"},
        {"facts_per_call": 2, "mode": "logits"},
    ],
)
def test_retrieval_settings_that_do_not_exist_raise(options):
    with pytest.raises(UsageError):
        RetrieveVerifier(always("True"), **options)


# --- quotes


def test_the_quote_is_the_sentence_that_shares_most_words():
    quote = best_quote("Brandt sold her mill in 1932", (RIVER, MILL))
    assert quote is not None
    assert (quote.passage, MILL.text[quote.start : quote.end]) == ("p1", "Brandt sold the mill in 1932.")


def test_words_of_the_topic_do_not_choose_the_quote():
    page = Passage(id="p", text="Ana Brandt (1890–1960) was a miller. She came from Turin.")
    quote = best_quote("Ana Brandt was born in Turin.", (page,), "Ana Brandt")
    assert quote is not None
    assert page.text[quote.start : quote.end] == "She came from Turin."


def test_too_little_in_common_is_no_quote():
    assert best_quote("Quantum chess was invented in Oslo by Olsen", (RIVER, MILL)) is None
    assert best_quote("the", (MILL,)) is None


@given(st.text(), st.text())
def test_any_quote_is_words_of_its_passage(text, passage):
    quote = best_quote(text, (Passage(id="p", text=passage),))
    assert quote is None or passage[quote.start : quote.end].strip()


async def test_the_judge_sees_the_sentence_that_the_splitter_of_the_run_made():
    text = "He wrote Symphony No. 1 in 1900. She died in 1910."
    published = split(text, published=True)
    assert len(published) == 3 and len(split(text)) == 2
    fact = AtomicFact(id="g/1.0", text="It was in 1900.", sentence=1)
    model = Scripted("True")
    evidence = Evidence(passages=(Passage(id="p", text="It was in 1900."),))
    verifier = RetrieveVerifier(model, published_sentences=True)
    await verifier.verify([(fact, evidence)], Generation(id="g", text=text))
    assert published[1].text in model.seen[0].messages[-1].content
    assert "She died" not in model.seen[0].messages[-1].content
