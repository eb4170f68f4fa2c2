"""What any decomposer has to beat, and the facts that annotators began with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .labelled import Response
from .measures import Told

SEPARATORS = re.compile(r"[,;]|\band\b|\bwho\b|\bwhich\b|\bwhere\b")
BEGUN_WITH = "the model's facts that annotators began with"
"""No baseline but an upper reference, and a favoured one: people revised these facts instead of writing anew."""
_WORD = re.compile(r"\w")


def pieces(sentence: str) -> list[str]:
    """A sentence cut at commas, semicolons, "and", "who", "which", "where"."""
    return [piece.strip() for piece in SEPARATORS.split(sentence) if _WORD.search(piece)]


TRIVIAL: dict[str, Callable[[str], list[str]]] = {
    "the sentence itself": lambda sentence: [sentence],
    'split at commas, "and", …': pieces,
}


def trivial(responses: Sequence[Response]) -> dict[str, list[Told]]:
    """What needs no decomposer; last, where the files have them, a model's facts from which people began."""
    made = {
        name: [Told(facts=tuple(tuple(split(one.text)) for one in response.sentences)) for response in responses]
        for name, split in TRIVIAL.items()
    }
    if any(any(response.model) for response in responses) and all(response.model for response in responses):
        made[BEGUN_WITH] = [Told(facts=one.model) for one in responses]
    return made
