"""Self-check: the samples of a generation, the vote over them, and the judge that is asked of each."""

import asyncio
import dataclasses
import itertools
import math
import re

import msgspec
import pytest

from script import cut, last_block
from veridical.decompose import GivenFacts
from veridical.errors import FatalError, ModelError, ParseError, SearchError, UsageError
from veridical.models.base import ChatReply, TokenLogprob
from veridical.models.cache import Cached, CallStore
from veridical.models.metered import Counted, measure
from veridical.models.scripted import Scripted
from veridical.pipeline import Method, evaluate
from veridical.selfcheck import Samples, SelfCheck, Shared, majority, voted
from veridical.signature import sign
from veridical.types import AtomicFact, Evidence, Failure, Generation, GivenFact, Label, Passage, Quote, Verdict

PROMPT = "Tell me about Ana Brandt."
GENERATION = Generation(id="g", text="Ana ran the mill. She sold it in 1932.", topic="Ana Brandt", prompt=PROMPT)
GIVEN = msgspec.structs.replace(GENERATION, samples=("Ana Brandt sold a mill.", "Ana Brandt was a miller in Turin."))
SUPPORTED, NOT_ENOUGH = Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE
FACT = AtomicFact(id="g/1.0", text="Ana Brandt sold the mill.", sentence=1)


def fact(text, n=0):
    return AtomicFact(id=f"g/1.{n}", text=text, sentence=1)


def samples(*texts):
    return Evidence(passages=tuple(Passage(id=f"sample/{n}", text=text) for n, text in enumerate(texts, 1)))


def probable(true):
    token = TokenLogprob(token="True", logprob=0.0, top=(("True", math.log(true)), ("False", math.log(1 - true))))
    return ChatReply(text="True", logprobs=(token,))


def subject():
    return Scripted(lambda request: f"Ana Brandt sold {request.sample} mills.", name="subject")


def by_sample(request):
    """True of a sample with "yes" in it, an outage for "down", unreadable for "odd", else False."""
    said = last_block(request, "sample")
    if "down" in said:
        raise ModelError("500 after all retries")
    return "Hard to say." if "odd" in said else "True" if "yes" in said else "False"


async def judged(verifier, *said, text="Ana Brandt sold the mill."):
    [outcome] = await verifier.verify([(fact(text), samples(*said))], GENERATION)
    return outcome


# --- samples that came with the input


async def test_given_samples_are_the_evidence_one_passage_each():
    evidence = await Samples().gather(FACT, GIVEN)
    assert [(p.id, p.text, p.source) for p in evidence.passages] == [
        ("sample/1", GIVEN.samples[0], "sample"),
        ("sample/2", GIVEN.samples[1], "sample"),
    ]
    assert (evidence.queries, evidence.skipped) == ((), ())


async def test_no_more_than_n_samples_are_used():
    many = msgspec.structs.replace(GENERATION, samples=tuple(f"Ana sold {n}." for n in range(20)))
    model = subject()
    assert [p.id for p in (await Samples(model, n=3).gather(FACT, many)).passages] == [
        "sample/1",
        "sample/2",
        "sample/3",
    ]
    assert model.seen == []


async def test_abstaining_and_blank_samples_are_left_out_and_counted():
    said = ("I'm sorry, but I don't have any information about Ana Brandt.", "Ana Brandt sold it.", "  ")
    evidence = await Samples().gather(FACT, msgspec.structs.replace(GENERATION, samples=said))
    assert [p.id for p in evidence.passages] == ["sample/2"]
    assert [words.partition(" (")[0] for words in evidence.skipped] == ["sample/1: abstains", "sample/3: abstains"]


async def test_a_sample_that_is_the_generation_itself_is_one_like_others():
    evidence = await Samples().gather(FACT, msgspec.structs.replace(GENERATION, samples=(GENERATION.text,)))
    assert [p.text for p in evidence.passages] == [GENERATION.text]


