"""The recipes: which parts each takes, what is refused, and that each judges a generation to its end."""

import numpy as np
import pytest

from veridical.cascade import Cascade
from veridical.decompose import GivenFacts
from veridical.ensemble import Ensemble
from veridical.errors import UsageError
from veridical.gather import NoEvidence, Reference, Retrieve
from veridical.knowledge.given import Given
from veridical.knowledge.ranking import Hybrid
from veridical.methods import METHODS, method, warning
from veridical.models.scripted import Scripted
from veridical.models.token_encoder import MaskedTokens, TokenVectors
from veridical.nonparametric import NPVerifier
from veridical.parts import Parts
from veridical.pipeline import evaluate
from veridical.published import Published, PublishedVerifier
from veridical.safe import PublishedSAFE, Relevance, Revised, SearchLoop
from veridical.safe.dry import stand_in
from veridical.text.abstention import Generic, Standard
from veridical.types import Generation, GivenFact, Label

TEXT = "Ana Brandt sold the mill in 1932."
GENERATION = Generation(
    id="g",
    text=TEXT,
    prompt="Who was Ana Brandt?",
    topic="Ana Brandt",
    reference="Ana Brandt ran a mill in Turin. She sold the mill in 1932.",
    samples=("Ana Brandt sold a mill in 1932.", "She sold it."),
    facts=(GivenFact(text=TEXT),),
)


class Tokens:
    """A token encoder by words: each word is a direction of its own, so a masked word is found where it stands."""

    name = identity = "words"
    dimension = 64

    def _vectors(self, words):
        ids = np.array([sum(map(ord, word)) % 64 for word in words], np.int64)
        return ids, (np.eye(64, dtype=np.float32) * 40)[ids]

    async def passages(self, texts):
        return [TokenVectors(*self._vectors(text.strip(".").lower().split())) for text in texts]

    async def masked(self, texts, skip, *, lead=""):
        found = []
        for text in texts:
            words = [word for word in text.strip(".").lower().split() if not skip(0, word, word)]
            ids, vectors = self._vectors(words)
            found.append(MaskedTokens(ids, tuple(words), vectors))
        return found

    async def close(self):
        pass


class Sentences:
    name = identity = "letters"

    def queries(self, texts):
        return np.array([[text.count("a"), text.count("i") + 1] for text in texts], np.float32)

    passages = queries


def answers(request):
    if said := stand_in(request):
        return said
    asked = request.messages[0].content
    if '"Question:"' in asked:
        return "Question: When did Ana Brandt sell the mill?\nAnswer: 1932"
    return "Answer: 1932" if '"Answer:"' in asked else "True"


KNOWLEDGE = Given({"Ana Brandt": [GENERATION.reference]})


def parts(name="", **more):
    known = {"searcher": KNOWLEDGE} if "safe" in name else {}
    return Parts(**{"judge": Scripted(answers), "given_facts": True, "encoder": Tokens(), **known, **more})


NAMES = [*METHODS, "factscore+np", "embedded+np", "self-check+no-context", "embedded+factscore+qa"]
FREE = {"embedded", "np", "embedded+np"}


@pytest.mark.parametrize("name", NAMES)
async def test_every_method_judges_a_generation(name):
    made = method(name, parts(name, judge=None) if name in FREE else parts(name))
    report = await evaluate(GENERATION, made)
    assert report.failure is None
    [judged] = report.facts
    assert judged.failure is None
    assert judged.verdict.label is Label.SUPPORTED
    assert report.signature.startswith(f"{name}:")


def test_every_method_has_a_signature_of_its_own():
    digests = {
        method(name, parts(name, judge=None) if name in FREE else parts(name)).signature.digest for name in NAMES
    }
    assert len(digests) == len(NAMES)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("factscore", {"k": 3}),
        ("factscore", {"order": "best_first"}),
        ("factscore", {"facts_per_call": 4}),
        ("factscore", {"ranker": Hybrid(Sentences())}),
        ("factscore", {"published": Published()}),
        ("factscore+np", {"rule": "any"}),
        ("factscore+np", {"np_threshold": 0.2}),
        ("self-check", {"samples": 3}),
        ("self-check", {"subject": Scripted("x", name="subject")}),
        ("cascade", {"confidence": 0.8}),
        ("cascade", {"audit": 0.5}),
        ("cascade", {"costly": "no-context"}),
        ("safe", {"k": 2}),
        ("safe", {"steps": 2}),
        ("safe", {"all_steps": True}),
        ("safe", {"choices": "three"}),
        ("safe", {"published_safe": PublishedSAFE()}),
    ],
)
def test_every_setting_that_can_move_a_number_is_signed(name, change):
    assert method(name, parts(name)).signature.digest != method(name, parts(name, **change)).signature.digest


