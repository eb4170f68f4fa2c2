"""Closed lists of words by which a clause is read."""

from __future__ import annotations

INTRANSITIVE = frozenset({
    "married", "retired", "graduated", "died", "sang", "danced", "lived", "worked", "moved", "travelled", "traveled",
    "returned", "emigrated", "escaped", "rested", "studied", "acted", "performed", "toured", "fell", "rose", "rust",
    "rusts", "emerged", "competed", "appeared", "resigned", "survived", "slept", "swam", "fished", "fought", "stayed",
})  # fmt: skip
"""Verbs that are said without an object as a rule: "she married and had two sons" is not "married two sons"."""
BE = frozenset(["be", "been", "is", "are", "was", "were", "'s"])
ONLY = frozenset(["first", "only", "last", "second", "third", "most"])
HAVE = ("has", "have", "had")
SAME_FORM = frozenset({"VBN", "VBD"})
"""Forms that the tagger mixes up."""
OWNING = frozenset({"have", "has", "had", "having", "became", "become", "becomes", "becoming", "joined", "kept"})
"""Verbs whose object is no other verb's."""
