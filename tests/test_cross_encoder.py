"""The encoder and the judge made of it, on a tiny one with random weights (`tiny_reader.py` made it)."""

import asyncio
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiny_reader import FOLDER
from veridical.errors import UsageError
from veridical.signature import sign
from veridical.types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Verdict
from veridical.verifiers import joined
from veridical.verifiers.cross_encoder import CrossEncoder, load, present
from veridical.verifiers.embedded import EmbeddedJudge
from veridical.verifiers.features import FEATURES
from veridical.verifiers.trained import TrainedJudge, offline_judge, open_judge

pytest.importorskip("onnxruntime", reason="the extra reader is not installed")
pytest.importorskip("tokenizers", reason="the extra reader is not installed")

LONG = "Ilse Varga was a painter. " + "It rained in the city that year. " * 60 + "She moved to Vienna in 1956."
CLAIMS = ["Varga moved to Vienna.", "She was born in Paris in 1931.", "A painter was not born.", "vienna " * 40]


@pytest.fixture(scope="module")
def folder() -> Path:
    return FOLDER


@pytest.fixture(scope="module")
def encoder(folder: Path) -> CrossEncoder:
    return load(folder, 1)


def judged(judge: TrainedJudge, *claims: str, passages: tuple[Passage, ...]) -> list[Verdict | Failure]:
    facts = [(AtomicFact(id=str(n), text=c, sentence=0), Evidence(passages=passages)) for n, c in enumerate(claims)]
    return asyncio.run(judge.verify(facts, Generation(id="g", text="")))


def page(text: str = LONG, name: str = "p") -> Passage:
    return Passage(id=name, text=text, title="Ilse Varga")


def test_reads_probabilities(encoder: CrossEncoder) -> None:
    logs = encoder.read([(LONG, claim) for claim in CLAIMS])
    assert logs.shape == (4, 3)
    assert np.exp(logs).sum(axis=1) == pytest.approx(np.ones(4))
    assert len({round(value, 9) for value in logs[:, 0]}) == 4, "the claims are told apart"
    assert encoder.read([]).shape == (0, 3)


def test_company_order_and_threads_change_nothing(folder: Path, encoder: CrossEncoder) -> None:
    pairs = [(LONG[start : start + size], claim) for claim in CLAIMS for start, size in ((0, 25), (0, 300), (9, 900))]
    together = encoder.read(pairs)
    order = random.Random(3).sample(range(len(pairs)), len(pairs))
    assert np.array_equal(encoder.read([pairs[at] for at in order]), together[order])
    assert np.array_equal(np.concatenate([encoder.read([pair]) for pair in pairs]), together)
    assert np.array_equal(load(folder, 3).read(pairs), together)


@given(evidence=st.text(max_size=600), claim=st.text(max_size=600))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reads_any_text(encoder: CrossEncoder, evidence: str, claim: str) -> None:
    logs = encoder.read([(evidence, claim)])
    assert np.isfinite(logs).all()


def test_long_evidence_and_long_claims_are_cut_at_their_ends(encoder: CrossEncoder) -> None:
    most = encoder.longest_claim
    assert encoder.fits(["vienna " * most, "vienna " * (most + 1), ""]) == [True, False, True]
    whole, longer = encoder.read([("paris", "vienna " * most), ("paris", "vienna " * most + "born was she")])
    assert np.array_equal(whole, longer)
    room = encoder.card.longest - 3 - 1
    cut, uncut = encoder.read([("paris " * room, "vienna"), ("paris " * room + "born", "vienna")])
    assert np.array_equal(cut, uncut)


def test_temperature_divides_the_logits(folder: Path, encoder: CrossEncoder, tmp_path: Path) -> None:
    warmer = shutil.copytree(folder, tmp_path / "warmer")
    (warmer / "card.json").write_text(json.dumps({"name": "tiny-1", "temperature": 2.0}), encoding="utf-8")
    cold, warm = encoder.read([(LONG, CLAIMS[0])])[0], load(warmer, 1).read([(LONG, CLAIMS[0])])[0]
    assert warm[0] - warm[1] == pytest.approx((cold[0] - cold[1]) / 2)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.onnx", b"no model"),
        ("tokenizer.json", b"{}"),
        ("card.json", b'{"name": "x", "threshold": 2}'),
        ("card.json", b'{"name": "x", "treshold": 0.5}'),
        ("card.json", None),
    ],
)
def test_a_broken_folder_is_said_to_be_one(folder: Path, tmp_path: Path, name: str, content: bytes | None) -> None:
    broken = shutil.copytree(folder, tmp_path / "broken")
    if content is None:
        (broken / name).unlink()
    else:
        (broken / name).write_bytes(content)
    assert present(broken) == (content is not None)
    with pytest.raises(UsageError, match="broken"):
        load(broken)


def test_fingerprint_follows_what_moves_a_result_and_not_the_warning(folder: Path, tmp_path: Path) -> None:
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    prints = []
    for number, change in enumerate(({}, {"warning": "Measured: weak."}, {"threshold": 0.6})):
        other = shutil.copytree(folder, tmp_path / str(number))
        (other / "card.json").write_text(json.dumps(card | change), encoding="utf-8")
        prints.append(load(other).fingerprint)
    assert prints[0] == prints[1] != prints[2]