def test_the_retrieval_choice_is_in_the_printed_signature():
    assert "hybrid" in str(method("factscore", parts(ranker=Hybrid(Sentences()))).signature)


def test_the_models_of_an_ensemble_are_in_the_printed_signature():
    made = method("factscore+np", parts(judge=Scripted("True", name="openai/x"))).signature
    assert "|verifier.members.1.verifier.model:openai/x|" in str(made)
    assert "|verifier.members.2.gatherer.k:3|" in str(made)


def test_the_paper_s_ensemble_reads_dense_top_5_and_bm25_top_3():
    ranker = Hybrid(Sentences())
    made = method("factscore+np", parts(searcher=Given({"Ana Brandt": ["A mill."]}), ranker=ranker))
    assert isinstance(made.verifier, Ensemble)
    lm, np_ = made.verifier.members
    assert made.gatherer == Retrieve(made.gatherer.searcher, k=5, ranker=ranker)
    assert lm.gatherer is None
    assert (np_.gatherer.k, np_.gatherer.ranker) == (3, None)


def test_members_that_want_the_same_evidence_share_it():
    first, second = method("embedded+factscore", parts()).verifier.members
    assert first.gatherer is None
    assert second.gatherer is None


def test_a_judge_without_evidence_does_not_take_it_from_the_others():
    made = method("no-context+factscore", parts())
    assert isinstance(made.gatherer, Reference)
    assert isinstance(method("no-context", parts()).gatherer, NoEvidence)


def test_safe_as_a_method():
    made = method("safe", parts("safe", published_safe=PublishedSAFE(), given_facts=False))
    assert isinstance(made.decomposer, Revised)
    assert isinstance(made.triage, Relevance)
    assert (made.gatherer.steps, made.gatherer.k, made.gatherer.early_stop) == (5, 3, False)
    assert made.published_sentences
    ours = method("safe", parts("safe", k=4, steps=2))
    assert (ours.gatherer.steps, ours.gatherer.k, ours.gatherer.early_stop) == (2, 4, True)
    assert isinstance(ours.decomposer.inner, GivenFacts)


def test_in_a_cascade_safe_s_facts_are_revised_and_sorted_for_both():
    made = method("cascade", parts("safe", costly="safe"))
    assert isinstance(made.decomposer, Revised)
    assert isinstance(made.triage, Relevance)
    assert isinstance(made.verifier.costly.gatherer, SearchLoop)


def test_the_published_preset_as_a_method():
    made = method("factscore", parts(published=Published(defects=("zero-facts-abstain",)), given_facts=False))
    assert isinstance(made.verifier, PublishedVerifier)
    assert isinstance(made.abstention, Generic)
    assert made.published_sentences
    assert made.zero_facts_abstain
    assert isinstance(method("factscore", parts()).abstention, Standard)


def test_np_reads_its_own_number_of_passages():
    made = method("np", parts(judge=None, np_k=2))
    assert isinstance(made.verifier, NPVerifier)
    assert (made.verifier.k, made.gatherer.k) == (2, 2)


async def test_a_cascade_asks_the_costly_judge_only_where_the_cheap_one_is_unsure():
    judge = Scripted("True")
    sure = method("cascade", parts(judge=judge, confidence=0.5))
    assert isinstance(sure.verifier, Cascade)
    await evaluate(GENERATION, sure)
    assert judge.seen == []
    await evaluate(GENERATION, method("cascade", parts(judge=judge, confidence=1.0)))
    assert len(judge.seen) == 1


def test_the_weakness_of_every_judge_that_takes_part_is_told():
    small = Scripted("True", name="hf/smollm2")
    words = warning(method("cascade", parts(judge=small)))
    assert "no better than chance" in words
    assert "Weak judge" in words
    encoder = Tokens()
    encoder.name = "embedded/minilm"
    assert "tells nothing" in warning(method("factscore+np", parts(encoder=encoder)))
    assert warning(method("factscore+np", parts())) is None


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("facts", {}, "no method 'facts'"),
        ("factscore+", {}, "no method ''"),
        ("factscore", {"judge": None}, "needs a judge"),
        ("np", {"judge": None, "encoder": None}, "--np-model"),
        ("safe", {}, "give --knowledge web:PROVIDER"),
        ("embedded", {}, "asks no language model"),
        ("embedded+np", {}, "asks no language model"),
        ("factscore+np", {"rule": "most"}, "rule is one of"),
        ("cascade", {"cheap": "nothing"}, "no method 'nothing'"),
    ],
)
def test_what_is_missing_or_unknown_is_said(name, change, words):
    with pytest.raises(UsageError, match=words.replace("+", r"\+")):
        method(name, parts(**change))
