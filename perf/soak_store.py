"""Writers of a knowledge source killed at random moments: is anything lost, torn, or beyond repair?

    python perf/soak_store.py [--kills 300] [--seed 0]

Each round a process changes pages and commits until kill -9. Then another process opens the source, searches it,
which lets the indexes follow, and reads all of it: SQLite's own check, the counts, the fingerprint computed anew, the
passages of the index against those of the tables; the newest state must be one that was acknowledged, or a later one.
Then the next writer goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from veridical.knowledge.build import build
from veridical.knowledge.checking import check
from veridical.knowledge.store import Store
from veridical.types import Query

CHILD = """
import sys
from veridical.knowledge.prepare import Ready
from veridical.knowledge.writer import Writer
import random
draw = random.Random(int(sys.argv[2]))
with Writer(sys.argv[1]) as writer:
    print("ready", flush=True)
    number = int(sys.argv[3])
    while True:
        for _ in range(draw.randint(1, 3)):
            number += 1
            writer.replace(Ready(title=f"Page {number % 60}", passages=(("", f"state {number} of the page"),)))
        if draw.random() < 0.3:
            writer.delete(f"Page {(number + 30) % 60}")
        writer.commit()
        print(number, flush=True)
"""


def killed(path: Path, seed: int, number: int, seconds: float) -> int:
    """The last state that a writer acknowledged before it was killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), str(seed), str(number)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout and child.stdout.readline() == "ready\n"
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    told = child.stdout.read().split()
    child.wait()
    return int(told[-1]) if told else number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, number, failures, seen = random.Random(given.seed), 0, 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.sqlite"
        (Path(folder) / "a.jsonl").write_text('{"title": "Mill", "text": "It opened in 1890."}\n')
        build([Path(folder) / "a.jsonl"], path, name="soak")
        for kill in range(given.kills):
            number = killed(path, given.seed * 100_000 + kill, number, draw.uniform(0.0, 1.5))
            seen[check(path).index] += 1  # before anybody repaired it
            with Store.open(path) as kb:
                asyncio.run(kb.search(Query(text="page state"), k=5))
            found = check(path)
            newest = sqlite3.connect(path).execute("SELECT text FROM passage ORDER BY id DESC LIMIT 1").fetchone()[0]
            lost = number > 0 and int(newest.split()[1]) < number
            if found.wrong or found.index != "current" or lost:
                failures += 1
                print(
                    f"kill {kill}: {found.wrong} index {found.index}, {number} acknowledged, newest {newest!r}",
                    flush=True,
                )
    print(
        f"{given.kills} kills, {number:,} states acknowledged, {failures} failures; index before repair: {dict(seen)}"
    )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
