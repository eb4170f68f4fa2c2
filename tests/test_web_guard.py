"""What must not be reached, in whatever spelling, behind whatever name, after whatever redirect."""

import contextlib
import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from page_server import STORY, Site, fetcher, moved, page
from veridical.errors import SearchError, UsageError
from veridical.knowledge.web.fetch import Fetcher, PageError
from veridical.knowledge.web.guard import ClosedAddress, Guard, Refused, refusal

PRIVATE = (
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3",
    "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.0.192", "192.88.99.1", "198.18.0.1", "168.63.129.16",
    "100.100.100.200", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "2002:7f00:1::", "2002:a9fe:a9fe::",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "::127.0.0.1", "2001:db8::1", "3fff::1", "5f00::1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe", "2600:1234::5efe:7f00:1", "2600:1234::200:5efe:a00:1", "100::1",
)  # fmt: skip
PUBLIC = ("93.184.216.34", "8.8.8.8", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808")
NETWORKS = [
    ipaddress.ip_network(one)
    for one in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
                "224.0.0.0/4", "240.0.0.0/4", "0.0.0.0/8")
]  # fmt: skip
inside = st.one_of(*(st.ip_addresses(network=network) for network in NETWORKS))


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_public_are_refused(address):
    assert refusal(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_not(address):
    assert refusal(address) is None


def spellings(ip):
    """Every way in which some program writes, or reads, an IPv4 address."""
    number, parts = int(ip), str(ip).split(".")
    wide = str.maketrans("0123456789", "０１２３４５６７８９")
    ringed = str.maketrans("123456789", "①②③④⑤⑥⑦⑧⑨")
    return [
        str(ip), f"{ip}.", str(number), f"{number}.", hex(number), hex(number).upper(), f"0{number:o}", f"00{number:o}",
        ".".join(hex(int(one)) for one in parts), ".".join(f"0{int(one):o}" for one in parts),
        f"{parts[0]}.{number & 0xFFFFFF}", f"{parts[0]}.{parts[1]}.{number & 0xFFFF}",
        ".".join(one.zfill(3) for one in parts), "。".join(parts), "．".join(parts), "｡".join(parts),
        str(ip).translate(wide), str(ip).translate(ringed), "".join(f"%{ord(one):02x}" for one in str(ip)),
        f"[::ffff:{ip}]", f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]", f"[::{ip}]", f"[64:ff9b::{ip}]",
        f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::]", f"[{ip}]", f"[::ffff:{ip}%25eth0]",
    ]  # fmt: skip


@given(inside, st.sampled_from(["http", "https", "HTTP"]), st.sampled_from(["", ":80", ":8080", ":"]))
def test_no_private_address_passes_in_any_spelling(ip, scheme, port):
    for host in spellings(ip):
        with pytest.raises(Refused):
            Guard().url(f"{scheme}://{host}{port}/")


@pytest.mark.parametrize(
    "host", ["８.8.8.8", "8。8。8。8", "134744072", "010.8.8.8", "8.8.2056", "8.8.8.8.", "[2606:4700::1%25lo]"]
)
def test_public_addresses_in_odd_spellings_are_refused_too(host):
    with pytest.raises(Refused, match="odd spelling"):
        Guard().url(f"http://{host}/")


@given(st.ip_addresses())
def test_what_python_calls_private_is_refused_bare_or_carried_by_another_address(ip):
    if ip.is_private or ip.is_loopback or ip.is_link_local or ip.is_multicast:
        assert refusal(str(ip)) or str(ip).startswith("::ffff:")
    if isinstance(ip, ipaddress.IPv4Address) and refusal(str(ip)):
        for high in (0xFFFF << 32, 0x64FF9B << 96, 0x2600 << 112 | 0x5EFE << 32, 0):
            assert refusal(str(ipaddress.IPv6Address(high | int(ip))))
        assert refusal(str(ipaddress.IPv6Address(0x2002 << 112 | int(ip) << 80)))
        assert refusal(str(ipaddress.IPv6Address(0x20010000 << 96 | (int(ip) ^ 0xFFFFFFFF))))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/x", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "http://", "//a.org",
        "http://user:pw@example.org/", "http://user@example.org/", "http://@example.org/", "http://example.org:22/",
        "http://example.org:0/", "http://example.org:99999/", "http://exa mple.org/", "http://[bad/", "http://[v1.x]/",
        "http://example.org\\@127.0.0.1/", "http://127.0.0.1\\.example.org/", "http://a\tb.org/", "http://a\nb.org/",
        "http://localhost/", "http://localhost./", "http://intranet/", "http://a..b.org/", "http://.a.org/",
        "http://ex\u00adample.org/x\u0000", f"http://{'a' * 300}.org/", "http://a.org/" + "x" * 5000, "", "http:///x",
        "http://%6cocalhost/", "http://exa%00mple.org/", "http://example.org:80:80/", "gopher://a.org/", "http:a.org",
    ],
)  # fmt: skip
def test_links_of_a_form_that_is_not_fetched(url):
    with pytest.raises(Refused):
        Guard().url(url)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c"), (" http://example.org \n", "http://example.org/"),
        ("HTTP://EXAMPLE.org:8080/A", "http://example.org:8080/A"), ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://bücher.example.org/ä", "http://xn--bcher-kva.example.org/%C3%A4"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"), ("http://example.org./", "http://example.org./"),
        ("http://a.org/b%2Fc?u=http://x@y", "http://a.org/b%2Fc?u=http://x@y"), ("http://4chan.org/", "http://4chan.org/"),
    ],
)  # fmt: skip
def test_links_that_are_fetched(url, asked):
    assert str(Guard().url(url)) == asked


