"""Corrected scores: right on average whatever the judge does, intervals that hold what they promise, plans that fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.correction import LEAST, Item, corrected, difference, planned
from veridical.errors import UsageError


def population(rng, size, *, mean=0.6, facts=30):
    """Generations with facts that people find supported or not, unlike each other in their share."""
    shares = rng.beta(4 * mean, 4 * (1 - mean), size)
    return [rng.random(facts) < share for share in shares]


def judged(rng, truth, sensitivity, specificity):
    return np.where(truth, rng.random(len(truth)) < sensitivity, rng.random(len(truth)) >= specificity)


def items(rng, truths, labelled, *, sensitivity=0.9, specificity=0.7):
    made = []
    for place, truth in enumerate(truths):
        said = judged(rng, truth, sensitivity, specificity)
        people = {}
        if place in labelled:
            table = ((truth & said).mean(), truth.mean(), (~truth & ~said).mean(), (~truth).mean())
            people = {"people": float(truth.mean()), "hits": tuple(map(float, table))}
        made.append(Item(key=str(place), judge=float(said.mean()), **people))
    return made


def by_method(estimates):
    return {one.method: one for one in estimates}


def test_by_hand():
    """Judge .8, .6, .4, .2 on the labelled four and .5 on four more; people .7, .5, .3, .1: always .1 less."""
    rows = [Item(key=str(n), judge=j, people=j - 0.1) for n, j in enumerate((0.8, 0.6, 0.4, 0.2))]
    rows += [Item(key=str(n), judge=0.5) for n in range(4, 8)]
    found = by_method(corrected(rows))
    assert found["judge"].value == pytest.approx(0.5)
    assert found["labels"].value == pytest.approx(0.4)
    assert found["ppi"].value == pytest.approx(0.4)
    assert found["ppi"].power == pytest.approx(1.0)
    assert found["ppi"].width == pytest.approx(0.0, abs=1e-9)
    assert "labels of facts" in found["rogan-gladen"].note
    # labels alone: deviations .3 .1 -.1 -.3, variance .2/3, half of the run is labelled, t(3) = 3.1824
    assert found["labels"].width == pytest.approx(3.1824 * (0.5 * 0.2 / 3 / 4) ** 0.5, abs=1e-3)


def test_rogan_gladen_by_hand():
    """Sensitivity .8 and specificity .5: a judged mean of .62 is a share of .4."""
    hits = (0.4 * 0.8, 0.4, 0.6 * 0.5, 0.6)
    rows = [Item(key=str(n), judge=0.62, people=0.4, hits=hits) for n in range(5)]
    assert by_method(corrected(rows))["rogan-gladen"].value == pytest.approx(0.4)


@pytest.mark.parametrize(("sensitivity", "specificity"), [(0.95, 0.9), (0.8, 0.6), (0.6, 0.45)])
@pytest.mark.parametrize("target", ["run", "prompts"])
def test_intervals_cover_what_they_promise(sensitivity, specificity, target):
    """250 draws: the share of 95 % intervals that hold the truth is 95 % within what 250 draws can tell, the estimate
    is unbiased although the judge is not, and with a useless judge the interval is little wider than that of labels."""
    rng = np.random.default_rng(7)
    truths = population(rng, 150)
    truth = np.mean([t.mean() for t in truths])
    held, values, widths = [], [], []
    for _ in range(250):
        drawn = truths if target == "run" else [truths[n] for n in rng.integers(0, 150, 150)]
        labelled = set(rng.choice(150, 25, replace=False).tolist())
        found = by_method(
            corrected(items(rng, drawn, labelled, sensitivity=sensitivity, specificity=specificity), target=target)
        )
        held.append(found["ppi"].low <= truth <= found["ppi"].high)
        values.append(found["ppi"].value)
        widths.append((found["ppi"].width, found["labels"].width))
    assert 0.92 <= np.mean(held) <= 0.985
    assert abs(np.mean(values) - truth) < 0.01
    assert np.mean([ppi for ppi, _ in widths]) <= 1.08 * np.mean([labels for _, labels in widths])


def test_a_better_judge_makes_it_narrower():
    rng = np.random.default_rng(1)
    truths = population(rng, 200)
    labelled = set(range(0, 200, 8))
    good = by_method(corrected(items(rng, truths, labelled, sensitivity=0.98, specificity=0.97)))
    bad = by_method(corrected(items(rng, truths, labelled, sensitivity=0.55, specificity=0.5)))
    assert good["ppi"].width < 0.5 * bad["ppi"].width
    assert "too little" in bad["rogan-gladen"].note or bad["rogan-gladen"].width > good["rogan-gladen"].width


def test_facts_drawn_within_generations_are_taken_for_what_they_are():
    """Five of thirty facts labelled in every generation: unbiased, and not taken for labels of everything."""
    rng = np.random.default_rng(3)
    truths = population(rng, 60)
    truth, held = np.mean([t.mean() for t in truths]), []
    for _ in range(300):
        rows = []
        for place, t in enumerate(truths):
            said = judged(rng, t, 0.9, 0.6)
            chosen = rng.choice(len(t), 5, replace=False)
            rows.append(
                Item(
                    key=str(place),
                    judge=float(said.mean()),
                    people=float(t[chosen].mean()),
                    judge_there=float(said[chosen].mean()),
                )
            )
        found = by_method(corrected(rows))["ppi"]
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) >= 0.92


def test_differences_on_the_same_labelled_prompts_are_narrower():
    rng = np.random.default_rng(5)
    truths = population(rng, 100)
    better = [truth | (rng.random(len(truth)) < 0.2) for truth in truths]
    labelled = set(range(30))
    a, b = items(rng, better, labelled), items(rng, truths, labelled)
    other = [
        item if n < 70 else Item(key=item.key, judge=item.judge)
        for n, item in enumerate(items(rng, truths, set(range(40, 70))))
    ]
    same, apart = by_method(difference(a, b)), by_method(difference(a, other))
    truth = np.mean([t.mean() for t in better]) - np.mean([t.mean() for t in truths])
    assert same["labels"].low <= truth <= same["labels"].high
    assert same["labels"].width < apart["labels"].width
    assert same["ppi"].value == pytest.approx(truth, abs=0.1)


def test_a_plan_keeps_its_word():
    rng = np.random.default_rng(11)
    truths = population(rng, 300)
    scores = np.array([t.mean() for t in truths])
    n = planned(0.05, of=300, spread=float(scores.std(ddof=1)))
    widths = []
    for _ in range(50):
        labelled = set(rng.choice(300, n, replace=False).tolist())
        widths.append(by_method(corrected(items(rng, truths, labelled)))["labels"].width)
    assert np.mean(widths) == pytest.approx(0.05, abs=0.004)
    assert planned(0.05, of=300, spread=0.2, agreement=0.9) < planned(0.05, of=300, spread=0.2, agreement=0.5) < n + 300
    assert planned(0.01, of=50, spread=0.3, target="prompts") is None
    assert planned(0.01, of=50, spread=0.3) <= 50


def test_too_few_labels_and_odd_wishes_are_refused():
    rows = [Item(key=str(n), judge=0.5, people=0.5 if n < LEAST - 1 else None) for n in range(9)]
    with pytest.raises(UsageError, match="3 labelled generations of 9"):
        corrected(rows)
    with pytest.raises(UsageError, match="run or prompts"):
        corrected(rows, target="world")
    with pytest.raises(UsageError, match="a plan needs"):
        planned(2.0, of=10, spread=0.1)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.one_of(st.none(), st.floats(0, 1))), min_size=LEAST, max_size=30).filter(
        lambda rows: sum(people is not None for _, people in rows) >= LEAST
    )
)
def test_never_nan_and_within_its_interval(rows):
    for target in ("run", "prompts"):
        made = [Item(key=str(n), judge=judge, people=people) for n, (judge, people) in enumerate(rows)]
        for one in corrected(made, target=target):
            if one.value is not None and one.low is not None:
                assert 0 <= one.low <= one.value + 1e-9
                assert one.value <= one.high + 1e-9 <= 1 + 2e-9
