"""Fetching pages over real connections: what goes wrong, what is bounded, what is kept."""

import asyncio
import contextlib
import gzip
import hashlib
import shutil
import ssl
import subprocess
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import Answer, Loopback
from page_server import BRIDGE, STORY, Site, bomb, fetch, fetcher, moved, packed, page, pdf
from veridical.errors import SearchError, UsageError
from veridical.knowledge.web import fetch as fetching
from veridical.knowledge.web.download import Unpacker, seconds
from veridical.knowledge.web.fetch import Fetcher, PageError
from veridical.models.cache import CallStore


async def test_a_page_is_read_with_all_that_tells_where_it_is_from():
    found, site = await fetch(pages={"/old": moved("/new"), "/new": page()}, path="/old")
    assert STORY.strip() in found.text
    assert (found.title, found.date) == ("The bridge", "2021-05-04")
    assert found.url == site.at("/new")
    assert found.sha256 == hashlib.sha256(BRIDGE.encode()).hexdigest()
    assert datetime.fromisoformat(found.at).tzinfo
    asked = site.requests[0]
    assert asked.headers["user-agent"].startswith("veridical/")
    assert not {"cookie", "authorization", "referer"} & asked.headers.keys()


async def test_the_bytes_of_a_page():
    async with Site({"/a.pdf": page(pdf("A bridge."), "application/pdf"), "/gone": Answer(b"", status=410)}) as site:
        own = fetcher(site)
        got = await own.get(site.at("/a.pdf"))
        assert got.body.startswith(b"%PDF-")
        assert (got.status, got.content_type, got.final_url) == (200, "application/pdf", site.at("/a.pdf"))
        assert (await own.fetch(site.at("/a.pdf"))).text == "A bridge."
        with pytest.raises(PageError, match="HTTP 410"):
            await own.get(site.at("/gone"))
        await own.close()


# Redirects


async def test_redirects_are_followed_up_to_five():
    hops = {f"/{n}": moved(f"/{n + 1}", status) for n, status in enumerate((301, 302, 303, 307, 308))}
    found, site = await fetch(pages={**hops, "/5": page()}, path="/0")
    assert found.url == site.at("/5")
    with pytest.raises(PageError, match="more than 5 redirects"):
        await fetch(pages={**hops, "/5": moved("/6"), "/6": page()}, path="/0")


@pytest.mark.parametrize("pages", [{"/a": moved("/b"), "/b": moved("/a")}, {"/a": moved("/a")}])
async def test_redirects_in_a_circle_end(pages):
    async with Site(pages) as site:
        own = fetcher(site)
        with pytest.raises(PageError, match="more than 5 redirects"):
            await own.fetch(site.at("/a"))
        await own.close()
        assert len(site.asked) == 6


async def test_cookies_are_not_kept():
    first = Answer(b"", status=302, headers={"Location": "/b", "Set-Cookie": "id=7; Path=/"})
    _, site = await fetch(pages={"/a": first, "/b": page()}, path="/a")
    assert all("cookie" not in request.headers for request in site.requests)


# What goes wrong


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(b"", status=404), "HTTP 404"),
        (Answer(b"", status=500), "HTTP 500"),
        (Answer(b"", status=302), "HTTP 302"),
        (Answer(b"", status=304), "HTTP 304"),
        (page("x" * 300_000), "more than 0.25 MiB"),
        (page("x" * 300_000, chunked=True), "more than 0.25 MiB"),
        (page(b"GIF89a", "image/gif"), "image/gif is not read"),
        (page(b"{}", "application/json"), "application/json is not read"),
        (page(b""), "the page has no text"),
        (page(delay=5.0), "no answer within 0.6 s"),
        (page("slow body" * 99, drip=0.1), "no answer within 0.6 s"),
        (page(reset=True), "no usable answer"),
        (page(cut=100), "no usable answer"),
        (packed(b"not gzip at all"), "the compressed page is broken"),
        (packed(gzip.compress(BRIDGE.encode())[:-20]), "the compressed page is cut"),
        (page(headers={"Content-Encoding": "br"}), "encoding 'br' is not read"),
        (page(headers={"X-Long": "x" * 100_000}), "no usable answer"),
        (page(b"%PDF-1.4 broken", "application/pdf"), "the PDF is broken"),
        (page(pdf("A secret.", password="key"), "application/pdf"), "the PDF is encrypted"),
        (moved("http://[bad"), "no usable address"),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_an_error_of_this_page_that_tells_why(answer, reason):
    with pytest.raises(PageError) as caught:
        await fetch(answer, max_bytes=2**18, timeout=0.6)
    assert caught.value.reason.startswith(reason)
    assert str(caught.value).startswith("http://127.0.0.1:")
    assert "127.0.0.1" not in caught.value.reason


