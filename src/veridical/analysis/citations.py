"""Whether citations go with support: marks such as [1] against verdicts.

FActScore (arXiv 2305.14251, section 3.4) found that those of PerplexityAI have little correlation with precision:
unsupported sentences carry them as often as supported ones.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from ..errors import UsageError
from ..scores import Policy
from ..types import JudgedFact, Label, Report, Sentence, Struct
from .marks import Span, marks
from .shares import RULES, Counted, Coverage, Estimate, Rows, Share, difference, share, supported

SENTENCES = ("supported", "unsupported", "irrelevant", "unjudged", "without facts")
"""Kinds of sentences: "unsupported" with a fact that is contradicted or lacks evidence; else "unjudged" with a fact
that has no verdict; else "irrelevant" with an irrelevant one; "supported" if all its facts are."""
FACTS = (*(label.value for label in Label), "unjudged")
_GAP = " \t\r\n.,;:!?\"'()\u2019\u201d\u3002\uff0c"
"""What may stand between a sentence and a mark that belongs to it."""


class Citations(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Shares of sentences and facts that carry a citation, and support with and without one."""

    marks: int
    """Marks in the texts looked at; with none there is nothing to read here."""
    responses: Share
    """Prompts whose responses have a mark."""
    sentences: dict[str, Share]
    """By kind (`SENTENCES`) and "all", those cited. A kind that does not occur is left out."""
    facts: dict[str, Share]
    """By verdict (`FACTS`), those in a cited sentence; "not_supported" joins contradicted and without evidence."""
    cited: Share
    """Of facts in cited sentences, those supported."""
    uncited: Share
    """Of the other facts, those supported."""
    difference: Estimate
    """`cited` minus `uncited`."""
    rule: str
    """How facts count in `cited` and `uncited`."""
    coverage: Coverage


_KINDS = (
    *(("sentences", name) for name in ("all", *SENTENCES)),
    *(("facts", name) for name in (*FACTS, "not_supported")),
)


def citations(
    reports: Iterable[Report],
    *,
    authors: bool = False,
    rule: str = "factscore",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Citations:
    """Look for marks in the text (see `marks.marks`) and give each to its sentence; a fact is cited if its sentence is.

    A mark belongs to the sentence it stands in, or behind ("… in 1932.[1][2] She"). One pass over the reports. Raises
    UsageError for an unknown rule.
    """
    if rule not in RULES:
        raise UsageError(f"facts are counted by one of {', '.join(RULES)}, not {rule!r}")
    policy = Policy(level=level, resamples=resamples, seed=seed)
    counted = Counted()
    number = 0
    rows = Rows(2 * len(_KINDS) + 4)
    responses = Rows(2)
    for report in reports:
        if counted.takes(report):
            spans = marks(report.generation.text, authors=authors)
            number += len(spans)
            rows.add(report, _row(report, cited_sentences(report.sentences, spans, report.generation.text), rule))
            responses.add(report, (float(bool(spans)), 1.0))
    matrix = rows.matrix()
    shares = {kind: share(matrix[:, 2 * n : 2 * n + 2], policy) for n, kind in enumerate(_KINDS)}
    support = matrix[:, 2 * len(_KINDS) :]
    return Citations(
        marks=number,
        responses=share(responses.matrix(), policy),
        sentences={name: found for (unit, name), found in shares.items() if unit == "sentences" and found.n},
        facts={name: found for (unit, name), found in shares.items() if unit == "facts" and found.n},
        cited=share(support[:, :2], policy),
        uncited=share(support[:, 2:], policy),
        difference=difference(support, policy),
        rule=RULES[rule],
        coverage=counted.coverage(),
    )


def cited_sentences(sentences: Sequence[Sentence], spans: Sequence[Span], text: str) -> set[int]:
    """Indices of the sentences that a mark belongs to."""
    inorder = sorted((sentence for sentence in sentences if sentence.text), key=lambda sentence: sentence.start)
    starts = [sentence.start for sentence in inorder]
    found: set[int] = set()
    reach = -1  # end of the last mark that belongs to a sentence, since marks stand in rows
    for start, end in spans:
        place = bisect_right(starts, start) - 1
        if place < 0:
            continue
        behind = max(inorder[place].end, reach)
        if start < behind or not text[behind:start].strip(_GAP):
            found.add(inorder[place].index)
            reach = end
    return found


def kind(facts: Sequence[JudgedFact]) -> str:
    """Which of `SENTENCES` a sentence with these facts is."""
    labels = {judged.verdict.label if judged.verdict else None for judged in facts}
    if labels & {Label.CONTRADICTED, Label.NOT_ENOUGH_EVIDENCE}:
        return "unsupported"
    if None in labels:
        return "unjudged"
    if Label.IRRELEVANT in labels:
        return "irrelevant"
    return "supported" if labels else "without facts"


def _row(report: Report, cited: set[int], rule: str) -> list[float]:
    """For each kind cited and all; then supported and counted facts with, and without a mark."""
    row = [0.0] * (2 * len(_KINDS) + 4)

    def count(unit: str, name: str, has: bool) -> None:
        place = 2 * _KINDS.index((unit, name))
        row[place] += has
        row[place + 1] += 1

    facts: dict[int, list[JudgedFact]] = {sentence.index: [] for sentence in report.sentences}
    for judged in report.facts:
        facts.setdefault(judged.fact.sentence, []).append(judged)
        has = judged.fact.sentence in cited
        label = judged.verdict.label if judged.verdict else None
        count("facts", label.value if label else "unjudged", has)
        if label in (Label.CONTRADICTED, Label.NOT_ENOUGH_EVIDENCE):
            count("facts", "not_supported", has)
        hit = supported(judged, rule)
        if hit is not None:
            place = 2 * len(_KINDS) + (0 if has else 2)
            row[place] += hit
            row[place + 1] += 1
    for index, inside in facts.items():
        count("sentences", "all", index in cited)
        count("sentences", kind(inside), index in cited)
    return row
