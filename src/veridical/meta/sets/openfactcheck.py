"""OpenFactCheck's files (Wang et al. 2024) as labelled claims: its claims, and FacTool's results with snippets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...errors import InputError
from ...types import Generation, Struct
from .rows import NOT_SUPPORTED, SUPPORTED, Row, choice, json_lines, objects, pair, text

_GOLD = {True: SUPPORTED, False: NOT_SUPPORTED, None: None, "na": None}


class Checked(Struct, frozen=True, kw_only=True):
    """One claim of a response in FacTool's results."""

    id: str
    line: int
    response: str
    """Id of the response."""
    source: str | None
    claim: str
    row: Row


def openfactcheck(path: Path) -> Iterator[Generation]:
    """`factool_chatgpt_results.jsonl`: claims of responses with the web snippets that FacTool found in May 2024; or
    `check_claims.jsonl`: `claim` and `claim_label`, no evidence. True is supported, false is not; what is labelled NA
    is left out. The latter's false claims hold some that people could not decide: the file does not tell which."""
    return _replay(path) if is_replay(path) else _claims(path)


def is_replay(path: Path) -> bool:
    """Whether the file has the shape of FacTool's results, by its beginning."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(1 << 12).removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and b'"claims_info"' in start


def checked(path: Path) -> Iterator[Checked]:
    """The claims of FacTool's results, in the file's order. Raises InputError."""
    for line, row in json_lines(path):
        found = row.get("claims_info")
        if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
            raise InputError("must be an object of claims", file=str(path), line=line, field="claims_info")
        source = row.get("source") if isinstance(row.get("source"), str) else None
        for number, (claim, one) in enumerate(found.items()):
            yield Checked(id=f"{line}/{number}", line=line, response=str(line), source=source, claim=claim, row={**one})


def _replay(path: Path) -> Iterator[Generation]:
    for one in checked(path):
        label = choice(one.row.get("prior_label"), _GOLD, path, one.line, "prior_label")
        snippets = objects(one.row.get("evidence_list"), "evidence_list", path, one.line)
        if label:
            yield pair(
                one.id,
                one.claim,
                label,
                [str(snippet.get("web_page_snippet_manual") or "") for snippet in snippets],
                cluster=one.response,
                response=one.response,
                domain=one.source,
            )


def _claims(path: Path) -> Iterator[Generation]:
    for line, row in json_lines(path):
        claim, response = text(row, "claim", path, line), row.get("response")
        if label := choice(row.get("claim_label"), _GOLD, path, line, "claim_label"):
            cluster = response if isinstance(response, str) and response else str(line)
            source = row.get("source")
            yield pair(
                str(line), claim, label, None, cluster=cluster, domain=source if isinstance(source, str) else None
            )


__all__ = ["Checked", "checked", "is_replay", "openfactcheck"]
