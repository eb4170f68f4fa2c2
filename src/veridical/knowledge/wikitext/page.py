"""A page of a wiki as text: the order of the steps, and what is kept of a page that breaks them."""

from __future__ import annotations

import re

from ...types import Struct
from ..documents import Section
from .calls import Page
from .inline import cleaned, without_quotes
from .languages import Language
from .languages import language as language_of
from .links import linked
from .sections import lines, parts
from .signs import KEPT, KEPT_END, without_controls
from .tables import table
from .tags import put_back, set_aside
from .templates import template
from .tokens import Readers, expand

_READERS = Readers(template=template, table=table)
_REDIRECT = re.compile(r"\s*#\s*([^\s\[:]{2,30})\s*:?\s*\[\[([^\[\]|\n]{1,300})(?:\|[^\[\]\n]{0,300})?\]\]")
_LISTED = re.compile(r"(?:^|\n)[*#:]+[^\n\[,]{0,20}\[\[([^\[\]|\n{}]{1,300})")


class Article(Struct, frozen=True, kw_only=True):
    """The text of a page."""

    sections: tuple[Section, ...] = ()
    """In order: the lead with heading "", its infoboxes with their names, the parts under headings; none is empty."""
    disambiguation: bool = False
    """The page only lists what its title may mean."""
    choices: tuple[str, ...] = ()
    """The titles that a disambiguation page lists."""
    plain: bool = False
    """The page broke the careful reading: its text is plainer, without tables and infoboxes."""


def article(source: str, *, title: str = "", language: str = "en") -> Article:
    """The text of a page's wikitext, in time that grows with its length; never raises.

    `title` is what {{PAGENAME}} reads as, `language` the wiki's code ("de", "pt-br"). A redirect has no sections.
    """
    try:
        return _careful(source, title, language_of(language))
    except Exception:
        # Whatever goes wrong with one page of millions must not cost its text.
        return Article(sections=tuple(plainer(source)), plain=True)


def redirect_target(source: str, *, language: str = "en") -> str | None:
    """The title that a redirect leads to; None for any other page."""
    found = _REDIRECT.match(source) if "#" in source[:200] else None
    if found and found[1].lower() in language_of(language).redirect:
        return found[2].partition("#")[0].strip().replace("_", " ")
    return None


def _careful(source: str, title: str, language: Language) -> Article:
    source = without_controls(source)
    if redirect_target(source, language=language.code):
        return Article()
    source, aside = set_aside(source)
    lead = source.find("\n==")
    page = Page(title=title, language=language, lead=lead if lead >= 0 else len(source), source=source)
    text = cleaned(expand(source, page, _READERS), variants=language.variants)
    sections = parts(text, language)
    boxes = [
        Section(text=box, heading=" ".join(cleaned(name).split()))
        for name, content in page.boxes
        if (box := lines(cleaned(content, variants=language.variants)))
    ]
    first = 1 if sections and not sections[0].heading else 0
    sections[first:first] = boxes
    if aside:
        sections = [
            Section(text=text, heading=put_back(part.heading, aside).strip())
            for part in sections
            if (text := put_back(part.text, aside).strip())
        ]
    disambiguation = page.disambiguation or "__DISAMBIG__" in source or _is_titled_so(title, language)
    return Article(
        sections=tuple(sections),
        disambiguation=disambiguation,
        choices=choices(source, language) if disambiguation else (),
    )


def _is_titled_so(title: str, language: Language) -> bool:
    return title.endswith(")") and title[title.rfind("(") + 1 : -1].lower() in language.disambiguation_title


def choices(source: str, language: Language) -> tuple[str, ...]:
    """The first link of each item of a list: what a disambiguation page offers."""
    titles: dict[str, None] = {}
    for found in _LISTED.finditer(source):
        target = found[1].partition("#")[0].strip(" :").replace("_", " ")
        if target and linked(target, None, language) == target and not _is_titled_so(target, language):
            titles[target[:1].upper() + target[1:]] = None
    return tuple(titles)


_COMMENT = re.compile(
    r"<!--[^<>]{0,5000}-->|<ref\b[^<>]{0,500}/>|<ref\b[^<>]{0,500}>[^<]{0,5000}</ref>|<[/a-zA-Z][^<>]{0,500}>"
)
_LINK = re.compile(r"\[\[(?:[^\[\]|\n]{0,300}\|)?([^\[\]|\n]{0,300})\]\]")
_SIGNS = re.compile(r"\[\[|\]\]|\{\{+|\}\}+|\{\||\|\}|\|\|?|^[*#:;!|=\-]+|=+[ \t]?$", re.MULTILINE)


def plainer(source: str) -> list[Section]:
    """All of a page's words with the least of its markup taken away."""
    text = without_controls(source).replace(KEPT, "").replace(KEPT_END, "")
    text = _LINK.sub(r"\1", _COMMENT.sub(" ", text))
    text = _SIGNS.sub(" ", without_quotes(text))
    text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
    return [Section(text=text)] if text else []
