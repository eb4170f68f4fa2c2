"""Sources in units: JSON, Parquet, tables, databases, folders; the same pages however they are cut."""

import gzip
import json
import os
import pickle
import sqlite3
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_files import PAGES, factscore_db, jsonl
from veridical.errors import InputError, UsageError
from veridical.knowledge.documents import Record
from veridical.knowledge.sources import Bad, about, factscore, files, pages, parquet, read, units
from veridical.knowledge.sources import base as sources_base
from veridical.knowledge.sources import json as json_source


def all_of(path):
    pieces = [pickle.loads(pickle.dumps(piece)) for piece in units([path])]
    return [one for piece in pieces for one in read(piece)], pieces


def seen(found):
    return [(one.title, one.line) if isinstance(one, Record) else (one.reason, one.line) for one in found]


# JSON lines


line = st.one_of(
    st.builds(lambda n: json.dumps({"title": f"T{n}", "text": "x" * (n % 90)}).encode(), st.integers(0, 999)),
    st.sampled_from([b"", b"   ", b'{"title": 1}', b"{broken", b"\xff\xfe", '{"title": "Łódź", "text": "ą"}'.encode()]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(line, max_size=30), size=st.integers(1, 400), ending=st.sampled_from([b"\n", b"\r\n"]),
       last=st.booleans())  # fmt: skip
def test_json_lines_in_ranges_of_any_size_are_read_as_a_whole(tmp_path, monkeypatch, lines, size, ending, last):
    path = tmp_path / "p.jsonl"
    path.write_bytes(ending.join([b'{"title": "First", "text": "x"}', *lines]) + (ending if last else b""))
    with monkeypatch.context() as patched:
        patched.setattr(json_source, "UNIT_BYTES", size)
        found, pieces = all_of(path)
    whole, [only] = all_of(path)
    assert found == whole and only.bytes == path.stat().st_size
    assert [(piece.start, piece.end) for piece in pieces] == list(
        zip([0, *[piece.end for piece in pieces[:-1]]], [piece.end for piece in pieces], strict=True)
    )
    assert sum(piece.bytes for piece in pieces) == path.stat().st_size
    expected = [number for number, one in enumerate(lines, start=2) if one.strip()]
    assert [one.line for one in whole] == [1, *expected]


def test_a_line_that_is_too_long_is_one_bad_page(tmp_path, monkeypatch):
    monkeypatch.setattr(json_source, "BIGGEST", 1000)
    monkeypatch.setattr(json_source, "_CHUNK", 64)
    rows = [{"title": "A", "text": "x"}, {"title": "B", "text": "y" * 5000}, {"title": "C", "text": "z"}]
    for path in (jsonl(tmp_path / "p.jsonl", rows), tmp_path / "p.jsonl.gz"):
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress((tmp_path / "p.jsonl").read_bytes()))
        found, _ = all_of(path)
        assert [line for _, line in seen(found)] == [1, 2, 3]
        assert isinstance(found[1], Bad) and "a line of more than" in found[1].reason


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"<!doctype html><title>Sign in</title>", "found an HTML page"),
        (b"PK\x03\x04rest", "found a zip archive"),
        (b"BZh9rest", "found a bzip2 archive"),
        (b"\n \n", "found nothing but blanks"),
        (b"title,text\nA,x\n", "found text that begins 'title,text"),
        (b'[{"title": "A", "text": "x"}]', "found text that begins '\\["),
        ('{"title": "A"}'.encode("utf-16"), "UTF-16"),
    ],
)  # fmt: skip
def test_w1_what_is_no_json_is_named_at_once(tmp_path, content, said):
    path = tmp_path / "p.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        next(units([path]))


def test_w6_titles_of_files_are_composed(tmp_path):
    (tmp_path / "Jose\u0301_Pen\u0303a.txt").write_text("He was a poet.", encoding="utf-8")
    [record] = pages(tmp_path / "Jose\u0301_Pen\u0303a.txt")
    assert isinstance(record, Record) and record.title == "José Peña"


def test_ids_are_kept_as_text(tmp_path):
    rows = [{"title": "A", "text": "x", "id": one} for one in (7, "q", None, 1.5, 2**70)]
    assert [page.id for page in pages(jsonl(tmp_path / "p.jsonl", rows)) if isinstance(page, Record)] == [
        "7", "q", None, None, None,
    ]  # fmt: skip


