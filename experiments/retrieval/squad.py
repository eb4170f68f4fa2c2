"""Does retrieval find the passage that answers? Questions of SQuAD against its passages, by page and over all pages.

    python experiments/retrieval/squad.py ../shared/data

Prints Markdown. By page: the question's own passage among the passages of its page (2,067 passages, 48 pages), first 3
questions of each passage, for several k1 and b. Over all pages: a passage that holds the answer, first question of
every third passage, for several weights of the title.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from veridical.knowledge import bm25, indexes, native
from veridical.knowledge.build import build
from veridical.knowledge.database import Database


def by_page(pages: dict[str, list[dict]]) -> tuple[float, float, int]:
    """Share of questions whose passage is first, and among five; number of questions."""
    first = five = asked = 0
    for rows in pages.values():
        index = bm25.Index([row["context"] for row in rows])
        for place, row in enumerate(rows):
            for question in row["questions"][:3]:
                found = [at for at, _ in index.rank(question["question"], 5)]
                asked += 1
                first += found[0] == place
                five += place in found
    return first / asked, five / asked, asked


def everywhere(tables: native.NativeTables, rows: list[dict]) -> tuple[float, float, int]:
    """Share of questions whose answer is in the first passage, and in the first five; number of questions."""
    first = five = 0
    chosen = rows[::3]
    for row in chosen:
        question = row["questions"][0]
        found = [question["answer"] in passage.text for passage in tables.everywhere(question["question"], 5)]
        first += found[:1] == [True]
        five += any(found)
    return first / len(chosen), five / len(chosen), len(chosen)


def main() -> None:
    rows = json.loads(Path(sys.argv[1], "seal_squad", "squad_val.json").read_text(encoding="utf-8"))
    pages: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        pages[row["title"]].append(row)
    print("| by page | first | among 5 | n |\n|---|---|---|---|")
    default = bm25.K1, bm25.B
    for k1, b in (default, (1.2, 0.75), (0.9, 0.4), (1.5, 0.4)):
        bm25.K1, bm25.B = k1, b
        print("| k1 {}, b {} | {:.3f} | {:.3f} | {} |".format(k1, b, *by_page(pages)))
    bm25.K1, bm25.B = default
    print("\n| over all pages | first | among 5 | n |\n|---|---|---|---|")
    usual = indexes.TITLE_WEIGHT
    for weight in (1, usual, 4):
        indexes.TITLE_WEIGHT = weight
        with tempfile.TemporaryDirectory() as folder:
            source, kb = Path(folder, "squad.jsonl"), Path(folder, "squad.sqlite")
            records = ({"title": title, "text": [row["context"] for row in group]} for title, group in pages.items())
            source.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
            build([source], kb, name="squad")
            tables = native.NativeTables(Database(kb))
            print("| title weight {} | {:.3f} | {:.3f} | {} |".format(weight, *everywhere(tables, rows)))
    indexes.TITLE_WEIGHT = usual


if __name__ == "__main__":
    main()
