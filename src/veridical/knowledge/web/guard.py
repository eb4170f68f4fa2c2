"""Which links may be followed: those of public addresses, judged by the address that is connected to.

Search results are written by strangers. A link to "http://169.254.169.254/" or to a name that resolves to 127.0.0.1
would make this program read what only this machine can. So a link is looked at twice: its form, here, before anything
is done with it, and the address of each socket, when it is made. Nothing comes between that look and the connection, so
an answer of the name server that changes (DNS rebinding) gains nothing, nor does a spelling that was not thought of.
"""

from __future__ import annotations

import dataclasses
import errno
import ipaddress
import re
import socket
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import yarl
from aiohttp.resolver import ThreadedResolver

from ...errors import SearchError, UsageError

PORTS = frozenset({80, 443, 8080, 8443})
LONGEST = 4096
"""Characters of a link."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_METADATA = frozenset(
    ipaddress.ip_address(one)
    for one in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254",
                "fd20:ce::254")
)  # fmt: skip
"""Where clouds keep the credentials of their machines: AWS, Azure, Google, Alibaba, Oracle."""
_SPECIAL = tuple(
    ipaddress.ip_network(one)
    for one in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "::/8", "64:ff9b:1::/48", "100::/8", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7",
        "fe80::/10", "fec0::/10", "ff00::/8",
    )
)  # fmt: skip
"""IANA's special-purpose registries (RFC 6890 and its updates), multicast and site-local. Spelled out since what
`ipaddress` calls global differs between versions of Python."""
_MAPPED = ipaddress.ip_network("::ffff:0:0/96")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NAME = re.compile(r"(?=.{1,254}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?", re.ASCII)
_NUMBER = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)\.*", re.ASCII)
"""A host whose last label is a number: to some programs an address, be it decimal, octal, hexadecimal or short."""
_BARRED = re.compile(r"[\s\x00-\x20\x7f\\]")


class Refused(SearchError):
    """A link that must not be followed."""


class ClosedAddress(PermissionError):
    """The address of a connection that must not be made. An OSError, so that another address of the name is tried."""


def refusal(address: str) -> str | None:
    """Why this IP address must not be reached; None for a public one.

    Raises ValueError for what is no IP address.
    """
    bare, _, zone = address.partition("%")
    ip = ipaddress.ip_address(bare)
    if zone or any(not _public(one) for one in (ip, *_within(ip))):
        return "not a public address"
    return None


def _public(ip: Address) -> bool:
    if ip in _METADATA:
        return False
    if ip in _MAPPED or ip in _NAT64:
        return True  # judged by the address within: behind DNS64, public hosts have no other
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _SPECIAL)


def _within(ip: Address) -> Iterator[ipaddress.IPv4Address]:
    """IPv4 addresses that an IPv6 address carries: mapped, compatible, NAT64, 6to4, Teredo, ISATAP (RFC 5214)."""
    if isinstance(ip, ipaddress.IPv4Address):
        return
    low = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    isatap = (int(ip) >> 32) & 0xFDFFFFFF == 0x5EFE
    if ip in _MAPPED or ip in _NAT64 or int(ip) >> 32 == 0 or isatap:
        yield low
    if ip.sixtofour:
        yield ip.sixtofour
    yield from ip.teredo or ()


@dataclasses.dataclass(frozen=True)
class Guard:
    """What may be reached. Metadata services of clouds are not, whatever the settings."""

    allow_private: bool = False
    """All addresses and ports: for tests and trusted intranets."""
    networks: tuple[str, ...] = ()
    """Networks that may be reached though they are not public ("10.20.0.0/16"): an intranet and no more."""
    ports: frozenset[int] = PORTS

    def __post_init__(self) -> None:
        _ = self._opened

    @cached_property
    def _opened(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        try:
            return tuple(ipaddress.ip_network(one) for one in self.networks)
        except ValueError as error:
            raise UsageError(f"no network: {error}") from None

    def url(self, text: str) -> yarl.URL:
        """The link without its fragment, if its form is one that may be fetched. Raises `Refused` for any other."""
        text = text.strip()
        try:
            parts = urlsplit(text)
            written, port = parts.hostname or "", parts.port
            url = yarl.URL(text).with_fragment(None)
            host = url.raw_host or ""
        except ValueError:
            raise Refused("no usable address") from None
        if parts.scheme not in ("http", "https"):
            raise Refused(f"scheme {parts.scheme[:20] or 'none'!r} is not fetched")
        if not host or len(text) > LONGEST or _BARRED.search(text):
            raise Refused("no usable address")
        if "@" in parts.netloc:
            raise Refused("an address with a user name or password is not fetched")
        if port is not None and url.port != port:
            raise Refused("no usable address")
        self._look_at_port(url.port or 0)
        self._look_at_host(host, written, bracketed="[" in parts.netloc)
        return url if url.raw_query_string or url.raw_path.strip("/") else url.with_path("/")

    def _look_at_port(self, port: int) -> None:
        if not self.allow_private and port not in self.ports:
            raise Refused(f"port {port} is not fetched")

    def _look_at_host(self, host: str, written: str, *, bracketed: bool) -> None:
        """`host` is what would be connected to, `written` the same as the link has it."""
        if bracketed or ":" in host or _NUMBER.fullmatch(host):
            try:
                ip = ipaddress.ip_address(host)
                if ipaddress.ip_address(written) != ip or "%" in written:
                    raise ValueError
            except ValueError:
                raise Refused("an address in an odd spelling is not fetched") from None
            if why := self.refusal(host):
                raise Refused(why)
        elif not _NAME.fullmatch(host):
            raise Refused("no usable address")
        elif "." not in host.rstrip(".") and not (self.allow_private or self.networks):
            raise Refused("not a public name")

    def refusal(self, address: str) -> str | None:
        """As the function, under these settings."""
        why = refusal(address)
        if why is None or "%" in address:
            return why if not self.allow_private else None
        ip = ipaddress.ip_address(address)
        every = (ip, *_within(ip))
        if not _METADATA.isdisjoint(every):
            return why
        return None if self.allow_private or any(ip in network for network in self._opened) else why

    def socket(self, address: tuple[Any, ...]) -> socket.socket:
        """A socket for an entry of `getaddrinfo`. Raises `ClosedAddress` if it must not be connected."""
        family, kind, protocol, _, where = address
        if why := self.refusal(where[0]):
            raise ClosedAddress(errno.EACCES, why)
        if not self.allow_private and where[1] not in self.ports:
            raise ClosedAddress(errno.EACCES, f"port {where[1]} is not fetched")
        return socket.socket(family, kind, protocol)

    def connector(self, *, limit: int) -> aiohttp.TCPConnector:
        """Connections, at most `limit`, that are made to nothing but what may be reached."""
        return aiohttp.TCPConnector(
            resolver=ThreadedResolver(), socket_factory=self.socket, limit=limit, use_dns_cache=False
        )
