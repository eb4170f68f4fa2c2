"""Builds by several processes, of dumps, broken off and gone on with: the same knowledge source in the end."""

import asyncio
import bz2
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from veridical import cli
from veridical.errors import InputError, TopicNotFound
from veridical.knowledge import build as module
from veridical.knowledge.build import build
from veridical.knowledge.store import Store
from veridical.types import Query

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en"><siteinfo>
<dbname>enwiki</dbname><base>https://en.wikipedia.org/wiki/Main_Page</base></siteinfo>\n"""


def page(title, text, ns=0, target=None):
    redirect = f'<redirect title="{target}" />' if target else ""
    return (
        f"<page><title>{title}</title><ns>{ns}</ns><id>1</id>{redirect}<revision><id>2</id>"
        f'<timestamp>2026-11-01T00:00:00Z</timestamp><text xml:space="preserve">{text}</text></revision></page>\n'
    )


def pages(count):
    draw = random.Random(0)
    for n in range(count):
        words = " ".join(draw.choice(["mill", "lake", "road", "bell", "tower", "barge"]) for _ in range(60))
        yield page(f"Mill {n}", f"'''Mill {n}''' opened in {{{{start date|{1700 + n % 300}}}}}. {words}.")
        if n % 3 == 0:
            yield page(f"Old mill {n}", f"#REDIRECT [[Mill {n}]]", target=f"Mill {n}")
        if n % 10 == 0:
            yield page(f"Talk:Mill {n}", "Hello.", ns=1)


def dump(path, count=600):
    """A multistream of 20 pages each."""
    parts = list(pages(count))
    with path.open("wb") as file:
        file.write(bz2.compress(HEAD.encode()))
        for first in range(0, len(parts), 20):
            file.write(bz2.compress("".join(parts[first : first + 20]).encode()))
        file.write(bz2.compress(b"</mediawiki>\n"))
    return path


def content(path):
    connection = sqlite3.connect(path)
    try:
        rows = connection.execute(
            "SELECT title, url, ord, section, text FROM page JOIN passage ON page_id = page.id ORDER BY page.id, ord"
        ).fetchall()
        return rows, connection.execute("SELECT title, target FROM redirect ORDER BY title").fetchall()
    finally:
        connection.close()


def test_several_processes_make_what_one_makes(tmp_path):
    source = dump(tmp_path / "enwiki-20261101-pages-articles-multistream.xml.bz2")
    one = build([source], tmp_path / "one.sqlite", name="w", workers=1)
    two = build([source], tmp_path / "two.sqlite", name="w", workers=2)
    assert one.name == two.name and one.name.startswith("w-20261101@")
    assert content(tmp_path / "one.sqlite") == content(tmp_path / "two.sqlite")
    assert (one.pages, one.redirects, one.led.resolved) == (600, 200, 200)


def test_a_dump_s_redirects_and_facts_are_found(tmp_path):
    source = dump(tmp_path / "enwiki-20261101.xml.bz2", 30)
    build([source], tmp_path / "kb.sqlite", name="w")
    with Store.open(tmp_path / "kb.sqlite") as kb:
        assert kb.lookup("old_mill 3").title == "Mill 3"
        [best, *_] = asyncio.run(kb.search(Query(text="when did it open", topic="Old mill 3"), k=1))
        assert "1703" in best.text and best.url == "https://en.wikipedia.org/wiki/Mill_3"
        assert kb.info.licence == "CC BY-SA 4.0"
        with pytest.raises(TopicNotFound):
            kb.lookup("Talk:Mill 10")


def test_w3_w5_disambiguation_is_no_topic_and_an_exact_title_wins(tmp_path):
    text = "'''Mercury''' may refer to:\n* [[Mercury (planet)]]\n* [[Mercury (god)]]\n{{disambiguation}}"
    rows = [page("Mercury", text), page("Mercury (planet)", "It is a planet."), page("Mercury (god)", "He is a god.")]
    rows += [page("Mercury: The Second Voyage", "A film.")]
    (tmp_path / "w.xml").write_text(HEAD + "".join(rows) + "</mediawiki>")
    build([tmp_path / "w.xml"], tmp_path / "kb.sqlite", name="w")
    with Store.open(tmp_path / "kb.sqlite") as kb:
        with pytest.raises(TopicNotFound) as caught:
            kb.lookup("Mercury")
        assert set(caught.value.suggestions) == {"Mercury (planet)", "Mercury (god)"}
        assert kb.lookup("Mercury (god)").title == "Mercury (god)"
        assert kb.lookup("Mercury: The Second Voyage").title == "Mercury: The Second Voyage"


