"""MediaWiki dumps: every packing, cut anywhere, broken anywhere."""

import bz2
import gzip
import itertools
import pickle
import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dump_files import END, HEAD, articles, multistream, page, write, xml
from veridical.errors import InputError, UsageError
from veridical.knowledge.documents import Record
from veridical.knowledge.sources import Bad, Passed, Unit, about, dump, files, mediawiki, pages, read, streams, units
from veridical.knowledge.sources import base as sources_base

PAGES = articles(60)
TITLES = [f"Place {n}" for n in range(60)]


def titles(found):
    return [one.title for one in found if isinstance(one, Record)]


def troubles(found):
    return [str(one.error()) for one in found if isinstance(one, Bad)]


def in_units(path, passed=None):
    """What all units give together, each sent to another process as bytes."""
    pieces = [pickle.loads(pickle.dumps(piece)) for piece in units([path])]
    return [one for piece in pieces for one in read(piece, passed=passed)], pieces


@pytest.fixture
def small_units(monkeypatch):
    """Units of a few pages."""
    monkeypatch.setattr(streams, "UNIT_BYTES", 3_000)
    monkeypatch.setattr(streams, "GROUP_BYTES", 600)


@pytest.mark.parametrize("packing", ["", ".bz2", ".gz", ".xz"])
def test_every_packing_gives_the_same_pages(tmp_path, packing):
    path = write(tmp_path, [*PAGES, page("Talk: Place", "x", ns=1)], packing=packing)
    found, _ = in_units(path)
    assert titles(found) == TITLES and troubles(found) == []
    first = found[0]
    assert (first.id, first.date, first.url) == ("0", "2023-03-30T09:12:01Z", "https://en.wikipedia.org/wiki/Place_0")
    assert "Place 0 lies at 0 km." in " ".join(section.text for section in first.sections)


def test_zstandard_is_read_or_says_what_to_do(tmp_path):
    path = tmp_path / "w.xml.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 100)
    with pytest.raises(UsageError, match=r"Python 3\.14 or later; unpack it first|damaged"):
        list(units([path]))


def test_plain_xml_is_cut_into_units_that_add_up(tmp_path, small_units):
    path = write(tmp_path, PAGES)
    found, pieces = in_units(path)
    assert len(pieces) > 5 and titles(found) == TITLES and troubles(found) == []
    assert sum(piece.bytes for piece in pieces) == path.stat().st_size
    assert len({piece.key for piece in pieces}) == len(pieces)
    assert list(units([path])) == pieces  # the same again: to resume by
    path.write_bytes(path.read_bytes() + b" ")
    assert {piece.key for piece in units([path])}.isdisjoint(piece.key for piece in pieces)


@pytest.mark.parametrize("each", [1, 7])
@pytest.mark.parametrize("index", [True, False])
def test_multistream_with_or_without_its_index(tmp_path, small_units, each, index):
    packed, lines = multistream(PAGES, each)
    path = tmp_path / "enwiki-20230401-pages-articles-multistream.xml.bz2"
    path.write_bytes(packed)
    if index:
        (tmp_path / "enwiki-20230401-pages-articles-multistream-index.txt.bz2").write_bytes(lines)
    found, pieces = in_units(tmp_path)
    assert len(pieces) > 2 and titles(found) == TITLES and troubles(found) == []
    assert [piece.start for piece in pieces][1:] == [piece.end for piece in pieces][:-1]
    starts = {int(line.split(b":")[0]) for line in bz2.decompress(lines).splitlines()}
    assert {piece.start for piece in pieces[1:]} <= starts | {len(packed) - len(bz2.compress(END.encode()))}


def test_streams_that_begin_amid_pages(tmp_path, small_units):
    """As pbzip2 packs: a new stream every so many bytes."""
    whole = xml(PAGES)
    path = tmp_path / "w.xml.bz2"
    path.write_bytes(b"".join(bz2.compress(whole[at : at + 777]) for at in range(0, len(whole), 777)))
    found, pieces = in_units(path)
    assert len(pieces) > 5 and titles(found) == TITLES and troubles(found) == []


def test_padding_behind_the_last_stream_is_no_damage(tmp_path):
    path = tmp_path / "w.xml.bz2"
    path.write_bytes(multistream(PAGES, 20)[0] + bytes(1000))
    found = list(pages(path))
    assert titles(found) == TITLES and troubles(found) == []


def test_an_index_alone_is_no_source(tmp_path):
    (tmp_path / "enwiki-20230401-pages-articles-multistream-index.txt.bz2").write_bytes(multistream(PAGES, 5)[1])
    with pytest.raises(UsageError, match="the index of a dump, which is not needed; give the dump itself"):
        files(next(tmp_path.iterdir()))


