"""A template as it is called: its name and its arguments, already read. And the page that calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .languages import Language

_MOST = 100
"""Numbered arguments: `{{x|900000=a}}` makes no list of 900,000."""
_LONGEST = 100
"""Characters of a parameter's name; an equals sign further in belongs to the text."""


@dataclass
class Page:
    """What is known, and found, while one page is read."""

    title: str
    language: Language
    lead: int = 0
    """Where the first heading stands in the source: a box in front of it tells of the page's subject."""
    at: int = 0
    """Where the template stands that is read now."""
    called: str = ""
    """Its name as written."""
    source: str = ""
    boxes: list[tuple[str, str]] = field(default_factory=list)
    """Infoboxes: name and text."""
    disambiguation: bool = False


class Call:
    """`{{name|values…|key=value…}}`. Values are stripped; a key that comes twice has its last value."""

    __slots__ = ("name", "named", "values")

    def __init__(self, name: str, rest: str | None) -> None:
        self.name = name
        self.values: list[str] = []
        self.named: dict[str, str] = {}
        if rest is None:
            return
        if "=" not in rest:
            self.values = [piece.strip() for piece in rest.split("|")]
            return
        values = self.values
        for piece in rest.split("|"):
            key, equals, value = piece.partition("=")
            if not equals or len(key) > _LONGEST:
                values.append(piece.strip())
                continue
            key = key.strip()
            if key.isdecimal():
                place = int(key[:4]) - 1
                if 0 <= place < _MOST:
                    values.extend([""] * (place + 1 - len(values)))
                    values[place] = value.strip()
                else:
                    self.named[key] = value.strip()
            else:
                self.named[key] = value.strip()

    def value(self, place: int, default: str = "") -> str:
        """The unnamed argument at `place`, from 0."""
        return self.values[place] if place < len(self.values) else default

    def get(self, *keys: str) -> str:
        """The first named argument that is not empty."""
        for key in keys:
            if found := self.named.get(key):
                return found
        return ""

    def on(self, *keys: str) -> bool:
        """Whether a switch is set."""
        return self.get(*keys).lower() in ("y", "yes", "1", "true", "on", "t")

    def filled(self) -> list[str]:
        """The unnamed arguments that are not empty."""
        return [value for value in self.values if value]


Handler = Callable[[Call, Page], str]
"""What a family of templates reads as; `signs.GAP` for nothing."""
