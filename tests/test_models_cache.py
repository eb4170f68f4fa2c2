import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veridical.errors import FatalError, ModelError, UsageError
from veridical.models.base import ChatReply, ChatRequest, Message, TokenLogprob
from veridical.models.cache import MIGRATIONS, Cached, CallStore, Question, canonical
from veridical.models.scripted import Scripted
from veridical.types import Passage, Query


def ask(text: str, **settings) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), **settings)


class Model(Scripted):
    """A scripted model whose identity can differ while its name does not."""

    where = ""

    @property
    def identity(self) -> str:
        return self.name + self.where


@pytest.fixture
def store(tmp_path):
    store = CallStore(tmp_path / "calls.sqlite")
    yield store
    store.close()


def stored(store: CallStore) -> int:
    return sum(row.calls for row in store.stats())


# What is the same question

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcü", max_size=3), inner, max_size=4),
    max_leaves=12,
)


def shuffled(value):
    """The same value with the keys of every dict in the opposite order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(list(value))}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(st.dictionaries(st.text("abcü", max_size=3), values, max_size=4))
def test_r1_the_order_of_keys_does_not_matter(schema):
    assert canonical(ask("q", json_schema=schema)) == canonical(ask("q", json_schema=shuffled(schema)))


messages = st.lists(
    st.builds(Message, role=st.sampled_from(["system", "user"]), content=st.text('ab"\\,é', max_size=4)),
    min_size=1,
    max_size=3,
).map(tuple)
requests = st.builds(
    ChatRequest,
    messages=messages,
    max_tokens=st.integers(1, 4),
    temperature=st.sampled_from([0.0, 0.5, 1.0]),
    top_p=st.sampled_from([None, 0.5]),
    seed=st.sampled_from([None, 0, 1]),
    stop=st.sampled_from([(), ("a",), ("a", "b"), ("a,b",)]),
    json_schema=st.sampled_from([None, {}, {"type": "object"}]),
    top_logprobs=st.sampled_from([None, 0, 5]),
    sample=st.integers(0, 2),
)


@given(requests, requests)
def test_r1_different_requests_have_different_keys(one, other):
    same = Question("chat", "m", "m", one).key == Question("chat", "m", "m", other).key
    assert same == (one == other)


@example(("chat", "a", "b"), ("chata", "b", ""))
@given(st.tuples(*[st.text('ab"\\,', max_size=3)] * 3), st.tuples(*[st.text('ab"\\,', max_size=3)] * 3))
def test_r1_kind_name_and_identity_cannot_run_into_each_other(one, other):
    request = ask("q")
    assert (Question(*one, request).key == Question(*other, request).key) == (one == other)


def test_the_key_says_every_setting_also_those_at_their_defaults():
    assert set(msgspec.json.decode(canonical(ask("q")))) == set(ChatRequest.__struct_fields__)


async def test_a_lone_surrogate_is_trouble_of_one_item(store):
    with pytest.raises(ModelError, match="surrogate"):
        await Cached(Scripted("True"), store).chat(ask("\ud800"))


async def test_r1_another_model_server_or_setting_is_asked(store):
    first, second, elsewhere = Model("a", name="m/one"), Model("b", name="m/two"), Model("c", name="m/one")
    elsewhere.where = " http://other"
    for model, text in ((first, "a"), (second, "b"), (elsewhere, "c"), (first, "a")):
        assert (await Cached(model, store).chat(ask("q"))).text == text
    await Cached(first, store).chat(ask("q", temperature=0.7))
    await Cached(first, store).chat(ask("q", sample=1))
    assert [len(model.seen) for model in (first, second, elsewhere)] == [3, 1, 1]


# What is stored


async def test_a_reply_comes_back_whole(store, tmp_path):
    reply = ChatReply(
        text="True \U0001f692 Łódź\x00",
        logprobs=(TokenLogprob(token="True", logprob=-0.1, top=(("True", -0.1), ("False", -2.5))),),
        prompt_tokens=12,
        completion_tokens=3,
        cost=0.25,
        model="server-1",
    )
    model = Scripted(lambda _: reply)
    assert await Cached(model, store).chat(ask("q")) == reply
    store.close()
    again = CallStore(tmp_path / "calls.sqlite")
    assert await Cached(model, again).chat(ask("q")) == reply
    assert len(model.seen) == 1
    (row,) = again.stats()
    assert (row.kind, row.name, row.calls) == ("chat", "scripted", 1)
    assert (row.prompt_tokens, row.completion_tokens, row.cost) == (12, 3, 0.25)
    again.close()


async def test_any_sqlite_tool_can_read_what_was_asked(store, tmp_path):
    await Cached(Scripted("True"), store).chat(ask("Ist Łódź in Polen?", seed=4))
    db = sqlite3.connect(tmp_path / "calls.sqlite")
    question, answer = db.execute(
        "select json_extract(request, '$.messages[0].content'), json_extract(response, '$.text') from calls"
    ).fetchone()
    assert (question, answer) == ("Ist Łódź in Polen?", "True")
    assert db.execute("select created from calls").fetchone()[0].startswith("20")
    db.close()


@pytest.mark.parametrize(
    "bad",
    [ModelError("HTTP 500"), ChatReply(text="  "), ChatReply(text="The claim is", finish_reason="length")],
    ids=["error", "empty", "cut"],
)
async def test_r5_what_is_no_answer_is_asked_again(store, bad):
    model = Scripted([bad, "True"])
    cached = Cached(model, store)
    if isinstance(bad, Exception):
        with pytest.raises(ModelError):
            await cached.chat(ask("q"))
    else:
        assert await cached.chat(ask("q")) == bad
    assert stored(store) == 0
    assert (await cached.chat(ask("q"))).text == "True"
    assert stored(store) == 1


async def test_a_label_with_probabilities_is_complete_though_cut(store):
    top = (TokenLogprob(token="True", logprob=-0.1, top=(("True", -0.1),)),)
    model = Scripted(lambda _: ChatReply(text="True, because", finish_reason="length", logprobs=top))
    for _ in range(2):
        await Cached(model, store).chat(ask("q", top_logprobs=5, max_tokens=3))
    assert len(model.seen) == 1


async def test_r5_a_reply_that_could_not_be_read_is_rejected(store):
    model = Scripted(["maybe", "True"])
    cached = Cached(model, store)
    await cached.chat(ask("other"))
    await cached.reject(ask("other"))
    assert (await cached.chat(ask("other"))).text == "True"
    await cached.reject(ask("never asked"))
    assert stored(store) == 1


async def test_a_stored_reply_of_another_shape_is_asked_again(store):
    model = Scripted("True")
    cached = Cached(model, store)
    await cached.chat(ask("q"))
    store._db.execute("update calls set response = '{\"text\": 5}'")
    for _ in range(2):
        assert (await cached.chat(ask("q"))).text == "True"
    assert (len(model.seen), stored(store)) == (2, 1)


async def test_searches_can_be_stored_too(store):
    question = Question("search", "kb", "kb", Query(text="mill"))
    found = [Passage(id="1", text="The mill."), Passage(id="2", text="Another.")]
    calls = []

    async def search() -> list[Passage]:
        calls.append(1)
        return found

    for _ in range(2):
        assert await store.get_or_call(question, search, list[Passage]) == found
    assert len(calls) == 1
    assert store.stats()[0].kind == "search"


async def test_clear_by_kind_and_name(store):
    for name in ("a/x", "b/y"):
        for n in range(3):
            await Cached(Model("True", name=name), store).chat(ask(str(n)))
    assert store.clear(kind="search") == 0
    assert store.clear(name="a/x") == 3
    assert [row.name for row in store.stats()] == ["b/y"]
    assert store.clear() == 3
    assert store.stats() == []


# Calls under way


async def test_the_same_question_at_once_is_asked_once(store):
    model = Scripted("True", delay=0.01)
    cached = Cached(model, store)
    replies = await asyncio.gather(*(cached.chat(ask("q")) for _ in range(20)))
    assert len(model.seen) == 1
    assert {reply.text for reply in replies} == {"True"}


async def test_a_cancelled_waiter_disturbs_nobody_and_its_reply_is_kept(store):
    model = Scripted("True", delay=0.02)
    cached = Cached(model, store)
    first, second = (asyncio.create_task(cached.chat(ask("q"))) for _ in range(2))
    await asyncio.sleep(0.005)
    first.cancel()
    assert (await second).text == "True"
    assert first.cancelled()
    lonely = asyncio.create_task(cached.chat(ask("alone")))
    await asyncio.sleep(0.005)
    lonely.cancel()
    await asyncio.sleep(0.04)
    assert stored(store) == 2


async def test_draining_waits_for_replies_that_are_being_paid_for(store):
    cached = Cached(Scripted("True", delay=0.02), store)
    lonely = asyncio.create_task(cached.chat(ask("q")))
    await asyncio.sleep(0)
    lonely.cancel()
    await asyncio.gather(lonely, return_exceptions=True)
    await store.drain(0.001)
    assert stored(store) == 0
    await store.drain(10)
    assert stored(store) == 1
    await store.drain(10)  # nothing under way


async def test_an_error_reaches_every_waiter_and_the_next_asks_again(store):
    model = Scripted([ModelError("busy"), "True"], delay=0.01)
    cached = Cached(model, store)
    outcomes = await asyncio.gather(*(cached.chat(ask("q")) for _ in range(3)), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["busy"] * 3
    assert (await cached.chat(ask("q"))).text == "True"


# Two processes, and death

WRITER = textwrap.dedent("""
    import asyncio, sys
    from veridical.models.base import ChatRequest, Message
    from veridical.models.cache import Cached, CallStore
    from veridical.models.scripted import Scripted

    path, start, stop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

    async def main():
        store = CallStore(path)
        model = Cached(Scripted(lambda request: "yes " + request.messages[0].content), store)
        for n in range(start, stop):
            await model.chat(ChatRequest(messages=(Message(role="user", content=str(n)),)))
            print(n, flush=True)
        store.close()

    asyncio.run(main())
