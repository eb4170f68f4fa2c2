"""What a knowledge source can be built from: files and folders, in units that any process can read on its own.

    for unit in units(["enwiki-20230401-pages-articles-multistream.xml.bz2", "notes/", "urls:links.txt"]):
        for page in read(unit): ...       # a Record, or a Bad: what cannot be used, and why

| kind | files | cut by |
|---|---|---|
| dump | MediaWiki's XML, plain or .bz2 .gz .xz (.zst from Python 3.14), whole or in parts | bytes, streams of bzip2 |
| jsonl, json | .jsonl .ndjson .json, also packed | bytes at line ends; not packed ones, not arrays |
| parquet | .parquet | groups of rows |
| factscore | .db .sqlite of FActScore | rows |
| table | .csv .tsv, also packed | - |
| text, paper | .txt .md .markdown; .html .htm .xhtml .pdf .docx | - |
| links | urls:FILE, .urls | - |
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import UsageError
from ...types import Struct
from ..documents import Record
from . import dump, factscore, json, links, packed, papers, parquet, table, text
from .base import Bad, Kind, Pages, Passed, Unit, shown

__all__ = ["About", "Bad", "Pages", "Passed", "Unit", "about", "files", "kind_of", "nothing", "pages", "read", "units"]

KINDS: dict[str, Kind] = {
    "dump": dump.KIND,
    "jsonl": json.LINES,
    "json": json.ARRAY,
    "parquet": parquet.KIND,
    "factscore": factscore.KIND,
    "table": table.KIND,
    "text": text.KIND,
    "paper": papers.KIND,
    "links": links.KIND,
}
_PACKABLE = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "table", ".tsv": "table"}
_ENDINGS = _PACKABLE | {
    ".parquet": "parquet",
    ".txt": "text",
    ".md": "text",
    ".markdown": "text",
    ".html": "paper",
    ".htm": "paper",
    ".xhtml": "paper",
    ".pdf": "paper",
    ".docx": "paper",
    ".db": "factscore",
    ".sqlite": "factscore",
    ".urls": "links",
}
_DUMP = re.compile(r"\.xml(?:-p\d+p\d+)?(?:\.(?:gz|bz2|xz|zst))?$", re.IGNORECASE)
_INDEX = re.compile(r"-index\d*\.txt(?:-p\d+p\d+)?(?:\.bz2)?$", re.IGNORECASE)
_UNREAD = {
    ".zip": "a zip archive; unpack it first",
    ".7z": "a 7z archive; unpack it first (7z x)",
    ".rar": "a rar archive; unpack it first",
    ".tar": "a tar archive; unpack it first (tar xf) and give the folder",
    ".tgz": "a tar archive; unpack it first (tar xf) and give the folder",
    ".doc": "a Word file of before 2007; save it as .docx",
}
_LINKS = "urls:"
_WIKI_FILE = re.compile(r"(?:^|[^a-z])([a-z_]+?)wik[a-z]*-((?:19|20)\d{6})\b")
_WIKI_FOLDER = re.compile(r"((?:19|20)\d{6})\.([a-z][a-z_-]*)")


def kind_of(path: Path) -> str | None:
    """How a file is read, by its name; None for one that is not."""
    if _INDEX.search(path.name):
        return None
    if _DUMP.search(path.name):
        return "dump"
    ending = path.suffix.lower()
    return _PACKABLE.get(Path(path.stem).suffix.lower()) if ending in packed.OPENERS else _ENDINGS.get(ending)


def files(source: str | Path) -> list[Path]:
    """The file itself, or the readable files of a folder and all below it, in the order of their names.

    Hidden files, those of other kinds, and XML that is no dump are passed over in a folder. Raises UsageError for a
    path that does not exist or that cannot be read as pages.
    """
    source = Path(source)
    if str(source).startswith(_LINKS):
        if not (named := Path(str(source).removeprefix(_LINKS))).is_file():
            raise UsageError(f"{shown(named)}: there is no such list of links")
        return [source]
    if source.is_dir():
        return sorted(path for path in _below(source) if kind_of(path) and path.is_file() and not _other_xml(path))
    if not source.exists():
        raise UsageError(f"{shown(source)}: there is no such file or folder")
    if kind_of(source) is None:
        raise UsageError(f"{shown(source)}: {_refusal(source)}")
    if not source.is_file():
        raise UsageError(f"{shown(source)}: is no ordinary file")
    return [source]


def _below(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(here, name) for name in names if not name.startswith("."))


def _other_xml(path: Path) -> bool:
    if path.suffix.lower() != ".xml":
        return False
    with path.open("rb") as file:
        return dump.root_of(file.read(packed.HEAD)) not in (None, "mediawiki", "feed", "html", "HTML")


def _refusal(path: Path) -> str:
    if _INDEX.search(path.name):
        return "the index of a dump, which is not needed; give the dump itself"
    inner = Path(path.stem).suffix.lower()
    if why := _UNREAD.get(".tar" if inner == ".tar" else path.suffix.lower()):
        return f"cannot be read as pages: {why}"
    known = ", ".join([*_ENDINGS, ".xml"])
    return f"cannot be read as pages; what can is {known} (JSON, tables and XML also as .gz, .bz2, .xz)"


def units(sources: Sequence[Path | str]) -> Iterator[Unit]:
    """The pieces of all sources, each file once, in the order given and then of the names.

    Every file is looked at before its first unit is given: UsageError for a path that cannot be read and for a missing
    library, InputError, saying what was found, for a file that is not what its name says, that is empty or broken at
    its start. Documents (text, HTML, PDF, Word) are only looked at when they are read.
    """
    seen: set[Path] = set()
    for source in sources:
        found = files(source)
        if not found:
            raise UsageError(f"{shown(source)}: a folder without a file that can be read as pages")
        for path in found:
            listed = str(path).startswith(_LINKS)
            path = Path(str(path).removeprefix(_LINKS)) if listed else path
            if (real := path.resolve()) in seen:
                continue
            seen.add(real)
            kind = "links" if listed else kind_of(path) or ""
            try:
                yield from KINDS[kind].units(path)
            except OSError as error:
                raise UsageError(f"{shown(path)}: cannot be read: {error.strerror or error}") from error


def read(unit: Unit, *, language: str | None = None, passed: Passed | None = None) -> Pages:
    """The pages of a unit, and what in it cannot be used, in bounded memory.

    `language` is that of a dump's wiki, where the dump is not to decide it. `passed` counts what is read and is no page
    (a dump's other namespaces, redirects, pages without text). Raises InputError where nothing of the unit can be read,
    UsageError where the file cannot be opened (any more).
    """
    path = Path(unit.file)
    try:
        yield from KINDS[unit.kind].read(unit, language, Passed() if passed is None else passed)
    except UnicodeDecodeError as error:
        yield Bad(reason="not UTF-8", file=shown(path), detail=f"byte {error.start}: {error.reason}")
    except Exception as error:
        if (why := packed.damage(error)) is not None and packed.packing(path):
            archive = f"a damaged or cut off {packed.NAMES[packed.packing(path)]} archive"
            yield Bad(reason=archive, file=shown(path), detail=why)
        elif isinstance(error, OSError):
            raise UsageError(f"{shown(path)}: cannot be read: {error.strerror or error}") from error
        else:
            raise


def pages(source: str | Path) -> Pages:
    """All pages of one file, as `read` gives them. Raises InputError also for a dump without an article."""
    passed, articles, dumps = Passed(), 0, ""
    for unit in units([source]):
        dumps = unit.file if unit.kind == "dump" else dumps
        for page in read(unit, passed=passed):
            articles += isinstance(page, Record) and page.target is None
            yield page
    if dumps and not articles:
        raise nothing(dumps, passed)


nothing = dump.nothing


class About(Struct, frozen=True, kw_only=True):
    """What sources say of themselves; None where they say nothing, or not the same."""

    site: str | None = None
    """"enwiki"."""
    language: str | None = None
    snapshot: str | None = None
    """Day of the dump, "20230401"."""
    licence: str | None = None


def about(sources: Sequence[Path | str]) -> About:
    """Of dumps and other exports of Wikimedia, by what they hold and by their names."""
    told = [_about(path) for source in sources for path in files(source)]
    fields = {name: {getattr(one, name) for one in told} for name in About.__struct_fields__}
    return About(**{name: values.pop() for name, values in fields.items() if len(values) == 1})


def _about(path: Path) -> About:
    kind, wiki = kind_of(path), _WIKI_FILE.search(path.name)
    if kind == "dump":
        site = dump.site(path)
        snapshot = wiki[2] if wiki else None
        return About(
            site=site.dbname or site.name or None,
            language=site.language,
            snapshot=snapshot,
            licence=site.licence(snapshot),
        )
    if kind in ("factscore", "parquet", "jsonl", "json") and wiki:
        return About(language=wiki[1].replace("_", "-"), snapshot=wiki[2])
    if kind == "parquet" and (folder := _WIKI_FOLDER.fullmatch(path.parent.name)):  # wikimedia/wikipedia/20231101.en
        return About(language=folder[2], snapshot=folder[1])
    return About()
