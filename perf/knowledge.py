"""Speed of the knowledge source: build, search of a page, search of everything, a title that is not there.

    python perf/knowledge.py [--pages 20000]

The pages are made up: two invented words and a number as title, 1 to 6 paragraphs of words by Zipf's law.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from veridical.errors import TopicNotFound
from veridical.knowledge.build import build
from veridical.knowledge.store import Store
from veridical.types import Passage, Query

SYLLABLES = [consonant + vowel for consonant in "bdklmnrst" for vowel in "aeiou"]


def made_up(count: int, dice: random.Random) -> Iterator[dict]:
    words = ["".join(dice.choices(SYLLABLES, k=dice.randint(1, 4))) for _ in range(40_000)]
    weights = list(itertools.accumulate(1 / (rank + 1) ** 0.9 for rank in range(len(words))))
    for number in range(count):
        title = f"{dice.choice(words).capitalize()} {dice.choice(words).capitalize()} {number}"
        paragraphs = [
            " ".join(
                f"{title} {' '.join(dice.choices(words, cum_weights=weights, k=dice.randint(8, 25)))}."
                for _ in range(dice.randint(4, 10))
            )
            for _ in range(dice.randint(1, 6))
        ]
        yield {"title": title, "text": "\n\n".join(paragraphs), "redirects": [f"{title} (x)"]}


def row(what: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    p50, p95 = (1000 * ordered[int(len(ordered) * share)] for share in (0.5, 0.95))
    print(f"| {what} | {p50:.2f} | {p95:.2f} | {len(ordered)} |")


async def timed(kb: Store, query: Query) -> tuple[float, list[Passage]]:
    started = time.process_time()
    found = await kb.search(query, k=5)
    return time.process_time() - started, found


async def searches(kb: Store, rows: list[dict], dice: random.Random) -> None:
    print("\n| CPU milliseconds | p50 | p95 | n |\n|---|---|---|---|")
    first, again = [], []
    for page in dice.sample(rows, min(1000, len(rows))):
        query = Query(text=" ".join(dice.sample(page["text"].split(), 6)), topic=page["title"])
        first.append((await timed(kb, query))[0])
        again.append((await timed(kb, query))[0])
    row("search of a page, first time", first)
    row("search of a page, again", again)
    everywhere, right = [], 0
    for page in dice.sample(rows, min(150, len(rows))):
        seconds, found = await timed(
            kb, Query(text=f"{page['title']} {' '.join(dice.sample(page['text'].split(), 6))}")
        )
        everywhere.append(seconds)
        right += page["title"] in [passage.title for passage in found]
    row(f"search of everything (right page among 5: {right})", everywhere)
    missing = []
    for page in dice.sample(rows, min(50, len(rows))):
        started = time.process_time()
        try:
            kb.lookup(f"z{page['title']}")
        except TopicNotFound:
            missing.append(time.process_time() - started)
    row("a title that is not there, with suggestions", missing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    count = parser.parse_args().pages
    dice = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "pages.jsonl")
        rows = list(made_up(count, dice))
        source.write_text("".join(json.dumps(page) + "\n" for page in rows), encoding="utf-8")
        started = time.process_time()
        report = build([source], Path(folder, "kb.sqlite"), name="made-up")
        seconds = time.process_time() - started
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{report.pages:,} pages, {report.passages:,} passages, {report.characters / 1e6:.1f} MB of text")
        print(f"build: {report.characters / 1e6 / seconds:.2f} MB per CPU second, {report.pages / seconds:,.0f} pages")
        print(
            f"file {report.bytes / report.characters:.1f} times the text; peak memory with this script {memory:.0f} MB"
        )
        with Store.open(report.path) as kb:
            asyncio.run(searches(kb, rows, dice))


if __name__ == "__main__":
    main()
