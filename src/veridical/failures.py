"""From an error to the value that stands for it in a report."""

from __future__ import annotations

from .errors import ParseError
from .types import Failure


def failure(stage: str, error: BaseException) -> Failure:
    """The `Failure` of this error at this stage; a `ParseError` brings the reply that could not be read."""
    reply = error.reply if isinstance(error, ParseError) else None
    return Failure(stage=stage, error=type(error).__name__, message=str(error), reply=reply or None)
