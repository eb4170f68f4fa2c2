"""What the readers of result files share. They raise ValueError, TypeError and the like for what cannot be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...text.align import find_all
from ...types import AtomicFact, Evidence, Failure, Generation, JudgedFact, Label, Sentence, Verdict

Row = Mapping[str, Any]
OMITTED = Failure(stage="verify", error="Omitted", message="left out of the file's verdicts")
NOT_RATED = Failure(stage="judge", error="Omitted", message="the file has no verdicts of this response")
_SHOWN = 80


class Numbered:
    """Makes the facts of one generation, numbered within their sentences."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self._numbers: Counter[int] = Counter()

    def fact(self, text: str, sentence: int = 0, *, original: str = "", repeats: int = 0) -> AtomicFact:
        number = self._numbers[sentence]
        self._numbers[sentence] += 1
        return AtomicFact(
            id=f"{self.generation.id}/{sentence}.{number}",
            text=text,
            sentence=sentence,
            original=original if original and original != text else None,
            repeats=repeats,
        )


def judged(
    fact: AtomicFact,
    said: Any,
    labels: Mapping[str, Label],
    judge: str,
    *,
    evidence: Evidence = Evidence(),
    rationale: str | None = None,
) -> JudgedFact:
    """With the label that the file's word stands for; a word that stands for none is a failure, never a guess."""
    label = labels.get(string(said).strip(" \t\n.#*").lower())
    if label is None:
        message = f"the file says {repr(said)[:_SHOWN]}"
        return JudgedFact(
            fact=fact, evidence=evidence, failure=Failure(stage="verify", error="Omitted", message=message)
        )
    verdict = Verdict(label=label, judge=judge, mode="file", rationale=rationale)
    return JudgedFact(fact=fact, evidence=evidence, verdict=verdict)


def sentences(texts: Sequence[str], whole: str) -> tuple[Sentence, ...]:
    """With their places; one that is not in the text stands at its beginning, with no width."""
    places = find_all(texts, whole)
    return tuple(
        Sentence(index=index, text=text, start=place[0] if place else 0, end=place[1] if place else 0)
        for index, (text, place) in enumerate(zip(texts, places, strict=True))
    )


def objects(value: Any, name: str) -> list[Row]:
    """The value, which must be a list of objects. Raises ValueError."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError(f"{name} must be a list of objects")
    return value


def string(value: Any) -> str:
    """The value if it is a string, "" for anything else."""
    return value if isinstance(value, str) else ""


def flag(value: Any) -> str:
    """ "true" or "false" for a truth value, also for one that was written as a word; "" for anything else."""
    return str(value).lower() if isinstance(value, bool) else string(value)
