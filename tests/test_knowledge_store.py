import asyncio
import concurrent.futures
import sqlite3
import subprocess
import sys
import unicodedata

import pytest

from knowledge_files import PAGES, jsonl, store
from veridical.errors import FatalError, InputError, SearchError, TopicNotFound
from veridical.knowledge.build import build
from veridical.knowledge.store import Store
from veridical.types import Query


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("X ", "X"),
        ("x", "X"),
        ("Heung-min_Son", "Heung-min Son"),
        ("heung min son", "Heung-min Son"),
        ("Ana_Belmonte (painter)", "Ana Belmonte (painter)"),
        ("Ana  Belmonte", "Ana Belmonte (painter)"),
        ("ana belmonte", "Ana Belmonte (painter)"),
        ("a. belmonte", "Ana Belmonte (painter)"),
        ("Ana the Painter", "Ana Belmonte (painter)"),
        ("Jose Pena", "José Peña"),
        (unicodedata.normalize("NFD", "José Peña"), "José Peña"),
        ("Ｘ", "X"),
        ("Harbour Nights: The Second Voyage", "Harbour Nights: The Second Voyage"),
    ],
)
async def test_f41_w2_w6_a_topic_finds_its_page_and_the_passage_names_it(tmp_path, topic, title):
    with store(tmp_path) as kb:
        assert kb.lookup(topic).title == title
        assert {passage.title for passage in await kb.search(Query(text="born", topic=topic), k=5)} == {title}


@pytest.mark.parametrize(("stored", "asked"), [("1２ Men", "12 men"), ("Jose\u0301", "José"), ("12 Men", "１２ Men")])
def test_w6_either_side_may_be_decomposed_or_full_width(tmp_path, stored, asked):
    with store(tmp_path, [{"title": stored, "text": "A film."}]) as kb:
        assert kb.lookup(asked).title == stored


def test_w5_an_exact_title_wins_over_all_others(tmp_path):
    rows = [
        {"title": "us", "text": "A pronoun."},
        {"title": "US", "text": "A country."},
        {"title": "Us", "text": "A film.", "redirects": ["US "]},
        {"title": "Belmont", "text": "A town.", "redirects": ["Belmonte"]},
        {"title": "Belmonte", "text": "A family."},
    ]
    with store(tmp_path, rows) as kb:
        assert [kb.lookup(title).title for title in ("us", "US", "Us", "Belmont", "Belmonte")] == [
            "us",
            "US",
            "Us",
            "Belmont",
            "Belmonte",
        ]


def test_w5_an_exact_redirect_wins_over_another_case_of_a_title(tmp_path):
    rows = [{"title": "Us", "text": "A film."}, {"title": "United States", "text": "A land.", "redirects": ["US"]}]
    with store(tmp_path, rows) as kb:
        assert kb.lookup("US").title == "United States"
        assert kb.lookup("us").title == "Us"


def test_a_title_that_fits_several_pages_is_not_guessed(tmp_path):
    rows = [{"title": f"Ana Belmonte ({what})", "text": "A person."} for what in ("painter", "politician")]
    with store(tmp_path, rows) as kb:
        with pytest.raises(TopicNotFound) as caught:
            kb.lookup("Ana Belmonte")
        assert set(caught.value.suggestions) == {"Ana Belmonte (painter)", "Ana Belmonte (politician)"}
        assert kb.lookup("ana belmonte (Painter)").title == "Ana Belmonte (painter)"


def test_the_painter_is_not_the_politician(tmp_path):
    with store(tmp_path) as kb, pytest.raises(TopicNotFound) as caught:
        kb.lookup("Ana Belmonte (politician)")
    assert caught.value.suggestions[0] == "Ana Belmonte (painter)"


