"""FActScore's `…_factscore_output.json`: a list of decisions for each topic, null where it abstained; nothing else.

Numbered as the lines of its input were. With `--use_atomic_facts` FActScore leaves abstentions out, and the numbers are
those of the other lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...types import Generation, Label, Report
from .shared import Numbered, Row, flag, judged, objects, string

NAME = "FActScore (file)"
LACKS = "prompts, topics, texts and evidence; compare it by --match id"
LABELS = {"true": Label.SUPPORTED, "false": Label.NOT_ENOUGH_EVIDENCE}


def fits(row: Row) -> bool:
    return "decisions" in row and "respond_ratio" in row


def reports(row: Row, number: int) -> Iterator[Report]:
    decisions = row["decisions"]
    if not isinstance(decisions, list):
        raise ValueError("decisions must be a list")
    for place, one in enumerate(decisions, 1):
        if one is None:
            generation = Generation(id=f"{place:06d}", text="")
            yield Report(generation=generation, abstained=True, abstention="in the file", signature=NAME)
            continue
        atoms = objects(one, "decisions")
        generation = Generation(id=f"{place:06d}", text="\n".join(string(atom.get("atom")) for atom in atoms))
        made = Numbered(generation)
        facts = tuple(
            judged(made.fact(string(atom.get("atom"))), flag(atom.get("is_supported")), LABELS, NAME) for atom in atoms
        )
        yield Report(generation=generation, facts=facts, signature=NAME)