def test_what_was_done_is_not_done_again(tmp_path, monkeypatch):
    sources = []
    for n in range(6):
        rows = ({"title": f"Mill {n} {m}", "text": f"Mill {m} opened in {1800 + m}."} for m in range(40))
        sources.append(tmp_path / f"{n}.jsonl")
        sources[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(module, "GROUPED", 1)
    whole = build(sources, tmp_path / "whole.sqlite", name="w", workers=1)
    asked = []

    def stops(at):
        asked.append(at)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(sources, tmp_path / "kb.sqlite", name="w", workers=1, on_event=stops)
    assert not (tmp_path / "kb.sqlite").exists() and (tmp_path / ".kb.sqlite.partial").exists()
    seen = []
    again = build(sources, tmp_path / "kb.sqlite", name="w", workers=1, on_event=seen.append)
    assert [at.file for at in seen if hasattr(at, "file")] == [str(path) for path in sources[3:]]
    assert seen[0].repeated == sum(path.stat().st_size for path in sources[:3])
    assert again.name == whole.name and content(tmp_path / "kb.sqlite") == content(tmp_path / "whole.sqlite")
    assert not (tmp_path / ".kb.sqlite.partial").exists()


def test_a_source_that_changed_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "GROUPED", 1)
    good, bad = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    good.write_text('{"title": "A", "text": "One."}\n')
    bad.write_text('{"title": "B"}\n')
    with pytest.raises(InputError):
        build([good, bad], tmp_path / "kb.sqlite", name="w")
    good.write_text('{"title": "A", "text": "Another."}\n')
    bad.write_text('{"title": "B", "text": "Two."}\n')
    build([good, bad], tmp_path / "kb.sqlite", name="w")
    assert [row[-1] for row in content(tmp_path / "kb.sqlite")[0]] == ["Another.", "Two."]


def test_what_cannot_be_cut_is_read_in_batches_and_gone_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "STREAMED", 0)
    monkeypatch.setattr("veridical.knowledge.prepare.BATCH", 50)
    source = tmp_path / "w.xml.bz2"
    source.write_bytes(bz2.compress((HEAD + "".join(pages(300)) + "</mediawiki>").encode()))
    whole = build([source], tmp_path / "whole.sqlite", name="w")
    asked = []

    def stops(at):
        asked.append(at)
        if len(asked) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build([source], tmp_path / "kb.sqlite", name="w", on_event=stops)
    seen = []
    again = build([source], tmp_path / "kb.sqlite", name="w", on_event=seen.append)
    assert seen[0].pages > 100
    assert again.name == whole.name and content(tmp_path / "kb.sqlite") == content(tmp_path / "whole.sqlite")


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_f40_kill_9_at_any_moment_and_the_same_command_finishes(tmp_path):
    source = dump(tmp_path / "enwiki-20261101.xml.bz2", 2500)
    build([source], tmp_path / "whole.sqlite", name="kb", workers=1)
    command = [
        sys.executable,
        "-m",
        "veridical",
        "knowledge",
        "build",
        str(source),
        "--out",
        str(tmp_path / "kb.sqlite"),
    ]
    draw = random.Random(1)
    for _ in range(3):
        running = subprocess.Popen([*command, "--workers", "1"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.6, 2.0))
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert cli.run(["knowledge", "build", str(source), "--out", str(tmp_path / "kb.sqlite"), "--workers", "1"]) == 0
    assert content(tmp_path / "kb.sqlite") == content(tmp_path / "whole.sqlite")
    with Store.open(tmp_path / "kb.sqlite") as kb:
        assert len(asyncio.run(kb.search(Query(text="opened 1788 mill"), k=5))) == 5


def test_two_builders_of_one_file_are_refused(tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text('{"title": "A", "text": "One."}\n')
    refused = []

    def second(_):
        if not refused:
            refused.append(cli.run(["knowledge", "build", str(source), "--out", str(tmp_path / "kb.sqlite")]))

    build([source], tmp_path / "kb.sqlite", name="w", on_event=second)
    assert refused == [2]
