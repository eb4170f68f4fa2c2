"""Pages on a real loopback server, and the ways in which they go wrong.

    async with Site({"/a": page("<p>Hello</p>"), "/b": moved("/a")}) as site:
        await fetcher(site).fetch(site.at("/b"))

Paths without an answer are 404, so is /robots.txt unless it is given.
"""

import gzip
import io

from loopback import Answer, Loopback
from veridical.knowledge.web.fetch import Fetcher

STORY = "The bridge over the Orlen was finished in 1862 after six years of work by two hundred masons. "
BRIDGE = f"""<html><head><title>The bridge</title><meta name="date" content="2021-05-04"></head><body>
<nav><a href="/">Home</a></nav><article><h1>The bridge</h1><p>{STORY * 3}</p>
<table><tr><th>Length</th><td>120 m</td></tr></table><script>alert("never run")</script></article>
<div id="comments" class="comments"><p>First comment, by someone.</p></div></body></html>"""


class Site(Loopback):
    """Answers by path; a list gives its answers in turn, the last one again and again."""

    def __init__(self, pages, *, port=0):
        self.pages = {path: list(found) if isinstance(found, list) else [found] for path, found in pages.items()}
        super().__init__(self._page, port=port)

    def _page(self, request):
        found = self.pages.get(request.path, [Answer(b"", status=404)])
        return found.pop(0) if len(found) > 1 else found[0]

    def at(self, path="/", *, host="127.0.0.1"):
        return f"http://{host}:{self.port}{path}"

    @property
    def asked(self):
        return [request.path for request in self.requests]


def fetcher(site=None, **settings):
    """One that reaches the server, and nothing else of this machine."""
    ports = {"ports": frozenset({site.port})} if site else {}
    return Fetcher(**({"networks": ("127.0.0.1/32",), "respect_robots": False} | ports | settings))


async def fetch(answer=None, path="/page", *, pages=None, **settings):
    """(page, server) of one fetch."""
    async with Site(pages or {path: answer}) as site:
        own = fetcher(site, **settings)
        try:
            return await own.fetch(site.at(path)), site
        finally:
            await own.close()


def page(body=BRIDGE, kind="text/html; charset=utf-8", *, headers=None, **more):
    body = body if isinstance(body, bytes) else body.encode()
    return Answer(body, headers={"Content-Type": kind} | (headers or {}), **more)


def moved(where, status=302):
    return Answer(b"", status=status, headers={"Location": where.encode().decode("latin-1")})


def packed(body, encoding="gzip"):
    return page(body, headers={"Content-Encoding": encoding})


def bomb(size=200_000_000):
    """A small gzip file of a large page."""
    return packed(gzip.compress(b"<p>" + b"a" * size))


def pdf(text, *, pages=1, password=None, date=None):
    """A PDF with this text on each page."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(_pdf(text))))
    for _ in range(pages - 1):
        writer.add_page(writer.pages[0])
    writer.add_metadata({"/Title": "About a bridge"} | ({"/CreationDate": date} if date else {}))
    if password is not None:
        writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _pdf(text):
    """By hand: pypdf writes files but no text."""
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
