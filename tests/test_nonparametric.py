"""The nonparametric probability: the formula by number, and the verifier against one written again, slowly."""

import asyncio
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veridical.nonparametric as module
from masked_models import tiny
from packaged import minilm
from veridical.errors import ModelError, UsageError
from veridical.models.token_encoder import HFTokenEncoder, MaskedTokens, TokenVectors
from veridical.nonparametric import NPVerifier, is_stop, nonparametric_probability
from veridical.signature import sign
from veridical.types import AtomicFact, Evidence, Failure, Generation, Label, Passage

GENERATION = Generation(id="g", text="Ana ran the mill. She sold it in 1932.", topic="Ana Brandt")
TEXTS = (
    "Ana Brandt ran the mill in Turin and sold the mill in 1932.",
    "The river Dora is long and cold. She bought a boat.",
    "Beethoven, born in Bonn in 1770, wrote nine symphonies.",
    "Turing was not in Turin.",
)
SUPPORTED, NOT_ENOUGH = Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE


def case(text, passages=TEXTS, n=0):
    shown = tuple(Passage(id=f"p{place}", text=passage) for place, passage in enumerate(passages))
    return AtomicFact(id=f"g/1.{n}", text=text, sentence=1), Evidence(passages=shown)


async def judge(verifier, *texts, passages=TEXTS):
    return await verifier.verify([case(text, passages, n) for n, text in enumerate(texts)], GENERATION)


class Fixed:
    """An encoder that gives what it was told to; every word of a text is a token with a vector from a table."""

    name, identity, dimension = "fixed", "fixed 1", 4

    def __init__(self, table, hidden):
        self.table, self.hidden, self.calls = table, hidden, []

    async def passages(self, texts):
        self.calls.append(tuple(texts))
        found = [[(int(word), self.table[place]) for place, word in enumerate(text.split())] for text in texts]
        return [TokenVectors(ids([i for i, _ in one]), rows([v for _, v in one])) for one in found]

    async def masked(self, texts, skip, *, lead=""):
        assert lead == "Fact: "
        kept = [[word for word in text.split() if not skip(int(word), word, word)] for text in texts]
        return [
            MaskedTokens(ids(list(map(int, words))), tuple(words), rows([self.hidden[int(w)] for w in words]))
            for words in kept
        ]

    async def close(self):
        pass


@dataclass(frozen=True)
class Named:
    name: str
    verifier: NPVerifier


def ids(values):
    return np.array(values, np.int64)


def rows(values):
    return np.array(values, np.float32).reshape(len(values), 4)


E1, E2, E3 = np.eye(4)[:3]
NEVER = (-1,)
"""A list of stop ids that no token is in."""


# --- the formula


def test_f9_the_hand_example():
    target, passage = rows([E1, E1]), rows([2 * E1, 2 * E2, 2 * E3])
    p = nonparametric_probability(ids([10, 12]), target, ids([10, 11, 10]), passage)
    expected = (math.exp(1) + 1) / (math.exp(1) + 2)  # 2e1 against e1 over √4
    assert p == pytest.approx([expected, 0.0], abs=1e-12)
    assert p.dtype == np.float64


def test_f9_with_the_numbers_of_the_specification():
    """q = 2 e1, so that the score of the first is 4 / √4 = 2."""
    p = nonparametric_probability(ids([10]), rows([2 * E1]), ids([10, 11, 10]), rows([2 * E1, 2 * E2, 2 * E3]))
    assert p[0] == pytest.approx((math.exp(2) + 1) / (math.exp(2) + 2), abs=1e-12)
    assert p[0] == pytest.approx(0.893493, abs=5e-7)


async def test_f9_as_a_verdict():
    encoder = Fixed([2 * E1, 2 * E2, 2 * E3], {10: 2 * E1, 12: 2 * E1})
    verifier = NPVerifier(encoder, stop_ids=NEVER)
    present, both = await judge(verifier, "10", "10 12", passages=["10 11 10"])
    assert (present.label, round(present.probability, 6)) == (SUPPORTED, 0.893493)
    assert (both.label, both.mode, round(both.probability, 6)) == (SUPPORTED, "np", 0.446747)
    assert both.rationale == "least expected: '12' .00, '10' .89"
    assert both.judge == "np(fixed)"


