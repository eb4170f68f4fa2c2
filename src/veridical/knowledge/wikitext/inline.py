"""What is left within lines after templates, links and tables: bold, tags, addresses, entities, and gaps."""

from __future__ import annotations

import re
from html import unescape

from .links import without_addresses
from .numbers import raised
from .signs import GAP, unguarded, without_icons

_TAG = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|blockquote|br|caption|center|cite|code|col|data|dd|del|dfn|div|dl|dt|em|font|h[1-6]|hr|i|ins|kbd|li|mark"
    r"|nobr|noinclude|onlyinclude|includeonly|ol|p|poem|q|rb|rp|rt|rtc|ruby|s|samp|section|small|span|strike|strong|sub|sup|table|tbody|td|tfoot|th|thead|time"
    r"|translate|tr|tt|tvar|u|ul|var|wbr|langconvert|nowiki|ref|references|gallery|math|pre|includeonly|timeline|syntaxhighlight|source|imagemap|poem|chem|ce"
    r"|score|hiero|templatestyles|indicator|mapframe|maplink|graph|templatedata|inputbox|categorytree)\b[^<>]{0,2000}>",
    re.IGNORECASE,
)
_BLOCK = re.compile(
    r"</?(?:br|p|div|li|ul|ol|dl|dt|dd|tr|table|td|th|blockquote|center|h[1-6]|hr|poem|caption)\b", re.IGNORECASE
)
_RAISED = re.compile(r"<sup\b[^<>]{0,200}>([^<>]{0,60})</sup\s{0,5}>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_SPACES = re.compile("  +")
_BLANKS = "\t\xa0\u2002\u2003\u2007\u2009\u200a\u202f"
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\u00ad]")
_WORD = re.compile(r"__[^\W\d_]{3,40}__")
_VARIANT = re.compile(r"-\{([^{}]{0,2000})\}-")
_QUOTES = re.compile(r"'{2,}")
_TABLE_LINE = re.compile(r"\n[ \t]*(?:(?:\{\||\|\}|\|-)[^\n]*|[|!](?=[^\n]*\|))")
"""What is left of a table that could not be read: lines of looks, and the bar before a cell."""


def cleaned(text: str, *, variants: bool = False) -> str:
    """Text without any markup within its lines. Marks of `signs.KEPT` stay."""
    text = without_icons(unguarded(text))
    if "''" in text:
        text = without_quotes(text)
    if "<" in text:
        if "<s" in text or "<S" in text:
            text = _RAISED.sub(lambda found: raised(found[1]), text)
        text = _TAG.sub(_untagged, text)
    text = without_addresses(text)
    if "__" in text:
        text = _WORD.sub(lambda found: GAP if found[0].upper() == found[0] else found[0], text)
    if "-{" in text:
        text = converted(text, variants=variants)
    text = without_stray_signs(text)
    if "&" in text:
        text = text.replace("&nbsp;", " ")
        text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    for blank in _BLANKS:
        text = text.replace(blank, " ")
    return healed(_SPACES.sub(" ", text) if "  " in text else text)


def without_stray_signs(text: str) -> str:
    """Without brackets and braces that opened or closed nothing."""
    for sign in ("[[", "]]", "{{", "}}"):
        if sign in text:
            text = text.replace(sign, "")
    return _TABLE_LINE.sub("\n", f"\n{text}")[1:] if "|" in text else text


def _untagged(found: re.Match[str]) -> str:
    return "\n" if _BLOCK.match(found[0]) else ""


def without_quotes(text: str) -> str:
    """Without the quotes of bold and italic; an apostrophe beside them stays: l'''Iliade''."""
    if "'''" not in text:
        return text.replace("''", "")
    out: list[str] = []
    position = 0
    while (found := text.find("'''", position)) >= 0:
        start = max(text.rfind("\n", position, found) + 1, position)
        end = text.find("\n", found)
        end = len(text) if end < 0 else end
        out.append(text[position:start])
        line = text[start:end]
        out.append(_line_without_quotes(line) if line.count("'''") % 2 else line)
        position = end
    out.append(text[position:])
    return "".join(out).replace("'''''", "").replace("'''", "").replace("''", "")


def _line_without_quotes(line: str) -> str:
    runs = [len(found[0]) for found in _QUOTES.finditer(line)]
    bold = sum(1 for length in runs if length in (3, 4) or length >= 5)
    italic = sum(1 for length in runs if length == 2 or length >= 5)
    if bold % 2 and italic % 2:
        # One of three is an apostrophe and an italic: the one behind a single letter, else behind a letter.
        spare = next(
            (found for found in _QUOTES.finditer(line) if len(found[0]) == 3 and _elides(line, found.start())), None
        )
        if spare:
            line = f"{line[: spare.start()]}'{line[spare.end() :]}"
    return line.replace("'''''", "").replace("'''", "").replace("''", "")


def _elides(line: str, place: int) -> bool:
    return (
        place > 0
        and line[place - 1].isalpha()
        and (place == 1 or not line[place - 2].isalpha() or line[place - 2 : place] == "qu")
    )


def converted(text: str, *, variants: bool) -> str:
    """-{zh-hans:计算机; zh-hant:電腦;}- as its first script; elsewhere only what looks like it."""

    def one(found: re.Match[str]) -> str:
        inside = found[1]
        flags, bar, rest = inside.partition("|")
        if bar and len(flags) < 20:
            if any(flag in flags for flag in "HT-"):
                return GAP
            inside = rest
        elif not variants and ":" not in inside:
            return found[0]
        if ":" not in inside:
            return inside
        forms = [form.partition(":") for form in inside.split(";") if ":" in form]
        by_code = {code.strip().rpartition("=>")[2]: text.strip() for code, _, text in forms}
        return next((by_code[code] for code in _SCRIPTS if by_code.get(code)), next(iter(by_code.values()), ""))

    return _VARIANT.sub(one, text)


_SCRIPTS = ("zh-hans", "zh-cn", "zh", "sr-ec", "sr-cyrl")


_WIDE = "\u2e7f"
"""Scripts behind it put no blanks between words."""


def healed(text: str) -> str:
    """Closes what was taken out: no words glued together, no blanks before a comma, no empty parentheses."""
    if GAP not in text:
        return text
    pieces = text.split(GAP)
    out = [pieces[0]]
    last = pieces[0]
    for piece in pieces[1:]:
        if not piece:
            continue
        before, after = last[-1:], piece[0]
        if before == "(":
            piece = piece.lstrip(" ,;:")
            if piece[:1] == ")":
                out[-1] = last[:-1].rstrip(" ")
                piece = piece[1:]
        elif before == " ":
            if after in " .,;:)!?":
                last = out[-1] = last.rstrip(" ")
                if last[-1:] in ",;" and after in ",;":
                    piece = piece.lstrip(",;")
                if last[-1:] == "(":
                    piece = piece.lstrip(" ,;:")
                elif last[-1:] in ",;" and after == ")":
                    out[-1] = last.rstrip(" ,;")
        elif before in ",;" and after == ")" and before:
            out[-1] = last.rstrip(" ,;")
        elif before.isalnum() and after.isalnum() and not (before > _WIDE and after > _WIDE):
            piece = f" {piece}"
        if piece:
            out.append(piece)
            last = piece
        else:
            last = out[-1]
    return "".join(out)
