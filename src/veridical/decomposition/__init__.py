"""Decomposers measured against facts that people wrote: what of theirs is found, what is made up, what stands alone."""

from .labelled import Response, labelled
from .measures import THRESHOLDS, DecomposerMeasures, Estimate, Follows, Matched, Told, baseline, measured
from .predictions import predicted, written
from .run import Run, run
from .trivial import TRIVIAL, trivial

__all__ = [
    "THRESHOLDS",
    "TRIVIAL",
    "DecomposerMeasures",
    "Estimate",
    "Follows",
    "Matched",
    "Response",
    "Run",
    "Told",
    "baseline",
    "labelled",
    "measured",
    "predicted",
    "run",
    "trivial",
    "written",
]