""")


def writer(path, start: int, stop: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(start), str(stop)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def contents(path) -> set[str]:
    db = sqlite3.connect(path)
    rows = {row[0] for row in db.execute("select json_extract(request, '$.messages[0].content') from calls")}
    db.close()
    return rows


def test_f51_two_processes_on_one_file_keep_the_union(tmp_path):
    path = tmp_path / "shared.sqlite"
    both = [writer(path, 0, 300), writer(path, 200, 500)]
    for process in both:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert contents(path) == {str(n) for n in range(500)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_many_processes_may_make_the_file_at_once(tmp_path):
    for turn in range(10):
        path = tmp_path / f"{turn}.sqlite"
        start, go = os.pipe()
        children = []
        for _ in range(6):
            children.append(os.fork())
            if children[-1] == 0:
                status = 1
                try:
                    os.close(go)
                    os.read(start, 1)  # until all are there
                    CallStore(path).close()
                    status = 0
                finally:
                    os._exit(status)
        os.close(go)
        os.close(start)
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 6
        filled(path)


async def test_two_processes_give_one_answer_to_one_question(tmp_path):
    here, there = CallStore(tmp_path / "c.sqlite"), CallStore(tmp_path / "c.sqlite")
    slow, fast = Cached(Scripted("slow", delay=0.02), here), Cached(Scripted("fast"), there)
    waiting = asyncio.create_task(slow.chat(ask("q")))
    await asyncio.sleep(0.005)
    assert (await fast.chat(ask("q"))).text == "fast"
    assert (await waiting).text == "fast"  # what a repeated run would be told
    here.close()
    there.close()


def test_kill_9_loses_no_reply_that_was_seen(tmp_path):
    path = tmp_path / "killed.sqlite"
    seen = set()
    for start in (0, 100_000):
        process = writer(path, start, start + 100_000)
        assert process.stdout
        for _ in range(40):
            seen.add(process.stdout.readline().strip())
        process.kill()
        rest, _ = process.communicate(timeout=10)
        seen |= {line for line in rest.split("\n")[:-1] if line}
        store = CallStore(path)
        store.close()
    assert seen <= contents(path)
    assert len(seen) >= 80


# Files that are no cache


def damaged(tmp_path, make) -> str:
    path = tmp_path / "calls.sqlite"
    make(path)
    with pytest.raises(UsageError) as caught:
        CallStore(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def filled(path) -> None:
    async def fill() -> None:
        store = CallStore(path)
        for n in range(50):
            await Cached(Scripted("x" * 4000), store).chat(ask(str(n)))
        store.close()

    asyncio.run(fill())


def test_f50_not_a_database(tmp_path):
    assert "not an SQLite file" in damaged(tmp_path, lambda path: path.write_text("id,text\n1,hello\n" * 10))
    assert "not an SQLite file" in damaged(tmp_path, lambda path: path.write_bytes(b"x"))


@pytest.mark.parametrize("checked", [2**30, 0], ids=["small file", "file too large to be checked as a whole"])
def test_f50_truncated(tmp_path, monkeypatch, checked):
    monkeypatch.setattr("veridical.models.cache._CHECKED_BYTES", checked)

    def cut(path) -> None:
        filled(path)
        os.truncate(path, path.stat().st_size // 2)

    assert "damaged" in damaged(tmp_path, cut)
    assert "damaged" in damaged(tmp_path, lambda path: path.write_bytes(b"SQLite format 3\x00\x10\x00"))


def test_f50_overwritten_in_the_middle(tmp_path):
    def spoil(path) -> None:
        filled(path)
        with path.open("r+b") as file:
            file.seek(4096 * 3)
            file.write(b"\xff" * 4096 * 2)

    assert "damaged" in damaged(tmp_path, spoil)


def test_another_programs_database(tmp_path):
    def other(path) -> None:
        db = sqlite3.connect(path)
        db.execute("create table pages (title text)")
        db.commit()
        db.close()

    assert "no cache of calls" in damaged(tmp_path, other)


def test_a_newer_version(tmp_path):
    def newer(path) -> None:
        CallStore(path).close()
        db = sqlite3.connect(path)
        db.execute(f"pragma user_version={len(MIGRATIONS) + 1}")
        db.close()

    assert "newer version" in damaged(tmp_path, newer)


def test_a_folder(tmp_path):
    assert "is a folder" in damaged(tmp_path, lambda path: path.mkdir())


def test_an_empty_file_and_a_new_folder_are_fine(tmp_path):
    (tmp_path / "empty.sqlite").touch()
    CallStore(tmp_path / "empty.sqlite").close()
    CallStore(tmp_path / "new" / "deep" / "calls.sqlite").close()


def test_migrations_run_once_each_and_keep_what_is_there(tmp_path, monkeypatch):
    path = tmp_path / "calls.sqlite"
    filled(path)
    monkeypatch.setattr(
        "veridical.models.cache.MIGRATIONS", [*MIGRATIONS, lambda db: db.execute("alter table calls add note text")]
    )
    for _ in range(2):
        store = CallStore(path)
        assert stored(store) == 50
        assert store._db.execute("select count(note) from calls").fetchone() == (0,)
        store.close()


async def test_a_full_disk_stops_the_run(store):
    cached = Cached(Scripted("x" * 10_000), store)
    await cached.chat(ask("1"))
    store._db.execute(f"pragma max_page_count={store._pragma('page_count')}")
    with pytest.raises(FatalError, match="full"):
        for n in range(10):
            await cached.chat(ask(str(n)))


async def test_damage_during_a_run_stops_it(store):
    await Cached(Scripted("x"), store).chat(ask("1"))
    store._db.execute("drop table calls")
    with pytest.raises(FatalError, match="calls"):
        await Cached(Scripted("x"), store).chat(ask("2"))


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(FatalError):
        CallStore(tmp_path / "file" / "calls.sqlite")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("mode", [0o555, 0o777], ids=["closed", "open"])
def test_a_read_only_folder(mode):
    """In a child without the rights of root, to whom permissions mean nothing."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(mode)
    child = os.fork()
    if child == 0:
        status = 2
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            CallStore(folder / "calls.sqlite").close()
            status = 0
        except FatalError:
            status = 1
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    shutil.rmtree(folder)
    assert status == (1 if mode == 0o555 else 0)