@pytest.mark.parametrize(
    ("model", "prompt", "words"),
    [(None, PROMPT, "field 'samples'"), ("subject", "", "neither samples nor a prompt"), ("subject", " ", "a prompt")],
)
async def test_a_generation_without_samples_is_refused_in_clear_words(model, prompt, words):
    generation = msgspec.structs.replace(GENERATION, prompt=prompt)
    with pytest.raises(SearchError, match=f"generation g has .*{words}"):
        await Samples(subject() if model else None).gather(FACT, generation)


async def test_samples_that_cannot_be_completed_are_used_and_the_lack_is_said():
    evidence = await Samples(subject()).gather(FACT, msgspec.structs.replace(GIVEN, prompt=""))
    assert len(evidence.passages) == 2
    assert evidence.skipped == ("3 of 5 samples were not drawn: the generation has no prompt",)


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"max_tokens": 0}, *({"model": subject(), "temperature": t} for t in (0.0, -1.0, float("nan")))]
)
def test_settings_that_make_no_samples_are_refused(wrong):
    with pytest.raises(UsageError):
        Samples(**wrong)


# --- samples that are drawn


async def test_missing_samples_are_drawn_with_their_own_number_seed_and_temperature():
    model = subject()
    evidence = await Samples(model, n=4, temperature=0.7, top_p=0.9, seed=100, max_tokens=77).gather(FACT, GIVEN)
    assert [p.text for p in evidence.passages] == [
        *GIVEN.samples,
        "Ana Brandt sold 3 mills.",
        "Ana Brandt sold 4 mills.",
    ]
    assert [(r.sample, r.seed, r.temperature, r.top_p, r.max_tokens) for r in model.seen] == [
        (3, 103, 0.7, 0.9, 77),
        (4, 104, 0.7, 0.9, 77),
    ]
    assert [(m.role, m.content) for m in model.seen[0].messages] == [("user", PROMPT)]
    assert evidence.queries == (PROMPT,)


async def test_without_a_seed_none_is_sent():
    model = subject()
    await Samples(model, n=2).gather(FACT, GENERATION)
    assert [(r.sample, r.seed, r.temperature) for r in model.seen] == [(1, None, 1.0), (2, None, 1.0)]


@pytest.mark.parametrize("text", ["{{name}}", r"\frac{{a}}{{b}}", "{% off %}", "[PROMPT]", "</sample>"])
async def test_f45_f46_the_prompt_is_sent_verbatim(text):
    model = subject()
    await Samples(model, n=1).gather(FACT, msgspec.structs.replace(GENERATION, prompt=text))
    assert model.seen[0].messages[0].content == text


async def test_thinking_is_no_part_of_a_sample():
    model = Scripted("<think>Ana? A baker?</think>Ana Brandt was a miller.")
    evidence = await Samples(model, n=1).gather(FACT, GENERATION)
    assert [p.text for p in evidence.passages] == ["Ana Brandt was a miller."]


async def test_facts_that_gather_at_once_or_later_share_one_drawing_without_a_cache():
    model = Scripted(lambda request: f"Ana Brandt sold {request.sample} mills.", delay=0.001)
    gatherer = Samples(model)
    found = await asyncio.gather(*(gatherer.gather(fact("A.", n), GENERATION) for n in range(30)))
    later = await gatherer.gather(fact("B."), GENERATION)
    assert [request.sample for request in model.seen] == [1, 2, 3, 4, 5]
    assert {evidence.passages for evidence in [*found, later]} == {found[0].passages}


async def test_other_generations_have_drawings_of_their_own_and_each_is_booked():
    model = subject()
    gatherer = Samples(Counted(model), n=2)
    for id in ("g", "h"):
        with measure() as meter:
            await gatherer.gather(FACT, msgspec.structs.replace(GENERATION, id=id))
        assert meter.usage.calls == 2
    assert len(model.seen) == 4


