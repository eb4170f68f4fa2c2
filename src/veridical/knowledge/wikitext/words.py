"""Words in other languages, lists, quotations, names and looks: templates around text."""

from __future__ import annotations

import re

from .calls import Call, Handler, Page
from .languages import data
from .signs import GAP
from .values import enumerated

_ITEM = re.compile(r"\n[ \t]*[*#]")


def drop(call: Call, page: Page) -> str:
    return GAP


def first(call: Call, page: Page) -> str:
    """{{nowrap|text}}, {{abbr|km|kilometre}}; a word of its own without text: {{yes}}."""
    for value in call.values:
        if value:
            return value
    return call.get("text", "title", "content") or word(call, page)


def word(call: Call, page: Page) -> str:
    return data("en")["words"].get(call.name, "") or GAP


def last(call: Call, page: Page) -> str:
    """{{color|red|text}}, {{sort|key|text}}."""
    values = call.filled()
    return values[-1] if values else call.get("text") or GAP


def foreign(call: Call, page: Page) -> str:
    """{{lang|fr|mot}} as the word; {{lang-fr|mot}} and {{langx|fr|mot}} with the language, as they show it."""
    name, values = call.name, call.filled()
    if name.startswith("lang-") or name == "langx":
        code = (call.value(0) if name == "langx" else name[5:]).lower()
        values = call.values[1:] if name == "langx" else call.values
        label = call.get("label") or data("common")["languages"].get(code.partition("-")[0], "")
        text = values[0] if values else call.get("text")
        more = call.get("translit", "r", "tr") or (values[1] if len(values) > 1 else "")
        meaning = call.get("lit", "translation", "t") or (values[2] if len(values) > 2 else "")
        if more:
            text += f", romanized: {more}"
        if meaning:
            text += f", lit. '{meaning}'"
        return f"{label}: {text}" if label and label != "none" else text or GAP
    return (values[-1] if values else call.get("text")) or GAP


def lang(call: Call, page: Page) -> str:
    if call.name in ("lang", "langue", "native name", "native phrase", "rtl-lang", "lang-rtl"):
        return call.value(1) or call.get("text", "texte", "2") or call.value(0) or GAP
    return foreign(call, page)


def literal(call: Call, page: Page) -> str:
    return f"lit. '{call.value(0)}'" if call.value(0) else GAP


def nihongo(call: Call, page: Page) -> str:
    """{{nihongo|English|漢字|romaji|more}} as "English (漢字, romaji, more)"."""
    values = [value for value in call.values[:5] if value]
    more = [call.get("extra"), call.get("lead")]
    values += [value for value in more if value and len(value) > 3]
    if call.name == "nihongo2" or len(values) < 2:
        return values[0] if values else GAP
    if not call.value(0):
        return ", ".join(values)
    return f"{values[0]} ({', '.join(values[1:])})"


def chinese(call: Call, page: Page) -> str:
    """{{zh|s=…|t=…|p=…|l=…}}."""
    parts = [f"{label}: {call.named[key]}" for key, label in data("common")["chinese"].items() if call.named.get(key)]
    return "; ".join(parts).replace("lit.: ", "lit. ") or ", ".join(call.filled()) or GAP


def interlanguage(call: Call, page: Page) -> str:
    """{{ill|Title|fr|Titre|lt=label}}."""
    return call.get("lt", "display", "2t") or call.value(0) or call.get("en", "1") or GAP


def sort_name(call: Call, page: Page) -> str:
    return " ".join(value for value in call.values[:2] if value) or GAP


def ship(call: Call, page: Page) -> str:
    """{{USS|Enterprise|CV-6}}, {{ship|USS|Enterprise|CV-6}}; a format behind them leaves the number out."""
    values = call.values
    prefix = call.name.upper()
    if call.name in ("ship", "german submarine"):
        prefix, values = (
            (values[0] if values else "", values[1:]) if call.name == "ship" else ("German submarine", values)
        )
    name, number, form = [*values, "", "", ""][:3]
    text = f"{prefix} {name}".strip()
    return f"{text} ({number})" if number and not form else text or GAP


