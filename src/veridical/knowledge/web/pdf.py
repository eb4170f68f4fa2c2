"""PDF on stdin, its text as JSON on stdout: run as a process of its own, with bounded memory (`extract._pdf`)."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

PAGES = 100
"""Most pages that are read."""
CHARACTERS = 2_000_000
MEMORY = 1 << 30
"""Bytes."""


def main() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(sys.stdin.buffer.read()))
    texts, size = [], 0
    for page in reader.pages[:PAGES]:
        texts.append(page.extract_text() or "")
        size += len(texts[-1])
        if size > CHARACTERS:
            break
    about: Any = reader.metadata
    date = None
    with contextlib.suppress(Exception):  # dates in PDF are free text
        found = about and (about.modification_date or about.creation_date)
        date = found.date().isoformat() if found else None
    title = str(about.title) if about and about.title else ""
    sys.stdout.write(json.dumps({"text": "\n".join(texts)[:CHARACTERS], "title": title, "date": date}))


if __name__ == "__main__":
    main()
