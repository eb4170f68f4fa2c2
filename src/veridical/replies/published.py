"""The reading of an answer that FActScore's released code does, for comparison with numbers made by it."""

from __future__ import annotations

import string

_DENIALS = ("not", "cannot", "unknown", "information")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def published_answer(reply: str) -> bool:
    """Whether the released FActScore code books this reply as "supported". Wrong on purpose; never the default.

    In lower case: of the substrings "true" and "false", the one that is there; if both are, the one whose first
    occurrence comes later; if neither is, supported unless one of the words "not", "cannot", "unknown", "information"
    occurs (ASCII punctuation removed, split at blanks).

    Why it is wrong: a substring is no word ("construed" holds "true"), a negation before it goes unseen ("The statement
    is not true." and "This is untrue." are supported), and whatever is no answer at all is supported, so that every
    failure raises the score: "", "No.", "Incorrect.", "I'm unsure.". `read_verdict` is the reading to use.
    """
    said = reply.lower()
    true, false = said.find("true"), said.find("false")
    if true < 0 and false < 0:
        return not set(said.translate(_NO_PUNCTUATION).split()) & set(_DENIALS)
    return true > false
