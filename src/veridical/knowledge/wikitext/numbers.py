"""Numbers, units, sums of money, formulas and places that templates write."""

from __future__ import annotations

import re

from .calls import Call, Handler, Page
from .languages import data
from .signs import GAP

_NUMBER = re.compile(r"[-−+±]?(?:\d[\d,.'  ]*|\.\d+)(?:e[-−+]?\d+)?(?:[ +-]?\d+//?\d+|[½¼¾⅓⅔⅛])?", re.IGNORECASE)
_POWER = re.compile(r"e(3|6|9|12)([^\W\d].*)")
_MANY = {"3": "thousand", "6": "million", "9": "billion", "12": "trillion"}
_FRACTION = re.compile(r"(\d*)\+?(\d+)//?(\d+)")
_HIGH = str.maketrans("0123456789+-−–()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁽⁾ⁿ")
_RAISED = re.compile(r"[0-9+\-−–()n]+")
_DEGREES = re.compile(r"[-−+]?[0-9]{1,3}(?:\.[0-9]{0,12})?")
MOST = 20
"""Arguments of one conversion that are read."""


def _is_number(text: str) -> bool:
    return len(text) < 40 and _NUMBER.fullmatch(text) is not None


def raised(text: str) -> str:
    """A superscript: signs where Unicode has them ("10⁶"), letters as they are ("19th"), else behind a caret."""
    text = text.strip()
    if _RAISED.fullmatch(text) and text not in ("n", "("):
        return text.translate(_HIGH)
    return text if text.isalpha() or len(text) > 20 or not text or not text.isascii() else f"^{text}"


def unit(code: str) -> str:
    """How a unit is read; "e6km" as "million km"."""
    found = _POWER.fullmatch(code[:40])
    if found:
        return f"{_MANY[found[1]]} {unit(found[2])}"
    return data("units").get(code, code)


def convert(call: Call, page: Page) -> str:
    """{{convert|5|to|10|mi|km}}: the number and unit that the writer gave, not the one worked out from it."""
    values = call.values[:MOST]
    if not values or not values[0]:
        return GAP
    text, place = _amount(values[0]), 1
    between = data("common")["between"]
    while place + 1 < len(values) and values[place] in between and _is_number(values[place + 1]):
        text += between[values[place]] + _amount(values[place + 1])
        place += 2
    if place >= len(values):
        return text
    text = _with_unit(text, values[place])
    # {{convert|6|ft|2|in}}: a second number counts only with a unit of its own behind.
    while place + 2 < len(values) and _is_second(values[place : place + 3]):
        text += f" {_with_unit(_amount(values[place + 1]), values[place + 2])}"
        place += 2
    while place + 3 < len(values) and values[place + 1] in between and _is_number(values[place + 2]):
        text += between[values[place + 1]] + _with_unit(_amount(values[place + 2]), values[place + 3])
        place += 3
    return text


_SECONDS = {
    "ft": "in",
    "foot": "in",
    "st": "lb",
    "lb": "oz",
    "mi": "yd",
    "yd": "ft",
    "LT": "long cwt",
    "long cwt": "qtr",
}


def _is_second(values: list[str]) -> bool:
    one, number, two = values
    return _SECONDS.get(one) == two and _is_number(number)


def _amount(number: str) -> str:
    found = _FRACTION.fullmatch(number)
    if found and not found[1]:
        return f"{found[2]}/{found[3]}"
    return number.replace("+", " ", 1).replace("//", "/") if "/" in number else number


def _with_unit(number: str, code: str) -> str:
    name = unit(code)
    glue = "" if name.startswith(("%", "'", '"')) else " "
    return f"{number}{glue}{name}".rstrip()


def height(call: Call, page: Page) -> str:
    """{{height|ft=6|in=2}}, {{height|m=1.88}}."""
    named = [(call.get(key), key) for key in ("ft", "in", "m", "cm")]
    return " ".join(f"{value} {key}" for value, key in named if value) or _pairs(call)


def weight(call: Call, page: Page) -> str:
    named = [(call.get(key), key) for key in ("kg", "lb", "st", "g")]
    return " ".join(f"{value} {key}" for value, key in named if value) or _pairs(call)


def _pairs(call: Call) -> str:
    return " ".join(call.filled()[:4]) or GAP


def val(call: Call, page: Page) -> str:
    """{{val|1234.5|0.3|e=6|u=km}}."""
    number, plus, minus = call.value(0), call.value(1), call.value(2)
    text = f"{number}+{plus.lstrip('+')}−{minus.lstrip('-−')}" if minus else f"{number}±{plus}" if plus else number
    if power := call.get("e"):
        text = f"({text})×10{raised(power)}" if plus else f"{text}×10{raised(power)}" if text else f"10{raised(power)}"
    text = call.get("p") + text + call.get("s")
    name = call.get("u", "ul")
    if per := call.get("up", "upl"):
        name = f"{name}/{per}"
    return f"{text}{'' if name[:1] in ('°', '%') else ' '}{name}".strip() or GAP