def test_w2_a_miss_suggests_close_titles_and_others_still_run(tmp_path):
    with store(tmp_path) as kb:
        for topic in ("Heung-min Sonn", "Heung-min Sonn"):
            with pytest.raises(
                TopicNotFound, match=r"no page titled 'Heung-min Sonn' in test@\w{8}\. Close titles: Heu"
            ):
                kb.lookup(topic)
        for topic in ("", "  ", "___", "!?"):
            with pytest.raises(TopicNotFound):
                kb.lookup(topic)
        assert kb.lookup("X").title == "X"


def test_titles_that_differ_in_telling_signs_are_not_mixed_up(tmp_path):
    with store(tmp_path, [{"title": "C", "text": "A letter."}]) as kb, pytest.raises(TopicNotFound):
        kb.lookup("C++")


async def test_f42_k_is_not_remembered(tmp_path):
    rows = [{"title": "Mill", "text": "\n\n".join(f"The mill number {n} opened in 189{n}." for n in range(5))}]
    with store(tmp_path, rows, limit=7) as kb:
        lengths = [len(await kb.search(Query(text="mill 1893", topic="Mill"), k=k)) for k in (1, 3, 9)]
        best = await kb.search(Query(text="mill 1893", topic="Mill"), k=1)
    assert lengths == [1, 3, 5]
    assert best[0].id == "Mill#3" and best[0].source == kb.name


async def test_f42_a_rebuilt_source_has_new_passages_and_another_name(tmp_path):
    old = store(tmp_path, [{"title": "Mill", "text": "It opened in 1890."}])
    new = store(tmp_path, [{"title": "Mill", "text": "It opened in 1891."}])
    same = store(tmp_path, [{"title": "Mill", "text": "It opened in 1891."}])
    query = Query(text="opened", topic="Mill")
    assert [(await kb.search(query, k=1))[0].text[-5:] for kb in (old, new)] == ["1890.", "1891."]
    assert old.name != new.name == same.name


def test_the_name_holds_the_snapshot(tmp_path):
    with store(tmp_path, snapshot="20230401") as kb:
        assert kb.name.startswith("test-20230401@")


async def test_passages_without_a_word_of_the_query_come_last_in_page_order(tmp_path):
    rows = [{"title": "Mill", "text": "One lake.\n\nOne road.\n\nOne mill.\n\nOne wall."}]
    with store(tmp_path, rows, limit=2) as kb:
        found = await kb.search(Query(text="mill", topic="Mill"), k=3)
    assert [passage.id for passage in found] == ["Mill#2", "Mill#0", "Mill#1"]
    assert found[0].score and [passage.score for passage in found[1:]] == [0, 0]


async def test_a_heading_helps_to_find_its_section(tmp_path):
    sections = [{"heading": "Death", "text": "It was in 1902."}, {"heading": "Early life", "text": "It was in 1890."}]
    with store(tmp_path, [{"title": "Ana", "text": sections}]) as kb:
        [passage] = await kb.search(Query(text="early life of Ana", topic="Ana"), k=1)
    assert passage.text == "It was in 1890."


async def test_f43_without_a_topic_the_whole_collection_is_searched(tmp_path):
    with store(tmp_path) as kb:
        found = await kb.search(Query(text="Which footballer, poet or painter painted 1200 lakes?"), k=3)
        assert found[0].title == "Ana Belmonte (painter)" and found[0].url == "https://example.org/ana"
        assert len(found) == 3 and all(passage.score and passage.score > 0 for passage in found)
        assert [p.score for p in found] == sorted((p.score or 0 for p in found), reverse=True)
        assert await kb.search(Query(text="zeppelin"), k=3) == []


async def test_matches_of_the_whole_search_have_positive_scores_even_in_tiny_collections(tmp_path):
    with store(tmp_path, [{"title": "Mill", "text": "The mill burned."}]) as kb:
        [passage] = await kb.search(Query(text="mill"), k=3)
        assert passage.score and passage.score > 0