async def test_f9_just_the_threshold_is_not_supported():
    """Ten tokens all alike, three of them the target's: P is 3/10."""
    encoder = Fixed([E1] * 10, {1: E1})
    passages = ["1 1 1 2 2 2 2 2 2 2"]
    [verdict] = await judge(NPVerifier(encoder, stop_ids=NEVER), "1", passages=passages)
    p = verdict.probability
    assert p == pytest.approx(0.3, abs=1e-15)
    for threshold, label in ((p, NOT_ENOUGH), (math.nextafter(p, 0), SUPPORTED)):
        [verdict] = await judge(NPVerifier(encoder, threshold=threshold, stop_ids=NEVER), "1", passages=passages)
        assert verdict.label is label


def naive(target_ids, targets, token_ids, vectors):
    """As the formula stands."""
    found = []
    for target_id, q in zip(target_ids, targets, strict=True):
        scores = [np.exp(np.float32(np.inner(q, p) / np.sqrt(len(p)))) for p in vectors]
        same = [score for token, score in zip(token_ids, scores, strict=True) if token == target_id]
        found.append(sum(same) / sum(scores))
    return found


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_large_vectors_do_not_overflow():
    vectors = rows([1000 * E1, 999 * E1, 1000 * E2])
    target = rows([1000 * E1])
    assert np.isnan(naive([10], target, [10, 11, 10], vectors)).all()
    p = nonparametric_probability(ids([10]), target, ids([10, 11, 10]), vectors)
    assert p == pytest.approx([1.0])
    assert nonparametric_probability(ids([11]), target, ids([10, 11, 10]), vectors) == pytest.approx([math.exp(-500)])


def test_vectors_that_are_not_numbers_are_an_error():
    for bad in (np.nan, np.inf):
        with pytest.raises(ModelError, match="not finite"):
            nonparametric_probability(ids([1]), rows([E1]), ids([1]), rows([bad * np.ones(4)]))


def test_nothing_on_either_side():
    assert nonparametric_probability(ids([1]), rows([E1]), ids([]), rows([])).tolist() == [0.0]
    assert nonparametric_probability(ids([]), rows([]), ids([1]), rows([E1])).shape == (0,)


@st.composite
def problems(draw):
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = 10.0 ** draw(st.integers(-3, 4))
    token_ids = rng.integers(0, 6, n)
    return rng.integers(0, 7, m), size * rng.normal(size=(m, 4)), token_ids, rng.normal(size=(n, 4))


@given(problems(), st.randoms(use_true_random=False))
def test_a_probability_that_no_order_and_no_constant_moves(problem, random):
    target_ids, targets, token_ids, vectors = problem
    p = nonparametric_probability(target_ids, targets, token_ids, vectors)
    assert ((p >= 0) & (p <= 1)).all()
    assert (p[~np.isin(target_ids, token_ids)] == 0).all()

    order = random.sample(range(len(token_ids)), len(token_ids))
    moved = nonparametric_probability(target_ids, targets, token_ids[order], vectors[order])
    assert moved == pytest.approx(p, abs=1e-9)

    shift = nonparametric_probability(target_ids, targets, token_ids, vectors + np.ones(4))  # one constant a target
    assert shift == pytest.approx(p, abs=1e-6)

    everything = [
        nonparametric_probability(np.full(len(targets), token), targets, token_ids, vectors) for token in set(token_ids)
    ]
    assert sum(everything) == pytest.approx(np.ones(len(targets)), abs=1e-9)