async def test_a_server_that_speaks_no_http_or_is_not_there():
    async def babble(reader, writer):
        writer.write(b"220 smtp ready\r\n" * 10_000)
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    own = Fetcher(allow_private=True)
    with pytest.raises(PageError, match="no usable answer"):
        await own.fetch(f"http://127.0.0.1:{port}/")
    server.close()
    await server.wait_closed()
    with pytest.raises(PageError, match="no connection"):
        await own.fetch(f"http://127.0.0.1:{port}/")
    with pytest.raises(PageError, match="no connection"):
        await own.fetch("http://nowhere.invalid/")
    await own.close()


@pytest.fixture
def self_signed(tmp_path):
    openssl = shutil.which("openssl") or pytest.skip("openssl is not installed; it makes the certificate of this test")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    making = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*making, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    return tls


async def test_a_certificate_that_is_not_trusted_is_an_error_of_this_page(self_signed):
    async with Loopback(page(), tls=self_signed) as site:
        own = fetcher(site)
        with pytest.raises(PageError, match="no connection: ClientConnectorCertificateError"):
            await own.fetch(site.url)
        await own.close()
        assert not site.requests


async def test_what_is_not_read_is_not_downloaded():
    """The body would take a hundred seconds."""
    with pytest.raises(PageError, match="video/mp4 is not read"):
        await fetch(page(b"x" * 1000, "video/mp4", drip=0.1), timeout=30.0)


# Compression


@pytest.mark.parametrize("pages", [bomb(), page(b"x" * 6_000_000, "text/plain")])
async def test_too_much_is_stopped_while_it_comes(pages):
    with pytest.raises(PageError, match="more than 5 MiB"):
        await fetch(pages)


async def test_an_endless_stream_that_unpacks_to_nothing_is_stopped():
    empty = gzip.compress(b"") * 20_000
    with pytest.raises(PageError, match=r"more than 0\.125 MiB"):
        await fetch(page(empty, headers={"Content-Encoding": "gzip"}, chunked=True), max_bytes=2**17)


def raw_deflate(body):
    made = zlib.compressobj(wbits=-15)
    return made.compress(body) + made.flush()


@pytest.mark.parametrize(
    ("pack", "encoding"),
    [(gzip.compress, "gzip"), (gzip.compress, "X-GZIP"), (zlib.compress, "deflate"), (raw_deflate, "deflate"),
     (lambda body: gzip.compress(body[:200]) + gzip.compress(body[200:]), "gzip"),
     (lambda body: gzip.compress(body) + bytes(100), "gzip"), (bytes, "identity")],
)  # fmt: skip
async def test_compressed_pages_are_read(pack, encoding):
    found, _ = await fetch(packed(pack(BRIDGE.encode()), encoding))
    assert STORY.strip() in found.text


@given(st.binary(max_size=3000), st.integers(1, 400), st.sampled_from([gzip.compress, zlib.compress]))
def test_however_it_is_cut_in_pieces_it_is_unpacked_to_the_same(body, size, pack):
    sent, unpack = pack(body), Unpacker()
    found = b"".join(unpack.feed(sent[place : place + size], 5000) for place in range(0, len(sent), size))
    assert found == body
    assert unpack.whole


@given(st.binary(max_size=200), st.integers(1, 50))
def test_never_more_is_unpacked_than_may_be(body, most):
    for data in (body, gzip.compress(body * 50)):
        with contextlib.suppress(zlib.error):
            assert len(Unpacker().feed(data, most)) <= most


# Busy servers


