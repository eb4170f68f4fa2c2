"""Facts rewritten so that they stand alone."""

import pytest

from script import cut, last_block
from veridical.clauses import ClauseDecomposer
from veridical.decompose import GivenFacts
from veridical.errors import FatalError, ModelError
from veridical.models.scripted import Scripted
from veridical.safe.revise import Revised, everything, objection
from veridical.signature import sign
from veridical.text.sentences import split
from veridical.types import AtomicFact, Decomposition, Failure, Generation, GivenFact, SentenceFailure, Skipped

TEXT = "Ana Brandt was born in Turin in 1932. She ran the mill. Brandt did not sell it."
GENERATION = Generation(
    id="g",
    text=TEXT,
    prompt="Who was Ana Brandt of Lanciano?",
    facts=tuple(GivenFact(text=text) for text in ("She ran the mill.", "Brandt did not sell it.")),
)


def block(text):
    return f"Some reasons.\n```\n{text}\n```"


async def revised(answer, *texts, generation=GENERATION, **settings):
    """The facts with these wordings, rewritten by this script, and the model."""
    if texts:
        facts = tuple(text if isinstance(text, GivenFact) else GivenFact(text=text) for text in texts)
        generation = Generation(id="g", text=generation.text, prompt=generation.prompt, facts=facts)
    model = Scripted(answer)
    found = await Revised(GivenFacts(), model, **settings).decompose(generation, split(generation.text))
    return found.facts, model


async def test_each_fact_is_rewritten_in_one_call_that_shows_fact_and_response():
    wanted = {
        "She ran the mill.": "Ana Brandt ran the mill.",
        "Brandt did not sell it.": "Brandt did not sell the mill.",
    }
    facts, model = await revised(lambda request: block(wanted[last_block(request, "statement")]))
    assert [fact.text for fact in facts] == list(wanted.values())
    assert [fact.original for fact in facts] == list(wanted)
    assert [fact.flags for fact in facts] == [(), ()]
    assert len(model.seen) == 2
    assert all(last_block(request, "response") == TEXT for request in model.seen)
    assert "Lanciano" in last_block(model.seen[0], "context")


async def test_the_response_alone_is_shown_where_wanted():
    _, model = await revised(block("Ana Brandt ran the mill."), "She ran the mill.", context=False)
    assert "Lanciano" not in model.seen[0].messages[0].content


async def test_f34_the_one_word_line_of_a_fence_is_not_taken_for_the_statement():
    generation = Generation(id="g", text="Acorns is a company.", prompt="What is Acorns?")
    facts, _ = await revised("```Acorns\nAcorns is a company.\n```", "It is a company.", generation=generation)
    assert (facts[0].text, facts[0].original) == ("Acorns is a company.", "It is a company.")


async def test_f34_an_unreadable_rewrite_keeps_the_fact_and_says_so():
    facts, model = await revised("I would rather not.", "She ran the mill.")
    assert facts[0].text == "She ran the mill."
    assert facts[0].original is None
    assert facts[0].flags == ("not revised: no statement in a fenced block",)
    assert len(model.seen) == 2  # f33: 1 + retries


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_f33_calls_are_bounded(retries):
    _, model = await revised("no block", "She ran the mill.", retries=retries)
    assert len(model.seen) == 1 + retries


async def test_a_cut_reply_is_asked_for_with_more_room():
    facts, model = await revised([cut("```\nAna Brandt ran"), block("Ana Brandt ran the mill.")], "She ran the mill.")
    assert facts[0].text == "Ana Brandt ran the mill."
    assert [request.max_tokens for request in model.seen] == [512, 1024]


async def test_a_call_that_fails_keeps_the_fact_and_says_so():
    facts, _ = await revised([ModelError("filtered")], "She ran the mill.")
    assert (facts[0].text, facts[0].flags) == ("She ran the mill.", ("not revised: filtered",))


async def test_what_stops_a_run_is_not_held_up():
    with pytest.raises(BaseExceptionGroup) as caught:
        await revised([FatalError("no credit")], "She ran the mill.")
    assert caught.group_contains(FatalError)


