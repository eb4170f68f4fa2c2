"""What a record means: our own field names, and the shapes of published files, each recognised by its keys.

Labels of people become `GivenFact.label`; labels of machines (SAFE, VeriScore, FActScore's estimators) are kept in the
metadata, since they are not gold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..types import GivenFact
from . import inspect_log

Row = Mapping[str, Any]

ALIASES = {
    "text": ("text", "output", "response"),
    "prompt": ("prompt", "input", "question"),
    "id": ("id",),
    "topic": ("topic",),
    "system": ("system", "model"),
    "reference": ("reference",),
    "facts": ("facts",),
    "samples": ("samples",),
    "abstained": ("abstained",),
}
"""Field of `Generation` -> the names it goes by, the first that is there taken."""
LABELS = ("supported", "not_supported", "contradicted", "not_enough_evidence", "irrelevant")


class Unusable(Exception):
    """A record that cannot be read as a generation."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@dataclass
class Draft:
    """The fields of a generation as the file has them, not yet checked."""

    format: str
    values: dict[str, Any]
    """By field of `Generation`."""
    taken: dict[str, str] = field(default_factory=dict)
    """Field of `Generation` -> field of the file."""
    metadata: dict[str, Any] = field(default_factory=dict)
    part: str = ""
    """Which one it is, where one record holds several generations."""
    trouble: str | None = None
    """Why there is no text."""


def drafts(row: Any, facts: str) -> Iterator[Draft]:
    """The generations of one record. Raises Unusable for what is no record at all."""
    if not isinstance(row, dict):
        raise Unusable("not a JSON object")
    for fits, reader in _SHAPES:
        if fits(row):
            yield from reader(row, facts)
            return
    yield _plain(row)


def given(value: Any) -> tuple[GivenFact, ...]:
    """Facts: a list of strings or of {text, label, sentence}, or such a list as JSON text (in a CSV)."""
    return tuple(_fact(item, place) for place, item in enumerate(_list(value, "facts")))


def texts(value: Any, field: str) -> tuple[str, ...]:
    """Texts: a list of strings, or such a list as JSON text (in a CSV). `field` is where the file has them."""
    found = _list(value, field)
    odd = next((place for place, item in enumerate(found) if not isinstance(item, str)), None)
    if odd is not None:
        raise Unusable(f"item {odd} is not a string", field)
    return tuple(found)


def _list(value: Any, field: str) -> Sequence[Any]:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            raise Unusable("must be a JSON list", field) from None
    if not isinstance(value, (list, tuple)):
        raise Unusable("must be a list", field)
    return value


def _fact(item: Any, place: int) -> GivenFact:
    item = {"text": item} if isinstance(item, str) else item
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise Unusable(f"fact {place} is neither a string nor an object with a text", "facts")
    label, sentence = item.get("label"), item.get("sentence")
    if label is not None and label not in LABELS:
        raise Unusable(f"fact {place} has label {label!r}; labels are {', '.join(LABELS)}", "facts")
    return GivenFact(text=item["text"], label=label, sentence=sentence if isinstance(sentence, str) else None)


def _plain(row: Row, format: str = "generations", **more: Any) -> Draft:
    """By our own names; what has none of them is metadata. `more` are values made out of several fields."""
    values, taken = dict(more), {}
    for name, aliases in ALIASES.items():
        source = next((alias for alias in aliases if alias in row), None)
        if source and name not in more:
            values[name], taken[name] = row[source], source
    inner = row.get("metadata")
    nested = dict(inner) if isinstance(inner, dict) else {}
    used = {*taken.values(), *(["metadata"] if nested or inner is None else [])}
    rest = {name: value for name, value in row.items() if name not in used}
    return Draft(format, values, taken, rest | nested)


# --- FActScore -------------------------------------------------------------------------------------------------------

_FACTSCORE = {"S": "supported", "NS": "not_supported", "IR": "irrelevant"}


def _labelled(row: Row, facts: str) -> Iterator[Draft]:
    """FActScore's annotated biographies. Null annotations are abstentions.

    Sentences that the annotators found irrelevant have no human facts. The paper's scores count their model facts as
    not supported; they are kept in the metadata as `irrelevant_sentences`.
    """
    draft = _plain(row, "factscore labelled")
    sentences, kind = draft.metadata.pop("annotations"), draft.metadata.pop("cat", None)
    if isinstance(kind, list) and len(kind) == 2:
        draft.metadata |= {"frequency": kind[0], "region": kind[1]}
    draft.values["abstained"] = sentences is None
    draft.taken |= {"abstained": "annotations"} | ({} if sentences is None else {"facts": "annotations"})
    if sentences is not None:
        if not isinstance(sentences, list) or not all(isinstance(sentence, dict) for sentence in sentences):
            raise Unusable("must be null or a list of sentences", "annotations")
        draft.values["facts"] = [_annotated(fact, s) for s in sentences for fact in _listed(s, f"{facts}-atomic-facts")]
        draft.metadata["irrelevant_sentences"] = [
            {"text": s.get("text"), "facts": [fact.get("text") for fact in _listed(s, "model-atomic-facts")]}
            for s in sentences
            if s.get("is-relevant") is False
        ]
    yield draft


