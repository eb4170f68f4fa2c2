"""What sites ask of programs, and that it is done (RFC 9309)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import Answer
from page_server import STORY, Site, fetch, fetcher, moved, page
from veridical.knowledge.web.fetch import PageError
from veridical.knowledge.web.robots import Rules, parse

PAGE = page(STORY, "text/plain")


async def test_robots_txt_is_respected_asked_once_and_may_be_left_out():
    rules = page("User-agent: *\nDisallow: /closed\n", "text/plain")
    async with Site({"/robots.txt": rules, "/closed/a": PAGE, "/open": PAGE, "/to": moved("/closed/a")}) as site:
        own = fetcher(site, respect_robots=True)
        for path in ("/closed/a", "/to"):
            with pytest.raises(PageError, match=r"robots\.txt closes it"):
                await own.fetch(site.at(path))
        await own.fetch(site.at("/open"))
        await own.close()
        assert site.asked == ["/robots.txt", "/to", "/open"]
        own = fetcher(site, respect_robots=False)
        await own.fetch(site.at("/closed/a"))
        await own.close()


@pytest.mark.parametrize(
    "answer",
    [Answer(b"", status=404), Answer(b"", status=403), Answer(b"", status=503), page(reset=True), moved("/robots.txt"),
     page("<html>Not found"), page(b"\xff\xfe\x00", "text/plain"), moved("http://169.254.169.254/")],
)  # fmt: skip
async def test_a_robots_txt_that_cannot_be_had_closes_nothing(answer):
    found, _ = await fetch(pages={"/robots.txt": answer, "/page": PAGE}, respect_robots=True)
    assert STORY.strip() in found.text


async def test_a_robots_txt_that_is_too_long_is_read_as_far_as_may_be():
    text = "User-agent: *\nDisallow: /page\n" + "# nothing\n" * 100_000
    with pytest.raises(PageError, match="closes it"):
        await fetch(pages={"/robots.txt": page(text, "text/plain"), "/page": PAGE}, respect_robots=True)


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [  # the examples of RFC 9309, sections 2.2 and 5, and of its errata, with our name
        ("User-agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/", "/example/a", False),
        ("User-agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/", "/publications/a.gif", True),
        ("User-agent: *\nDisallow: *.gif$", "/a.gif", False),
        ("User-agent: *\nDisallow: *.gif$", "/a.gif?x", True),
        ("User-agent: veridical\nAllow: /a/\nDisallow: /a/b.gif", "/a/b.gif", False),
        ("User-agent: *\nDisallow: /\nUser-agent: veridical\nDisallow:", "/a", True),
        ("User-agent: veridical/1.0\nUser-agent: other\nDisallow: /a", "/ab", False),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("USER-AGENT: Veridical # us\nDISALLOW : /a # this", "/a", False),
        ("User-agent: veridical\nDisallow: /a\n\nUser-agent: x\n\nUser-agent: veridical\nDisallow: /c", "/c", False),
        ("User-agent: *\nDisallow: /\nAllow: /wiki/", "/wiki/Bridge", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /a*b*c$", "/axxbxxc", False),
        ("User-agent: *\nDisallow: /a*b*c$", "/axxbxxcd", True),
        ("User-agent: *\nDisallow: /ab*b$", "/ab", True),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a$", "/ab", True),
        ("User-agent: *\nDisallow: /*?", "/a?b", False),
        ("User-agent: *\nDisallow: /b%C3%BCcher", "/bücher", False),
        ("User-agent: *\nDisallow: /bücher", "/b%c3%bccher", False),
        ("User-agent: *\nDisallow: /a%2Fb", "/a/b", True),
        ("\ufeffUser-agent: *\r\nDisallow: /", "/robots.txt", True),
        ("Disallow: /", "/a", True), ("", "/a", True), ("User-agent: *", "/a", True), ("nonsense", "/a", True),
    ],
)  # fmt: skip
def test_rules_of_robots_txt(text, path, allowed):
    assert parse(text).allow(path) is allowed


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_robots_txt_is_some_rules(text, path):
    lines = f"User-agent: *\nDisallow: {text}\n{text}"
    assert parse(lines).allow(path) in (True, False)
    assert Rules().allow(path)


def test_a_hostile_robots_txt_is_matched_in_time():
    """By regular expressions with a wildcard it would not end."""
    rules = parse(
        "User-agent: *\nDisallow: /" + "*a" * 2000 + "b\n" + "User-agent: x\n" * 20_000 + "Allow: /\n" * 20_000
    )
    assert rules.allow("/" + "a" * 4000)