async def test_ties_of_the_whole_search_are_stable(tmp_path):
    with store(tmp_path, [{"title": f"Page {n}", "text": "The mill burned."} for n in range(9)]) as kb:
        found = await kb.search(Query(text="mill"), k=4)
    assert [passage.title for passage in found] == [f"Page {n}" for n in range(4)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "!!! ???",
        '"',
        "' OR 1=1 --",
        'a" OR "b',
        "NEAR(mill lake)",
        "title:mill",
        "mill*",
        "-mill",
        "\x00",
        "张三" * 99,
        "the of and",
        "^mill",
        "(((",
        "mill " * 500,
    ],
)
async def test_no_query_breaks_the_whole_search(tmp_path, text):
    with store(tmp_path) as kb:
        assert isinstance(await kb.search(Query(text=text), k=3), list)


async def test_half_a_surrogate_pair_fails_for_that_query_alone(tmp_path):
    with store(tmp_path) as kb:
        with pytest.raises(SearchError, match="surrogate"):
            await kb.search(Query(text="x", topic="X\ud83d"), k=3)
        assert await kb.search(Query(text="letter", topic="X"), k=3)


async def test_chinese_is_found(tmp_path):
    rows = [{"title": "張三", "text": "張三是中國作家。"}, {"title": "李四", "text": "李四生於1950年。"}]
    with store(tmp_path, rows) as kb:
        assert (await kb.search(Query(text="作家"), k=1))[0].title == "張三"
        assert (await kb.search(Query(text="1950", topic="李四"), k=1))[0].score


async def test_k_below_one_is_refused(tmp_path):
    with store(tmp_path) as kb, pytest.raises(ValueError, match="k must be at least 1"):
        await kb.search(Query(text="mill"), k=0)


async def test_many_searches_at_once_agree(tmp_path):
    with store(tmp_path) as kb:
        queries = [Query(text="born in 1890", topic=row["title"]) for row in PAGES] + [Query(text="painter of lakes")]
        alone = [await kb.search(query, k=2) for query in queries]
        together = await asyncio.gather(*(kb.search(query, k=2) for query in queries * 20))
    assert together == alone * 20


def test_two_readers_in_threads_while_it_is_rebuilt(tmp_path):
    kb = store(tmp_path)

    def read() -> set[str]:
        return {kb.lookup("x").title for _ in range(200)}

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        build([tmp_path / "pages.jsonl"], tmp_path / "kb.sqlite", name="again")
        assert all(reader.result() == {"X"} for reader in readers)
    kb.close()
    kb.close()
    with pytest.raises(FatalError, match="closed"):
        kb.lookup("X")


def test_another_process_reads_it_too(tmp_path):
    with store(tmp_path):
        code = (
            "import sys; from veridical.knowledge.store import Store; print(Store.open(sys.argv[1]).lookup('x').title)"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "kb.sqlite")]
        assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == "X\n"


def test_it_cannot_be_written_through_the_store(tmp_path):
    with store(tmp_path) as kb, pytest.raises(FatalError, match="readonly"):
        kb._database.rows("DELETE FROM page")


def test_odd_characters_in_the_path(tmp_path):
    folder = tmp_path / "a b?c#d%20é"
    folder.mkdir()
    with store(folder) as kb:
        assert kb.info.pages == len(PAGES)


def test_info(tmp_path):
    with store(tmp_path, snapshot="2026", licence="CC0") as kb:
        info = kb.info
    assert (info.pages, info.redirects, info.snapshot, info.licence) == (len(PAGES), 2, "2026", "CC0")
    assert info.passages == len(PAGES) and info.bytes == (tmp_path / "kb.sqlite").stat().st_size
    assert info.built["limit"] == "256" and info.built["sources"].endswith("pages.jsonl")


