"""The command line: parsing and printing only. One file a command.

Exit status: 0 all done, 1 something stayed unscored or a threshold failed, 2 usage error, 3 stopped early, resumable.
"""

from __future__ import annotations

import os
import signal
import sys

import typer

from ..errors import FatalError, UsageError, VeridicalError, leaf
from .app import app

STOPPED = 3
RESUMABLE = (
    ["score"], ["meta"], ["bench"], ["decomposers"], ["felm"], ["recheck"], ["generate"], ["longfact"], ["data"],
    ["knowledge"],
)  # fmt: skip
"""Commands that go on where they stopped when they are called again."""
INTERRUPTED = 130
"""What the option parser makes of Ctrl-C."""
GOES_ON = "the same command goes on where it stopped"


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its status. A request to end is taken like Ctrl-C: what is paid for is kept."""
    _listen()
    sys.exit(run(arguments))


def _listen() -> None:
    """Take SIGTERM and SIGHUP for Ctrl-C, but for a SIGHUP that `nohup` has us ignore.

    A shell starts the background jobs of a script with SIGINT ignored; they could not be ended by SIGTERM either then.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


def run(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status; every expected error is one line on stderr."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    command = typer.main.get_command(app)
    try:
        status = command.main(arguments, prog_name="veridical", standalone_mode=False) or 0
        sys.stdout.flush()
        return _interrupted(arguments) if status == INTERRUPTED else status
    except typer.Exit as exit_:
        return exit_.exit_code
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            return _say(_words(error), 2)
        return _say(f"veridical: {_words(error)}", 2)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted(arguments)
    except BrokenPipeError:  # the reader of our stdout went away (head, less)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # stdout is full, a file vanished
        return _say(f"veridical: {error}", 1)
    except (VeridicalError, BaseExceptionGroup) as error:
        error = leaf(error)
        if isinstance(error, FatalError):
            more = f" ({GOES_ON})" if _goes_on(arguments) else ""
            return _say(f"veridical: stopped: {error}{more}", STOPPED)
        if isinstance(error, UsageError):
            return _say(f"veridical: {error}", 2)
        if isinstance(error, VeridicalError):
            return _say(f"veridical: {error}", 1)
        raise error from None


def _goes_on(arguments: list[str] | None) -> bool:
    return (arguments or sys.argv[1:])[:1] in RESUMABLE


def _interrupted(arguments: list[str] | None) -> int:
    return _say(f"veridical: stopped; {GOES_ON}" if _goes_on(arguments) else "veridical: stopped", STOPPED)


def _words(error: typer.TyperException) -> str:
    """What the option parser has to say; its missing-option errors keep their words in a method."""
    words = getattr(error, "format_message", None)
    return words() if words else str(error)


def _say(line: str, status: int) -> int:
    print(line, file=sys.stderr)  # noqa: T201
    return status


__all__ = ["app", "main", "run"]
