"""Labelled generations as reports: people's labels in place of verdicts, so that whatever is computed from a run can
be computed from them too.

Which facts count decides the number (docs/metrics.md, "Human FActScore, three rules"), so the rule is named in the
signature of every report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .errors import UsageError
from .text.align import find
from .text.normal import tokens
from .text.sentences import split
from .types import AtomicFact, Failure, Generation, JudgedFact, Label, Report, Sentence, Verdict

RULES = ("paper", "irrelevant-in", "irrelevant-out")
LABELS = {
    "supported": Label.SUPPORTED,
    "not_supported": Label.NOT_ENOUGH_EVIDENCE,
    "contradicted": Label.CONTRADICTED,
    "not_enough_evidence": Label.NOT_ENOUGH_EVIDENCE,
    "irrelevant": Label.IRRELEVANT,
}
"""A person's label (`GivenFact.label`) -> the verdict it stands for."""
JUDGE = "human"
_MARKS = re.compile(r"[ \t]*(?:\[\d{1,3}\])+")
"""Citation marks, which the annotators of FActScore did not see."""


def gold_reports(generations: Iterable[Generation], *, rule: str = "irrelevant-in") -> Iterator[Report]:
    """One report a generation, in order; nothing is judged.

    - `rule` "irrelevant-in": the facts with their labels as they are. "irrelevant-out": without those labelled
      irrelevant. "paper": the facts of sentences that the annotators found irrelevant (metadata `irrelevant_sentences`)
      count as irrelevant too, each at its sentence's place; this gives the figures of FActScore's Table 1 (arXiv
      2305.14251).
    - "not_supported" becomes NOT_ENOUGH_EVIDENCE: the label does not say whether evidence speaks against the fact.
    - A fact without a label is a failure, `gold:NoLabel`; so is a generation without facts that is not marked as an
      abstention. An empty list of facts is an answer without claims.
    - Sentences are the annotated ones with their place in the text, citation marks within them included; where the
      facts name none, those of `text.sentences`, each fact going to the one that shares most words with it.

    Raises UsageError for an unknown rule.
    """
    if rule not in RULES:
        raise UsageError(f"labels are counted by one of the rules {', '.join(RULES)}, not {rule!r}")
    return (_report(generation, rule) for generation in generations)


@dataclass(frozen=True)
class _Labelled:
    """An annotated sentence and its facts with their verdicts."""

    sentence: str
    facts: Sequence[tuple[str, str | None]]


def _report(generation: Generation, rule: str) -> Report:
    signature = f"gold(rule={rule})"
    if generation.abstained:
        return Report(generation=generation, abstained=True, abstention="in the input", signature=signature)
    if generation.facts is None:
        failure = Failure(stage="gold", error="NoLabel", message="the input has no labelled facts")
        return Report(generation=generation, failure=failure, signature=signature)
    named = all(fact.sentence for fact in generation.facts)
    groups = _annotated(generation) if named else _by_words(generation)
    if rule == "paper":
        groups += _irrelevant(generation)
    sentences = _placed([group.sentence for group in groups], generation.text)
    order = sorted(range(len(groups)), key=lambda place: (sentences[place].start, place))
    facts = [
        _judged(f"{generation.id}/{index}.{n}", index, text, label)
        for index, place in enumerate(order)
        for n, (text, label) in enumerate(groups[place].facts)
        if not (rule == "irrelevant-out" and label == "irrelevant")
    ]
    return Report(
        generation=generation,
        sentences=tuple(
            Sentence(index=index, text=found.text, start=found.start, end=found.end)
            for index, found in enumerate(sentences[place] for place in order)
        ),
        facts=tuple(facts),
        signature=signature,
    )


def _judged(id: str, sentence: int, text: str, label: str | None) -> JudgedFact:
    fact = AtomicFact(id=id, text=text, sentence=sentence, gold=label)
    if label is None:
        return JudgedFact(fact=fact, failure=Failure(stage="gold", error="NoLabel", message="the fact has no label"))
    return JudgedFact(fact=fact, verdict=Verdict(label=LABELS[label], judge=JUDGE, mode="gold"))


def _annotated(generation: Generation) -> list[_Labelled]:
    """Runs of facts that name the same sentence."""
    groups: list[tuple[str, list[tuple[str, str | None]]]] = []
    for fact in generation.facts or ():
        sentence = fact.sentence or ""
        if not groups or groups[-1][0] != sentence:
            groups.append((sentence, []))
        groups[-1][1].append((fact.text, fact.label))
    return [_Labelled(sentence, facts) for sentence, facts in groups]


def _by_words(generation: Generation) -> list[_Labelled]:
    """The sentences of the text, each with the facts that share most words with it."""
    texts = [sentence.text for sentence in split(generation.text)] or [""]
    words = [frozenset(tokens(text)) for text in texts]
    facts: list[list[tuple[str, str | None]]] = [[] for _ in texts]
    for fact in generation.facts or ():
        wanted = frozenset(tokens(fact.sentence or fact.text))
        closest = max(range(len(texts)), key=lambda place: len(wanted & words[place]))
        facts[closest].append((fact.text, fact.label))
    return [_Labelled(text, found) for text, found in zip(texts, facts, strict=True)]


def _irrelevant(generation: Generation) -> list[_Labelled]:
    """What the reader of FActScore's files kept of irrelevant sentences; anything else under that name is not ours."""
    kept = generation.metadata.get("irrelevant_sentences")
    rows = [row for row in kept if isinstance(row, dict)] if isinstance(kept, (list, tuple)) else []
    return [
        _Labelled(str(row.get("text") or ""), [(str(fact), "irrelevant") for fact in row.get("facts") or ()])
        for row in rows
    ]


def _placed(sentences: Sequence[str], text: str) -> list[Sentence]:
    """Each sentence where it stands in the text, looked for after the one before it, then anywhere, then by likeness.
    One that is nowhere is an empty sentence after the one before it."""
    bare, back = _without_marks(text)
    placed: list[Sentence] = []
    at = 0
    for sentence in sentences:
        span = _span(sentence, bare, at)
        if span:
            at = span[1]
            start, end = back[span[0]], back[span[1] - 1] + 1
        else:
            start = end = placed[-1].end if placed else 0
            if (whole := text.find(sentence)) >= 0 < len(sentence):  # what looked like marks is part of it
                start, end = whole, whole + len(sentence)
        placed.append(Sentence(index=len(placed), text=text[start:end], start=start, end=end))
    return placed


def _span(sentence: str, bare: str, at: int) -> tuple[int, int] | None:
    if not sentence:
        return None
    start = bare.find(sentence, at)
    start = bare.find(sentence) if start < 0 else start
    return (start, start + len(sentence)) if start >= 0 else find(sentence, bare)


def _without_marks(text: str) -> tuple[str, list[int]]:
    """The text without citation marks, and for each of its characters the place in the text."""
    pieces: list[str] = []
    back: list[int] = []
    last = 0
    for match in _MARKS.finditer(text):
        pieces.append(text[last : match.start()])
        back.extend(range(last, match.start()))
        last = match.end()
    pieces.append(text[last:])
    back.extend(range(last, len(text)))
    return "".join(pieces), back
