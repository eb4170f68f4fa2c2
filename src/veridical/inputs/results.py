"""Result files of the published systems as reports, so that whatever is computed from a run can be computed from them.

| file | what it has |
|---|---|
| SAFE (`…-SAFE.json`) | each prompt with one or two sides: statements with "Supported", "Not Supported", "Irrelevant" |
| VeriScore (JSON lines of its last stage) | claims with "supported", "unsupported", … |
| FActScore (`…_factscore_output.json`) | a list of decisions for each topic, null for an abstention; no texts |

What a system left out because it failed on it (SAFE drops such facts) is there as a failure, counted and bounded like
any other. "Not supported" becomes NOT_ENOUGH_EVIDENCE: none of them says whether evidence speaks against the fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..text.align import find_all
from ..types import (
    AtomicFact,
    Evidence,
    Failure,
    Generation,
    JudgedFact,
    Label,
    Passage,
    Report,
    Search,
    Sentence,
    Verdict,
)
from .files import records

Row = Mapping[str, Any]
_SAFE = {"supported": Label.SUPPORTED, "not supported": Label.NOT_ENOUGH_EVIDENCE, "irrelevant": Label.IRRELEVANT}
_VERISCORE = {
    "supported": Label.SUPPORTED,
    "unsupported": Label.NOT_ENOUGH_EVIDENCE,
    "not supported": Label.NOT_ENOUGH_EVIDENCE,
    "inconclusive": Label.NOT_ENOUGH_EVIDENCE,
    "contradicted": Label.CONTRADICTED,
}
_LOST = Failure(stage="verify", error="Omitted", message="left out of the file's verdicts")


class Results:
    """The reports of a result file, read anew each time. `format` is known once the first was read.

    Raises InputError, naming the file and line, for a file of no such format and a record that cannot be read.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self.format = ""

    def __iter__(self) -> Iterator[Report]:
        empty = True
        for record in records(self.path, ()):
            if record.error:
                raise record.error
            found = next((one for one in _SHAPES if isinstance(record.value, dict) and one[1](record.value)), None)
            if found is None:
                raise InputError("neither a run folder nor a result file of SAFE, VeriScore or FActScore",
                                 file=self.path, line=record.line)  # fmt: skip
            self.format = found[0]
            try:
                for report in found[2](record.value, record.line):
                    empty = False
                    yield report
            except (TypeError, ValueError, AttributeError, KeyError) as error:
                words = f"a record of {found[0]} that cannot be read: {error or type(error).__name__}"
                raise InputError(words, file=self.path, line=record.line) from None
        if empty:
            raise InputError("no result in it", file=self.path)


def is_results(path: Path | str) -> bool:
    """Whether the file begins with a result of one of the systems. Raises InputError for one that cannot be read."""
    first = next(records(str(path), ()), None)
    return first is not None and isinstance(first.value, dict) and any(one[1](first.value) for one in _SHAPES)


def _safe(row: Row, line: int) -> Iterator[Report]:
    for number, prompt in enumerate(_objects(row.get("per_prompt_data"), "per_prompt_data"), 1):
        sides = [side for side in ("side1", "side2") if isinstance(prompt.get(f"{side}_response"), str)]
        for side in sides:
            generation = Generation(
                id=f"{number:06d}-{side}" if len(sides) > 1 else f"{number:06d}",
                text=prompt[f"{side}_response"],
                prompt=_text(prompt.get("prompt")),
                system=_text(row.get("responder_model_short")) or None,
            )
            rated = prompt.get(f"{side}_posthoc_eval_data")
            if not isinstance(rated, dict):
                lost = Failure(stage="judge", error="Omitted", message="the file has no verdicts of this response")
                yield Report(generation=generation, failure=lost, signature="SAFE (file)")
            else:
                yield _rated(generation, rated)


def _rated(generation: Generation, rated: Row) -> Report:
    statements = _objects(rated.get("checked_statements") or [], "checked_statements")
    steps = rated.get("past_steps_jsonified_all")
    searches = steps if isinstance(steps, list) and len(steps) == len(statements) else [None] * len(statements)
    pairs = [
        (_text(one.get("sentence")), fact)
        for one in _objects(rated.get("all_atomic_facts") or [], "all_atomic_facts")
        for fact in (one.get("atomic_facts") or [])
        if isinstance(fact, str)
    ]
    named = [text for text, _ in pairs] + [_text(one.get("sentence")) for one in statements]
    sentences = _sentences(list(dict.fromkeys(filter(None, named))), generation.text)
    index = {sentence.text: sentence.index for sentence in sentences}
    numbers: Counter[int] = Counter()
    facts = []
    left = Counter(pairs)
    for statement, step in zip(statements, searches, strict=True):
        left[_text(statement.get("sentence")), _text(statement.get("atomic_fact"))] -= 1
        facts.append(_statement(generation, statement, step, index, numbers))
    for (sentence, text), count in left.items():
        for _ in range(count):
            facts.append(JudgedFact(fact=_fact(generation, text, index.get(sentence, 0), numbers), failure=_LOST))
    facts.sort(key=lambda one: one.fact.sentence)
    return Report(generation=generation, sentences=tuple(sentences), facts=tuple(facts), signature="SAFE (file)")


