import sqlite3

import pytest

from knowledge_files import factscore_db
from veridical.errors import InputError, SearchError, TopicNotFound
from veridical.knowledge.factscore import SEPARATOR, passages
from veridical.knowledge.store import Store
from veridical.types import Query

DOCUMENTS = {
    "Ana Belmonte": ["<s>Ana Belmonte was a painter. She was</s>", "born in Turin.</s>", "<s></s>"],
    "Heung-min Son": ["<s>Heung-min Son is a footballer.</s>"],
    "iPhone": ["<s>A telephone.</s>"],
    "IPhone": ["<s>A band.</s>"],
}


@pytest.fixture
def kb(tmp_path):
    with Store.open(factscore_db(tmp_path / "enwiki-20230401.db", DOCUMENTS)) as opened:
        yield opened


def test_marks_of_the_tokenizer_and_blank_passages_are_left_out():
    assert passages(f"<s>One.</s><s>Two.</s>{SEPARATOR} </s>{SEPARATOR}Three.") == ["One.Two.", "Three."]


async def test_it_is_read_as_it_is(kb):
    found = await kb.search(Query(text="Where was she born?", topic="Ana Belmonte"), k=5)
    assert [passage.text for passage in found] == ["born in Turin.", "Ana Belmonte was a painter. She was"]
    assert found[0].id == "Ana Belmonte#1" and found[0].source == kb.name
    assert kb.name.startswith("enwiki-20230401@")
    assert (kb.info.format, kb.info.pages, kb.info.passages) == ("factscore", 4, None)


@pytest.mark.parametrize("topic", ["Ana Belmonte", " Ana  Belmonte ", "Ana_Belmonte", "ana belmonte", "ana Belmonte"])
def test_f41_likely_spellings_of_a_title(kb, topic):
    assert kb.lookup(topic).title == "Ana Belmonte"


def test_w5_an_exact_title_wins(kb):
    assert kb.lookup("iPhone").title == "iPhone"
    assert kb.lookup("IPhone").title == "IPhone"


def test_f41_a_miss_suggests_titles_that_begin_alike(kb):
    with pytest.raises(TopicNotFound) as caught:
        kb.lookup("heung min Son")
    assert caught.value.suggestions == ("Heung-min Son",)


async def test_without_a_topic_it_says_what_to_do(kb):
    with pytest.raises(SearchError, match="a topic is needed; `veridical knowledge build`"):
        await kb.search(Query(text="painter"), k=5)


def test_f42_other_content_has_another_name(tmp_path):
    names = set()
    for number, text in enumerate(("one", "two", "two and more")):
        with Store.open(factscore_db(tmp_path / f"{number}.db", DOCUMENTS | {"X": [text]})) as opened:
            names.add(opened.name.partition("@")[2])
    with Store.open(factscore_db(tmp_path / "again.db", DOCUMENTS | {"X": ["one"]})) as opened:
        names.add(opened.name.partition("@")[2])
    assert len(names) == 3


def test_w1_an_empty_table_is_an_unfinished_build(tmp_path):
    with pytest.raises(InputError, match="without pages: its build was not finished"):
        Store.open(factscore_db(tmp_path / "a.db", {}))


def test_w1_other_columns(tmp_path):
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE documents (id, body)")
    connection.close()
    with pytest.raises(InputError, match="expected columns title and text in table documents, found body, id"):
        Store.open(tmp_path / "a.db")
