"""The judge without any LLM: verdicts, evidence, weights."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_verifiers_features import VARGA
from veridical.errors import UsageError
from veridical.signature import sign
from veridical.types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Verdict
from veridical.verifiers.embedded import WEAK, EmbeddedJudge, lexical_coverage
from veridical.verifiers.features import FEATURES
from veridical.verifiers.fitted import FILE, load

JUDGE = EmbeddedJudge()


def judge(*claims: str, passages: tuple[Passage, ...], topic: str | None = None) -> list[Verdict | Failure]:
    facts = [(AtomicFact(id=f"g/0.{i}", text=c, sentence=0), Evidence(passages=passages)) for i, c in enumerate(claims)]
    return asyncio.run(JUDGE.verify(facts, Generation(id="g", text="", topic=topic)))


def verdict(claim: str, evidence: str = VARGA, title: str = "Ilse Varga") -> Verdict:
    (found,) = judge(claim, passages=(Passage(id="p", text=evidence, title=title),))
    assert isinstance(found, Verdict)
    return found


def probability(claim: str) -> float:
    value = verdict(claim).probability
    assert value is not None
    return value


GOLDEN = {
    "Ilse Varga was a Hungarian painter.": 0.954382105,
    "Varga moved to Vienna in 1956.": 0.903127567,
    "Varga moved to Vienna in 1958.": 0.231826786,
    "Ilse Varga was born in Prague.": 0.270524644,
    "Ilse Varga won the Nobel Prize in Physics.": 0.156965980,
    "Her mural has 1234 tiles.": 0.917553520,
}


@pytest.mark.parametrize(("claim", "expected"), GOLDEN.items())
def test_golden_probabilities(claim: str, expected: float) -> None:
    assert probability(claim) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("Ilse Varga was a Hungarian painter.", Label.SUPPORTED),
        ("Varga moved to Vienna in 1956.", Label.SUPPORTED),
        ("Varga moved to Vienna in 1958.", Label.CONTRADICTED),
        ("Ilse Varga won the Nobel Prize in Physics.", Label.NOT_ENOUGH_EVIDENCE),
    ],
)
def test_labels(claim: str, label: Label) -> None:
    assert verdict(claim).label == label


@pytest.mark.parametrize("swap", [("1956", "1957"), ("1956", "1856"), ("Vienna", "Oslo"), ("moved", "never moved")])
def test_a_changed_detail_lowers_the_probability(swap: tuple[str, str]) -> None:
    claim = "Ilse Varga moved to Vienna in 1956."
    assert probability(claim.replace(*swap)) < probability(claim)


@pytest.mark.parametrize(
    "texts", [(), ("",), ("  \n ", "\u200b"), ("— … —",)], ids=["none", "empty", "blank", "no words"]
)
def test_n1_without_evidence_nothing_is_supported(texts: tuple[str, ...]) -> None:
    passages = tuple(Passage(id=str(i), text=text, title="Ilse Varga") for i, text in enumerate(texts))
    (found,) = judge("Ilse Varga was a painter.", passages=passages)
    assert isinstance(found, Verdict)
    assert (found.label, found.mode, found.probability) == (Label.NOT_ENOUGH_EVIDENCE, "no evidence", 0.0)
    assert found.quotes == ()


def test_a_blank_passage_beside_a_good_one_changes_nothing() -> None:
    good, blank = Passage(id="p", text=VARGA), Passage(id="q", text=" ")
    claim = "Ilse Varga was a painter."
    assert judge(claim, passages=(good, blank)) == judge(claim, passages=(good,))


def test_a_fact_without_words_is_a_failure_and_the_others_keep_their_order() -> None:
    first, middle, last = judge(
        "Ilse Varga was a painter.", "…", "Ilse Varga was a pilot.", passages=(Passage(id="p", text=VARGA),)
    )
    assert isinstance(middle, Failure)
    assert middle.stage == "verify"
    assert isinstance(first, Verdict)
    assert isinstance(last, Verdict)
    assert "pilot" in (last.rationale or "")
    assert "pilot" not in (first.rationale or "")


def test_no_facts_no_verdicts() -> None:
    assert judge(passages=()) == []


def test_several_facts_at_once_are_judged_as_each_alone() -> None:
    passages = (Passage(id="p", text=VARGA, title="Ilse Varga"),)
    together = judge(*GOLDEN, passages=passages)
    assert together == [judge(claim, passages=passages)[0] for claim in GOLDEN]


def test_nothing_hangs_on_the_order_of_hashes() -> None:
    code = "from test_verifiers_embedded import *; print([verdict(claim) for claim in GOLDEN])"
    replies = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(replies) == 1


def test_quotes_are_the_sentence_that_says_it() -> None:
    (quote,) = verdict("Ilse Varga moved to Vienna in 1956.").quotes
    assert VARGA[quote.start : quote.end].strip().startswith("She studied")
    assert VARGA[quote.start : quote.end].strip().endswith("in 1956.")


def test_quotes_count_code_points_in_the_right_passage() -> None:
    second = "🎨 Évora 🎨. Ilse Varga moved to Vienna."
    (found,) = judge(
        "Ilse Varga moved to Vienna.", passages=(Passage(id="a", text="Cats sleep."), Passage(id="b", text=second))
    )
    assert isinstance(found, Verdict)
    assert [(q.passage, second[q.start : q.end]) for q in found.quotes] == [("b", "Ilse Varga moved to Vienna.")]


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("Varga moved to Vienna in 1958.", "1958 is not in the evidence."),
        (
            "Ilse Varga was born in Prague.",
            "Prague is not in the sentences that come closest; 3 of 4 content words are.",
        ),
        ("Ilse Varga was a Hungarian painter.", "All 4 content words are in the evidence."),
        ("She was there.", "The fact holds no content word to look for."),
    ],
)
def test_the_rationale_names_what_is_missing(claim: str, says: str) -> None:
    assert verdict(claim).rationale == says


def test_the_rationale_names_an_opposite_in_both_wordings() -> None:
    found = verdict("The bridge Opened Before the war.", "The bridge opened After the war.", "")
    assert found.rationale == "The fact has “Before” where the evidence has “After”."


def test_other_scripts_are_judged_by_characters_and_told_that_weights_are_english() -> None:
    found = verdict("東京は日本の首都です。", "東京は日本の首都です。", "")
    assert found.label == Label.SUPPORTED
    assert "fitted on English" in (found.rationale or "")


TEXT = st.text() | st.sampled_from(
    [VARGA, "In 1956 she moved.", "1,234 and ½ 𝟗 2²", "don't don't", "\ud800 x", "١٢ 12"]
)


@settings(deadline=None)
@given(claim=TEXT, texts=st.lists(TEXT, max_size=3), title=TEXT)
def test_any_text_gets_a_verdict_whose_quotes_verify(claim: str, texts: list[str], title: str) -> None:
    passages = tuple(Passage(id=str(i), text=text, title=title) for i, text in enumerate(texts))
    (found,) = judge(claim, passages=passages, topic=title)
    if isinstance(found, Failure):
        assert not any(char.isalnum() for char in claim)
        return
    assert found.probability is not None
    assert 0 <= found.probability <= 1
    for quote in found.quotes:
        assert 0 <= quote.start < quote.end <= len(texts[int(quote.passage)])
        assert texts[int(quote.passage)][quote.start : quote.end].strip()


@given(TEXT, TEXT)
def test_lexical_coverage_is_a_share(claim: str, evidence: str) -> None:
    assert 0 <= lexical_coverage(claim, evidence) <= 1


def test_lexical_coverage_counts_different_content_words() -> None:
    assert lexical_coverage("The red red fox jumped.", "A fox is red.") == pytest.approx(2 / 3)
    assert lexical_coverage("It is.", "It is.") == 0


def test_weights_fit_this_version_and_are_small() -> None:
    weights = load().weights
    assert weights.features == list(FEATURES)
    assert FILE.stat().st_size < 500_000
    assert 0 < weights.threshold < 1
    assert 0 < weights.contradiction_threshold < 1
    for trees in (weights.support, weights.contradiction):
        for feature, left, right in zip(trees.feature, trees.left, trees.right, strict=True):
            assert all(0 <= f < len(FEATURES) for f in feature)
            assert all(node <= child < len(left) for side in (left, right) for node, child in enumerate(side))


def test_weights_of_other_features_are_refused(tmp_path: Path) -> None:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    data["features"][0] = "another"
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match="other features"):
        load(path)


def test_support_never_falls_as_a_monotone_feature_improves() -> None:
    fitted = load()
    rows = np.random.default_rng(1).uniform(0, 2, (200, len(FEATURES)))
    base = fitted.probabilities(rows)[0]
    for i, (_, direction) in enumerate(FEATURES.values()):
        if direction:
            moved = rows.copy()
            moved[:, i] += direction * 0.5
            assert (fitted.probabilities(moved)[0] >= base - 1e-4).all()


def test_the_signature_carries_the_weights() -> None:
    fields = sign(JUDGE).fields
    assert f"features-1@{load().fingerprint}" in fields.values()
    assert JUDGE.name == "embedded/features-1"


def test_the_warning_states_figures_of_the_measurement() -> None:
    """Each figure of WEAK stands in the measured tables (rounded there to three or two places)."""
    assert JUDGE.warning == WEAK
    readme = (Path(__file__).parents[1] / "experiments" / "judge" / "README.md").read_text(encoding="utf-8")
    accuracies = {f"{float(value):.2f}".lstrip("0") for value in re.findall(r"\*\*(0\.\d{3})\*\*", readme)} | {".50"}
    shares = {f"{round(100 * float(value))} %" for value in re.findall(r"(?<=\| )0\.\d\d(?= \|)", readme)}
    assert set(re.findall(r"\.\d\d", WEAK)) <= accuracies
    assert set(re.findall(r"\d+ %", WEAK)) <= shares
