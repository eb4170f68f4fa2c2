"""Links: what is read of [[…]] and of [http://… …]."""

from __future__ import annotations

import re

from .languages import Language
from .signs import GAP

_TRICK = re.compile(r"^(.*?)\s*(?:\([^()]*\)|（[^（）]*）|,[^,]*)$")
_EXTERNAL = re.compile(
    r"\[(?:https?:|ftps?:|mailto:|news:|irc:)?//[^\s\[\]<>\"]*+[ \t]*+([^\[\]\n]*+(?:\[[^\[\]\n]*\][^\[\]\n]*)?)\]"
    r"|\[mailto:[^\s\[\]<>\"]*+[ \t]*+([^\[\]\n]*+)\]",
    re.IGNORECASE,
)
_FILE_START = re.compile(r"[ \t]*:?([^\[\]{}|\n:]{1,40}):")


def linked(target: str, label: str | None, language: Language) -> str:
    """The text of [[target|label]]; `GAP` for pictures, categories and the page in other languages."""
    if ":" in target:
        prefix, _, rest = target.partition(":")
        prefix = prefix.strip().lower()
        if prefix in language.hidden:
            return GAP
        if not prefix:
            target = rest
        elif label is None and prefix in language.interwiki:
            return GAP
        if label == "":
            return _tricked(rest)
        if label is None and not prefix and rest.partition(":")[0].strip().lower() in language.interwiki:
            return rest.partition(":")[2].strip()
    if label:
        return label
    if label is not None:
        return _tricked(target)
    if "#" in target:
        page, _, part = target.partition("#")
        target = page.strip() or part
    return target.strip().replace("_", " ") if "_" in target else target


def _tricked(target: str) -> str:
    """What the pipe trick leaves of a title: no parentheses at its end, nothing after its comma."""
    target = target.strip().replace("_", " ")
    if len(target) > 300:
        return target
    found = _TRICK.match(target)
    return (found[1] if found and found[1] else target).strip()


def link(body: str, language: Language) -> str:
    """The text of a link whose content was already read."""
    target, pipe, label = body.partition("|")
    if "\n" in target or ("\n\n" in label and not shows_nothing(target, language)):
        return unclosed_link(body, language)
    return linked(target, label.strip("\n") if pipe else None, language)


def shows_nothing(target: str, language: Language) -> bool:
    return target.partition(":")[0].strip().lower() in language.hidden


def unclosed_link(text: str, language: Language) -> str:
    """What follows a "[[" that nothing closes: a picture loses its line, else all of it is text."""
    start = _FILE_START.match(text)
    if start and start[1].strip().lower() in language.hidden:
        line = text.find("\n")
        return GAP + (text[line:] if line >= 0 else "")
    line, newline, rest = text.partition("\n")
    end = line.find("]")
    if end >= 0 and "[" not in line[:end]:
        line = line[:end] + line[end + 1 :]
    return line.replace("|", " ", 1) + newline + rest


def without_addresses(text: str) -> str:
    """External links as their text; a link without text goes."""
    return _EXTERNAL.sub(lambda found: (found[1] or found[2] or "").strip() or GAP, text) if "[" in text else text
