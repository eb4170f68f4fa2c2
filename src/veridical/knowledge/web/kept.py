"""Which results are kept: no later than the as-of date, and of the domains that are wanted.

Providers are asked for this and only come close, so it is seen to here as well.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlsplit

from ...errors import UsageError
from ...types import Passage
from .base import WebRequest

_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_ISO = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?=\D|$)")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\.?\s+([A-Za-z]{3,9})\.?,?\s+(\d{4})\b")
_MONTH = re.compile(r"([A-Za-z]{3,9})\.?,?\s+(\d{4})$")
_YEAR = re.compile(r"(\d{4})$")
_AGO = re.compile(r"(\d{1,4}|an?)\s+(sec|min|hour|day|week|month|year)[a-z]*\s+ago", re.IGNORECASE)
_DAYS = {"sec": 0, "min": 0, "hour": 1 / 24, "day": 1, "week": 7, "month": 30.44, "year": 365.25}
_DOMAIN = re.compile(r"[^\s/:@?#]+(\.[^\s/:@?#]+)*")


def keeps(passage: Passage, request: WebRequest, at: str) -> bool:
    """Whether a result may be used. `at` is when it was asked for (UTC), from which "3 days ago" counts.

    A date that is missing or cannot be read keeps its result; a month or a year counts by its first day. With `allow` a
    result without a URL is of no known domain, and left out.
    """
    if request.before and passage.date:
        published = day(passage.date, at)
        if published is not None and published > date.fromisoformat(request.before):
            return False
    host = host_of(passage.url)
    if request.allow and not (host and any(within(host, domain) for domain in request.allow)):
        return False
    return not (host and any(within(host, domain) for domain in request.block))


def day(text: str, at: str = "") -> date | None:
    """The day that a provider's date stands for, the earliest it can be; None if it cannot be read.

    Read are ISO dates, "Mar 1, 2024", "1 March 2024", "March 2024", "2024", "3 days ago" and "yesterday".
    """
    text = text.strip()
    try:
        if found := _ISO.match(text):
            return date(int(found[1]), int(found[2]), int(found[3] or 1))
        if found := _MONTH_FIRST.search(text):
            return date(int(found[3]), _month(found[1]), int(found[2]))
        if found := _DAY_FIRST.search(text):
            return date(int(found[3]), _month(found[2]), int(found[1]))
        if found := _MONTH.search(text):
            return date(int(found[2]), _month(found[1]), 1)
        if found := _YEAR.match(text):
            return date(int(found[1]), 1, 1)
        return _relative(text, at)
    except (ValueError, KeyError, OverflowError):  # the 31st of June, a word that is no month
        return None


def _month(name: str) -> int:
    return _MONTHS[name[:3].lower()]


def _relative(text: str, at: str) -> date | None:
    if found := _AGO.search(text):
        count = int(found[1]) if found[1].isdecimal() else 1
        back = timedelta(days=count * _DAYS[found[2].lower()])
    elif text.lower() == "yesterday":
        back = timedelta(days=1)
    else:
        return None
    asked = datetime.fromisoformat(at) if at else datetime.now(UTC)
    return (asked - back).date()


def host_of(url: str | None) -> str | None:
    """The host of an address, lower-case and in ASCII; None without one."""
    try:
        host = urlsplit(url or "").hostname
    except ValueError:
        return None
    return _ascii(host) if host else None


def domain(text: str) -> str:
    """A domain as the user gives it ("wikipedia.org", "https://en.wikipedia.org/"), as hosts are written.

    Raises `UsageError` for what is none.
    """
    bare = text.strip().lower()
    bare = (host_of(bare) or "") if "://" in bare else bare.split("/")[0].lstrip(".*")
    if not _DOMAIN.fullmatch(bare):
        raise UsageError(f"{text!r} is no domain: use one like wikipedia.org")
    return _ascii(bare)


def _ascii(host: str) -> str:
    host = host.rstrip(".").lower()
    try:
        return host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
