"""Facts that stand alone: pronouns and partial names give way to what the response means by them (SAFE, section 4).

As published: one call a fact, which is shown the fact and the whole response. Ours: the wording; that a rewrite is
checked against the response before it is taken; that a fact which could not be rewritten says so; and that facts which
have become equal are counted once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from ..asking import ask, prompt
from ..decompose import Decomposer
from ..errors import ParseError, StageError
from ..models.base import ChatReply, LanguageModel
from ..prompts import Template, fence
from ..replies.blocks import read_block
from ..text.invention import Known
from ..text.normal import STOPWORDS, content_key, fold, is_blank, numbers, tokens
from ..types import AtomicFact, Decomposition, Generation, Sentence

_LONGER = 25
"""Words that a rewrite may have more than the fact: names and what explains them, not further claims."""
_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|none|nobody|nothing|cannot|without)\b|n['’]t\b")
"""In lower case only: "No. 5" and "Never Let Me Go" are names."""
_INVENTED = "invented: "
"""As `facts.assemble` flags what a decomposer made up."""


@dataclass(frozen=True)
class Revised:
    """The facts of another decomposer, each rewritten so that it can be searched for and judged by itself.

    The wording before is kept in `AtomicFact.original`. A fact keeps its wording, with a flag "not revised: …" that
    says why, where no rewrite could be read, the call failed, or the rewrite brings in a name or number that neither
    the response nor its prompt has, loses a number, adds or takes away a negation, or is another statement altogether.
    """

    inner: Decomposer
    model: LanguageModel
    context: bool = True
    """Show the topic and the prompt too. SAFE shows the response alone."""
    merge: bool = True
    """Count facts that have become the same once: up to case, blanks, quotes, articles and final punctuation, as in
    `facts.assemble`. Never where people labelled them differently."""
    max_tokens: int = 512
    temperature: float = 0.0
    retries: int = 1
    """Further calls for a reply that was cut or unreadable."""
    template: Template = field(init=False)
    reminder: Template = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "template", Template.load("safe/revise"))
        object.__setattr__(self, "reminder", Template.load("safe/revise_again"))

    @property
    def name(self) -> str:
        return f"revised({self.inner.name}, {self.model.name})"

    async def decompose(self, generation: Generation, sentences: Sequence[Sentence]) -> Decomposition:
        """See `Decomposer`. Trouble with a rewrite is never a failure: the fact is judged as it was."""
        found = await self.inner.decompose(generation, sentences)
        known = everything(generation)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._revised(fact, generation, known)) for fact in found.facts]
        facts = [task.result() for task in tasks]
        return msgspec.structs.replace(found, facts=tuple(_merged(facts) if self.merge else facts))

    def prompt(self, fact: AtomicFact, generation: Generation) -> str:
        """What the model is asked about one fact."""
        told = (
            f"Topic: {generation.topic}" if self.context and generation.topic else "",
            f"Question: {generation.prompt}" if self.context and not is_blank(generation.prompt) else "",
        )
        return self.template.fill(
            context=fence("context", "\n".join(part for part in told if part)) if any(told) else "",
            response=fence("response", generation.text),
            statement=fence("statement", fact.text),
        )

    async def _revised(self, fact: AtomicFact, generation: Generation, known: Known) -> AtomicFact:
        request = prompt(self.prompt(fact, generation), max_tokens=self.max_tokens, temperature=self.temperature)
        try:
            text = await ask(self.model, request, _read, reminder=self.reminder.fill(), retries=self.retries)
        except StageError as error:
            return _kept(fact, str(error))
        if fold(text) == fold(fact.text):
            return fact
        if reason := objection(fact.text, text, known):
            return _kept(fact, f"the rewrite {reason} ({text})")
        flags = tuple(flag for flag in fact.flags if not _settled(flag, text))
        return msgspec.structs.replace(fact, text=text, original=fact.original or fact.text, flags=flags)


def _read(reply: ChatReply) -> str:
    if reply.finish_reason == "length":
        raise ParseError("the reply was cut before its end", reply=reply.text)
    return read_block(reply.text, "statement", "fact", "sentence")


def _kept(fact: AtomicFact, reason: str) -> AtomicFact:
    short = " ".join(reason.split())[:300]
    return msgspec.structs.replace(fact, flags=(*fact.flags, f"not revised: {short}"))


def everything(generation: Generation) -> Known:
    """The names and numbers of the response as a whole, its topic and its prompt."""
    whole = Sentence(index=0, text=generation.text, start=0, end=len(generation.text))
    return Known(generation, [whole])


def objection(before: str, after: str, known: Known) -> str | None:
    """Why `after` cannot be a rewrite of `before` that adds and changes no claim, as far as that can be seen.

    `known` is what `everything` gives. None is no proof of fidelity: a claim that another sentence of the response
    makes may have been taken over.
    """
    invented = [word for word in known.missing(after, 0) if word not in known.missing(before, 0)]
    if invented:
        return f"brings in {', '.join(invented)}"
    there = numbers(after)
    if lost := [value for value in numbers(before) if value in before and value not in there]:
        return f"loses {', '.join(lost)}"
    if bool(_NEGATION.search(before)) != bool(_NEGATION.search(after)):
        return "adds or takes away a negation"
    words, kept = set(tokens(before)) - STOPWORDS, set(tokens(after))
    if len(tokens(after)) > len(tokens(before)) + _LONGER or (len(words) > 1 and not words & kept):
        return "is another statement"
    return None


def _settled(flag: str, text: str) -> bool:
    """Whether a flag names an invented word that the rewrite has no more."""
    return flag.startswith(_INVENTED) and flag.removeprefix(_INVENTED) not in text


def _merged(facts: Iterable[AtomicFact]) -> list[AtomicFact]:
    """The first of equal facts, with all the others in its `repeats`."""
    kept: dict[tuple[str, str | None], AtomicFact] = {}
    for fact in facts:
        key = (content_key(fact.text), fact.gold)
        first = kept.get(key)
        again = first and msgspec.structs.replace(first, repeats=first.repeats + 1 + fact.repeats)
        kept[key] = again or fact
    return list(kept.values())
