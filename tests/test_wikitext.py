"""Wikitext to text that keeps facts: hand-checked snippets, whole pages, broken and hostile ones."""

from __future__ import annotations

import math
import random
import re
import signal
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.knowledge.wikitext import article, redirect_target
from veridical.knowledge.wikitext.languages import data, language
from veridical.knowledge.wikitext.page import Article, plainer
from veridical.knowledge.wikitext.templates import FAMILIES

HERE = Path(__file__).parent / "wikitext"
CASES = [
    pytest.param(case, id=f"{path.stem}-{number}")
    for path in sorted(HERE.glob("*.toml"))
    if path.stem != "hostile"
    for number, case in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["case"], start=1)
]
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((HERE / "pages").glob("*.wiki"))}
CODES = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "pl", "ja", "zh")
MARKUP = re.compile(
    r"\[\[|\]\]|\{\{|\}\}|\{\||'''|^\|[-}+|]|^=+[^=\n]+=+$|<(?:ref|br|div|span|small|sup|sub|nowiki|gallery)\b|<!--|&nbsp;|__[A-Z]+__|\|\||!!"
    r"|[\x00-\x08\x0b-\x1f\x7f]",
    re.MULTILINE,
)


def shown(page: Article) -> str:
    """All sections, each with its heading on a line above it."""
    return "\n\n".join(f"{part.heading}\n{part.text}" if part.heading else part.text for part in page.sections)


def read(name: str) -> Article:
    return article(PAGES[name], title=name, language=name[:2])


@pytest.mark.parametrize("case", CASES)
def test_snippet_w4(case: dict):
    page = article(case["source"], title=case.get("title", "Some page"), language=case.get("language", "en"))
    text = shown(page)
    assert not page.plain
    if "text" in case:
        assert text == case["text"]
    for words in case.get("has", ()):
        assert words in text
    for words in case.get("lacks", ()):
        assert words not in text
    if not any(tag in case["source"] for tag in ("<nowiki", "<pre", "<syntaxhighlight")):
        assert not MARKUP.search(text)


def test_snippets_are_as_many_as_promised():
    assert len(CASES) >= 150


# Whole pages


@pytest.mark.parametrize("name", PAGES)
def test_page_keeps_no_markup(name: str):
    page = read(name)
    assert not page.plain
    assert page.sections[0].heading == ""
    assert all(part.text and part.text == part.text.strip() for part in page.sections)
    assert not MARKUP.search(shown(page))


FACTS = {
    "en_scientist": (
        "Born: 17 April 1891, Tromsø, Norway.",
        "Died: 2 November 1968 (aged 77), Bergen, Norway.",
        "Ingrid Marie Solvang (née Haug; 17 April 1891 – 2 November 1968) was a Norwegian oceanographer",
        "between 80 and 140 m below the surface.",
        "the salinity of the layer as 34.1 g/kg and its temperature as -1.2 °C.",
        "NOK 48,000 (about US$12000), of which 33% came",
        "Year: 1937; Ship: Polhavet; Area: Kara Sea; Stns.: 77; Distance: 2900 nautical miles.",
        "— Ingrid Solvang, Logbook of the Polhavet (1935)",
        "- Solvang, Ingrid (1936). Havets kulde. Aschehoug.",
    ),
    "en_footballer": (
        "Years: 2010–2014; Club: FC Altona 93; Appearances: 102; Goals: 21.",
        "he has scored 43 league goals.",
        "Club: Santa Rita; Season: 2009; League Division: Série B; League Apps: 24; League Goals: 3",
        "Opponent: Costa Rica",
        "Team 1: Brazil; Score: 1–2; Team 2: Mexico; Goals 1: Tavinho 90+1'; Goals 2: P. 1', 75'",
        "Silver: 2012 London, Team",
    ),
    "en_town": (
        "County: Clark.",
        "Population: 9,417.",
        "Founded: 1871.",
        "Votes: 2,144; Percentage: 54.3%",
        "1890: 2873",
    ),
    "en_broken": (
        "Released: 14 October 1994 (Venice), 20 January 1995 (United States).",
        "Budget: US$4.2 million.",
        "finished in March 1994.",
        "A pilot (Rolf Maes) guides ships into the harbour",
        "The film earned £3.1 million in its first year and two awards.",
    ),
    "de_stadt": ("am 3. Mai 1212 erstmals als Novum Novale erwähnt", "Jahr: 1951; Einwohner: 4.020."),
    "fr_peintre": (
        "née le 12 mai 1870 à Nantes et morte le 3 janvier 1944 à Paris",
        "peintre française du XXe siècle.",
        "120 m²",
    ),
    "ja_sakka": ("1975年8月9日", "代表作は『海の声』で"),
}


@pytest.mark.parametrize("name", FACTS)
def test_page_keeps_its_facts_w4(name: str):
    text = shown(read(name))
    for fact in FACTS[name]:
        assert fact in text


def test_disambiguation_lists_what_its_title_may_mean():
    page = read("en_disambiguation")
    assert page.disambiguation
    assert page.choices == ("Solvang, California", "Solvang (Copenhagen Metro)", "Ingrid Solvang")


@pytest.mark.parametrize(
    ("code", "source"),
    [
        ("en", "{{dab}}"),
        ("de", "{{Begriffsklärung}}"),
        ("fr", "{{Homonymie}}"),
        ("es", "{{desambiguación}}"),
        ("it", "{{Disambigua}}"),
        ("pt", "{{Desambiguação}}"),
        ("nl", "{{dp}}"),
        ("ru", "{{неоднозначность}}"),
        ("pl", "{{Ujednoznacznienie}}"),
        ("ja", "{{aimai}}"),
        ("zh", "{{消歧义}}"),
        ("en", "__DISAMBIG__"),
    ],
)
def test_disambiguation_in_every_language(code: str, source: str):
    page = article(f"* [[Ulm]], x\n* ''[[Ulm (ship)|Ulm]]''\n{source}", language=code)
    assert page.disambiguation
    assert page.choices == ("Ulm", "Ulm (ship)")