def _annotated(fact: Row, sentence: Row) -> dict[str, Any]:
    label = fact.get("label")
    if label is not None and label not in tuple(_FACTSCORE):
        raise Unusable(f"a fact has label {label!r}, not S, NS or IR", "annotations")
    return {
        "text": fact.get("text"),
        "label": _FACTSCORE[label] if label else None,
        "sentence": sentence.get("text"),
    }


def _listed(sentence: Row, key: str) -> list[Row]:
    """The facts under a key of an annotated sentence; null is none."""
    facts = sentence.get(key)
    if facts is not None and not (isinstance(facts, list) and all(isinstance(fact, dict) for fact in facts)):
        raise Unusable(f"{key} must be null or a list of facts", "annotations")
    return facts or []


_MACHINE = re.compile(r"_labels$", re.IGNORECASE)


def _predicted(row: Row, facts: str) -> Iterator[Draft]:
    """FActScore's predictions for unlabelled biographies: facts and estimators' labels, without the text itself. The
    facts stand in for it, one a line."""
    texts = [fact.text for fact in given(row["facts"])]
    draft = _plain(row, "factscore predictions", text="\n".join(texts))
    draft.taken["text"] = "facts"
    yield draft


# --- SAFE, VeriScore, FELM, WikiBio ----------------------------------------------------------------------------------


def _safe(row: Row, facts: str) -> Iterator[Draft]:
    """Result files of SAFE: each prompt with up to two responses. Its verdicts are kept as `safe_annotations`."""
    prompts = row["per_prompt_data"]
    if not isinstance(prompts, list) or not all(isinstance(prompt, dict) for prompt in prompts):
        raise Unusable("must be a list of objects", "per_prompt_data")
    for number, prompt in enumerate(prompts, 1):
        sides = [side for side in ("side1", "side2") if isinstance(prompt.get(f"{side}_response"), str)]
        for side in sides or ["side1"]:
            yield _side(row, prompt, side, f"{number:06d}-{side}" if len(sides) > 1 else f"{number:06d}")


def _side(row: Row, prompt: Row, side: str, id: str) -> Draft:
    values = {"id": id, "text": prompt.get(f"{side}_response"), "prompt": prompt.get("prompt")}
    taken = {"text": f"{side}_response", "prompt": "prompt"}
    metadata = {name: prompt[name] for name in ("correct_answers", "incorrect_answers") if prompt.get(name)}
    model, way = row.get("responder_model_short"), row.get(side.replace("side", "side_"))
    if isinstance(model, str):
        values["system"], taken["system"] = model, "responder_model_short"
    if isinstance(way, str):
        metadata["side"] = way
    rated = prompt.get(f"{side}_posthoc_eval_data")
    checked = rated.get("checked_statements") if isinstance(rated, dict) else None
    if isinstance(checked, list):
        statements = [statement for statement in checked if isinstance(statement, dict)]
        values["facts"] = [
            {"text": s.get("self_contained_atomic_fact") or s.get("atomic_fact"), "sentence": s.get("sentence")}
            for s in statements
        ]
        taken["facts"] = f"{side}_posthoc_eval_data"
        metadata["safe_annotations"] = [statement.get("annotation") for statement in statements]
    return Draft("safe", values, taken, metadata, part=f"response {id}")


def _veriscore(row: Row, facts: str) -> Iterator[Draft]:
    """VeriScore's files at each of its stages; its verdicts stay in the metadata."""
    draft = _plain(row, "veriscore")
    if isinstance(claims := draft.metadata.pop("all_claims", None), list):
        draft.values["facts"] = [claim for claim in claims if claim != "No verifiable claim."]
        draft.taken["facts"] = "all_claims"
    yield draft