def test_arrays_in_other_archives(tmp_path):
    import bz2

    path = tmp_path / "p.json.bz2"
    path.write_bytes(bz2.compress(json.dumps(PAGES).encode()))
    assert [title for title, _ in seen(pages(path))] == [row["title"] for row in PAGES]


def test_json_lines_in_other_archives(tmp_path):
    import bz2
    import lzma

    content = jsonl(tmp_path / "p.jsonl", PAGES).read_bytes()
    for ending, pack in ((".bz2", bz2.compress), (".xz", lzma.compress)):
        path = tmp_path / f"p.jsonl{ending}"
        path.write_bytes(pack(content))
        assert [title for title, _ in seen(pages(path))] == [row["title"] for row in PAGES]


# Parquet


def write_parquet(path, rows, group):
    pyarrow = pytest.importorskip("pyarrow")
    table = pytest.importorskip("pyarrow.parquet")
    table.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=group)
    return path


def test_wikimedias_parquet_by_groups_of_rows(tmp_path, monkeypatch):
    (tmp_path / "20231101.en").mkdir()
    rows = [{"id": str(n), "url": f"https://e.org/{n}", "title": f"T {n}", "text": f"text {n}"} for n in range(95)]
    path = write_parquet(tmp_path / "20231101.en" / "train-00000-of-00041.parquet", rows, 10)
    whole, [only] = all_of(path)
    assert (only.start, only.end, only.bytes) == (0, 10, path.stat().st_size)
    monkeypatch.setattr(parquet, "UNIT_BYTES", 900)
    found, pieces = all_of(path)
    assert len(pieces) > 2 and found == whole and sum(piece.bytes for piece in pieces) == path.stat().st_size
    assert [one.line for one in found] == list(range(1, 96))
    assert (found[94].title, found[94].id, found[94].url) == ("T 94", "94", "https://e.org/94")
    assert (about([path]).language, about([path]).snapshot) == ("en", "20231101")


