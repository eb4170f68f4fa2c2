"""Fields of a generation, and the order of their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import UsageError
from ..types import Generation

OWN = ("topic", "system", "prompt", "id")
"""Fields that are not in the metadata."""

SCALES = (
    (
        ("very rare",),
        ("rare",),
        ("uncommon", "infrequent"),
        ("medium", "moderate"),
        ("common", "freq", "frequent"),
        ("very common", "very freq", "very frequent"),
    ),
    (("none", "zero"), ("very low",), ("low",), ("medium", "moderate"), ("high",), ("very high",)),
    (("never",), ("rarely",), ("sometimes",), ("often",), ("always",)),
    (("tiny",), ("small",), ("medium",), ("large",), ("huge",)),
    (("very short",), ("short",), ("medium",), ("long",), ("very long",)),
    (("trivial",), ("very easy",), ("easy",), ("medium", "moderate"), ("hard", "difficult"), ("very hard",)),
)
"""Words that stand in an order, least first; words of one step are different spellings. The first is FActScore's
frequency of entities (arXiv 2305.14251, appendix A.1)."""
_RANKS = tuple({word: rank for rank, step in enumerate(scale) for word in step} for scale in SCALES)
_DIGITS = re.compile(r"(\d+)")


def value(generation: Generation, field: str) -> Any:
    """The field of the generation or of its metadata ("a.b" is b within a); None where it has none."""
    if field in OWN:
        return getattr(generation, field) or None
    found: Any = generation.metadata
    if field in found:
        return found[field]
    for part in field.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def level(generation: Generation, field: str) -> str:
    """The value as text; "" where there is none."""
    found = value(generation, field)
    if isinstance(found, bool):
        return str(found).lower()
    return "" if found is None else str(found)


def number(found: Any) -> float | None:
    """The value as a finite number; None if it is none."""
    if isinstance(found, bool) or not isinstance(found, (int, float, str)):
        return None
    try:
        made = float(found)
    except (ValueError, OverflowError):
        return None
    return made if abs(made) < float("inf") else None


def scale(levels: Iterable[str]) -> dict[str, int] | None:
    """The rank of each level, if all that are not "" are words of one scale; None otherwise, and for fewer than two."""
    named = {found for found in levels if found}
    plain = {found: " ".join(found.casefold().replace("_", " ").replace("-", " ").split()) for found in named}
    for ranks in _RANKS:
        if len(named) > 1 and all(word in ranks for word in plain.values()):
            return {found: ranks[word] for found, word in plain.items()}
    return None


def ordered(levels: Iterable[str]) -> list[str]:
    """Levels in a natural order: by the scale they are words of, as numbers, or alphabetically with whole numbers
    within taken as numbers. "" is last."""
    named = list(dict.fromkeys(levels))
    if ranks := scale(named):
        return sorted(named, key=lambda found: (not found, ranks.get(found, 0), found))
    if all(number(found) is not None for found in named if found):
        return sorted(named, key=lambda found: (not found, number(found) or 0.0, found))
    return sorted(named, key=lambda found: (not found, _natural(found)))


def missing(field: str, seen: Sequence[str]) -> UsageError:
    """What to say where no generation has the field."""
    there = ", ".join(seen) or "none"
    return UsageError(f"no generation has a field {field!r}; there are {there}")


def names(generation: Generation) -> list[str]:
    """The fields that it has."""
    own = [field for field in ("topic", "system") if getattr(generation, field)]
    return [*own, *(field for field, found in generation.metadata.items() if found is not None)]


def _natural(text: str) -> list[tuple[int, int, str]]:
    parts = _DIGITS.split(text)
    return [(0, int(part), "") if part.isdecimal() and part else (1, 0, part.casefold()) for part in parts]
