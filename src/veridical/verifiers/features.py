"""How far a claim's words are found in its evidence: the numbers that the embedded judge weighs.

The claim is laid against three windows: the best sentence, the best up to three sentences, and all of the evidence.
Coverage is the share of the claim's content words found there, weighted by their rarity (inverse document frequency).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from .reading import Unit, Word, is_year, skipgrams
from .words import ABSOLUTES, HEDGES, OPPOSITES

UP, DOWN, FREE = 1, -1, 0
FEATURES: dict[str, tuple[str, int]] = {
    "cov_1": ("words", UP),
    "cov_3": ("words", UP),
    "cov_all": ("words", UP),
    "rest_1": ("words", UP),
    "rest_3": ("words", UP),
    "rest_all": ("words", UP),
    "soft_3": ("words", UP),
    "rarest_missing_3": ("words", DOWN),
    "rarest_missing_all": ("words", DOWN),
    "rarest_strange_3": ("words", DOWN),
    "missing_3": ("words", DOWN),
    "missing_all": ("words", DOWN),
    "missing_tail": ("words", DOWN),
    "precision_1": ("words", FREE),
    "precision_3": ("words", FREE),
    "bigrams_1": ("order", UP),
    "bigrams_3": ("order", UP),
    "skipgrams_1": ("order", UP),
    "skipgrams_3": ("order", UP),
    "inversions": ("order", DOWN),
    "subsequence": ("order", UP),
    "slots_left": ("order", DOWN),
    "slots_right": ("order", DOWN),
    "numbers": ("numbers", FREE),
    "number_missing_1": ("numbers", DOWN),
    "number_missing_3": ("numbers", DOWN),
    "number_missing_all": ("numbers", DOWN),
    "year_missing_3": ("numbers", DOWN),
    "year_missing_all": ("numbers", DOWN),
    "number_rival": ("numbers", DOWN),
    "number_context": ("numbers", UP),
    "names": ("names", FREE),
    "name_missing_1": ("names", DOWN),
    "name_missing_3": ("names", DOWN),
    "name_missing_all": ("names", DOWN),
    "name_run_missing": ("names", DOWN),
    "name_rival": ("names", DOWN),
    "topic_found": ("names", UP),
    "negation_claim": ("negation", FREE),
    "negation_mismatch": ("negation", FREE),
    "negation_flipped": ("negation", DOWN),
    "opposite": ("negation", DOWN),
    "absolute_missing": ("negation", DOWN),
    "hedge_extra": ("negation", FREE),
}
"""Every feature's name with its group (for ablation) and the direction in which more of it may move P(supported)."""

_SOFT = 0.7
"""What a word counts that is found only by its first five letters ("director" for "directed")."""

_MOST_NUMBERS = 32
"""Numbers of a claim whose neighbours are compared; more are no fact, and each costs a walk through the window."""


@dataclass(frozen=True)
class Claim:
    """What is asked of the evidence. `topic` are stems that name the subject; they tell little of support."""

    unit: Unit
    weights: Mapping[str, float]
    """Each content stem's rarity."""
    topic: frozenset[str]
    names: tuple[tuple[str, ...], ...]
    """Runs of capitalised stems outside the topic."""


@dataclass(frozen=True)
class Place:
    """A sentence of the evidence: its passage, and the stems of the passage's title, which hold for each sentence."""

    passage: int
    unit: Unit
    title: frozenset[str]


@dataclass(frozen=True)
class Match:
    """What was found: feature values in the order of `FEATURES`, the window's sentences best first, what is missing."""

    values: list[float]
    window: tuple[Place, ...]
    missing: tuple[Word, ...]
    """Content words of the claim that no sentence of the window has."""
    absent_numbers: tuple[Word, ...]
    """Numbers of the claim that no sentence of the evidence has."""
    opposite: tuple[Word, Word, int] | None
    """A word of the claim, its opposite in the window, and the number of the passage that has it."""


def claim_of(units: Sequence[Unit], idf: Mapping[str, float], rarest: float, topic: Iterable[str] = ()) -> Claim:
    """Read a claim; several sentences count as one."""
    words = tuple(word for unit in units for word in unit.words)
    unit = Unit(units[0].start, units[-1].end, words)
    lead = _leading_name(words)
    about = frozenset(topic) | frozenset(lead)
    weights = {stem: idf.get(stem, rarest) for stem in unit.content}  # in text order: sums must not hang on hashes
    return Claim(unit, weights, about & unit.stems, tuple(_runs(words, about)))


def _leading_name(words: Sequence[Word]) -> list[str]:
    """The name a claim opens with: its first run of capitalised content words."""
    lead: list[str] = []
    for word in words:
        if word.content and word.capital and not word.number:
            lead.append(word.stem)
        elif lead or word.content:
            break
    return lead


