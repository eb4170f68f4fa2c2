import gzip
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_files import PAGES, factscore_db, jsonl, store
from veridical.errors import InputError, UsageError
from veridical.knowledge.documents import Record, Section
from veridical.knowledge.sources import Bad, files, pages
from veridical.knowledge.sources import json as json_source


def titles(path):
    return [page.title if isinstance(page, Record) else page.reason for page in pages(path)]


def test_jsonl_with_a_mark_at_the_start_blank_lines_and_windows_line_ends(tmp_path):
    path = tmp_path / "pages.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"title": "A", "text": "x"}\r\n\r\n  \n{"title": "B", "text": "y"}')
    assert titles(path) == ["A", "B"]
    assert [page.place for page in pages(path) if isinstance(page, Record)] == [f"{path}:1", f"{path}:4"]


def test_fields(tmp_path):
    row = {
        "title": " Mill ",
        "text": ["Lead.", {"heading": "Fire", "text": "It burned."}],
        "url": "https://e.org",
        "aliases": ["The Mill"],
        "id": 7,
    }
    [record] = pages(jsonl(tmp_path / "p.jsonl", [row]))
    assert isinstance(record, Record)
    assert (record.title, record.url, record.redirects) == ("Mill", "https://e.org", ("The Mill",))
    assert record.sections == (Section(text="Lead."), Section(text="It burned.", heading="Fire"))


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"text": "x"}, "title"),
        ({"title": "A"}, "text"),
        ({"title": 7, "text": "x"}, "title"),
        ({"title": "_ ", "text": "x"}, "title"),
        ({"title": "A", "text": None}, "text"),
        ({"title": "A", "text": ["x", 1]}, "text"),
        ({"title": "A", "text": [{"heading": "h"}]}, "text"),
        ({"title": "A", "text": "x", "url": 1}, "url"),
        ({"title": "A", "text": "x", "redirects": "B"}, "redirects"),
        ({"title": "A", "text": "x", "aliases": [None]}, "aliases"),
    ],
)
def test_an_unusable_field_is_named(tmp_path, row, field):
    [bad] = pages(jsonl(tmp_path / "p.jsonl", [row]))
    assert isinstance(bad, Bad) and (bad.field, bad.line) == (field, 1)
    assert f"p.jsonl:1: field '{field}': " in str(bad.error())


@pytest.mark.parametrize(
    "line", [b"<!DOCTYPE html>", b'{"title": ', b"\xff\xfe{", b"[" * 100_000, b'{"title": "\\ud800"}']
)
def test_an_unreadable_line_is_one_bad_page(tmp_path, line):
    path = tmp_path / "p.jsonl"
    path.write_bytes(line + b'\n{"title": "A", "text": "x"}\n')
    bad, record = pages(path)
    assert isinstance(bad, Bad) and bad.reason == "not JSON" and isinstance(record, Record)


def test_compressed_json_lines(tmp_path):
    path = tmp_path / "pages.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(tmp_path / "p.jsonl", PAGES).read_bytes()))
    assert titles(path) == [row["title"] for row in PAGES]


