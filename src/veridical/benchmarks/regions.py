"""From a nationality to one of FActScore's four regions (arXiv 2305.14251, appendix A.1).

The paper names the regions and no list of countries. The table (countries.txt) is ours: countries by the short names of
ISO 3166 and the labels that Wikidata gives for "country of citizenship" (P27), former states, demonyms. Where the names
of the regions leave it open, it follows the released data: Mexico, Puerto Rico and the Caribbean with Latin America,
Egypt with Africa, Iran and the Soviet Union with Europe and the Middle East. Ours alone: Turkey, Cyprus and the
Caucasus with Europe and the Middle East, Central Asia and Afghanistan with Asia.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib.resources import files

from ..text.normal import loose

NORTH_AMERICA = "North America"
EUROPE = "Europe/Middle East"
ASIA = "Asia/Pacific"
LATIN_AMERICA = "Latin America/Africa"
REGIONS = (NORTH_AMERICA, EUROPE, ASIA, LATIN_AMERICA)
"""Spelled as in the released data."""

_SEVERAL = re.compile(r"\s*[|;]\s*")


def region(nationality: str | Iterable[str] | None) -> str | None:
    """The region of a country, former state or demonym; None if it is not in the table.

    Upper case, accents, blanks and "the" before it do not matter. Several nationalities (a sequence, or one string with
    "|" or ";" between them) have the region of the first one that is known.
    """
    if nationality is None:
        return None
    if not isinstance(nationality, str):
        return next(filter(None, map(region, nationality)), None)
    return _region(nationality)


@functools.lru_cache(maxsize=4096)
def _region(nationality: str) -> str | None:
    names = (nationality, *_SEVERAL.split(nationality))
    return next(filter(None, (_table().get(_key(name)) for name in names)), None)


def countries() -> dict[str, str]:
    """Country -> region, by the first name of each line."""
    return {names[0]: where for where, names in _lines()}


def _key(name: str) -> str:
    return loose(name).removeprefix("the ")


def _lines() -> Iterable[tuple[str, list[str]]]:
    """(region, names of one country) out of countries.txt."""
    where = ""
    for line in files("veridical.benchmarks").joinpath("countries.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            where = line.strip("[]")
        elif line and not line.startswith("#"):
            country, _, others = line.partition(" = ")
            yield where, [country, *(name for name in others.split(", ") if name)]


@functools.cache
def _table() -> dict[str, str]:
    return {_key(name): where for where, names in _lines() for name in names}