@pytest.mark.parametrize(
    ("rewrite", "why"),
    [
        ("Ana Brandt ran the mill in 1987.", "1987"),
        ("Ana Brandt of Genoa ran the mill.", "Genoa"),
        ("Ana Brandt did not run the mill.", "negation"),
        ("Turin was bombed.", "another statement"),
        ("I cannot do that.", "negation"),
        ("Ana Brandt ran the mill. " + "She was born in Turin in 1932. " * 5, "another statement"),
    ],
)
async def test_a_rewrite_that_is_another_claim_is_not_taken(rewrite, why):
    facts, model = await revised(block(rewrite.strip()), "She ran the mill.")
    assert facts[0].text == "She ran the mill."
    assert len(facts[0].flags) == 1
    assert facts[0].flags[0].startswith("not revised: the rewrite ")
    assert why in facts[0].flags[0]
    assert len(model.seen) == 1  # readable, so not asked for again


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("She ran the mill.", "Ana Brandt ran the mill."),
        ("She was born in 1932.", "Ana Brandt was born in 1932."),
        ("She came from there.", "Ana Brandt came from Lanciano."),  # a name of the prompt
        ("Brandt did not sell it.", "Ana Brandt didn't sell the mill."),
        ("She was born in Turin.", "Ana Brandt was born in Turin in 1932."),  # said elsewhere: cannot be told
    ],
)
def test_a_rewrite_out_of_the_response_is_taken(before, after):
    assert objection(before, after, everything(GENERATION)) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("She was born in 1932.", "Ana Brandt was born in Turin."),
        ("Brandt did not sell it.", "Ana Brandt did sell the mill."),
        ("She was born in 1932.", "Ana Brandt was born in 1923."),
    ],
)
def test_a_rewrite_that_loses_or_alters_a_claim_is_not(before, after):
    assert objection(before, after, everything(GENERATION))


async def test_an_unchanged_fact_has_no_original():
    facts, _ = await revised(block("ana brandt  ran the mill."), "Ana Brandt ran the mill.")
    assert (facts[0].text, facts[0].original, facts[0].flags) == ("Ana Brandt ran the mill.", None, ())


async def test_facts_that_become_equal_are_counted_once():
    texts = ("She ran the mill.", "Brandt ran the mill.", "She was born in Turin.")

    def script(request):
        ran = " ran " in last_block(request, "statement")
        return block("Ana Brandt ran the mill." if ran else texts[2])

    facts, _ = await revised(script, *texts)
    assert [(fact.text, fact.repeats) for fact in facts if "ran" in fact.text] == [("Ana Brandt ran the mill.", 1)]
    apart, _ = await revised(script, *texts, merge=False)
    assert len(apart) == 3
    assert len({fact.id for fact in apart}) == 3


async def test_facts_that_people_labelled_differently_stay_apart():
    facts, _ = await revised(
        block("Ana Brandt ran the mill."),
        GivenFact(text="She ran the mill.", label="supported"),
        GivenFact(text="Brandt ran the mill.", label="not_supported"),
    )
    assert [fact.gold for fact in facts] == ["supported", "not_supported"]


async def test_skipped_and_failed_sentences_and_other_fields_stay():
    class Inner:
        name = "inner"
        fact = AtomicFact(
            id="g/1.0",
            text="She ran Zorg in 1932.",
            sentence=1,
            span=(3, 9),
            flags=("invented: Zorg", "not English"),
        )

        async def decompose(self, generation, sentences):
            failure = Failure(stage="decompose", error="ParseError", message="m")
            failures = (SentenceFailure(sentence=2, failure=failure),)
            skipped = (Skipped(sentence=0, reason="r"),)
            return Decomposition(facts=(self.fact,), skipped=skipped, failures=failures)

    model = Scripted(block("Ana Brandt ran the mill in 1932."))
    found = await Revised(Inner(), model).decompose(GENERATION, split(TEXT))
    assert (found.skipped[0].reason, found.failures[0].sentence) == ("r", 2)
    (fact,) = found.facts
    assert (fact.id, fact.sentence, fact.span) == ("g/1.0", 1, (3, 9))
    assert fact.flags == ("not English",)  # the invented word is gone


@pytest.mark.parametrize("text", ["{{name}}", r"\frac{{a}}{{b}}", "{% off %}", "{#1}", "[PROMPT]", "[RESPONSE]"])
async def test_f45_f46_hostile_text_goes_verbatim(text):
    generation = Generation(id="g", text=f"Ana ran {text} well.", prompt=f"Why {text}?")
    facts, model = await revised(block(f"Ana ran {text}."), f"She ran {text}.", generation=generation)
    assert last_block(model.seen[0], "statement") == f"She ran {text}."
    assert last_block(model.seen[0], "response") == generation.text
    assert text in last_block(model.seen[0], "context")
    assert text in facts[0].text


async def test_around_the_clause_splitter():
    pytest.importorskip("spacy")
    model = Scripted(lambda request: block(last_block(request, "statement")))
    found = await Revised(ClauseDecomposer(), model).decompose(GENERATION, split(TEXT))
    assert found.facts


def test_everything_is_signed():
    part = Revised(GivenFacts(), Scripted("", name="m"))
    assert part.name == "revised(given, m)"
    other = Revised(GivenFacts(merge=False), Scripted("", name="m"))
    assert sign(part).differences(sign(other).fields) == ["inner.merge: False then, True now"]
