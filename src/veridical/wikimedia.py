"""Wikipedia's text by language and date, as sets that `datasets.fetch` brings: the dumps, and the Parquet export.

Which files there are, with their sizes and hashes, is asked of the source: `dumpstatus.json` of a dump, the file tree
of the export's repository on the Hugging Face hub. Nothing is known beforehand, so the hash that is checked is the
source's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from .datasets import Dataset, Remote
from .errors import FatalError, UsageError

DUMPS = "https://dumps.wikimedia.org"
HUB = "https://huggingface.co"
EXPORT = "wikimedia/wikipedia"
NAMES = {
    "wikipedia": "all articles of one Wikipedia as a multistream dump, for `veridical knowledge build`",
    "wikipedia-parquet": "all articles of one Wikipedia as Parquet, cleaned by Wikimedia (without templates)",
}
LICENCE = "CC BY-SA 4.0 (before 2023-06-07 CC BY-SA 3.0), GFDL"
_JOB = "articlesmultistreamdump"
_LANGUAGE, _DATE = re.compile(r"[a-z][a-z-]{1,19}"), re.compile(r"20\d{6}")
_SECONDS = 60.0
_PARTS = re.compile(r"\.xml(-p\d+p\d+)?\.bz2$")


async def listed(name: str, language: str, date: str | None, *, base: str | None = None) -> Dataset:
    """The files of a Wikipedia of that language and day (YYYYMMDD), as the source lists them now.

    `base` is another address of the same layout. Raises UsageError for a language or date that is none, or that the
    source does not have; FatalError where it cannot be reached or says something else.
    """
    if name not in NAMES:
        raise UsageError(f"no such set {name!r}; there is: {', '.join(NAMES)}")
    if not _LANGUAGE.fullmatch(language):
        raise UsageError(f"{language!r} is no language of a Wikipedia, such as en or zh-yue")
    if date is None or not _DATE.fullmatch(date):
        raise UsageError(
            f"--date must be the day of a dump, such as 20261101, not {date}: see {base or DUMPS}/backup-index.html"
        )
    if name == "wikipedia":
        return await _dump(language, date, (base or DUMPS).rstrip("/"))
    return await _export(language, date, (base or HUB).rstrip("/"))


async def _dump(language: str, date: str, base: str) -> Dataset:
    wiki = f"{language.replace('-', '_')}wiki"
    place = f"{base}/{wiki}/{date}"
    status = await _json(f"{place}/dumpstatus.json", f"{wiki} has no dump of {date}")
    job = (
        status.get("jobs", {}).get(_JOB) if isinstance(status, dict) and isinstance(status.get("jobs"), dict) else None
    )
    if not isinstance(job, dict) or not isinstance(job.get("files"), dict):
        raise FatalError(f"{place}/dumpstatus.json: no list of files of {_JOB}")
    if job.get("status") != "done":
        raise UsageError(f"the dump of {wiki} of {date} is not finished ({job.get('status')}): take an earlier one")
    files = tuple(_dumped(name, told) for name, told in sorted(job["files"].items()) if _PARTS.search(name))
    return _dataset("wikipedia", language, date, f"{place}/", files)


def _dumped(name: str, told: Any) -> Remote:
    size, sha1 = (told.get("size"), told.get("sha1")) if isinstance(told, dict) else (None, None)
    if not isinstance(size, int) or not isinstance(sha1, str):
        raise FatalError(f"dumpstatus.json: no size or sha1 of {name}")
    return Remote(path=name, source=name, size=size, sha1=sha1)


async def _export(language: str, date: str, base: str) -> Dataset:
    folder = f"{date}.{language}"
    tree = await _json(f"{base}/api/datasets/{EXPORT}/tree/main/{quote(folder)}", f"{EXPORT} has no {folder}")
    if not isinstance(tree, list):
        raise FatalError(f"{base}: no list of the files of {EXPORT}")
    files = tuple(_exported(entry) for entry in tree if isinstance(entry, dict) and _is_parquet(entry))
    return _dataset("wikipedia-parquet", language, date, f"{base}/datasets/{EXPORT}/resolve/main/", files)


def _is_parquet(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("path"), str) and entry["path"].endswith(".parquet")


def _exported(entry: dict[str, Any]) -> Remote:
    kept = entry.get("lfs")
    sha256 = kept.get("oid") if isinstance(kept, dict) else None
    if not isinstance(sha256, str) or not isinstance(entry.get("size"), int):
        raise FatalError(f"{EXPORT}: no size or sha256 of {entry['path']}")
    return Remote(path=entry["path"], source=entry["path"], size=entry["size"], sha256=sha256.removeprefix("sha256:"))


def _dataset(name: str, language: str, date: str, base: str, files: Iterable[Remote]) -> Dataset:
    found = tuple(files)
    if not found:
        raise UsageError(f"{base} lists no such files")
    if wrong := next((one.path for one in found if one.path.startswith("/") or ".." in one.path.split("/")), None):
        raise FatalError(f"{base}: a file name that leads elsewhere: {wrong!r}")
    return Dataset(name=f"{name}-{language}-{date}", what=NAMES[name], licence=LICENCE, base=base, files=found)


async def _json(url: str, missing: str) -> Any:
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session, session.get(url) as response:
            if response.status == 404:
                raise UsageError(f"{missing} ({url})")
            if response.status != 200:
                raise FatalError(f"{url}: HTTP {response.status}")
            return await response.json(content_type=None)
    except ValueError as error:
        raise FatalError(f"{url}: not JSON: {error}") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise FatalError(
            f"{url}: cannot be reached ({error or type(error).__name__}); fetching needs the network, or --mirror "
            "with a copy of the same layout. A dump that you have is used as it is: veridical knowledge build FILE"
        ) from error
