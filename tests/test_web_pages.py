"""Fetching pages: what must not be reached, what may go wrong, what is read of what is there."""

import gzip
import ipaddress
import zlib

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopback import Answer, Loopback
from veridical.errors import SearchError
from veridical.knowledge.web.extract import extract
from veridical.knowledge.web.fetch import Fetcher
from veridical.knowledge.web.guard import PublicResolver, Refused, check, refusal
from veridical.knowledge.web.pages import Pages
from veridical.models.cache import CallStore
from veridical.types import Passage, Query

STORY = "The bridge over the Orlen was finished in 1862 after six years of work by two hundred masons. "
HTML = f"""<html><head><title>The bridge</title><meta name="date" content="2021-05-04"></head><body>
<nav><a href="/">Home</a></nav><article><h1>The bridge</h1><p>{STORY * 3}</p>
<table><tr><th>Length</th><td>120 m</td></tr></table><script>alert("never run")</script></article></body></html>"""


def page(body=HTML, content_type="text/html; charset=utf-8", **more):
    headers = {"Content-Type": content_type, **more.pop("headers", {})}
    return Answer(body if isinstance(body, bytes) else body.encode(), headers=headers, **more)


def pdf(text):
    """A PDF of one page, written by hand."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    start = len(out)
    out += b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start


# What must not be reached

PRIVATE = (
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "2002:7f00:1::", "64:ff9b::7f00:1", "::127.0.0.1", "240.0.0.1",
)  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_refused(address):
    assert refusal(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "2606:4700::1111"])
def test_public_addresses_are_not(address):
    assert refusal(address) is None


@given(st.ip_addresses())
def test_no_address_of_a_private_network_passes(ip):
    if ip.is_private or ip.is_loopback or ip.is_link_local or ip.is_multicast:
        assert refusal(str(ip))
    if isinstance(ip, ipaddress.IPv4Address) and refusal(str(ip)):
        assert refusal(f"::ffff:{ip}")
        assert refusal(str(ipaddress.IPv6Address((0x64FF9B << 96) | int(ip))))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/x", "file:///etc/passwd", "javascript:alert(1)", "http://", "http://user:pw@example.org/",
        "http://example.org:22/", "http://127.0.0.1/", "http://[::1]/", "http://[::ffff:7f00:1]/",
        "http://exa mple.org/", "http://169.254.169.254/latest/meta-data",
        "//example.org", "http://example.org:99999/", "http://[bad/",
    ],
)  # fmt: skip
def test_links_of_a_form_that_is_not_fetched(url):
    with pytest.raises(Refused):
        check(url)


def test_a_link_without_its_fragment():
    assert check("https://example.org/a?b=c#d") == "https://example.org/a?b=c"


class Names(aiohttp.abc.AbstractResolver):
    """Every name resolves to these addresses."""

    def __init__(self, *addresses):
        self.addresses = addresses

    async def resolve(self, host, port=0, family=0):
        return [
            {"hostname": host, "host": one, "port": port, "family": 2, "proto": 6, "flags": 0} for one in self.addresses
        ]

    async def close(self):
        pass


async def test_a_name_that_resolves_to_this_machine_is_refused_when_it_is_connected_to():
    resolver = PublicResolver(Names("127.0.0.1", "10.0.0.1"))
    with pytest.raises(OSError, match="no public address"):
        await resolver.resolve("innocent.example", 80)
    mixed = await PublicResolver(Names("127.0.0.1", "8.8.8.8")).resolve("mixed.example", 80)
    assert [one["host"] for one in mixed] == ["8.8.8.8"]


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1", "127.1", "localhost."])
async def test_odd_spellings_of_this_machine_never_reach_it(host):
    async with Loopback(page()) as server:
        fetcher = Fetcher()
        with pytest.raises(SearchError):
            await fetcher.fetch(f"http://{host}:{server.port}/")
        with pytest.raises(SearchError):
            await fetcher.fetch(f"http://{host}:8080/")
        await fetcher.close()
        assert server.connections == 0


async def test_a_redirect_to_a_private_address_is_refused():
    """The first hop is allowed here as it is in an intranet; the second is looked at anew."""
    async with Loopback(Answer(b"", status=302, headers={"Location": "file:///etc/passwd"})) as server:
        fetcher = Fetcher(allow_private=True)
        with pytest.raises(Refused, match="file"):
            await fetcher.fetch(server.url)
        await fetcher.close()


# What may go wrong


async def fetched(handler, **settings):
    async with Loopback(handler) as server:
        fetcher = Fetcher(allow_private=True, **settings)
        try:
            return await fetcher.fetch(server.url), server
        finally:
            await fetcher.close()


async def test_a_page_is_read_without_its_menu_and_scripts():
    found, _ = await fetched(page())
    assert STORY.strip() in found.text
    assert "never run" not in found.text
    assert "Length" in found.text
    assert found.title == "The bridge"
    assert found.date == "2021-05-04"
    assert len(found.sha256) == 64


async def test_redirects_are_followed_up_to_five():
    hops = [Answer(b"", status=301, headers={"Location": f"/hop{n}"}) for n in range(5)]
    found, _ = await fetched([*hops, page()])
    assert found.url.endswith("/hop4")
    with pytest.raises(SearchError, match="more than 5 redirects"):
        await fetched(Answer(b"", status=302, headers={"Location": "/again"}))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(b"", status=404), "HTTP 404"),
        (page("x" * 300_000), "more than 0.25 MiB"),
        (page(b"GIF89a", "image/gif"), "image/gif is not read"),
        (page(b"", "text/html"), "no text"),
        (page(delay=5.0), "no answer within"),
        (page(reset=True), "Error"),
        (page(b"not gzip", headers={"Content-Encoding": "gzip"}), "incorrect header|Error"),
        (page(headers={"Content-Encoding": "br"}), "'br' is not read"),
        (page(b"%PDF-1.4 broken", "application/pdf"), "PDF cannot be read"),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_an_error_of_this_page(answer, words):
    with pytest.raises(SearchError, match=words):
        await fetched(answer, max_bytes=2**18, timeout=1.0)


async def test_a_gzip_bomb_is_stopped_while_it_is_unpacked():
    bomb = gzip.compress(b"<p>" + b"a" * 200_000_000)
    with pytest.raises(SearchError, match="more than 5 MiB"):
        await fetched(page(bomb, headers={"Content-Encoding": "gzip"}))


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_compressed_pages_are_read(pack):
    encoding = "gzip" if pack is gzip.compress else "deflate"
    found, _ = await fetched(page(pack(HTML.encode()), headers={"Content-Encoding": encoding}))
    assert STORY.strip() in found.text


async def test_a_busy_page_is_asked_again_and_one_that_asks_too_long_is_not():
    found, server = await fetched([Answer(b"", status=429, headers={"Retry-After": "0"}), page()])
    assert STORY.strip() in found.text
    assert len(server.requests) == 2
    with pytest.raises(SearchError, match="HTTP 503"):
        await fetched(Answer(b"", status=503, headers={"Retry-After": "3600"}))


async def test_pages_are_fetched_once_and_then_come_from_the_cache(tmp_path):
    store = CallStore(tmp_path / "calls.sqlite")
    async with Loopback([page(), Answer(b"", status=500)]) as server:
        fetcher = Fetcher(store, allow_private=True)
        first = await fetcher.fetch(server.url)
        assert await fetcher.fetch(f"{server.url}#part") == first
        await fetcher.close()
        assert len(server.requests) == 1
        assert "veridical/" in server.requests[0].headers["user-agent"]
    store.close()


# What is read


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("windows-1251", "Мост через реку был построен в 1862 году."), ("shift_jis", "橋は千八百六十二年に完成した。"),
     ("iso-8859-1", "Die Brücke über die Orlen wurde 1862 fertig.")],
)  # fmt: skip
@pytest.mark.parametrize("place", ["header", "meta"])
async def test_character_sets(encoding, text, place):
    meta = f'<meta charset="{encoding}">' if place == "meta" else ""
    body = f"<html><head>{meta}<title>t</title></head><body><article><p>{text * 4}</p></article></body></html>"
    header = f"text/html; charset={encoding}" if place == "header" else "text/html"
    found = await extract(body.encode(encoding), header, "https://example.org/")
    assert text in found.text


async def test_pdf_and_plain_text():
    found = await extract(pdf("The bridge was finished in 1862."), "application/pdf", "https://example.org/x.pdf")
    assert found.text == "The bridge was finished in 1862."
    assert (await extract(pdf("A bridge."), "application/octet-stream", "https://example.org/")).text == "A bridge."
    assert (await extract("Eine Brücke.\n".encode(), "text/plain", "https://example.org/")).text == "Eine Brücke."


@settings(max_examples=40, deadline=None)
@given(st.one_of(st.binary(max_size=400), st.text(max_size=200).map(lambda t: f"<html><p>{t}<b>".encode())))
async def test_any_bytes_are_a_text_or_a_search_error(body):
    try:
        found = await extract(body, "text/html", "https://example.org/")
    except SearchError:
        return
    assert found.text.strip()


# The searcher


class Results:
    name = "web:test"

    def __init__(self, *passages):
        self.passages = list(passages)

    async def search(self, query, *, k):
        return self.passages[:k]


async def test_the_best_passages_of_pages_take_the_place_of_snippets():
    filler = "".join(f"<p>{'Nothing about it stands in this paragraph of the page. ' * 12}</p>" for _ in range(5))
    body = HTML.replace("<article>", f"<article>{filler}")

    def handler(request):
        return page(body) if request.path.startswith("/bridge") else Answer(b"", status=404)

    async with Loopback(handler) as server:
        base = f"http://127.0.0.1:{server.port}"
        found = Results(
            Passage(id="serper:1#answer", text="1862", source="web:test"),
            Passage(id=f"{base}/bridge", url=f"{base}/bridge", text="The bridge …", source="web:test"),
            Passage(id=f"{base}/gone", url=f"{base}/gone", text="A snippet.", source="web:test"),
        )
        pages = Pages(found, Fetcher(allow_private=True), words=60)
        made = await pages.search(Query(text="When was the bridge over the Orlen finished?"), k=3)
        await pages.close()
    assert made[0].text == "1862"
    assert "finished in 1862" in made[1].text
    assert len(made[1].text.split()) <= 60
    assert made[1].title == "The bridge"
    assert made[1].retrieved
    assert made[1].source == "web:test"
    assert made[2].text == "A snippet."
    assert pages.troubles == {"HTTP 404": 1}
    assert "1 pages could not be read" in pages.adaptations[-1]
    assert pages.name == "pages(web:test)"
    assert pages.identity != Pages(found, Fetcher(), words=80).identity
