"""How what was found is shown to a model: with where it comes from, and no more than there is room for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..text.normal import is_blank
from ..types import Passage

_BYTES_A_TOKEN = 4


def shown(passages: Sequence[Passage]) -> str:
    """The passages in this order, each under its title, address and date as far as they are known."""
    return "\n\n".join(_one(passage) for passage in passages)


def fitting(passages: Sequence[Passage], tokens: int) -> tuple[Passage, ...]:
    """The passages that say something, in their order, as far as they fit; the first is cut if it does not.

    Room is estimated at four bytes a token.
    """
    kept: list[Passage] = []
    room = _BYTES_A_TOKEN * tokens
    for passage in passages:
        if is_blank(passage.text):
            continue
        size = len(_one(passage).encode())
        if size <= room:
            kept.append(passage)
            room -= size
        elif not kept:
            kept.append(_cut(passage, size - room))
            break
    return tuple(kept)


def _one(passage: Passage) -> str:
    head = (("Title", passage.title), ("Source", passage.url), ("Date", passage.date))
    lines = [f"{name}: {' '.join(value.split())}" for name, value in head if value]
    return "\n".join([*lines, passage.text])


def _cut(passage: Passage, surplus: int) -> Passage:
    """Without its last bytes, between words; its beginning, so that places in it stay true."""
    text = passage.text.encode()[: max(1, len(passage.text.encode()) - surplus)].decode(errors="ignore")
    return msgspec.structs.replace(passage, text=text.rpartition(" ")[0] or text)