# --- W1: what is opened is looked at first -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"<!DOCTYPE html><title>Quota exceeded</title>", "an HTML page"),
        (b"\n  <html>", "an HTML page"),
        (b"", "empty"),
        (b"\x1f\x8b\x08\x00abc", "gzip"),
        (b"PK\x03\x04abc", "zip"),
        (b"BZh91AY", "bzip2"),
        (b'{"title": "X"}', "JSON"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS pointer"),
        (b"hello there", "text that begins 'hello there'"),
        (b"\x80\x81\x82", "bytes that begin 80 81 82"),
        (b"SQLite format 3\x00", "cut off after 16 bytes"),
    ],
)
def test_w1_something_else_is_named(tmp_path, content, found):
    path = tmp_path / "enwiki.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=found):
        Store.open(path)


def test_w1_no_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Store.open(tmp_path / "none.db")
    with pytest.raises(InputError, match="a folder"):
        Store.open(tmp_path)


def test_w1_a_truncated_database(tmp_path):
    store(tmp_path).close()
    whole = (tmp_path / "kb.sqlite").read_bytes()
    for part in (5000, len(whole) // 2, len(whole) - 1):
        (tmp_path / "half.sqlite").write_bytes(whole[:part])
        with pytest.raises(InputError, match=f"cut off after {part:,} of {len(whole):,} bytes"):
            Store.open(tmp_path / "half.sqlite")


def test_w1_a_damaged_database(tmp_path):
    store(tmp_path).close()
    whole = bytearray((tmp_path / "kb.sqlite").read_bytes())
    whole[100:4096] = b"\xff" * 3996
    (tmp_path / "kb.sqlite").write_bytes(whole)
    with pytest.raises((InputError, FatalError), match="malformed"):
        Store.open(tmp_path / "kb.sqlite")


def _changed(tmp_path, sql):
    store(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "kb.sqlite")
    connection.execute(sql)
    connection.commit()
    connection.close()
    return Store.open(tmp_path / "kb.sqlite")


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("DELETE FROM meta", "unfinished"),
        ("DROP TABLE passage", "unfinished knowledge source: no table passage"),
        ("UPDATE meta SET value = '99' WHERE key = 'schema'", "schema 99, not 2"),
        ("DELETE FROM page", "without pages"),
        ("DELETE FROM page WHERE id = 5", "4 of 5 pages"),
    ],
)
def test_w1_an_unfinished_or_damaged_source(tmp_path, sql, found):
    with pytest.raises(InputError, match=found):
        _changed(tmp_path, sql)


def test_w1_another_database_says_which_tables_it_has(tmp_path):
    connection = sqlite3.connect(tmp_path / "calls.db")
    connection.execute("CREATE TABLE call (key)")
    connection.close()
    with pytest.raises(InputError, match=r"not a knowledge source \(its tables: call\)"):
        Store.open(tmp_path / "calls.db")


def test_a_title_with_a_slip_is_suggested_first(tmp_path):
    with store(tmp_path) as kb, pytest.raises(TopicNotFound) as caught:
        kb.lookup("Harbour Night: The Second Voyage")
    assert caught.value.suggestions[0] == "Harbour Nights: The Second Voyage"


def test_blank_passages_are_never_evidence(tmp_path):
    with _changed(tmp_path, "UPDATE passage SET text = '  ' WHERE page_id = 4") as kb:
        assert asyncio.run(kb.search(Query(text="letter", topic="X"), k=5)) == []


def test_a_second_page_of_the_same_title_does_not_replace_the_first(tmp_path):
    rows = [{"title": "X", "text": "First."}, {"title": "X", "text": "Second."}]
    jsonl(tmp_path / "pages.jsonl", rows)
    report = build([tmp_path / "pages.jsonl"], tmp_path / "kb.sqlite", name="t")
    assert report.pages == 1 and report.skipped == {"repeated title": 1} and "'X' came before" in report.examples[0]
    with Store.open(tmp_path / "kb.sqlite") as kb:
        [passage] = asyncio.run(kb.search(Query(text="x", topic="X"), k=5))
    assert passage.text == "First."
