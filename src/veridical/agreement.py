"""How far annotators agree: raw share, Cohen's and Fleiss' kappa, Krippendorff's alpha, and where each is undefined.

Labels are categories without order. Annotators need not have labelled the same items, nor equally many each.

- raw agreement: of all pairs of labels that two annotators gave one item, the share that are equal;
- Cohen's kappa (1960): two annotators, chance from each one's own label counts;
- Fleiss' kappa (1971): any annotators, chance from the label counts of all together; each item needs equally many
  labels, so items with fewer than the most are left out and counted;
- Krippendorff's alpha (nominal; Content Analysis, 4th edition, chapter 12): like Fleiss', with items of any number of
  labels from 2 and a correction for few labels.

Where all labels are of one kind there is nothing to agree about beyond chance: kappa and alpha are undefined (0/0), not
0 and not 1 (libraries differ). Where one label has nearly all, they are low for however many equal labels: the counts
are given so that this is seen.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .errors import UsageError
from .stats import Floats, bootstrap
from .types import Struct

ONE_KIND = "undefined: all labels are of one kind"
NO_PAIRS = "undefined: no item has two labels"
SKEWED = 0.9
"""Share of one label from which its skew is said."""
_CELLS = 1 << 20
"""Resampled counts held at once."""


class Mark(NamedTuple):
    """One annotator's label of one item."""

    item: str
    annotator: str
    label: str


