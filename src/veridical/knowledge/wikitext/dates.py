"""Dates, ages and spans of time that templates write.

An age that the reader's own day decides ("age 54") is left out: it would be false tomorrow.
"""

from __future__ import annotations

import re

from .calls import Call, Handler, Page
from .languages import Language
from .signs import GAP

_NUMBER = re.compile(r"[-−]?\d{1,5}")
_ISO = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?:T.*)?")
_YEARS = re.compile(r"\d{3,4}")


def written(language: Language, year: str, month: str = "", day: str = "", *, day_first: bool = False) -> str:
    """A date in words, of numbers or words as the template has them; as far as they make sense together."""
    if found := _ISO.fullmatch(year):
        year, month, day = found[1], found[2], found[3] or ""
    if not _NUMBER.fullmatch(year):
        return " ".join(part for part in (year, month, day) if part)
    if year[0] in "-−":
        year = f"{year[1:].lstrip('0')} BC"
    if not month:
        return year
    month = named(language, month)
    if not day:
        return language.month_year.format(month=month, year=year)
    form = language.date_day_first if day_first else language.date
    return form.format(day=day.lstrip("0") or day, month=month, year=year)


def named(language: Language, month: str) -> str:
    """A month by its name where it is given by its number."""
    return language.months[int(month) - 1] if month.isdecimal() and len(month) < 3 and 1 <= int(month) <= 12 else month


def _day_first(call: Call) -> bool:
    return call.on("df") or call.get("format") == "dmy"


def date(call: Call, page: Page) -> str:
    """{{birth date|1970|1|2}}, {{start date|2004|5}}, {{dts|2001|9|11}}: year, month, day, then hour and minute."""
    values = call.values
    if not any(values):
        return call.get("date", "1") or GAP
    year, month, day = [*values, "", "", ""][:3]
    if not _NUMBER.fullmatch(year) and not _ISO.fullmatch(year):
        return _loose(call, page, year, month, day)
    text = written(page.language, year, month, day, day_first=_day_first(call))
    if len(values) > 4 and values[3].isdecimal() and values[4].isdecimal() and call.name.startswith(("start", "end")):
        text = f"{values[3]}:{values[4]}, {text}"
    return text


def _loose(call: Call, page: Page, year: str, month: str, day: str) -> str:
    """{{birth-date|12 May 1970}}, {{date|12|May|1970}}, {{dts|9 May 2001}}, {{date|2001-09-11|mdy}}."""
    if year.isdecimal() or not month or not (month.isdecimal() or _YEARS.search(day)):
        return year or month
    if _YEARS.fullmatch(day):
        return written(page.language, day, year, month, day_first=_day_first(call))
    return year


def date_day_first(call: Call, page: Page) -> str:
    """{{fecha|12|5|1970}}: day, month, year."""
    values = call.values
    if not any(values):
        return GAP
    day, month, year = [*values, "", "", ""][:3]
    if _ISO.fullmatch(day):
        return written(page.language, day)
    if not year and not month:
        return day
    if not year and _YEARS.fullmatch(month):
        return written(page.language, month, day)
    if year and not _NUMBER.fullmatch(year):
        return f"{day} {month} {year}" if _YEARS.search(year) else f"{day} {month}"
    if not year:
        return f"{day} {named(page.language, month)}"
    return written(page.language, year, month, day, day_first=True)


def iso_date(call: Call, page: Page) -> str:
    """{{data|1970-05-12}}."""
    return written(page.language, call.value(0), day_first=True) or GAP


def death_and_age(call: Call, page: Page) -> str:
    """{{death date and age|1999|5|6|1920|3|4}}: the age is worked out, as the template does."""
    return _death(call, page, call.values[:3], call.values[3:6])


def death_and_age_birth_first(call: Call, page: Page) -> str:
    """{{死亡年月日と没年齢|1920|3|4|1999|5|6}}."""
    return _death(call, page, call.values[3:6], call.values[:3])


def death_and_age_day_first(call: Call, page: Page) -> str:
    """{{fecha de fallecimiento|6|5|1999|4|3|1920}}."""
    return _death(call, page, call.values[:3][::-1], call.values[3:6][::-1], day_first=True)


def _death(call: Call, page: Page, death: list[str], birth: list[str], *, day_first: bool = False) -> str:
    if not any(death):
        return " ".join(call.filled()) or GAP
    died = written(page.language, *[*death, "", "", ""][:3], day_first=day_first or _day_first(call))
    years = elapsed(_numbered(page.language, birth), _numbered(page.language, death))
    if years is None and len(birth) > 0 and _YEARS.fullmatch(died) and _YEARS.fullmatch(birth[0]):
        years = str(int(died) - int(birth[0]))
    return f"{died} ({page.language.aged} {years})" if years else died


