"""Judges measured: any evaluator on any labelled set (docs/meta.md).

A set is read as generations of one given fact each, with its label and its evidence as `reference` (`sets/`); a judge
is run over them like over any input; `measures` tells how far its verdicts are from the labels, `paired` which of two
judges is nearer.
"""

from .measures import Bin, Measures, Trivial, measures, trivial
from .paired import Paired, paired
from .sets import SETS, LabelledSet, labelled_set

__all__ = [
    "SETS",
    "Bin",
    "LabelledSet",
    "Measures",
    "Paired",
    "Trivial",
    "labelled_set",
    "measures",
    "paired",
    "trivial",
]
