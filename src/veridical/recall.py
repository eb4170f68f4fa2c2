"""K of F1@K out of data: how many facts a reader may want is taken from how many the compared systems give.

SAFE (arXiv 2403.18802, section 5 and appendix E.3) takes the median and the maximum of the number of relevant facts
over all responses of all compared models, 64 and 178 for its thirteen. VeriScore (arXiv 2406.19276) takes the upper
median of all extracted claims; here facts that were set aside as irrelevant are left out by that rule too. A K that is
taken from one run alone favours that run, and a figure with another K is another metric: so K is a number in the
metric's name ("f1@64"), and the rule and what it was taken from are told beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from .errors import UsageError
from .tally import tally, trouble
from .types import Report, Struct

RULES: dict[str, str] = {
    "median": "of two middle values their mean, halves rounded up",
    "max": "the greatest of them",
    "upper_median": "of two middle values the greater, as VeriScore does",
    "p25": "the least number that a quarter of the responses do not exceed",
    "p75": "the least number that three quarters of the responses do not exceed",
}
"""Rules by name, and in words."""
_FROM_DATA = re.compile(rf"((?:f1|recall)@)({'|'.join(RULES)})(\([^()]*\))?")


class Choice(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A K and where it comes from."""

    k: int
    rule: str
    runs: int
    responses: int
    """Responses whose facts are all known; abstentions and those that stayed unscored are left out."""

    @property
    def words(self) -> str:
        """For people: "K = 64: median of …"."""
        of = f"relevant facts over {self.responses:,} responses" + (f" of {self.runs} runs" if self.runs > 1 else "")
        how = f" ({RULES[self.rule]})" if self.rule != "max" else ""
        return f"K = {self.k}: {self.rule.replace('_', ' ')} of the {of}{how}"


def relevant(report: Report, *, repeats: bool = False) -> int | None:
    """Supported and not supported facts of a response, and those without a verdict, which may be either; None for an
    abstention and where not all facts are known. A response without a fact counts 0."""
    if report.abstained or trouble(report):
        return None
    counts = tally(report, repeats=repeats)
    return counts.relevant + counts.unjudged


def k_of(counts: Sequence[int], rule: str) -> int:
    """K of the numbers of relevant facts, at least 1. Raises UsageError for an unknown rule and where all are 0."""
    if rule not in RULES:
        raise UsageError(f"K is taken from data by one of {', '.join(RULES)}, not {rule!r}")
    if not counts or max(counts) < 1:
        raise UsageError(f"no response has a relevant fact, so there is no {rule.replace('_', ' ')} to take K from")
    ordered = sorted(counts)
    n = len(ordered)
    if rule == "max":
        found = ordered[-1]
    elif rule == "upper_median":
        found = ordered[n // 2]
    elif rule == "median":
        found = math.floor((ordered[(n - 1) // 2] + ordered[n // 2]) / 2 + 0.5)
    else:
        found = ordered[math.ceil(int(rule[1:]) / 100 * n) - 1]
    return max(1, found)


def from_data(spelling: str) -> bool:
    """Whether K is to be taken from data: "f1@median", "recall@max(repeats)"."""
    return _FROM_DATA.fullmatch(re.sub(r"\s", "", spelling).lower()) is not None


def resolved(
    spellings: Sequence[str], runs: Callable[[], Iterable[Iterable[Report]]]
) -> tuple[list[str], list[Choice]]:
    """The spellings with numbers for K, and the choices behind them. `runs` is asked only if some spelling needs it.

    Raises UsageError where no response has a relevant fact.
    """
    found: dict[tuple[str, bool], Choice] = {}
    wanted = [_FROM_DATA.fullmatch(re.sub(r"\s", "", spelling).lower()) for spelling in spellings]
    for repeats in {_repeats(match) for match in wanted if match}:
        counts = [[n for r in reports if (n := relevant(r, repeats=repeats)) is not None] for reports in runs()]
        every = [n for numbers in counts for n in numbers]
        for rule in dict.fromkeys(match[2] for match in wanted if match and _repeats(match) == repeats):
            choice = Choice(k=k_of(every, rule), rule=rule, runs=len(counts), responses=len(every))
            found[rule, repeats] = choice
    named = [
        f"{match[1]}{found[match[2], _repeats(match)].k}{match[3] or ''}" if match else spelling
        for match, spelling in zip(wanted, spellings, strict=True)
    ]
    return list(dict.fromkeys(named)), list(found.values())


def _repeats(match: re.Match[str]) -> bool:
    return "repeats" in (match[3] or "")
