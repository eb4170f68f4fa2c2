"""What the names on a page mean, language by language: read from `data/`, all that a further language needs.

`data/en.toml` holds what English Wikipedia uses, and other wikis have copied much of it; `data/xx.toml` lies over it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_LONGEST = 40
"""Characters of the longest beginning or end of a name that tells its family."""


@cache
def data(name: str) -> dict[str, Any]:
    """The table `data/{name}.toml`, or {} if there is none."""
    path = files(__name__.rpartition(".")[0]) / "data" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


@dataclass(frozen=True, eq=False)
class Language:
    """Names and forms of one language's wiki. Built by `language`."""

    code: str
    months: tuple[str, ...]
    date: str
    date_day_first: str
    month_year: str
    aged: str
    hidden: frozenset[str]
    """Prefixes of links that show nothing: pictures and categories."""
    category: frozenset[str]
    interwiki: frozenset[str]
    template: frozenset[str]
    trailing: frozenset[str]
    """Headings of parts that only point elsewhere."""
    disambiguation_title: tuple[str, ...]
    redirect: tuple[str, ...]
    variants: bool
    templates: dict[str, str]
    starts: dict[str, str]
    ends: dict[str, str]
    keys: dict[str, str]
    """How the names of parameters read."""

    def family(self, name: str) -> str | None:
        """The family of the template `name` (lower case, single blanks); None if nothing is known of it."""
        if name in self.templates:
            return self.templates[name]
        # The longer the beginning that is known, the more it tells.
        for length in range(min(_LONGEST, len(name)), 0, -1):
            if family := self.starts.get(name[:length]) or self.ends.get(name[-length:]):
                return family
        return None


def language(code: str) -> Language:
    """The language of a wiki by its code ("en", "pt-br"); an unknown one gets what all wikis share."""
    code = code.lower().partition("-")[0].partition("_")[0]
    return _language(code if code.isalpha() and code.isascii() and len(code) <= 3 and data(code) else "en")


@cache
def _language(code: str) -> Language:
    common, english, own = data("common"), data("en"), data(code)

    def union(key: str) -> list[str]:
        return [*english.get(key, ()), *own.get(key, ()), *common.get(key, ())]

    def families(key: str) -> dict[str, str]:
        return {
            name: family for table in (english, own) for family, names in table.get(key, {}).items() for name in names
        }

    category = frozenset(union("category"))
    return Language(
        code=code,
        months=tuple(own.get("months", english["months"])),
        **{key: own.get(key, english[key]) for key in ("date", "date_day_first", "month_year", "aged")},
        hidden=category | frozenset(union("file")),
        category=category,
        interwiki=frozenset(common["interwiki"]),
        template=frozenset(union("template")),
        trailing=frozenset(union("trailing")),
        disambiguation_title=tuple(union("disambiguation_title")),
        redirect=tuple(dict.fromkeys(union("redirect"))),
        variants=code in common["variants"],
        templates=families("templates"),
        starts=families("starts"),
        ends=families("ends"),
        keys={**data("keys"), **own.get("keys", {})},
    )
