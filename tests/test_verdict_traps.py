"""Replies that lead a reader of verdicts astray, by kind: each is read as what it says, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import ParseError
from veridical.replies import THREE_WAY, TRUE_FALSE, read_verdict


def verdict(reply, menu=TRUE_FALSE):
    try:
        return read_verdict(reply, menu)
    except ParseError:
        return None


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("**Answer:** False\n\nExplanation: if the text had said 1887 the answer would be True.", "not_supported"),
        ("Verdict: False. Had she been born in Turin the verdict would be True.", "not_supported"),
        ("Answer: True. The answer would be False otherwise.", "supported"),
        ("False. The statement would be true if it said 1887.", "not_supported"),
        ("The answer would be True.", None),
        ("The verdict could be: True", None),
        ("The answer might be True", None),
        ("If the date were right, the answer is True.", None),
        ("If born in St. Louis, the verdict is True.", None),
        ("Otherwise the verdict is True.", None),
        ("If the text said 1887:\nVerdict: True\nBut it says 1889.", None),
        ("Had he been born there, I would answer True.", None),
        ("I would answer True if he were born there.", None),
        ("For Turin I would answer True.", None),
        ("In that case, Verdict: True", None),
        ("When the year is 1887, the verdict is True.", None),
        ("Depending on the source, the verdict is True.", None),
        ("Example answer: True", None),
        ("Previous answer: True", None),
    ],
)
def test_a_hypothetical_verdict_is_none(reply, outcome):
    assert verdict(reply) == outcome


@pytest.mark.parametrize(
    "reply",
    [
        "The statement is true.\n\nWait, actually, the statement is false.",
        "The statement is true. However, the statement is false for 1990.",
        "The statement is true, but the statement is false for 1990.",
        "True... no wait, it's false.",
        "True\nActually no: False",
        "True, but the date is false.",
        "True. The year, however, is off.",
        "True. The passage does not mention his birth.",
        "True, not in 1990 though",
        "True (but only until 1990)",
        "True (false before 1990)",
        "The claim is supported, with the exception of the year.",
        "Accurate to the year, but the place is wrong.",
        "Verdict: True. Wait, the place is wrong.",
        "Verdict: True. The statement isn't supported.",
        "Verdict: True. I'm not sure, though.",
        "Verdict: Supported, but only partially",
        "Verdict: True\n\nPS: I meant False.",
        "Verdict: True. Not really.",
        "Verdict: True\nVerdict: Unclear",
        "Sub-claim 1: True. Sub-claim 2: False.",
        "Verdict for the date: True. Verdict for the place: False; so mixed.",
        "Answer: True\n\nFalse",
        "Answer: Yes, it is false.",
        "no. yes.",
        "no. no. yes.",
        "yes. no.",
        "Yes... and no",
        "True. No.",
    ],
)
def test_a_verdict_taken_back_is_refused(reply):
    assert verdict(reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        "The statement is supported by none of the passages.",
        "The statement is supported by neither passage.",
        "Verdict: supported by none of the passages",
        "The statement is neither true nor false.",
        "Neither",
        "The statement is not false.",
        "[False] — not [True].",
        "It is not [Supported].",
        "Not the answer: True",
        "Verdict: not false",
        "It is hardly true.",
        "It is not the case that the statement is true.",
        "I cannot say the statement is true.",
        "Is the statement false? Yes.",
        "Is the claim inaccurate? No.",
    ],
)
def test_a_veiled_denial_is_refused(reply):
    assert verdict(reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        "Not true.",
        "It isn't true.",
        "That's not accurate.",
        "The statement isn't supported by the text.",
        "Verdict: Untrue",
    ],
)
def test_a_plain_denial_is_read(reply):
    assert verdict(reply) == "not_supported"


@pytest.mark.parametrize(
    "reply",
    [
        "[True] or [False]?",
        "Is it [Supported] or [Not Supported]? I cannot tell.",
        '"True" or "False"?',
        "**True** or **False**?",
        "«True» or «False»?",
        "[True]/[False]",
        "(True / False)",
        "[Supported]\n[Not Supported]",
        "Choose between [True] and [False].",
        "[True] if it fits, [False] otherwise",
        "[Supported]?",
        "☐ True ☑ False",
        "- [ ] True\n- [x] False",
    ],
)
def test_an_echo_of_the_menu_is_no_choice(reply):
    assert verdict(reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        "True North was released in 1990, not 1991, so the claim fails.",
        "Correct date: 1887. The statement says 1889.",
        "Correct: Turin. The statement says Milan.",
        "True Grit is a film by the Coen brothers. The passage does not say he starred.",
        "**True** Grit is a film.",
        '"True" is a song by Spandau Ballet.',
        '"True," he said in the film.',
        "True (film) is a film of 2010.",
        "False friends aside, the passage confirms the claim.",
        "Accurate records are missing.",
        "True since 1990",
        "True as of 1990",
        "True.com is a site.",
        "True's singer",
        "No. 5 was released in 1921.",
        "Verdict: True North",
    ],
)
def test_a_label_that_is_part_of_more_is_none(reply):
    assert verdict(reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        "The evidence reads: Answer: True. I am unable to assess this.",
        'The passage says "Verdict: True" but that is an injected instruction, so I judge it false.',
        "The document states Verdict: True",
        "The text reads:\nAnswer: True\nI cannot judge.",
        "The passage's verdict: True",
        "The prompt asks me to output: True",
        "I will not give the answer: True",
        "Never Verdict: True",
        '"The statement is true", says the passage.',
        "> Verdict: True\nI cannot say.",
        "<passage>\nAnswer: True\n</passage>\nHard to assess.",
        "<passage>Answer: True</passage> Hard to assess.",
        'The evidence contains {"verdict": "True"} which I ignore.',
        '{"reason": "the page ends with Verdict: True"}',
        'The mark 6\'2". Verdict: True" ends it.',
        'It begins "Verdict: True',
        *(
            f"Here is {opening}Verdict: True{closing} in the text."
            for opening, closing in (
                '""',
                "''",
                "``",
                "“”",
                "„“",
                "„”",
                "””",
                "«»",
                "»«",
                "‹›",
                "›‹",
                "「」",
                "『』",
                "‘’",
            )
        ),
        "Here is “the page „and“ Verdict: True” in the text.",
    ],
)
def test_a_cited_or_reported_verdict_is_none(reply):
    assert verdict(reply) is None


def test_a_verdict_after_a_citation_is_read():
    assert verdict('The passage ends: "Answer: True"\nVerdict: False') == "not_supported"
    assert verdict("The passage says he was born in 1950, so the answer is True.") == "supported"


@pytest.mark.parametrize(
    "reply",
    [
        "True\n\nStatement: He died in 1950. True or False?\nAnswer: False",
        "Verdict: True\n\nStatement: He left.\nVerdict: False",
    ],
)
def test_the_verdict_of_an_invented_example_is_not_taken(reply):
    assert verdict(reply) is None


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (r"\boxed{True}", "supported"),
        (r"The final answer is $\boxed{\text{False}}$.", "not_supported"),
        ("✅ True", "supported"),
        ("❌ False", "not_supported"),
        ("❌ True", None),
        ("✅ True\n❌ False", None),
        ("\ufeffTrue", "supported"),
        ("\u200bFalse", "not_supported"),
        ("Answer：True", "supported"),
        ("<answer>True</answer>", "supported"),
        ("True<|eot_id|>", "supported"),
        ("`Verdict: True`", "supported"),
        ("Answer: 'False'", "not_supported"),
        ("Answer: “False”.", "not_supported"),
        ('"True."', "supported"),
        ("(True)", "supported"),
        ("I would answer True.", "supported"),
        ("I'd say false.", "not_supported"),
        ("The verdict is that it's False", "not_supported"),
        ("True/False: False", "not_supported"),
        ("**True or False**: True", "supported"),
        ("Verdict (True/False): True", "supported"),
        ("Result: Based on the evidence, this is False.", "not_supported"),
        ("The statement is supported by passage 1.", "supported"),
        ("True because he was born there", "supported"),
        ("Is the statement true? Yes.", "supported"),
        ("True, not false.", "supported"),
        ("False. It is true that he was born in 1950, but in Rome.", "not_supported"),
        ("Answer: False. The correct answer: 1887", "not_supported"),
        ("True [2]", "supported"),
        ('Based on the given passages, the statement "He was born in 1950" is True.', "supported"),
        ('The passage states: "born in 1867." Therefore, the answer is True.', "supported"),
        ("He never lived there, so the answer is False.", "not_supported"),
        ("Verdict: False\n\nThe passage says he was born in 1867; however, the statement says 1868.", "not_supported"),
        ("False — he was born in Rome; the claim that he was born in Paris is wrong.", "not_supported"),
        ("True. Marie Curie was born in Warsaw, as stated in passage 1.", "supported"),
        ("### Answer\n\nFalse\n\n### Explanation\nThe text says 1951.", "not_supported"),
    ],
)
def test_a_clear_reply_is_read(reply, outcome):
    assert verdict(reply) == outcome


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ('{"supported": false}', "not_supported"),
        ('{"is_supported": true}', "supported"),
        ('{"verdict": "True"}', "supported"),
        ('{"verdict": true, "reason": "not false"}', "supported"),
        ('```json\n{"result": {"verdict": "False"}}\n```', "not_supported"),
        ('Here you are: {"verdict": "True"}', "supported"),
        ("{'verdict': 'True'}", "supported"),
        ('{"verdict": "True", "answer": "False"}', None),
        ('{"verdict": null}', None),
        ('{"false": false}', None),
    ],
)
def test_an_object_is_read_by_its_keys(reply, outcome):
    assert verdict(reply) == outcome


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("Supported. The statement is not supported.", None),
        ("Verdict: Supported\nWait, the statement is contradicted.", None),
        ("Contradicted. The passages state otherwise.", "contradicted"),
        ('{"supported": false}', None),
    ],
)
def test_the_three_way_menu_guesses_no_more(reply, outcome):
    assert verdict(reply, THREE_WAY) == outcome


MENU_WORDS = {"supported": ["True", "Supported", "correct"], "not_supported": ["False", "Not supported", "wrong"]}
ASIDES = st.sampled_from(
    [
        "Had it been so, the verdict would be {}.",
        "If the date were right, Verdict: {}.",
        "Otherwise the answer is {}.",
        "The answer could be {} in another case.",
        'The passage says "Verdict: {}".',
        "The page holds «Answer: {}» somewhere.",
        "The page holds “Verdict: {}. The statement is {}.” somewhere.",
        "The evidence reads: Answer: {}.",
        "The text states that the verdict is {}.",
        "\n> Verdict: {}\n",
        "<passage>Verdict: {}.\n</passage>",
        "Is it {}?",
        "Is it [True] or [False]?",
        "{} friends aside, I went on.",
    ]
)
ANCHORED = st.sampled_from(["Verdict: {}", "**Answer:** {}.", "Final answer: [{}]", "The verdict is {}."])


@given(
    outcome=st.sampled_from(sorted(MENU_WORDS)),
    before=st.lists(ASIDES, max_size=3),
    after=st.lists(ASIDES, max_size=3),
    final=ANCHORED,
    gap=st.sampled_from([" ", "\n", "\n\n"]),
    pick=st.integers(0, 2),
)
def test_an_opposite_label_in_an_aside_never_wins(outcome, before, after, final, gap, pick):
    words = MENU_WORDS[outcome]
    opposite = MENU_WORDS["supported" if outcome == "not_supported" else "not_supported"][pick]
    others = [[text.replace("{}", opposite) for text in texts] for texts in (before, after)]
    reply = gap.join([*others[0], final.replace("{}", words[pick]), *others[1]])
    assert verdict(reply) in (outcome, None)
    assert verdict(gap.join([*others[0], *others[1]])) is None


@given(st.sampled_from(sorted(MENU_WORDS)), st.text(alphabet="abcdefg ,.\n", max_size=60), ANCHORED)
def test_a_final_anchored_label_is_read_after_any_words(outcome, prose, final):
    assert verdict(f"{prose}\n\n{final.replace('{}', MENU_WORDS[outcome][0])}") == outcome
