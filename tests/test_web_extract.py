"""What is read of a page's bytes: HTML, PDF, plain text, character sets, and hostile files."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from page_server import BRIDGE, STORY, Site, pdf
from veridical.errors import SearchError, UsageError
from veridical.knowledge.web import extract as extracting
from veridical.knowledge.web.charset import decode
from veridical.knowledge.web.extract import Readers, available, extract
from veridical.knowledge.web.reader import CHARACTERS, TAGS, read

URL = "https://example.org/bridge"


def html(text, head=""):
    return f"<html><head>{head}<title>t</title></head><body><article><p>{text}</p></article></body></html>"


# HTML


def test_the_main_text_with_its_tables_and_without_menus_comments_and_scripts():
    found = read(BRIDGE.encode(), "text/html; charset=utf-8", URL)
    assert STORY.strip() in found.text
    assert "120 m" in found.text
    for word in ("never run", "Home", "First comment", "<"):
        assert word not in found.text
    assert (found.title, found.date) == ("The bridge", "2021-05-04")


def test_a_date_is_what_the_page_states_and_not_a_guess():
    found = read(html(f"{STORY} It was painted on 4 May 2015. © 2019 The Orlen Society.").encode(), "text/html", URL)
    assert found.date is None


@pytest.mark.parametrize(
    "body",
    [
        f"<p>{STORY}", f"<html><body><div><p>{STORY}<b><i></p></div></span></html></html>", f"{STORY}",
        f"<table><tr><td>{STORY}", f"<p>{STORY}</p><a href='", f"<!doctype html><p <p>{STORY}</p>",
        f"<?xml version='1.0' encoding='utf-8'?><html xmlns='http://www.w3.org/1999/xhtml'><p>{STORY}</p></html>",
        f"<div>{'<div>' * 3000}<p>{STORY}</p>", f"<ul>{'<li><b>' * 3000}{STORY}",
        f"<script>if (a < b) {{</script><style>p {{}}</style><noscript>No</noscript><p>{STORY}",
    ],
)  # fmt: skip
def test_broken_html_is_read_as_far_as_it_goes(body):
    assert STORY.strip() in read(body.encode(), "text/html", URL).text


def test_html_with_very_many_tags_is_stripped_instead_of_parsed():
    body = "<title>Long &amp; flat</title><script>x()</script>" + f"<p>a<b>b</b>\nc</p><p>{STORY}</p>" + "<br>" * TAGS
    found = read(body.encode(), "text/html", URL)
    assert found.text == f"ab c\n\n{STORY.strip()}"
    assert found.title == "Long & flat"


def test_texts_have_a_bound_and_no_characters_that_cannot_be_stored():
    assert len(read(b"word " * CHARACTERS, "text/plain", URL).text) <= CHARACTERS
    found = read("a\x00b\u200b c\x1b d&#xD800;".encode(), "text/plain", URL)
    assert found.text == "ab c d&#xD800;"
    for body in (
        b"<title>&#xD800;</title><p>hello &#xDFFF; &#0; world",
        "a\ud800b".encode("utf-16-le", "surrogatepass"),
    ):
        found = read(body, "text/html; charset=utf-16le" if b"\xd8" in body else "text/html", URL)
        (found.text + found.title).encode()


async def test_nothing_is_fetched_while_a_page_is_read():
    async with Site({}) as site:
        body = f"""<!DOCTYPE html SYSTEM "{site.at("/a.dtd")}" [<!ENTITY x SYSTEM "{site.at("/x")}">
        <!ENTITY y SYSTEM "file:///etc/passwd">]><html><head><meta http-equiv="refresh" content="0; {site.at("/r")}">
        <base href="{site.at("/base")}"><link rel="stylesheet" href="/s.css"><script src="/s.js"></script></head><body>
        <article><p>{STORY * 3} &x; &y;</p><img src="/i.png"><iframe src="/f"></iframe></article></body></html>"""
        for kind in ("text/html", "application/xhtml+xml"):
            found = await extract(body.encode(), kind, site.at("/"))
            assert STORY.strip() in found.text
            assert "root:" not in found.text
        assert site.connections == 0


# Character sets

TEXTS = {
    "windows-1251": "Мост через реку был построен в 1862 году.",
    "koi8-r": "Мост через реку был построен в 1862 году.",
    "shift_jis": "橋は千八百六十二年に完成した。",
    "euc-jp": "橋は千八百六十二年に完成した。",
    "iso-2022-jp": "橋は千八百六十二年に完成した。",
    "gb2312": "这座桥于一八六二年建成。",
    "big5": "這座橋於一八六二年建成。",
    "euc-kr": "다리는 천팔백육십이년에 완성되었다.",
    "iso-8859-1": "Die Brücke über die Orlen wurde 1862 fertig.",
    "utf-8": "Die Brücke — „fertig“ 1862 橋.",
}


@pytest.mark.parametrize("place", ["header", "meta", "http-equiv"])
@pytest.mark.parametrize("name", TEXTS)
def test_character_sets_that_are_named(name, place):
    head = {
        "header": "",
        "meta": f'<meta charset="{name}">',
        "http-equiv": f'<meta http-equiv="Content-Type" content="text/html; charset={name}">',
    }[place]
    kind = f'text/html; charset="{name.upper()}"' if place == "header" else "text/html"
    assert TEXTS[name] in read(html(TEXTS[name] * 4, head).encode(name), kind, URL).text


@pytest.mark.parametrize("name", ["utf-8", "utf-16", "utf-8-sig"])
def test_a_byte_order_mark_goes_before_all(name):
    body = html(TEXTS["utf-8"], '<meta charset="koi8-r">').encode(name)
    assert TEXTS["utf-8"] in read(body, "text/html; charset=windows-1251", URL).text


@pytest.mark.parametrize(
    "kind", ["text/html; charset=iso-8859-1", "text/html; charset=shift_jis", "text/html; charset="]
)
def test_bytes_that_are_utf_8_are_read_so_whatever_they_are_called(kind):
    assert TEXTS["utf-8"] in read(html(TEXTS["utf-8"], '<meta charset="utf-16">').encode(), kind, URL).text


def test_a_page_that_calls_itself_utf_8_and_is_not_is_guessed_and_one_bad_byte_does_not_matter():
    text = TEXTS["windows-1251"] * 20
    assert decode(text.encode("windows-1251"), "text/plain; charset=utf-8") == text
    assert decode(text.encode() + b"\xff", "text/plain; charset=utf-8") == text + "\ufffd"


def test_what_windows_means_by_latin_1():
    assert decode(b"\x93quoted\x94 \x96 \xe9", "text/plain; charset=iso-8859-1") == "“quoted” – é"


@pytest.mark.parametrize(
    "name", ["undefined", "punycode", "idna", "unicode_escape", "utf-7", "hex", "zlib", "rot13", "x"]
)
@pytest.mark.parametrize("place", ["header", "meta"])
def test_codecs_that_are_no_character_sets_are_not_used(name, place):
    """The first two raised an error that is none of ours."""
    text = "1 + 1 = +AGE- \\u0041 xn--a-b"
    body = html(text, f"<meta charset={name}>" if place == "meta" else "")
    assert text in read(body.encode(), f"text/html; charset={name}" if place == "header" else "text/html", URL).text
    assert decode(text.encode(), f"text/plain; charset={name}") == text


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.one_of(st.text(max_size=30), st.sampled_from(list(TEXTS)).map("charset={}".format)))
def test_any_bytes_are_some_text(body, kind):
    assert isinstance(decode(body, kind, html=True), str)


@given(st.text(max_size=200), st.sampled_from(["utf-8", "utf-16", "gb18030", "utf-32"]))
def test_a_text_in_a_character_set_that_is_named_is_read_back(text, name):
    text = text.replace("\ufeff", "").replace("\ufffd", "")
    if name != "gb18030" or not _valid(text.encode(name, "replace")):
        body = text.encode(name, "replace")
        assert decode(body, f"text/plain; charset={name}") == body.decode(name)


def _valid(body):
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


# PDF and others


def test_a_pdf():
    found = read(pdf("The bridge was finished in 1862.", date="D:20210504120000Z"), "application/pdf", URL)
    assert found.text == "The bridge was finished in 1862."
    assert (found.title, found.date) == ("About a bridge", "2021-05-04")
    for kind in ("application/octet-stream", "", "text/html"):
        assert read(b"\n" + pdf("A bridge."), kind, URL).text == "A bridge."


def test_a_long_pdf_is_read_up_to_its_hundredth_page():
    assert read(pdf("Again.", pages=120), "application/pdf", URL).text.count("Again.") == 100


def test_an_encrypted_pdf_is_refused_and_one_that_opens_without_a_password_is_read():
    with pytest.raises(SearchError, match="encrypted"):
        read(pdf("A secret.", password="key"), "application/pdf", URL)
    assert read(pdf("No secret.", password=""), "application/pdf", URL).text == "No secret."


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"%PDF-1.4 broken", "application/pdf", "the PDF is broken"), (b"", "application/pdf", "the PDF is broken"),
        (pdf("A bridge.")[:300], "application/pdf", "broken|no text"), (pdf(""), "application/pdf", "no text"),
        (b"", "text/html", "no text"), (b" \n\x00\t ", "text/plain", "no text"), (b"<p></p>", "text/html", "no text"),
        (b"<script>x</script>", "text/html", "no text"), (b"GIF89a", "image/gif", "image/gif is not read"),
        (b"\x7fELF", "", "unknown type is not read"), (b"PK", "application/octet-stream", "octet-stream is not read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(body, kind, words):
    with pytest.raises(SearchError, match=words):
        read(body, kind, URL)


def test_plain_text_and_pages_that_do_not_say_what_they_are():
    assert read("Eine  Brücke.\r\n\r\nFertig.\n".encode(), "TEXT/PLAIN", URL).text == "Eine Brücke.\n\nFertig."
    assert STORY.strip() in read(f"<!DOCTYPE html><p>{STORY}".encode(), "", URL).text


PIECES = (
    "<", ">", "<p>", "</", "<!", "<!--", "-->", "<![CDATA[", "]]>", "<?", "&#", "&#x", ";", "a", "<table>", "<td>", "é",
    "<title>", "<script>", "</script>", "<math>", "<svg>", "\x00", '"', "<a href=", "<meta charset=", "<body",
)  # fmt: skip
PDF = pdf("A bridge.")
WILD = st.one_of(
    st.binary(max_size=400),
    st.text(max_size=200).map(lambda text: f"<html><p>{text}<b>".encode("utf-8", "replace")),
    st.lists(st.sampled_from(PIECES), max_size=30).map(lambda pieces: "".join(pieces).encode()),
    st.binary(max_size=200).map(lambda tail: b"%PDF-1.5\n" + tail),
    st.builds(lambda place, more: PDF[:place] + more + PDF[place:], st.integers(0, 400), st.binary(max_size=20)),
)


@settings(max_examples=120, deadline=None)
@given(WILD, st.sampled_from(["text/html", "text/html; charset=undefined", "text/plain", "application/pdf", "", "x/y"]))
def test_any_bytes_are_a_text_or_a_search_error(body, kind):
    try:
        found = read(body, kind, URL)
    except SearchError:
        return
    assert found.text.strip() == found.text != ""
    (found.text + found.title + (found.date or "")).encode()


# The processes


async def test_readers_are_used_again_and_are_no_more_than_they_may_be():
    readers = Readers(limit=2)
    found = await asyncio.gather(*(readers.read(f"Page {n}.".encode(), "text/plain", URL) for n in range(8)))
    assert [one.text for one in found] == [f"Page {n}." for n in range(8)]
    assert len(readers._idle) <= 2
    with pytest.raises(SearchError, match="image/gif"):
        await readers.read(b"x", "image/gif", URL)
    assert len(readers._idle) <= 2
    kept = [process.pid for process in readers._idle]
    assert (await readers.read(b"Once more.", "text/plain", "http://a/\ud800")).text == "Once more."
    assert [process.pid for process in readers._idle] == kept or len(kept) == 2
    await readers.close()
    assert not readers._idle


async def test_a_page_that_keeps_its_reader_busy_is_given_up_and_the_next_one_is_read(monkeypatch):
    """html.parser takes hours for this."""
    started = []

    async def noted(seconds, start=extracting._started):
        started.append(await start(seconds))
        return started[-1]

    monkeypatch.setattr(extracting, "_started", noted)
    readers = Readers(limit=1, seconds=2)
    with pytest.raises(SearchError, match="could not be read within 2 s"):
        await readers.read(b"<!--" * 1_000_000, "text/html", URL)
    assert started[0].returncode is not None
    readers.seconds = 30
    assert (await readers.read(b"Next.", "text/plain", URL)).text == "Next."
    await readers.close()


async def test_a_reader_that_has_died_is_replaced():
    readers = Readers(limit=1)
    assert (await readers.read(b"First.", "text/plain", URL)).text == "First."
    readers._idle[0].kill()
    await readers._idle[0].wait()
    assert (await readers.read(b"Second.", "text/plain", URL)).text == "Second."
    os.kill(readers._idle[0].pid, 19 if sys.platform == "linux" else 17)  # stopped: it answers no more
    readers.seconds = 1
    with pytest.raises(SearchError, match="within 1 s"):
        await readers.read(b"Third.", "text/plain", URL)
    await readers.close()


async def test_readers_do_not_get_the_keys_of_the_environment(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "secret")
    readers = Readers(limit=1)
    await readers.read(b"First.", "text/plain", URL)
    if sys.platform == "linux":
        assert b"SOME_API_KEY" not in Path(f"/proc/{readers._idle[0].pid}/environ").read_bytes()  # noqa: ASYNC240
    await readers.close()


def test_without_the_libraries_the_install_command_is_told(monkeypatch):
    monkeypatch.setattr(extracting.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'veridical\[pages\]'"):
        available()
