"""Kill -9 at random, fifty times: nothing stored is asked again, and the reports are those of an undisturbed run."""

import asyncio
import json
import random
import sqlite3
import sys
from pathlib import Path

import msgspec
import pytest

from loopback import Loopback, Request
from replying import reply
from veridical.folder import RunFolder

KILLS = 50
ITEMS = 200


def write_items(path: Path) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for n in range(ITEMS):
            text = f"Mill {n} opened in {1800 + n} beside the river Őr. Its owner sold it to the town in {1900 + n}."
            reference = f"Mill {n} was opened in {1800 + n}. In {1901 + n} the owner sold it to the town."
            item = {"id": f"item-{n}", "text": text, "topic": f"Mill {n}", "reference": reference}
            file.write(json.dumps(item, ensure_ascii=False) + "\n")
    return path


def command(items: Path, out: Path, url: str) -> list[str]:
    options = ["--judge", f"{url}#judge", "--read", "text", "--concurrency", "4", "--out", str(out), "--json"]
    return [sys.executable, "-m", "veridical", "score", str(items), *options]


async def start(items: Path, out: Path, url: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command(items, out, url), stdout=pipe, stderr=pipe)


def stored(out: Path) -> set[str]:
    """Prompts whose replies are on disk."""
    path = out / "calls.sqlite"
    if not path.exists():
        return set()
    db = sqlite3.connect(path)
    try:
        rows = db.execute("select request from calls").fetchall()
    except sqlite3.OperationalError:  # killed before the table was made
        return set()
    finally:
        db.close()
    return {json.dumps(json.loads(row[0])["messages"], sort_keys=True) for row in rows}


def asked(request: Request) -> str:
    return json.dumps(request.json["messages"], sort_keys=True)


def without_timings(out: Path) -> list[bytes]:
    replace = msgspec.structs.replace
    return [
        msgspec.json.encode(replace(report, usage=replace(report.usage, seconds=0.0)))
        for report in RunFolder(out).reports()
    ]


@pytest.mark.slow
async def test_r2_r3_fifty_kills_lose_nothing_and_repeat_nothing(tmp_path):
    items, out = write_items(tmp_path / "items.jsonl"), tmp_path / "killed"
    chance = random.Random(5)
    enough = asyncio.Event()
    until, on_disk, repeated = 0, set(), []

    def handler(request: Request):
        if asked(request) in on_disk:
            repeated.append(asked(request))
        if len(server.requests) >= until:
            enough.set()
        return reply(request, delay=0.004)

    async with Loopback(handler) as server:
        for _ in range(KILLS):
            enough.clear()
            until = len(server.requests) + chance.randint(1, 30)
            process = await start(items, out, server.url)
            ended = asyncio.create_task(process.wait())
            reached = asyncio.create_task(enough.wait())
            await asyncio.wait([ended, reached], return_when=asyncio.FIRST_COMPLETED, timeout=60)
            assert not ended.done(), (await process.stderr.read()).decode()
            await asyncio.sleep(chance.random() * 0.01)
            process.kill()
            await ended
            reached.cancel()
            on_disk |= stored(out)
        until = 10**9
        process = await start(items, out, server.url)
        _, stderr = await process.communicate()
        assert process.returncode == 0, stderr.decode()
        assert repeated == []

        undisturbed = tmp_path / "undisturbed"
        process = await start(items, undisturbed, server.url)
        await process.communicate()
    assert without_timings(out) == without_timings(undisturbed)
    assert [report.generation.id for report in RunFolder(out).reports()] == [f"item-{n}" for n in range(ITEMS)]
