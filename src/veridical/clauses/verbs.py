"""Chains of verbs, relative clauses and shared verbs that the small parser gets wrong, mended.

It reads "studied" in "she moved to Paris, studied law, and taught" as a participle. What shows it is past tense: an
object and no helper, or a chain of verbs in past tense that it stands in.
"""

from __future__ import annotations

from .repair import Draft

_GIVING = frozenset({
    "awarded", "given", "granted", "offered", "taught", "paid", "shown", "sent", "told", "asked", "denied", "promised",
})  # fmt: skip
"""Participles that have an object in the passive: "the medal, awarded her in 1990"."""
_NAMING = frozenset({"called", "named", "titled", "entitled", "dubbed", "known", "nicknamed", "renamed"})
_USUAL = frozenset({
    "animated", "armed", "applied", "assorted", "collected", "combined", "limited", "mixed", "printed", "related",
    "selected", "spoken", "united", "used", "written", "unpublished",
})  # fmt: skip
"""Participles that are adjectives as a rule: "plays and collected essays"."""
_INTRANSITIVE = frozenset({
    "retired", "resigned", "emigrated", "graduated", "died", "lived", "remarried", "served", "competed", "appeared",
})  # fmt: skip
_PEOPLE = ("ician", "ist", "er", "or", "eer", "rian", "ress", "model", "holder", "chef", "poet")
_SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
_HELPERS = ("aux", "auxpass", "mark", "agent", *_SUBJECTS)


def mend(draft: Draft) -> None:
    for at in range(len(draft.words)):
        _first_of_chain(draft, at)
        _present(draft, at)
        _no_verb(draft, at)
        _profession(draft, at)
        _two_persons(draft, at)
        _joined_to_noun(draft, at)
    for at in range(len(draft.words)):
        _past_tense(draft, at)
        _active(draft, at)
        _passive(draft, at)
        _before_noun(draft, at)
        _after_relative(draft, at)
        _who(draft, at)
        _shared_verb(draft, at)


def _has(draft: Draft, at: int, *deps: str) -> bool:
    return any(draft.deps[child] in deps for child in draft.kids(at))


def _verb_above(draft: Draft, at: int) -> int | None:
    """The nearest verb that this hangs on."""
    while draft.heads[at] != at:
        at = draft.heads[at]
        if draft.tags[at].startswith("V"):
            return at
    return None


def _left(draft: Draft, at: int) -> int:
    """The first token of the phrase before `at`."""
    return min([at, *(_left(draft, child) for child in draft.kids(at) if child < at)])


def _join(draft: Draft, verb: int, to: int) -> None:
    if draft.move(verb, to, "conj"):
        draft.tags[verb] = "VBD"


def _first_of_chain(draft: Draft, root: int) -> None:
    """ "She was a pilot, wrote books and died": the first verb is the head, not a thing that "wrote" says."""
    if draft.heads[root] != root or draft.tags[root] not in ("VBD", "VBN") or _has(draft, root, *_HELPERS):
        return
    said = [child for child in draft.kids(root) if child < root and draft.deps[child] == "ccomp"]
    if len(said) == 1 and _has(draft, said[0], *_SUBJECTS) and draft.words[root - 1] in (",", "and"):
        draft.heads[said[0]], draft.deps[said[0]] = said[0], "ROOT"
        _join(draft, root, said[0])


def _present(draft: Draft, at: int) -> None:
    """ "Bees live in hives and make honey": both are in present tense."""
    head = draft.heads[at]
    joined = draft.tags[at] == "VB" and draft.deps[at] == "conj" and draft.tags[head] == "VBP"
    if joined and _has(draft, head, *_SUBJECTS) and not _has(draft, at, *_HELPERS):
        draft.tags[at] = "VBP"


