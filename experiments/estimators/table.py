"""The table: each estimator's figures on one set, and those of judges that do not look."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veridical.folder import RunFolder
from veridical.stats import bootstrap
from veridical.types import Generation, Label, Report
from veridical.verifiers.embedded import lexical_coverage

HEAD = (
    "| estimator | judged | balanced accuracy | F1 of not supported | score | error rate | calls | tokens | seconds |\n"
    "|---|---|---|---|---|---|---|---|---|"
)
Bits = NDArray[np.bool_]


def table(name: str, generations: Sequence[Generation], folder: Path, estimators: Sequence[str]) -> str:
    gold = [fact.label == "supported" for generation in generations for fact in generation.facts or ()]
    facts = f"{len(gold)} facts of {len(generations)} generations, {sum(gold)} supported"
    lines = [f"\n## {name}: {facts}; people's score {_mean_share(generations, gold):.3f}\n", HEAD]
    lines += [
        _row("always supported", generations, [True] * len(gold)),
        _row("always not supported", generations, [False] * len(gold)),
        _random(gold),
        _row("words of the fact in its evidence, best threshold", generations, _lexical(generations, gold)),
    ]
    for estimator in estimators:
        path = folder / estimator
        if (path / "reports.jsonl").exists():
            lines.append(_estimator(estimator, generations, RunFolder(path), path / "seconds.json"))
    return "\n".join(lines)


def _estimator(name: str, generations: Sequence[Generation], folder: RunFolder, clock: Path) -> str:
    reports = {report.generation.id: report for report in folder.reports()}
    said: list[bool | None] = []
    for generation in generations:
        said += _said(reports.get(generation.id), len(generation.facts or ()))
    calls = sum(report.usage.calls for report in reports.values())
    tokens = sum(report.usage.prompt_tokens + report.usage.completion_tokens for report in reports.values())
    seconds = json.loads(clock.read_text()) if clock.exists() else None
    return _row(name, generations, said, calls=calls, tokens=tokens, seconds=seconds)


def _said(report: Report | None, count: int) -> list[bool | None]:
    """Supported or not, of each given fact in order; None = unscored."""
    if report is None or len(report.facts) != count:
        return [None] * count
    return [judged.verdict.label is Label.SUPPORTED if judged.verdict else None for judged in report.facts]


def _row(
    name: str,
    generations: Sequence[Generation],
    said: Sequence[bool | None],
    *,
    calls: int = 0,
    tokens: int = 0,
    seconds: float | None = None,
) -> str:
    gold, clusters, owner = _flat(generations)
    scored = np.array([one is not None for one in said])
    predicted = np.array([bool(one) for one in said])
    keep = scored.nonzero()[0]
    accuracy = _interval(_balanced, gold, predicted, clusters, keep)
    f1 = _interval(_f1, gold, predicted, clusters, keep)
    ids = [i for i in np.unique(owner) if scored[owner == i].any()]
    estimated = float(np.mean([predicted[(owner == i) & scored].mean() for i in ids])) if ids else float("nan")
    human = float(np.mean([gold[owner == i].mean() for i in ids])) if ids else float("nan")
    cells = [
        name,
        f"{len(keep)} of {len(gold)}",
        accuracy,
        f1,
        f"{estimated:.3f}" if ids else "–",
        f"{100 * abs(estimated - human):.1f}" if ids else "–",
        f"{calls:,}",
        f"{tokens:,}",
        "–" if seconds is None else f"{seconds:,.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _flat(generations: Sequence[Generation]) -> tuple[Bits, NDArray[np.int64], NDArray[np.int64]]:
    """Of each fact: supported by people's labels, the number of its cluster, the number of its generation."""
    gold, clusters, owner = [], [], []
    numbers: dict[str, int] = {}
    for place, generation in enumerate(generations):
        cluster = numbers.setdefault(generation.metadata.get("cluster", generation.id), len(numbers))
        for fact in generation.facts or ():
            gold.append(fact.label == "supported")
            clusters.append(cluster)
            owner.append(place)
    return np.array(gold), np.array(clusters), np.array(owner)


def _balanced(gold: Bits, said: Bits) -> float | None:
    if gold.all() or not gold.any():
        return None
    return float((said[gold].mean() + (~said[~gold]).mean()) / 2)


def _f1(gold: Bits, said: Bits) -> float | None:
    """F1 of not supported."""
    wrong, called = ~gold, ~said
    both = (wrong & called).sum()
    return float(2 * both / (wrong.sum() + called.sum())) if wrong.any() or called.any() else None


def _interval(
    figure: Callable[[Bits, Bits], float | None], gold: Bits, said: Bits, clusters: NDArray[np.int64], keep: NDArray
) -> str:
    if not len(keep):
        return "–"
    value = figure(gold[keep], said[keep])
    if value is None:
        return "–"

    def statistic(places: Sequence[float]) -> float:
        chosen = np.array(places, int)
        found = figure(gold[chosen], said[chosen])
        return value if found is None else found

    span = bootstrap(keep.astype(float), clusters[keep], resamples=500, statistic=statistic)
    return f"{value:.3f}" + (f" [{span[0]:.3f}, {span[1]:.3f}]" if span else "")


def _random(gold: Sequence[bool]) -> str:
    """A fair coin, by expectation."""
    base = 1 - sum(gold) / len(gold)
    return f"| a fair coin (expected) | all | 0.500 | {2 * base * 0.5 / (base + 0.5):.3f} | 0.500 | – | 0 | 0 | – |"


def _lexical(generations: Sequence[Generation], gold: Sequence[bool]) -> list[bool]:
    """Word overlap with the threshold that is best on this very set: an upper bound of what counting words can do."""
    found = [lexical_coverage(f.text, g.reference or "") for g in generations for f in g.facts or ()]
    truth, shares = np.array(gold), np.array(found)
    best = max(np.unique(shares), key=lambda threshold: _balanced(truth, shares >= threshold) or 0.0)
    return [bool(share >= best) for share in shares]


def _mean_share(generations: Sequence[Generation], gold: Sequence[bool]) -> float:
    flat = iter(gold)
    return float(np.mean([np.mean([next(flat) for _ in generation.facts or ()]) for generation in generations]))