def test_several_parts_of_a_dump(tmp_path):
    for part, name in enumerate(("xml-p1p41242", "xml-p41243p151573")):
        (tmp_path / f"enwiki-20230401-pages-articles{part + 1}.{name}.bz2").write_bytes(
            bz2.compress(xml(PAGES[part * 30 : part * 30 + 30]))
        )
    assert titles(in_units(tmp_path)[0]) == TITLES
    told = about([tmp_path])
    assert (told.site, told.language, told.snapshot, told.licence) == ("enwiki", "en", "20230401", "CC BY-SA 3.0")


def test_a_wiki_elsewhere_has_no_licence_that_is_known(tmp_path):
    head = HEAD.replace("https://en.wikipedia.org/wiki/Main_Page", "http://wiki.example.org/index.php?title=Main_Page")
    path = write(tmp_path, PAGES[:1], head=head.replace('"en"', '"de"'), name="mine")
    told = about([path])
    assert (told.language, told.snapshot, told.licence) == ("de", None, None)
    [record] = pages(path)
    assert record.url == "http://wiki.example.org/index.php?title=Place_0"


def test_licence_by_the_day_of_the_dump():
    wiki = mediawiki.Site(base="https://de.wikipedia.org/wiki/Wikipedia:Hauptseite")
    assert [wiki.licence(day) for day in ("20230601", "20230607", None)] == [
        "CC BY-SA 3.0", "CC BY-SA 4.0", "CC BY-SA 4.0",
    ]  # fmt: skip
    assert wiki.url("Ünder/Sub page?") == "https://de.wikipedia.org/wiki/%C3%9Cnder/Sub_page%3F"
    assert mediawiki.Site(base="https://wikipedia.org.evil.example/x").licence(None) is None


# Which pages


def test_w3_the_ns_element_decides_and_not_a_colon(tmp_path):
    held = [
        page("Harbour Nights: The Second Voyage", "A film."),
        page("Talk: Harbour Nights", "Discussion.", ns=1),
        page("Template:Film", "{{{1}}}", ns=10),
        page("Talk: The Film", "A film about talking, whatever its title."),
    ]
    passed = Passed()
    found, _ = in_units(write(tmp_path, held), passed)
    assert titles(found) == ["Harbour Nights: The Second Voyage", "Talk: The Film"]
    assert passed == {"namespace 1 (Talk)": 1, "namespace 10 (Template)": 1}


def test_w3_exports_without_ns_elements_by_the_declared_names(tmp_path):
    held = [page("Harbour: Nights", "A film.", ns=None), page("Template:Film", "x", ns=None)]
    assert titles(pages(write(tmp_path, held))) == ["Harbour: Nights"]


def test_redirects_by_element_and_by_text(tmp_path):
    held = [
        page("A. B.", "#REDIRECT [[Anna Bell]]", redirect="Anna Bell"),
        page("Bell", " #redirect:[[Anna_Bell#Life|her]]"),
        page("Glocke", "#WEITERLEITUNG [[Anna Bell]]"),
        page("Section", "#REDIRECT [[X]]", redirect="Anna Bell#Life"),
        page("Anna Bell", "# a list\n# [[not a redirect]]"),
    ]
    found = list(pages(write(tmp_path, held)))
    assert [(one.title, one.target) for one in found] == [
        ("A. B.", "Anna Bell"), ("Bell", "Anna Bell"), ("Glocke", "Anna Bell"), ("Section", "Anna Bell"),
        ("Anna Bell", None),
    ]  # fmt: skip
    assert found[0].sections == ()


def test_other_models_and_pages_without_text_are_counted(tmp_path):
    held = [
        page("A", "text"), page("B", "  "), page("C", '{"a": 1}', model="json"),
        page("D", "", opening='<text deleted="deleted" bytes="7">'),
    ]  # fmt: skip
    passed = Passed()
    found, _ = in_units(write(tmp_path, held), passed)
    assert titles(found) == ["A"] and troubles(found) == []
    assert passed == {"without text": 2, "with content model json": 1}


def test_of_several_revisions_the_last_one_counts(tmp_path):
    second = '    </revision>\n    <revision>\n      <id>99</id>\n      <text bytes="3">It is new.</text>\n'
    [record] = pages(write(tmp_path, [page("A", "It is old.", more=second)]))
    assert "new" in record.sections[0].text and "old" not in record.sections[0].text


def test_text_is_unescaped_once(tmp_path):
    [record] = pages(write(tmp_path, [page("R&D <i>", "AT&T has 3 < 5 and &amp;nbsp; signs.")]))
    assert record.title == "R&D <i>" and "AT&T has 3 < 5" in record.sections[0].text


