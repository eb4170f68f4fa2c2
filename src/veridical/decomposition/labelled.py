"""Responses whose sentences people split into facts: FActScore's annotated files, and inputs with `facts`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError, UsageError
from ..inputs import read
from ..inputs.files import records
from ..types import Generation, Sentence, Struct


class Response(Struct, frozen=True, kw_only=True):
    """A labelled response: its sentences as annotated, joined by blanks, and people's facts of each (empty: none)."""

    generation: Generation
    sentences: tuple[Sentence, ...]
    human: tuple[tuple[str, ...], ...]
    model: tuple[tuple[str, ...], ...] = ()
    """The facts of a model that the annotators began with, where the file has them."""

    @property
    def topic(self) -> str:
        return self.generation.topic or ""

    @property
    def cluster(self) -> str:
        """What is resampled together: answers to one prompt are not independent."""
        return self.topic or self.generation.prompt or self.generation.id


def labelled(path: Path) -> list[Response]:
    """The responses of a file that people split into facts.

    Raises InputError for a file that cannot be read, UsageError if nobody's facts are in it.
    """
    found = list(_annotated(path)) or list(_given(path))
    if not any(any(one.human) for one in found):
        raise UsageError(f"{path}: no response with facts that name their sentence")
    return found


def _annotated(path: Path) -> Iterator[Response]:
    """FActScore's files (arXiv 2305.14251): sentences with `human-atomic-facts` and `model-atomic-facts`."""
    for number, record in enumerate(records(str(path), ("annotations",))):
        row = record.value
        if record.error or not isinstance(row, dict) or "annotations" not in row:
            if number == 0:
                return  # a file of another kind
            raise record.error or InputError("missing", file=str(path), line=record.line, field="annotations")
        annotations = row["annotations"]
        if not annotations:
            continue  # abstained
        if not isinstance(annotations, list) or not all(
            isinstance(one, dict) and isinstance(one.get("text"), str) for one in annotations
        ):
            raise InputError(
                "must be null or a list of sentences", file=str(path), line=record.line, field="annotations"
            )
        topic = row.get("topic")
        yield response(
            Generation(
                id=f"{path.stem}/{topic or record.line}",
                text="",
                prompt=str(row.get("input") or ""),
                topic=topic if isinstance(topic, str) else None,
                system=path.stem,
            ),
            [one["text"] for one in annotations],
            [_texts(one, "human-atomic-facts") for one in annotations],
            [_texts(one, "model-atomic-facts") for one in annotations],
        )


def _given(path: Path) -> Iterator[Response]:
    """Our own inputs: facts with the sentence they are of."""
    for generation in read(str(path)):
        facts: dict[str, list[str]] = {}
        for fact in generation.facts or ():
            if fact.sentence:
                facts.setdefault(fact.sentence, []).append(fact.text)
        if facts:
            yield response(generation, list(facts), list(facts.values()))


def response(
    generation: Generation,
    sentences: Sequence[str],
    human: Sequence[Sequence[str]],
    model: Sequence[Sequence[str]] = (),
) -> Response:
    """The annotated sentences, joined by blanks, are taken for the text."""
    text, made = "", []
    for index, sentence in enumerate(sentences):
        start = len(text) + bool(text)
        text = f"{text} {sentence}" if text else sentence
        made.append(Sentence(index=index, text=sentence, start=start, end=len(text)))
    whole = Generation(
        id=generation.id, text=text, prompt=generation.prompt, topic=generation.topic, system=generation.system
    )
    return Response(
        generation=whole, sentences=tuple(made), human=tuple(map(tuple, human)), model=tuple(map(tuple, model))
    )


def _texts(sentence: Mapping[str, Any], name: str) -> list[str]:
    return [fact["text"] for fact in sentence.get(name) or [] if isinstance(fact, dict) and fact.get("text")]
