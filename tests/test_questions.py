"""Question-answering prompting: reading its replies, comparing answers, and the judge made of both."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from script import cut, last_block
from veridical.errors import FatalError, ModelError, ParseError, UsageError
from veridical.models.base import ChatReply, TokenLogprob
from veridical.models.cache import Cached, CallStore
from veridical.models.scripted import Scripted
from veridical.prompts import Template
from veridical.questions import QAVerifier
from veridical.replies.questions import read_answer, read_question
from veridical.signature import sign
from veridical.text.same import occurs, same
from veridical.types import AtomicFact, Evidence, Failure, Generation, Label, Passage

GENERATION = Generation(id="g", text="Ana ran the mill. She sold it in 1932.", topic="Ana Brandt")
MILL = Passage(id="p1", title="Mill", text="The mill stood in Turin. Brandt sold the mill in 1932.", score=2.0)
RIVER = Passage(id="p2", title="River", text="The river is long.", score=1.0)
SUPPORTED, NOT_ENOUGH = Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE
FACT = "Ana Brandt sold the mill in 1932."
WHEN = ("When did Ana Brandt sell the mill?", "1932")

# --- a question and its answer


@pytest.mark.parametrize(
    "reply",
    [
        "Question: {q}\nAnswer: {a}",
        "question: {q}\n\nanswer: {a}\n",
        "**Question:** {q}\n**Answer:** {a}",
        "**Question**: {q}\n**Answer**: {a}",
        "Q: {q}\nA: {a}",
        "Q1: {q}\nA1: {a}",
        "1. Question: {q}\n2. Answer: {a}",
        "- Question: {q}\n- Expected answer: {a}",
        "Question:\n{q}\nAnswer:\n{a}",
        "Question: {q} Answer: {a}",
        "Question: {q} | Answer: {a}",
        "Q: {q} A: {a}",
        'Question: "{q}"\nAnswer: "{a}"',
        "Question: {q}\nAnswer: `{a}`",
        "{q}\n{a}",
        "{q}\nAnswer: {a}",
        "Here it is:\n{q}\n**Answer:** {a}",
        "Here you are.\n\nQuestion: {q}\nAnswer: {a}\n\nThis asks for the year.",
        "Question: {q}\nAnswer: {a}\n\nQuestion: Who ran it?\nAnswer: Ana",
        "```\nQuestion: {q}\nAnswer: {a}\n```",
        "<think>Question: Who?\nAnswer: Ana</think>\nQuestion: {q}\nAnswer: {a}",
        '{{"question": "{q}", "answer": "{a}"}}',
        '{{"Question": "{q}", "expected_answer": "{a}"}}',
        '{{"question": "{q}", "answer": {a}}}',
        '```json\n{{"question": "{q}", "answer": "{a}",}}\n```',
        'Sure: {{"q": "{q}", "a": "{a}"}}',
        '[{{"question": "{q}", "answer": "{a}"}}, {{"question": "Who?", "answer": "Ana"}}]',
        "问题 Question： {q}\nQuestion： {q}\nAnswer： {a}",
    ],
)
def test_shapes_of_a_question_with_its_answer(reply):
    assert read_question(reply.format(q=WHEN[0], a=WHEN[1])) == WHEN


def test_a_question_over_two_lines_is_one():
    assert read_question("Question: When did Ana Brandt\nsell the mill?\nAnswer: 1932") == WHEN


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot do that.",
        "Question: When?",
        "Question: When?\nAnswer:",
        "Answer: 1932",
        "Answer: 1932\nQuestion: When?",
        "Question: " + "no end\n" * 20_000 + "Answer: 1932",
        "Question: ???\nAnswer: 1932",
        "Question: When?\nAnswer: N/A",
        "Question: When?\nAnswer: ...",
        '{"question": "When?"}',
        '{"question": "When?", "answer": null}',
        '{"question": "When?", "answer": true}',
        '{"question": ["When?"], "answer": ["1932"]}',
        "[]",
        "When?\nWhere?\nTurin",
        "<think>Question: When?\nAnswer: 1932",
    ],
)
def test_what_is_no_question_with_an_answer_is_refused_whole(reply):
    with pytest.raises(ParseError) as caught:
        read_question(reply)
    assert caught.value.reply == reply


noise = st.text(max_size=60) | st.text(alphabet="QuestionAnswer:?*{}[]\"'`\n -•1.", max_size=80)


@given(noise)
def test_any_reply_is_a_pair_that_says_something_or_a_parse_error(reply):
    try:
        question, expected = read_question(reply)
    except ParseError as error:
        assert error.reply == reply
    else:
        assert any(map(str.isalnum, question)) and any(map(str.isalnum, expected))
    try:
        found = read_answer(reply)
    except ParseError as error:
        assert error.reply == reply
    else:
        assert found is None or any(map(str.isalnum, found))


words = st.lists(st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8), min_size=1, max_size=6).map(
    " ".join
)


@given(
    words, words, st.sampled_from(["Question: {}?\nAnswer: {}", "**Q:** {}?\n**A:** {}", "- Question: {}? Answer: {}"])
)
def test_what_is_written_in_a_shape_is_read_from_it(question, expected, shape):
    try:
        assert read_question(shape.format(question, expected)) == (f"{question}?", expected)
    except ParseError:
        assert expected.strip().lower() in ("n/a", "na", "none", "null", "nil") or not any(map(str.isalnum, expected))


@pytest.mark.parametrize(
    "reply", ["Question: " * 20_000, "A " * 50_000 + ":", "*" * 100_000, '{"q": ' * 20_000, " " * 100_000]
)
def test_long_replies_are_read_or_refused(reply):
    with pytest.raises(ParseError):
        read_question(reply)


# --- an answer


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Answer: 1932", "1932"),
        ("1932", "1932"),
        ("**Answer:** 1932", "1932"),
        ("A: 1932", "1932"),
        ("Answer:\n1932", "1932"),
        ("Final answer: 1932", "1932"),
        ("Passage 1 says 1931, passage 2 corrects it.\nAnswer: 1932", "1932"),
        ("Answer: 1931\nAnswer: 1932", "1932"),
        ("Answer: 1932\nQuestion: Who ran it?\nAnswer: Ana", "1932"),
        ('"1932"', "1932"),
        ('{"answer": "1932"}', "1932"),
        ('{"answer": 1932}', "1932"),
        ("<think>1931? No.</think>Answer: 1932", "1932"),
        ("She sold it\nin 1932.", "She sold it in 1932."),
        ("Unknown Mortal Orchestra", "Unknown Mortal Orchestra"),
        ("None", "None"),
        ("Answer: unknown", None),
        ("Unknown.", None),
        ("**unknown**", None),
        ("Answer: unknown (the passages do not say)", None),
        ("Answer: Unknown; she may have sold it in 1932", None),
        ("The passages do not say when she sold it.", None),
        ("The evidence doesn’t mention it.", None),
        ("It is not stated.", None),
        ("Not mentioned in the passages", None),
        ("I don't know.", None),
        ("It cannot be determined.", None),
        ("There is no information about that.", None),
        ("Answer: N/A", None),
        ('{"answer": null}', None),
        ('{"answer": "unknown"}', None),
    ],
)
def test_shapes_of_an_answer(reply, said):
    assert read_answer(reply) == said


@pytest.mark.parametrize(
    "reply", ["", "Answer:", "…", '{"reply": "1932"}x' * 40, "Well, that is a long story. " * 20, "<think>1932"]
)
def test_what_holds_no_answer_is_refused(reply):
    with pytest.raises(ParseError):
        read_answer(reply)


# --- equal answers


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1932", "1932."),
        ("the Mill", "mill"),
        ("Łódź", "lodz"),
        ("O’Brien", "O'Brien"),
        ("1,200", "1200"),
        ("twelve hundred", "1200"),
        ("twenty-one", "21"),
        ("three medals", "3 medals"),
        ("3.5 million", "3,500,000"),
        ("March 31, 1942", "31 March 1942"),
        ("31st of March 1942", "1942-03-31"),
        ("Mar. 1942", "March 1942"),
        ("5 %", "5%"),
        ("1932年", "1932年"),
    ],
)
def test_answers_that_are_written_otherwise_are_the_same(one, other):
    assert same(one, other) and same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1932", "1933"),
        ("-5", "5"),
        ("5%", "5"),
        ("$5", "€5"),
        ("C++", "C"),
        ("C#", "C"),
        ("first", "one"),
        ("21st", "21"),
        ("3 of 4", "4 of 3"),
        ("March 1942", "1942"),
        ("31 March 1942", "30 March 1942"),
        ("Ana Brandt", "Brandt"),
        ("not in Turin", "in Turin"),
        ("3/4", "3 4"),
        ("from 1990 to 1995", "from 1995 to 1990"),
        ("", ""),
        ("?", "!"),
    ],
)
def test_answers_that_may_differ_are_left_to_the_model(one, other):
    assert not same(one, other) and not same(other, one)


@given(st.text(max_size=30), st.text(max_size=30))
def test_same_is_symmetric(one, other):
    assert same(one, other) == same(other, one)
    assert same(one, one) or not any(map(str.isalnum, one))


def test_words_in_a_row_occur():
    assert occurs("1932", FACT) and occurs("the Mill", FACT) and occurs("three", "She won 3 medals.")
    assert not occurs("93", FACT) and not occurs("Brandt mill", FACT) and not occurs("", FACT)
    assert occurs("1990", "張三生於1990年。")


# --- the judge


def fact(text, n=0):
    return AtomicFact(id=f"g/1.{n}", text=text, sentence=1)


class Steps:
    """A model that asks `question`, gives `answer` to it and `compares`, and counts what it was asked."""

    def __init__(
        self, question="Question: When did Ana Brandt sell the mill?\nAnswer: 1932", answer="1932", compares="True"
    ):
        self.replies = {"ask": question, "answer": answer, "compare": compares}
        self.steps = []
        self.model = Scripted(self.reply)

    def reply(self, request):
        first = request.messages[0].content
        step = (
            "compare"
            if "<expected-" in first
            else "ask"
            if "<statement-" in first.split("\n\n{{", 1)[0] and "You write" in first
            else "answer"
        )
        self.steps.append(step)
        reply = self.replies[step]
        reply = reply(request) if callable(reply) else reply
        if isinstance(reply, list):
            reply = reply.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def judge(self, text=FACT, passages=(MILL, RIVER), **settings):
        case = (fact(text), Evidence(passages=tuple(passages)))
        [outcome] = await QAVerifier(self.model, **settings).verify([case], GENERATION)
        return outcome

    def prompts(self, step):
        return [r for r, kind in zip(self.model.seen, self.steps, strict=True) if kind == step]


async def test_equal_answers_support_without_a_comparison():
    steps = Steps(answer="Answer: in 1932")
    steps.replies["ask"] = "Question: When did Ana Brandt sell the mill?\nAnswer: in 1932"
    verdict = await steps.judge()
    assert (verdict.label, verdict.mode, verdict.judge, verdict.probability) == (SUPPORTED, "equal", "scripted", None)
    assert steps.steps == ["ask", "answer"]
    assert verdict.rationale == "Q: When did Ana Brandt sell the mill? Expected: in 1932 Answered: in 1932"
    [quote] = verdict.quotes
    assert MILL.text[quote.start : quote.end] == "Brandt sold the mill in 1932."


@pytest.mark.parametrize(("reply", "label"), [("True", SUPPORTED), ("False", NOT_ENOUGH)])
async def test_other_answers_are_compared(reply, label):
    steps = Steps(answer="Answer: early in 1932", compares=reply)
    verdict = await steps.judge()
    assert (verdict.label, verdict.mode) == (label, "text")
    [request] = steps.prompts("compare")
    blocks = {name: last_block(request, name) for name in ("question", "expected", "given")}
    assert blocks == {"question": WHEN[0], "expected": "1932", "given": "early in 1932"}


@pytest.mark.parametrize(
    ("reply", "label"),
    [("Supported", SUPPORTED), ("Contradicted", Label.CONTRADICTED), ("Not enough evidence", NOT_ENOUGH)],
)
async def test_three_choices_tell_other_answers_from_answers_that_exclude_it(reply, label):
    steps = Steps(answer="1940", compares=reply)
    assert (await steps.judge(choices="three")).label is label
    assert "at most one can be right" in steps.prompts("compare")[0].messages[0].content


async def test_unknown_is_not_enough_evidence_without_a_comparison():
    steps = Steps(answer="Answer: unknown")
    verdict = await steps.judge(choices="three")
    assert (verdict.label, verdict.mode) == (NOT_ENOUGH, "unknown")
    assert verdict.rationale.endswith("Expected: 1932 Answered: unknown")
    assert steps.steps == ["ask", "answer"]


async def test_the_comparison_is_read_by_its_probability():
    token = TokenLogprob(token="False", logprob=-0.1, top=(("False", -0.1), ("True", -2.4)))
    steps = Steps(answer="1940", compares=ChatReply(text="False", logprobs=(token,)))
    verdict = await steps.judge(mode="logprobs")
    assert (verdict.label, verdict.mode) == (NOT_ENOUGH, "logprobs")
    assert verdict.probability == pytest.approx(0.0911, abs=1e-3)
    assert [bool(request.top_logprobs) for request in steps.model.seen] == [False, False, True]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("I cannot.", "no question with an expected answer"),
        ("Question: Did Ana sell it?\nAnswer: yes", "not a part of the fact"),
        ("Question: When was it?\nAnswer: 1933", "not a part of the fact"),
        (f"Question: What is so?\nAnswer: {FACT}", "not a part of the fact"),
        ("Question: Where did she sell it?\nAnswer: in", "not a part of the fact"),
        ("Question: What was in 1932?\nAnswer: 1932", "gives its answer away"),
    ],
)
async def test_an_unusable_question_is_asked_for_again_once_and_then_fails(bad, words):
    steps = Steps(question=[bad, "Question: When did Ana Brandt sell the mill?\nAnswer: 1932"])
    assert (await steps.judge()).label is SUPPORTED
    assert [message.role for message in steps.prompts("ask")[1].messages] == ["user", "assistant", "user"]
    steps = Steps(question=bad)
    failed = await steps.judge()
    assert (failed.stage, failed.error, failed.reply) == ("verify", "ParseError", bad)
    assert failed.message.startswith("making a question: ") and words in failed.message
    assert steps.steps == ["ask", "ask"]


@pytest.mark.parametrize("step", ["ask", "answer", "compare"])
async def test_p1_trouble_at_any_step_is_a_failure_of_its_fact_alone(step):
    names = {"ask": "making a question", "answer": "answering", "compare": "comparing the answers"}
    steps = Steps(answer="1940")
    fine = steps.replies[step]
    outage = ModelError("500 after all retries")
    steps.replies[step] = lambda request: outage if "1932" in request.messages[0].content or step == "answer" else fine
    failed = await steps.judge()
    assert (failed.error, failed.message) == ("ModelError", f"{names[step]}: 500 after all retries")


async def test_facts_fail_alone():
    def question(request):
        text = last_block(request, "statement")
        return ModelError("outage") if "mill" in text else "Question: What is long?\nAnswer: river"

    steps = Steps(question=question, answer="the river")
    cases = [(fact(text, n), Evidence(passages=(RIVER,))) for n, text in enumerate([FACT, "The river is long."])]
    failed, judged = await QAVerifier(steps.model).verify(cases, GENERATION)
    assert isinstance(failed, Failure)
    assert judged.label is SUPPORTED


@pytest.mark.parametrize("step", ["answer", "compare"])
async def test_f33_what_never_parses_is_a_failure_with_its_reply(step):
    long = "Hard to say, really. " * 30
    steps = Steps(**{"answer": "1940"} | {"answer" if step == "answer" else "compares": long})
    failed = await steps.judge()
    assert (failed.error, failed.reply) == ("ParseError", long)
    assert steps.steps.count(step) == 2


@pytest.mark.parametrize("step", ["ask", "answer"])
async def test_a_cut_reply_is_not_read(step):
    steps = Steps()
    whole = steps.replies[step]
    steps.replies[step] = lambda request: whole if request.max_tokens > 512 else cut(whole)
    assert (await steps.judge()).label is SUPPORTED
    assert [request.max_tokens for request in steps.prompts(step)] == [512, 1024]


async def test_a_fatal_error_stops_everything():
    with pytest.raises(ExceptionGroup) as caught:
        await Steps(answer=FatalError("bad key")).judge()
    assert caught.group_contains(FatalError)


async def test_the_question_is_answered_without_sight_of_fact_and_sentence():
    steps = Steps()
    await steps.judge()
    assert last_block(steps.prompts("ask")[0], "context") == "Topic: Ana Brandt\nTaken from: She sold it in 1932."
    [request] = steps.prompts("answer")
    assert last_block(request, "context") == "Topic: Ana Brandt"
    assert "<statement" not in request.messages[0].content
    titles = re.findall(r"^Title: (.*)$", last_block(request, "evidence"), re.MULTILINE)
    assert titles == ["River", "Mill"]  # the best passage next to the question


@pytest.mark.parametrize("texts", [[], [" "]])
@pytest.mark.parametrize("evidence", ["passages", "samples"])
async def test_f38_blank_evidence_is_no_evidence_and_the_model_is_not_asked(texts, evidence):
    steps = Steps()
    verdict = await steps.judge(passages=[Passage(id="p", text=text) for text in texts], evidence=evidence)
    assert (verdict.label, verdict.mode, steps.steps) == (NOT_ENOUGH, "no evidence", [])


async def test_no_context_answers_from_memory():
    steps = Steps()
    verdict = await steps.judge(evidence="none")
    assert (verdict.label, verdict.quotes) == (SUPPORTED, ())
    assert "<evidence-" not in steps.prompts("answer")[0].messages[0].content
    assert MILL.text not in steps.prompts("answer")[0].messages[0].content


async def test_samples_each_answer_the_one_question_and_the_majority_decides():
    def answered(request):
        return last_block(request, "evidence")

    said = [Passage(id=f"sample/{n}", text=text) for n, text in enumerate(["1932", "unknown", "in the year 1932"], 1)]
    steps = Steps(answer=answered, compares="True")
    verdict = await steps.judge(passages=said, evidence="samples")
    assert (verdict.label, verdict.mode, verdict.probability) == (SUPPORTED, "votes", pytest.approx(2 / 3))
    assert [(vote.judge, vote.label) for vote in verdict.votes] == [
        ("sample/1", SUPPORTED), ("sample/2", NOT_ENOUGH), ("sample/3", SUPPORTED),
    ]  # fmt: skip
    assert sorted(steps.steps) == ["answer"] * 3 + ["ask", "compare"]
    assert "sample/2: Q: When did Ana Brandt sell the mill? Expected: 1932 Answered: unknown" in verdict.rationale


async def test_a_sample_that_fails_leaves_its_vote_open():
    steps = Steps(answer=[ModelError("outage"), "1932"])
    said = [Passage(id=f"sample/{n}", text="Ana.") for n in (1, 2)]
    failed = await steps.judge(passages=said, evidence="samples")
    assert failed.message.startswith("1 of 2 samples failed and could turn the vote; the first: answering: outage")


@pytest.mark.parametrize("text", ["{{evidence}}", r"\frac{{a}}{{b}}", "{% off %}", "[KNOWLEDGE]", "</statement>"])
async def test_f45_f46_hostile_texts_are_shown_verbatim(text):
    steps = Steps(
        question=f"Question: What is {text} not?\nAnswer: Ana", answer=f"Answer: Bob {text}", compares="False"
    )
    await steps.judge(f"{text} is Ana.", passages=[Passage(id="p", text=text)])
    assert last_block(steps.prompts("ask")[0], "statement") == f"{text} is Ana."
    assert last_block(steps.prompts("answer")[0], "evidence") == text
    [request] = steps.prompts("compare")
    assert last_block(request, "question") == f"What is {text} not?"
    assert last_block(request, "given") == f"Bob {text}"


@pytest.mark.parametrize(
    "wrong", [{"evidence": "memory"}, {"order": "random"}, {"mode": "odd"}, {"choices": "three", "mode": "logprobs"}]
)
def test_settings_that_do_not_exist(wrong):
    with pytest.raises(UsageError):
        QAVerifier(Scripted(""), **wrong)


async def test_a_resumed_run_asks_nothing_twice(tmp_path):
    for time in range(2):
        store = CallStore(tmp_path / "calls.sqlite")
        steps = Steps(answer="1940")
        case = (fact(FACT), Evidence(passages=(MILL,)))
        [verdict] = await QAVerifier(Cached(steps.model, store)).verify([case], GENERATION)
        assert verdict.label is SUPPORTED
        assert len(steps.steps) == (3 if time == 0 else 0)
        store.close()


NAMES = (
    "ask",
    "again",
    "answer",
    "answer_closed",
    "answer_again",
    "compare",
    "compare_three",
    "reminder",
    "reminder_three",
)


@pytest.mark.parametrize("name", [f"questions/{name}" for name in NAMES])
def test_every_template_fills(name):
    template = Template.load(name)
    filled = template.fill(**{slot: f"<{slot}>" for slot in template.slots})
    assert all(f"<{slot}>" in filled for slot in template.slots) and "{{" not in filled


def test_every_setting_is_signed():
    from dataclasses import make_dataclass

    made = make_dataclass("Whole", [("name", str), ("verifier", object)])("whole", QAVerifier(Scripted("")))
    fields = sign(made).fields
    assert fields["verifier"] == "questions(scripted)"
    signed = ("evidence", "order", "max_evidence_tokens", "asking", "again", "answering", "answer_again", "template")
    assert {f"verifier.{name}" for name in signed} <= fields.keys()
