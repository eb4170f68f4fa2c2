"""Reading what a model replied: JSON, a list, a verdict, a score.

A reply is never guessed at. What cannot be read as what was asked for is a `ParseError` that keeps the whole reply;
every reader takes time linear in its length. The rules, with examples, are in `docs/reading_replies.md`.
"""

from .markup import answer
from .scores import read_score
from .structured import Json, Listing, read_json, read_list
from .verdicts import THREE_WAY, TRUE_FALSE, read_verdict, read_verdicts
from .wordings import Menu

__all__ = [
    "THREE_WAY",
    "TRUE_FALSE",
    "Json",
    "Listing",
    "Menu",
    "answer",
    "read_json",
    "read_list",
    "read_score",
    "read_verdict",
    "read_verdicts",
]