STRUCTURED = {
    "name": "Ada Lovelace",
    "url": "https://en.wikipedia.org/wiki/Ada_Lovelace",
    "abstract": "Ada was a mathematician.",
    "infoboxes": [
        {"name": "Infobox person", "type": "infobox", "has_parts": [
            {"type": "section", "name": "Ada", "has_parts": [
                {"type": "image"}, {"type": "field", "name": "Born", "value": "10 December 1815"}]}]}
    ],
    "sections": [
        {"type": "section", "name": "Abstract", "has_parts": [{"type": "paragraph", "value": "She was English."}]},
        {"type": "section", "name": "Life", "has_parts": [
            {"type": "paragraph", "value": "She lived in London."},
            {"type": "list", "has_parts": [{"type": "list_item", "value": "Byron, a poet"}]},
            {"type": "section", "name": "Death", "has_parts": [{"type": "paragraph", "value": "She died in 1852."}]}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("as_text", [False, True])
def test_wikimedias_structured_export(tmp_path, as_text):
    row = STRUCTURED
    if as_text:
        row = {**row, **{name: json.dumps(row[name]) for name in ("infoboxes", "sections")}}
    for path in (write_parquet(tmp_path / "s.parquet", [row], 10), jsonl(tmp_path / "s.jsonl", [row])):
        [record] = pages(path)
        assert record.title == "Ada Lovelace" and record.url == STRUCTURED["url"]
        assert [(section.heading, section.text) for section in record.sections] == [
            ("", "She was English."),
            ("Life", "She lived in London.\n- Byron, a poet"),
            ("Death", "She died in 1852."),
            ("Infobox person", "Born: 10 December 1815."),
        ]


def test_a_structured_article_without_sections_has_its_abstract(tmp_path):
    [record] = pages(jsonl(tmp_path / "s.jsonl", [{"name": "A", "abstract": "A is a letter.", "sections": "[broken"}]))
    assert record.sections[0].text == "A is a letter."


@pytest.mark.parametrize(
    ("rows", "said"), [([{"a": 1}], "expected columns title and text .*, found a"), ([], "found|without rows")]
)
def test_w1_parquet_of_something_else(tmp_path, rows, said):
    path = write_parquet(tmp_path / "p.parquet", rows, 10)
    with pytest.raises(InputError, match=said):
        next(units([path]))


def test_w1_a_parquet_file_that_is_cut_off(tmp_path):
    path = write_parquet(tmp_path / "p.parquet", [{"title": "A", "text": "x" * 1000}], 10)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        next(units([path]))


# FActScore's database


def test_a_factscore_database_by_ranges_of_rows(tmp_path, monkeypatch):
    path = factscore_db(tmp_path / "enwiki-20230401.db", {f"T{n}": [f"<s>text {n}", "more</s>"] for n in range(400)})
    whole, [only] = all_of(path)
    assert only.bytes == path.stat().st_size and len(whole) == 400
    monkeypatch.setattr(factscore, "UNIT_BYTES", 7000)
    found, pieces = all_of(path)
    assert len(pieces) > 2 and found == whole and sum(piece.bytes for piece in pieces) == path.stat().st_size
    assert about([path]).snapshot == "20230401"


def test_a_factscore_database_with_other_values(tmp_path):
    path = factscore_db(tmp_path / "a.db", {"A": ["x"], "B": ["y"]})
    connection = sqlite3.connect(path)
    connection.execute("UPDATE documents SET text = NULL WHERE title = 'A'")
    connection.commit()
    connection.close()
    assert seen(pages(path)) == [("a title and a text are needed", 1), ("B", None)]


# Tables


def test_tables_with_quoted_line_ends(tmp_path):
    path = tmp_path / "t.csv"
    rows = '\ufeffID,Title,Text,url\n1,A,"One, two\nthree",https://e.org\n\n2,B,"She said ""no"".",\n'
    path.write_text(rows, encoding="utf-8")
    found, _ = all_of(path)
    assert seen(found) == [("A", 2), ("B", 5)]
    assert found[0].sections[0].text == "One, two\nthree" and found[0].url == "https://e.org"
    assert found[1].sections[0].text == 'She said "no".' and found[1].url is None
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(gzip.compress("title\ttext\nŁ\tx\nshort\n".encode()))
    assert seen(pages(path)) == [("Ł", 2), ("missing", 3)]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"a,b\n1,2\n", "columns title and text, found a, b"), (b"", "empty"), (b"PAR1xx", "found a Parquet file")],
)
def test_w1_a_table_of_something_else(tmp_path, content, said):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        next(units([path]))


def test_a_table_that_is_not_utf8_ends_with_a_word(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"title,text\n" + b"A,x\n" * 5000 + b"B,\xe9\n")
    *_, bad = pages(path)
    assert isinstance(bad, Bad) and bad.reason == "not UTF-8"


# Files and folders


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pages.zip", "a zip archive; unpack it first"), ("pages.7z", "a 7z archive"), ("p.tar.gz", "a tar archive"),
        ("old.doc", r"save it as \.docx"), ("pages.odt", r"what can is \.jsonl"), ("nowhere/p.jsonl", "no such file"),
    ],
)  # fmt: skip
def test_what_is_not_read_says_why(tmp_path, name, said):
    if "/" not in name:
        (tmp_path / name).write_bytes(b"PK\x03\x04")
    with pytest.raises(UsageError, match=said):
        list(units([tmp_path / name]))


def test_w1_a_folder_without_anything_to_read(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"x")
    with pytest.raises(UsageError, match="a folder without a file that can be read as pages"):
        list(units([tmp_path]))


def test_a_file_named_twice_is_read_once(tmp_path):
    path = jsonl(tmp_path / "p.jsonl", PAGES)
    assert len(list(units([path, tmp_path, str(path)]))) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_ordinary_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    assert [path.name for path in files(tmp_path)] == ["a.txt"]
    with pytest.raises(UsageError, match="no ordinary file"):
        files(tmp_path / "pipe.txt")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files as bytes")
def test_names_that_are_no_utf8(tmp_path):
    for name, content in ((b"caf\xe9.txt", b"It opened."), (b"\xff.jsonl", b'{"title": "A", "text": 1}\n')):
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:  # noqa: PTH118, PTH123
            file.write(content)
    found, pieces = all_of(tmp_path)
    for one in found:
        assert one.file.encode()
        assert isinstance(one, Bad) or one.title == "caf\\xe9"
    assert len(found) == 2 and all(piece.key.encode() for piece in pieces)
    [bad] = [one for one in found if isinstance(one, Bad)]
    assert str(bad.error()).encode() and bad.file.endswith("\\xff.jsonl")


def test_a_text_that_is_too_large_is_told(tmp_path):
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.truncate(sources_base.BIGGEST + 1)
    [bad] = pages(path)
    assert isinstance(bad, Bad) and "more than 64 MB" in bad.reason


def test_a_file_that_vanishes_after_it_was_listed(tmp_path):
    path = jsonl(tmp_path / "p.jsonl", PAGES)
    [piece] = units([path])
    path.unlink()
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        list(read(piece))
