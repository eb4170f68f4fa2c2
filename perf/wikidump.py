"""A seeded dump of a made-up wiki, in the XML of MediaWiki's exports, with wikitext as people write it.

    python perf/wikidump.py OUT.xml --mb 300 [--seed 0]             # OUT.xml.bz2: multistream, with its index beside it
    python perf/wikidump.py OUT.xml.bz2 --mb 30 --single            # one bzip2 stream, which cannot be cut

Biographies, places, films, seasons, elections and species, with infoboxes, dates, measures and names as templates,
references, tables with rowspan, navigation, files, categories; redirects, disambiguation, other namespaces, titles with
colons, markup that is broken. Beside it OUT.facts.jsonl: for each article what must be in its text once the markup is
gone. Words and names are syllables, in the frequencies of a language (Zipf), so nothing is anybody's text.
"""

from __future__ import annotations

import argparse
import bz2
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from string import Template
from xml.sax.saxutils import escape, quoteattr

PAGES_A_STREAM = 100
VOCABULARY = 40_000
_CLUB = re.compile(r"^\| [^|\n]*?\|\| \[\[(\w+)\]\]", re.MULTILINE)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
COUNTRIES = ["France", "Japan", "Brazil", "Kenya", "Norway", "India", "Canada", "Poland", "Chile", "Egypt"]
CODES = ["FRA", "JPN", "BRA", "KEN", "NOR", "IND", "CAN", "POL", "CHI", "EGY"]
ONSETS, VOWELS = (
    ["b", "br", "c", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w"],
    ["a", "e", "i", "o", "u", "ai", "ea"],
)
FUNCTION = [
    "the",
    "of",
    "and",
    "in",
    "to",
    "was",
    "a",
    "is",
    "for",
    "as",
    "on",
    "by",
    "with",
    "he",
    "that",
    "at",
    "from",
    "his",
    "it",
    "an",
    "were",
    "which",
    "are",
    "this",
    "also",
    "be",
    "had",
    "she",
    "has",
    "her",
    "their",
    "after",
    "first",
    "one",
    "its",
    "new",
    "who",
    "but",
    "not",
    "or",
    "two",
    "they",
    "have",
    "into",
    "more",
]
HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>enwiki</dbname>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <generator>MediaWiki 1.46.0</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"


PERSON = Template("""{{Short description|$word}}
{{Use dmy dates|date=May 2021}}
{{Infobox person
| name = $title
| image = $title.jpg
| birth_date = {{birth date|$born|$number|$day|df=y}}
| birth_place = [[$place]], $country
| death_date = {{death date and age|$died|$number|$day|$born|$number|$day}}
| occupation = {{hlist|$word|$other}}
| height = {{height|m=1.$centimetres}}
}}
'''$title''' ({{lang|fr|$place}}; $day $month $born – {{circa|$died}}) was a {{nowrap|[[$word]]}} from [[$place]].
$paragraph""")
PLACE = Template("""{{Infobox settlement
|name = $title
|population_total = {{formatnum:$people}}
|area_total_km2 = $day.$number
|elevation_m = $metres
|coordinates = {{coord|$day|$day|N|$centimetres|12|E}}
}}
'''$title''' is a town in [[$country]] with $counted people. $paragraph""")
FILM = Template("""{{Infobox film
| name = $title
| director = [[$name]]
| starring = {{plainlist|
* [[$second]]
* [[$third]]
}}
| released = {{film date|$born|$number|12|$country}}
| runtime = 1$day minutes
| gross = $$$metres million
}}
''{{title case|$title}}'' is a $born film by [[$name]]. $paragraph""")
SEASON = Template("""The '''$title''' was a season. $paragraph

{{football box
|date = $day $month $born
|team1 = {{fb|$code}} $place
|score = $number–1
|team2 = $away
|goals1 = $second {{goal|23|67|pen.}}
|stadium = $third
|attendance = $people
}}
{{Election box begin|title=$title}}
{{Election box candidate with party link|party=$place|candidate=$name|votes=$counted|percentage=41.2|change=+3.1}}
{{Election box end}}
$second won.""")
MEASURES = Template("""\
It rises to {{convert|$metres|m|ft|0|abbr=on}} and {{formatnum:$people}} people live there, on an area of
{{cvt|$day|km2}}; it cost {{US$$|$number million}} {{as of|$born}}. The way is {{convert|12|mi|km}} long.""")
END = Template("""== See also ==
* [[$name]]
* [[$second]]

== References ==
{{reflist|30em}}

== External links ==
* {{official website|https://example.org/}}

{{Navbox musical artist |name=$word |list1=[[$third]] }}
{{DEFAULTSORT:$third}}
[[Category:$born births]]
[[Category:People from $place]]""")
FACTS = {PERSON: ("born", "month", "place"), PLACE: ("counted",), FILM: ("name", "born"), SEASON: ("place", "away")}
"""What must be found in the text of each kind."""
BREAKS = ("{{", "[[", "<ref>", "{|", "<!-- ", "}}", "</ref>", "'''", "<div>", "[http://x")
Page = tuple[int, str, str, str | None, list[str]]
"""Namespace, title, wikitext, target of a redirect, and what must be found in it."""


class Maker:
    """Words, names, sentences and pages, one after the other, from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        syllables = [onset + vowel for onset in ONSETS for vowel in VOWELS]
        ends = ["n", "r", "s", "l", "m", "th", "ng", ""]
        lengths = (1, 2, 2, 3)
        words = {
            "".join(self.random.choices(syllables, k=self.random.choice(lengths))) + self.random.choice(ends)
            for _ in range(VOCABULARY * 2)
        }
        vocabulary = sorted(words)[:VOCABULARY]
        self.random.shuffle(vocabulary)
        self.names = [word.capitalize() for word in vocabulary if len(word) > 4][:8000]
        self._stream = self._words(vocabulary, [1 / (rank + 3) for rank in range(len(vocabulary))])
        self._pages = 0

    def _words(self, vocabulary: list[str], weights: list[float]) -> Iterator[str]:
        while True:
            for word in self.random.choices(vocabulary, weights, k=20_000):
                yield self.random.choice(FUNCTION) if self.random.random() < 0.42 else word

    def name(self) -> str:
        return f"{self.random.choice(self.names)} {self.random.choice(self.names)}"

    def year(self) -> int:
        return self.random.randint(1750, 2022)

    def date(self) -> str:
        return f"{self.random.randint(1, 28)} {self.random.choice(MONTHS)} {self.year()}"

    def sentence(self) -> str:
        words = [next(self._stream) for _ in range(self.random.randint(9, 26))]
        words[0] = words[0].capitalize()
        place, dice = self.random.choice(self.names), self.random.random()
        if dice < 0.25:
            words.insert(4, f"[[{self.name()}]]")
        elif dice < 0.4:
            words.insert(3, f"[[{place}, {self.random.choice(COUNTRIES)}|{place}]]")
        elif dice < 0.5:
            words.insert(5, f"'''{words[2]}'''")
        text, dice = " ".join(words) + ".", self.random.random()
        if dice < 0.3:
            cite = f"{{{{cite web |url=https://{words[1]}.example/ |title={words[1]} |date={self.date()}}}}}"
            return f"{text}<ref>{cite}</ref>"
        return f'{text}<ref name="{words[1]}" />' if dice < 0.36 else text

    def paragraph(self, sentences: int | None = None) -> str:
        return " ".join(self.sentence() for _ in range(sentences or self.random.randint(3, 9)))

    def filled(self, template: Template, title: str = "") -> tuple[str, list[str]]:
        """Its text, and what must be found in it."""
        number, people, born = self.random.randint(1, 12), self.random.randint(1000, 9_000_000), self.year()
        values = {
            "title": title,
            "word": next(self._stream),
            "other": next(self._stream),
            "name": self.name(),
            "second": self.name(),
            "third": self.name(),
            "place": self.random.choice(self.names),
            "away": self.random.choice(self.names),
            "country": self.random.choice(COUNTRIES),
            "code": self.random.choice(CODES),
            "number": str(number),
            "month": MONTHS[number - 1],
            "day": str(self.random.randint(13, 28)),
            "born": str(born),
            "died": str(born + 40),
            "metres": str(self.random.randint(12, 999)),
            "centimetres": str(self.random.randint(50, 99)),
            "people": str(people),
            "counted": f"{people:,}",
            "paragraph": self.paragraph(4),
        }
        return template.substitute(values), [values[name] for name in FACTS.get(template, ())]

    def sections(self, facts: list[str]) -> str:
        """Headings with paragraphs, some lists, files, tables, measures."""
        parts = []
        for _ in range(self.random.choice((1, 2, 3, 3, 4, 6, 8))):
            level = "=" * self.random.choice((2, 2, 2, 3))
            parts += [f"{level} {next(self._stream).capitalize()} {level}", self.paragraph()]
            parts.append(self.random.choice((self.measures, self.file, self.rows, self.table, self.paragraph))())
            if self.random.random() < 0.2:
                parts.append(self.table())
        facts += [club for part in parts for club in _CLUB.findall(part)[:1]]
        return "\n\n".join([*parts, self.filled(END)[0]])

    def measures(self) -> str:
        return self.filled(MEASURES)[0]

    def file(self) -> str:
        inner = f"The [[{self.name()}]] in {self.year()} (see [[{self.name()}|here]])"
        return f"[[File:{self.name()}.jpg|thumb|left|{inner}]]\n{self.paragraph(2)}"

    def rows(self) -> str:
        flags = (self.random.choice(CODES) for _ in range(self.random.randint(3, 9)))
        return "\n".join(f"* {{{{flagicon|{code}}}}} [[{self.name()}]], {self.year()}" for code in flags)

    def table(self) -> str:
        rows = ['{| class="wikitable sortable"', f"|+ {self.sentence()}", "! Season !! Club !! Goals"]
        for _ in range(self.random.randint(3, 10)):
            span = self.random.random() < 0.2
            club, other = self.random.choice(self.names), self.random.choice(self.names)
            season = f'rowspan="2" | {self.year()}' if span else str(self.year())
            rows += ["|-", f"| {season} || [[{club}]] || align=right | {self.random.randint(10, 99)}"]
            rows += ["|-", f"| [[{other}]] || {self.random.randint(10, 99)}"] if span else []
        return "\n".join([*rows, "|}"])

    def broken(self, text: str) -> str:
        """As people break it: something that is opened and never closed, or closed twice."""
        at = self.random.randint(len(text) // 3, len(text) - 1)
        return text[:at] + self.random.choice(BREAKS) + text[at:]

    def article(self, title: str) -> tuple[str, list[str]]:
        lead, facts = self.filled(self.random.choice((PERSON, PERSON, PLACE, FILM, SEASON)), title)
        long = 40 if self.random.random() < 0.004 else 0
        text = "\n\n".join([lead, *(self.sections([]) for _ in range(long)), self.sections(facts)])
        return (self.broken(text), []) if self.random.random() < 0.03 else (text, facts)

    def pages(self) -> Iterator[Page]:
        """Without end."""
        titles: list[str] = []
        while True:
            self._pages += 1
            dice = self.random.random()
            title = f"{self.name()} {self._pages}"
            if dice < 0.5:
                title = f"{self.name()} ({next(self._stream)} {self._pages})"
            if dice > 0.98:
                title = f"{self.random.choice(self.names)}: The {title}"
            if dice < 0.45 and titles:
                target = self.random.choice(titles)
                yield 0, title, f"#REDIRECT [[{target}]]\n\n{{{{R from other name}}}}", target, []
            elif dice < 0.47 and titles:
                listed = "\n".join(f"* [[{self.random.choice(titles)}]], {next(self._stream)}" for _ in range(3))
                text = f"'''{title}''' may refer to:\n{listed}\n{{{{disambiguation}}}}"
                yield 0, f"{title} (disambiguation)", text, None, []
            elif dice < 0.55:
                yield 1, f"Talk:{title}", self.paragraph() + " ~~~~", None, []
            elif dice < 0.57:
                yield 14, f"Category:{title}", "{{catmore}}\n[[Category:X]]", None, []
            else:
                titles.append(title)
                text, facts = self.article(title)
                yield 0, title, text, None, facts


PAGE = Template("""  <page>
    <title>$title</title>
    <ns>$ns</ns>
    <id>$number</id>$redirect
    <revision>
      <id>$number</id>
      <timestamp>2026-11-01T00:00:00Z</timestamp>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="$size" xml:space="preserve">$text</text>
    </revision>
  </page>
""")


def page(number: int, ns: int, title: str, text: str, target: str | None) -> str:
    redirect = f"\n    <redirect title={quoteattr(target)} />" if target else ""
    known = {"title": escape(title), "text": escape(text), "size": len(text.encode())}
    return PAGE.substitute(known, ns=ns, number=number, redirect=redirect)


def streams(size: int, seed: int, facts: Path) -> Iterator[tuple[list[tuple[int, str]], str]]:
    """Pages of one stream: their ids and titles, and their XML, until there are `size` bytes."""
    written = 0
    with facts.open("w", encoding="utf-8") as beside:
        block: list[str] = []
        held: list[tuple[int, str]] = []
        for number, (ns, title, text, target, found) in enumerate(Maker(seed).pages(), 10):
            block.append(page(number, ns, title, text, target))
            held.append((number, title))
            if found:
                beside.write(json.dumps({"title": title, "facts": found}) + "\n")
            if len(block) == PAGES_A_STREAM:
                joined = "".join(block)
                written += len(joined.encode())
                yield held, joined
                block, held = [], []
                if written >= size:
                    return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--mb", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--single", action="store_true", help="one bzip2 stream")
    given = parser.parse_args()
    packed = given.out.suffix == ".bz2"
    name = given.out.name.removesuffix(".bz2").removesuffix(".xml")
    parts = streams(int(given.mb * 1_000_000), given.seed, given.out.with_name(f"{name}.facts.jsonl"))
    compressor = bz2.BZ2Compressor()
    index: list[str] = []
    with given.out.open("wb") as file:

        def write(text: str) -> None:
            data = text.encode()
            file.write((compressor.compress(data) if given.single else bz2.compress(data)) if packed else data)

        write(HEAD)
        for held, text in parts:
            index += [f"{file.tell()}:{number}:{title}\n" for number, title in held]
            write(text)
        write(TAIL)
        if packed and given.single:
            file.write(compressor.flush())
    if packed and not given.single:
        given.out.with_name(f"{name}-index.txt.bz2").write_bytes(bz2.compress("".join(index).encode()))


if __name__ == "__main__":
    main()