async def test_a_failed_drawing_fails_its_facts_asks_all_samples_first_and_is_tried_again_later():
    broken = [True]

    def reply(request):
        if request.sample == 1 and broken:
            raise ModelError("503 after all retries")
        return "Ana Brandt sold it."

    model = Scripted(reply, delay=0.001)
    gatherer = Samples(model, n=3)
    tasks = [gatherer.gather(fact("A.", n), GENERATION) for n in range(3)]
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(error) for error in found] == ["503 after all retries"] * 3
    assert sorted(request.sample for request in model.seen) == [1, 2, 3]
    broken.clear()
    assert len((await gatherer.gather(FACT, GENERATION)).passages) == 3


async def test_a_fatal_error_while_drawing_comes_through_as_it_is():
    def reply(request):
        raise FatalError("bad key")

    with pytest.raises(FatalError, match="bad key"):
        await Samples(Scripted(reply)).gather(FACT, GENERATION)


async def test_a_cut_sample_is_drawn_again_with_more_room_and_then_fails():
    model = Scripted(lambda request: "Ana Brandt ran it." if request.max_tokens > 100 else cut("Ana Brandt ran"))
    evidence = await Samples(model, n=1, max_tokens=100).gather(FACT, GENERATION)
    assert [p.text for p in evidence.passages] == ["Ana Brandt ran it."]
    assert [request.max_tokens for request in model.seen] == [100, 200]
    with pytest.raises(Exception, match="cut by max_tokens"):
        await Samples(Scripted(lambda request: cut("Ana")), n=1).gather(FACT, GENERATION)


def long_but(*whole):
    """Every sample is cut but these."""
    return lambda request: f"Sample {request.sample}." if request.sample in whole else cut("Ana Brandt")


async def test_a_cut_sample_is_dropped_and_named_as_long_as_two_are_left():
    evidence = await Samples(Scripted(long_but(1, 3)), n=4).gather(FACT, GENERATION)
    assert [(p.id, p.text) for p in evidence.passages] == [("sample/1", "Sample 1."), ("sample/3", "Sample 3.")]
    assert [words.partition(" (")[0] for words in evidence.skipped] == ["sample/2: dropped", "sample/4: dropped"]
    assert "cut by max_tokens" in evidence.skipped[0]
    evidence = await Samples(Scripted(long_but()), n=4).gather(FACT, GIVEN)  # two came with the input
    assert len(evidence.passages) == 2 == len(evidence.skipped)
    with pytest.raises(ParseError, match="cut by max_tokens"):
        await Samples(Scripted(long_but(2)), n=4).gather(FACT, GENERATION)

    def outage(request):
        if request.sample == 2:
            raise ModelError("500 after all retries")
        return long_but(1, 3)(request)

    with pytest.raises(ModelError, match="500"):
        await Samples(Scripted(outage), n=4).gather(FACT, GENERATION)


async def test_votes_of_a_vote_that_stayed_open_are_kept():
    outcome = await judged(SelfCheck(Scripted(by_sample)), "yes", "down")
    assert isinstance(outcome, Failure)
    assert [vote.label for vote in outcome.votes] == [SUPPORTED, None]


async def test_a_resumed_run_draws_and_asks_nothing_twice(tmp_path):
    for time in range(2):
        store = CallStore(tmp_path / "calls.sqlite")
        model = Scripted(lambda request: f"Ana sold {request.sample}." if request.sample else "True", name="m")
        cached = Cached(model, store)
        evidence = await Samples(cached, n=3).gather(FACT, GENERATION)
        [verdict] = await SelfCheck(cached).verify([(FACT, evidence)], GENERATION)
        assert verdict.label is SUPPORTED
        assert len(model.seen) == (6 if time == 0 else 0)
        store.close()


def test_one_gatherer_serves_one_event_loop_after_another():
    model = subject()
    gatherer = Samples(model, n=1)
    for id in "gh":
        generation = msgspec.structs.replace(GENERATION, id=id)
        assert len(asyncio.run(gatherer.gather(FACT, generation)).passages) == 1
    assert not gatherer._shared._under_way


