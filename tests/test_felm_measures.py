"""The figures: counts with error as the positive class, levels, slices, abstentions both ways, intervals, pairs."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import shared
from felm_rows import small, written
from veridical.agreement import cohen
from veridical.errors import UsageError
from veridical.felm import Judgement, Policy, Prediction, Said, Sample, Unit, paired, score
from veridical.felm.counts import Confusion, auc_pr, auc_roc, intervals, values
from veridical.felm.data import load
from veridical.felm.measures import people
from veridical.felm.records import Gold, Why
from veridical.felm.table import HEADINGS, csv_text, markdown, remarks, rows
from veridical.stats import mcnemar


def sample(id_, labels, domain="wk", types=()):
    units = tuple(
        Unit(
            index=place,
            text=f"Segment {place}",
            label={"f": Gold.FACTUAL, "w": Gold.WRONG, "?": Gold.UNKNOWN}[label],
            error_type=types[place] if types else ("knowledge_error" if label == "w" else None),
        )
        for place, label in enumerate(labels)
    )
    return Sample(id=id_, domain=domain, prompt="Q", response="A", units=units)


def prediction(id_, said, *, scores=None, types=None, why=Why.PARSE_ERROR):
    known = {"f": Said.FACTUAL, "w": Said.WRONG, "-": Said.ABSTAIN}
    return Prediction(
        id=id_,
        judgements=tuple(
            Judgement(
                unit=place,
                said=known[one],
                why=why if one == "-" else None,
                score=scores[place] if scores else None,
                error_type=types[place] if types else None,
            )
            for place, one in enumerate(said)
        ),
        done="vanilla/segment",
    )


def scored(golds, saids, **more):
    samples = [sample(at, labels, **more) for at, labels in enumerate(golds)]
    return score(samples, {at: prediction(at, said) for at, said in enumerate(saids)}, resamples=50)


def test_error_is_the_positive_class_at_both_levels():
    made = scored(["fwf", "ff", "ww"], ["wwf", "ff", "wf"])
    segment = made.row()
    assert segment.confusion == Confusion(tp=2, fp=1, fn=1, tn=3)
    assert segment.values["precision"] == segment.values["recall"] == pytest.approx(2 / 3)
    assert segment.values["balanced_accuracy"] == pytest.approx((2 / 3 + 3 / 4) / 2)
    assert segment.values["f1_factual"] == pytest.approx(3 / 4)
    assert segment.values["mcc"] == pytest.approx((2 * 3 - 1) / math.sqrt(3 * 3 * 4 * 4))
    response = made.row(level="response")
    assert response.confusion == Confusion(tp=2, tn=1)
    assert segment.abstentions == "none" and response.n == 3


def test_f8_nothing_over_nothing_is_told():
    found, undefined = values(Confusion(fn=3, tn=2))
    assert found["precision"] == found["f1"] == 0 and {"precision", "f1", "mcc"} <= set(undefined)
    found, undefined = values(Confusion(fp=1, fn=1))
    assert found["f1"] == 0  # where the released code divides by zero
    found, undefined = values(Confusion(tn=4))
    assert found["balanced_accuracy"] is None and "balanced_accuracy" in undefined and "recall" in undefined


@given(*[st.integers(0, 30)] * 4)
def test_values_are_in_range(tp, fp, fn, tn):
    found, _ = values(Confusion(tp=tp, fp=fp, fn=fn, tn=tn))
    for name, value in found.items():
        assert value is None or (-1 if name == "mcc" else 0) <= value <= 1
    if tp + fp and tp + fn:
        precision, recall = tp / (tp + fp), tp / (tp + fn)
        want = 2 * precision * recall / (precision + recall) if tp else 0
        assert found["f1"] == pytest.approx(want)


def test_n2_abstentions_are_counted_both_ways():
    made = scored(["wf", "w"], ["-f", "w"])
    factual, excluded = (made.row(abstentions=way) for way in ("as factual", "excluded"))
    assert factual.confusion == Confusion(tp=1, fn=1, tn=1)
    assert excluded.confusion == Confusion(tp=1, tn=1)
    assert factual.coverage == excluded.coverage == pytest.approx(2 / 3)
    response = made.row(level="response", abstentions="excluded")
    assert response.n == 1  # a response is not known to be factual while a segment is not judged
    assert made.abstained == {"parse_error": 1}


def test_m1_unlabelled_segments_and_missing_samples_are_in_no_figure():
    samples = [sample(0, "f?w"), sample(1, "f"), sample(2, "?")]
    made = score(samples, {0: prediction(0, "fww"), 2: prediction(2, "w")}, resamples=0)
    assert (made.row().n, made.unlabelled, made.missing, made.samples) == (2, 2, 1, 2)
    assert made.row(level="response").n == 1
    with pytest.raises(UsageError):
        score([sample(2, "?")], {2: prediction(2, "w")})
    with pytest.raises(UsageError):
        score(samples, {7: prediction(7, "w")})
    with pytest.raises(UsageError, match="segment 2"):
        score(samples, {0: prediction(0, "fw")})


def test_domains_and_their_mean():
    samples = [sample(0, "wf", "wk"), sample(1, "wff", "math"), sample(2, "f", "math")]
    made = score(samples, {0: prediction(0, "wf"), 1: prediction(1, "fwf"), 2: prediction(2, "f")}, resamples=200)
    assert made.row("wk").values["f1"] == 1 and made.row("math").values["f1"] == 0
    mean = made.row("domain mean")
    assert mean.values["f1"] == 0.5 and mean.n == 6 and mean.values["recall"] == 0.5


def test_recall_by_type_and_types_left_out():
    samples = [sample(0, "wwf", types=("fooled", "irrelevant_with_qst", None)), sample(1, "w", types=(None,))]
    found = {0: prediction(0, "wff", types=["fooled", None, None]), 1: prediction(1, "w")}
    made = score(samples, found, resamples=0)
    assert {one.type: (one.wrong, one.flagged) for one in made.by_type} == {
        "fooled": (1, 1),
        "irrelevant_with_qst": (1, 0),
        "unknown": (1, 1),
    }
    assert made.types and (made.types.n, made.types.right, made.types.untyped) == (1, 1, 0)
    without = score(samples, found, policy=Policy(without_types=("irrelevant_with_qst",)), resamples=0)
    assert without.row().confusion == Confusion(tp=2, tn=1) and without.unlabelled == 1


def test_substitutes_are_reported_apart(tmp_path):
    samples = load(written(tmp_path / "f.jsonl", small())).samples
    found = {}
    for one in samples:
        why = None if one.has_evidence else "no reference"
        done = "vanilla/segment" if why else "doc/segment"
        made = prediction(one.id, "w" * len(one.units))
        found[one.id] = Prediction(id=one.id, judgements=made.judgements, done=done, substituted=why)
    made = score(samples, found, resamples=0)
    assert made.row("nothing substituted").responses == made.row("with evidence").responses == 2
    assert made.row("reference and claim domains").responses == 4 and made.row().responses == 6
    assert made.substituted == {"no reference": 4}
    assert any("substituted" in line for line in remarks(made))


def test_baselines_and_people_are_always_there():
    made = scored(["wfff", "ff"], ["ffff", "ff"])
    by_name = {(one.scope, one.level): one.values for one in made.baselines}
    assert by_name["flag all", "segment"]["f1"] == pytest.approx(2 * (1 / 6) / (1 + 1 / 6))
    assert by_name["flag none", "segment"]["f1"] == 0
    assert by_name["coin", "segment"]["balanced_accuracy"] == 0.5
    assert by_name["coin", "segment"]["recall"] == 0.5
    assert by_name["people", "response"]["accuracy"] == pytest.approx(31 / 42)
    shown = [cells[0] for cells in rows(made, "response")]
    assert shown[-4:] == ["flag all", "flag none", "coin", "people"]


def test_tables_hold_every_row():
    made = scored(["wf", "fw", "f"], ["w-", "ff", "w"])
    assert all(len(cells) == len(HEADINGS) for level in ("segment", "response") for cells in rows(made, level))
    text = markdown(made, "a | b")
    assert text.count("\n| all |") == 3 and "recall by error type" in text
    lines = csv_text(made).splitlines()
    assert len(lines) == 1 + len(made.figures) + len(made.baselines)
    assert len({line.count(",") for line in lines}) == 1


# --- curves and intervals


def slow_auc(wrong, scores):
    pairs = [
        (a, b) for a, x in zip(scores, wrong, strict=True) if x for b, y in zip(scores, wrong, strict=True) if not y
    ]
    return sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs) if pairs else None


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.9])), min_size=1, max_size=30))
@settings(max_examples=50)
def test_auc_against_all_pairs(items):
    wrong, scores = np.array([one for one, _ in items]), np.array([one for _, one in items])
    want = slow_auc(wrong, scores)
    got = auc_roc(wrong, scores)[0]
    assert np.isnan(got) if want is None else got == pytest.approx(want)


def test_average_precision():
    assert auc_pr(np.array([True, False, True]), np.array([0.9, 0.8, 0.7])) == pytest.approx((1 + 2 / 3) / 2)
    assert auc_pr(np.array([True, False, False, False]), np.full(4, 0.5)) == pytest.approx(0.25)
    assert auc_pr(np.array([True]), np.array([0.5])) is None


def test_intervals_hold_the_value_and_resample_responses():
    rng = np.random.default_rng(1)
    golds = ["".join(rng.choice(["f", "w"], 4, p=[0.7, 0.3])) for _ in range(60)]
    saids = ["".join(one if rng.random() < 0.8 else ("f" if one == "w" else "w") for one in gold) for gold in golds]
    samples = [sample(at, gold, ("wk", "math")[at % 2]) for at, gold in enumerate(golds)]
    found = {
        at: prediction(at, said, scores=[0.8 if one == "w" else 0.3 for one in said]) for at, said in enumerate(saids)
    }
    made = score(samples, found)
    for scope in ("all", "wk", "domain mean"):
        one = made.row(scope)
        for name in ("f1", "balanced_accuracy", "precision", "mcc"):
            low, high = one.intervals[name]
            assert low < one.values[name] < high
    low, high = made.row().intervals["auc_roc"]
    assert low < made.row().values["auc_roc"] < high
    assert made == score(samples, found)  # the seed decides
    together = intervals(np.array([[4, 0, 0, 4]] * 10, float), resamples=100, seed=0, level=0.95)
    assert together["f1"] is None  # nothing varies


# --- pairs


def test_mcnemar_is_exact():
    assert mcnemar(0, 0) == 1
    assert mcnemar(1, 8) == pytest.approx(2 * (1 + 9) / 2**9)
    assert mcnemar(5, 5) == 1 and mcnemar(0, 3000) < 1e-300 * 1e300


def test_two_evaluators_are_paired():
    samples = [sample(at, "wf") for at in range(30)]
    good = {at: prediction(at, "wf") for at in range(30)}
    bad = {at: prediction(at, "ff" if at % 3 else "w-") for at in range(29)}
    made = {(one.level, one.abstentions): one for one in paired(samples, good, bad)}
    one = made["segment", "as factual"]
    assert (one.n, one.responses, one.both, one.first, one.second, one.neither) == (58, 29, 39, 19, 0, 0)
    assert one.mcnemar == mcnemar(19, 0) and one.randomisation < 0.001
    gap = one.differences["f1"]
    assert gap.value == pytest.approx(1 - 2 * 10 / (2 * 10 + 19)) and gap.low < gap.value < gap.high
    assert made["segment", "excluded"].n == 48
    same = paired(samples, good, good)[0]
    assert same.differences["f1"].value == 0 and same.mcnemar == same.randomisation == 1
    with pytest.raises(UsageError):
        paired(samples, good, {99: prediction(99, "wf")})


# --- the published files


def published():
    """Of each sample, its prediction by a rule."""
    return load(shared("felm/all.jsonl")).samples


def everything(samples, said):
    return {one.id: prediction(one.id, said * len(one.units)) for one in samples}


def test_flagging_all_has_the_known_figures_in_every_domain():
    samples = published()
    made = score(samples, everything(samples, "w"), resamples=0)
    known = {
        "all": (30.2, 50.0),
        "wk": (43.3, 63.2),
        "reasoning": (24.9, 36.9),
        "math": (34.5, 49.6),
        "science": (26.0, 47.6),
        "writing_rec": (28.8, 51.4),
    }
    for scope, (segment, response) in known.items():
        assert round(100 * made.row(scope).values["f1"], 1) == segment
        assert round(100 * made.row(scope, "response").values["f1"], 1) == response
        assert made.row(scope).values["balanced_accuracy"] == 0.5
    first = load(shared("felm/all.jsonl"), version="817").samples
    assert round(100 * score(first, everything(first, "w"), resamples=0).row().values["f1"], 1) == 25.2


def plain(text):
    return " ".join(text.replace("\\n", " ").split()).lower()


def test_people_of_two_projects_agree_on_31_of_42_responses():
    with shared("factool/knowledge_qa.jsonl").open(encoding="utf-8") as file:
        factool = [json.loads(line) for line in file]
    theirs = {(plain(one["prompt"]), plain(one["response"])): one["label"] for one in factool}
    ours = [((plain(one.prompt), plain(one.response)), one.label is Gold.FACTUAL) for one in published()]
    pairs = [(label, theirs[key]) for key, label in ours if key in theirs]
    assert len(pairs) == 42 and sum(a == b for a, b in pairs) == 31
    assert cohen([(str(a), str(b)) for a, b in pairs]) == pytest.approx(0.476, abs=5e-4)
    cells = people().confusion
    counted = Confusion(
        tp=sum(not a and not b for a, b in pairs),
        fp=sum(a and not b for a, b in pairs),
        fn=sum(not a and b for a, b in pairs),
        tn=sum(a and b for a, b in pairs),
    )
    assert cells == counted
