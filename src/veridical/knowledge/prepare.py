"""From a unit of a source to pages cut into passages: the work of a build that several processes share."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Literal

import msgspec

from ..types import Struct
from .documents import Record, Section
from .passages import cut, cut_like_factscore
from .sources import Bad, Passed, Unit, read
from .titles import tidy

BATCH = 500
"""Pages of a unit that is too big to be read whole that are handed on together."""


class Settings(Struct, frozen=True, kw_only=True):
    """How pages are cut. `limit` is in words a passage; `compat` packs passages as FActScore does."""

    limit: int
    compat: Literal["factscore"] | None = None
    language: str | None = None
    """Of a dump's wiki, where the dump is not to decide it."""


class Ready(Struct, frozen=True, kw_only=True):
    """A page as the store takes it."""

    title: str
    passages: tuple[tuple[str, str], ...] = ()
    """Section and text of each."""
    url: str | None = None
    aliases: tuple[str, ...] = ()
    target: str | None = None
    """The title of the page that this title only leads to."""
    disambiguation: bool = False
    choices: tuple[str, ...] = ()
    plain: bool = False
    date: str | None = None
    place: str = ""
    """File and line it is from."""


class Batch(Struct, frozen=True, kw_only=True):
    """Pages of a unit, what in it cannot be used, and what is no page, by what it is."""

    pages: list[Ready] = []
    bad: list[Bad] = []
    passed: dict[str, int] = {}


def prepared(unit: Unit, settings: Settings) -> bytes:
    """All of a unit as an encoded `Batch`, to be handed to another process."""
    passed = Passed()
    found = list(read(unit, language=settings.language, passed=passed))
    return msgspec.msgpack.encode(_batch(found, settings, passed))


def decoded(data: bytes) -> Batch:
    return msgspec.msgpack.decode(data, type=Batch)


def streamed(unit: Unit, settings: Settings, *, start: int = 0) -> Iterator[Batch]:
    """A unit in batches, from the `start`th on, in the memory of one of them."""
    passed = Passed()
    found = read(unit, language=settings.language, passed=passed)
    number = 0
    while some := list(islice(found, BATCH)):
        if number >= start:
            yield _batch(some, settings, passed)
        passed.clear()
        number += 1


def _batch(found: list[Record | Bad], settings: Settings, passed: Passed) -> Batch:
    return Batch(
        pages=[ready(one, settings) for one in found if isinstance(one, Record)],
        bad=[one for one in found if isinstance(one, Bad)],
        passed=dict(passed),
    )


def ready(record: Record, settings: Settings) -> Ready:
    """A page cut into passages."""
    aliases = {tidy(alias) for alias in record.redirects} - {"", tidy(record.title)}
    return Ready(
        title=record.title,
        passages=tuple(_passages(record, settings)),
        url=record.url,
        aliases=tuple(sorted(aliases)),
        target=record.target,
        disambiguation=record.disambiguation,
        choices=record.choices,
        plain=record.plain,
        date=record.retrieved or record.date,
        place=record.place,
    )


def _passages(record: Record, settings: Settings) -> list[tuple[str, str]]:
    """Section and text of each passage. Neighbouring sections without heading are one text."""
    clean = [Section(heading=section.heading.strip(), text=_clean(section.text)) for section in record.sections]
    if record.cut:
        return [(section.heading, section.text) for section in clean if section.text]
    if settings.compat == "factscore":
        packed = cut_like_factscore([section.text for section in clean], limit=settings.limit)
        return [("", text) for text in packed]
    joined: list[tuple[str, str]] = []
    for section in clean:
        if joined and not section.heading and not joined[-1][0]:
            joined[-1] = ("", f"{joined[-1][1]}\n\n{section.text}")
        else:
            joined.append((section.heading, section.text))
    return [(heading, passage) for heading, text in joined for passage in cut(text, limit=settings.limit)]


def _clean(text: str) -> str:
    """One normal form of Unicode, and no NUL, at which SQLite's own functions stop reading."""
    return unicodedata.normalize("NFC", text).replace("\x00", "").strip()
