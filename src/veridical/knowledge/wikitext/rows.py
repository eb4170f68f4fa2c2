"""Arguments with names as facts: "Party: Labour; Votes: 12,345."."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from .calls import Call
from .languages import Language, data
from .numbers import unit
from .values import flat, is_setting

_FIGURE = re.compile(r"[-−+]?\d[\d.,]{0,20}")
_SWITCHES = ("yes", "no", "true", "false")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DIGITS = "0123456789"
KEYS = 20_000
"""Names of parameters whose reading is remembered: most pages use the same ones."""


@cache
def _skipped() -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    keys = data("keys_skipped")
    return frozenset(keys["names"]), tuple(keys["starts"]), tuple(keys["ends"])


@lru_cache(maxsize=KEYS)
def is_looks(key: str) -> bool:
    """Whether a parameter only sets looks, or shows a picture."""
    names, starts, ends = _skipped()
    key = key.lower()
    plain = key.rstrip(_DIGITS).rstrip("_ ")
    return plain in names or key in names or key.startswith(starts) or plain.endswith(ends)


@lru_cache(maxsize=KEYS)
def readable(key: str, language: Language, *, numbered: bool = False) -> str:
    """birth_place as "Birthplace", population_total as "Population total"."""
    key = key.strip()
    base = key.rstrip(_DIGITS)
    if not base:
        return key
    number = f" {key[len(base) :]}" if numbered and base != key else ""
    base = base.rstrip("_ ")
    if known := language.keys.get(key.lower()) or language.keys.get(base.lower()):
        return known + number
    text = " ".join(_CAMEL.sub(" ", base).replace("_", " ").replace("-", " ").split()) or key
    return text[:1].upper() + text[1:] + number


def measured(key: str, value: str) -> tuple[str, str]:
    """area_km2 of 1572 as area of "1572 km²"; other keys and values stay."""
    base, line, code = key.rpartition("_")
    if line and value[:1] in "0123456789-−+" and _FIGURE.fullmatch(value):
        name = data("keys_skipped")["units"].get(code.lower())
        if name:
            measure = f"{'per ' if 'density' in base else ''}{'sq ' if base.endswith('_sq') else ''}{unit(name)}"
            return base.removesuffix("_sq") or key, f"{value} {measure}"
    return key, value


def fact(key: str, value: str, language: Language, *, numbered: bool = False) -> str:
    """Such as "Votes: 12,345"; "" where the value says nothing."""
    text = flat(value)
    if not text or is_setting(text) or text.lower() in _SWITCHES:
        return ""
    key, text = measured(key, text)
    name = readable(key, language, numbered=numbered)
    if name.endswith("%"):
        name, text = name[:-1].strip(), text if "%" in text else f"{text}%"
    return f"{name}: {text}"


def sentence(call: Call, language: Language) -> str:
    """All arguments as one sentence on a line of its own; "" if none says anything."""
    facts = [
        fact(key, value, language, numbered=True) for key, value in call.named.items() if value and not is_looks(key)
    ]
    facts += [flat(value) for value in call.values if value and not is_setting(value)]
    text = "; ".join(part.rstrip(";. ") for part in facts if part)
    return f"\n{ended(text)}\n" if text else ""


def ended(text: str) -> str:
    """With a full stop, if nothing ends it yet."""
    return text if text.rstrip("\"'”’) ").endswith((".", "!", "?", "。", "…")) else f"{text}."