def _numbered(language: Language, date: list[str]) -> list[str]:
    """With the month by its number."""
    months = [name.lower() for name in language.months]
    return [str(months.index(part.lower()) + 1) if part.lower() in months else part for part in date]


def elapsed(start: list[str], end: list[str]) -> str | None:
    """Whole years from one date to another ("79", "78–79" where a month or a day is missing); None if unknown."""
    one, two = _numbers(start), _numbers(end)
    if not one or not two:
        return None
    years = two[0] - one[0]
    if years < 0:
        return None
    known = min(len(one), len(two))
    if known > 1 and one[1:known] != two[1:known]:
        return str(years - (one[1:known] > two[1:known]))
    if known == 3:
        return str(years)
    return f"{years - 1}–{years}" if years else "0"


def _numbers(date: list[str]) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in date[:3]:
        if not part.isdecimal() or len(part) > 4:
            break
        numbers.append(int(part))
    return tuple(numbers)


def death_year_and_age(call: Call, page: Page) -> str:
    """{{death year and age|1999|1920}}: either may be given with a month behind."""
    death, birth = call.value(0), call.value(1)
    years = elapsed([birth], [death])
    return f"{death} ({page.language.aged} {years})" if years else death or GAP


def film_date(call: Call, page: Page) -> str:
    """{{film date|1994|10|14|United States|1995|…}}: dates with what stands behind each."""
    values = [value.strip("[]") for value in call.values]
    dates: list[str] = []
    for start in range(0, len(values), 4):
        year, month, day, where = (values[start : start + 4] + [""] * 4)[:4]
        text = written(page.language, year, month, day, day_first=_day_first(call))
        if text:
            dates.append(f"{text} ({where})" if where else text)
    return ", ".join(dates) or GAP


def age(call: Call, page: Page) -> str:
    """{{age|1970|1|2|1999|3|4}}; without an end it depends on the day of reading."""
    return elapsed(call.values[:3], call.values[3:6]) or GAP


def old_style_date(call: Call, page: Page) -> str:
    """{{OldStyleDate|14 May|1895|2 May}}."""
    date, year, old = call.value(0), call.value(1), call.value(2)
    return f"{date} {year} [O.S. {old}]".replace("  ", " ") if old else f"{date} {year}".strip() or GAP


def as_of(call: Call, page: Page) -> str:
    """{{as of|2015|3|lc=y}}."""
    if text := call.get("alt"):
        return text
    text = written(page.language, *[*call.values, "", "", ""][:3], day_first=not call.on("mdy") or call.on("df"))
    opening = "since" if call.on("since") else "as of"
    return f"{opening if call.on('lc') else opening.capitalize()} {text}" if text else GAP


def circa(call: Call, page: Page) -> str:
    """{{circa|1450}}, {{c.|1450|1500}}."""
    years = call.filled()
    return " – ".join(f"c. {year}" for year in years[:2]) if years else "c."


def floruit(call: Call, page: Page) -> str:
    return f"fl. {'–'.join(call.filled()[:2])}".strip()


def reign(call: Call, page: Page) -> str:
    """{{reign|1558|1603}}."""
    return f"r. {'–'.join(call.filled()[:2])}".strip()


def marriage(call: Call, page: Page) -> str:
    """{{marriage|Name|1990|2001|end=divorced}}."""
    name, start, end = call.value(0), call.value(1), call.value(2)
    why = call.get("end", "reason")
    why = {"d": "died", "died": "died", "div": "divorced", "ann": "annulled", "sep": "separated"}.get(why, why)
    span = f"m. {start}" if start and not end else f"m. {start}–{end}" if start else end
    if why and end:
        span = f"m. {start}; {why} {end}" if start else f"{why} {end}"
    elif why:
        span = f"{span}; {why}" if span else why
    return f"{name} ({span})".strip() if span else name or GAP


FAMILIES: dict[str, Handler] = {
    "date": date,
    "date_day_first": date_day_first,
    "iso_date": iso_date,
    "death_age": death_and_age,
    "death_age_birth_first": death_and_age_birth_first,
    "death_age_day_first": death_and_age_day_first,
    "death_year_age": death_year_and_age,
    "film_date": film_date,
    "age": age,
    "old_style_date": old_style_date,
    "as_of": as_of,
    "circa": circa,
    "floruit": floruit,
    "reign": reign,
    "marriage": marriage,
}
