"""Responses against each other: do counts and F1@K of a run follow people's? (SAFE, arXiv 2403.18802, section 4 and
appendix C, table 23)

Counts of facts follow people's already where only the length is known: over FActScore's 496 labelled responses the
number of words has a Pearson of .694 with the number of people's facts, the words of the sentences that they took facts
from .807, SAFE's own splitting .798. So what takes no judge, words and sentences, stands beside every figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ..metrics import f1_at_k
from ..scores import Policy
from ..stats import Correlation, pearson, spearman
from ..tally import tally, trouble
from ..text.sentences import split
from ..types import Struct
from .match import Pair
from .people import IRRELEVANT, NOT_SUPPORTED, SUPPORTED

WHAT = ("facts", SUPPORTED, NOT_SUPPORTED, IRRELEVANT)
LEAST = 3
"""Responses below which nothing is correlated."""
SIZES: dict[str, Callable[[str], int]] = {"words": lambda text: len(text.split()), "sentences": lambda t: len(split(t))}
"""What the text alone says."""


class Correlated(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One figure of the responses of one system, by the run and by people."""

    system: str
    what: str
    """"facts", "supported", "not_supported", "irrelevant" (their numbers), or "f1@64"."""
    pearson: Correlation
    spearman: Correlation
    trivial: dict[str, dict[str, Correlation]]
    """Without a judge: "words" and "sentences" of the response -> "pearson" and "spearman" with people's figure."""
    run: float
    """Mean by the run."""
    people: float
    """Mean by people."""
    left_out: dict[str, int]
    """Responses without the run's figure, by reason."""
    unjudged: int
    """Facts of the run without a verdict, which are in "facts" and in no other number."""


def correlated(system: str, pairs: Sequence[Pair], policy: Policy, *, k: int = 64) -> list[Correlated]:
    """Over the responses with labelled facts that the run takes for answers; [] for fewer than three.

    Facts count as often as they were said, on both sides. Intervals resample prompts, whose answers by several systems
    stay together.
    """
    left: Counter[str] = Counter()
    rows: list[tuple[dict[str, float], dict[str, float]]] = []
    texts: list[str] = []
    prompts: list[bytes] = []
    unjudged = 0
    for pair in pairs:
        if not pair.labelled.facts:
            continue
        if why := "abstained in the run" if pair.report.abstained else trouble(pair.report):
            left[why] += 1
            continue
        counts, said = tally(pair.report, repeats=True), pair.labelled.counts
        run = _figures(counts.facts, counts.supported, counts.not_supported, counts.irrelevant, k)
        people = _figures(said.total(), said[SUPPORTED], said[NOT_SUPPORTED], said[IRRELEVANT], k)
        rows.append((run, people))
        texts.append(pair.labelled.generation.text)
        prompts.append(pair.key)
        unjudged += counts.unjudged
    if len(rows) < LEAST:
        return []
    places = {prompt: number for number, prompt in enumerate(dict.fromkeys(prompts))}
    numbers = [places[prompt] for prompt in prompts]
    sizes = {name: [size(text) for text in texts] for name, size in SIZES.items()}

    def both(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Correlation]:
        settings = {"level": policy.level, "resamples": policy.resamples, "seed": policy.seed}
        return {
            "pearson": pearson(ours, theirs, numbers, **settings),
            "spearman": spearman(ours, theirs, numbers, **settings),
        }

    made = []
    for what in (*WHAT, f"f1@{k}"):
        run, people = [row[0][what] for row in rows], [row[1][what] for row in rows]
        made.append(
            Correlated(
                system=system,
                what=what,
                **both(run, people),
                trivial={name: both(size, people) for name, size in sizes.items()},
                run=sum(run) / len(run),
                people=sum(people) / len(people),
                left_out=dict(left),
                unjudged=unjudged,
            )
        )
    return made


def _figures(facts: int, supported: int, not_supported: int, irrelevant: int, k: int) -> dict[str, float]:
    counts = dict(zip(WHAT, map(float, (facts, supported, not_supported, irrelevant)), strict=True))
    return {**counts, f"f1@{k}": f1_at_k(supported, not_supported, k)}
