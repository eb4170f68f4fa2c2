import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from data import shared
from knowledge_files import PAGES, factscore_db, jsonl, store
from veridical.errors import FatalError, InputError, TopicNotFound, UsageError
from veridical.knowledge.build import Progress, build
from veridical.knowledge.store import Store
from veridical.types import Query

FULL = Path("/dev/full")


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.endswith(".partial")]


async def test_f40_build_then_query_in_the_same_process(tmp_path):
    report = build([jsonl(tmp_path / "pages.jsonl", PAGES)], tmp_path / "kb.sqlite", name="test", snapshot="2026")
    with Store.open(tmp_path / "kb.sqlite") as kb:
        [passage] = await kb.search(Query(text="born", topic="Ana Belmonte"), k=1)
        assert kb.name == report.name == passage.source
        assert (report.pages, report.passages, report.redirects) == (kb.info.pages, kb.info.passages, 2)
    assert report.bytes == (tmp_path / "kb.sqlite").stat().st_size and report.skipped == {}
    assert leftovers(tmp_path) == []


def test_f40_an_empty_section_is_skipped(tmp_path):
    with store(tmp_path, [{"title": "Mill", "text": ["", "It opened.", "  ", {"heading": "End", "text": ""}]}]) as kb:
        assert kb.info.passages == 1


def test_f40_w1_pages_without_text_are_counted_and_none_at_all_is_a_failure(tmp_path):
    rows = [{"title": "A", "text": ""}, {"title": "B", "text": [" "]}, {"title": "C", "text": "\x00"}]
    source = jsonl(tmp_path / "pages.jsonl", rows)
    with pytest.raises(UsageError, match=r"no page could be taken from .*: no text 3"):
        build([source], tmp_path / "kb.sqlite", name="t")
    assert not (tmp_path / "kb.sqlite").exists() and leftovers(tmp_path) == []
    jsonl(source, [*rows, {"title": "D", "text": "Text."}])
    report = build([source], tmp_path / "kb.sqlite", name="t")
    assert report.pages == 1 and report.skipped == {"no text": 3}
    assert report.examples[0] == f"{source}:1: 'A' has no text"


def test_f40_a_failed_build_leaves_the_old_source_as_it_was(tmp_path):
    store(tmp_path).close()
    before = (tmp_path / "kb.sqlite").read_bytes()
    source = jsonl(tmp_path / "bad.jsonl", [*PAGES, {"title": "No text"}])
    with pytest.raises(InputError):
        build([source], tmp_path / "kb.sqlite", name="t")
    assert (tmp_path / "kb.sqlite").read_bytes() == before and leftovers(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is of POSIX")
def test_f40_a_killed_build_leaves_no_half_source(tmp_path):
    rows = ({"title": f"Page {n}", "text": f"The mill number {n} opened. " * 40} for n in range(3000))
    source = jsonl(tmp_path / "pages.jsonl", list(rows))
    code = "import sys; from veridical.knowledge.build import build; build([sys.argv[1]], sys.argv[2], name='t')"
    command = [sys.executable, "-c", code, str(source), str(tmp_path / "kb.sqlite")]
    process = subprocess.Popen(command)
    while not leftovers(tmp_path) and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert not (tmp_path / "kb.sqlite").exists()
    jsonl(source, PAGES)
    assert build([source], tmp_path / "kb.sqlite", name="t").pages == len(PAGES)


def test_the_same_pages_give_the_same_name_and_others_another(tmp_path):
    def name(rows, **settings):
        source = jsonl(tmp_path / "pages.jsonl", rows)
        return build([source], tmp_path / "kb.sqlite", **{"name": "t", **settings}).name

    first = name(PAGES)
    assert name(PAGES) == first
    others = [
        name(PAGES[:-1]),
        name([*PAGES[:-1], PAGES[-1] | {"text": "Another."}]),
        name([*PAGES[:-1], PAGES[-1] | {"redirects": ["Second Voyage"]}]),
        name(PAGES, limit=5),
        name(PAGES, name="other"),
        name(PAGES, snapshot="1"),
    ]
    assert len({first, *others}) == 7


def test_on_error_stop_names_file_line_and_field(tmp_path):
    source = jsonl(tmp_path / "pages.jsonl", [PAGES[0], {"title": "Mill", "text": 7}])
    with pytest.raises(InputError) as caught:
        build([source], tmp_path / "kb.sqlite", name="t")
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(source), 2, "text")


def test_on_error_skip_counts_by_reason(tmp_path):
    source = tmp_path / "pages.jsonl"
    source.write_text(
        '{"title": "A", "text": "x"}\n{"title"\n{"title": " ", "text": "x"}\n[1]\n{"text": "x"}\n', "utf-8"
    )
    report = build([source], tmp_path / "kb.sqlite", name="t", on_error="skip")
    assert report.pages == 1
    assert report.skipped == {
        "not JSON": 1,
        "title: a string that is not blank is needed": 1,
        "an object of title and text is needed": 1,
        "title: missing": 1,
    }
    assert [example.split(": ")[0] for example in report.examples] == [f"{source}:{n}" for n in (2, 3, 4, 5)]


def test_nothing_else_is_overwritten(tmp_path):
    source = jsonl(tmp_path / "pages.jsonl", PAGES)
    for name, content in (("notes.txt", b"mine"), ("other.db", b"SQLite format 3\x00" + b"\x00" * 200)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match="left alone"):
            build([source], tmp_path / name, name="t")
        assert (tmp_path / name).read_bytes() == content
    with pytest.raises(UsageError, match="is a source too"):
        build([source], source, name="t")
    with pytest.raises(UsageError, match="is a folder"):
        build([source], tmp_path, name="t")


