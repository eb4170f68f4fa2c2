"""FELM: an evaluator of factuality against people's labels of each segment (arXiv 2310.00741).

`records` has the nouns, `data` reads the published file, `ask` builds the prompts and `parse` reads the answers,
`evaluators` judge a sample by a language model and `grounded` by any verifier of ours, `runs` takes the verdicts out of
a run of `veridical score`, `consistency` votes, `evidence` finds the reference text, `run` does all samples and can go
on, `counts`, `measures`, `table` and `pairs` are the figures.
"""

from .data import Loaded, load
from .evaluators import Prompted
from .grounded import Grounded
from .measures import Policy, Scores, score
from .pairs import Paired, paired
from .records import Judgement, Prediction, Ref, Said, Sample, Unit

__all__ = [
    "Grounded",
    "Judgement",
    "Loaded",
    "Paired",
    "Policy",
    "Prediction",
    "Prompted",
    "Ref",
    "Said",
    "Sample",
    "Scores",
    "Unit",
    "load",
    "paired",
    "score",
]