def _two_persons(draft: Draft, at: int) -> None:
    """ "an actor and film producer": not a producer of actors."""
    last = draft.heads[at]
    if draft.deps[at] != "compound" or draft.tags[at] != "NN" or last < at or draft.words[at + 1] != "and":
        return
    if not draft.words[at].endswith(_PEOPLE) or not draft.words[last].endswith(_PEOPLE):
        return
    for child in draft.kids(at):
        if draft.deps[child] == "conj":
            draft.move(child, last, "compound")
    draft.coordinate(at, last)


def _no_verb(draft: Draft, at: int) -> None:
    """ "known as a singer and guitarist": a noun that was read as a bare verb."""
    head = draft.heads[at]
    if (
        draft.tags[at] not in ("VB", "VBP")
        or draft.deps[at] != "conj"
        or _has(draft, at, "dobj", "xcomp", "acomp", *_HELPERS)
    ):
        return
    if draft.tags[head].startswith("N"):
        draft.tags[at] = "NN"
    elif draft.tags[at] == "VB" and draft.tags[head] in ("VBN", "VBD", "VBZ") and draft.words[at - 1] == "and":
        noun = next((one for one in range(at - 1, head, -1) if draft.tags[one].startswith("N")), None)
        if noun is not None and draft.tags[noun] == "NN" and draft.move(at, noun):
            draft.tags[at] = "NN"
            draft.move(at - 1, noun)


def _profession(draft: Draft, at: int) -> None:
    """ "a nurse and statistician": a noun that was read as an adjective."""
    person = draft.words[at].endswith(_PEOPLE) and draft.words[at].islower() and not draft.kids(at)
    if person and draft.tags[at] == "JJ" and draft.deps[at] == "conj" and draft.tags[draft.heads[at]] == "NN":
        draft.tags[at] = "NN"


def _joined_to_noun(draft: Draft, at: int) -> None:
    """ "She is an advocate for youth and takes part in races": joined to "is"."""
    noun = draft.heads[at]
    if draft.tags[at] not in ("VBZ", "VBD") or draft.deps[at] != "conj" or not draft.tags[noun].startswith("N"):
        return
    above = _verb_above(draft, noun)
    finite = above is not None and draft.tags[above] == draft.tags[at] and draft.deps[above] != "relcl"
    if above is not None and finite and draft.words[at - 1] in ("and", ",", "but") and not _has(draft, at, *_HELPERS):
        draft.move(at, above)


def _past_tense(draft: Draft, at: int) -> None:
    """ "She moved to Paris, studied law, and taught"."""
    if draft.tags[at] != "VBN" or draft.deps[at] not in ("advcl", "acl") or at < 2 or draft.words[at - 1] != ",":
        return
    above = _verb_above(draft, at)
    if above is None or above > at or draft.tags[above] != "VBD" or _has(draft, at, *_HELPERS):
        return
    objects = [child for child in draft.kids(at) if draft.deps[child] in ("dobj", "oprd") and child > at]
    named = draft.words[at] in _NAMING and not any(draft.tags[child] in ("NN", "NNS") for child in objects)
    if named or draft.words[at] in _GIVING:
        return
    has_object = any(draft.deps[child] == "dobj" for child in objects)
    if has_object or _goes_on(draft, at) or (objects and _ends_bare(draft, above, at)):
        _join(draft, at, above)


def _goes_on(draft: Draft, at: int) -> bool:
    """The next verb of the chain is in past tense: "studied law, and taught"."""
    return any(
        draft.deps[child] == "conj" and draft.tags[child] == "VBD" and not _has(draft, child, *_HELPERS)
        for child in draft.kids(at)
    )


def _ends_bare(draft: Draft, above: int, at: int) -> bool:
    """ "and" without a comma follows, and a verb: a participle between commas would have its second one."""
    joins = [child for child in draft.kids(above) if child > at and draft.deps[child] == "cc"]
    return bool(joins) and draft.words[joins[0] - 1] != "," and draft.tags[joins[0] + 1] == "VBD"


def _active(draft: Draft, at: int) -> None:
    """ "She was appointed in 1922 and retired in 1940": nobody was retired."""
    joined = draft.tags[at] == "VBN" and draft.deps[at] == "conj" and draft.words[at] in _INTRANSITIVE
    if joined and not _has(draft, at, *_HELPERS) and not _has(draft, draft.heads[at], "aux"):
        draft.tags[at] = "VBD"


