"""`veridical agreement`: how far annotators agree, where they do not, and the labels that most of them gave."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ..agreement import Coefficient, HumanAgreement, Mark, human_agreement
from ..errors import UsageError
from ..inputs.annotations import TEXTS, Columns, Labelled, read
from ..types import Struct
from . import show
from .options import AsJson

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Item(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One item with all its labels."""

    id: str
    labels: dict[str, str]
    """Annotator to label."""
    row: dict[str, Any]
    parent: dict[str, Any] | None = None
    """The generation, of a fact; `place` is the fact's in it."""
    place: int = 0
    changed: int = 0
    """Labels in whose place the same annotator gave another."""

    @property
    def counts(self) -> list[tuple[str, int]]:
        return Counter(self.labels.values()).most_common()

    @property
    def majority(self) -> str | None:
        """The label that most gave; None for a tie."""
        first, *rest = self.counts
        return None if rest and rest[0][1] == first[1] else first[0]


@app.command(
    help="Annotators against each other: raw agreement, kappa, alpha, with intervals.\n\n"
    "Example: veridical agreement ann.csv bob.csv --disagreements talk-about.jsonl"
)
def agreement(
    files: Annotated[
        list[Path],
        typer.Argument(help="Labels: one file with a field for the annotator, or a file for each annotator."),
    ],
    item: Annotated[str | None, typer.Option(help="Field that names the item (default: item, id, …).")] = None,
    annotator: Annotated[str | None, typer.Option(help="Field that names the annotator.")] = None,
    label: Annotated[str | None, typer.Option(help="Field with the label, or the labels.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="A column that holds one annotator's labels; repeated, two or more.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A label that is none, such as skip; may be repeated.")] = None,
    by: Annotated[str | None, typer.Option(help="Field by which items are grouped, such as domain.")] = None,
    disagreements: Annotated[
        Path | None, typer.Option(help="Write the items whose labels differ here, most divided first.")
    ] = None,
    majority: Annotated[
        Path | None,
        typer.Option(help="Write every item with the label that most gave; ties have none, and are counted."),
    ] = None,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    columns = Columns(
        item=item, annotator=annotator, label=label, annotators=tuple(column or ()), drop=tuple(drop or ())
    )
    items = _items(read(files, columns))
    if not items:
        raise UsageError("no labels in " + ", ".join(map(str, files)))
    whole = human_agreement(_marks(items), level=level, seed=seed)
    parts = _grouped(items, by)
    groups = {name: human_agreement(_marks(own), level=level, seed=seed) for name, own in parts.items()}
    ungrouped = len(items) - sum(map(len, parts.values())) if by else 0
    changed = sum(one.changed for one in items)
    divided = sorted((one for one in items if len(one.counts) > 1), key=lambda one: (_share(one), one.id))
    if disagreements:
        _write(disagreements, (_divided(one) for one in divided))
    ties = [one for one in items if one.majority is None]
    if majority:
        _write(majority, _adjudicated(items))
    if as_json:
        found: dict[str, Any] = {"agreement": whole, "groups": groups, "divided": len(divided), "ties": len(ties)}
        found |= {"ungrouped": ungrouped, "changed": changed}
        typer.echo(msgspec.json.encode(found).decode())
        return
    _print(whole, groups)
    if ungrouped:
        show.out().print(f"{ungrouped:,} items have no {by} and are in no group", markup=False)
    if changed:
        show.out().print(
            f"{changed:,} labels were given anew by the same annotator; the later one counts", markup=False
        )
    _print_divided(divided, ties, disagreements, majority)


def _items(labels: Iterable[Labelled]) -> list[Item]:
    """In the order in which they come first; an annotator's later label takes the place of an earlier one, which is
    counted where it was another."""
    found: dict[str, Item] = {}
    for one in labels:
        known = found.get(one.mark.item)
        before, who = known.labels if known else {}, one.mark.annotator
        found[one.mark.item] = Item(
            id=one.mark.item,
            labels={**before, who: one.mark.label},
            row={**one.row, **(known.row if known else {})},
            parent=known.parent if known else one.parent,
            place=known.place if known else one.place,
            changed=(known.changed if known else 0) + (before.get(who, one.mark.label) != one.mark.label),
        )
    return list(found.values())


def _marks(items: Iterable[Item]) -> list[Mark]:
    return [Mark(one.id, who, label) for one in items for who, label in one.labels.items()]


def _grouped(items: Iterable[Item], by: str | None) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for one in items if by else ():
        if (value := one.row.get(by or "")) is not None:
            groups[str(value)].append(one)
    if by and not groups:
        raise UsageError(f"--by {by}: no item has such a field")
    return dict(sorted(groups.items()))


def _share(one: Item) -> float:
    """Of the labels, that are the most frequent one."""
    return one.counts[0][1] / len(one.labels)


def _divided(one: Item) -> dict[str, Any]:
    return {**one.row, "id": one.id, "labels": one.labels, "majority": one.majority}


def _adjudicated(items: Iterable[Item]) -> Iterator[dict[str, Any]]:
    """Items with their label, without ties; of facts the generations with all their facts, ties without a label."""
    generations: dict[str, dict[str, Any]] = {}
    for one in items:
        if one.parent is None:
            if one.majority is not None:
                yield {**one.row, "id": one.id, "label": one.majority}
            continue
        parent = generations.setdefault(one.parent["id"], {**one.parent, "facts": [*one.parent["facts"]]})
        if one.majority is not None:
            parent["facts"][one.place] = {**parent["facts"][one.place], "label": one.majority}
    yield from generations.values()


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    try:
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def _print(whole: HumanAgreement, groups: dict[str, HumanAgreement]) -> None:
    out = show.out()
    names = ", ".join(whole.annotators)
    out.print(f"{whole.items:,} items, {whole.doubly:,} with two labels or more; annotators: {names}", markup=False)
    for who, counts in (("labels", whole.labels), *whole.given.items()):
        said = ", ".join(f"{label} {count:,}" for label, count in counts.items())
        out.print(show.printable(f"{who}: {said}"), markup=False)
    out.print()
    made = show.table("", "coefficient", "value", "interval", "items", right=("value", "items"))
    for name, one in (("all", whole), *groups.items()):
        _rows(made, name, one.coefficients)
    if len(whole.annotators) > 2:
        for pair, found in whole.pairs.items():
            _rows(made, pair, found)
    out.print(made)
    for note in dict.fromkeys(note for one in (whole, *groups.values()) for note in one.notes):
        out.print(note, markup=False)


def _rows(made: Any, name: str, found: Sequence[Coefficient]) -> None:
    for one in found:
        value = one.note if one.value is None else show.number(one.value)
        note = f" ({one.note})" if one.note and one.value is not None else ""
        made.add_row(show.printable(name), one.name + note, value, show.span(one.low, one.high), f"{one.items:,}")


def _print_divided(divided: Sequence[Item], ties: Sequence[Item], out: Path | None, majority: Path | None) -> None:
    console = show.out()
    console.print(f"{len(divided):,} items have different labels" + (f": {out}" if out else ""), markup=False)
    for one in divided[:5]:
        said = ", ".join(f"{label} {count}" for label, count in one.counts)
        text = next((str(one.row[name]) for name in TEXTS if one.row.get(name)), "")
        console.print(show.printable(f"  {one.id}: {said}{f'   {text[:100]}' if text else ''}"), markup=False)
    if majority:
        left = f", {len(ties):,} ties left out" if ties else ""
        console.print(f"labels of the majority: {majority}{left}", markup=False)