# What is no dump of articles


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"<!DOCTYPE html><html><body>429 Too Many Requests</body></html>", "found an HTML page"),
        (b"<?xml version='1.0'?>\n<!-- x -->\n<rss><channel/></rss>", "found XML of <rss>"),
        (b"<feed>\n<doc><title>Wikipedia: A</title><abstract>x</abstract></doc></feed>", "a dump of abstracts"),
        (b'{"title": "A"}', "found text that begins"),
        (gzip.compress(b"<mediawiki>"), "found a gzip archive"),
        (HEAD.encode() + b"<logitem><id>1</id></logitem></mediawiki>", "a dump of log entries"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"),
        (HEAD.encode().replace(b"<mediawiki", b'<?xml version="1.0" encoding="utf-16"?><mediawiki'), "XML in utf-16"),
        (b"\xff\xfe" + HEAD.encode("utf-16-le"), "text in UTF-16"),
    ],
)  # fmt: skip
def test_w1_what_is_no_dump_is_named_at_once(tmp_path, content, said):
    path = tmp_path / "w.xml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(said)):
        next(units([path]))


def test_w1_a_wrong_packing_is_named_at_once(tmp_path):
    path = tmp_path / "w.xml.bz2"
    for content, said in (
        (b"<html>", "packed with bzip2, found an HTML page"),
        (b"BZh9xxxx", "damaged or cut off bzip2"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=said):
            next(units([path]))


@pytest.mark.parametrize("packing", ["", ".bz2", ".gz"])
def test_w1_a_stub_dump_is_named(tmp_path, packing):
    held = [page(f"P {n}", opening=f'<text bytes="812" sha1="x" location="tt:{n}" id="{n}">') for n in range(9)]
    with pytest.raises(InputError, match="a stub dump: its pages have no text"):
        next(units([write(tmp_path, held, packing=packing)]))


@pytest.mark.parametrize("packing", ["", ".bz2", ".gz"])
def test_w1_no_article_at_all_is_a_failure_that_says_what_is_there(tmp_path, packing):
    held = [page("Talk:A", "x", ns=1), page("Talk:B", "x", ns=1), page("C", " "), page("R", "x", redirect="A")]
    with pytest.raises(
        InputError, match=r"without an article; pages in it: 2 of namespace 1 \(Talk\), 1 without text, 1 r"
    ):
        list(pages(write(tmp_path, held, packing=packing)))
    with pytest.raises(InputError, match="pages in it: none"):
        list(pages(write(tmp_path, [], packing=packing)))


def test_w1_no_article_in_many_units(tmp_path, small_units):
    held = [page(f"Talk:{n}", "x" * 300, ns=1) for n in range(40)]
    path = write(tmp_path, held)
    assert len(list(units([path]))) > 3
    with pytest.raises(InputError, match="40 of namespace 1"):
        list(pages(path))


def test_other_xml_in_a_folder_is_passed_over(tmp_path):
    (tmp_path / "pom.xml").write_text("<project/>", encoding="utf-8")
    path = write(tmp_path, PAGES[:2])
    assert files(tmp_path) == [path]
    (tmp_path / "z.xml").write_text("<!DOCTYPE html><html>", encoding="utf-8")
    with pytest.raises(InputError, match="found an HTML page"):
        list(units([tmp_path]))


# Broken and hostile ones


WHOLE = {
    "": xml(PAGES),
    ".gz": gzip.compress(xml(PAGES)),
    ".bz2": multistream(PAGES, 5)[0],
}


@pytest.mark.parametrize("packing", ["", ".gz", ".bz2"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_w1_cut_off_anywhere_keeps_what_stands_before(tmp_path, packing, data):
    whole = WHOLE[packing]
    # the last line end is no loss
    size = data.draw(st.integers(1, len(whole) - 2), label="size")
    path = tmp_path / f"enwiki.xml{packing}"
    path.write_bytes(whole[:size])
    try:
        found = [one for piece in units([path]) for one in read(piece)]
    except InputError as error:  # so early that nothing is left
        assert str(path) in str(error)
        return
    kept = titles(found)
    assert kept == TITLES[: len(kept)]
    said = troubles(found)
    assert said and all(str(path) in one and "cut off" in one for one in said)
    if not packing:
        assert kept == TITLES[: whole[:size].count(b"</page>")]
        assert re.search(rf"at byte {size:,}\b", said[-1])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cuts_give_every_page_once(tmp_path, data):
    whole = WHOLE[""]
    path = tmp_path / "w.xml"
    path.write_bytes(whole)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=12)))
    edges = [0, *cuts, len(whole)]
    found = []
    for start, end in itertools.pairwise(edges):
        piece = Unit(file=str(path), kind="dump", start=start, end=end, key="k", bytes=end - start)
        found += list(read(piece))
    assert titles(found) == TITLES and troubles(found) == []


