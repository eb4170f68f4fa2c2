"""Braces and brackets: one pass over the source that reads templates, links and tables from the inside out.

An opener that nothing closes gives its content back as text at the end of what surrounds it: it swallows nothing.
Nesting is bounded, so each character is copied at most `DEEPEST` times.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .calls import Page
from .links import link, linked, unclosed_link
from .signs import GAP, guarded

DEEPEST = 40
"""Levels of nesting, as many as MediaWiki expands; openers further in are text."""

_TOKEN = re.compile(
    r"(?=[\[\]{}|])(?:"  # a set in front lets the search skip text at its best speed
    r"\[\[([^\[\]{}|\n]*+)(?:\|([^\[\]{}|\n]*+))?\]\]"  # 1, 2: a link with nothing in it
    r"|\{\{([^{}\[\]]*+)\}\}(?!\})"  # 3: a template with nothing in it
    r"|(\[\[|\]\]|\{\{+|\}\}+|\{\||\|\}(?!\}(?!\}))))"  # 4: all else
)
_LINE_START = " \t:*#"
_TEMPLATE, _LINK, _TABLE, _PARAMETER, _ROOT = "{{", "[[", "{|", "{{{", ""
_PARAMETERS = re.compile(r"[^\n]*(?:\n[ \t]*(?:[|!][^\n]*)?(?=\n|\Z))*")
"""What belongs to an unclosed template or table: its line and the lines after it that begin with a bar."""


class Readers(NamedTuple):
    """What is inside of a template, and of a table, as text."""

    template: Callable[[str, Page], str]
    table: Callable[[str, Page], str]


class _Frame(NamedTuple):
    kind: str
    parts: list[str]
    start: int


def expand(source: str, page: Page, readers: Readers) -> str:
    """The source with every template, link and table read. Signs of `signs.guarded` may be left in it."""
    return _Expansion(source, page, readers).run()


class _Expansion:
    def __init__(self, source: str, page: Page, readers: Readers) -> None:
        self.source, self.page, self.readers = source, page, readers
        self.stack: list[_Frame] = [_Frame(_ROOT, [], 0)]
        self.open = {_TEMPLATE: 0, _LINK: 0, _TABLE: 0, _PARAMETER: 0}

    def run(self) -> str:
        source, page, stack = self.source, self.page, self.stack
        language, template = page.language, self.readers.template
        position = 0
        parts, inside = stack[0].parts, False
        for found in _TOKEN.finditer(source):
            start = found.start()
            if start > position:
                parts.append(source[position:start])
            position = found.end()
            group = found.lastindex
            if group == 4:
                self._read(found[4], start)
                parts, inside = stack[-1].parts, len(stack) > 1
                continue
            if group == 3:
                page.at = start
                text = template(found[3], page)
            else:
                target, text = found.group(1, 2)
                if not text or ":" in target:
                    text = linked(target, text, language)
            if inside and ("|" in text or "=" in text):
                text = guarded(text)
            parts.append(text)
        stack[-1].parts.append(source[position:])
        while len(stack) > 1:
            self._give_back()
        return "".join(stack[0].parts)

    def _read(self, sign: str, start: int) -> None:
        if sign == _LINK:
            self._push(_LINK, start)
        elif sign == "]]":
            self._close(_LINK, "")
        elif sign == _TABLE:
            if self._starts_line(start):
                self._push(_TABLE, start)
            else:
                self.stack[-1].parts.append(sign)
        elif sign == "|}":
            if self.open[_TABLE] and self._starts_line(start):
                self._close(_TABLE, "")
            else:
                self.stack[-1].parts.append(sign)
        elif sign[0] == "{":
            self._openers(len(sign), start)
        else:
            self._closers(len(sign))

    def _starts_line(self, start: int) -> bool:
        before = self.source[max(0, start - 12) : start]
        line = before.rpartition("\n")
        return (bool(line[1]) or start <= 12) and not line[2].strip(_LINE_START)

    def _push(self, kind: str, start: int) -> None:
        if len(self.stack) <= DEEPEST:
            self.stack.append(_Frame(kind, [], start))
            self.open[kind] += 1

    def _openers(self, count: int, start: int) -> None:
        if count == 3:
            self._push(_PARAMETER, start)
            return
        if count % 2:
            self.stack[-1].parts.append("{")
        for _ in range(min(count // 2, DEEPEST)):
            self._push(_TEMPLATE, start)

    def _closers(self, count: int) -> None:
        while count >= 2:
            kind = self._inner()
            if not kind:
                return
            if kind == _PARAMETER and count >= 3:
                self._close(_PARAMETER, "")
                count -= 3
                continue
            if kind == _PARAMETER:
                self._parameter_is_template()
            elif count == 3:
                # {{x|{2}}}: the third brace closes the single one inside.
                self.stack[-1].parts.append("}")
                count -= 1
            self._close(_TEMPLATE, "")
            count -= 2

    def _inner(self) -> str:
        """The innermost kind of braces that are open, "" for none."""
        if not self.open[_TEMPLATE] and not self.open[_PARAMETER]:
            return ""
        return next(frame.kind for frame in reversed(self.stack) if frame.kind in (_TEMPLATE, _PARAMETER))

    def _parameter_is_template(self) -> None:
        """A "{{{" that "}}" closes: a brace of text before a template."""
        place = next(place for place in range(len(self.stack) - 1, 0, -1) if self.stack[place].kind == _PARAMETER)
        frame = self.stack[place]
        self.stack[place] = _Frame(_TEMPLATE, frame.parts, frame.start)
        self.open[_PARAMETER] -= 1
        self.open[_TEMPLATE] += 1

    def _close(self, kind: str, otherwise: str) -> None:
        if not self.open[kind]:
            self.stack[-1].parts.append(otherwise)
            return
        while self.stack[-1].kind != kind:
            self._give_back()
        frame = self._pop()
        body = "".join(frame.parts)
        self.page.at = frame.start
        if kind == _LINK:
            self._put(link(body, self.page.language))
        elif kind == _PARAMETER:
            self._put(body.partition("|")[2])
        elif kind == _TABLE:
            self._put(self.readers.table(body, self.page))
        elif "\n==" in body and _is_swallowed(body):
            self._put_back(body)
        else:
            self._put(self.readers.template(body, self.page))

    def _pop(self) -> _Frame:
        frame = self.stack.pop()
        self.open[frame.kind] -= 1
        return frame

    def _put(self, text: str) -> None:
        self.stack[-1].parts.append(guarded(text) if len(self.stack) > 1 else text)

    def _give_back(self) -> None:
        """The innermost opener is closed by nothing: what it holds is text of what is around it."""
        frame = self._pop()
        body = "".join(frame.parts)
        self.page.at = frame.start
        if frame.kind == _LINK:
            self.stack[-1].parts.append(unclosed_link(body, self.page.language))
        elif frame.kind == _PARAMETER:
            self.stack[-1].parts.append(body)
        elif frame.kind == _TABLE:
            self._put_back(body, self.readers.table)
        else:
            self._put_back(body)

    def _put_back(self, body: str, reader: Callable[[str, Page], str] | None = None) -> None:
        """The lines of arguments are read, the rest is text."""
        found = _PARAMETERS.match(body)
        stop = found.end() if found else 0
        if self.stack[-1].kind == _TEMPLATE and not reader:
            # The lines below its own may well be arguments of the template around it.
            stop = body.find("\n") if "\n" in body else len(body)
        own, rest = body[:stop], body[stop:]
        if reader:
            self._put(reader(own, self.page))
        elif "\n" in own.strip() or self.stack[-1].kind == _TEMPLATE:
            self._put(self.readers.template(own, self.page))
        else:
            name, bar, value = own.partition("|")
            text = value.replace("|", " ") if bar else name
            self.stack[-1].parts.append((text if "{" in text else text.replace("}", "")) or GAP)
        self.stack[-1].parts.append(rest)


_HEADING = re.compile(r"\n==[^=\n][^\n]*==[ \t]*\n")


def _is_swallowed(body: str) -> bool:
    """Whether a heading stands inside: then the end belongs to some later template, and this one has none."""
    return _HEADING.search(body) is not None
