"""Sets of texts that rest on a document: sentences of biographies, summaries, responses in a dialogue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...errors import InputError
from ...types import Generation
from .rows import NOT_SUPPORTED, SUPPORTED, choice, files, json_lines, pair, tabbed, text, texts


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
            label = choice(mark, menu, path, line, "annotation")
            yield pair(f"{line}/{number}", sentence, label, [page], cluster=str(line), error_type=_wrong(mark))


def _wrong(mark: str) -> str | None:
    return None if mark == "accurate" else mark


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
                label,
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