def _passive(draft: Draft, at: int) -> None:
    """ "He was arrested, tried, and sentenced": between two participles stands one."""
    first = draft.heads[at]
    if draft.tags[at] != "VBD" or draft.deps[at] != "conj" or draft.tags[first] != "VBN":
        return
    if not _has(draft, first, "auxpass") or _has(draft, at, "dobj", "attr", "xcomp", *_HELPERS):
        return
    last = [child for child in draft.kids(at) if draft.deps[child] == "conj" and draft.tags[child] == "VBN"]
    if last and not _has(draft, last[0], "aux", "auxpass"):
        draft.tags[at] = "VBN"


def _before_noun(draft: Draft, at: int) -> None:
    """ "He spoke French and loved pigeons": not pigeons that were loved."""
    noun = draft.heads[at]
    if (
        draft.tags[at] not in ("VBN", "VBD")
        or draft.deps[at] != "amod"
        or noun < at
        or draft.deps[noun] not in ("conj", "appos")
    ):
        return
    if draft.words[at - 1] not in ("and", ",", "but") or _left(draft, noun) != at or draft.words[at] in _USUAL:
        return
    above = _verb_above(draft, noun)
    if above is None or above > at or draft.words[at].lower() != draft.words[at]:
        return
    if draft.tags[above] != "VBD" and not any(draft.tags[child] == "VBD" for child in draft.kids(above)):
        return
    old = draft.heads[noun]
    if not draft.move(at, above, "conj"):
        return
    draft.tags[at] = "VBD"
    draft.move(noun, at, "dobj")
    for child in draft.kids(old):
        if draft.deps[child] == "cc" and child == at - 1:
            draft.move(child, above)


def _after_relative(draft: Draft, at: int) -> None:
    """ "She married Ivo Lund, who painted ships, in 1951": she married then."""
    verb = draft.heads[at]
    if draft.deps[at] != "prep" or draft.deps[verb] != "relcl" or draft.words[at - 1] != "," or at < verb:
        return
    left = _left(draft, verb)
    above = _verb_above(draft, verb)
    if left and draft.words[left - 1] == "," and above is not None and above < left:
        draft.move(at, above)


def _who(draft: Draft, at: int) -> None:
    """ "A boxer from Leith who was born in 1997": the boxer was."""
    place = draft.heads[at]
    if draft.deps[at] != "relcl" or draft.tags[place] not in ("NNP", "NNPS") or draft.deps[place] != "pobj":
        return
    preposition = draft.heads[place]
    person = draft.heads[preposition]
    who = any(draft.words[child] == "who" for child in draft.kids(at))
    if who and draft.words[preposition] in ("from", "in") and draft.deps[person] in ("attr", "appos"):
        draft.move(at, person)


def _shared_verb(draft: Draft, at: int) -> None:
    """What has no verb of its own takes its adjunct with it: "studied law at Leith and medicine at Oslo"."""
    after = at + 1
    if draft.deps[at] != "conj" or after >= len(draft.words) or draft.deps[after] != "prep":
        return
    head = draft.heads[at]
    verb = head if draft.tags[head].startswith("V") else draft.heads[draft.heads[head]]
    if not draft.tags[verb].startswith("V") or draft.heads[after] != verb or draft.tags[at].startswith("V"):
        return
    word = draft.words[after].lower()
    if not any(
        draft.words[child].lower() == word for child in draft.kids(verb) if child < at and draft.deps[child] == "prep"
    ):
        return
    if head != verb and (draft.deps[head] != "pobj" or draft.words[draft.heads[head]].lower() != word):
        return
    if head != verb and (draft.tags[at] == draft.tags[head] or not _has(draft, verb, "dobj")):
        return
    if draft.words[_left(draft, at) - 1] == "and" and draft.move(at, verb):
        draft.move(after, at)
