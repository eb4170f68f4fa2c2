"""Published sets: the table, and fetching from a real server that behaves, or does not."""

import json
import socket

import pytest

from data import shared
from loopback import Answer, Loopback
from veridical import cli
from veridical.datasets import Dataset, dataset, datasets, fetch, listing, locate, remote
from veridical.errors import FatalError, UsageError
from veridical.models.embedded import sha256

ONE = b"first line\nsecond line\n" * 50
TWO = "zwei Wörter\n".encode()
HERE = {  # set -> its folder beside the project
    "factscore": "factscore_labeled",
    **{
        name: name
        for name in ("longfact", "felm", "factcheck_gpt", "factool", "fool_me_twice", "wice", "bump", "begin")
    },
    **{name: name for name in ("summedits", "fever_symmetric")},
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def small(base="http://127.0.0.1:9/"):
    return Dataset(
        name="small",
        what="a small set",
        licence="ours",
        base=base,
        files=(remote("a.txt", ONE), remote("in/b ö.txt", TWO)),
    )


def serving(contents, *, ranges=True):
    """Serve each path's bytes, parts of it where asked for."""

    def handler(request):
        found = contents.get(request.path)
        if found is None:
            return Answer("no such file", status=404)
        if isinstance(found, Answer):
            return found
        start = request.headers.get("range", "").removeprefix("bytes=").rstrip("-")
        if start and ranges:
            place = f"bytes {start}-{len(found) - 1}/{len(found)}"
            return Answer(found[int(start) :], status=206, headers={"Content-Range": place})
        return Answer(found)

    return handler


BOTH = {"/v1/a.txt": ONE, "/v1/in/b%20%C3%B6.txt": TWO}


async def test_a_set_is_fetched_and_a_second_call_asks_for_nothing(tmp_path):
    async with Loopback(serving(BOTH)) as server:
        seen = []
        folder = await fetch(small(server.url), into=tmp_path / "set", progress=lambda *counts: seen.append(counts))
        assert (folder / "a.txt").read_bytes() == ONE and (folder / "in" / "b ö.txt").read_bytes() == TWO
        assert seen == [(0, 2), (1, 2), (2, 2)]
        asked = len(server.requests)
        await fetch(small(server.url), into=tmp_path / "set")
        assert asked == len(server.requests) == 2
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["a.txt", "b ö.txt"]


async def test_only_what_was_changed_is_fetched_again(tmp_path):
    async with Loopback(serving(BOTH)) as server:
        folder = await fetch(small(server.url), into=tmp_path)
        (folder / "a.txt").write_bytes(ONE[:-1] + b"!")
        await fetch(small(server.url), into=tmp_path)
        assert [request.path for request in server.requests[2:]] == ["/v1/a.txt"]
    assert (folder / "a.txt").read_bytes() == ONE


@pytest.mark.parametrize("wrong", [ONE[:-1] + b"!", ONE + b"more"], ids=["other bytes", "too long"])
async def test_another_file_than_the_known_one_is_refused_and_removed(tmp_path, wrong):
    async with Loopback(serving(BOTH | {"/v1/a.txt": wrong})) as server:
        with pytest.raises(FatalError, match=r"a\.txt: (sha256|larger)"):
            await fetch(small(server.url), into=tmp_path)
    assert not list(tmp_path.glob("a.txt*"))


async def test_a_missing_file_is_named(tmp_path):
    async with Loopback(serving({"/v1/a.txt": ONE})) as server:
        with pytest.raises(FatalError, match=r"b%20%C3%B6\.txt: HTTP 404"):
            await fetch(small(server.url), into=tmp_path)


@pytest.mark.parametrize("ranges", [True, False])
async def test_a_cut_body_is_gone_on_with(tmp_path, ranges):
    """By a further request for the rest; from the start where the server does not know parts."""
    cut = [Answer(ONE, cut=100)]
    whole = serving(BOTH, ranges=ranges)

    def handler(request):
        return cut.pop() if cut and request.path == "/v1/a.txt" else whole(request)

    async with Loopback(handler) as server:
        folder = await fetch(small(server.url), into=tmp_path)
        parts = [request.headers.get("range") for request in server.requests if request.path == "/v1/a.txt"]
    assert (folder / "a.txt").read_bytes() == ONE
    assert parts == [None, "bytes=100-"]


async def test_a_download_that_was_killed_is_gone_on_with(tmp_path):
    (tmp_path / "a.txt.partial").write_bytes(ONE[:300])
    async with Loopback(serving(BOTH)) as server:
        await fetch(small(server.url), into=tmp_path)
        assert [r.headers.get("range") for r in server.requests if r.path == "/v1/a.txt"] == ["bytes=300-"]
    assert (tmp_path / "a.txt").read_bytes() == ONE


async def test_leftovers_of_another_file_are_noticed(tmp_path):
    (tmp_path / "a.txt.partial").write_bytes(b"#" * 300)
    async with Loopback(serving(BOTH)) as server:
        with pytest.raises(FatalError, match="sha256"):
            await fetch(small(server.url), into=tmp_path)
        await fetch(small(server.url), into=tmp_path)
    assert (tmp_path / "a.txt").read_bytes() == ONE


async def test_a_server_that_always_cuts_is_given_up(tmp_path):
    async with Loopback(lambda request: Answer(ONE, cut=0) if request.path == "/v1/a.txt" else Answer(TWO)) as server:
        with pytest.raises(FatalError, match=r"a\.txt: given up after 3 tries"):
            await fetch(small(server.url), into=tmp_path)


async def test_a_busy_server_is_asked_again(tmp_path):
    busy = [Answer("wait", status=503)]
    whole = serving(BOTH)
    async with Loopback(lambda request: busy.pop() if busy else whole(request)) as server:
        await fetch(small(server.url), into=tmp_path)
    assert (tmp_path / "a.txt").read_bytes() == ONE


async def test_offline_is_said_in_one_line(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
    with pytest.raises(FatalError, match=r"cannot be reached.*needs the network") as caught:
        await fetch(small(url), into=tmp_path)
    assert "\n" not in str(caught.value)


async def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    async with Loopback(serving(BOTH)) as server:
        with pytest.raises(FatalError, match="cannot write"):
            await fetch(small(server.url), into=tmp_path / "file" / "set")


# --- the table


def test_the_table_is_whole():
    assert len(dataset("longfact").files) == 76
    for one in datasets().values():
        assert one.what and one.licence and one.base.startswith("https://") and one.base.endswith("/")
        assert len({file.path for file in one.files}) == len(one.files)
        for file in one.files:
            assert (
                len(file.sha256) == 64
                and file.size > 0
                and not file.path.startswith(("/", "."))
                and ".." not in file.path
            )
    assert any(len(part) == 40 for part in dataset("longfact").base.split("/")), "a fixed commit"
    with pytest.raises(UsageError, match="longfact"):
        dataset("nothing")


@pytest.mark.parametrize("name", HERE)
def test_the_table_agrees_with_the_files_beside_the_project(name):
    folder = shared(HERE[name])
    for file in dataset(name).files:
        assert (folder / file.path).stat().st_size == file.size
        assert sha256(folder / file.path) == file.sha256


def test_what_was_fetched_is_located_by_name(home):
    assert locate("factool") is None
    place = home / "data" / "factool"
    place.mkdir(parents=True)
    (place / "knowledge_qa.jsonl").write_bytes(b"\0" * dataset("factool").size)
    assert locate("factool") == place
    assert {one.name: one.path for one in listing()}["factool"] == str(place)


def test_the_command_lists_and_fetches(tmp_path, capsys):
    assert cli.run(["data", "list", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed["longfact"]["path"] is None and listed["longfact"]["licence"] == "CC BY 4.0"
    assert cli.run(["data", "list"]) == 0
    assert "veridical data fetch felm" in capsys.readouterr().out
    assert cli.run(["data", "fetch", "nothing"]) == 2
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    assert cli.run(["data", "fetch", "factool", "--mirror", url, "--out", str(tmp_path / "set")]) == 3
    assert "cannot be reached" in capsys.readouterr().err