@given(st.text(max_size=40))
def test_any_text_is_a_link_or_refused(text):
    for url in (text, f"http://{text}", f"http://{text}.org/{text}"):
        with contextlib.suppress(Refused):
            Guard().url(url)


@pytest.mark.parametrize("address", PRIVATE)
def test_no_socket_is_made_for_an_address_that_is_not_public(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with pytest.raises(ClosedAddress):
        Guard().socket((family, socket.SOCK_STREAM, 6, "", (address, 80)))


def test_an_intranet_may_be_opened_and_the_metadata_of_the_cloud_not():
    guard = Guard(networks=("10.20.0.0/16",))
    assert guard.refusal("10.20.3.4") is None
    assert guard.refusal("10.21.3.4")
    assert guard.url("http://wiki/").host == "wiki"
    assert Guard(allow_private=True).refusal("10.21.3.4") is None
    assert Guard(allow_private=True).url("http://127.0.0.1:5000/").port == 5000
    for address in ("169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"):
        assert Guard(allow_private=True, networks=("169.254.0.0/16",)).refusal(address)
    with pytest.raises(UsageError, match="no network"):
        Guard(networks=("10.20.0.1/16",))


# With a server


def name_server(monkeypatch, *answers):
    """Names resolve to these addresses, one answer after the other; the last one stays."""
    left = list(answers)
    real = socket.getaddrinfo

    def getaddrinfo(host, port, *rest, **more):
        if not str(host).endswith(".example"):
            return real(host, port, *rest, **more)
        address = left.pop(0) if len(left) > 1 else left[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        where = (address, port, 0, 0) if family == socket.AF_INET6 else (address, port)
        return [(family, socket.SOCK_STREAM, 6, "", where)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0"])
async def test_a_name_that_resolves_to_this_machine_is_not_connected_to(monkeypatch, address):
    name_server(monkeypatch, address)
    async with Site({"/": page()}) as site:
        own = Fetcher(ports=frozenset({site.port}))
        with pytest.raises(PageError, match="not a public address"):
            await own.fetch(site.at("/", host="innocent.example"))
        await own.close()
        assert site.connections == 0


async def test_a_name_that_changes_its_address_between_two_looks_gains_nothing(monkeypatch):
    """The first answer is allowed, all later ones are this machine by another address."""
    name_server(monkeypatch, "127.0.0.2", "127.0.0.1")
    async with Site({"/": page(), "/a": page()}) as site:
        own = fetcher(site, networks=("127.0.0.2/32",))
        for path in ("/", "/a"):
            with pytest.raises(SearchError):
                await own.fetch(site.at(path, host="rebinding.example"))
        await own.close()
        assert site.connections == 0


@pytest.mark.parametrize(
    "host", ["localhost", "2130706433", "0x7f.1", "127.1", "localhost.", "127.0.0.1", "１２７.0.0.1", "127。0。0。1",
             "[::ffff:127.0.0.1]", "0", "0177.0.0.1"],
)  # fmt: skip
async def test_odd_spellings_of_this_machine_never_reach_it(host):
    async with Site({"/": page()}) as site:
        own = Fetcher(ports=frozenset({site.port}))
        with pytest.raises(PageError):
            await own.fetch(site.at("/", host=host))
        await own.close()
        assert site.connections == 0


@pytest.mark.parametrize(
    "where",
    ["http://127.0.0.2:{port}/secret", "http://127。0。0。2:{port}/secret", "http://inner.example:{port}/secret",
     "//127.0.0.2:{port}/secret", "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "http://[bad",
     "http://user:pw@127.0.0.1:{port}/secret", "http://127.0.0.1:1/"],
)  # fmt: skip
async def test_a_redirect_is_looked_at_like_any_link(monkeypatch, where):
    """127.0.0.1 is open here, as a public address would be; 127.0.0.2 stands for a private one."""
    name_server(monkeypatch, "127.0.0.2")
    async with Site({}) as site:
        site.pages["/"] = [moved(where.format(port=site.port))]
        own = fetcher(site)
        with pytest.raises(PageError):
            await own.fetch(site.at("/"))
        await own.close()
        assert site.asked == ["/"]


async def test_no_proxy_of_the_environment_is_used(monkeypatch):
    """A proxy would make the connections, out of this program's sight."""
    async with Site({"/": page()}) as site, Site({}) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.at("/"))
        own = fetcher(site)
        assert STORY.strip() in (await own.fetch(site.at("/"))).text
        await own.close()
        assert proxy.connections == 0