def test_impossible_settings(tmp_path):
    source = jsonl(tmp_path / "pages.jsonl", PAGES)
    with pytest.raises(UsageError, match="name"):
        build([source], tmp_path / "kb.sqlite", name=" ")
    with pytest.raises(UsageError, match="at least 1 word"):
        build([source], tmp_path / "kb.sqlite", name="t", limit=0)
    with pytest.raises(UsageError, match="no such file"):
        build([tmp_path / "none.jsonl"], tmp_path / "kb.sqlite", name="t")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_stops_with_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("veridical.knowledge.build._sync", _full)
    with pytest.raises(FatalError, match=r"cannot be written: .*No space left"):
        build([jsonl(tmp_path / "pages.jsonl", PAGES)], tmp_path / "kb.sqlite", name="t")
    assert not (tmp_path / "kb.sqlite").exists() and leftovers(tmp_path) == []


def _full(path):
    with FULL.open("wb", buffering=0) as file:
        file.write(b"x")


def test_x2_names_of_all_scripts_survive_another_locale(tmp_path):
    jsonl(tmp_path / "pages.jsonl", [{"title": "Łódź 🚒", "text": "Łódź lies in Poland 🚒."}])
    code = "import sys; from veridical.knowledge.build import build; build([sys.argv[1]], sys.argv[2], name='t')"
    command = [sys.executable, "-c", code, str(tmp_path / "pages.jsonl"), str(tmp_path / "kb.sqlite")]
    subprocess.run(command, env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"}, check=True, timeout=60)
    with Store.open(tmp_path / "kb.sqlite") as kb:
        [passage] = asyncio.run(kb.search(Query(text="Poland", topic="łódź 🚒"), k=1))
    assert passage.title == "Łódź 🚒" and passage.text == "Łódź lies in Poland 🚒."


async def test_w6_text_is_stored_composed(tmp_path):
    with store(tmp_path, [{"title": "P", "text": unicodedata.normalize("NFD", "José Peña")}]) as kb:
        [passage] = await kb.search(Query(text="jose", topic="P"), k=1)
    assert passage.text == unicodedata.normalize("NFC", "José Peña")


async def test_factscore_packing_on_request(tmp_path):
    text = " ".join(f"w{n}." for n in range(600))
    with store(tmp_path, [{"title": "Long", "text": text}], compat="factscore") as kb:
        passages = await kb.search(Query(text="", topic="Long"), k=9)
    assert [len(passage.text.split()) for passage in passages] == [255, 256, 89]


async def test_a_factscore_database_keeps_its_passages(tmp_path):
    source = factscore_db(tmp_path / "old.db", {"Mill": ["<s>It opened. It</s>", "burned.</s>"], "Empty": ["<s></s>"]})
    report = build([source], tmp_path / "kb.sqlite", name="t")
    assert (report.pages, report.passages, report.skipped) == (1, 2, {"no text": 1})
    with Store.open(tmp_path / "kb.sqlite") as kb:
        found = await kb.search(Query(text="burned"), k=5)
    assert [passage.text for passage in found] == ["burned."]


def test_events_tell_how_far_it_is(tmp_path):
    seen, source = [], jsonl(tmp_path / "p.jsonl", PAGES)
    build([source], tmp_path / "kb.sqlite", name="t", on_event=seen.append)
    [event] = [event for event in seen if isinstance(event, Progress)]
    assert event.pages == event.passages == 5
    assert event.bytes == event.total == source.stat().st_size and event.repeated == 0


def test_any_sqlite_tool_can_read_it(tmp_path):
    store(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "kb.sqlite")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    [(text,)] = connection.execute(
        "SELECT passage.text FROM passage JOIN page ON page.id = page_id WHERE title = 'X'"
    ).fetchall()
    assert text == "X is a letter."
    connection.close()


@pytest.mark.slow
async def test_5000_pages_are_found_by_title_and_by_words(tmp_path):
    """Volume: every page by a spelling of its title, and the right page by its words among 5,000."""
    dice = random.Random(7)
    words = [f"{a}{b}{c}" for a in ("ka", "lo", "mi", "ru") for b in ("tan", "vel", "dor") for c in range(50)]
    rows = [
        {"title": f"Place {n} ({n % 7})", "text": f"Place {n} lies at {' '.join(dice.choices(words, k=30))}."}
        for n in range(5000)
    ]
    with store(tmp_path, rows) as kb:
        assert kb.info.pages == 5000
        for row in dice.sample(rows, 300):
            assert kb.lookup(row["title"].upper().replace(" ", "_")).title == row["title"]
        hits = 0
        for row in dice.sample(rows, 40):
            found = await kb.search(Query(text=" ".join(row["text"].split()[-12:])), k=3)
            hits += row["title"] in [passage.title for passage in found]
        assert hits == 40
        with pytest.raises(TopicNotFound) as caught:
            kb.lookup("Plase 4711 (0)")
        assert any("4711" in title for title in caught.value.suggestions)


async def test_wikibio_extracts_become_pages(tmp_path):
    lines = (shared("wikibio_gpt3") / "first120.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [{"title": f"Person {n}", "text": json.loads(line)["wiki_bio_text"]} for n, line in enumerate(lines)]
    with store(tmp_path, rows) as kb:
        assert kb.info.pages == 120
        right = 0
        for row in rows:
            opening = " ".join(row["text"].split()[:25])
            right += (await kb.search(Query(text=opening), k=1))[0].title == row["title"]
        assert right >= 118
