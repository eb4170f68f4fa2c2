"""A row of FActScore's Table 1 (arXiv 2305.14251): how much a system answers, how long, how often it is right."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from ..metrics import Metric
from ..scores import Group, Policy
from ..tally import tally, trouble
from ..types import Label, Report, Score, Struct
from .groups import with_beside
from .shares import Estimate, Rows, ratio


class Overview(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Means over generations."""

    scores: tuple[Score, ...]
    """The metric asked for, precision, response rate, facts per response."""
    words: Estimate
    """Per answer, by white space."""
    sentences: Estimate
    """Per answer; headings and items of lists count."""
    facts_per_sentence: Estimate
    """Facts of all answers over their sentences."""
    labels: dict[str, float]
    """The statistics of the labels: the mean share of each verdict in a response, and of abstentions; together 1.
    Over the answers with a judged fact, and the abstentions. Empty where there are none."""
    answers: int
    """Answers that words and sentences are counted in: neither abstained nor failed."""


def overview(
    reports: Iterable[Report],
    metric: Metric,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    abstentions: str = "exclude",
) -> Overview:
    """One pass over the reports of one system."""
    policy = Policy(level=level, resamples=resamples, seed=seed, abstentions=abstentions)
    group = Group(with_beside(metric), policy)
    rows = Rows(4)  # answers, words, sentences, facts
    labels = array("d")
    answers = 0
    for report in reports:
        group.add(report)
        labels.extend(_labels(report))
        if not report.abstained and not trouble(report):
            answers += 1
            facts, words = len(report.facts), len(report.generation.text.split())
            rows.add(report, (1.0, float(words), float(len(report.sentences)), float(facts)))
    matrix = rows.matrix()
    return Overview(
        scores=tuple(group.scores()),
        words=ratio(matrix[:, [1, 0]], policy),
        sentences=ratio(matrix[:, [2, 0]], policy),
        facts_per_sentence=ratio(matrix[:, [3, 2]], policy),
        labels=_means(labels),
        answers=answers,
    )


_NAMES = (*(label.value for label in Label), "abstained")


def _labels(report: Report) -> Sequence[float]:
    """Shares of the verdicts in the response; nothing where none is known."""
    if report.abstained:
        return [0.0] * len(Label) + [1.0]
    counts = tally(report)
    if trouble(report) or not counts.judged:
        return []
    return [*(getattr(counts, label.value) / counts.judged for label in Label), 0.0]


def _means(labels: Sequence[float]) -> dict[str, float]:
    shares = np.array(labels, dtype=np.float64).reshape(-1, len(_NAMES))
    return dict(zip(_NAMES, shares.mean(axis=0).tolist(), strict=True)) if len(shares) else {}
