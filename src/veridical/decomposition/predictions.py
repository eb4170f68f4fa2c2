"""Facts that any other decomposer made, read from a file; and a decomposer's facts, written to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ..errors import InputError
from ..inputs.files import records
from ..text.normal import fold
from .labelled import Response
from .measures import Told


def predicted(responses: Sequence[Response], path: Path) -> list[Told]:
    """Rows of `sentence` (as annotated), `facts` (a list of texts), and `id` or `topic` where a sentence occurs in
    several responses. A sentence without a row is a failure, not one without facts.

    Raises InputError with file, line and field for a row that cannot be used or is of no labelled sentence.
    """
    places: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for number, response in enumerate(responses):
        for sentence in response.sentences:
            for key in ("", response.generation.id, response.topic):
                places.setdefault((key, fold(sentence.text)), []).append((number, sentence.index))
    facts: dict[tuple[int, int], tuple[str, ...]] = {}
    for record in records(str(path), ("sentence", "facts")):
        if record.error:
            raise record.error
        row = record.value if isinstance(record.value, dict) else {}

        def bad(message: str, field: str, line: int = record.line) -> InputError:
            return InputError(message, file=str(path), line=line, field=field)

        sentence, found = row.get("sentence"), row.get("facts")
        if not isinstance(sentence, str):
            raise bad("must be a text", "sentence")
        if not isinstance(found, list) or not all(isinstance(fact, str) for fact in found):
            raise bad("must be a list of texts", "facts")
        key = str(row.get("id") or row.get("topic") or "")
        if not (at := places.get((key, fold(sentence)))):
            raise bad(f"no labelled response has this sentence{f' ({key})' if key else ''}", "sentence")
        facts |= dict.fromkeys(at, tuple(found))
    return [
        Told(
            facts=tuple(facts.get((number, sentence.index), ()) for sentence in response.sentences),
            failed=tuple(sentence.index for sentence in response.sentences if (number, sentence.index) not in facts),
        )
        for number, response in enumerate(responses)
    ]


def written(responses: Sequence[Response], told: Sequence[Told]) -> Iterator[bytes]:
    """A line of JSON for each sentence that was read, as `predicted` takes them back."""
    for response, one in zip(responses, told, strict=True):
        for sentence, facts in zip(response.sentences, one.facts, strict=True):
            if sentence.index not in one.failed:
                row = {"id": response.generation.id, "topic": response.topic, "sentence": sentence.text, "facts": facts}
                yield msgspec.json.encode(row) + b"\n"