def test_a_damaged_stream_loses_only_its_own_pages(tmp_path):
    packed, _ = multistream(PAGES, 5)
    starts = [found.start() for found in streams.MAGIC.finditer(packed)]
    hurt = bytearray(packed)
    hurt[starts[4] + 40 : starts[4] + 60] = bytes(20)
    path = tmp_path / "w.xml.bz2"
    path.write_bytes(hurt)
    found = list(pages(path))
    assert titles(found) == TITLES[:15] + TITLES[20:]
    [said] = troubles(found)
    assert "damaged" in said and "bzip2" in said


def test_a_broken_page_spoils_no_other(tmp_path):
    held = [
        page("A", "x"),
        page("B", "x").replace("</text>", "</txt>"),
        page("C", "x").replace("Anna", "&lol;"),
        page("D", "x").encode().replace(b"Anna", b"\xe9\xe8").decode("latin-1"),
        page("E", "x"),
    ]
    path = tmp_path / "w.xml"
    path.write_bytes((HEAD + "".join(held) + END).encode("latin-1"))
    found = list(pages(path))
    assert titles(found) == ["A", "E"]
    said = troubles(found)
    assert len(said) == 3 and all("a broken page" in one for one in said)
    assert "'B', at byte" in said[0] and "undefined entity" in said[1] and "not UTF-8" in said[2]


def test_control_characters_and_half_surrogates_are_left_out(tmp_path):
    whole = xml([page("A", "Before NULafter REF end.")])
    whole = whole.replace(b"NUL", b"\x00\x08").replace(b"REF", b"&#xD800;&#0;&#233;")
    path = tmp_path / "w.xml"
    path.write_bytes(whole)
    [record] = pages(path)
    assert "Before after é end." in record.sections[0].text
    path.write_bytes(xml([page("B", "Half XX here.")]).replace(b"XX", b"\xed\xa0\x80"))
    [record] = pages(path)
    assert "Half \ufffd here." in record.sections[0].text


def test_entities_of_its_own_are_refused(tmp_path):
    laughs = '<!DOCTYPE mediawiki [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>\n'
    path = write(tmp_path, [page("A", "x")], head=laughs + HEAD, name="w")
    with pytest.raises(InputError, match="DOCTYPE"):
        next(units([path]))


def test_a_page_that_is_too_long_is_cut_with_a_word(tmp_path, monkeypatch):
    monkeypatch.setattr(dump, "LONGEST_PAGE", 1 << 20)
    held = [page("A", "x"), page("Long", "It is long. " + "word " * 800_000), page("B", "x")]
    found = list(pages(write(tmp_path, held)))
    assert titles(found) == ["A", "Long", "B"]
    assert "a page of more than 1 MB, of which the beginning is kept" in troubles(found)[0]
    assert len(found[1].sections[0].text) < 3 << 20


def test_memory_is_bounded_by_a_page_that_never_ends(tmp_path, monkeypatch):
    import tracemalloc

    monkeypatch.setattr(dump, "LONGEST_PAGE", 1 << 20)
    path = tmp_path / "w.xml.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write((HEAD + page("A", "x") + page("B", "").partition("</text>")[0]).encode())
        for _ in range(120):
            file.write(b"a b\n" * (1 << 18))
    tracemalloc.start()
    found = list(pages(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 << 20
    assert titles(found)[0] == "A" and any("cut off" in one for one in troubles(found))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400) | st.text(max_size=200).map(str.encode))
def test_any_bytes_as_a_page_are_a_page_or_a_reason(content):
    try:
        found = mediawiki.page(b"<page>" + content + b"</page>")
    except ValueError as error:
        assert str(error)
    else:
        assert isinstance(found, mediawiki.Page)


def test_random_damage_never_breaks_out(tmp_path):
    dice = random.Random(4)
    path = tmp_path / "w.xml.bz2"
    for _ in range(25):
        hurt = bytearray(WHOLE[".bz2"])
        for _ in range(dice.randint(1, 6)):
            hurt[dice.randrange(len(hurt))] = dice.randrange(256)
        path.write_bytes(hurt)
        try:
            found = list(pages(path))
        except InputError:
            continue
        assert set(titles(found)) <= set(TITLES)
        assert len(titles(found)) == 60 or troubles(found)


def test_sizes_are_what_the_docs_say():
    assert sources_base.UNIT_BYTES == 8 << 20 and streams.GROUP_BYTES == 2 << 20
