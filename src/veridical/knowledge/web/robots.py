"""robots.txt (RFC 9309): what a site asks of programs. Parsing and matching only, in linear time, no I/O.

`urllib.robotparser` knows no wildcards and takes the first rule that matches instead of the longest. Wildcards by
regular expressions could be made to run for hours by a hostile file, so they are matched piece by piece.
"""

from __future__ import annotations

import dataclasses
import re
from urllib.parse import quote, unquote_to_bytes

TOKEN = "veridical"  # noqa: S105  our name in robots.txt
MOST_BYTES = 500 * 1024
"""What is read of a file, at least as much as RFC 9309 wants."""
_MOST_RULES = 5000
_AGENT = re.compile(r"[a-z_-]+")


@dataclasses.dataclass(frozen=True)
class Rules:
    """What a site allows us. `Rules()` allows all."""

    rules: tuple[tuple[str, bool], ...] = ()
    """Pattern, and whether it allows."""

    def allow(self, path: str) -> bool:
        """Whether a path, with its query, may be fetched: the longest pattern that matches decides, ties allow."""
        path = _plain(path or "/")
        found = max(((len(rule), allows) for rule, allows in self.rules if _matches(rule, path)), default=(0, True))
        return found[1] or path == "/robots.txt"


def parse(text: str, token: str = TOKEN) -> Rules:
    """The rules for our name, or those for all ("*") where it has none. Lines that cannot be read are skipped."""
    groups: dict[str, list[tuple[str, bool]]] = {}
    agents: set[str] = set()
    in_rules = True
    for line in text.removeprefix("\ufeff").splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "user-agent":
            agents = set() if in_rules else agents
            in_rules = False
            said = _AGENT.match(value.lower())
            if (agent := said[0] if said else value) in (token, "*"):
                agents.add(agent)
                groups.setdefault(agent, [])
        elif name in ("allow", "disallow"):
            in_rules = True
            if value:
                for agent in agents:
                    groups[agent].append((_plain(value), name == "allow"))
    chosen = groups.get(token, groups.get("*", []))
    return Rules(tuple(chosen[:_MOST_RULES]))


def _plain(path: str) -> str:
    """Percent-encoded in one way, so that equal paths are equal texts."""
    return quote(unquote_to_bytes(path.replace("%2F", "%252F").replace("%2f", "%252F")), safe="/*$?&=%;:@!+,'()~._-")


def _matches(pattern: str, path: str) -> bool:
    """Whether the path starts as the pattern says: "*" is any text, "$" at its end the end of the path."""
    ends = pattern.endswith("$")
    first, *rest = (pattern[:-1] if ends else pattern).split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    if not rest:
        return not ends or place == len(path)
    for piece in rest[:-1]:
        found = path.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    last = rest[-1]
    return path.find(last, place) >= 0 if not ends else path.endswith(last) and len(path) - len(last) >= place
