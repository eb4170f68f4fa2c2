"""Tables as sentences: each row one, its cells named by the headers of their columns ("Season: 1999; Goals: 5.").

What grows is bounded: columns, repeated cells of a rowspan, and the whole text against the source's length.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .calls import Page
from .rows import ended
from .values import flat, is_setting

COLUMNS, ROWS = 100, 500
REPEATED = 120
"""Characters of a header, or of a cell over several rows, that is said again in each row; a longer one is said once."""
GROWTH = 6
"""Times the source's length (and 2,000 characters) up to which headers are repeated."""
_SPAN = re.compile(r"(row|col)span\s{0,5}=\s{0,5}[\"']?\s{0,5}(\d{1,5})", re.IGNORECASE)
_EMPTY = frozenset(("", "-", "–", "—", "−", "?", "\xa0", "&nbsp;", "&mdash;", "&ndash;", "…", "·", "*"))
_LONG = 200
"""A cell of a table without headers that is longer stands on a line of its own: the table only set the page out."""


class Cell(NamedTuple):
    text: str
    header: bool
    rows: int
    columns: int


def table(body: str, page: Page) -> str:
    """What stands between "{|" and "|}", already read inside, as lines."""
    captions, rows = parse(body)
    lines = [ended(caption) for caption in captions]
    lines += _Sentences(GROWTH * len(body) + 2000).of(rows)
    return "\n\n" + "\n".join(lines) + "\n\n" if lines else "\n\n"


def parse(body: str) -> tuple[list[str], list[list[Cell]]]:
    """Captions and rows of cells."""
    captions: list[str] = []
    rows: list[list[Cell]] = []
    row: list[Cell] = []
    text: list[str] = []
    kind = ""
    # The last line closes what is open.
    for line in (*body.split("\n")[1:], "|-"):
        start = line if line[:1] in "|!" else line.lstrip()
        mark = start[:1]
        if mark != "|" and mark != "!":
            if kind:
                text.append(line)
            continue
        if kind == "+":
            captions.append(flat(_content("\n".join(text))[1]))
        elif kind:
            row += _cells("\n".join(text) if len(text) > 1 else text[0], kind)
        second = start[1:2] if mark == "|" else ""
        if second == "-":
            kind, text = "", []
            if row:
                rows.append(row)
                row = []
        else:
            kind = "+" if second == "+" else mark
            text = [start[2:] if kind == "+" else start[1:]]
    return [caption for caption in captions if caption], rows


def _cells(text: str, mark: str) -> list[Cell]:
    if mark == "!":
        # Only the first line may hold several header cells; what follows belongs to the last.
        return [_cell(piece, header=True) for piece in text.replace("!!", "||").split("||")]
    return [_cell(piece, header=False) for piece in (text.split("||") if "||" in text else (text,))]


def _content(text: str) -> tuple[str, str]:
    """Attributes and content."""
    if "|" not in text:
        return "", text
    attributes, _, content = text.partition("|")
    return attributes, content


def _cell(text: str, *, header: bool) -> Cell:
    if "|" not in text:
        return Cell(flat(text), header, 1, 1)
    attributes, content = _content(text)
    rows = columns = 1
    for what, number in _SPAN.findall(attributes) if "span" in attributes.lower() else ():
        if what.lower() == "row":
            rows = min(max(1, int(number)), ROWS)
        else:
            columns = min(max(1, int(number)), COLUMNS)
    return Cell(flat(content), header, rows, columns)