def test_verdicts_quote_the_window_and_are_the_same_in_any_company(folder: Path) -> None:
    judge = open_judge(folder, 1)
    claims = CLAIMS[:3]
    passages = (page(), page("Ilse Varga was born in Paris. " * 3, "q"))
    found = judged(judge, *claims, passages=passages)
    texts = {passage.id: passage.text for passage in passages}
    for verdict in found:
        assert isinstance(verdict, Verdict)
        assert verdict.judge == "embedded/tiny-1"
        assert verdict.mode == "encoder"
        assert verdict.probability is not None
        assert 0 <= verdict.probability <= 1
        assert 1 <= len(verdict.quotes) <= 3
        assert all(texts[quote.passage][quote.start : quote.end].strip() for quote in verdict.quotes)
    assert [judged(judge, claim, passages=passages)[0] for claim in reversed(claims)] == found[::-1]


def test_labels_follow_the_thresholds(folder: Path, tmp_path: Path) -> None:
    labels = []
    for number, (supported, contradicted) in enumerate(((0, 1), (1, 0), (1, 1))):
        other = shutil.copytree(folder, tmp_path / str(number))
        card = {"name": "tiny-1", "threshold": supported, "contradiction_threshold": contradicted}
        (other / "card.json").write_text(json.dumps(card), encoding="utf-8")
        (verdict,) = judged(open_judge(other, 1), CLAIMS[0], passages=(page(),))
        assert isinstance(verdict, Verdict)
        labels.append(verdict.label)
    assert labels == [Label.SUPPORTED, Label.CONTRADICTED, Label.NOT_ENOUGH_EVIDENCE]


def test_support_is_the_most_of_any_window(folder: Path) -> None:
    judge = open_judge(folder, 1)
    (reading,) = judge.read([(CLAIMS[0], (page(),))])
    assert len(reading.windows) == 3
    pairs = [(window.text, CLAIMS[0]) for window in reading.windows]
    assert reading.supported == pytest.approx(np.exp(judge.encoder.read(pairs))[:, 0].max())


@pytest.mark.parametrize("passages", [(), (page(""),), (page(" \n…"),)])
def test_no_evidence_is_never_supported(folder: Path, passages: tuple[Passage, ...]) -> None:
    (verdict,) = judged(open_judge(folder, 1), CLAIMS[0], passages=passages)
    assert isinstance(verdict, Verdict)
    assert (verdict.label, verdict.probability, verdict.judge) == (Label.NOT_ENOUGH_EVIDENCE, 0.0, "embedded/tiny-1")


def test_a_fact_without_a_word_or_too_long_is_a_failure_of_its_own(folder: Path) -> None:
    wordless, good, long = judged(open_judge(folder, 1), "…", CLAIMS[0], "vienna " * 300, passages=(page(),))
    assert isinstance(wordless, Failure)
    assert isinstance(good, Verdict)
    assert isinstance(long, Failure)
    assert "longer than the 157 tokens" in long.message
    assert asyncio.run(open_judge(folder, 1).verify([], Generation(id="g", text=""))) == []


def tree(feature: int, threshold: float, low: float, high: float) -> dict[str, object]:
    parts = {"feature": [[feature, 0, 0]], "threshold": [[threshold, 0, 0]], "left": [[1, 1, 2]], "right": [[2, 1, 2]]}
    return {"base": 0.0, **parts, "value": [[0.0, low, high]]}


def trees(folder: Path, **changes: object) -> None:
    """One stump: likely supported where the claim's words are found."""
    found = len(joined.ENCODED) + list(FEATURES).index("cov_all")
    weights = {"name": "tiny-joined-1", "encoder": load(folder, 1).fingerprint, "values": [*joined.ENCODED, *FEATURES]}
    weights |= {"support": tree(found, 0.9, -2.0, 2.0), "platt": [1, 0], "threshold": 0.5}
    weights |= {"contradiction": tree(0, -99, 0.0, 1.0), "contradiction_threshold": 0.5}
    (folder / "joined.json").write_text(json.dumps(weights | changes), encoding="utf-8")


def test_joined_trees_weigh_encoder_and_features(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "reader")
    trees(other)
    judge = open_judge(other, 1)
    there, missing = judged(judge, "Varga moved to Vienna.", "Varga moved to Paris.", passages=(page(),))
    assert isinstance(there, Verdict)
    assert isinstance(missing, Verdict)
    assert (there.label, missing.label) == (Label.SUPPORTED, Label.CONTRADICTED)
    assert there.probability == pytest.approx(1 / (1 + np.exp(-2)))
    assert (there.judge, there.mode) == ("embedded/tiny-joined-1", "encoder and features")


def test_joined_trees_of_another_encoder_are_refused(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "reader")
    for changes in ({"encoder": "0" * 12}, {"values": ["words"]}, {"support": 3}):
        trees(other, **changes)
        with pytest.raises(UsageError, match=r"joined\.json"):
            open_judge(other, 1)


def test_signature_names_weights_and_rules(folder: Path) -> None:
    fields = sign(open_judge(folder, 1)).fields
    assert fields["encoder"] == f"tiny-1@{load(folder, 1).fingerprint}"
    assert fields["rules"] == 1
    assert any(name.startswith("features") for name in fields)


def test_without_weights_the_feature_judge_stays(folder: Path, tmp_path: Path) -> None:
    assert isinstance(offline_judge(tmp_path), EmbeddedJudge)
    assert isinstance(offline_judge(folder), TrainedJudge)
