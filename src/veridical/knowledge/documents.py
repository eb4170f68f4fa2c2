"""The nouns of what a knowledge source is built from: a page as a source gives it, and its sections."""

from __future__ import annotations

from ..types import Struct


class Section(Struct, frozen=True, kw_only=True):
    """A part of a page under one heading."""

    text: str
    heading: str = ""


class Record(Struct, frozen=True, kw_only=True):
    """A page as a source gives it. `file` and `line` tell where it stands."""

    title: str
    sections: tuple[Section, ...]
    url: str | None = None
    id: str | None = None
    """What its source numbers it with: the page id of a wiki."""
    date: str | None = None
    """When it was last changed, as its source says ("2023-03-30T09:12:01Z")."""
    retrieved: str | None = None
    """When it was fetched from the web, in UTC."""
    redirects: tuple[str, ...] = ()
    target: str | None = None
    """The title of another page, to which this title only leads: a redirect of a dump, which has no text itself."""
    disambiguation: bool = False
    """The page only lists what its title may mean."""
    choices: tuple[str, ...] = ()
    """The titles that a disambiguation page lists."""
    plain: bool = False
    """Its markup could not be read as a whole: the text is plainer than it could be."""
    cut: bool = False
    """The sections are passages already."""
    file: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"