async def test_a_busy_page_is_asked_again_and_one_that_asks_too_long_is_not(monkeypatch):
    waits = []

    async def sleep(seconds, *rest, real=asyncio.sleep):
        waits.append(seconds)
        await real(0)

    busy = Answer(b"", status=429, headers={"Retry-After": "2"})
    async with Site({"/a": [busy, Answer(b"", status=503), page()], "/b": busy, "/c": Answer(b"", status=503)}) as site:
        site.pages["/d"] = [Answer(b"", status=503, headers={"Retry-After": "3600"})]
        own = fetcher(site)
        monkeypatch.setattr(fetching.asyncio, "sleep", sleep)
        assert STORY.strip() in (await own.fetch(site.at("/a"))).text
        assert waits == [2.0, 2.0]
        for path, status in (("/b", 429), ("/c", 503), ("/d", 503)):
            with pytest.raises(PageError, match=f"HTTP {status}"):
                await own.fetch(site.at(path))
        monkeypatch.undo()
        await own.close()
        assert waits == [2.0, 2.0, 2.0, 2.0, 1.0, 2.0]
        assert site.asked.count("/d") == 1


def test_retry_after_is_a_number_or_a_date():
    assert seconds(None) is None
    assert seconds("soon") is None
    assert (seconds("7"), seconds("-3"), seconds("0.5")) == (7.0, 0.0, 0.5)
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3500 < (seconds(later) or 0) <= 3600
    assert seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


@given(st.text(max_size=30))
def test_any_retry_after_is_seconds_or_nothing(text):
    found = seconds(text)
    assert found is None or found >= 0


# Bounds on what happens at once


@pytest.mark.parametrize("bounds", [{"per_host": 2}, {"per_host": 9, "concurrency": 2}])
async def test_so_many_requests_at_once_and_waiting_for_ones_turn_is_no_time_out(bounds):
    pages = {f"/{n}": page(f"<p>Page {n}.", delay=0.25) for n in range(8)}
    async with Site(pages) as site:
        own = fetcher(site, timeout=0.8, **bounds)
        found = await asyncio.gather(*(own.fetch(site.at(path)) for path in pages))
        await own.close()
        assert [one.text for one in found] == [f"Page {n}." for n in range(8)]
        assert site.peak == 2


async def test_a_search_that_is_cancelled_leaves_nothing_behind():
    asked = asyncio.Event()

    async def slow(request):
        asked.set()
        await asyncio.sleep(9.0)

    async with Site({"/a": page()}) as site:
        own, answer = fetcher(site, per_host=1), site.handler
        site.handler = slow
        task = asyncio.create_task(own.fetch(site.at("/")))
        await asked.wait()
        site.handler = answer
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert STORY.strip() in (await own.fetch(site.at("/a"))).text
        await own.close()


def test_one_fetcher_serves_one_event_loop_after_the_other():
    own = fetcher(ports=frozenset(range(1024, 65536)))

    async def once():
        async with Site({"/": page()}) as site:
            found = await own.fetch(site.at("/"))
            await own.close()
            return found.title

    assert [asyncio.run(once()) for _ in range(2)] == ["The bridge"] * 2


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"timeout": float("nan")}, {"per_host": 0}, {"networks": ("x",)}])
def test_settings_that_are_none(settings):
    with pytest.raises(UsageError):
        Fetcher(**settings)


# The cache


async def test_pages_are_fetched_once_and_then_come_from_the_cache(tmp_path):
    store = CallStore(tmp_path / "calls.sqlite")
    async with Site({"/a": [page(delay=0.05), Answer(b"", status=500)]}) as site:
        own = fetcher(site, store=store, respect_robots=True)
        first, second = await asyncio.gather(own.fetch(site.at("/a")), own.fetch(site.at("/a#part")))
        assert first == second
        assert site.asked == ["/robots.txt", "/a"]
        await own.close()
        url = site.at("/a")
    own = fetcher(site, store=store, respect_robots=True)  # its server is gone
    assert await own.fetch(url) == first
    assert [one.kind for one in store.stats()] == ["page"]
    await own.close()
    store.close()


async def test_errors_are_not_cached_and_other_settings_ask_anew(tmp_path):
    store = CallStore(tmp_path / "calls.sqlite")
    async with Site({"/a": [Answer(b"", status=500), page(b"GIF", "image/gif"), page(b""), page()]}) as site:
        own = fetcher(site, store=store)
        for _ in range(3):
            with pytest.raises(SearchError):
                await own.fetch(site.at("/a"))
        assert not store.stats()
        assert STORY.strip() in (await own.fetch(site.at("/a"))).text
        other = fetcher(site, store=store, max_bytes=10_000)
        await other.fetch(site.at("/a"))
        await own.close()
        await other.close()
        assert len(site.asked) == 5
    store.close()
