"""Comments and tags whose content is no wikitext: taken out before anything else is read.

References and pictures go, what is shown as it is written (<nowiki>, <pre>, <math>, <syntaxhighlight>) is set aside.
One pass; a tag that is not closed never takes more than its own line, and the search for its end is made once.
"""

from __future__ import annotations

import re

from .signs import GAP, KEPT, KEPT_END

_ATTRIBUTES = r"""(?:\s(?:[^>"'<]|"[^"<\n]{0,300}"|'[^'<\n]{0,300}'|["'])*+)?+"""
"""A ">" within quotes does not end the tag. Possessive, so that no tag is read twice."""
_KEPT = ("nowiki", "pre", "math", "chem", "ce", "syntaxhighlight", "source")
_GONE = [
    "references",
    "gallery",
    "timeline",
    "imagemap",
    "score",
    "templatedata",
    "templatestyles",
    "graph",
    "mapframe",
    "maplink",
    "hiero",
    "indicator",
    "includeonly",
    "inputbox",
    "categorytree",
    "ref",
]
_OPEN = re.compile(
    rf"<(?:!--|({'|'.join((*_KEPT, *_GONE))})\b{_ATTRIBUTES}>)|</(?:ref|references|nowiki)\s*>", re.IGNORECASE
)
_QUICK = re.compile(r"<ref(?:\s[^<>\"'/]*(?:\"[^<>\"]*\"[^<>\"'/]*)?)?(?:/>|>[^<]*</ref>)")
"""References as nearly all are written; what they cannot read is left to the pass below."""
_ENDS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in (*_KEPT, *_GONE)}
_REF_END = re.compile(r"</ref\s*>|<ref\b|\n[ \t]*\n|\n=|\Z", re.IGNORECASE)
"""Where a reference ends: at its own end, or, unclosed, before what cannot stand in it."""
_AFTER_REF = re.compile(r"\s*(?:\{\{(?:[^{}]|\{\{[^{}]{0,2000}\}\}){0,5000}\}\}|\[[^\[\]\n]{0,2000}\]|[^\n]*)")
_LINE = re.compile(r"[^\n]*")
_GALLERY = re.compile(
    r"(?:[ \t]*(?:[^\n|<>{}]{1,200}\.(?:jpe?g|png|svg|gif|tiff?|webp)\b[^\n]*)?(?:\n|\Z))*", re.IGNORECASE
)
_KEPT_MARK = re.compile(f"{KEPT}(\\d+){KEPT_END}")


def set_aside(source: str) -> tuple[str, list[str]]:
    """The source without comments, references and the like, and what was set aside, by the number of its mark."""
    aside: list[str] = []
    if "<" not in source:
        return source, aside
    if "<!--" not in source and "nowiki" not in source:
        source = _QUICK.sub(GAP, source)
    out: list[str] = []
    unclosed: set[str] = set()
    position = 0
    while found := _OPEN.search(source, position):
        out.append(source[position : found.start()])
        name = (found[1] or "").lower()
        if found[0] == "<!--":
            position = _after_comment(source, found, unclosed, out)
        elif not name:
            position = found.end()
        elif found[0].endswith("/>"):
            out.append("" if name == "nowiki" else GAP)
            position = found.end()
        elif name == "ref":
            out.append(GAP)
            position = _after_reference(source, found.end())
        else:
            position = _after_tag(source, found.end(), name, unclosed, out, aside)
    out.append(source[position:])
    return "".join(out), aside


def _after_comment(source: str, found: re.Match[str], unclosed: set[str], out: list[str]) -> int:
    end = -1 if "!--" in unclosed else source.find("-->", found.end())
    if end < 0:
        unclosed.add("!--")
        line = source.find("\n", found.end())
        return line if line >= 0 else len(source)
    end += 3
    # A comment that has its line to itself takes the line along, as MediaWiki does.
    if source[end : end + 1] == "\n" and (found.start() == 0 or source[found.start() - 1] == "\n"):
        return end + 1
    return end


def _after_reference(source: str, start: int) -> int:
    found = _REF_END.search(source, start)
    if found and found[0].startswith("</"):
        return found.end()
    stop = found.start() if found else len(source)
    after = _AFTER_REF.match(source, start, stop)
    return after.end() if after else start


def _after_tag(source: str, start: int, name: str, unclosed: set[str], out: list[str], aside: list[str]) -> int:
    closed = None if name in unclosed else _ENDS[name].search(source, start)
    if not closed:
        unclosed.add(name)
        listing = _GALLERY.match(source, start) if name in ("gallery", "imagemap") else None
        return listing.end() if listing else start
    content = source[start : closed.start()]
    if name in _KEPT:
        block = name in ("pre", "syntaxhighlight", "source") and "\n" in content
        line = "\n" if block else ""
        out.append(f"{line}{KEPT}{len(aside)}{KEPT_END}{line}")
        aside.append(formula(content) if name in ("math", "chem", "ce") else content.strip("\n") if block else content)
    else:
        out.append(GAP)
    return closed.end()


def put_back(text: str, aside: list[str]) -> str:
    if KEPT not in text:
        return text
    return _KEPT_MARK.sub(lambda mark: aside[int(mark[1])] if int(mark[1]) < len(aside) else "", text)


_TEX_WORDS = re.compile(
    r"\\(?:displaystyle|textstyle|scriptstyle|left|right|limits|nolimits|!|,|;|:|quad|qquad)(?![a-zA-Z])"
)
_TEX_TEXT = re.compile(
    r"\\(?:mathrm|text|mathbf|mathit|operatorname|mathsf|mathcal|mathbb|boldsymbol|textbf)\s*\{([^{}]*)\}"
)


def formula(source: str) -> str:
    """A formula as its TeX, without what only sets its looks."""
    text = _TEX_TEXT.sub(r"\1", _TEX_WORDS.sub(" ", source))
    return " ".join(text.split())
