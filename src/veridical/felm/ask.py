"""The prompts: task, format, one worked example of the domain's family, then what is to be judged (section 4.1 of the
paper; wording and examples are ours).

What comes first is the same for every sample of a domain, so that servers can keep its prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files

import msgspec

from ..errors import ParseError, UsageError
from ..prompts import Template, fence
from ..replies import answer
from ..types import Struct

METHODS = ("vanilla", "cot", "link", "doc")
UNITS = ("segment", "claim")
SHAPES = ("list", "json")
FAMILY = {"math": "math", "reasoning": "reasoning", "science": "science"}
"""Domain -> family of prompts; the others share that of world knowledge."""
_EXAMPLES = files("veridical.prompts").joinpath("felm", "examples.jsonl")
_HEADER = re.compile(r"[ \t#*_>-]{0,8}segment[ \t]*#?([0-9]{1,5})[ \t*_]{0,4}[:.)\-–]?[ \t*_]{0,4}(.*)", re.IGNORECASE)
_BULLET = re.compile(r"[ \t]*(?:[-*•–·]|\(?[0-9]{1,4}[.)]|claim[ \t]*[0-9]{1,4}[.:)])[ \t]*", re.IGNORECASE)
_NO_CLAIM = re.compile(r"\W*(?:none|no claims?|n/a)\W*", re.IGNORECASE)


class Example(Struct, frozen=True, kw_only=True):
    """A worked example."""

    family: str
    question: str
    segments: tuple[str, ...]
    wrong: tuple[int, ...]
    type: str
    thought: str
    claims: tuple[tuple[str, ...], ...] = ()
    wrong_claims: tuple[int, ...] = ()
    claims_thought: str = ""
    url: str = ""
    reference: str = ""


@dataclass(frozen=True)
class Prompts:
    """All texts of a way to ask; each is in the signature."""

    method: str
    shape: str = "list"
    types: bool = False
    tasks: tuple[Template, ...] = field(init=False)
    format: Template = field(init=False)
    notes: tuple[Template, ...] = field(init=False)
    claims: Template = field(init=False)
    reminder: Template = field(init=False)
    claims_reminder: Template = field(init=False)
    examples: Template = field(init=False)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(f"--method {self.method}: one of {', '.join(METHODS)}")
        if self.shape not in SHAPES:
            raise UsageError(f"--shape {self.shape}: one of {', '.join(SHAPES)}")
        if self.types and self.shape == "json":
            raise UsageError("error types are asked for in a list only: leave out --shape json")
        form = "cot" if self.method == "cot" else "vanilla"
        ending = "_json" if self.shape == "json" else ""
        notes = ["material"] + (["types"] if self.types else [])
        notes += [self.method] if self.method in ("link", "doc") else []
        texts = {
            "tasks": tuple(_load(f"task_{name}") for name in ("math", "reasoning", "science", "wk")),
            "format": _load(f"format_{form}{ending}"),
            "notes": tuple(map(_load, notes)),
            "claims": _load("claims"),
            "reminder": _load(f"reminder{ending}"),
            "claims_reminder": _load("reminder_claims"),
            "examples": Template("felm/examples", _EXAMPLES.read_text(encoding="utf-8")),
        }
        for name, text in texts.items():
            object.__setattr__(self, name, text)

    def judge(self, domain: str, question: str, units: Sequence[str], *, of: str, evidence: str = "") -> str:
        """The prompt that asks which of the `units` ("segment" or "claim") are wrong."""
        family = FAMILY.get(domain, "wk")
        words = {"unit": of, "units": f"{of}s"}
        task = next(one for one in self.tasks if one.name == f"felm/task_{family}")
        notes = {note.name.rpartition("/")[2]: note.text.strip() for note in self.notes}
        blocks = [task.fill(**words).strip(), self.format.fill(**words).strip()]
        blocks += [notes[name] for name in ("types", self.method, "material") if name in notes]
        blocks += ["An example:", self._example(family, of), "Now judge this:"]
        blocks += _shown(question, units, of, evidence)
        return "\n\n".join(blocks)

    def extract(self, domain: str, question: str, segments: Sequence[str]) -> str:
        """The prompt that asks for the claims of each segment."""
        one = self._of(FAMILY.get(domain, "wk"))
        told = "\n".join(
            line
            for number, claims in enumerate(one.claims, 1)
            for line in (f"Segment {number}:", *(f"- {claim}" for claim in claims))
        )
        notes = {note.name.rpartition("/")[2]: note.text.strip() for note in self.notes}
        blocks = [self.claims.text.strip(), notes["material"], "An example:"]
        blocks += [*_shown(one.question, one.segments, "segment", ""), told, "Now take the claims out of this:"]
        return "\n\n".join([*blocks, *_shown(question, segments, "segment", "")])

    def _of(self, family: str) -> Example:
        decoder = msgspec.json.Decoder(Example)
        found = map(decoder.decode, filter(str.strip, self.examples.text.splitlines()))
        return next(one for one in found if one.family == family)

    def _example(self, family: str, of: str) -> str:
        one = self._of(family)
        claims = of == "claim" and one.claims
        units = [claim for claims in one.claims for claim in claims] if claims else one.segments
        wrong, thought = (one.wrong_claims, one.claims_thought) if claims else (one.wrong, one.thought)
        evidence = {"link": addresses([one.url]), "doc": documents([one.reference])}.get(self.method, "")
        shown = _shown(one.question, units, of, evidence if one.url else "")
        return "\n\n".join([*shown, self._told(wrong, thought, one.type)])

    def _told(self, wrong: Sequence[int], thought: str, type_: str) -> str:
        if self.shape == "json":
            told = {"thought": thought, "wrong": wrong} if self.method == "cot" else {"wrong": wrong}
            return msgspec.json.encode(told).decode()
        lines = [f"Thought: {thought}"] if self.method == "cot" else []
        lines.append(f"Answer: {', '.join(map(str, wrong))}")
        if self.types:
            lines.append(f"Types: {', '.join(f'{number} {type_}' for number in wrong)}")
        return "\n".join(lines)


def addresses(urls: Sequence[str]) -> str:
    return fence("addresses", "\n".join(urls))


def documents(texts: Sequence[str]) -> str:
    """Reference texts in their order, each in its own fence with its number."""
    return "\n".join(fence(f"reference-{number}", text) for number, text in enumerate(texts, 1))


def _shown(question: str, units: Sequence[str], of: str, evidence: str) -> list[str]:
    numbered = "\n".join(fence(f"{of}-{number}", text) for number, text in enumerate(units, 1))
    return [*([evidence] if evidence else []), fence("question", question), numbered]


def _load(name: str) -> Template:
    return Template.load(f"felm/{name}")


def read_claims(reply: str, n: int, *, cut: bool = False) -> dict[int, tuple[str, ...]]:
    """Number of a segment -> its claims, out of blocks "Segment 2:" with a line a claim; a segment without a block, or
    with "none", has none. Raises ParseError for no block at all, a number that is not from 1 to n, and a `cut` list."""
    found: dict[int, list[str]] = {}
    current: list[str] | None = None
    for line in answer(reply).splitlines():
        if header := _HEADER.fullmatch(line):
            number = int(header[1])
            if not 1 <= number <= n:
                raise ParseError(f"there is no segment {number}", reply=reply)
            current = found.setdefault(number, [])
            line = header[2]
        elif current is None or not _BULLET.match(line):
            continue  # an introduction, or a closing remark
        text = _BULLET.sub("", line, count=1).strip()
        if text and current is not None and not _NO_CLAIM.fullmatch(text):
            current.append(text)
    if not found:
        raise ParseError("no claims by segment in the reply", reply=reply)
    if cut:
        raise ParseError("the claims were cut", reply=reply)
    return {number: tuple(claims) for number, claims in found.items()}