def test_redirects_are_told():
    assert redirect_target("#REDIRECT [[Ada_Lovelace#Life]] {{R from move}}") == "Ada Lovelace"
    assert redirect_target("#redirección [[Ada]]", language="es") == "Ada"
    assert redirect_target("# one\n# [[two]]") is None
    assert article("#REDIRECT [[Ada]]").sections == ()


# The tables of names


@pytest.mark.parametrize("code", CODES)
def test_every_name_has_one_family_that_can_be_read(code: str):
    names = [name for names in data(code)["templates"].values() for name in names]
    assert sorted(names) == sorted(set(names))
    assert all(name == name.lower().strip() for name in names if name != '" ')
    known = language(code)
    assert {*known.templates.values(), *known.starts.values(), *known.ends.values()} <= set(FAMILIES)
    assert len(known.months) == 12


# What is broken, and what is hostile

SIGNS = tuple(tomllib.loads((HERE / "hostile.toml").read_text(encoding="utf-8"))["signs"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(SIGNS), max_size=60).map("".join), st.sampled_from(CODES))
def test_any_nesting_is_read(source: str, code: str):
    page = article(source, title="T", language=code)
    assert not page.plain
    assert all(part.text for part in page.sections)


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=300), st.text(max_size=5))
def test_any_text_is_read(source: str, code: str):
    assert not article(source, title=source[:20], language=code).plain


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(SIGNS), max_size=60).map("".join))
def test_plainer_text_of_anything(source: str):
    words = " ".join(part.text for part in plainer(source + "\nLast words"))
    assert words.endswith("Last words") or "<!--" in source or "<" in source


def test_page_that_breaks_the_careful_reading_is_kept(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("veridical.knowledge.wikitext.page.expand", broken)
    page = article(PAGES["en_scientist"])
    assert page.plain
    assert "first woman to lead a polar research cruise" in page.sections[0].text
    assert "1891|4|17" in page.sections[0].text.replace(" ", "|")


HOSTILE = tomllib.loads((HERE / "hostile.toml").read_text(encoding="utf-8"))["repeated"]


@pytest.fixture
def guard() -> Iterator[None]:
    """Fails what would hang."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def hostile(name: str, length: int) -> str:
    return HOSTILE[name] * (length // len(HOSTILE[name])) + "\n\nLast words."


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.usefixtures("guard")
def test_work_grows_with_length_only(name: str):
    """Eight times the text takes about eight times as long; 64 times if it were quadratic. Half way between fails."""

    def seconds(source: str) -> float:
        best = math.inf
        for _ in range(3):
            start = time.process_time()
            assert not article(source).plain
            best = min(best, time.process_time() - start)
        return best

    few, many = seconds(hostile(name, 10_000)), seconds(hostile(name, 80_000))
    assert many < 24 * max(few, 0.001)


@pytest.mark.parametrize("name", ["templates", "links", "tables", "references", "mixed", "infoboxes"])
@pytest.mark.usefixtures("guard")
def test_hundred_thousand_openers_finish(name: str):
    page = article(HOSTILE[name] * 100_000 + "\n\nLast words.")
    assert not page.plain
    assert "Last words" in page.sections[-1].text


def test_tables_do_not_blow_up():
    """Long headers and tall cells are not repeated in each of many rows."""
    header = "! " + " !! ".join("a" * 100 for _ in range(100))
    source = "{|\n" + header + "\n|-\n" + "| rowspan=500 | " + "b" * 100 + "\n" * 99 + "|-\n| c\n" * 2000 + "|}"
    assert len(shown(article(source))) < 12 * len(source)


# Mutations


def pieces_of(source: str) -> list[str]:
    return re.split(r"(?<=\n)", source)


def mutated(source: str, dice: random.Random) -> tuple[str, int]:
    """The source with one line of it broken, and the number of that line."""
    lines = pieces_of(source)
    place = dice.randrange(len(lines))
    line = lines[place]
    cut = dice.randrange(len(line) + 1)
    what = dice.randrange(4)
    if what == 0:
        line = line[:cut] + line[cut + dice.randint(1, 8) :]
    elif what == 1:
        line = line[:cut] + dice.choice(SIGNS) + line[cut:]
    elif what == 2:
        line = line[:cut] + "".join(dice.choices(SIGNS, k=4)) + line[cut:]
    else:
        line = ""
    lines[place] = line
    return "".join(lines), place


EARLY, LATE = "The bell of Aldermoor weighs 431 stone.", "Her log of 1877 lies in the museum of Vik."


def test_two_thousand_mutations_keep_the_rest():
    """Prose far from what was broken stays whatever it was: a paragraph in front of it, and a part behind it."""
    dice = random.Random(7)
    lost = 0
    for number in range(2000):
        name = dice.choice(sorted(PAGES))
        broken, _ = mutated(PAGES[name], dice)
        page = article(f"{EARLY}\n\n{broken}\n\n== Later ==\n{LATE}\n", title=name, language=name[:2])
        text = shown(page)
        assert not page.plain
        assert EARLY in text, (number, name)
        lost += LATE not in text
    # A "<!--" or "<math>" opened by a mutation may find a real end far behind.
    assert lost <= 2
