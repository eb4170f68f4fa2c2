"""Passages as a model is shown them: what fits, and how each is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from .text.normal import is_blank
from .types import Passage

_BYTES_A_TOKEN = 4


def fitting(passages: Sequence[Passage], max_tokens: int) -> tuple[Passage, ...]:
    """What fits, best first; blank passages are none.

    Tokens are estimated at four bytes each. Passages that do not fit are left out from the worst up; the best is cut.
    """
    shown: list[Passage] = []
    room = _BYTES_A_TOKEN * max_tokens
    for passage in passages:
        if is_blank(passage.text):
            continue
        room -= len(passage.title.encode()) + len(passage.text.encode())
        if room < 0 and shown:
            break
        shown.append(passage if room >= 0 else _cut(passage, -room))
    return tuple(shown)


def written(passages: Iterable[Passage]) -> str:
    """The passages one after the other, each with its title and date where it has them."""
    return "\n\n".join(map(_written, passages))


def _written(passage: Passage) -> str:
    head = [f"Title: {passage.title}"] if passage.title else []
    head += [f"Date: {passage.date}"] if passage.date else []
    return "\n".join([*head, passage.text])


def _cut(passage: Passage, surplus: int) -> Passage:
    """Without its last `surplus` bytes or some more, between words; its beginning, so that places in it stay true."""
    kept = passage.text.encode()[:-surplus].decode(errors="ignore")
    return msgspec.structs.replace(passage, text=kept.rpartition(" ")[0] or kept)
