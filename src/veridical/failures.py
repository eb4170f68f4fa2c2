"""From an error to the value that stands for it in a report."""

from __future__ import annotations

from .errors import ParseError, StageError
from .types import Failure


class Known(StageError):
    """Trouble that was met before, when the evidence was gathered, and is kept as it was."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure(stage: str, error: BaseException) -> Failure:
    """The `Failure` of this error at this stage; a `ParseError` brings the reply that could not be read."""
    if isinstance(error, Known):
        return error.failure
    reply = error.reply if isinstance(error, ParseError) else None
    return Failure(stage=stage, error=type(error).__name__, message=str(error), reply=reply or None)
