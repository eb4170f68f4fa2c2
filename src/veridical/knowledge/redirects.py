"""Titles that lead to other titles. They are followed when they are asked for, so a target may come later, or again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from ..types import Struct
from .titles import tidy

MOST_STEPS = 5
"""Redirects that are followed one after the other."""

Rows = Callable[..., Iterable[Any]]
"""The rows of a query with its values."""


class Redirects(Struct, frozen=True, kw_only=True):
    """Where the redirects of a knowledge source lead."""

    resolved: int = 0
    """To a page."""
    dangling: int = 0
    """To a title that is not there."""
    circular: int = 0
    """Back to themselves, or on through more than `MOST_STEPS` others."""


def destination(target: str, rows: Rows) -> int | Literal["dangling", "circular"]:
    """The id of the page that `target` is, or leads to."""
    seen: set[str] = set()
    title = tidy(target.partition("#")[0])
    while True:
        for spelling in dict.fromkeys((title, title[:1].upper() + title[1:])):  # a wiki capitalises the first letter
            for (id_,) in rows("SELECT id FROM page WHERE title = ?", spelling):
                return id_
        if title in seen or len(seen) == MOST_STEPS:
            return "circular"
        seen.add(title)
        further = [row[0] for row in rows("SELECT target FROM redirect WHERE title = ?", title)]
        if not further:
            return "dangling"
        title = tidy(further[0].partition("#")[0])


def counted(rows: Rows) -> Redirects:
    """Where all of them lead."""
    ((resolved,),) = rows("SELECT count(*) FROM redirect JOIN page ON page.title = redirect.target")
    counts = {"dangling": 0, "circular": 0}
    others = "SELECT title, target FROM redirect WHERE NOT EXISTS (SELECT 1 FROM page WHERE page.title = target)"
    for _, target in rows(others):
        found = destination(target, rows)
        if isinstance(found, int):
            resolved += 1
        else:
            counts[found] += 1
    return Redirects(resolved=resolved, **counts)
