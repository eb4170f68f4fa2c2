"""A knowledge source that is changed while others read it, and after writers were killed."""

import asyncio
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from veridical.errors import InputError, TopicNotFound, UsageError
from veridical.knowledge.build import build
from veridical.knowledge.checking import check
from veridical.knowledge.prepare import Ready
from veridical.knowledge.store import Store
from veridical.knowledge.writer import Writer
from veridical.types import Query


def made(path, count=20):
    source = path.with_suffix(".jsonl")
    rows = (f'{{"title": "Mill {n}", "text": "Mill {n} opened in {1800 + n}."}}\n' for n in range(count))
    source.write_text("".join(rows))
    build([source], path, name="t")
    return path


def ready(title, text, **more):
    return Ready(title=title, passages=(("", text),), **more)


def everywhere(kb, text, k=50):
    return {passage.title for passage in asyncio.run(kb.search(Query(text=text), k=k))}


def test_pages_are_added_replaced_and_deleted_and_an_open_reader_sees_it(tmp_path):
    path = made(tmp_path / "kb.sqlite")
    with Store.open(path) as kb:
        before = kb.name
        assert "Zeppelin" not in everywhere(kb, "zeppelin")
        with Writer(path) as writer:
            assert writer.add(ready("Zeppelin", "The zeppelin landed in 1929.", aliases=("Airship",))) is None
            assert writer.add(ready("Mill 3", "Again.")) == "repeated title"
            assert writer.replace(ready("Mill 4", "Mill 4 burned in 1950.")) is None
            assert writer.delete("Mill 5") and not writer.delete("Mill 99")
            writer.commit()
            after = writer.name
        assert kb.name == after != before
        assert everywhere(kb, "zeppelin landed") == {"Zeppelin"} and everywhere(kb, "burned") == {"Mill 4"}
        assert kb.lookup("airship").title == "Zeppelin"
        [passage] = asyncio.run(kb.search(Query(text="mill", topic="Mill 4"), k=5))
        assert passage.text == "Mill 4 burned in 1950."
        with pytest.raises(TopicNotFound):
            kb.lookup("Mill 5")
        assert kb.info.pages == 20
    assert check(path).wrong == ()


def test_the_same_content_has_the_same_name_however_it_came_to_be(tmp_path):
    path = made(tmp_path / "kb.sqlite")
    with Store.open(path) as kb:
        name = kb.name
    with Writer(path) as writer:
        writer.delete("Mill 7")
        writer.commit()
        assert writer.name != name
        writer.add(ready("Mill 7", "Mill 7 opened in 1807."))
        writer.commit()
        assert writer.name == name


def test_what_is_not_committed_is_forgotten_and_a_second_writer_is_refused(tmp_path):
    path = made(tmp_path / "kb.sqlite")
    with Writer(path) as writer:
        writer.delete("Mill 1")
        with pytest.raises(UsageError, match="is writing it"):
            Writer(path)
    with Writer(path) as writer:
        assert writer.delete("Mill 1")


def test_a_missing_or_damaged_index_is_made_again(tmp_path):
    path = made(tmp_path / "kb.sqlite")
    [folder] = (tmp_path / "kb.sqlite.index").iterdir()
    shutil.rmtree(folder)
    with Store.open(path) as kb:
        assert len(everywhere(kb, "mill opened")) == 20
    for file in (folder / "passages").glob("*.term"):
        file.write_bytes(b"broken")
    with Store.open(path) as kb:
        assert len(everywhere(kb, "mill opened")) == 20
    assert check(path).wrong == ()


def test_w1_damage_is_found_and_named(tmp_path):
    path = made(tmp_path / "kb.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE passage SET text = 'Mill 2 opened in 1999.' WHERE page_id = 3")
    connection.execute("DELETE FROM page WHERE title = 'Mill 9'")
    connection.commit()
    connection.close()
    wrong = " ".join(check(path).wrong)
    assert "19 pages, and 20 are to be there" in wrong and "fingerprint" in wrong and "search index" in wrong
    (tmp_path / "page.html").write_text("<!DOCTYPE html><p>Too many downloads")
    for call in (check, Writer):
        with pytest.raises(InputError, match="an HTML page"):
            call(tmp_path / "page.html")


def reads(path, seconds, results):
    """Searches until the time is over; what fails is put into `results`."""
    end, count = time.monotonic() + seconds, 0
    try:
        with Store.open(path) as kb:
            while time.monotonic() < end:
                assert everywhere(kb, "mill opened", k=5)
                kb.lookup("Mill 1")
                count += 1
        results.put(count)
    except BaseException as error:
        results.put(repr(error))


def test_several_processes_read_while_one_writes(tmp_path):
    path = made(tmp_path / "kb.sqlite")
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    readers = [context.Process(target=reads, args=(path, 4.0, results)) for _ in range(2)]
    for reader in readers:
        reader.start()
    with Writer(path) as writer:
        for number in range(40):
            writer.replace(ready(f"Mill {5 + number % 10}", f"Mill opened again in {1900 + number}."))
            writer.commit()
    found = [results.get(timeout=60) for _ in readers]
    for reader in readers:
        reader.join()
    assert all(isinstance(count, int) and count > 0 for count in found), found


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


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_f40_nothing_acknowledged_is_lost_by_kill_9(tmp_path):
    path = made(tmp_path / "kb.sqlite", 3)
    draw, number = random.Random(0), 0
    for kill in range(8):
        number = killed(path, kill, number, draw.uniform(0.0, 0.4))
        with Store.open(path) as kb:
            everywhere(kb, "page")  # the index follows
        found = check(path)
        assert (found.wrong, found.index) == ((), "current")
        newest = sqlite3.connect(path).execute("SELECT text FROM passage ORDER BY id DESC LIMIT 1").fetchone()[0]
        assert number == 0 or int(newest.split()[1]) >= number
