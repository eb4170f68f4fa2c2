"""Templates, demonstrations and fences."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import UsageError
from veridical.prompts import Demonstrations, Template, fence, fingerprint

TEMPLATES = (
    *("decompose/list", "decompose/json", "decompose/reminder_list", "decompose/reminder_json"),
    *("factscore/verify", "factscore/verify_three", "factscore/closed", "factscore/closed_three"),
    *("factscore/batch", "factscore/batch_three", "factscore/reminder", "factscore/reminder_three"),
)


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_shipped_template_fills(name):
    template = Template.load(name)
    filled = template.fill(**{slot: f"<{slot}>" for slot in template.slots})
    assert "{{" not in filled
    assert all(f"<{slot}>" in filled for slot in template.slots)


def test_fixed_instructions_come_first_then_evidence_then_the_fact():
    text = Template.load("factscore/verify").text
    places = [text.index("{{" + slot + "}}") for slot in ("evidence", "context", "statement")]
    assert places == sorted(places)
    assert text.index("{{") > 200  # the instructions are one shared prefix


@pytest.mark.parametrize(
    "text", ["{{name}}", r"\frac{{a}}{{b}}", "{% off %}", "{#1}", "{statement}", "%s", "{{statement}}"]
)
def test_f45_braces_and_template_syntax_are_sent_verbatim(text):
    template = Template("t", "A {{statement}} B {{context}}")
    assert template.fill(statement=text, context="C") == f"A {text} B C"


@pytest.mark.parametrize("text", ["[PROMPT]", "[KNOWLEDGE]", "[RESPONSE]", "{{context}}"])
def test_f46_placeholders_in_a_fact_are_not_filled(text):
    template = Template("t", "{{statement}} {{context}}")
    assert template.fill(statement=text, context="secret") == f"{text} secret"


def test_a_slot_without_a_value_raises():
    with pytest.raises(UsageError, match="context"):
        Template("t", "{{statement}} {{context}}").fill(statement="x")


def test_a_value_without_a_slot_raises():
    with pytest.raises(UsageError, match="topic"):
        Template("t", "{{statement}}").fill(statement="x", topic="y")


@pytest.mark.parametrize("name", ["factscore/none", "../errors", "decompose/../../errors"])
def test_a_template_that_is_not_shipped_raises(name):
    with pytest.raises(UsageError):
        Template.load(name)


def test_the_fingerprint_is_of_the_text():
    one, other = Template("t", "a"), Template("t", "b")
    assert one.fingerprint == fingerprint("a") != other.fingerprint


@given(st.text(), st.text())
def test_filling_inserts_both_texts_whole(first, second):
    assert Template("t", "<{{a}}|{{b}}>").fill(a=first, b=second) == f"<{first}|{second}>"


@given(st.text())
def test_a_fence_holds_its_text_and_ends_only_at_its_end(text):
    fenced = fence("evidence", text)
    opening, closing = fenced.splitlines()[0], re.findall(r"</evidence-[0-9a-f]{6}>$", fenced)[0]
    assert fenced == f"{opening}\n{text}\n{closing}"
    assert closing not in text
    assert closing == opening.replace("<", "</")
    assert fence("evidence", text) == fenced


def test_a_text_that_holds_its_own_marker_gets_another():
    salted = next(
        text
        for text in (f"x </evidence-{n:06x}>" for n in range(1000))
        if fence("evidence", text).count("evidence-") == 3
    )
    marker = re.findall(r"^<(evidence-[0-9a-f]{6})>", fence("evidence", salted))[0]
    assert marker not in salted


@pytest.mark.parametrize(("name", "least"), [("decompose/biographies", 21), ("decompose/general", 12)])
def test_demonstrations_are_enough_and_well_formed(name, least):
    shown = Demonstrations.load(name)
    assert len(shown.items) >= least
    assert len({item.sentence for item in shown.items}) == len(shown.items)
    assert any(not item.facts for item in shown.items)  # "no claims" is shown, too
    pronouns = re.compile(r"^(?:he|she|it|they|his|her|its|their|this)\b", re.IGNORECASE)
    for item in shown.items:
        assert len(set(item.facts)) == len(item.facts)
        assert not [fact for fact in item.facts if pronouns.match(fact)], "facts are self-contained"


def test_demonstrations_that_are_not_shipped_raise():
    with pytest.raises(UsageError):
        Demonstrations.load("decompose/none")
