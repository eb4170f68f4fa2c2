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
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .errors import UsageError
from .stats import bootstrap
from .types import Struct

ONE_KIND = "undefined: all labels are of one kind"
NO_PAIRS = "undefined: no item has two labels"
SKEWED = 0.9
"""Share of one label from which its skew is said."""


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
    counts = Counter(label for labels in by_item.values() for label in labels.values())
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
        coefficients=tuple(made),
        pairs=pairs,
        notes=tuple(_notes(counts, len(rows), len(by_item))),
    )


Row = Mapping[str, str]
"""Annotator -> label, of one item."""


def cohen(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two annotators' labels; None where it is undefined."""
    n = len(pairs)
    if not n:
        return None
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) / n
    expected = sum(first[label] * second[label] for label in first) / n**2
    return None if expected >= 1 else (observed - expected) / (1 - expected)


def fleiss(rows: Sequence[Sequence[str]]) -> float | None:
    """Fleiss' kappa; `rows` are the labels of each item, equally many. None where it is undefined."""
    if not rows:
        return None
    size, counts = len(rows[0]), Counter(label for labels in rows for label in labels)
    observed = sum(n * (n - 1) for labels in rows for n in Counter(labels).values()) / (len(rows) * size * (size - 1))
    expected = sum((n / (len(rows) * size)) ** 2 for n in counts.values())
    return None if expected >= 1 else (observed - expected) / (1 - expected)


def alpha(rows: Sequence[Sequence[str]]) -> float | None:
    """Krippendorff's alpha for categories; `rows` are the labels of each item, two or more. None where undefined."""
    counts = Counter(label for labels in rows for label in labels)
    total = sum(counts.values())
    expected = total**2 - sum(n * n for n in counts.values())
    if not expected:
        return None
    apart = sum(
        (len(labels) ** 2 - sum(n * n for n in Counter(labels).values())) / (len(labels) - 1) for labels in rows
    )
    return 1 - (total - 1) * apart / expected


def _raw(rows: Sequence[Row], interval: dict) -> Coefficient:
    shares = [_pairs_alike(list(labels.values())) for labels in rows]
    sizes = [len(labels) * (len(labels) - 1) for labels in rows]
    if not rows:
        return Coefficient(name="raw", value=None, note=NO_PAIRS)
    span = bootstrap(shares, **interval) if len(set(sizes)) == 1 else None
    value = float(np.average(shares, weights=sizes))
    return Coefficient(name="raw", value=value, low=_at(span, 0), high=_at(span, 1), items=len(rows))


def _pairs_alike(labels: Sequence[str]) -> float:
    n = len(labels)
    return sum(count * (count - 1) for count in Counter(labels).values()) / (n * (n - 1))


def _cohen(rows: Sequence[Row], a: str, b: str, interval: dict) -> Coefficient:
    pairs = [(labels[a], labels[b]) for labels in rows]
    return _coefficient("cohen_kappa", pairs, cohen, interval)


def _fleiss(rows: Sequence[Row], interval: dict) -> Coefficient:
    most = max(map(len, rows), default=0)
    full = [tuple(labels.values()) for labels in rows if len(labels) == most]
    made = _coefficient("fleiss_kappa", full, fleiss, interval)
    if len(full) < len(rows):
        note = f"of the {len(full)} items with {most} labels; {len(rows) - len(full)} have fewer"
        made = Coefficient(**{**_fields(made), "note": "; ".join(filter(None, (made.note, note)))})
    return made


def _alpha(rows: Sequence[Row], interval: dict) -> Coefficient:
    return _coefficient("krippendorff_alpha", [tuple(labels.values()) for labels in rows], alpha, interval)


def _coefficient(name: str, rows: Sequence, of, interval: dict) -> Coefficient:
    """The value with a percentile interval over items; resamples in which it is undefined are left out."""
    if not rows:
        return Coefficient(name=name, value=None, note=NO_PAIRS)
    value = of(rows)
    if value is None:
        return Coefficient(name=name, value=None, items=len(rows), note=ONE_KIND)
    rng = np.random.default_rng(interval["seed"])
    drawn = (of([rows[place] for place in rng.integers(0, len(rows), len(rows))]) for _ in range(interval["resamples"]))
    found = [one for one in drawn if one is not None]
    tail = (1 - interval["level"]) / 2
    low, high = np.quantile(found, [tail, 1 - tail]) if len(rows) > 1 and len(found) > 1 else (None, None)
    return Coefficient(
        name=name,
        value=value,
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        items=len(rows),
    )


def _fields(made: Coefficient) -> dict:
    return {name: getattr(made, name) for name in made.__struct_fields__}


def _at(span: tuple[float, float] | None, place: int) -> float | None:
    return None if span is None else span[place]


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
