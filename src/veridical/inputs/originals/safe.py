"""SAFE's `…-SAFE.json` (of `eval.run_eval` in long-form-factuality): one object, all prompts, one or two sides of each.

A side is a way of prompting the model. One without verdicts of any prompt (a placeholder, as in the released settings,
or one that was not to be rated) is left out. SAFE drops facts that it fails on: those are failures here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...types import Evidence, Generation, JudgedFact, Label, Passage, Report, Search
from .shared import NOT_RATED, OMITTED, Numbered, Row, judged, objects, sentences, string

NAME = "SAFE (file)"
LACKS = "where its searches found what they found"
LABELS = {"supported": Label.SUPPORTED, "not supported": Label.NOT_ENOUGH_EVIDENCE, "irrelevant": Label.IRRELEVANT}
_SIDES = ("side1", "side2")
_MOST = 10_000
"""Facts of one response that only a number tells of; more is no such file."""


def fits(row: Row) -> bool:
    return "per_prompt_data" in row


def reports(row: Row, number: int) -> Iterator[Report]:
    prompts = objects(row.get("per_prompt_data"), "per_prompt_data")
    sides = [side for side in _SIDES if any(isinstance(one.get(f"{side}_posthoc_eval_data"), dict) for one in prompts)]
    if not sides:
        raise ValueError("no side has verdicts; SAFE's eval.run_eval makes them")
    for place, prompt in enumerate(prompts, 1):
        for side in sides:
            yield _report(row, prompt, side, f"{place:06d}" if len(sides) == 1 else f"{place:06d}-{side}", sides)


def _report(row: Row, prompt: Row, side: str, name: str, sides: list[str]) -> Report:
    rated = prompt.get(f"{side}_posthoc_eval_data")
    model, way = string(row.get("responder_model_short")), string(row.get(f"side_{side[-1]}"))
    idk = prompt.get(f"{side}_is_idk")
    generation = Generation(
        id=name,
        text=string(prompt.get(f"{side}_response")),
        prompt=string(prompt.get("prompt")),
        system=(f"{model} ({way or side})" if len(sides) > 1 else model) or None,
        metadata={"is_idk": idk} if isinstance(idk, bool) else {},
    )
    if not isinstance(rated, dict):
        return Report(generation=generation, failure=NOT_RATED, signature=NAME)
    return _rated(generation, rated)


def _rated(generation: Generation, rated: Row) -> Report:
    statements = objects(rated.get("checked_statements") or [], "checked_statements")
    steps = rated.get("past_steps_jsonified_all")
    searches = steps if isinstance(steps, list) and len(steps) == len(statements) else [None] * len(statements)
    found = _split(rated)
    named = [sentence for sentence, _ in found] + [string(one.get("sentence")) for one in statements]
    parts = sentences(list(dict.fromkeys(filter(None, named))), generation.text)
    index = {sentence.text: sentence.index for sentence in parts}
    made, left = Numbered(generation), Counter((sentence, text) for sentence, texts in found for text in texts)
    facts = []
    for statement, step in zip(statements, searches, strict=True):
        sentence, original = string(statement.get("sentence")), string(statement.get("atomic_fact"))
        left[sentence, original] -= 1
        text = string(statement.get("self_contained_atomic_fact")) or original
        fact = made.fact(text, index.get(sentence, 0), original=original)
        rate = statement.get("rate_data")
        facts.append(
            judged(
                fact,
                statement.get("annotation"),
                LABELS,
                NAME,
                evidence=_searched(step.get("google_searches") if isinstance(step, dict) else None, fact.id),
                rationale=(string(rate.get("response")) or None) if isinstance(rate, dict) else None,
            )
        )
    lost = [(text, index.get(sentence, 0)) for (sentence, text), count in left.items() for _ in range(count)]
    lost = lost if found else _untold(rated.get("num_claims"), len(statements))
    facts += [JudgedFact(fact=made.fact(text, sentence), failure=OMITTED) for text, sentence in lost]
    facts.sort(key=lambda one: one.fact.sentence)
    return Report(generation=generation, sentences=parts, facts=tuple(facts), signature=NAME)


def _split(rated: Row) -> list[tuple[str, list[str]]]:
    """Each sentence with its facts; the file has them in two forms."""
    rows = [(one.get("sentence"), one.get("atomic_facts")) for one in _rows(rated.get("all_atomic_facts"))]
    if not rows and isinstance(pairs := rated.get("sentences_and_atomic_facts"), list):
        rows = [(pair[0], pair[1]) for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    return [
        (string(sentence), [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else [])
        for sentence, texts in rows
    ]


def _rows(value: Any) -> list[Row]:
    return objects(value or [], "all_atomic_facts")


def _untold(claims: Any, rated: int) -> list[tuple[str, int]]:
    """Facts that are missing by the file's own count, and whose words it does not have."""
    missing = claims - rated if isinstance(claims, int) and not isinstance(claims, bool) else 0
    if missing > _MOST:
        raise ValueError(f"num_claims is {claims}")
    return [("(its words are not in the file)", 0)] * max(missing, 0)


def _searched(found: Any, fact: str) -> Evidence:
    """SAFE keeps a query and one string for each search, without addresses."""
    rows = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    passages, searches = [], []
    for number, one in enumerate(rows):
        text = string(one.get("result")).strip()
        id_ = f"{fact}/search/{number}"
        if text:
            passages.append(Passage(id=id_, text=text, source=NAME))
        searches.append(Search(query=string(one.get("query")), source=NAME, passages=(id_,) if text else ()))
    return Evidence(queries=tuple(one.query for one in searches), passages=tuple(passages), searches=tuple(searches))