def _runs(words: Sequence[Word], topic: frozenset[str]) -> Iterable[tuple[str, ...]]:
    run: list[str] = []
    for i, word in enumerate(words):
        if i and word.capital and word.content and not word.number and word.stem not in topic:
            run.append(word.stem)
        elif run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def compare(claim: Claim, places: Sequence[Place]) -> Match:
    """Lay a claim against the sentences of its evidence (at least one)."""
    window = _window(claim, places)
    stems = [place.unit.stems | place.title for place in window]
    near = frozenset().union(*stems)
    everything = frozenset().union(*(place.unit.stems | place.title for place in places))
    missing = tuple(word for word in claim.unit.words if word.content and word.stem not in near)
    words = _words(claim, window, stems[0], near, everything)
    order = _order(claim, window, missing)
    numbers, absent = _numbers(claim, window, places)
    names = _names(claim, window, stems[0], near, everything)
    negation, opposite = _negation(claim, window)
    return Match(words + order + numbers + names + negation, window, missing, absent, opposite)


def _window(claim: Claim, places: Sequence[Place]) -> tuple[Place, ...]:
    """The best sentence, and up to two more that each add words not yet found; neighbours win ties."""
    pairs = claim.unit.skipgrams
    claimed = frozenset(claim.weights)
    found = [claimed & (place.unit.stems | place.title) for place in places]

    def gain(stems: frozenset[str]) -> float:  # rounded, so that ties do not hang on the order of a set
        return round(sum(map(claim.weights.__getitem__, stems)), 4)

    gains = [gain(stems) for stems in found]
    top = max(gains)
    best, best_score = 0, -1.0
    for i, value in enumerate(gains):
        if value >= 0.5 * top:
            score = value * (1 + 0.5 * len(pairs & places[i].unit.skipgrams) / max(1, len(pairs)))
            if score > best_score + 1e-9:
                best, best_score = i, score
    chosen, covered = [best], found[best]
    while len(chosen) < 3:
        added, _, index = max((gain(found[i] - covered), -abs(i - best), -i) for i in range(len(places)))
        if added <= 0:
            break
        chosen.append(-index)
        covered |= found[-index]
    return tuple(places[i] for i in chosen)


def _share(part: float, whole: float, empty: float) -> float:
    return part / whole if whole else empty


def _coverage(weights: Mapping[str, float], found: frozenset[str]) -> float:
    return _share(sum(weight for stem, weight in weights.items() if stem in found), sum(weights.values()), 0.0)


def _words(
    claim: Claim, window: Sequence[Place], best: frozenset[str], near: frozenset[str], everything: frozenset[str]
) -> list[float]:
    weights = claim.weights
    rest = {stem: weight for stem, weight in weights.items() if stem not in claim.topic} or weights
    roots = frozenset().union(*(place.unit.roots for place in window))
    soft = sum(
        weight if stem in near else _SOFT * weight if stem[:5] in roots else 0.0 for stem, weight in rest.items()
    )
    strange = [weight for stem, weight in rest.items() if stem not in near and stem[:5] not in roots]
    absent = [stem for stem in rest if stem not in near]
    nowhere = [stem for stem in rest if stem not in everything]
    tail = [stem for stem in claim.unit.content[-3:] if stem in rest]
    claimed = frozenset(weights)
    first = window[0].unit.stems
    joined = frozenset().union(*(place.unit.stems for place in window))
    return [
        _coverage(weights, best),
        _coverage(weights, near),
        _coverage(weights, everything),
        _coverage(rest, best),
        _coverage(rest, near),
        _coverage(rest, everything),
        soft / sum(rest.values()) if rest else 0.0,
        max((rest[stem] for stem in absent), default=0.0),
        max((rest[stem] for stem in nowhere), default=0.0),
        max(strange, default=0.0),
        float(min(len(absent), 8)),
        float(min(len(nowhere), 8)),
        _share(sum(stem not in near for stem in tail), len(tail), 0.0),
        _share(len(claimed & first), len(first), 0.0),
        _share(len(claimed & joined), len(joined), 0.0),
    ]


def _order(claim: Claim, window: Sequence[Place], missing: Sequence[Word]) -> list[float]:
    unit, first = claim.unit, window[0].unit
    bigrams = frozenset().union(*(place.unit.bigrams for place in window))
    pairs = frozenset().union(*(place.unit.skipgrams for place in window))
    turned = sum((b, a) in pairs and (a, b) not in pairs for a, b in unit.skipgrams)
    found = sum((a, b) in pairs or (b, a) in pairs for a, b in unit.skipgrams)
    left, right = _slots(unit, window, {word.stem for word in missing})
    return [
        _share(len(unit.bigrams & first.bigrams), len(unit.bigrams), 0.0),
        _share(len(unit.bigrams & bigrams), len(unit.bigrams), 0.0),
        _share(len(unit.skipgrams & skipgrams(first.content, 6)), len(unit.skipgrams), 0.0),
        _share(len(unit.skipgrams & pairs), len(unit.skipgrams), 0.0),
        _share(turned, found, 0.0),
        LCSseq.similarity(unit.order, first.order) / max(1, len(unit.order)),
        left,
        right,
    ]


