"""Decomposers measured against facts that people wrote: what of theirs is found, what is made up, what stands alone."""

from .labelled import Response, labelled
from .measures import THRESHOLDS, DecomposerMeasures, Told, measured
from .trivial import TRIVIAL, trivial

__all__ = ["THRESHOLDS", "TRIVIAL", "DecomposerMeasures", "Response", "Told", "labelled", "measured", "trivial"]
