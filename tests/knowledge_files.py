"""Small sources and knowledge sources for the tests."""

import json
import sqlite3
from pathlib import Path

from veridical.knowledge.build import build
from veridical.knowledge.factscore import SEPARATOR
from veridical.knowledge.store import Store

PAGES = [
    {
        "title": "Ana Belmonte (painter)",
        "text": "Ana Belmonte was a painter. She was born in Turin in 1890.\n\nShe painted 1,200 lakes.",
        "redirects": ["A. Belmonte", "Ana the Painter"],
        "url": "https://example.org/ana",
    },
    {"title": "Heung-min Son", "text": "Heung-min Son is a footballer."},
    {"title": "José Peña", "text": "José Peña was a poet of Łódź 🚒."},
    {"title": "X", "text": "X is a letter."},
    {"title": "Harbour Nights: The Second Voyage", "text": "Harbour Nights is a film of 1977."},
]


def jsonl(path: Path, rows: list) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def store(folder: Path, rows: list | None = None, **settings) -> Store:
    """A knowledge source of `rows`, built and opened."""
    source = jsonl(folder / "pages.jsonl", PAGES if rows is None else rows)
    build([source], folder / "kb.sqlite", **{"name": "test", **settings})
    return Store.open(folder / "kb.sqlite")


def factscore_db(path: Path, documents: dict[str, list[str]]) -> Path:
    """A database as FActScore's own code writes it."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE documents (title PRIMARY KEY, text)")
    rows = [(title, SEPARATOR.join(passages)) for title, passages in documents.items()]
    connection.executemany("INSERT INTO documents VALUES (?, ?)", rows)
    connection.commit()
    connection.close()
    return path