def test_w1_a_cut_off_or_damaged_archive(tmp_path):
    rows = [{"title": f"Page {n}", "text": random.Random(n).randbytes(2000).hex()} for n in range(100)]
    whole = gzip.compress(jsonl(tmp_path / "p.jsonl", rows).read_bytes())
    path = tmp_path / "pages.jsonl.gz"
    for content in (whole[: len(whole) // 2], whole[:99_000] + b"\x00" * 50 + whole[99_050:]):
        path.write_bytes(content)
        *found, bad = pages(path)  # what stands before the break is kept
        assert len(found) > 20 and isinstance(bad, Bad) and "damaged or cut off gzip archive" in str(bad.error())
    path.write_bytes(b"<html>")
    with pytest.raises(InputError, match="expected JSON packed with gzip, found an HTML page"):
        titles(path)


@pytest.mark.parametrize("chunk", [7, 64, 1 << 20])
def test_a_json_array_in_any_chunks(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(json_source, "_CHUNK", chunk)
    path = tmp_path / "pages.json"
    path.write_text(" \n" + json.dumps(PAGES, indent=2) + "\n", encoding="utf-8")
    assert titles(path) == [row["title"] for row in PAGES]


def test_an_empty_array_and_json_lines_named_json(tmp_path):
    path = tmp_path / "pages.json"
    path.write_text(" [ ] ", encoding="utf-8")
    assert titles(path) == []
    jsonl(path, PAGES)
    assert len(titles(path)) == len(PAGES)


@pytest.mark.parametrize(
    "content", ["[", "[{]", '[{"title": "A", "text": "x"}', '[{"title": "A", "text": "x"} 7]', "[1"]
)
def test_a_broken_array_is_an_error(tmp_path, content):
    path = tmp_path / "pages.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="broken JSON array"):
        titles(path)


def test_half_a_surrogate_pair_is_refused(tmp_path):
    path = tmp_path / "pages.json"
    path.write_text('[{"title": "A", "text": "\\ud83d"}]', encoding="utf-8")
    [bad] = pages(path)
    assert isinstance(bad, Bad) and "surrogate" in bad.reason


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(json_values, max_size=6))
def test_any_array_is_read_as_json_reads_it(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("array") / "a.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    assert list(json_source.elements(path)) == values


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [row | {"url": row.get("url"), "redirects": row.get("redirects"), "score": 1.5} for row in PAGES]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "pages.parquet")
    records = list(pages(tmp_path / "pages.parquet"))
    expected = list(pages(jsonl(tmp_path / "p.jsonl", PAGES)))
    assert [(r.title, r.sections, r.url, r.redirects) for r in records if isinstance(r, Record)] == [
        (r.title, r.sections, r.url, r.redirects) for r in expected if isinstance(r, Record)
    ]
    (tmp_path / "broken.parquet").write_bytes(b"<html>")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        titles(tmp_path / "broken.parquet")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "pages.parquet").write_bytes(b"PAR1")
    with pytest.raises(UsageError, match=r"pip install 'veridical\[parquet\]'"):
        titles(tmp_path / "pages.parquet")


def test_a_folder_is_read_with_all_below_it_in_order(tmp_path):
    for name in ("b.md", "a.txt", "sub/c.jsonl", "sub/.hidden.md", ".git/d.md", "photo.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert [path.relative_to(tmp_path).as_posix() for path in files(tmp_path)] == ["a.txt", "b.md", "sub/c.jsonl"]


def test_a_file_that_cannot_be_read_says_what_can(tmp_path):
    (tmp_path / "pages.odt").write_bytes(b"PK")
    with pytest.raises(UsageError, match=r"cannot be read as pages; what can is \.jsonl"):
        files(tmp_path / "pages.odt")


# --- text and Markdown ---------------------------------------------------------------------------------------------


def document(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    [record] = pages(path)
    assert isinstance(record, Record)
    return record


def test_markdown_sections_and_title(tmp_path):
    record = document(tmp_path, "m.md", "# The Mill\n\nLead.\n\n## Fire ##\nIt burned.\n```\n# no heading\n```\n#tag\n")
    assert record.title == "The Mill"
    assert [(section.heading, section.text.strip()) for section in record.sections if section.text.strip()] == [
        ("", "Lead."),
        ("Fire", "It burned.\n```\n# no heading\n```\n#tag"),
    ]


def test_front_matter(tmp_path):
    names = ["aliases: [Old Mill, 'Mill']", "redirects:", "  - M"]
    lines = ["---", 'title: "The Mill: a history"', "url: https://e.org/mill", *names, "---", "# Other", "x"]
    text = "\n".join(lines)
    record = document(tmp_path, "m.md", text)
    assert (record.title, record.url) == ("The Mill: a history", "https://e.org/mill")
    assert record.redirects == ("Old Mill", "Mill", "M")


def test_a_text_file_is_named_by_its_file_name(tmp_path):
    record = document(tmp_path, "Heung-min_Son.txt", "\ufeff# He is a footballer.")
    assert record.title == "Heung-min Son" and record.sections == (Section(text="# He is a footballer."),)


def test_a_rule_at_the_start_is_no_front_matter(tmp_path):
    record = document(tmp_path, "m.md", "---\ntext goes on\n")
    assert record.title == "m" and "text goes on" in record.sections[0].text


def test_a_text_file_that_is_not_utf8(tmp_path):
    (tmp_path / "a.txt").write_bytes("Łódź".encode("iso-8859-2"))
    [bad] = pages(tmp_path / "a.txt")  # one file's trouble: the others of a folder can go on
    assert isinstance(bad, Bad) and bad.reason == "not UTF-8"


def test_our_own_format_is_not_a_source(tmp_path):
    store(tmp_path).close()
    (tmp_path / "kb.sqlite").rename(tmp_path / "kb.db")
    with pytest.raises(InputError, match="not FActScore's"):
        titles(tmp_path / "kb.db")


def test_a_factscore_database_is_a_source(tmp_path):
    assert titles(factscore_db(tmp_path / "a.db", {"B": ["x"], "A": ["y"]})) == ["B", "A"]
