"""Sets of answers by language models, labelled segment by segment, sentence by sentence or claim by claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...errors import InputError
from ...text.normal import is_blank
from ...types import Generation
from .rows import (
    CONTRADICTED,
    NOT_ENOUGH,
    NOT_SUPPORTED,
    SUPPORTED,
    Row,
    choice,
    files,
    json_lines,
    listed,
    objects,
    pair,
    text,
    texts,
)

PAGES = "pages.jsonl"
"""Beside FActScore's files: the pages that its facts are judged by, {"topic", "text"} a line."""


def felm(path: Path) -> Iterator[Generation]:
    """FELM (Chen et al. 2023): segments of responses whose references have text, by domain. Wrong is not supported."""
    for line, row in json_lines(path):
        pages = [page for page in listed(row.get("ref_contents")) if not is_blank(page)]
        if not pages:
            continue
        segments, labels = texts(row, "segmented_response", path, line), row.get("labels")
        if not isinstance(labels, list) or len(labels) != len(segments):
            raise InputError("segments and labels do not pair up", file=str(path), line=line, field="labels")
        kinds = row.get("type")
        for number, (segment, right) in enumerate(zip(segments, labels, strict=True)):
            if not is_blank(segment):
                kind = kinds[number] if isinstance(kinds, list) and number < len(kinds) else None
                yield pair(
                    f"{row.get('index', line)}/{number}",
                    segment,
                    choice(right, {True: SUPPORTED, False: NOT_SUPPORTED}, path, line, "labels"),
                    pages,
                    cluster=str(row.get("index", line)),
                    domain=row.get("domain"),
                    error_type=kind if isinstance(kind, str) and kind else None,
                )


def factool(path: Path) -> Iterator[Generation]:
    """FacTool's knowledge QA (Chern et al. 2023): claims of answers true or false; no evidence inside."""
    menu = {True: SUPPORTED, False: NOT_SUPPORTED, None: None}
    for line, row in json_lines(path):
        for number, one in enumerate(objects(row.get("claims"), "claims", path, line)):
            if label := choice(one.get("label"), menu, path, line, "label"):
                yield pair(f"{line}/{number}", text(one, "claim", path, line), label, None, cluster=str(line))


def factscore(path: Path) -> Iterator[Generation]:
    """FActScore's annotated biographies (Min et al. 2023): people's facts, S supported, NS not supported; irrelevant
    ones are left out. A folder's files are the domains. The page of each topic is to be given: `pages.jsonl` in the
    folder ({"topic", "text"} a line), or `--knowledge`."""
    menu = {"s": SUPPORTED, "ns": NOT_SUPPORTED, "ir": None}
    folder = path if path.is_dir() else path.parent
    pages = _pages(folder / PAGES)
    for file in files(path, "*.jsonl"):
        if file.name == PAGES:
            continue
        for line, row in json_lines(file):
            topic = text(row, "topic", file, line)
            places = objects(row.get("annotations"), "annotations", file, line)
            facts = [fact for one in places for fact in objects(one.get("human-atomic-facts"), "facts", file, line)]
            for number, fact in enumerate(facts):
                if label := choice(fact.get("label"), menu, file, line, "label"):
                    yield pair(
                        f"{file.stem}/{line}/{number}",
                        text(fact, "text", file, line),
                        label,
                        [pages[topic]] if topic in pages else None,
                        cluster=topic,
                        topic=topic,
                        domain=file.stem,
                    )


