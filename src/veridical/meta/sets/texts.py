"""Sets of sentences, segments and summaries of longer texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...errors import InputError
from ...text.normal import is_blank
from ...types import Generation
from .rows import NOT_SUPPORTED, SUPPORTED, choice, files, json_lines, objects, pair, tabbed, text, texts


def wikibio(path: Path) -> Iterator[Generation]:
    """WikiBio GPT-3 (Manakul et al. 2023): accurate is supported; minor and major inaccuracies are not, since the text
    is an extract and does not say which it contradicts."""
    menu = {"accurate": SUPPORTED, "minor_inaccurate": NOT_SUPPORTED, "major_inaccurate": NOT_SUPPORTED}
    for line, row in json_lines(path):
        page = text(row, "wiki_bio_text", path, line)
        sentences, marks = texts(row, "gpt3_sentences", path, line), texts(row, "annotation", path, line)
        if len(sentences) != len(marks):
            raise InputError("sentences and labels do not pair up", file=str(path), line=line, field="annotation")
        for number, (sentence, mark) in enumerate(zip(sentences, marks, strict=True)):
            label = choice(mark, menu, path, line, "annotation") or NOT_SUPPORTED
            yield pair(f"{line}/{number}", sentence, label, [page], cluster=str(line), error_type=_wrong(mark))


def _wrong(mark: str) -> str | None:
    return None if mark == "accurate" else mark


def felm(path: Path) -> Iterator[Generation]:
    """FELM (Chen et al. 2023): segments of responses whose references have text, by domain. Wrong is not supported."""
    for line, row in json_lines(path):
        contents = row.get("ref_contents")
        pages = [page for page in contents if isinstance(page, str)] if isinstance(contents, list) else []
        if not any(not is_blank(page) for page in pages):
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
                    SUPPORTED if right is True else NOT_SUPPORTED,
                    pages,
                    cluster=str(row.get("index", line)),
                    domain=row.get("domain"),
                    error_type=kind or None,
                )


def factool(path: Path) -> Iterator[Generation]:
    """FacTool's knowledge QA (Chern et al. 2023): claims of answers true or false; no evidence inside."""
    for line, row in json_lines(path):
        for number, one in enumerate(objects(row.get("claims"), "claims", path, line)):
            label = choice(one.get("label"), {True: SUPPORTED, False: NOT_SUPPORTED, None: None}, path, line, "label")
            if label:
                yield pair(f"{line}/{number}", text(one, "claim", path, line), label, None, cluster=str(line))


def begin(path: Path) -> Iterator[Generation]:
    """BEGIN (Dziri et al. 2022): fully attributable is supported; generic responses, which say nothing to check, are
    left out. The three sources are the domains."""
    menu = {"fully attributable": SUPPORTED, "not fully attributable": NOT_SUPPORTED, "generic": None}
    for file in files(path, "*.tsv"):
        for line, row in tabbed(file):
            label = choice(row.get("begin_label"), menu, file, line, "begin_label")
            if label:
                knowledge = text(row, "knowledge", file, line)
                yield pair(
                    f"{file.stem}/{line}",
                    text(row, "response", file, line),
                    label,
                    [knowledge],
                    cluster=knowledge,
                    domain=row.get("data_source"),
                )


def summedits(path: Path) -> Iterator[Generation]:
    """SummEdits (Laban et al. 2023): label 1 is consistent. The files are the domains; clustered by document."""
    for file in files(path, "summedits_*.json"):
        for line, row in json_lines(file):
            label = choice(row.get("label"), {1: SUPPORTED, 0: NOT_SUPPORTED}, file, line, "label")
            document = text(row, "doc", file, line)
            yield pair(
                f"{file.stem}/{row.get('id', line)}",
                text(row, "summary", file, line),
                label or NOT_SUPPORTED,
                [document],
                cluster=document[:400],
                domain=file.stem.removeprefix("summedits_"),
            )


def bump(path: Path) -> Iterator[Generation]:
    """BUMP (Ma et al. 2023): each faithful summary and its edit, in pairs (`pair` in the metadata)."""
    for line, row in json_lines(path):
        article, key = text(row, "article", path, line), str(row.get("id", line))
        for side, field in (("faithful", "reference_summary"), ("edited", "edited_summary")):
            yield pair(
                f"{key}/{side}",
                text(row, field, path, line),
                SUPPORTED if side == "faithful" else NOT_SUPPORTED,
                [article],
                cluster=str(row.get("article_id", key)),
                pair=key,
                error_type=row.get("corrected_error_type") if side == "edited" else None,
            )


def refchecker(path: Path) -> Iterator[Generation]:
    """RefChecker (Hu et al. 2024): triplets labelled Entailment, Neutral or Contradiction, for rows that bring a
    `reference` (or `context`): the published file does not."""
    menu = {"entailment": SUPPORTED, "neutral": "not_enough_evidence", "contradiction": "contradicted"}
    for line, row in json_lines(path):
        found = next((row[name] for name in ("reference", "context") if row.get(name)), None)
        listed = found if isinstance(found, list) else [found]
        pages = [page for page in listed if isinstance(page, str)] or None
        for name, triplets in row.items():
            if not name.endswith("_kg"):
                continue
            for number, one in enumerate(objects(triplets, name, path, line)):
                words = one.get("triplet")
                if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                    raise InputError("must be a list of texts", file=str(path), line=line, field=f"{name}.triplet")
                label = choice(one.get("human_label"), menu, path, line, "human_label") or NOT_SUPPORTED
                yield pair(f"{row.get('id', line)}/{name}/{number}", " ".join(words), label, pages, cluster=str(line))
