"""HTML, PDF and Word files as pages: real files, and hostile ones."""

import io
import os
import signal
import zipfile

import pytest

from page_server import BRIDGE, STORY, pdf
from veridical.errors import SearchError, UsageError
from veridical.knowledge.documents import Record
from veridical.knowledge.sources import Bad, files, pages, papers, read, units, word

docx = pytest.importorskip("docx")


@pytest.fixture(autouse=True, scope="module")
def _ended():
    yield
    papers.close()


def one(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    [found] = pages(path)
    return found


def saved(document):
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def reason(found):
    assert isinstance(found, Bad), found
    return found.reason


# HTML and PDF


def test_html(tmp_path):
    found = one(tmp_path, "bridge.html", BRIDGE.encode())
    assert isinstance(found, Record)
    assert (found.title, found.date, found.file) == ("The bridge", "2021-05-04", str(tmp_path / "bridge.html"))
    [section] = found.sections
    assert STORY.strip() in section.text and "never run" not in section.text


def test_html_in_another_encoding_and_without_a_title(tmp_path):
    source = f'<html><head><meta charset="iso-8859-2"></head><body><p>{"Łódź lies in Poland. " * 20}</p></body></html>'
    found = one(tmp_path, "The_city.htm", source.encode("iso-8859-2"))
    assert isinstance(found, Record)
    assert "Łódź lies in Poland." in found.sections[0].text and found.title == "The city"


def test_pdf_with_more_pages_than_a_page_of_the_web_may_have(tmp_path):
    found = one(tmp_path, "report.pdf", pdf("The bridge is 120 m long.", pages=130))
    assert isinstance(found, Record)
    assert found.title == "About a bridge" and found.sections[0].text.count("120 m") == 130


def test_what_is_cut_is_told(tmp_path):
    answered = papers.reader.read(pdf("It is long.", pages=5), "application/pdf", "", pages=3)
    assert answered.cut and answered.text.count("It is long.") == 3
    assert not papers.reader.read(pdf("It is long.", pages=3), "application/pdf", "", pages=3).cut
    assert papers.reader.read(b"<p>" + b"word " * 100, "text/html", "", characters=50).cut


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pdf", b"", "the file is empty"),
        ("a.pdf", b"<html>no</html>", "the PDF is broken"),
        ("a.pdf", b"%PDF-1.4\n" + b"x" * 500, "the PDF is broken"),
        ("a.pdf", pdf("x", password="secret"), "encrypted"),
        ("a.html", b"<html><body></body></html>", "has no text"),
        ("a.docx", b"\xd0\xcf\x11\xe0" + b"x" * 99, r"save it as .docx"),
        ("a.docx", b"PK\x03\x04" + b"x" * 99, "broken"),
        ("a.docx", b"hello", "broken or no Word file"),
    ],
)
def test_w1_what_cannot_be_read_is_one_bad_page(tmp_path, name, content, said):
    assert said in reason(one(tmp_path, name, content))


def test_a_document_too_large_is_not_read(tmp_path):
    path = tmp_path / "a.pdf"
    with path.open("wb") as file:
        file.truncate((64 << 20) + 1)
    [found] = pages(path)
    assert "more than 64 MB" in reason(found)


# Word


def paper():
    document = docx.Document()
    document.add_heading("The mill of Orlen", level=0)
    document.add_paragraph("The mill was built in 1862.")
    document.add_heading("Fire", level=1)
    document.add_paragraph("It burned in 1901.")
    document.add_paragraph("Two men died", style="List Bullet")
    document.add_heading("Owners", level=2)
    table = document.add_table(rows=3, cols=2)
    for row, cells in zip(
        table.rows, (("Owner", "Years"), ("A. Kraus", "1862–1890"), ("The town", "1890–")), strict=True
    ):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    return document


def test_word_headings_become_sections_and_rows_sentences(tmp_path):
    found = one(tmp_path, "mill.docx", saved(paper()))
    assert isinstance(found, Record) and found.title == "The mill of Orlen"
    assert [(section.heading, section.text) for section in found.sections if section.text] == [
        ("", "The mill was built in 1862."),
        ("Fire", "It burned in 1901.\n\nTwo men died"),
        ("Owners", "Owner: A. Kraus; Years: 1862–1890.\n\nOwner: The town; Years: 1890–."),
    ]


