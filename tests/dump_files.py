"""Small MediaWiki dumps in every packing."""

import bz2
import gzip
import lzma
from pathlib import Path
from xml.sax.saxutils import escape

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>enwiki</dbname>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <generator>MediaWiki 1.43.0</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
    </namespaces>
  </siteinfo>
"""
END = "</mediawiki>\n"


def page(title, text="", *, ns=0, number=1, redirect=None, model="wikitext", more="", opening=None):
    target = f'    <redirect title="{escape(redirect)}" />\n' if redirect else ""
    said = "" if ns is None else f"    <ns>{ns}</ns>\n"
    tag = opening or f'<text bytes="{len(text)}" sha1="x" xml:space="preserve">'
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n{said}    <id>{number}</id>\n{target}"
        f"    <revision>\n      <id>9{number}</id>\n      <timestamp>2023-03-30T09:12:01Z</timestamp>\n"
        f"      <contributor><username>Anna</username></contributor>\n      <comment>&lt;page&gt;</comment>\n"
        f"      <model>{model}</model>\n      <format>text/x-wiki</format>\n"
        f"      {tag}{escape(text)}</text>\n{more}    </revision>\n  </page>\n"
    )


def articles(count, *, words=40):
    """Pages of which each has its own text."""
    return [
        page(f"Place {n}", f"'''Place {n}''' lies at {n} km. " + f"Word{n} &amp; more. " * words, number=n)
        for n in range(count)
    ]


def xml(pages, *, head=HEAD, end=END):
    return (head + "".join(pages) + end).encode()


def multistream(pages, each, *, head=HEAD):
    """As Wikimedia packs them: head, so many pages, …, end: each a bzip2 stream. And the lines of its index."""
    streams, index = [bz2.compress(head.encode())], []
    for start in range(0, len(pages), each):
        at = sum(map(len, streams))
        index += [f"{at}:{n}:Place {n}\n" for n in range(start, min(start + each, len(pages)))]
        streams.append(bz2.compress("".join(pages[start : start + each]).encode()))
    streams.append(bz2.compress(END.encode()))
    return b"".join(streams), bz2.compress("".join(index).encode())


PACKERS = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


def write(folder: Path, pages, *, packing="", name="enwiki-20230401-pages-articles", **more) -> Path:
    path = folder / f"{name}.xml{packing}"
    path.write_bytes(PACKERS[packing](xml(pages, **more)))
    return path