class _Sentences:
    """Rows read from the top: the headers so far, and the cells that reach down from above."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.headers: list[str] = []
        self.down: dict[int, tuple[Cell, int]] = {}
        self.in_headers = True
        self.narrow = False

    def of(self, rows: list[list[Cell]]) -> list[str]:
        lines: list[str] = []
        self.narrow = all(len(row) == 1 and row[0].columns == 1 for row in rows)
        for row in rows:
            placed = self._placed(row)
            if self._names_columns(row) and (len(row) > 1 or not self.headers or row[0].columns > 1):
                lines += self._header_row(placed, row)
            else:
                self.in_headers = False
                lines += self._facts(placed)
        return lines

    def _names_columns(self, row: list[Cell]) -> bool:
        """Whether all its cells are headers; behind rows of facts only if they are words, else they are totals."""
        if not all(cell.header for cell in row):
            return False
        return self.in_headers or 2 * sum(1 for cell in row if cell.text[:1].isdigit()) <= len(row)

    def _placed(self, row: list[Cell]) -> list[tuple[int, Cell, bool]]:
        """Column, cell and whether it stands in this row itself; cells from above take their columns first."""
        if not self.down and all(cell.rows == 1 and cell.columns == 1 for cell in row):
            return [(column, cell, True) for column, cell in enumerate(row)]
        placed: list[tuple[int, Cell, bool]] = []
        column = 0
        waiting = iter(row)
        own = next(waiting, None)
        while column < COLUMNS:
            if column in self.down:
                cell, left = self.down.pop(column)
                placed.append((column, cell, False))
                if left > 1:
                    self.down[column] = (cell, left - 1)
                column += cell.columns
                continue
            if own is None:
                if not any(other > column for other in self.down):
                    break
                column += 1
                continue
            placed.append((column, own, True))
            if own.rows > 1:
                kept = own if len(own.text) <= REPEATED else own._replace(text="")
                self.down[column] = (kept, own.rows - 1)
            column += own.columns
            own = next(waiting, None)
        while own is not None:
            placed.append((COLUMNS, own, True))
            own = next(waiting, None)
        return placed

    def _header_row(self, placed: list[tuple[int, Cell, bool]], row: list[Cell]) -> list[str]:
        shown = [cell.text for cell in row if cell.text]
        if len(row) == 1 and not self.narrow and (row[0].columns > 1 or not self.headers):
            # A line over the whole table: a title in it, not the name of a column.
            return [f"{shown[0].rstrip(':')}:"] if shown else []
        if not self.in_headers:
            self.headers = []
            self.in_headers = True
        for column, cell, own in placed:
            if not own or column >= COLUMNS:
                continue
            name = cell.text.rstrip(":") if len(cell.text) <= REPEATED else ""
            for place in range(column, min(column + cell.columns, COLUMNS)):
                self.headers.extend([""] * (place + 1 - len(self.headers)))
                before = self.headers[place]
                if name and name != before and len(before) + len(name) < REPEATED:
                    self.headers[place] = f"{before} {name}" if before else name
        return [ended(text) for text in shown if len(text) > REPEATED]

    def _facts(self, placed: list[tuple[int, Cell, bool]]) -> list[str]:
        repeat = self.budget > 0
        cells: list[tuple[int, Cell]] = []
        speaks = False
        for column, cell, own in placed:
            if cell.text not in _EMPTY and (own or repeat) and not is_setting(cell.text):
                cells.append((column, cell))
                speaks = speaks or own
        if not speaks:
            return []
        headers = self.headers
        if not headers:
            return self._spent(_unnamed([cell for _, cell in cells]))
        facts: list[str] = []
        for column, cell in cells:
            name = headers[column] if column < len(headers) and repeat else ""
            facts.append(f"{name}: {cell.text}" if name and name != cell.text else cell.text)
        return self._spent([ended("; ".join(facts))])

    def _spent(self, lines: list[str]) -> list[str]:
        self.budget -= sum(map(len, lines))
        return lines


def _unnamed(cells: list[Cell]) -> list[str]:
    """A row of a table without headers; a header in front of it names the rest: "Born: 1970."."""
    lines = [cell.text for cell in cells if len(cell.text) > _LONG]
    short = [cell for cell in cells if len(cell.text) <= _LONG]
    if len(short) > 1 and short[0].header:
        name = short[0].text.rstrip(":")
        lines.insert(0, ended(f"{name}: {'; '.join(cell.text for cell in short[1:])}"))
    elif short:
        lines.insert(0, ended("; ".join(cell.text for cell in short)))
    return lines
