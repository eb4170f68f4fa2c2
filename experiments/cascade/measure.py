"""A cascade of the embedded judge and a human, on Factcheck-Bench stance pairs: prints the tables of README.md.

    OMP_NUM_THREADS=1 .venv/bin/python experiments/cascade/measure.py      # some seconds

The human label stands for the costly judge, so agreement with it is accuracy of the cheap one where it answers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "judge"))
from evaluate import judge_all
from pairs import factcheck_bench

from veridical.calibration import brier, cross_fit, expected_calibration_error, fit_isotonic, fit_platt
from veridical.cascade import SWEEP_HEAD, sweep
from veridical.types import Label
from veridical.verifiers.embedded import EmbeddedJudge


def main() -> None:
    pairs = list(factcheck_bench())
    verdicts, _ = judge_all(pairs, EmbeddedJudge())
    if len(verdicts) != len(pairs):
        raise SystemExit("a pair has no verdict")
    raw = np.array([verdict.probability for verdict in verdicts], float)
    own = [verdict.label is Label.SUPPORTED for verdict in verdicts]
    human = np.array([pair.label == "supported" for pair in pairs])
    clusters = [pair.cluster for pair in pairs]
    scores = {
        "raw": raw,
        "isotonic, cross-fit over claims": cross_fit(raw, human, clusters, fit=fit_isotonic),
        "Platt, cross-fit over claims": cross_fit(raw, human, clusters, fit=fit_platt),
    }
    print(f"{len(pairs)} pairs, {human.sum()} supported, {len(set(clusters))} claims\n")
    print("| probability | Brier | ECE, width | ECE, mass |\n|---|---|---|---|")
    for name, p in scores.items():
        errors = [expected_calibration_error(p, human, binning=binning) for binning in ("width", "mass")]
        print(f"| {name} | {brier(p, human):.3f} | {errors[0]:.3f} | {errors[1]:.3f} |")
    for name, p in scores.items():
        print(f"\n{name}\n\n{SWEEP_HEAD}")
        print(*sweep(p.tolist(), human.tolist(), supported=own), sep="\n")


if __name__ == "__main__":
    main()
