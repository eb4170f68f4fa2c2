"""Relevance: whether a fact has to do with what was asked (SAFE, section 4).

As published: the model sorts the fact under a word without meaning, so that what it thinks of "relevant" plays no part,
and a fact whose relevance cannot be told is judged like a relevant one. Ours: the wording, the reading of replies, and
that such a fact says so (`unread`).
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field

from ..asking import ask, prompt
from ..errors import ParseError
from ..models.base import ChatReply, LanguageModel
from ..prompts import Template, fence
from ..replies import Menu, read_verdict
from ..text.normal import is_blank
from ..types import AtomicFact, Generation, Label, Verdict

MENU: Menu = {"relevant": ("lom", "foo"), "irrelevant": ("not lom", "not foo")}
"""Our word and the paper's, which models may know better."""
MODE = "relevance"

_UNREAD: ContextVar[str | None] = ContextVar("unread", default=None)


def unread() -> str | None:
    """Why the relevance of the fact at hand could not be told, though it was asked for; None where it could.

    Each fact is triaged and gathered for in a task of its own, so the gatherer that asks here can put it in the fact's
    evidence: a triage has nothing else to write on.
    """
    return _UNREAD.get()


@dataclass(frozen=True)
class Relevance:
    """A triage (see `pipeline.Triage`): facts that have nothing to do with the question are IRRELEVANT.

    One call a fact, which is shown the question, the whole response and the fact. Without a question nothing is asked.
    A reply that stays unreadable lets the fact go on to be judged: no verdict is made of it, and `unread` tells.
    A call that fails is a failure of the fact, as everywhere.
    """

    model: LanguageModel
    max_tokens: int = 512
    temperature: float = 0.0
    retries: int = 1
    """Further calls for a reply that was cut or unreadable."""
    template: Template = field(init=False)
    reminder: Template = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "template", Template.load("safe/relevance"))
        object.__setattr__(self, "reminder", Template.load("safe/relevance_again"))

    async def triage(self, fact: AtomicFact, generation: Generation) -> Verdict | None:
        """IRRELEVANT in mode "relevance", or None: go on."""
        _UNREAD.set(None)
        if is_blank(generation.prompt):
            return None
        request = prompt(self.prompt(fact, generation), max_tokens=self.max_tokens, temperature=self.temperature)
        try:
            relevant, rationale = await ask(
                self.model, request, _read, reminder=self.reminder.fill(), retries=self.retries
            )
        except ParseError as error:
            _UNREAD.set(f"relevance: {error}; the fact was judged as if it had to do with the question")
            return None
        if relevant:
            return None
        return Verdict(label=Label.IRRELEVANT, judge=self.model.name, mode=MODE, rationale=rationale)

    def prompt(self, fact: AtomicFact, generation: Generation) -> str:
        """What the model is asked about one fact."""
        return self.template.fill(
            question=fence("question", generation.prompt),
            response=fence("response", generation.text),
            statement=fence("statement", fact.text),
        )


def _read(reply: ChatReply) -> tuple[bool, str | None]:
    """Whether it is relevant, and the reasons if there are any."""
    if reply.finish_reason == "length":
        raise ParseError("the reply was cut before its end", reply=reply.text)
    outcome = read_verdict(reply.text, MENU)
    return outcome == "relevant", reply.text.strip() if len(reply.text.split()) > 4 else None