def _slots(unit: Unit, window: Sequence[Place], missing: set[str]) -> tuple[float, float]:
    """How many missing words have another word standing in their place: after the same two words, before the same one.

    "born in Paris" against "born in London" is such a place; it hints at contradiction rather than silence.
    """
    if not missing:
        return 0.0, 0.0
    order = unit.order
    pairs = frozenset().union(*(place.unit.bigrams for place in window))
    left = right = 0
    for i, stem in enumerate(order):
        if stem in missing:
            left += i >= 2 and (order[i - 2], order[i - 1]) in pairs
            right += i + 2 < len(order) and (order[i + 1], order[i + 2]) in pairs
    return float(min(left, 3)), float(min(right, 3))


def _numbers(claim: Claim, window: Sequence[Place], places: Sequence[Place]) -> tuple[list[float], tuple[Word, ...]]:
    claimed = {word.number: word for word in claim.unit.words if word.number}
    if not claimed:
        return [0.0] * 7 + [1.0], ()
    first = window[0].unit.numbers
    near = frozenset().union(*(place.unit.numbers for place in window))
    everything = frozenset().union(*(place.unit.numbers for place in places))
    absent = claimed.keys() - near
    nowhere = claimed.keys() - everything
    rivals = {_kind(number) for number in near - claimed.keys()}
    contexts = [_context(claim, number, window) for number in list(claimed)[:_MOST_NUMBERS] if number in near]
    values = [
        float(min(len(claimed), 4)),
        float(min(len(claimed.keys() - first), 4)),
        float(min(len(absent), 4)),
        float(min(len(nowhere), 4)),
        float(any(map(is_year, absent))),
        float(any(map(is_year, nowhere))),
        float(sum(_kind(number) in rivals for number in absent)),
        min(contexts, default=0.0),
    ]
    return values, tuple(word for word in claim.unit.words if word.number in nowhere)


def _kind(number: str) -> str:
    return "year" if is_year(number) else "month" if number.startswith("month") else "quantity"


def _context(claim: Claim, number: str, window: Sequence[Place]) -> float:
    """Share of the content words around a number in the claim that are around it in the evidence too (best place)."""
    around = frozenset().union(*_around(claim.unit, number, 4, 4)) - claim.topic
    if not around:
        return 1.0
    places = (near for place in window for near in _around(place.unit, number, 5, 2))
    return max((len(around & near) / len(around) for near in places), default=0.0)


def _around(unit: Unit, number: str, before: int, after: int) -> list[frozenset[str]]:
    """The content words near each place of a number, other numbers left out."""
    return [
        frozenset(w.stem for w in unit.words[max(0, i - before) : i + after + 1] if w.content and not w.number)
        for i, word in enumerate(unit.words)
        if word.number == number
    ]


def _names(
    claim: Claim, window: Sequence[Place], best: frozenset[str], near: frozenset[str], everything: frozenset[str]
) -> list[float]:
    names = {stem for run in claim.names for stem in run}
    topic = _share(len(claim.topic & near), len(claim.topic), 1.0)
    if not names:
        return [0.0] * 6 + [topic]
    capitals = {
        word.stem
        for place in window
        for word in place.unit.words[1:]
        if word.capital and word.content and not word.number
    }
    absent = names - near
    return [
        float(min(len(names), 5)),
        _share(len(names - best), len(names), 0.0),
        _share(len(absent), len(names), 0.0),
        _share(len(names - everything), len(names), 0.0),
        float(sum(everything.isdisjoint(run) for run in claim.names)),
        float(bool(absent and capitals - names - claim.topic)),
        topic,
    ]


def _negation(claim: Claim, window: Sequence[Place]) -> tuple[list[float], tuple[Word, Word, int] | None]:
    unit, first = claim.unit, window[0].unit
    order = frozenset().union(*(place.unit.order for place in window))
    claimed = frozenset(unit.order)
    opposite = next(
        (
            (word, other, place.passage)
            for word in unit.words
            if word.stem not in order and not (OPPOSITES.get(word.stem, frozenset()) - claimed).isdisjoint(order)
            for place in window
            for other in place.unit.words
            if other.stem in OPPOSITES[word.stem] and other.stem not in claimed
        ),
        None,
    )
    values = [
        float(unit.negative),
        float(unit.negative != first.negative),
        float(min(_flipped(claim, window), 3)),
        float(opposite is not None),
        float(bool((claimed & ABSOLUTES) - order)),
        float(bool((order & HEDGES) - claimed)),
    ]
    return values, opposite


def _flipped(claim: Claim, window: Sequence[Place]) -> int:
    """Words of the claim outside its topic that are negated on one side only."""
    plain = frozenset().union(*(place.unit.plain for place in window))
    negated = frozenset().union(*(place.unit.negated for place in window)) - plain
    told = claim.unit.stems - claim.topic
    return len(told & claim.unit.negated & plain) + len((told - claim.unit.negated) & negated)