def _statement(
    generation: Generation, row: Row, step: Any, index: Mapping[str, int], numbers: Counter[int]
) -> JudgedFact:
    original = _text(row.get("atomic_fact"))
    text = _text(row.get("self_contained_atomic_fact")) or original
    fact = _fact(generation, text, index.get(_text(row.get("sentence")), 0), numbers, original=original)
    evidence = _searched(step.get("google_searches") if isinstance(step, dict) else None, fact.id)
    label = _SAFE.get(_text(row.get("annotation")).strip().lower())
    if label is None:
        failure = Failure(stage="verify", error="Omitted", message=f"annotation {row.get('annotation')!r}")
        return JudgedFact(fact=fact, evidence=evidence, failure=failure)
    rate = row.get("rate_data")
    rationale = _text(rate.get("response")) or None if isinstance(rate, dict) else None
    verdict = Verdict(label=label, judge="SAFE (file)", mode="file", rationale=rationale)
    return JudgedFact(fact=fact, evidence=evidence, verdict=verdict)


def _searched(found: Any, fact: str) -> Evidence:
    """SAFE keeps a query and one string for each search, without addresses."""
    rows = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    passages, searches = [], []
    for number, one in enumerate(rows):
        text = _text(one.get("result")).strip()
        id_ = f"{fact}/search/{number}"
        if text:
            passages.append(Passage(id=id_, text=text, source="SAFE (file)"))
        searches.append(Search(query=_text(one.get("query")), source="SAFE (file)", passages=(id_,) if text else ()))
    return Evidence(queries=tuple(one.query for one in searches), passages=tuple(passages), searches=tuple(searches))


def _veriscore(row: Row, line: int) -> Iterator[Report]:
    generation = Generation(
        id=str(row.get("id") or f"{line:06d}"),
        text=_text(row.get("response")),
        prompt=_text(row.get("question")),
        system=_text(row.get("model")) or None,
    )
    if row.get("abstained") is True:
        yield Report(generation=generation, abstained=True, abstention="in the file", signature="VeriScore (file)")
        return
    numbers: Counter[int] = Counter()
    facts, seen = [], Counter[str]()
    for one in _objects(row.get("claim_verification_result") or [], "claim_verification_result"):
        text = _text(one.get("claim"))
        seen[text] += 1
        fact = _fact(generation, text, 0, numbers)
        label = _VERISCORE.get(_text(one.get("verification_result")).strip().lower().rstrip("."))
        shown = _text(one.get("search_results")).strip()
        passages = (Passage(id=f"{fact.id}/search", text=shown, source="VeriScore (file)"),) if shown else ()
        evidence = Evidence(passages=passages)
        if label is None:
            message = f"verification_result {one.get('verification_result')!r}"
            failure = Failure(stage="verify", error="Omitted", message=message)
            facts.append(JudgedFact(fact=fact, evidence=evidence, failure=failure))
        else:
            verdict = Verdict(label=label, judge="VeriScore (file)", mode="file")
            facts.append(JudgedFact(fact=fact, evidence=evidence, verdict=verdict))
    claims = row.get("all_claims")
    listed = claims if isinstance(claims, list) else []
    wanted = Counter(claim for claim in listed if isinstance(claim, str) and claim != "No verifiable claim.")
    lost = list((wanted - seen).elements())
    facts += [JudgedFact(fact=_fact(generation, text, 0, numbers), failure=_LOST) for text in lost]
    yield Report(generation=generation, facts=tuple(facts), signature="VeriScore (file)")


def _factscore(row: Row, line: int) -> Iterator[Report]:
    decisions = row["decisions"]
    if not isinstance(decisions, list):
        raise ValueError("decisions must be a list")
    for place, one in enumerate(decisions):
        if one is None:
            generation = Generation(id=f"{place:06d}", text="")
            yield Report(generation=generation, abstained=True, abstention="in the file", signature="FActScore (file)")
            continue
        rows = _objects(one, "decisions")
        texts = [_text(atom.get("atom")) for atom in rows]
        generation = Generation(id=f"{place:06d}", text="\n".join(texts))
        numbers: Counter[int] = Counter()
        facts = []
        for text, atom in zip(texts, rows, strict=True):
            label = Label.SUPPORTED if atom.get("is_supported") is True else Label.NOT_ENOUGH_EVIDENCE
            verdict = Verdict(label=label, judge="FActScore (file)", mode="file")
            facts.append(JudgedFact(fact=_fact(generation, text, 0, numbers), verdict=verdict))
        yield Report(generation=generation, facts=tuple(facts), signature="FActScore (file)")


def _fact(generation: Generation, text: str, sentence: int, numbers: Counter[int], *, original: str = "") -> AtomicFact:
    number = numbers[sentence]
    numbers[sentence] += 1
    before = original if original and original != text else None
    return AtomicFact(id=f"{generation.id}/{sentence}.{number}", text=text, sentence=sentence, original=before)


def _sentences(texts: Sequence[str], whole: str) -> list[Sentence]:
    """With their places; one that is not in the text stands at its beginning, with no width."""
    places = find_all(texts, whole)
    return [
        Sentence(index=index, text=text, start=place[0] if place else 0, end=place[1] if place else 0)
        for index, (text, place) in enumerate(zip(texts, places, strict=True))
    ]


def _objects(value: Any, name: str) -> list[Row]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError(f"{name} must be a list of objects")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_SHAPES: tuple[tuple[str, Callable[[Row], bool], Callable[[Row, int], Iterator[Report]]], ...] = (
    ("SAFE", lambda row: "per_prompt_data" in row, _safe),
    (
        "VeriScore",
        lambda row: "response" in row and bool({"claim_verification_result", "abstained"} & row.keys()),
        _veriscore,
    ),
    ("FActScore", lambda row: "decisions" in row and "respond_ratio" in row, _factscore),
)
