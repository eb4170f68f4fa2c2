"""Which addresses may be fetched from: the public ones, by the address that is connected to and not by its name.

Search results are written by strangers. A link to "http://169.254.169.254/" or to a name that resolves to 127.0.0.1
would make this program read what only this machine can. So names are resolved here, every address is looked at, and the
connection goes to that address and no other: an answer that changes between the look and the connection (DNS rebinding)
gains nothing. Redirects are looked at like any link.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import ThreadedResolver

from ...errors import SearchError

PORTS = frozenset({80, 443, 8080, 8443})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Refused(SearchError):
    """A link that must not be followed."""


def refusal(address: str) -> str | None:
    """Why this IP address must not be reached; None for a public one.

    Raises ValueError for what is no IP address.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    for one in (ip, *_within(ip)):
        if one.is_multicast or one.is_unspecified or one.is_reserved or not one.is_global:
            return f"{address} is not a public address"
    return None


def _within(ip: Address) -> Sequence[Address]:
    """IPv4 addresses that an IPv6 address carries."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ()
    inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
    if ip in _NAT64 or int(ip) >> 32 == 0:
        inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
    return [one for one in inner if one is not None]


def check(url: str, *, allow_private: bool = False) -> str:
    """The URL without its fragment, if its form is one that may be fetched. Raises `Refused` for any other."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise Refused(f"no usable address: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise Refused(f"scheme {parts.scheme or 'none'!r} is not fetched")
    if not host or any(character.isspace() or ord(character) < 32 for character in url.strip()):
        raise Refused("no usable address")
    if parts.username is not None or parts.password is not None:
        raise Refused("an address with a user name or password is not fetched")
    if not allow_private:
        if port is not None and port not in PORTS:
            raise Refused(f"port {port} is not fetched")
        try:
            why = refusal(host.strip("[]"))
        except ValueError:
            why = None  # a name, which is looked at when it is resolved
        if why:
            raise Refused(why)
    return parts._replace(fragment="").geturl()


class PublicResolver(AbstractResolver):
    """Resolves names, and lets only public addresses through."""

    def __init__(self, inner: AbstractResolver | None = None) -> None:
        self._inner = inner or ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[Any]:
        """As `ThreadedResolver`; an OSError where the name has no address that may be reached."""
        found = await self._inner.resolve(host, port, family)
        public = [one for one in found if refusal(one["host"]) is None]
        if not public:
            raise OSError(None, f"{host} has no public address")
        return public

    async def close(self) -> None:
        await self._inner.close()


def connector(*, allow_private: bool, limit: int, per_host: int) -> aiohttp.TCPConnector:
    """Connections that reach public addresses only, unless `allow_private`; at most `limit`, `per_host` of one host."""
    resolver = None if allow_private else PublicResolver()
    return aiohttp.TCPConnector(resolver=resolver, limit=limit, limit_per_host=per_host, use_dns_cache=allow_private)
