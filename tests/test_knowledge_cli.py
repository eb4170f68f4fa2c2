import json
import os
import subprocess
import sys

import pytest

from knowledge_files import PAGES, factscore_db, jsonl
from veridical.cli import run


@pytest.fixture
def kb(tmp_path, capsys):
    source = jsonl(tmp_path / "pages.jsonl", [*PAGES, PAGES[0]])
    command = ["knowledge", "build", str(source), "--out", str(tmp_path / "kb.sqlite"), "--licence", "CC0"]
    assert run([*command, "--name", "test", "--snapshot", "2026"]) == 0
    captured = capsys.readouterr()
    assert "5 pages, 5 passages, 2 redirects" in captured.out and "left out 1: repeated title 1" in captured.out
    assert f"left out: {source}:6: 'Ana Belmonte (painter)' came before" in captured.err
    return str(tmp_path / "kb.sqlite")


def test_search_of_a_topic(kb, capsys):
    assert run(["knowledge", "search", kb, "Where was she born?", "--topic", "ana belmonte", "-k", "1"]) == 0
    out = capsys.readouterr().out
    assert "Ana Belmonte (painter)#0" in out and "She was born in Turin in 1890." in out


def test_search_of_everything_as_json_lines(kb, capsys):
    assert run(["knowledge", "search", kb, "Which footballer or poet?", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {passage["title"] for passage in found} == {"Heung-min Son", "José Peña"}
    assert all(passage["score"] > 0 and passage["source"].startswith("test-2026@") for passage in found)


def test_nothing_found_is_said_on_stderr(kb, capsys):
    assert run(["knowledge", "search", kb, "zeppelin"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "" and "nothing found" in captured.err


def test_an_unknown_topic_is_one_line(kb, capsys):
    assert run(["knowledge", "search", kb, "born", "--topic", "Heung-min Sonn"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and "Close titles: Heung-min Son." in captured.err


def test_info(kb, capsys):
    assert run(["knowledge", "info", kb, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["pages"], told["snapshot"], told["licence"]) == (5, "2026", "CC0")
    assert run(["knowledge", "info", kb]) == 0
    assert told["name"] in capsys.readouterr().out


def test_build_prints_one_json_object(tmp_path, capsys):
    source = jsonl(tmp_path / "pages.jsonl", PAGES)
    assert run(["knowledge", "build", str(source), "--out", str(tmp_path / "new" / "mine.sqlite"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["pages"] == 5 and report["name"].startswith("mine@")


def test_w1_an_html_page_is_named_with_status_2(tmp_path, capsys):
    (tmp_path / "enwiki.db").write_text("<!DOCTYPE html>", encoding="utf-8")
    assert run(["knowledge", "info", str(tmp_path / "enwiki.db")]) == 2
    assert capsys.readouterr().err.endswith("expected a SQLite database, found an HTML page\n")


def test_on_error(tmp_path, capsys):
    source = jsonl(tmp_path / "pages.jsonl", [{"title": "A"}, PAGES[0]])
    command = ["knowledge", "build", str(source), "--out", str(tmp_path / "kb.sqlite")]
    assert run(command) == 2
    assert f"{source}:1: field 'text': missing" in capsys.readouterr().err
    assert run([*command, "--on-error", "skip"]) == 0
    assert "text: missing 1" in capsys.readouterr().out


def test_factscore_database(tmp_path, capsys):
    path = str(factscore_db(tmp_path / "enwiki.db", {"Mill": ["<s>It opened.</s>"]}))
    assert run(["knowledge", "search", path, "opened", "--topic", "mill"]) == 0
    assert "It opened." in capsys.readouterr().out
    assert run(["knowledge", "search", path, "opened"]) == 1
    assert run(["knowledge", "info", path]) == 0
    assert "not counted" in capsys.readouterr().out


def test_markup_in_texts_is_printed_as_it_is(tmp_path, capsys):
    source = jsonl(tmp_path / "p.jsonl", [{"title": "[bold]T[/]", "text": "A [red]mill[/red] [/] opened."}])
    assert run(["knowledge", "build", str(source), "--out", str(tmp_path / "kb.sqlite")]) == 0
    assert run(["knowledge", "search", str(tmp_path / "kb.sqlite"), "mill"]) == 0
    out = capsys.readouterr().out
    assert "[bold]T[/]#0" in out and "A [red]mill[/red] [/] opened." in out


def test_x2_stdout_is_utf8_under_another_locale(tmp_path):
    jsonl(tmp_path / "pages.jsonl", PAGES)
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    code = "import sys; from veridical.cli import main; main(sys.argv[1:])"
    kb = str(tmp_path / "kb.sqlite")
    for command in (["build", str(tmp_path / "pages.jsonl"), "--out", kb], ["search", kb, "poet"]):
        arguments = [sys.executable, "-c", code, "knowledge", *command]
        done = subprocess.run(arguments, env=environment, capture_output=True, check=True, timeout=60)
    assert "José Peña was a poet of Łódź 🚒." in done.stdout.decode("utf-8")


def test_pages_are_added_replaced_deleted_and_checked(tmp_path, capsys):
    rows = [{"title": f"Mill {n}", "text": f"Mill {n} opened in {1800 + n}."} for n in range(4)]
    first, more, kb = tmp_path / "a.jsonl", tmp_path / "b.jsonl", str(tmp_path / "kb.sqlite")
    first.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["knowledge", "build", str(first), "--out", kb]) == 0
    more.write_text('{"title": "Mill 1", "text": "It burned."}\n{"title": "Bell", "text": "It rings."}\n')
    assert run(["knowledge", "add", kb, str(more)]) == 0
    assert "1 pages added, 0 replaced" in capsys.readouterr().out
    assert run(["knowledge", "add", kb, str(more), "--replace"]) == 0
    assert "0 pages added, 2 replaced" in capsys.readouterr().out
    assert run(["knowledge", "delete", kb, "Mill 2", "Mill 9"]) == 1
    told = capsys.readouterr()
    assert "1 pages deleted" in told.out and "no page has the title 'Mill 9'" in told.err
    assert run(["knowledge", "check", kb]) == 0
    assert "4 pages, 4 passages; it is whole; its search index fits" in capsys.readouterr().out
    assert run(["knowledge", "search", kb, "burned", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Mill 1"