def _pages(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    return {text(row, "topic", path, line): text(row, "text", path, line) for line, row in json_lines(path)}


def lfqa(path: Path) -> Iterator[Generation]:
    """LFQA-Verification (Chen et al. 2023): sentences of long answers by three annotators against the question's
    documents; the majority counts, partial support is none, and three different labels are left out.

    `path` is the data folder with `annotations/` and `docs/`. Which documents a file was judged by is not in the data:
    those of people for answers that people's documents were given for ("whudoc"), those of WebGPT for the others. The
    files, by the system that answered, are the domains. Clustered by question.
    """
    menu = {"supported": SUPPORTED, "partially": NOT_SUPPORTED, "not_supported": NOT_SUPPORTED}
    for file in files(path / "annotations" if path.is_dir() else path, "annotations-*.json"):
        documents = _documents(file)
        for line, row in json_lines(file):
            question = text(row, "question", file, line)
            pages = documents.get(_key(question))
            if not pages:
                raise InputError("no documents for this question", file=str(file), line=line, field="question")
            for number, one in enumerate(objects(row.get("annotations"), "annotations", file, line)):
                votes = Counter(choice(vote, menu, file, line, "labels") for vote in _votes(one, file, line))
                if len(set(one["labels"])) == len(one["labels"]) > 1:
                    continue  # nobody agrees
                yield pair(
                    f"{file.stem}/{line}/{number}",
                    text(one, "answer", file, line),
                    votes.most_common(1)[0][0],
                    pages,
                    cluster=_key(question),
                    domain=file.stem.removeprefix("annotations-"),
                )


def _votes(row: Row, path: Path, line: int) -> list[str]:
    if not (found := texts(row, "labels", path, line)):
        raise InputError("nobody labelled it", file=str(path), line=line, field="labels")
    return found


def _documents(annotations: Path) -> dict[str, list[str]]:
    """Question -> texts, of the documents that go with a file of annotations."""
    of = "human" if "whudoc" in annotations.stem else "webgpt"
    path = annotations.parent.parent / "docs" / f"docs-{of}.json"
    found = {}
    for line, row in json_lines(path):
        docs = objects(row.get("docs"), "docs", path, line)
        found[_key(text(row, "question", path, line))] = [text(one, "text", path, line) for one in docs]
    return found


def _key(question: str) -> str:
    return " ".join(question.split()).casefold()


def bingcheck(path: Path) -> Iterator[Generation]:
    """BingCheck (Li et al. 2023, Self-Checker): claims of Bing Chat's answers with the evidence sentences that were
    picked for each. Refuted is contradicted; partly or not supported, not supported. A claim without evidence keeps
    none, and no judge may support it. A folder of one JSON file an answer."""
    partly = ("partially supported", "partially_supported", "partially support", "partially")
    menu = {"supported": SUPPORTED, **dict.fromkeys(partly, NOT_SUPPORTED), "refuted": CONTRADICTED}
    menu |= dict.fromkeys(("not supported", "not_supported"), NOT_ENOUGH)
    for file in files(path, "*.json"):
        for line, row in json_lines(file):
            for key, answer in row.items():
                checked = answer.get("fact-checking") if isinstance(answer, dict) else None
                if not isinstance(checked, dict):
                    continue
                verdicts, evidence = (_mapping(checked, name, file, line) for name in ("subconclusions", "evidence"))
                for number, (claim, verdict) in enumerate(verdicts.items()):
                    label = choice(verdict, menu, file, line, "subconclusions")
                    yield pair(f"{key}/{number}", claim, label, listed(evidence.get(claim)), cluster=key)


def _mapping(row: Row, field: str, path: Path, line: int) -> Mapping[str, object]:
    value = row.get(field)
    if not isinstance(value, dict):
        raise InputError("must be an object", file=str(path), line=line, field=field)
    return value


def refchecker(path: Path) -> Iterator[Generation]:
    """RefChecker (Hu et al. 2024): triplets labelled Entailment, Neutral or Contradiction. The published files bring no
    `reference`; rows to which one was added are judged by it. A folder's files, by system, are the domains."""
    menu = {"entailment": SUPPORTED, "neutral": NOT_ENOUGH, "contradiction": CONTRADICTED}
    for file in files(path, "*.json*"):
        for line, row in json_lines(file):
            pages = next((listed(row[name]) for name in ("reference", "context") if row.get(name)), None) or None
            for name, triplets in row.items():
                if not name.endswith("_kg"):
                    continue
                for number, one in enumerate(objects(triplets, name, file, line)):
                    claim = " ".join(texts(one, "triplet", file, line))
                    label = choice(one.get("human_label"), menu, file, line, "human_label")
                    key = f"{file.stem}/{row.get('id', line)}"
                    answer = f"{key}/{name}"
                    yield pair(
                        f"{answer}/{number}", claim, label, pages, cluster=key, response=answer, domain=file.stem
                    )


def refchecker_empty(path: Path) -> int:
    """Responses without a triplet, of which nobody labelled anything."""
    return sum(
        not objects(triplets, name, file, line)
        for file in files(path, "*.json*")
        for line, row in json_lines(file)
        for name, triplets in row.items()
        if name.endswith("_kg")
    )


__all__ = ["bingcheck", "factool", "factscore", "felm", "lfqa", "refchecker", "refchecker_empty"]
