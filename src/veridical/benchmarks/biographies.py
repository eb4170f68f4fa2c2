"""The biographies prompt set of FActScore: which people, drawn how, asked for with which words.

Source: Min et al. 2023 (arXiv 2305.14251), appendix A.1 for the draw, section 3.3 and the `input` field of the released
labelled data for the question. People with a Wikipedia page are put into 20 cells, five levels of frequency by four
regions of nationality, and drawn uniformly over the cells. The released sets have 183 and 500 people.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from ..types import Struct
from .entities import Entity
from .regions import REGIONS, region

QUESTION = "Question: Tell me a bio of {name}."
"""The question of the benchmark, to the letter."""
LEVELS = ("very rare", "rare", "medium", "freq", "very freq")
"""Spelled as in the released data; in the paper the last two are "frequent" and "very frequent"."""
BOUNDS = (10**2, 10**3, 10**4, 10**5)
"""Where each level after the first begins: [0, 10^2) is very rare, [10^5, inf) very frequent (appendix A.1)."""
FILLS = ("leave", "neighbours")
_SPARE = 64
"""Candidates of a cell beyond those wanted: some turn out to be ambiguous."""
_MOST_UNKNOWN = 1000
"""Unknown nationalities that are told apart."""

Place = tuple[int, int]
"""A cell: index of its level, index of its region."""


def level(value: float, bounds: Sequence[float] = BOUNDS) -> str:
    """The level of frequency of a value of 0 or more; `bounds` belong to the level above."""
    return LEVELS[bisect_right(bounds, value)]


class Prompt(Struct, frozen=True, kw_only=True):
    """One line of a prompt set; with an answer as "output" it is an input of `veridical score`."""

    id: str
    prompt: str
    topic: str
    metadata: dict[str, Any] = {}


class Drawn(Struct, frozen=True, kw_only=True):
    """A person of a sample and the cell it is in."""

    entity: Entity
    frequency: str
    region: str


class Cell(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One of the 20 cells and what was taken from it."""

    frequency: str
    region: str
    available: int
    """People in it, without those found to be ambiguous or listed twice."""
    wanted: int
    drawn: int
    """More than wanted where it filled in for a neighbour."""


