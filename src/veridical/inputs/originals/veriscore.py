"""VeriScore's JSON lines of its last stage (`model_output/verification_….jsonl`), of its newer and its older releases.

The newer ones write the whole record with a list of verdicts; the older ones nothing but an object of verdicts by
claim, so that prompt, text and model are not there. VeriScore counts whatever is not "supported" as unsupported, also a
reply that it could not read; here that is a failure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ...types import Evidence, Generation, JudgedFact, Label, Passage, Report, Search
from .shared import NOT_RATED, OMITTED, Numbered, Row, judged, objects, string

NAME = "VeriScore (file)"
LACKS = "the sentences that its claims were taken from; in files of older releases also prompts, texts and models"
LABELS = {
    "supported": Label.SUPPORTED,
    "unsupported": Label.NOT_ENOUGH_EVIDENCE,
    "not supported": Label.NOT_ENOUGH_EVIDENCE,
    "inconclusive": Label.NOT_ENOUGH_EVIDENCE,
    "contradicted": Label.CONTRADICTED,
}
_NONE = "No verifiable claim."
_RESULT = re.compile(r"(?:\A|\n\n)Search result \d+\nTitle: ")


def fits(row: Row) -> bool:
    if not row or _by_claim(row):
        return True
    return "response" in row and (
        "claim_verification_result" in row or (row.get("abstained") is True and "prompt_source" in row)
    )


def _by_claim(row: Row) -> bool:
    """Whether it is a record of an older release; one without claims is empty."""
    return all(isinstance(one, dict) and "verification_result" in one for one in row.values())


def reports(row: Row, number: int) -> Iterator[Report]:
    if _by_claim(row):
        claims = [{**verdict, "claim": claim} for claim, verdict in row.items()]
        generation = Generation(id=f"{number:06d}", text="\n".join(row))
        yield _report(generation, claims, list(row))
        return
    given = row.get("id")
    generation = Generation(
        id=str(given) if isinstance(given, str | int) and given != "" else f"{number:06d}",
        text=string(row.get("response")),
        prompt=string(row.get("question")),
        system=string(row.get("model")) or None,
        metadata={"prompt_source": row["prompt_source"]} if string(row.get("prompt_source")) else {},
    )
    if row.get("abstained") is True:
        yield Report(generation=generation, abstained=True, abstention="in the file", signature=NAME)
    elif "claim_verification_result" not in row:
        yield Report(generation=generation, failure=NOT_RATED, signature=NAME)
    else:
        claims = objects(row["claim_verification_result"] or [], "claim_verification_result")
        yield _report(generation, claims, row.get("all_claims"))


def _report(generation: Generation, claims: Sequence[Row], wanted: Any) -> Report:
    listed = [one for one in wanted if isinstance(one, str) and one != _NONE] if isinstance(wanted, list) else []
    copies, made, facts, seen = Counter(listed), Numbered(generation), [], set()
    for one in claims:
        text = string(one.get("claim"))
        seen.add(text)
        fact = made.fact(text, repeats=max(copies[text] - 1, 0))
        facts.append(judged(fact, one.get("verification_result"), LABELS, NAME, evidence=_shown(one, text, fact.id)))
    for text, count in copies.items():  # a claim that is there twice is verified once
        if text not in seen:
            facts.append(JudgedFact(fact=made.fact(text, repeats=count - 1), failure=OMITTED))
    return Report(generation=generation, facts=tuple(facts), signature=NAME)


def _shown(row: Row, claim: str, fact: str) -> Evidence:
    """The results that the judge saw, out of the one string that the file keeps; the query is the claim itself."""
    whole = string(row.get("search_results")).strip()
    if not whole:
        return Evidence()
    first, *pieces = _RESULT.split(whole)
    passages = [_passage(piece, f"{fact}/search/{number}") for number, piece in enumerate(pieces)]
    if first.strip():
        passages.insert(0, Passage(id=f"{fact}/search", text=first.strip(), source=NAME))
    search = Search(query=claim, source=NAME, passages=tuple(one.id for one in passages))
    return Evidence(queries=(claim,), passages=tuple(passages), searches=(search,))


def _passage(piece: str, name: str) -> Passage:
    title, _, rest = piece.partition("\nLink: ")
    link, _, content = rest.partition("\nContent: ")
    url = link.strip() if link.startswith(("http://", "https://")) else None
    return Passage(id=name, text=content.strip() or piece.strip(), title=title.strip(), url=url, source=NAME)
