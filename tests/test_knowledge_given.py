import pytest

from veridical.errors import TopicNotFound
from veridical.knowledge.given import Given
from veridical.types import Query

TEXTS = {"Mill": ["It opened in 1890.", "  ", "It burned in 1902."], "Lake": ["It burned once."]}


async def test_passages_of_the_topic():
    found = await Given(TEXTS).search(Query(text="burned", topic="mill"), k=5)
    assert [(passage.id, bool(passage.score)) for passage in found] == [("Mill#2", True), ("Mill#0", False)]
    assert {(passage.title, passage.source) for passage in found} == {("Mill", "given")}


async def test_without_a_topic_all_matching_passages():
    found = await Given(TEXTS, label="mine").search(Query(text="burned"), k=5)
    assert {passage.id for passage in found} == {"Mill#2", "Lake#0"}
    assert await Given(TEXTS).search(Query(text="zeppelin"), k=5) == []


async def test_n1_blank_evidence_is_no_evidence():
    assert await Given({"Mill": ["", "  \n"]}).search(Query(text="mill", topic="Mill"), k=5) == []


async def test_an_unknown_topic():
    with pytest.raises(TopicNotFound) as caught:
        await Given(TEXTS).search(Query(text="x", topic="Mil"), k=5)
    assert caught.value.suggestions == ("Mill",)
    with pytest.raises(ValueError, match="k must be at least 1"):
        await Given(TEXTS).search(Query(text="x"), k=0)


def test_the_name_tells_contents_apart():
    assert Given(TEXTS).name == Given(dict(reversed(TEXTS.items()))).name
    assert Given(TEXTS).name != Given(TEXTS | {"Lake": ["Another."]}).name


def test_the_same_topic_twice_is_refused():
    with pytest.raises(ValueError, match="given twice"):
        Given({"Mill": ["a"], "mill": ["b"]})
