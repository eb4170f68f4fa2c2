"""Every error that veridical raises on purpose.

VeridicalError
├── UsageError            the caller asked for something impossible; shown as one line, exit status 2
│   └── InputError        a file holds something unusable; names file, line and field
├── StageError            one item failed; becomes a Failure in its report, the run goes on
│   ├── ModelError        the model gave no usable reply (bad request, filtered, out of budget, cut prompt)
│   ├── ParseError        a reply arrived and cannot be read as what was asked for
│   └── SearchError       evidence could not be looked up
│       └── TopicNotFound the knowledge source has no page for the topic
└── FatalError            going on is pointless (bad key, quota spent, disk full); the run stops, resumable
    └── BudgetSpent       --max-cost was reached
"""

from __future__ import annotations

from typing import Any


class VeridicalError(Exception):
    """Root of the tree."""

    spent: Any = None
    """What a failed model call has cost all the same (a `ChatReply` without text, see `models/bill.py`)."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets it whole, whatever arguments its class takes."""
        return _again, (type(self), self.args, self.__dict__)


class UsageError(VeridicalError):
    """The caller asked for something impossible."""


class InputError(UsageError):
    """A file holds something unusable."""

    def __init__(self, message: str, *, file: str, line: int | None = None, field: str | None = None) -> None:
        place = file if line is None else f"{file}:{line}"
        super().__init__(f"{place}: {f'field {field!r}: ' if field else ''}{message}")
        self.file, self.line, self.field = file, line, field


class StageError(VeridicalError):
    """One item failed at one stage; the run goes on."""


class ModelError(StageError):
    """The model gave no usable reply."""


class ParseError(StageError):
    """A reply arrived and cannot be read as what was asked for. `reply` keeps it, whole."""

    def __init__(self, message: str, *, reply: str = "") -> None:
        super().__init__(message)
        self.reply = reply


class SearchError(StageError):
    """Evidence could not be looked up."""


class TopicNotFound(SearchError):
    """The knowledge source has no page for the topic; `suggestions` are titles that come close."""

    def __init__(self, topic: str, suggestions: tuple[str, ...] = (), *, source: str = "the knowledge source") -> None:
        hint = f" Close titles: {', '.join(suggestions)}." if suggestions else ""
        super().__init__(f"no page titled {topic!r} in {source}.{hint}")
        self.topic, self.suggestions = topic, suggestions


class FatalError(VeridicalError):
    """Going on is pointless; the run stops and can be resumed."""


class BudgetSpent(FatalError):
    """The money set by --max-cost is used up."""


def leaf(error: BaseException) -> BaseException:
    """The one error that matters in an exception group of a task group: a fatal one if there is one, else the first."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    leaves = [leaf(inner) for inner in error.exceptions]
    return next((inner for inner in leaves if isinstance(inner, FatalError)), leaves[0])


def _again(kind: type[VeridicalError], args: tuple[Any, ...], state: dict[str, Any]) -> VeridicalError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error