@given(problems())
def test_blocks_change_nothing(problem):
    whole = nonparametric_probability(*problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK_BYTES", 300)
        assert nonparametric_probability(*problem) == pytest.approx(whole, abs=1e-12)


# --- stop words


@pytest.mark.parametrize("text", ["the", "The", "of", "'s", "isn", "t", ".", ",", "—", "''", "", " ", "s"])
def test_stop_words(text):
    assert is_stop(text)


def test_a_piece_of_a_word_is_no_stop_word():
    assert not is_stop("in", "Turin")
    assert is_stop("thin", "Within")
    assert is_stop("-", "-")


@pytest.mark.parametrize("text", ["1932", "Ana", "mill", "ü", "龍", "9", "born", "Turin"])
def test_words_that_count(text):
    assert not is_stop(text)


# --- the verifier against one written again


def words(tokenizer, query):
    """The text of each token and of the word around it, by the marks that tokens bear."""
    bert = tokenizer.mask_token == "[MASK]"
    marks = [mark if bert else mark.replace("Ġ", " ") for mark in tokenizer.convert_ids_to_tokens(query)]
    found = []
    for n, mark in enumerate(marks):
        first = last = n
        while joined(bert, marks[first - 1], marks[first]):
            first -= 1
        while last + 1 < len(marks) and joined(bert, marks[last], marks[last + 1]):
            last += 1
        found.append([text.replace("##", "").strip() for text in (mark, "".join(marks[first : last + 1]))])
    return found


def joined(bert, left, right):
    return right.startswith("##") if bert else left[-1].isalnum() and right[0].isalnum()


def slowly(folder, fact, passages, *, bare=True, head=True):
    """NP with plain loops: one text at a time, one mask at a time, no batch, no padding, the masked-LM head's class."""
    import torch
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = (AutoModelForMaskedLM if head else AutoModel).from_pretrained(folder).eval()
    colon = tokenizer(":", add_special_tokens=False)["input_ids"]

    def states(row):
        with torch.no_grad():
            return model(torch.tensor([row]), output_hidden_states=True).hidden_states[-1][0].double().tolist()

    tokens = []
    for passage in passages:
        row = tokenizer(passage, add_special_tokens=not bare)["input_ids"]
        tokens += [pair for pair in zip(row, states(row), strict=True) if pair[0] not in tokenizer.all_special_ids]
    query = tokenizer("Fact: " + fact)["input_ids"]
    found = []
    for place, token in enumerate(query):
        if colon[0] not in query[:place] or token in tokenizer.all_special_ids:
            continue
        if is_stop(*words(tokenizer, query)[place]):
            continue
        q = states([tokenizer.mask_token_id if n == place else other for n, other in enumerate(query)])[place]
        scores = [math.exp(sum(a * b for a, b in zip(q, p, strict=True)) / math.sqrt(len(q))) for _, p in tokens]
        same = [score for score, (other, _) in zip(scores, tokens, strict=True) if other == token]
        found.append(math.fsum(same) / math.fsum(scores))
    return math.fsum(found) / len(found)


@pytest.fixture(scope="module", params=["roberta", "bert"])
def folder(request, tmp_path_factory):
    return tiny(request.param, tmp_path_factory.mktemp(request.param))


FACTS = [
    "Ana Brandt sold the mill in 1932.",
    "Beethoven was born in Bonn in 1770.",
    "Title: the river Dora is cold.",
    "She bought nine mills.",
    "Miller's milling flour wasn't long.",
]


@pytest.mark.parametrize("bare", [True, False])
async def test_agrees_with_the_slow_one(folder, bare):
    encoder = HFTokenEncoder(folder, bare=bare, batch_tokens=100)
    evidence = [TEXTS, TEXTS[::-1], TEXTS[1:], (*TEXTS[:1], " ", *TEXTS), TEXTS]
    cases = [case(fact, passages, n) for n, (fact, passages) in enumerate(zip(FACTS, evidence, strict=True))]
    verdicts = await NPVerifier(encoder).verify(cases, GENERATION)
    shown = [TEXTS[:3], TEXTS[::-1][:3], TEXTS[1:], TEXTS[:1], TEXTS[:3]]  # the first three; blank and double ones out
    expected = [slowly(folder, fact, passages, bare=bare) for fact, passages in zip(FACTS, shown, strict=True)]
    assert [v.probability for v in verdicts] == pytest.approx(expected, abs=1e-5)
    assert len(set(map(str, expected))) == len(expected)
    for verdict in verdicts:
        assert verdict.label is (SUPPORTED if verdict.probability > 0.3 else NOT_ENOUGH)
    await encoder.close()


async def test_alone_or_together_is_the_same(folder):
    verifier = NPVerifier(HFTokenEncoder(folder))
    together = await judge(verifier, *FACTS)
    alone = [(await judge(NPVerifier(HFTokenEncoder(folder, batch_tokens=1)), fact))[0] for fact in FACTS]
    at_once = await asyncio.gather(*(judge(NPVerifier(HFTokenEncoder(folder)), fact) for fact in FACTS))
    for other in (alone, [one for [one] in at_once]):
        assert [v.label for v in other] == [v.label for v in together]
        assert [v.probability for v in other] == pytest.approx([v.probability for v in together], abs=1e-5)


async def test_f9_what_cannot_be_scored_is_a_failure_and_the_others_are_judged(folder):
    verifier = NPVerifier(HFTokenEncoder(folder))
    outcomes = await judge(verifier, "He was with them.", "", "...", FACTS[0], "\u200b")
    assert [isinstance(one, Failure) for one in outcomes] == [True, True, True, False, True]
    assert outcomes[0].stage == "verify"
    assert outcomes[0].message == "the fact holds nothing but stop words"
    [alone] = await judge(verifier, "He was with them.")
    assert isinstance(alone, Failure)


@pytest.mark.parametrize("passages", [[], [""], ["  ", "N/A"], ["", "", "", TEXTS[0]]])
async def test_no_evidence(folder, passages):
    """The last passage is not among the first three."""
    [verdict] = await judge(NPVerifier(HFTokenEncoder(folder)), FACTS[0], passages=passages)
    assert (verdict.label, verdict.mode, verdict.probability) == (NOT_ENOUGH, "no evidence", None)


async def test_rationale_and_quote(folder):
    encoder = HFTokenEncoder(folder)
    [verdict] = await judge(NPVerifier(encoder), "Ana Brandt sold the boat in 1770.", passages=TEXTS[:1])
    named = verdict.rationale.removeprefix("least expected: ").split(", ")
    assert {"'boat' .00", "'1770' .00"} <= set(named)
    assert len(named) == 3
    [quote] = verdict.quotes
    assert (quote.passage, TEXTS[0][quote.start : quote.end]) == ("p0", TEXTS[0])


async def test_the_encoders_trouble_is_a_failure_of_each_fact_with_evidence():
    class Broken(Fixed):
        async def masked(self, texts, skip, *, lead=""):
            raise ModelError("out of memory")

    verifier = NPVerifier(Broken([E1], {}), stop_ids=NEVER)
    first, second = await verifier.verify([case("1", ["1"]), case("1", [])], GENERATION)
    assert (first.error, first.message) == ("ModelError", "out of memory")
    assert second.mode == "no evidence"


async def test_a_page_is_handed_over_once_a_call():
    encoder = Fixed([E1, E2], {1: E1, 2: E1})
    await judge(NPVerifier(encoder, stop_ids=NEVER), "1", "2", "1 2", passages=["1 2", " 1 2 ", "2"])
    assert encoder.calls == [("1 2", "2")]


async def test_stop_ids_stand_in_for_stop_words():
    encoder = Fixed([E1, E2], {1: E1, 2: E1})
    with_both, one, none = [
        (await judge(NPVerifier(encoder, stop_ids=stops), "1 2", passages=["1 3"]))[0]
        for stops in (NEVER, (2,), (1, 2))
    ]
    assert one.probability == pytest.approx(2 * with_both.probability)
    assert isinstance(none, Failure)


async def test_the_scale():
    encoder = Fixed([2 * E1, 2 * E2], {1: 2 * E1})
    flat, published = [
        (await judge(NPVerifier(encoder, scale=scale, stop_ids=NEVER), "1", passages=["1 2"]))[0].probability
        for scale in (4.0, None)
    ]
    assert flat == pytest.approx(math.e / (math.e + 1))
    assert published == pytest.approx(math.e**2 / (math.e**2 + 1))


def test_settings_are_checked_and_signed(folder):
    encoder = HFTokenEncoder(folder)
    for wrong in ({"k": 0}, {"threshold": 1.5}, {"scale": 0.0}, {"scale": math.nan}):
        with pytest.raises(UsageError):
            NPVerifier(encoder, **wrong)
    plain = NPVerifier(encoder)
    signed = {sign(Named("m", one)).digest for one in (
        plain, replace(plain, k=2), replace(plain, threshold=0.4), replace(plain, scale=1.0),
        replace(plain, stop_ids=(1,)), replace(plain, encoder=HFTokenEncoder(folder, reencode=True)),
    )}  # fmt: skip
    assert len(signed) == 6
    assert sign(Named("m", plain)).fields["verifier.encoder"] == encoder.name


@pytest.mark.slow
async def test_a_real_model():
    """MiniLM reads the evidence: the year that is there is likelier than one that is not."""
    encoder = HFTokenEncoder(minilm())
    true, false = await judge(
        NPVerifier(encoder), "Ana Brandt sold the mill in 1932.", "Ana Brandt sold the mill in 1871."
    )
    assert true.probability > false.probability
    assert "'1871' .00" in false.rationale
    assert encoder.dimension == 384
    await encoder.close()


@pytest.mark.slow
async def test_a_real_model_agrees_with_the_slow_one():
    encoder = HFTokenEncoder(minilm())
    [verdict] = await judge(NPVerifier(encoder), FACTS[0])
    assert verdict.probability == pytest.approx(slowly(minilm(), FACTS[0], TEXTS[:3], head=False), abs=1e-5)
