"""What a model that does as it is asked would reply to SAFE's prompts, for dry runs and tests."""

from __future__ import annotations

import functools
import re

from ..models.base import ChatRequest
from ..prompts import Template

_STATEMENT = re.compile(r"<(statement-[0-9a-f]+)>\n(.*?)\n</\1>", re.DOTALL)
_SEARCHED = re.compile(r"<(searched-[0-9a-f]+)>\n(.*?)\n</\1>", re.DOTALL)


def stand_in(request: ChatRequest) -> str | None:
    """A fact is repeated unchanged, relevant, searched for with a new query at each step, and supported.

    None for a request that none of SAFE's parts has made.
    """
    asked = request.messages[0].content
    part = next((name for name, opening in _openings() if asked.startswith(opening)), None)
    statement = next((found[2] for found in _STATEMENT.finditer(asked)), "")
    if part == "query":
        before = next((found[2].count("\n") + 1 for found in _SEARCHED.finditer(asked)), 0)
        return f"Something is missing.\n```\n{statement} {before + 1}\n```"
    replies = {
        "revise": f"Nothing has to be replaced.\n```\n{statement}\n```",
        "relevance": "Both are about the same subject, as the response tells.\n[Lom]",
        "rate": "The knowledge says so, and the statement follows from it.\n[Supported]",
        "rate_three": "The knowledge says so, and the statement follows from it.\n[Supported]",
        "rate_label": "True",
    }
    return replies.get(part or "")


@functools.cache
def _openings() -> tuple[tuple[str, str], ...]:
    """What the prompts begin with; of the three questions that `rate` has, up to where they differ."""
    names = ("revise", "relevance", "query", "rate_three", "rate_label", "rate")
    return tuple((name, Template.load(f"safe/{name}").text.partition("{{")[0]) for name in names)
