"""Operators of a query: domains, for providers that have no parameter for them; what a text may not say by them."""

from __future__ import annotations

import re

from ...errors import UsageError
from .base import WebRequest

_MOST = 1024
"""Characters of operators where no limit to the query is known."""


_EXCLUDED = re.compile(r"(?<![^\s(])-+(?=[^\s-])")


def literal(query: str) -> str:
    """The query without the signs that would leave out pages with a word of it: "-40" is asked for as "40".

    Queries are made by models, of strangers' texts. A minus within a word, or before a blank, is none.
    """
    return _EXCLUDED.sub("", query)


def site_operators(request: WebRequest, name: str, max_query: int | None) -> str:
    """All that are allowed, in parentheses if several; of those blocked as many as there is room for.

    They take at most half of the query. Raises `UsageError` for more allowed domains than that.
    """
    room = _MOST if max_query is None else max_query // 2
    said = " OR ".join(f"site:{domain}" for domain in request.allow)
    said = f"({said})" if len(request.allow) > 1 else said
    if len(said) > room:
        raise UsageError(f"{len(request.allow)} allowed domains are more than fit into a query of {name}")
    for domain in request.block:
        longer = f"{said} -site:{domain}".strip()
        if len(longer) > room:
            break  # results of the others are left out when they arrive
        said = longer
    return said
