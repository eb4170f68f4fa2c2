"""Judges measured: any evaluator on any labelled set (docs/meta.md).

A set is read as generations of one given fact each, with its label and its evidence as `reference` (`sets/`); a judge
is run over them like over any input (`worth`: a decomposer, on sets that label what makes a claim), or its verdicts are
read from a file (`predictions`). `measures` tells how far they are from the labels, `trivial` what judges that read
nothing have there, `paired` which of two judges is nearer; `figures` is the arithmetic.
"""

from .figures import Bin
from .measures import Measures, measures
from .paired import Paired, paired
from .predictions import predicted
from .responses import Responses, responses
from .sets import SETS, LabelledSet, labelled_set
from .trivial import Trivial, trivial
from .worth import worth

__all__ = [
    "SETS",
    "Bin",
    "LabelledSet",
    "Measures",
    "Paired",
    "Responses",
    "Trivial",
    "labelled_set",
    "measures",
    "paired",
    "predicted",
    "responses",
    "trivial",
    "worth",
]
