"""Which characters the bytes of a page stand for, as browsers read them (WHATWG Encoding), and where a page lies about
itself, as its bytes say."""

from __future__ import annotations

import codecs
import re

_NAMED = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE | re.ASCII)
_IN_XML = re.compile(r"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{1,40})", re.ASCII)
_START = 4096
"""Bytes in which a page must name its character set; WHATWG looks at 1024, real pages take more."""
_SAMPLE = 1 << 16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_MEANT = {
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "big5": "big5hkscs",
}  # fmt: skip
"""What stands on pages that name the left one, as a superset."""
_MORE_NAMES = {"x-sjis": "cp932", "windows-31j": "cp932", "x-gbk": "gb18030", "ks_c_5601-1987": "cp949",
               "windows-949": "cp949", "x-euc-jp": "euc_jp", "windows-874": "cp874", "x-cp1251": "cp1251"}  # fmt: skip
_NO_CHARSETS = frozenset(
    {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7", "mbcs", "oem"}
)
"""Codecs of Python that are none of the web, or that run on what strangers wrote."""
_SEVEN_BITS = ("iso2022", "hz", "utf-16", "utf-32")
"""They look like ASCII or like nothing else, so what is named goes before what can be seen."""


def decode(body: bytes, content_type: str = "", *, html: bool = False) -> str:
    """The text, whatever the bytes. `html`: a <meta> or XML declaration in it may name the character set.

    In this order: a byte order mark, UTF-8 if all of it is valid, what the header names, what the page names, what the
    bytes look most like. What is named and does not fit, more than one character in a hundred, does not count.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    named = [codec(found[1]) for found in _NAMED.finditer(content_type)]
    if html:
        named += _in_page(body[:_START].decode("latin-1"))
    known = [name for name in named if name]
    if not (known and known[0].startswith(_SEVEN_BITS)):
        known.insert(0, "utf-8")
    for name in dict.fromkeys(known):
        text = body.decode(name, "replace")
        bad = text.count("\ufffd")
        if not bad or (bad <= len(text) // 100 and (name != "utf-8" or "utf-8" in named)):
            return text
    return body.decode(_guess(body), "replace")


def codec(name: str) -> str | None:
    """Python's name of the character set that is meant by a name on the web; None if it is none."""
    name = name.strip().lower()
    try:
        found = codecs.lookup(_MORE_NAMES.get(name, name)).name
        bytes(4).decode(found, "replace")
    except (LookupError, ValueError):
        return None
    return None if found in _NO_CHARSETS else _MEANT.get(found, found)


def _in_page(start: str) -> list[str | None]:
    found = [match[1] for match in (_NAMED.search(start), _IN_XML.search(start)) if match]
    names = [codec(name) for name in found]
    # a page whose <meta> can be read as ASCII is not in UTF-16, whatever it says
    return ["utf-8" if name and name.startswith(("utf-16", "utf-32")) else name for name in names]


def _guess(body: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(body[:_SAMPLE]).best()
    return (codec(best.encoding) if best else None) or "cp1252"
