"""How far a run is from gold labels of the same answers.

usage: gold.py RUN GIVEN
  RUN    run folder of the answers, facts extracted
  GIVEN  run folder of the same answers with `--facts given`: the gold facts, each with a person's label
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from veridical.folder import RunFolder
from veridical.metrics import parse
from veridical.types import Label, Report

FACTSCORE = parse("factscore(gamma=0)")


def gold_score(report: Report) -> float | None:
    labels = [fact.label for fact in report.generation.facts or ()]
    return sum(label == "supported" for label in labels) / len(labels) if labels else None


def pairs(given: list[Report]) -> Iterator[tuple[bool, bool]]:
    """(a person says supported, the judge says supported) of each judged gold fact."""
    for report in given:
        for judged in report.facts:
            if judged.verdict:
                yield judged.fact.gold == "supported", judged.verdict.label is Label.SUPPORTED


def share(hits: list[bool]) -> str:
    return f"{sum(hits)} of {len(hits)} ({sum(hits) / len(hits):.0%})" if hits else "none"


def main(run: Path, given: Path) -> None:
    estimated = {report.generation.id: FACTSCORE.of(report) for report in RunFolder(run).reports()}
    judged = list(RunFolder(given).reports())
    rows = [
        (report.generation.id, estimated[report.generation.id], FACTSCORE.of(report), gold)
        for report in judged
        if (gold := gold_score(report)) is not None
    ]
    print(f"{'answer':<14}{'estimated':>10}{'gold facts, judged':>20}{'gold':>8}")
    for name, *values in rows:
        cells = ["–" if value is None else f"{value:.2f}" for value in values]
        print(f"{name:<14}{cells[0]:>10}{cells[1]:>20}{cells[2]:>8}")
    scored = [(a, b, c) for _, a, b, c in rows if a is not None and b is not None]
    means = [sum(column) / len(scored) for column in zip(*scored, strict=True)]
    print(f"{'FActScore':<14}{means[0]:>10.3f}{means[1]:>20.3f}{means[2]:>8.3f}")
    print(
        f"error rate: {abs(means[0] - means[2]) * 100:.1f} points with extracted facts, "
        f"{abs(means[1] - means[2]) * 100:.1f} with the gold facts"
    )
    found = list(pairs(judged))
    true = [judge for person, judge in found if person]
    false = [not judge for person, judge in found if not person]
    print(f"true facts that the judge supports: {share(true)}; false or unknown facts that it does not: {share(false)}")
    print(f"balanced accuracy {(sum(true) / len(true) + sum(false) / len(false)) / 2:.3f} (a coin: 0.500)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