class Coefficient(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A coefficient of agreement: 1 is perfect, 0 is chance, below is worse than chance."""

    name: str
    value: float | None
    """None where it is undefined; `note` says why."""
    low: float | None = None
    high: float | None = None
    """Bootstrap over items."""
    items: int = 0
    """Items that it is made of."""
    note: str = ""


class HumanAgreement(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Agreement of all annotators, and of each pair of them."""

    items: int
    """Labelled by anybody."""
    doubly: int
    """Labelled by two or more."""
    annotators: tuple[str, ...]
    labels: dict[str, int]
    """Label -> how often it was given, most frequent first."""
    given: dict[str, dict[str, int]]
    """Annotator -> the same, of that one's labels."""
    coefficients: tuple[Coefficient, ...]
    """"raw", "fleiss_kappa", "krippendorff_alpha", and with two annotators "cohen_kappa"."""
    pairs: dict[str, tuple[Coefficient, ...]]
    """"ann / bob" -> raw and cohen_kappa over what both labelled."""
    notes: tuple[str, ...] = ()


def human_agreement(
    marks: Iterable[Mark], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> HumanAgreement:
    """Agreement over these labels; an annotator's later label of an item takes the place of the earlier one.

    Raises UsageError where there are no labels at all.
    """
    by_item: dict[str, dict[str, str]] = defaultdict(dict)
    for mark in marks:
        by_item[mark.item][mark.annotator] = mark.label
    if not by_item:
        raise UsageError("no labels to compare")
    annotators = tuple(sorted({name for labels in by_item.values() for name in labels}))
    rows = [labels for _, labels in sorted(by_item.items()) if len(labels) > 1]
    given: dict[str, Counter[str]] = defaultdict(Counter)
    for labels in by_item.values():
        for who, label in labels.items():
            given[who][label] += 1
    counts = sum(given.values(), Counter[str]())
    interval = {"level": level, "resamples": resamples, "seed": seed}
    made = [_raw(rows, interval), _fleiss(rows, interval), _alpha(rows, interval)]
    pairs = {
        f"{a} / {b}": (_raw(both, interval), _cohen(both, a, b, interval))
        for a, b in itertools.combinations(annotators, 2)
        if (both := [{a: labels[a], b: labels[b]} for labels in rows if a in labels and b in labels])
    }
    if len(annotators) == 2 and pairs:
        made.append(next(iter(pairs.values()))[1])
    return HumanAgreement(
        items=len(by_item),
        doubly=len(rows),
        annotators=annotators,
        labels=dict(counts.most_common()),
        given={who: dict(own.most_common()) for who, own in sorted(given.items())},
        coefficients=tuple(made),
        pairs=pairs,
        notes=tuple(_notes(counts, len(rows), len(by_item))),
    )


Row = Mapping[str, str]
"""Annotator -> label, of one item."""


def cohen(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two annotators' labels; None where it is undefined."""
    return _value(pairs, _cohens)


def fleiss(rows: Sequence[Sequence[str]]) -> float | None:
    """Fleiss' kappa; `rows` are the labels of each item, equally many. None where it is undefined."""
    return _value([tuple(sorted(labels)) for labels in rows], _fleisses)


def alpha(rows: Sequence[Sequence[str]]) -> float | None:
    """Krippendorff's alpha for categories; `rows` are the labels of each item, two or more. None where undefined."""
    return _value([tuple(sorted(labels)) for labels in rows], _alphas)


# A figure depends only on how many items have which labels, so that a resample is a draw of these counts. Each of these
# takes the kinds of items that there are, and samples of them: (samples, kinds), how many items of each kind.

Kinds = Sequence[tuple[str, ...]]
Figure = Callable[[Kinds, Floats], Floats]


def _cohens(kinds: Kinds, samples: Floats) -> Floats:
    names = sorted({label for kind in kinds for label in kind})
    first, second = (np.array([[kind[side] == name for name in names] for kind in kinds], float) for side in (0, 1))
    n = samples.sum(axis=1)
    observed = samples @ (first * second).sum(axis=1) / n
    return _beyond(observed, ((samples @ first) * (samples @ second)).sum(axis=1) / n**2)


def _fleisses(kinds: Kinds, samples: Floats) -> Floats:
    table, size = _table(kinds), len(kinds[0])
    n = samples.sum(axis=1)
    observed = samples @ (table * (table - 1)).sum(axis=1) / (n * size * (size - 1))
    return _beyond(observed, ((samples @ table) ** 2).sum(axis=1) / (n * size) ** 2)


def _alphas(kinds: Kinds, samples: Floats) -> Floats:
    table = _table(kinds)
    sizes = table.sum(axis=1)
    apart = samples @ ((sizes**2 - (table**2).sum(axis=1)) / (sizes - 1))
    total = samples @ sizes
    expected = total**2 - ((samples @ table) ** 2).sum(axis=1)
    return 1 - np.divide((total - 1) * apart, expected, out=np.full(len(samples), np.nan), where=expected > 0)


def _beyond(observed: Floats, expected: Floats) -> Floats:
    """Agreement beyond chance; NaN where chance alone is perfect."""
    return np.divide(observed - expected, 1 - expected, out=np.full(len(observed), np.nan), where=expected < 1)


def _table(kinds: Kinds) -> Floats:
    """(kinds, labels): how often each label was given."""
    names = sorted({label for kind in kinds for label in kind})
    return np.array([[kind.count(name) for name in names] for kind in kinds], float)


def _value(items: Sequence[tuple[str, ...]], of: Figure) -> float | None:
    if not items:
        return None
    counts = Counter(items)
    value = of(list(counts), np.array([list(counts.values())], float))[0]
    return None if np.isnan(value) else float(value)


def _raw(rows: Sequence[Row], interval: dict) -> Coefficient:
    if not rows:
        return Coefficient(name="raw", value=None, note=NO_PAIRS)
    every = np.array([len(labels) * (len(labels) - 1) // 2 for labels in rows])
    alike = np.array([sum(n * (n - 1) // 2 for n in Counter(labels.values()).values()) for labels in rows])
    outcomes = np.column_stack([alike, every - alike]).ravel()
    pairs = np.repeat(np.tile([1.0, 0.0], len(rows)), outcomes)
    low, high = bootstrap(pairs, np.repeat(np.arange(len(rows)), every), **interval) or (None, None)
    return Coefficient(name="raw", value=float(pairs.mean()), low=low, high=high, items=len(rows))


def _cohen(rows: Sequence[Row], a: str, b: str, interval: dict) -> Coefficient:
    pairs = [(labels[a], labels[b]) for labels in rows]
    return _coefficient("cohen_kappa", pairs, _cohens, interval)


def _fleiss(rows: Sequence[Row], interval: dict) -> Coefficient:
    most = max(map(len, rows), default=0)
    full = [tuple(sorted(labels.values())) for labels in rows if len(labels) == most]
    made = _coefficient("fleiss_kappa", full, _fleisses, interval)
    if len(full) < len(rows):
        note = f"of the {len(full)} items with {most} labels; {len(rows) - len(full)} have fewer"
        made = Coefficient(**{**_fields(made), "note": "; ".join(filter(None, (made.note, note)))})
    return made


def _alpha(rows: Sequence[Row], interval: dict) -> Coefficient:
    items = [tuple(sorted(labels.values())) for labels in rows]
    return _coefficient("krippendorff_alpha", items, _alphas, interval)


def _coefficient(name: str, items: Sequence[tuple[str, ...]], of: Figure, interval: dict) -> Coefficient:
    """The value with a percentile interval over items; resamples in which it is undefined are left out."""
    if not items:
        return Coefficient(name=name, value=None, note=NO_PAIRS)
    value = _value(items, of)
    if value is None:
        return Coefficient(name=name, value=None, items=len(items), note=ONE_KIND)
    found = _drawn(items, of, interval["resamples"], interval["seed"])
    tail = (1 - interval["level"]) / 2
    low, high = np.quantile(found, [tail, 1 - tail]).tolist() if len(items) > 1 and len(found) > 1 else (None, None)
    return Coefficient(name=name, value=value, low=low, high=high, items=len(items))


def _drawn(items: Sequence[tuple[str, ...]], of: Figure, resamples: int, seed: int) -> Floats:
    """The figure of each resample of items in which it is defined; some at a time, so that memory is bounded."""
    rng = np.random.default_rng(seed)
    kinds, counts = zip(*sorted(Counter(items).items()), strict=True)
    share, size = np.array(counts) / len(items), max(1, _CELLS // len(kinds))
    parts = [
        of(kinds, rng.multinomial(len(items), share, size=min(size, resamples - start)).astype(float))
        for start in range(0, resamples, size)
    ]
    found = np.concatenate(parts)
    return found[~np.isnan(found)]


def _fields(made: Coefficient) -> dict:
    return {name: getattr(made, name) for name in made.__struct_fields__}


def _notes(counts: Counter[str], doubly: int, items: int) -> Iterable[str]:
    label, most = counts.most_common(1)[0]
    share = most / counts.total()
    if SKEWED <= share < 1:
        yield (
            f"{share:.0%} of the labels are {label!r}: kappa and alpha are low for however many equal labels; "
            "read the raw agreement and the counts beside them"
        )
    if doubly < items:
        yield f"{items - doubly} of {items} items have one label only and say nothing of agreement"