def test_every_setting_of_the_samples_is_signed():
    fields = sign_part(Samples(subject(), n=3, seed=7))
    assert (fields["part.model"], fields["part.n"], fields["part.seed"]) == ("subject", 3, 7)
    assert {"part.temperature", "part.max_tokens", "part.top_p", "part.abstention"} <= fields.keys()


def sign_part(part):
    made = dataclasses.make_dataclass("Whole", [("name", str), ("part", object)])("whole", part)
    return sign(made).fields


# --- work shared


async def test_a_cancelled_waiter_leaves_the_others_their_work():
    begun, go = [], asyncio.Event()

    async def work():
        begun.append(1)
        await go.wait()
        return "done"

    shared = Shared()
    first, second = (asyncio.create_task(shared.get("k", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    go.set()
    assert await second == "done"
    assert (first.cancelled(), begun) == (True, [1])


async def test_work_that_nobody_waits_for_is_cancelled_and_can_be_begun_anew():
    ended = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(1)

    async def quick():
        return "new"

    shared = Shared()
    waiters = [asyncio.create_task(shared.get("k", work)) for _ in range(2)]
    await asyncio.sleep(0.001)
    for waiter in waiters:
        waiter.cancel()
    await asyncio.sleep(0)
    assert await shared.get("k", quick) == "new"
    assert ended == [1]


async def test_only_the_last_results_are_held():
    async def work(n):
        return n

    shared = Shared(keep=2)
    for n in range(10):
        assert await shared.get(n, lambda n=n: work(n)) == n
    assert (list(shared._results), shared._under_way) == ([8, 9], {})


# --- the vote


@pytest.mark.parametrize("n", range(7))
def test_majority_is_what_no_completion_of_the_failures_could_turn(n):
    """Against its meaning: put either answer in the place of each failure."""
    for said in itertools.product((True, False, None), repeat=n):
        spaces = [(True, False) if one is None else (one,) for one in said]
        outcomes = {2 * sum(whole) > n for whole in itertools.product(*spaces)}
        assert majority(said) == (outcomes.pop() if len(outcomes) == 1 else None), said


def test_a_tie_is_not_supported():
    assert majority([True, False]) is False
    assert majority([]) is False


def outcome(said):
    if said is None:
        return Failure(stage="verify", error="ModelError", message="outage")
    return Verdict(label=SUPPORTED if said else NOT_ENOUGH, judge="j")


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_vote_holds_what_was_found_of_each_sample(n):
    for said in itertools.product((True, False, None), repeat=n):
        found = voted("j", [(f"sample/{k}", outcome(one)) for k, one in enumerate(said, 1)])
        if majority(said) is None:
            assert isinstance(found, Failure)
            assert found.message.startswith(f"{said.count(None)} of {n} samples failed")
            continue
        assert (found.label is SUPPORTED) == majority(said)
        assert found.mode == "votes"
        assert [vote.judge for vote in found.votes] == [f"sample/{k}" for k in range(1, n + 1)]
        assert [vote.label for vote in found.votes] == [
            None if one is None else SUPPORTED if one else NOT_ENOUGH for one in said
        ]
        assert [vote.failure is not None for vote in found.votes] == [one is None for one in said]
        assert found.probability == said.count(True) / (n - said.count(None))


def test_nothing_to_vote_is_no_evidence():
    found = voted("j", [])
    assert (found.label, found.mode, found.votes) == (NOT_ENOUGH, "no evidence", ())


# --- the judge


@pytest.mark.parametrize(
    ("said", "label", "share"),
    [
        (["yes", "yes", "no"], SUPPORTED, 2 / 3),
        (["yes", "no", "no"], NOT_ENOUGH, 1 / 3),
        (["yes", "no"], NOT_ENOUGH, 1 / 2),
        (["yes"], SUPPORTED, 1.0),
        (["yes", "yes", "down"], SUPPORTED, 1.0),
        (["no", "no", "odd"], NOT_ENOUGH, 0.0),
    ],
)
async def test_more_than_half_of_the_samples_decide(said, label, share):
    verdict = await judged(SelfCheck(Scripted(by_sample)), *said)
    assert (verdict.label, verdict.mode, verdict.judge) == (label, "votes", "scripted")
    assert verdict.probability == pytest.approx(share)
    assert verdict.rationale.startswith(f"{said.count('yes')} of {len(said)} samples say so")


@pytest.mark.parametrize(("said", "error"), [(["yes", "down"], "ModelError"), (["yes", "no", "odd"], "ParseError")])
async def test_failures_that_could_turn_the_vote_are_a_failure(said, error):
    failed = await judged(SelfCheck(Scripted(by_sample)), *said)
    assert (failed.stage, failed.error) == ("verify", error)
    assert failed.message.startswith(f"1 of {len(said)} samples failed and could turn the vote")
    assert failed.reply == ("Hard to say." if error == "ParseError" else None)


async def test_each_sample_is_shown_alone_and_to_every_fact():
    model = Scripted("True")
    evidence = samples("One.", "Two.")
    await SelfCheck(model).verify([(fact("A sold it.", 0), evidence), (fact("B sold it.", 1), evidence)], GENERATION)
    shown = {(last_block(request, "sample"), last_block(request, "statement")) for request in model.seen}
    assert shown == {(said, text) for said in ("One.", "Two.") for text in ("A sold it.", "B sold it.")}
    assert all(request.messages[0].content.count("<sample-") == 2 for request in model.seen)  # named, and one block


async def test_votes_and_quotes_name_their_samples():
    verdict = await judged(
        SelfCheck(Scripted(by_sample)), "yes: Ana Brandt sold the mill.", "no mill", "yes, sold mill"
    )
    assert [(vote.judge, vote.label) for vote in verdict.votes] == [
        ("sample/1", SUPPORTED),
        ("sample/2", NOT_ENOUGH),
        ("sample/3", SUPPORTED),
    ]
    assert {quote.passage for quote in verdict.quotes} == {"sample/1", "sample/3"}
    assert isinstance(verdict.quotes[0], Quote)


async def test_facts_with_fewer_samples_or_none_do_not_mix_up_their_neighbours():
    cases = [(fact("A.", 0), Evidence()), (fact("B.", 1), samples("yes", "", "yes")), (fact("C.", 2), samples("no"))]
    found = await SelfCheck(Scripted(by_sample)).verify(cases, GENERATION)
    assert [(one.label, one.mode) for one in found] == [
        (NOT_ENOUGH, "no evidence"),
        (SUPPORTED, "votes"),
        (NOT_ENOUGH, "votes"),
    ]
    assert [vote.judge for vote in found[1].votes] == ["sample/1", "sample/3"]


async def test_no_facts_need_no_call():
    model = Scripted("True")
    assert await SelfCheck(model).verify([], GENERATION) == []
    assert model.seen == []


async def test_label_probabilities_are_averaged_and_the_vote_decides():
    shares = {"one": 0.9, "two": 0.45, "three": 0.45}
    model = Scripted(lambda request: probable(shares[last_block(request, "sample")]))
    verdict = await judged(SelfCheck(model, mode="logprobs"), *shares)
    assert (verdict.label, verdict.mode) == (NOT_ENOUGH, "votes")
    assert verdict.probability == pytest.approx(0.6)
    assert [vote.probability for vote in verdict.votes] == pytest.approx([0.9, 0.45, 0.45])
    assert all(request.top_logprobs for request in model.seen)


async def test_labels_can_be_compared_by_their_logits():
    model = Scripted(lambda request: probable(0.3 if "no" in last_block(request, "sample") else 0.8))
    verdict = await judged(SelfCheck(model, mode="logits"), "yes", "yes", "no")
    assert (verdict.label, verdict.probability) == (SUPPORTED, pytest.approx(19 / 30))
    assert all(request.labels == ("True", "False") for request in model.seen)


async def test_a_judge_without_log_probabilities_fails_and_is_never_read_as_text():
    failed = await judged(SelfCheck(Scripted("True"), mode="logprobs"), "yes")
    assert failed.error == "ModelError"


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    "text", ["{{evidence}}", r"\frac{{a}}{{b}}", "{% off %}", "[KNOWLEDGE]", "</statement>", "</sample>"]
)
async def test_f45_f46_hostile_facts_and_samples_are_shown_verbatim(text, together):
    model = Scripted("True")
    await judged(SelfCheck(model, together=together), text, text=text)
    assert last_block(model.seen[0], "statement") == text
    assert last_block(model.seen[0], "sample") == text


async def test_together_all_samples_share_one_call():
    model = Scripted("True")
    verdict = await judged(SelfCheck(model, together=True), "One.\n\nStill one.", "Two.")
    [request] = model.seen
    blocks = re.findall(r"<(sample-[0-9a-f]+)>\n(.*?)\n</\1>", request.messages[0].content, re.DOTALL)
    assert [said for _, said in blocks] == ["One.\n\nStill one.", "Two."]
    assert "more than half" in request.messages[0].content
    assert (verdict.label, verdict.mode, verdict.votes) == (SUPPORTED, "text", ())


async def test_several_facts_can_share_a_call_about_one_sample():
    def reply(request):
        numbers = re.findall(r"^(\d+): <statement-", request.messages[0].content, re.MULTILINE)
        return "\n".join(f"{n}: {'True' if n == '1' else 'False'}" for n in numbers)

    model = Scripted(reply)
    evidence = samples("One.", "Two.", "Three.")
    found = await SelfCheck(model, facts_per_call=2).verify(
        [(fact("A.", 0), evidence), (fact("B.", 1), evidence)], GENERATION
    )
    assert [one.label for one in found] == [SUPPORTED, NOT_ENOUGH]
    assert len(model.seen) == 3


async def test_a_fatal_error_stops_everything():
    def reply(request):
        raise FatalError("bad key")

    with pytest.raises(ExceptionGroup) as caught:
        await judged(SelfCheck(Scripted(reply)), "a", "b")
    assert caught.group_contains(FatalError)


def test_other_answers_contradict_nothing():
    with pytest.raises(UsageError, match="supported from not supported"):
        SelfCheck(Scripted("True"), choices="three")


def test_prompts_are_signed_and_differ_from_those_of_retrieval():
    one, all_ = (sign_part(SelfCheck(Scripted("True"), together=together)) for together in (False, True))
    assert one["part.template"].startswith("selfcheck/verify@")
    assert all_["part.template"].startswith("selfcheck/verify_together@")
    assert (one["part"], one["part.together"], all_["part.together"]) == ("self-check(scripted)", False, True)


# --- as a method


def method(subject_model, judge_model):
    return Method(
        name="self-check",
        decomposer=GivenFacts(),
        gatherer=Samples(subject_model, n=3),
        verifier=SelfCheck(judge_model),
    )


async def test_a_method_draws_once_a_generation_and_books_every_call():
    model = Scripted(lambda request: f"Ana sold {request.sample}." if request.sample else "True", delay=0.001)
    facts = tuple(GivenFact(text=f"Ana Brandt sold mill {n}.") for n in range(4))
    report = await evaluate(msgspec.structs.replace(GENERATION, facts=facts), method(Counted(model), Counted(model)))
    assert [judged.verdict.label for judged in report.facts] == [SUPPORTED] * 4
    assert report.usage.calls == len(model.seen) == 3 + 4 * 3


async def test_a_generation_without_samples_fails_alone():
    facts = (GivenFact(text="Ana Brandt sold a mill."),)
    report = await evaluate(msgspec.structs.replace(GENERATION, facts=facts), method(None, Scripted("True")))
    [judged] = report.facts
    assert (judged.failure.stage, judged.failure.error) == ("gather", "SearchError")