def ship_class(call: Call, page: Page) -> str:
    """{{sclass|Nimitz|aircraft carrier}}."""
    return f"{call.value(0)}-class {call.value(1)}".strip() if call.value(0) else GAP


def listed(call: Call, page: Page) -> str:
    """Items on lines of their own stay lines, items as arguments become an enumeration."""
    values = call.filled() or [call.get("content", "list", "text")]
    title = call.get("title")
    if len(values) == 1:
        text = values[0]
        if "\n" in text or text[:1] in ("*", "#"):
            return f"{title}\n{text}\n" if title else f"\n{text}\n"
        return text or GAP
    if any("\n" in value for value in values):
        values = [item.strip().lstrip("*# ") for value in values for item in _ITEM.split(f"\n{value}")]
    text = enumerated(values)
    return f"{title}: {text}" if title else text


def columns(call: Call, page: Page) -> str:
    """{{columns|col1=…|col2=…}}."""
    texts = [value for key, value in call.named.items() if key.startswith("col") and not key.endswith("width")]
    return "\n" + "\n".join(filter(None, texts)) + "\n" if any(texts) else listed(call, page)


def quote(call: Call, page: Page) -> str:
    """The words, then who said them and where."""
    text = call.get("text", "quote", "quotation", "content") or call.value(0)
    if not text:
        return GAP
    by = [
        call.get("author", "sign", "cite", "by", "person", "character") or call.value(1),
        call.get("source", "title") or call.value(2),
    ]
    said = ", ".join(part for part in by if part and len(part) < 300 and not part.endswith(("%", "px", "em")))
    return f"\n\n{text}\n— {said}\n\n" if said else f"\n\n{text}\n\n"


_CITED = ("title", "chapter", "work", "journal", "newspaper", "publisher", "location")


def citation(call: Call, page: Page) -> str:
    """A work in a list of works: "Solvang, Ingrid (1936). Havets kulde. Aschehoug." Elsewhere it is a reference."""
    if page.source[max(0, page.at - 3) : page.at].strip(" ")[-1:] not in ("*", "#"):
        return GAP
    names = [call.get(f"last{number}", f"author{number}", f"surname{number}") for number in ("", "1", "2", "3")]
    given = [call.get(f"first{number}", f"given{number}") for number in ("", "1", "2", "3")]
    authors = "; ".join(", ".join(filter(None, pair)) for pair in zip(names, given, strict=True) if pair[0])
    year = call.get("year", "date")
    opening = f"{authors} ({year})" if authors and year else authors or year
    parts = [opening, *(call.get(key) for key in _CITED)]
    text = ". ".join(part.rstrip(".") for part in parts if part)
    return f"{text}." if text else GAP


def ruby(call: Call, page: Page) -> str:
    return f"{call.value(0)} ({call.value(1)})" if call.value(1) else call.value(0) or GAP


def disambiguation(call: Call, page: Page) -> str:
    page.disambiguation = True
    return GAP


def _fixed(text: str) -> Handler:
    return lambda call, page: text


FAMILIES: dict[str, Handler] = {
    "drop": drop,
    "citation": citation,
    "ipa": drop,
    "inflation_year": drop,
    "first": first,
    "plain": first,
    "word": word,
    "last": last,
    "second_or_first": first,
    "lang": lang,
    "literal": literal,
    "nee": lambda call, page: f"née {call.value(0)}".strip(),
    "nihongo": nihongo,
    "zh": chinese,
    "ill": interlanguage,
    "sortname": sort_name,
    "ship": ship,
    "sclass": ship_class,
    "list": listed,
    "quote": quote,
    "ruby": ruby,
    "disambiguation": disambiguation,
    "space": _fixed(" "),
    "dash": _fixed("–"),
    "mdash": _fixed("—"),
    "middot": _fixed(" · "),
    "angle": lambda call, page: f"⟨{call.value(0)}⟩" if call.value(0) else GAP,
    "volume": lambda call, page: f"vol. {call.value(0)}".strip(),
    "columns": columns,
    "bracket": lambda call, page: f"[{call.value(0)}]",
}