def test_word_tables_without_a_row_of_names(tmp_path):
    document = docx.Document()
    for rows in ([("Height", "12 m"), ("Built", "1862")], [("a", "b", "c")]):
        table = document.add_table(rows=0, cols=len(rows[0]))
        for row in rows:
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.text = text
        table._tbl.tblPr.remove(table._tbl.tblPr.find(docx.oxml.ns.qn("w:tblLook")))
    found = one(tmp_path, "t_1.docx", saved(document))
    assert found.title == "t 1" and found.sections[0].text == "Height: 12 m.\n\nBuilt: 1862.\n\na; b; c."


def test_word_tracked_changes_text_boxes_and_breaks(tmp_path):
    document = docx.Document()
    paragraph = document.add_paragraph()._p
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    for source in (
        f"<w:r {space}><w:t>It opened</w:t></w:r>",
        f"<w:del {space}><w:r><w:delText> in 1850</w:delText></w:r></w:del>",
        f"<w:ins {space}><w:r><w:t xml:space='preserve'> in 1862</w:t><w:br/><w:t>and closed</w:t></w:r></w:ins>",
        f"<w:moveFrom {space}><w:r><w:t>twice</w:t></w:r></w:moveFrom>",
        f"<w:r {space}><w:instrText>PAGE</w:instrText></w:r>",
    ):
        paragraph.append(docx.oxml.parse_xml(source))
    block = docx.oxml.parse_xml(
        f"<w:sdt {space}><w:sdtContent><w:p><w:r><w:t>Held.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    document.element.body.insert(1, block)
    found = one(tmp_path, "a.docx", saved(document))
    assert found.sections[0].text == "It opened in 1862\nand closed\n\nHeld."


def test_a_zip_bomb_in_a_word_file_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(word, "UNPACKED", 20 << 20)
    out = io.BytesIO(saved(paper()))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as target:
        target.writestr("word/media/image1.png", bytes(21 << 20))
    assert len(out.getvalue()) < 1 << 20
    with pytest.raises(SearchError, match="unpacks to more than 20 MB"):
        word.read(out.getvalue())


def test_billion_laughs_in_a_word_file(tmp_path):
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    body = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]>'
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(paper()))) as source, zipfile.ZipFile(out, "w") as target:
        for part in source.namelist():
            content = source.read(part).decode("utf-8", "surrogateescape")
            if part == "word/document.xml":
                content = body + content.partition("?>")[2].replace("It burned", "&a11;It burned")
            target.writestr(part, content.encode("utf-8", "surrogateescape"))
    found = one(tmp_path, "a.docx", out.getvalue())
    assert isinstance(found, Bad) or "hahaha" not in str(found.sections)


def test_other_zip_archives_are_no_word_files(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "x")
    assert "a zip archive, but no Word file" in reason(one(tmp_path, "a.docx", out.getvalue()))


# The process that reads


def test_a_reader_that_dies_costs_one_file(tmp_path):
    assert isinstance(one(tmp_path, "a.docx", saved(paper())), Record)
    process = papers._kept[os.getpid()]
    process.send_signal(signal.SIGSTOP)  # it hangs
    late = papers.SECONDS
    papers.SECONDS = 1
    try:
        assert reason(one(tmp_path, "b.docx", saved(paper()))) == "it could not be read within 1 s"
    finally:
        papers.SECONDS = late
    assert process.returncode is not None
    assert isinstance(one(tmp_path, "c.docx", saved(paper())), Record)
    papers._kept[os.getpid()].kill()
    found = one(tmp_path, "d.docx", saved(paper()))
    assert isinstance(found, Record) or found.reason == "it stopped its reader"


def test_one_process_reads_a_folder(tmp_path):
    for n in range(4):
        (tmp_path / f"{n}.html").write_bytes(BRIDGE.encode())
        (tmp_path / f"{n}.docx").write_bytes(saved(paper()))
    [*pieces] = units([tmp_path])
    first = list(read(pieces[0]))
    process = papers._kept[os.getpid()]
    found = first + [page for piece in pieces[1:] for page in read(piece)]
    assert len(found) == 8 and all(isinstance(page, Record) for page in found)
    assert papers._kept[os.getpid()] is process and len(files(tmp_path)) == 8


def test_without_the_libraries_it_says_what_to_install(tmp_path, monkeypatch):
    find = papers.importlib.util.find_spec
    monkeypatch.setattr(
        papers.importlib.util, "find_spec", lambda name: None if name in ("docx", "pypdf") else find(name)
    )
    for name, extra in (("a.docx", "documents"), ("a.pdf", "pages")):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(UsageError, match=rf"pip install 'veridical\[{extra}\]'"):
            list(units([tmp_path / name]))


def test_word_files_are_read_by_the_same_code_in_this_process():
    title, sections = word.read(saved(paper()))
    assert title == "The mill of Orlen" and len(sections) == 3
