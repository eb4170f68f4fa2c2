"""The reference text that an evaluator sees (section 5.1 and appendix D of the paper): the pages that annotators rested
on, cut into chunks, and of each page the chunk that BM25 finds closest.

The file holds the chunks that the authors used; with `--fetch` pages whose text it lacks are brought from the web.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from ..errors import StageError
from ..knowledge.bm25 import rank
from ..knowledge.passages import cut
from ..types import Passage
from .records import Ref, Sample

CHUNK = 512
"""Words a chunk. The paper says tokens and not which; its own chunks have up to 691 words."""


class Text(Protocol):
    @property
    def text(self) -> str: ...


class Pages(Protocol):
    """Brings pages (`knowledge.web.fetch.Fetcher` does)."""

    async def fetch(self, url: str) -> Text:
        """Raises StageError if it cannot be had."""
        ...


def chunks(text: str, *, limit: int = CHUNK) -> list[str]:
    """Pieces of at most `limit` words, in order, cut between paragraphs, lines or sentences where that can be."""
    return cut(text, limit=limit)


def closest(refs: Sequence[Ref], query: str, *, limit: int = CHUNK, k: int = 1) -> list[tuple[int, str]]:
    """(place of the reference, chunk): of each reference with text the best `k` chunks for the query, references in
    their order, the chunks of one in the order of its text. Ties go to the earlier chunk."""
    found = []
    for place, ref in enumerate(refs):
        if ref.text:
            pieces = chunks(ref.text, limit=limit)
            found += [(place, pieces[at]) for at in sorted(at for at, _ in rank(query, pieces, k))]
    return found


def passages(sample: Sample, query: str, *, limit: int = CHUNK, k: int = 1) -> tuple[Passage, ...]:
    """The same as passages for a verifier, each with its source."""
    return tuple(
        Passage(
            id=f"{sample.id}/ref-{place + 1}.{number}",
            text=text,
            url=sample.refs[place].url,
            source="felm references",
        )
        for number, (place, text) in enumerate(closest(sample.refs, query, limit=limit, k=k), 1)
    )


@dataclass(frozen=True)
class Web:
    """Pages from the web, with a count of those that cannot be had."""

    fetcher: Pages
    name: str = "web"
    troubles: Counter[str] = field(default_factory=Counter, init=False, compare=False)
    """Why, and how often."""

    @property
    def identity(self) -> str:
        """What stands in a signature: the fetcher's settings do not change what a page says."""
        return self.name

    async def fetch(self, url: str) -> Text:
        """As the fetcher."""
        try:
            return await self.fetcher.fetch(url)
        except StageError as error:
            self.troubles[type(error).__name__] += 1
            raise


async def fetched(sample: Sample, pages: Pages) -> Sample:
    """The sample with the text of those of its pages that it lacks, as far as they can be had."""

    async def one(ref: Ref) -> Ref:
        if ref.text or not ref.url:
            return ref
        try:
            text = (await pages.fetch(ref.url)).text
        except StageError:
            return ref
        return Ref(url=ref.url, text=text if text.strip() else None)

    refs = await asyncio.gather(*(one(ref) for ref in sample.refs))
    return msgspec.structs.replace(sample, refs=tuple(refs))
