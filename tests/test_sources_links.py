"""Lists of links, fetched from a real server of this machine."""

import pytest

from loopback import Answer
from page_server import BRIDGE, Site, fetcher, page
from veridical.errors import InputError, UsageError
from veridical.knowledge.documents import Record
from veridical.knowledge.sources import Bad, links, pages, read, units


def listed(folder, site, *lines, name="links.txt"):
    path = folder / name
    path.write_text("\n".join(line.replace("HERE", site.at("")) for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def opened(monkeypatch):
    """Let the fetcher reach the server, and nothing else."""

    def to(site, **settings):
        monkeypatch.setattr(links, "fetcher", lambda store: fetcher(site, store=store, **settings))

    return to


SITE = {
    "/a": page(),
    "/b": page("<html><body><p>" + "The lake is 90 m deep. " * 9 + "</p></body></html>"),
    "/gone": Answer(b"", status=404),
    "/photo": page(b"\xff\xd8", "image/jpeg"),
}
LIST = ("# bridges", "HERE/a", "", "HERE/b   # the lake", "HERE/gone", "HERE/a", "ftp://example.org/x", "HERE/photo")


async def test_pages_of_a_list_and_why_others_are_none(tmp_path, opened):
    async with Site(SITE) as site:
        opened(site)
        path = listed(tmp_path, site, *LIST)
        found = await in_thread(lambda: list(pages(f"urls:{path}")))
        first, lake, gone, ftp, photo = found
        assert isinstance(first, Record) and isinstance(lake, Record)
        assert (first.title, first.url, first.date, first.line) == ("The bridge", site.at("/a"), "2021-05-04", 2)
        assert first.retrieved and first.retrieved.endswith("Z")
        assert lake.title == "b" and "90 m deep" in lake.sections[0].text
        assert [(bad.reason, bad.line) for bad in (gone, ftp, photo) if isinstance(bad, Bad)] == [
            ("HTTP 404", 5), ("scheme 'ftp' is not fetched", 7), ("image/jpeg is not read", 8),
        ]  # fmt: skip
        assert site.at("/gone") in str(gone.error())


async def test_what_was_fetched_is_not_fetched_again(tmp_path, opened, monkeypatch):
    monkeypatch.setattr(links, "TOGETHER", 1)
    async with Site(SITE) as site:
        opened(site)
        path = listed(tmp_path, site, "HERE/a", "HERE/b", name="mine.urls")
        [piece] = units([path])

        def begin():
            stream = read(piece)
            first = next(stream)
            stream.close()  # the build is broken off here
            return first

        first = await in_thread(begin)
        assert site.asked == ["/a"] and (tmp_path / "mine.urls.pages").exists()
        found = await in_thread(lambda: list(read(piece)))
        assert site.asked == ["/a", "/b"] and found[0] == first


async def test_robots_txt_and_private_addresses(tmp_path, opened):
    closed = {**SITE, "/robots.txt": page("User-agent: *\nDisallow: /a", "text/plain")}
    async with Site(closed) as site:
        opened(site, respect_robots=True, ports=frozenset({site.port, 80}))
        path = listed(
            tmp_path, site, "HERE/a", "HERE/b", "http://127.0.0.2/", "http://169.254.169.254/latest/meta-data"
        )
        found = await in_thread(lambda: list(pages(f"urls:{path}")))
        assert [type(one) for one in found] == [Bad, Record, Bad, Bad]
        assert [one.reason for one in found if isinstance(one, Bad)] == [
            "robots.txt closes it", "not a public address", "not a public address",
        ]  # fmt: skip
        assert "/a" not in site.asked


async def test_as_users_have_it_this_machine_is_never_reached(tmp_path):
    async with Site({"/a": page(BRIDGE)}) as site:
        path = listed(tmp_path, site, "HERE/a", "http://localhost/a", "http://10.0.0.1/")
        found = await in_thread(lambda: list(pages(f"urls:{path}")))
        assert all(isinstance(one, Bad) for one in found) and site.asked == []


async def test_within_a_running_event_loop(tmp_path, opened):
    async with Site(SITE) as site:
        opened(site)
        path = listed(tmp_path, site, "http://127.0.0.1:1/x")
        assert [type(one) for one in pages(f"urls:{path}")] == [Bad]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "no link in it"), (b"# nothing\n", "no link"), (b"<html>", "no link in it"), (b"http://\xff", "not UTF-8")],
)
def test_w1_a_list_without_links(tmp_path, content, said):
    path = tmp_path / "l.urls"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        list(units([path]))


def test_a_list_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="no such list of links"):
        list(units([f"urls:{tmp_path / 'none.txt'}"]))


def test_a_txt_without_the_prefix_is_a_text(tmp_path):
    (tmp_path / "l.txt").write_text("http://example.org/", encoding="utf-8")
    [record] = pages(tmp_path / "l.txt")
    assert isinstance(record, Record) and record.title == "l"


async def in_thread(work):
    import asyncio

    return await asyncio.to_thread(work)
