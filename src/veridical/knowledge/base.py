"""The seam to knowledge: a local store, a web search, or passages given by hand."""

from __future__ import annotations

from typing import Protocol

from ..types import Passage, Query


class Searcher(Protocol):
    """Look passages up. `name` includes the snapshot ("enwiki-20230401") and goes into every signature."""

    @property
    def name(self) -> str: ...

    async def search(self, query: Query, *, k: int) -> list[Passage]:
        """At most k passages, best first, scores never negative, ties in a stable order; [] if nothing matches.

        Raises `TopicNotFound` if `query.topic` names no page, `SearchError` for this query alone, `FatalError` where no
        further search can succeed.
        """
        ...