class Draw(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A sample and everything that is not in it."""

    entities: tuple[Drawn, ...]
    """In random order, so that the first of them are a sample too."""
    cells: tuple[Cell, ...]
    wanted: int
    people: int
    """Usable rows of the table."""
    unknown_nationality: int
    """People left out since their nationality is missing or not in the table of countries."""
    unknown: tuple[tuple[str, int], ...]
    """The most frequent of these nationalities ("" where it is missing) and their numbers."""
    duplicates: int
    """Further rows of a person among the candidates; the first one counts."""
    ambiguous: int
    """Names among the candidates that several people have, left out."""

    @property
    def short(self) -> int:
        """How many fewer than wanted were found."""
        return self.wanted - len(self.entities)


def draw(
    entities: Iterable[Entity],
    n: int,
    *,
    seed: int = 0,
    bounds: Sequence[float] = BOUNDS,
    fill: str = "leave",
) -> Draw:
    """`n` people, uniformly over the 20 cells and uniformly in each, without replacement.

    `n` that 20 does not divide gives one more to cells chosen at random. A cell that runs short is left short, or with
    `fill` "neighbours" the rest is taken from the nearest level of the same region, then from the same level of other
    regions, then from anywhere. A name that several people have is left out; a person listed twice counts once, in the
    cell of the first row. Who is drawn depends on seed and names, not on the order of the rows.

    `entities` is read at least twice, a row at a time; what is held are some more than `n` candidates a cell (the ones
    with the smallest hash of seed and name: a reservoir in which a name falls into the same place wherever it stands).
    Raises UsageError for an impossible n, bounds or fill, and for an iterator, which can be read only once.
    """
    _check(entities, n, bounds, fill)
    size = n + _SPARE
    while True:
        pools = _Pools(entities, seed, bounds, size)
        quotas = _quotas(n, seed)
        taken = {place: min(quotas[place], len(pools.eligible[place])) for place in quotas}
        if fill == "neighbours":
            _fill(taken, quotas, pools)
        if not pools.starved(quotas, all_used=fill == "neighbours" and sum(taken.values()) < n):
            return pools.draw(n, quotas, taken)
        size *= 4  # almost all candidates of a full cell were ambiguous


def prompts(people: Iterable[Drawn | Entity | str], *, bounds: Sequence[float] = BOUNDS) -> Iterator[Prompt]:
    """The biographies prompt set: the published question for each person, or for each of a list of names.

    The id is that of the table, else the name. Metadata: frequency, region, value and nationality, as far as known.
    """
    for person in people:
        if isinstance(person, str):
            yield Prompt(id=person, prompt=QUESTION.format(name=person), topic=person)
            continue
        entity = person.entity if isinstance(person, Drawn) else person
        where = person.region if isinstance(person, Drawn) else region(entity.nationality)
        metadata = {
            "frequency": person.frequency if isinstance(person, Drawn) else level(entity.value, bounds),
            "region": where,
            "value": int(entity.value) if entity.value.is_integer() else entity.value,
            "nationality": " | ".join(entity.nationality) or None,
        }
        yield Prompt(
            id=entity.id or entity.name,
            prompt=QUESTION.format(name=entity.name),
            topic=entity.name,
            metadata={name: value for name, value in metadata.items() if value is not None},
        )


def some(listed: Sequence[str], n: int, *, seed: int = 0) -> list[str]:
    """`n` of a list of names, in random order; all where there are no more."""
    if n < 1:
        raise UsageError(f"a sample needs at least one name: {n}")
    return sorted(listed, key=lambda name: _priority(name, seed))[:n] if n < len(listed) else list(listed)


# --- the draw --------------------------------------------------------------------------------------------------------


def _check(entities: Iterable[Entity], n: int, bounds: Sequence[float], fill: str) -> None:
    if n < 1:
        raise UsageError(f"a sample needs at least one person: {n}")
    if fill not in FILLS:
        raise UsageError(f"fill is {' or '.join(FILLS)}, not {fill!r}")
    rising = all(low < high for low, high in zip((0, *bounds), bounds, strict=False))
    if len(bounds) != len(LEVELS) - 1 or not rising:
        raise UsageError(f"{len(LEVELS) - 1} rising bounds above 0 part the levels: {', '.join(map(str, bounds))}")
    if iter(entities) is entities:
        raise UsageError("entities are read twice: give a list or `Entities`, not an iterator")


def _places() -> list[Place]:
    return [(low, where) for low in range(len(LEVELS)) for where in range(len(REGIONS))]


def _quotas(n: int, seed: int) -> dict[Place, int]:
    places = _places()
    each, rest = divmod(n, len(places))
    lucky = set(random.Random(seed).sample(range(len(places)), rest))
    return {place: each + (number in lucky) for number, place in enumerate(places)}


def _priority(key: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{key}".encode(errors="surrogatepass"), digest_size=8).digest())


@dataclass
class _Seen:
    """What the second reading finds out about a candidate's name."""

    first: Entity | None = None
    place: Place | None = None
    """The cell of its first row that has one."""
    ambiguous: bool = False
    repeated: bool = False
    """Another name of the same id stands before it."""
    entity: Entity | None = None
    rows: Counter[Place] = field(default_factory=Counter)


class _Pools:
    """The candidates of each cell, from two readings of the table."""

    def __init__(self, entities: Iterable[Entity], seed: int, bounds: Sequence[float], size: int) -> None:
        self.bounds, self.seed = bounds, seed
        self.available: Counter[Place] = Counter()
        self.overflowed: Counter[Place] = Counter()
        self.people = self.nowhere = self.duplicates = 0
        self.unknown: Counter[str] = Counter()
        held = self._candidates(entities, size)
        self._seen = {key: _Seen() for keys in held.values() for key in keys}
        self._look(entities)
        self.eligible = {
            place: [entity for key in sorted(keys, key=self._order) if (entity := self._standing(key, place))]
            for place, keys in held.items()
        }
        """The people of each cell that may be drawn, in random order."""
        for seen in self._seen.values():
            self.available.subtract(seen.rows)
            if seen.place and not (seen.ambiguous or seen.repeated):
                self.available[seen.place] += 1

    @property
    def ambiguous(self) -> int:
        return sum(seen.ambiguous for seen in self._seen.values())

    def _order(self, key: str) -> tuple[int, str]:
        return _priority(key, self.seed), key

    def _place(self, entity: Entity) -> Place | None:
        where = region(entity.nationality)
        return (bisect_right(self.bounds, entity.value), REGIONS.index(where)) if where else None

    def _candidates(self, entities: Iterable[Entity], size: int) -> dict[Place, set[str]]:
        """The `size` names of each cell with the smallest hashes."""
        heaps: dict[Place, list[tuple[int, str]]] = {place: [] for place in _places()}
        held: dict[Place, set[str]] = {place: set() for place in heaps}
        for entity in entities:
            self.people += 1
            place = self._place(entity)
            if place is None:
                self._nowhere(entity)
                continue
            self.available[place] += 1
            heap, names, key = heaps[place], held[place], entity.key
            if key in names:
                continue
            entry = (-_priority(key, self.seed), key)
            if len(heap) < size:
                heapq.heappush(heap, entry)
                names.add(key)
                continue
            self.overflowed[place] += 1
            if entry > heap[0]:
                names.add(key)
                names.remove(heapq.heapreplace(heap, entry)[1])
        return held

    def _nowhere(self, entity: Entity) -> None:
        self.nowhere += 1
        label = entity.nationality[0] if entity.nationality else ""
        if label in self.unknown or len(self.unknown) < _MOST_UNKNOWN:
            self.unknown[label] += 1

    def _look(self, entities: Iterable[Entity]) -> None:
        """Read again: which candidates share their name, or their id, with another row."""
        owner: dict[str, str] = {}
        for entity in entities:
            seen = self._seen.get(key := entity.key)
            if seen is None:
                continue
            place = self._place(entity)
            if place:
                seen.rows[place] += 1
            if seen.place is None:
                seen.place, seen.entity = place, entity if place else None
            if seen.first is None:
                seen.first = entity
                seen.repeated = bool(entity.id) and owner.setdefault(entity.id or "", key) != key
                self.duplicates += seen.repeated
            elif seen.first.id == entity.id if entity.id else seen.first == entity:
                self.duplicates += 1
            else:
                seen.ambiguous = True

    def _standing(self, key: str, place: Place) -> Entity | None:
        """The person of this name if it stands in this cell and is the only one."""
        seen = self._seen[key]
        return seen.entity if seen.place == place and not (seen.ambiguous or seen.repeated) else None

    def starved(self, quotas: dict[Place, int], *, all_used: bool) -> bool:
        """Whether too few candidates were held: a cell with more people gave fewer than it should, or, where everyone
        is wanted, any."""
        return any(
            self.overflowed[place] and (all_used or len(self.eligible[place]) < quota)
            for place, quota in quotas.items()
        )

    def draw(self, n: int, quotas: dict[Place, int], taken: dict[Place, int]) -> Draw:
        """The first `taken` people of each cell."""
        chosen = [(entity, place) for place, count in taken.items() for entity in self.eligible[place][:count]]
        chosen.sort(key=lambda pair: self._order(pair[0].key))
        return Draw(
            entities=tuple(
                Drawn(entity=entity, frequency=LEVELS[place[0]], region=REGIONS[place[1]]) for entity, place in chosen
            ),
            cells=tuple(
                Cell(
                    frequency=LEVELS[place[0]],
                    region=REGIONS[place[1]],
                    available=self.available[place],
                    wanted=quotas[place],
                    drawn=taken[place],
                )
                for place in quotas
            ),
            wanted=n,
            people=self.people,
            unknown_nationality=self.nowhere,
            unknown=tuple(self.unknown.most_common(5)),
            duplicates=self.duplicates,
            ambiguous=self.ambiguous,
        )


def _fill(taken: dict[Place, int], quotas: dict[Place, int], pools: _Pools) -> None:
    """Take what short cells lack from their neighbours, one at a time in turn, the nearest that has some left."""
    lacking = {place: quotas[place] - count for place, count in taken.items() if count < quotas[place]}
    while lacking:
        for place in list(lacking):
            spare = (other for other in _nearest(place) if taken[other] < len(pools.eligible[other]))
            other = next(spare, None)
            if other is None:
                return
            taken[other] += 1
            lacking[place] -= 1
            if not lacking[place]:
                del lacking[place]


def _nearest(place: Place) -> list[Place]:
    """The other cells: same region by level, same level, the rest."""

    def distance(other: Place) -> tuple[int, int, Place]:
        far = 0 if other[1] == place[1] else 1 if other[0] == place[0] else 2
        return far, abs(other[0] - place[0]), other

    return sorted((other for other in _places() if other != place), key=distance)