def _felm(row: Row, facts: str) -> Iterator[Draft]:
    """FELM: segments with a person's label, true = factual, as facts; blank segments are none."""
    segments, labels = row["segmented_response"], row["labels"]
    if not isinstance(segments, list) or not isinstance(labels, list) or len(segments) != len(labels):
        raise Unusable("segments and labels do not pair up", "labels")
    named = [_felm_fact(segment, label) for segment, label in zip(segments, labels, strict=True)]
    draft = _plain(row, "felm", facts=[fact for fact in named if fact["text"].strip()])
    del draft.metadata["segmented_response"]
    draft.taken["facts"] = "segmented_response"
    if isinstance(index := draft.metadata.pop("index", None), (str, int)):
        draft.values["id"], draft.taken["id"] = index, "index"
    contents = draft.metadata.pop("ref_contents", None)
    pages = [page for page in contents if isinstance(page, str) and page.strip()] if isinstance(contents, list) else []
    if pages:
        draft.values["reference"], draft.taken["reference"] = "\n\n".join(pages), "ref_contents"
    yield draft


def _felm_fact(segment: Any, label: Any) -> dict[str, Any]:
    if not isinstance(segment, str) or not isinstance(label, bool):
        raise Unusable("a segment is not a string, or its label not true or false", "labels")
    return {"text": segment, "label": "supported" if label else "not_supported", "sentence": segment}


_ABOUT = re.compile(r"\babout (.+)$", re.DOTALL)


def _wikibio(row: Row, facts: str) -> Iterator[Draft]:
    """WikiBio GPT-3: the biography is the text, the extract of Wikipedia the reference, sentence labels metadata."""
    used = ("gpt3_text", "wiki_bio_text", "question", "gpt3_text_samples")
    metadata = {name: value for name, value in row.items() if name not in used}
    values = {"text": row["gpt3_text"], "reference": row["wiki_bio_text"], "prompt": row.get("question")}
    taken = {"text": "gpt3_text", "reference": "wiki_bio_text", "prompt": "question"}
    if "gpt3_text_samples" in row:
        values["samples"], taken["samples"] = row["gpt3_text_samples"], "gpt3_text_samples"
    if isinstance(index := row.get("wiki_bio_test_idx"), (str, int)):
        values["id"], taken["id"] = index, "wiki_bio_test_idx"
        del metadata["wiki_bio_test_idx"]
    if isinstance(question := row.get("question"), str) and (about := _ABOUT.search(question)):
        values["topic"], taken["topic"] = about[1].strip(), "question"
    yield Draft("wikibio gpt-3", values, taken, metadata)


# --- Inspect AI ------------------------------------------------------------------------------------------------------


def _log(row: Row, facts: str) -> Iterator[Draft]:
    if not isinstance(row["samples"], list) or not all(isinstance(sample, dict) for sample in row["samples"]):
        raise Unusable("must be a list of objects", "samples")
    for sample in inspect_log.unpacked(dict(row)):
        yield from _sample(sample, facts)


def _sample(row: Row, facts: str) -> Iterator[Draft]:
    epoch = row.get("epoch", 1)
    metadata = {name: row[name] for name in ("target", "epoch") if row.get(name) not in (None, "")}
    metadata |= {"task": row["_task"]} if row.get("_task") else {}
    inner = row.get("metadata")
    text = inspect_log.answered(row.get("output"))
    error = row.get("error")
    id = str(row.get("id", ""))
    yield Draft(
        "inspect log",
        {
            "id": id if epoch == 1 else f"{id}-epoch{epoch}",
            "text": text,
            "prompt": inspect_log.asked(row.get("input")),
            "system": row.get("_model"),
        },
        {"id": "id", "text": "output", "prompt": "input", "system": "eval.model"},
        metadata | (inner if isinstance(inner, dict) else {}),
        part=f"sample {id}",
        trouble=f"ended in an error: {error.get('message')}" if isinstance(error, dict) else None,
    )


_SHAPES: tuple[tuple[Callable[[Row], bool], Callable[[Row, str], Iterator[Draft]]], ...] = (
    (lambda row: {"output", "annotations"} <= row.keys(), _labelled),
    (
        lambda row: "facts" in row and not row.keys() & set(ALIASES["text"]) and any(map(_MACHINE.search, row)),
        _predicted,
    ),
    (lambda row: "per_prompt_data" in row, _safe),
    (lambda row: "response" in row and bool({"prompt_source", "all_claims"} & row.keys()), _veriscore),
    (lambda row: {"response", "segmented_response", "labels"} <= row.keys(), _felm),
    (lambda row: {"gpt3_text", "wiki_bio_text"} <= row.keys(), _wikibio),
    (lambda row: {"eval", "samples"} <= row.keys(), _log),
    (lambda row: "_model" in row and "output" in row, _sample),
)
