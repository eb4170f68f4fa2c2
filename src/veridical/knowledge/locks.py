"""A lock between processes, which the operating system gives back when its holder dies."""

from __future__ import annotations

import os
from pathlib import Path

if os.name == "nt":
    import msvcrt
else:
    import fcntl


class FileLock:
    """The lock of one file, which stays on the disk. Two of one process exclude each other too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Whether it could be had at once. Raises OSError where the file cannot be made."""
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except OSError:
            os.close(handle)
            return False
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0) if hasattr(os, "pwrite") else None
        self._handle = handle
        return True

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def holder(self) -> str:
        """Who has it, as far as is known: "process 4711"."""
        try:
            number = self.path.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            number = ""
        return f"process {number}" if number.isdecimal() else "another process"


def _lock(handle: int) -> None:
    """Raises OSError if another has it."""
    if os.name == "nt":
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # pyright: ignore
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # pyright: ignore
