"""What is in a reply beside its words."""

_THOUGHT, _END = "<think>", "</think>"


def answer(reply: str) -> str:
    """The reply without the thinking that a reasoning model may put before it; nothing if it never got beyond that."""
    said = reply.rpartition(_END)[2]
    return "" if said.lstrip().startswith(_THOUGHT) else said


MARKS = str.maketrans({**dict.fromkeys('*`"“”#>{}', None), "_": " ", "’": "'", "‑": "-"})
"""Markup that says nothing; taken out before words are compared."""
