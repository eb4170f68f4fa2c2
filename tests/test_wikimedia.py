"""Wikipedia's dumps and Parquet export: listed by the source, fetched, checked; and what a source may say instead."""

import hashlib
import json

import pytest

from loopback import Answer, Loopback
from test_cli import Served
from veridical import cli
from veridical.datasets import fetch
from veridical.errors import FatalError, UsageError
from veridical.wikimedia import listed

ONE, TWO = b"BZh9 one", b"BZh9 two and more"
DUMP = {
    "dewiki-20261101-pages-articles-multistream1.xml-p1p9.bz2": ONE,
    "dewiki-20261101-pages-articles-multistream2.xml-p10p20.bz2": TWO,
}
ROWS = b"PAR1 rows"


def told(content):
    return {"size": len(content), "sha1": hashlib.sha1(content).hexdigest(), "url": "/x", "md5": ""}


def status(**more):
    listing = {name: told(content) for name, content in DUMP.items()}
    listing["dewiki-20261101-pages-articles-multistream-index1.txt-p1p9.bz2"] = told(b"index")
    return {"jobs": {"articlesmultistreamdump": {"status": "done", "files": listing, **more}}}


def serving(paths):
    def handler(request):
        content = paths.get(request.path.partition("?")[0])
        if content is None:
            return Answer(b"gone", status=404)
        return Answer(content if isinstance(content, bytes) else json.dumps(content).encode())

    return handler


PLACE = "/dewiki/20261101/"
WHOLE = {f"{PLACE}dumpstatus.json": status(), **{PLACE + name: content for name, content in DUMP.items()}}


async def test_a_dump_s_parts_are_fetched_without_its_index_and_checked(tmp_path):
    async with Loopback(serving(WHOLE)) as server:
        base = server.url.removesuffix("/v1")
        found = await listed("wikipedia", "de", "20261101", base=base)
        assert [file.path for file in found.files] == sorted(DUMP) and "CC BY-SA" in found.licence
        folder = await fetch(found, into=tmp_path)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == DUMP


async def test_another_file_than_the_source_told_is_refused(tmp_path):
    wrong = WHOLE | {PLACE + max(DUMP): TWO[::-1]}
    async with Loopback(serving(wrong)) as server:
        found = await listed("wikipedia", "de", "20261101", base=server.url.removesuffix("/v1"))
        with pytest.raises(FatalError, match="sha1 of the downloaded file"):
            await fetch(found, into=tmp_path)


async def test_the_export_s_files_are_listed_with_their_sha256(tmp_path):
    path = "20231101.de/train-00000-of-00001.parquet"
    entry = {"type": "file", "path": path, "size": len(ROWS), "lfs": {"oid": hashlib.sha256(ROWS).hexdigest()}}
    tree = "/api/datasets/wikimedia/wikipedia/tree/main/20231101.de"
    paths = {
        tree: [entry, {"type": "directory", "path": "x"}],
        f"/datasets/wikimedia/wikipedia/resolve/main/{path}": ROWS,
    }
    async with Loopback(serving(paths)) as server:
        found = await listed("wikipedia-parquet", "de", "20231101", base=server.url.removesuffix("/v1"))
        folder = await fetch(found, into=tmp_path)
    assert (folder / path).read_bytes() == ROWS


@pytest.mark.parametrize(
    ("paths", "error", "words"),
    [
        ({}, UsageError, "dewiki has no dump of 20261101"),
        ({f"{PLACE}dumpstatus.json": status(status="in-progress")}, UsageError, "is not finished"),
        ({f"{PLACE}dumpstatus.json": {"jobs": []}}, FatalError, "no list of files"),
        ({f"{PLACE}dumpstatus.json": status(files={})}, UsageError, "lists no such files"),
        ({f"{PLACE}dumpstatus.json": status(files={"../x.xml.bz2": told(ONE)})}, FatalError, "leads elsewhere"),
        ({f"{PLACE}dumpstatus.json": status(files={"x.xml.bz2": {"size": "9"}})}, FatalError, "no size or sha1"),
        ({f"{PLACE}dumpstatus.json": b"<html>Down for maintenance"}, FatalError, "not JSON"),
    ],
)
async def test_what_a_source_may_say_instead(paths, error, words):
    async with Loopback(serving(paths)) as server:
        with pytest.raises(error, match=words):
            await listed("wikipedia", "de", "20261101", base=server.url.removesuffix("/v1"))


@pytest.mark.parametrize(("language", "date"), [("../x", "20261101"), ("de", None), ("de", "latest")])
async def test_impossible_languages_and_dates(language, date):
    with pytest.raises(UsageError):
        await listed("wikipedia", language, date)


async def test_offline_it_says_what_else_can_be_done():
    with pytest.raises(FatalError, match="veridical knowledge build FILE"):
        await listed("wikipedia", "de", "20261101", base="http://127.0.0.1:9")


async def test_a_disk_without_room_is_told_before(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 3})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    async with Loopback(serving(WHOLE)) as server:
        found = await listed("wikipedia", "de", "20261101", base=server.url.removesuffix("/v1"))
        with pytest.raises(FatalError, match="are needed"):
            await fetch(found, into=tmp_path)


def test_from_the_command_line(tmp_path, capsys):
    with Served(serving(WHOLE)) as server:
        mirror = server.url.removesuffix("/v1")
        arguments = ["wikipedia", "--language", "de", "--date", "20261101", "--mirror", mirror, "--out", str(tmp_path)]
        assert cli.run(["data", "fetch", *arguments]) == 0
    assert "2 files" in capsys.readouterr().out
    assert cli.run(["data", "list"]) == 0
    assert "wikipedia-parquet" in capsys.readouterr().err
