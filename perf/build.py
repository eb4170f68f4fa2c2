"""A dump built end to end, then searched: the table of perf/README.md.

    python perf/wikidump.py DUMP.xml.bz2 --mb 300
    python perf/build.py DUMP.xml.bz2 OUT.sqlite [--workers 2] [--titles 5000] [--pages 4000] [--open 1000]

MB are of XML as it is unpacked. CPU seconds are of all processes; memory is the peak of this process, and of the
largest other one. Facts are those of the generator's sidecar, which must stand in the pages' text. An OUT that exists
is searched as it is, unless --again.
"""

from __future__ import annotations

import argparse
import asyncio
import bz2
import contextlib
import json
import random
import resource
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from veridical.errors import TopicNotFound
from veridical.knowledge.build import build
from veridical.knowledge.store import Store
from veridical.types import Query


def unpacked(path: Path) -> int:
    with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as file:
        return sum(map(len, iter(lambda: file.read(1 << 20), b"")))


def spent() -> float:
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usage)


def timed(name: str, asks: list[Callable[[], object]]) -> dict[str, object]:
    """Milliseconds of each, in the order drawn."""
    walls: list[float] = []
    start = time.process_time()
    for ask in asks:
        begun = time.perf_counter()
        ask()
        walls.append(1000 * (time.perf_counter() - begun))
    cpu = 1000 * (time.process_time() - start) / len(asks)
    walls.sort()
    p50, p95 = (walls[int(len(walls) * share)] for share in (0.5, 0.95))
    return {"what": name, "n": len(asks), "p50 ms": round(p50, 2), "p95 ms": round(p95, 2), "CPU ms": round(cpu, 2)}


def slip(title: str, draw: random.Random) -> str:
    """With one letter left out, doubled, changed or swapped with its neighbour."""
    at = draw.randrange(1, len(title) - 1)
    return draw.choice(
        [
            title[:at] + title[at + 1 :],
            title[:at] + title[at] + title[at:],
            title[:at] + draw.choice("aeiou") + title[at + 1 :],
            title[:at] + title[at + 1] + title[at] + title[at + 2 :],
        ]
    )


def searched(path: Path, titles: int, pages: int, everywhere: int) -> list[dict[str, object]]:
    draw = random.Random(0)
    connection = sqlite3.connect(path)
    ((last,),) = connection.execute("SELECT max(id) FROM page")
    ((last_redirect,),) = connection.execute("SELECT max(id) FROM redirect")

    def title(redirect: bool = False) -> str:
        table, most = ("redirect", last_redirect) if redirect and last_redirect else ("page", last)
        sql = f"SELECT title FROM {table} WHERE id >= ? {'AND NOT disambiguation' if table == 'page' else ''} LIMIT 1"
        row = connection.execute(sql, (draw.randint(1, most),)).fetchone()
        return row[0] if row else title()

    def words(page: str | None = None) -> str:
        sql = "SELECT text FROM passage WHERE id >= ? LIMIT 1"
        values: tuple[object, ...] = (draw.randint(1, last),)
        if page:
            sql, values = "SELECT text FROM passage JOIN page ON page.id = page_id WHERE title = ? LIMIT 1", (page,)
        text = connection.execute(sql, values).fetchone()[0].split()
        at = draw.randrange(max(1, len(text) - 8))
        return " ".join(text[at : at + 8])

    missed = 0

    def slipped(store: Store, wanted: str, asked: str) -> None:
        nonlocal missed
        try:
            found = store.lookup(asked).title
        except TopicNotFound as error:
            found = wanted if wanted in error.suggestions else ""
        missed += found != wanted

    with Store.open(path) as store:
        loop = asyncio.new_event_loop()

        def ask(text: str, topic: str | None = None) -> Callable[[], object]:
            return lambda: loop.run_until_complete(store.search(Query(text=text, topic=topic), k=5))

        names = [title(redirect=draw.random() < 0.3) for _ in range(titles)]
        known = [title() for _ in range(pages)]
        wrong = [(name, slip(name, draw)) for name in (title() for _ in range(min(titles, 500)))]
        rows = [
            timed("look-up of a title or redirect", [lambda name=name: _lookup(store, name) for name in names]),
            timed("search of a page", [ask(words(page), page) for page in known]),
            timed("search of everything", [ask(words()) for _ in range(everywhere)]),
            timed("a title with one slip", [lambda pair=pair: slipped(store, *pair) for pair in wrong]),
        ]
        rows[-1]["found or suggested"] = f"{1 - missed / len(wrong):.1%}"
        loop.close()
    return rows


def _lookup(store: Store, name: str) -> None:
    with contextlib.suppress(TopicNotFound):  # a redirect to a disambiguation page
        store.lookup(name)


def lost(path: Path, facts: Path) -> str:
    """Of the generator's facts, those that are not in the text."""
    connection = sqlite3.connect(path)
    wanted = missing = 0
    for line in facts.open(encoding="utf-8"):
        row = json.loads(line)
        sql = "SELECT passage.text FROM passage JOIN page ON page.id = page_id WHERE title = ?"
        text = "\n".join(one for (one,) in connection.execute(sql, (row["title"],)))
        wanted += len(row["facts"])
        missing += sum(fact not in text for fact in row["facts"])
    return f"{missing} of {wanted:,}"


def built(dump: Path, out: Path, workers: int | None) -> dict[str, object]:
    size, start, cpu = unpacked(dump), time.perf_counter(), spent()
    report = build([dump], out, name="perf", workers=workers, on_error="skip")
    seconds, cpu = time.perf_counter() - start, spent() - cpu
    mine, other = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    facts = dump.with_name(dump.name.removesuffix(".bz2").removesuffix(".xml") + ".facts.jsonl")
    return {
        "XML MB": round(size / 1e6, 1),
        "pages": report.pages,
        "redirects": report.redirects,
        "passages": report.passages,
        "plain": report.plain,
        "left out": sum(report.skipped.values()),
        "seconds": round(seconds, 1),
        "MB/s": round(size / 1e6 / seconds, 2),
        "CPU s": round(cpu, 1),
        "MB per CPU s": round(size / 1e6 / cpu, 2),
        "peak MiB, this / another": f"{mine:.0f} / {other:.0f}",
        "text MB": round(report.characters / 1e6, 1),
        "file MB": round(report.bytes / 1e6, 1),
        "index MB": round(report.index_bytes / 1e6, 1),
        "facts lost": lost(out, facts) if facts.exists() else "–",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--titles", type=int, default=5000)
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--open", type=int, default=1000)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    if given.again or not given.out.exists():
        for name, value in built(given.dump, given.out, given.workers).items():
            print(f"{name}: {value}", flush=True)
    for row in searched(given.out, given.titles, given.pages, given.open):
        print("  ".join(f"{name}: {value}" for name, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