def plain_number(call: Call, page: Page) -> str:
    """{{formatnum:48210}}, {{nts|1200}}: as written."""
    return call.get("format") or call.value(0) or GAP


def percentage(call: Call, page: Page) -> str:
    """{{percentage|12|48}}: worked out to as many places as asked for, none by default."""
    part, whole = call.value(0).replace(",", ""), call.value(1).replace(",", "")
    try:
        share = 100 * float(part[:20]) / float(whole[:20])
    except (ValueError, ZeroDivisionError, OverflowError):
        return f"{part}%" if part else GAP
    places = call.value(2, "0")
    return f"{share:.{int(places) if places.isdecimal() and len(places) == 1 else 0}f}%"


def frac(call: Call, page: Page) -> str:
    """{{frac|1|2}}, {{frac|3|1|2}}."""
    values = call.filled()[:3]
    if len(values) == 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    if len(values) == 2:
        return "/".join(values)
    return f"1/{values[0]}" if values else "/"


def currency(call: Call, page: Page) -> str:
    """{{USD|5 million}}, {{INR|200}}."""
    sign = data("currencies").get(call.name, "")
    amount = call.value(0)
    return f"{sign}{amount}" if amount else sign.strip()


def format_price(call: Call, page: Page) -> str:
    return call.value(0) or GAP


def inflation(call: Call, page: Page) -> str:
    """{{inflation|US|100|1950}} shows a sum of today, which is not on the page: the sum it starts from is kept."""
    amount, year = call.value(1), call.value(2)
    if not amount:
        return GAP
    return f"{amount} in {year}" if year else amount


def power(call: Call, page: Page) -> str:
    """{{e|6}}, {{10^|6}}."""
    return f"{'×' if call.name in ('e', 'esp', 'x10^', 'times10^') else ''}10{raised(call.value(0))}"


def sup(call: Call, page: Page) -> str:
    return raised(call.value(0))


def su(call: Call, page: Page) -> str:
    """{{su|p=+1|b=−2}}."""
    return raised(call.get("p", "1") or call.value(0)) + (call.get("b") or call.value(1))


def joined(call: Call, page: Page) -> str:
    """{{chem|H|2|O}}, {{sub|2}}, {{math|x}}: without blanks."""
    return "".join(call.values[:100]) or GAP


def isotope(call: Call, page: Page) -> str:
    return "".join(f"-{value}" if value.isdecimal() else value for value in call.filled()[:3]).strip("-") or GAP


def sqrt(call: Call, page: Page) -> str:
    return f"√{call.value(0)}"


def coord(call: Call, page: Page) -> str:
    """{{coord|51|30|26|N|0|7|39|W}} as "51.50722, -0.1275"; {{coord|51.5|N|0.1|W}}, {{coord|51.5|-0.1}}."""
    degrees: list[float] = []
    part: list[float] = []
    for value in call.values[:10]:
        if value.upper() in ("N", "S", "E", "W", "O") and part:
            sign = -1 if value.upper() in ("S", "W") else 1
            degrees.append(sign * sum(number / 60**place for place, number in enumerate(part[:3])))
            part = []
        else:
            if not _DEGREES.fullmatch(value):
                break
            part.append(float(value.replace("−", "-")))
    degrees = degrees or part
    if len(degrees) < 2:
        return GAP
    return ", ".join(f"{degree:.5f}".rstrip("0").rstrip(".") for degree in degrees[:2])


def url(call: Call, page: Page) -> str:
    """{{URL|example.com|Text}}."""
    return call.value(1) or call.value(0) or GAP


def identifier(call: Call, page: Page) -> str:
    """{{ISBN|978-…}}."""
    return f"{call.name.upper()} {call.value(0)}" if call.value(0) else GAP


_GAUGE = re.compile(r"(\d[\d.,]*)(mm|m|cm|in)")


def gauge(call: Call, page: Page) -> str:
    """{{RailGauge|1435mm}}."""
    found = _GAUGE.fullmatch(call.value(0)[:30])
    return f"{found[1]} {found[2]}" if found else call.value(0) or GAP


def plus_minus(call: Call, page: Page) -> str:
    return f"±{call.value(0)}"


_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def ordinal(call: Call, page: Page) -> str:
    number = call.value(0)
    if not number.isdecimal():
        return number or GAP
    ending = "th" if number[-2:-1] == "1" else _ENDINGS.get(int(number[-1]), "th")
    return number + ending


FAMILIES: dict[str, Handler] = {
    "convert": convert,
    "height": height,
    "weight": weight,
    "val": val,
    "plain_number": plain_number,
    "percentage": percentage,
    "frac": frac,
    "currency": currency,
    "format_price": format_price,
    "inflation": inflation,
    "power": power,
    "sup": sup,
    "su": su,
    "sub": joined,
    "chem": joined,
    "math": joined,
    "isotope": isotope,
    "sqrt": sqrt,
    "coord": coord,
    "url": url,
    "isbn": identifier,
    "gauge": gauge,
    "pm": plus_minus,
    "ordinal": ordinal,
    "number_name": plain_number,
}
